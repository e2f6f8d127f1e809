//! Mesh files: good ones of every kind, and every kind of bad one.

use super::*;
use crate::test_folder::TestFolder;
use squall_core::shape::mesh::samples;

/// A tetrahedron, in coordinates that every format keeps exactly.
fn tetrahedron() -> TriangleMesh {
    TriangleMesh {
        vertices: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, -2.25]],
        triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    }
}

const OBJ: &str = "# a tetrahedron\r\nmtllib none.mtl\no thing\nv 0 0 0\nv 1 0 0 1.0\nv 0 1.5 0\nvn 0 0 1\nv 0 0 -2.25\n\
    usemtl red\ns off\nf 1/1/1 3/2/1 2/3/1\nf 1//1 -3//1 \\\n 4//1 # joined\nf 1 4 3\nf -3 -2 -1\n";

const PLY: &str = "ply\nformat ascii 1.0\ncomment hello\nelement vertex 4\nproperty float x\nproperty float y\n\
    property float z\nproperty uchar red\nelement face 4\nproperty list uchar int vertex_indices\nelement edge 1\n\
    property int vertex1\nproperty list char short rest\nend_header\n0 0 0 255\n1 0 0 255\n0 1.5 0 1\n0 0 -2.25 7\n\
    3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n9 2 5 6\n";

fn ply_big_endian() -> Vec<u8> {
    let mut file = b"ply\nformat binary_big_endian 1.0\nelement face 4\nproperty list ushort uint vertex_index\n\
        property double area\nelement vertex 4\nproperty uchar red\nproperty double z\nproperty float x\nproperty float y\n\
        end_header\n"
        .to_vec();
    for triangle in tetrahedron().triangles {
        file.extend(3u16.to_be_bytes());
        triangle.iter().for_each(|vertex| file.extend(vertex.to_be_bytes()));
        file.extend(0.5f64.to_be_bytes());
    }
    for [x, y, z] in tetrahedron().vertices {
        file.push(9);
        file.extend(z.to_be_bytes());
        file.extend((x as f32).to_be_bytes());
        file.extend((y as f32).to_be_bytes());
    }
    file
}

fn stl_text() -> Vec<u8> {
    let mut file = "solid a vertex of mine\n".to_string();
    for t in 0..4 {
        file += "facet normal 0 0 0\n outer loop\n";
        for [x, y, z] in tetrahedron().corners(t) {
            file += &format!("  vertex {x} {y} {z:e}\n");
        }
        file += " endloop\nendfacet\n";
    }
    (file + "endsolid a vertex of mine\n").into_bytes()
}

fn stl_binary() -> Vec<u8> {
    let mut file = vec![b' '; 80];
    file[..5].copy_from_slice(b"solid");
    file.extend(4u32.to_le_bytes());
    for t in 0..4 {
        file.extend([0; 12]);
        for x in tetrahedron().corners(t).as_flattened() {
            file.extend((*x as f32).to_le_bytes());
        }
        file.extend([0; 2]);
    }
    file
}

/// Positions, then indices of 16 bits.
fn gltf_buffer() -> Vec<u8> {
    let mesh = tetrahedron();
    let positions = mesh.vertices.as_flattened().iter().flat_map(|x| (*x as f32).to_le_bytes());
    positions.chain(mesh.triangles.as_flattened().iter().flat_map(|i| (*i as u16).to_le_bytes())).collect()
}

/// A document with one mesh under the given nodes.
fn gltf_json(nodes: &str, uri: &str) -> String {
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":{nodes},
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"NORMAL":7}},"indices":1}},
                                 {{"attributes":{{"POSITION":0}},"mode":1}}]}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"}},
                     {{"bufferView":1,"componentType":5123,"count":12,"type":"SCALAR"}}],
        "bufferViews":[{{"buffer":0,"byteLength":48}},{{"buffer":0,"byteOffset":48,"byteLength":24}}],
        "buffers":[{{{uri}"byteLength":72}}]}}"#
    )
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert!(bytes.len().is_multiple_of(3));
    let letter = |three: &[u8], i: usize| {
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        char::from(LETTERS[(bits >> (18 - 6 * i) & 63) as usize])
    };
    bytes.chunks(3).flat_map(|three| (0..4).map(move |i| letter(three, i))).collect()
}

fn gltf_text(nodes: &str) -> Vec<u8> {
    let uri = format!(r#""uri":"data:application/octet-stream;base64,{}","#, base64(&gltf_buffer()));
    gltf_json(nodes, &uri).into_bytes()
}

fn glb(nodes: &str) -> Vec<u8> {
    let mut json = gltf_json(nodes, "").into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut file = b"glTF\x02\0\0\0".to_vec();
    let binary = gltf_buffer();
    file.extend((28 + json.len() as u32 + binary.len() as u32).to_le_bytes());
    for (kind, chunk) in [(b"JSON", &json), (b"BIN\0", &binary)] {
        file.extend((chunk.len() as u32).to_le_bytes());
        file.extend(kind);
        file.extend(chunk);
    }
    file
}

/// A small good file of every kind, and its extension.
fn good(name: &str) -> Vec<(&'static str, Vec<u8>)> {
    let folder = TestFolder::new(name);
    let (ply, obj) = (folder.join("t.ply"), folder.join("t.obj"));
    write_ply(&ply, &tetrahedron()).unwrap();
    write_obj(&obj, &tetrahedron()).unwrap();
    let read = |path| std::fs::read(path).unwrap();
    vec![
        ("obj", OBJ.into()),
        ("obj", read(obj)),
        ("ply", PLY.into()),
        ("ply", PLY.replace('\n', "\r\n").into()),
        ("ply", read(ply)),
        ("ply", ply_big_endian()),
        ("stl", stl_text()),
        ("stl", stl_binary()),
        ("gltf", gltf_text(r#"[{"mesh":0}]"#)),
        ("glb", glb(r#"[{"mesh":0}]"#)),
    ]
}

fn parse_here(data: &[u8], extension: &str) -> Result<LoadedMesh, Fault> {
    parse(data, extension, Path::new("/no such folder"))
}

/// The corners of all triangles, in order: formats may number vertices differently.
fn corners(mesh: &TriangleMesh) -> Vec<[[f64; 3]; 3]> {
    (0..mesh.triangles.len()).map(|t| mesh.corners(t)).collect()
}

#[test]
fn every_format_gives_the_same_tetrahedron() {
    for (i, (extension, data)) in good("mesh-all").iter().enumerate() {
        let loaded = parse_here(data, extension).unwrap_or_else(|fault| panic!("{i} {extension}: {fault:?}"));
        assert_eq!(corners(&loaded.mesh), corners(&tetrahedron()), "{i} {extension}");
        assert_eq!(loaded.mesh.vertices.len(), 4, "{extension}");
        assert!(loaded.mesh.is_closed());
    }
}

#[test]
fn meshes_survive_writing_and_reading() {
    let folder = TestFolder::new("mesh-written");
    let knot = samples::trefoil_knot(0.09, 60, 12);
    let obj = folder.join("knot.OBJ");
    write_obj(&obj, &knot).unwrap();
    assert!(load_mesh(obj).unwrap().mesh == knot, "text keeps every digit");
    let ply = folder.join("knot");
    write_ply(&ply, &knot).unwrap();
    let loaded = load_mesh(ply).unwrap();
    assert!(loaded.mesh.triangles == knot.triangles && loaded.notes.is_empty());
    for (a, b) in loaded.mesh.vertices.as_flattened().iter().zip(knot.vertices.as_flattened()) {
        assert_eq!(*a, f64::from(*b as f32), "binary keeps single precision");
    }
}

#[test]
fn the_meshes_of_the_gallery_are_small_closed_and_a_metre_wide() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/meshes");
    for name in ["knot.ply", "star.ply", "propeller.obj"] {
        let path = folder.join(name);
        assert!(std::fs::metadata(&path).unwrap().len() < 200_000, "{name}");
        let LoadedMesh { mesh, notes } = load_mesh(path).unwrap();
        assert!(mesh.is_closed() && mesh.volume() > 0.0 && notes.is_empty(), "{name}");
        let (low, high) = mesh.bounds();
        let width = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
        assert!((0.8..1.3).contains(&width), "{name}: {width}");
    }
}

#[test]
fn nodes_of_gltf_files_move_turn_scale_and_mirror() {
    let vertices = |nodes: &str| parse_here(&glb(nodes), "glb").unwrap().mesh;
    let turned = vertices(
        r#"[{"children":[1],"translation":[10,0,0]},
            {"mesh":0,"rotation":[0,0,0.7071067811865476,0.7071067811865476],"scale":[2,1,1]}]"#,
    );
    // x, twice as long, becomes y; y becomes -x; then everything moves. Rounding of the quaternion.
    for (vertex, wanted) in turned.vertices.iter().zip([[10.0, 0.0, 0.0], [10.0, 2.0, 0.0], [8.5, 0.0, 0.0]]) {
        assert!((0..3).all(|a| (vertex[a] - wanted[a]).abs() < 1e-12), "{vertex:?} {wanted:?}");
    }
    let matrix = vertices(r#"[{"mesh":0,"matrix":[1,0,0,0, 0,1,0,0, 0,0,-1,0, 5,6,7,1]}]"#);
    assert_eq!(matrix.vertices[3], [5.0, 6.0, 9.25]);
    assert!((matrix.volume() - tetrahedron().volume()).abs() < 1e-12, "a mirror image still looks outwards");
    let notes = parse_here(&glb(r#"[{"mesh":0}]"#), "glb").unwrap().notes;
    assert_eq!(notes, ["1 groups of points or lines were passed over"]);
}

/// A file whose node `0` moves, with the animation as given: buffer 1 holds the times 0, 1, 2, then the values.
fn animated(animation: &str, values: &[f32]) -> Vec<u8> {
    let text = String::from_utf8(gltf_text(r#"[{"mesh":0}]"#)).unwrap();
    let mut bytes: Vec<u8> = [0.0_f32, 1.0, 2.0].iter().chain(values).flat_map(|v| v.to_le_bytes()).collect();
    let count = bytes.len();
    bytes.resize(count.next_multiple_of(3), 0);
    let (shape, items) = if values.len() == 12 { ("VEC4", 3) } else { ("VEC3", 3) };
    let accessors = format!(
        r#""accessors":[{{"bufferView":2,"componentType":5126,"count":3,"type":"SCALAR"}},
            {{"bufferView":2,"byteOffset":12,"componentType":5126,"count":{items},"type":"{shape}"}},"#
    );
    let text = text
        .replace(r#""POSITION":0"#, r#""POSITION":2"#)
        .replace(r#""indices":1"#, r#""indices":3"#)
        .replace(r#""accessors":["#, &accessors)
        .replace(r#""bufferViews":["#, &format!(r#""animations":[{animation}],"bufferViews":["#))
        .replace(
            r#"{"buffer":0,"byteOffset":48,"byteLength":24}"#,
            &format!(r#"{{"buffer":0,"byteOffset":48,"byteLength":24}},{{"buffer":1,"byteLength":{count}}}"#),
        )
        .replace(
            r#""byteLength":72}]"#,
            &format!(
                r#""byteLength":72}},{{"uri":"data:application/octet-stream;base64,{}","byteLength":{count}}}]"#,
                base64(&bytes)
            ),
        );
    text.into_bytes()
}

#[test]
fn nodes_of_gltf_files_move_as_they_are_animated() {
    let channel = |path: &str| {
        format!(
            r#"{{"channels":[{{"sampler":0,"target":{{"node":0,"path":"{path}"}}}}],"samplers":[{{"input":0,"output":1}}]}}"#
        )
    };
    let file = animated(&channel("translation"), &[0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 4.0, 2.0, 0.0]);
    let meshes = parse_mesh_frames(&file, "a.gltf", 2.0).unwrap();
    // Two seconds, two frames a second, and the end.
    assert_eq!(meshes.len(), 5);
    let first: Vec<[f64; 3]> = meshes.iter().map(|mesh| mesh.vertices[0]).collect();
    assert_eq!(first, [[0.0; 3], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0], [4.0, 1.0, 0.0], [4.0, 2.0, 0.0]]);
    assert!(meshes.iter().all(|mesh| mesh.triangles == meshes[0].triangles), "the same triangles move");
    let s = 0.5_f32.sqrt();
    let turn = animated(&channel("rotation"), &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, s, s, 0.0, 0.0, s, s]);
    let turned = parse_mesh_frames(&turn, "a.gltf", 1.0).unwrap();
    // A quarter turn about z: x becomes y. Rounding of 32-bit floats.
    assert!(turned[1].vertices[1].iter().zip([0.0, 1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", turned[1]);
    let still = parse_mesh_frames(&gltf_text(r#"[{"mesh":0}]"#), "a.gltf", 24.0).unwrap();
    assert_eq!(still.len(), 1);
    let message = |file: &[u8], fps: f64| parse_mesh_frames(file, "a.gltf", fps).unwrap_err().to_string();
    assert!(message(&animated(&channel("weights"), &[0.0; 9]), 2.0).contains("morph targets"));
    assert!(message(&file, 1e9).contains("at most 10000"));
    let bones = String::from_utf8(file.clone()).unwrap().replace(r#"{"mesh":0}"#, r#"{"mesh":0,"skin":0}"#);
    assert!(message(bones.as_bytes(), 2.0).contains("bones"));
}

#[test]
fn triangles_that_are_there_twice_count_once_and_large_polygons_become_no_needles() {
    let twice = format!("{OBJ}f 3 1 2\nf 1 2 3\n");
    let loaded = parse_here(twice.as_bytes(), "obj").unwrap();
    assert!(loaded.mesh.triangles.len() <= 5 && loaded.notes[0].contains("there twice"), "{:?}", loaded.notes);
    let n = 1000;
    let corner = |i: usize| std::f64::consts::TAU * i as f64 / n as f64;
    let mut text: String = (0..n).map(|i| format!("v {} {} 0\n", corner(i).cos(), corner(i).sin())).collect();
    text += "f";
    (1..=n).for_each(|i| text += &format!(" {i}"));
    let mesh = parse_here(text.as_bytes(), "obj").unwrap().mesh;
    assert_eq!(mesh.triangles.len(), n - 2);
    let area = |t: usize| {
        let [a, b, c] = mesh.corners(t);
        0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
    };
    // All look the same way, and together are the polygon: n/2 sin(2 pi / n). Rounding of sums.
    let whole: f64 = (0..n - 2).map(area).sum();
    assert!((whole - 0.5 * n as f64 * corner(1).sin()).abs() < 1e-9 && (0..n - 2).all(|t| area(t) > 0.0));
    // In a fan all of them meet in the first corner.
    assert!(mesh.triangles.iter().filter(|t| t.contains(&0)).count() < 20);
}

#[test]
fn polygons_become_fans_and_flat_triangles_are_counted() {
    let text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 0\nf 1 2 3 4\nf 1 2 2\nf 1 2 5\n";
    let loaded = parse_here(text.as_bytes(), "obj").unwrap();
    assert_eq!(loaded.mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(loaded.notes, ["2 triangles without area were left out"]);
}

#[test]
fn messages_name_the_place_and_the_fault() {
    let gltf = |from: &str, to: &str| String::from_utf8(gltf_text(r#"[{"mesh":0}]"#)).unwrap().replace(from, to);
    let loop_of_nodes = String::from_utf8(gltf_text(r#"[{"mesh":0,"children":[0]}]"#)).unwrap();
    let ply = |from: &str, to: &str| PLY.replace(from, to);
    let huge = "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty uchar x\nend_header\n";
    let nothing = "ply\nformat binary_little_endian 1.0\nelement a 4000000000\nend_header\n";
    let cases: &[(&str, String, &str)] = &[
        ("obj", "v 0 0 zero\n".into(), "line 1: \"zero\" is not a number"),
        ("obj", "\nv 0 nan 0\n".into(), "line 2: a vertex at [0.0, NaN, 0.0]"),
        ("obj", "v 0 0 0\nv 1e13 0 0\n".into(), "line 2: a vertex at"),
        ("obj", "v 0 0\nv 1 1 1\n".into(), "line 1: the file ends where z should be"),
        ("obj", OBJ.replace("f 1 4 3", "f 1 4 9"), "line 14: \"9\" names no vertex: there are 4"),
        ("obj", OBJ.replace("f 1 4 3", "f 1 4 0"), "line 14: \"0\" names no vertex"),
        ("obj", OBJ.replace("f 1 4 3", "f 1 4 1.5"), "line 14: \"1.5\" names no vertex"),
        ("obj", OBJ.replace("f 1 4 3", "f 1 4"), "line 14: a face with 2 corners"),
        ("obj", "v 0 0 0\n".into(), ": there are no faces"),
        ("obj", "v 0 0 0\nf 1 1 1\n".into(), ": none of the 1 triangles"),
        ("obj", String::new(), ": there are no faces"),
        ("ply", ply("3 0 2 1", "3 0 2 7"), ": face 1 (from 1): a face uses vertex 7"),
        ("ply", ply("3 0 2 1", "3 0 2 -1"), "line 19: -1 is neither a count"),
        ("ply", ply("element vertex 4", "element vertex many"), "line 4: \"many\" is no count"),
        ("ply", ply("float y", "quad y"), "line 6: \"quad\" is no type"),
        ("ply", ply("float y", "float why"), ": its vertices lack x, y or z"),
        ("ply", ply("ascii", "morse"), "the format is neither ascii"),
        ("ply", ply("0 1.5 0 1", "0 inf 0 1"), "line 17: a vertex at [0.0, inf, 0.0]"),
        ("ply", huge.into(), ": 4000000000 elements \"vertex\" do not fit"),
        ("ply", nothing.into(), "line 4: element \"a\" has no properties"),
        ("ply", "ply\nformat".into(), "line 2: the header has no end"),
        ("ply", "plywood".into(), "byte 0: this is no PLY file"),
        ("stl", "solid x\nfacet\nouter loop\nvertex 1 2".into(), "line 4: the file ends where z should be"),
        ("stl", "solid x\n".into(), "there is no \"endsolid\""),
        ("stl", "hello".into(), ": this is no STL file"),
        ("stl", "x".repeat(84), "byte 80: 2021161080 triangles take"),
        ("gltf", gltf("\"count\":4", "\"count\":5"), ": item 4 lies beyond the end"),
        ("gltf", gltf("\"indices\":1", "\"indices\":9"), ": accessor 9 is used, but there are only 2"),
        ("gltf", gltf("\"componentType\":5126", "\"componentType\":5122"), "export without quantisation"),
        ("gltf", gltf("\"scene\":0", "\"scene\":3"), ": scene 3 is used"),
        ("gltf", gltf("\"asset\"", "\"extensionsRequired\":[\"KHR_draco_mesh_compression\"],\"asset\""), "compressed"),
        ("gltf", gltf("\"asset\"", "\"extensionsRequired\":[\"EXT_mesh_gpu_instancing\"],\"asset\""), "EXT_mesh_gpu"),
        (
            "gltf",
            gltf("\"byteLength\":72", "\"byteLength\":7200"),
            ": buffer 0 should have 7200 bytes, but there are 72",
        ),
        (
            "glb",
            String::from_utf8_lossy(b"glTF\x02\0\0\0\x10\0\0\0").into_owned(),
            "byte 8: its length should be 16 bytes",
        ),
        ("gltf", loop_of_nodes, ": node 0 is in the scene twice"),
        ("gltf", "{".into(), "line 1: EOF"),
        ("glb", "glTF".into(), "byte 4: the file ends too early"),
        ("blend", "BLENDER".into(), ": the format is not known: use .obj"),
    ];
    for (extension, text, wanted) in cases {
        let folder = TestFolder::new("mesh-messages");
        let path = folder.join(format!("bad.{extension}"));
        std::fs::write(&path, text).unwrap();
        let message = load_mesh(&path).unwrap_err().to_string();
        assert!(message.contains("bad.") && message.contains(wanted), "{wanted}\n{message}");
    }
}

#[test]
fn buffers_of_gltf_files_stay_in_their_folder() {
    let folder = TestFolder::new("mesh-buffers");
    let inner = folder.join("inner");
    std::fs::create_dir_all(inner.join("below")).unwrap();
    for place in ["inner/below/mesh data.bin", "secret.bin"] {
        std::fs::write(folder.join(place), gltf_buffer()).unwrap();
    }
    let load = |uri: &str| {
        let path = inner.join("scene.gltf");
        std::fs::write(&path, gltf_json(r#"[{"mesh":0}]"#, &format!(r#""uri":"{uri}","#))).unwrap();
        load_mesh(path).map_err(|error| error.to_string())
    };
    assert!(load("below/mesh%20data.bin").is_ok());
    assert!(load("./below/mesh data.bin").is_ok());
    let absolute = folder.join("secret.bin").display().to_string();
    let outside = [
        "../secret.bin",
        "below/../../secret.bin",
        "%2e%2e/secret.bin",
        &absolute,
        "file:///etc/passwd",
        "http://example.org/a.bin",
        "C:/a.bin",
        r"..\\secret.bin",
        "missing.bin",
        "below",
        "",
        "%00",
        "/dev/zero",
    ];
    for uri in outside {
        assert!(load(uri).is_err(), "{uri}");
    }
    assert!(load("../secret.bin").unwrap_err().contains("leads out of the folder"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.join("secret.bin"), inner.join("link.bin")).unwrap();
        assert!(load("link.bin").unwrap_err().contains("leads out of the folder"), "links are followed first");
    }
}

#[test]
fn what_is_not_a_file_is_not_read() {
    let folder = TestFolder::new("mesh-no-file");
    assert!(load_mesh(&*folder).unwrap_err().to_string().contains("not a file"));
    assert!(matches!(load_mesh(folder.join("none.obj")), Err(MeshFileError::Io(error)) if error.is_not_found()));
    #[cfg(unix)]
    assert!(load_mesh("/dev/zero").unwrap_err().to_string().contains("not a file"));
}

/// What the readers promise, whatever the bytes: an answer, and a mesh that can be used.
fn answers(data: &[u8], extension: &str) {
    if let Ok(loaded) = parse_here(data, extension) {
        loaded.mesh.check().unwrap();
    }
}

#[test]
fn no_truncated_or_damaged_file_breaks_a_reader() {
    for (extension, data) in good("mesh-damaged") {
        for length in 0..data.len() {
            answers(&data[..length], extension);
        }
        for at in 0..data.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = data.clone();
                damaged[at] ^= flip;
                answers(&damaged, extension);
            }
            // Four bytes that are a huge count, an infinite float, or letters.
            for word in [[0xff; 4], [0, 0, 0x80, 0x7f], *b"9999"] {
                let mut damaged = data.clone();
                let end = (at + 4).min(data.len());
                damaged[at..end].copy_from_slice(&word[..end - at]);
                answers(&damaged, extension);
            }
        }
    }
}

#[test]
fn whole_binary_files_are_told_from_truncated_ones() {
    for (extension, data) in good("mesh-truncated") {
        if std::str::from_utf8(&data).is_err() {
            assert!(parse_here(&data[..data.len() - 1], extension).is_err(), "{extension}");
        }
    }
}
