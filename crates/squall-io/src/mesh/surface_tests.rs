//! Surfaces in files: what is written, and that it comes back.

use super::*;
use crate::test_folder::TestFolder;
use squall_core::surface::SurfaceMesh;

/// A tetrahedron with everything that a surface can have, names included that no format likes.
pub fn drop_of_water() -> SurfaceMesh {
    let s = 1.0 / 3.0_f32.sqrt();
    SurfaceMesh {
        positions: vec![[0.1, 0.0, 0.0], [1.0, 1e-7, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, -2.25]],
        triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        normals: vec![[-s, -s, s], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
        velocities: vec![[0.5, -9.81, 0.0], [1e-20, 2.0, 3.0], [0.0, -0.0, 1.0], [7.0, 8.0, 9.0]],
        colors: vec![],
        attributes: [("foam", 0.25), ("wet / dry", 2.0), ("x", 3.0), ("2nd", 4.0), ("", 5.0), ("Foam", 6.0)]
            .map(|(name, first)| (name.into(), vec![first, 0.0, 1.0, -1.0]))
            .into(),
    }
}

#[test]
fn a_mesh_comes_back_from_ply_with_its_velocities() {
    let folder = TestFolder::new("surface-ply");
    let path = folder.join("a.ply");
    let mesh = drop_of_water();
    write_surface_ply(&path, &mesh).unwrap();
    let back = read_surface_ply(&path).unwrap();
    let names: Vec<&str> = back.attributes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["foam", "wet___dry", "x_2", "_2nd", "_", "Foam_2"]);
    assert!(back.attributes.iter().zip(&mesh.attributes).all(|(a, b)| a.1 == b.1));
    assert_eq!(SurfaceMesh { attributes: mesh.attributes.clone(), ..back }, mesh);
    // Nine numbers and six attributes for a vertex, a count and three vertices for a triangle.
    let bytes = std::fs::read(&path).unwrap();
    let header = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
    assert_eq!(bytes.len() - header, 4 * (9 + 6) * 4 + 4 * 13);
    let bare = SurfaceMesh { positions: mesh.positions, triangles: mesh.triangles, ..SurfaceMesh::default() };
    write_surface_ply(&path, &bare).unwrap();
    assert_eq!(read_surface_ply(&path).unwrap(), bare);
}

#[test]
fn colours_come_back_from_ply_and_are_in_every_format() {
    let folder = TestFolder::new("surface-colors");
    let colors = vec![[0.0, 0.25, 1.0], [1.0; 3], [0.0; 3], [0.5, 0.02, 0.9]];
    let attributes = vec![("red".to_owned(), vec![0.0, 1.0, 2.0, 3.0])];
    let mesh = SurfaceMesh { colors, attributes, ..drop_of_water() };
    let [ply, obj, glb, usda] = ["a.ply", "a.obj", "a.glb", "a.usda"].map(|name| folder.join(name));
    write_surface_ply(&ply, &mesh).unwrap();
    let back = read_surface_ply(&ply).unwrap();
    // A byte of sRGB is off by half a step at most: 0.5/255 times the slope of the curve, up to 2.4.
    let off = |a: &[f32; 3], b: &[f32; 3]| (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f32::max);
    assert!(back.colors.iter().zip(&mesh.colors).all(|(a, b)| off(a, b) < 0.005), "{:?}", back.colors);
    assert_eq!(back.attributes, [("red_2".to_owned(), vec![0.0, 1.0, 2.0, 3.0])], "`red` is a colour");
    assert_eq!((back.positions, back.velocities), (mesh.positions.clone(), mesh.velocities.clone()));
    write_surface_obj(&obj, &mesh).unwrap();
    write_glb(&glb, &mesh, &GlbMaterial::default()).unwrap();
    for path in [ply, obj.clone(), glb.clone()] {
        assert_eq!(load_mesh(&path).unwrap().mesh.triangles, mesh.triangles, "{path:?}");
    }
    let text = std::fs::read_to_string(obj).unwrap();
    assert!(text.starts_with("v 0.1 0 0 0.0000 0.5371 1.0000\n"), "{text}");
    let text = String::from_utf8_lossy(&std::fs::read(glb).unwrap()).into_owned();
    assert!(text.contains("\"COLOR_0\":2") && text.contains("\"_RED\""), "{text}");
    let sequence = UsdaSequence { frames: 1..=1, fps: 24.0, up: UpAxis::Y };
    write_surface_usda(&usda, &sequence, |_| Ok::<_, IoError>(mesh.clone())).unwrap();
    let text = std::fs::read_to_string(usda).unwrap();
    assert!(text.contains("color3f[] primvars:displayColor.timeSamples = {\n        1: [(0, 0.25, 1), "), "{text}");
}

#[test]
fn our_own_readers_know_the_surfaces_that_we_write() {
    let folder = TestFolder::new("surface-load");
    let mesh = drop_of_water();
    let [ply, obj, glb] = ["a.ply", "a.obj", "a.glb"].map(|name| folder.join(name));
    write_surface_ply(&ply, &mesh).unwrap();
    write_surface_obj(&obj, &mesh).unwrap();
    write_glb(&glb, &mesh, &GlbMaterial::default()).unwrap();
    for path in [ply, obj, glb] {
        let loaded = load_mesh(&path).unwrap().mesh;
        assert_eq!(loaded.triangles, mesh.triangles, "{path:?}");
        let singles: Vec<[f32; 3]> = loaded.vertices.iter().map(|v| v.map(|x| x as f32)).collect();
        assert_eq!(singles, mesh.positions, "{path:?}");
    }
    let text = std::fs::read_to_string(folder.join("a.obj")).unwrap();
    assert!(text.starts_with("v 0.1 0 0\nv 1 1e-7 0\n") && text.ends_with("f 2//2 3//3 4//4\n"), "{text}");
    write_surface_obj(folder.join("b.obj"), &SurfaceMesh { normals: vec![], ..mesh }).unwrap();
    assert!(std::fs::read_to_string(folder.join("b.obj")).unwrap().ends_with("f 2 3 4\n"));
}

#[test]
fn nothing_at_all_is_a_surface_too() {
    let folder = TestFolder::new("surface-empty");
    let nothing = SurfaceMesh::default();
    write_surface_ply(folder.join("a.ply"), &nothing).unwrap();
    assert_eq!(read_surface_ply(folder.join("a.ply")).unwrap(), nothing);
    write_surface_obj(folder.join("a.obj"), &nothing).unwrap();
    assert_eq!(std::fs::read(folder.join("a.obj")).unwrap(), b"");
    write_glb(folder.join("a.glb"), &nothing, &GlbMaterial::default()).unwrap();
    let message = load_mesh(folder.join("a.glb")).unwrap_err().to_string();
    assert!(message.contains("there are no faces"), "a whole file with nothing in it: {message}");
}

#[test]
fn a_mesh_that_makes_no_sense_is_not_written() {
    let folder = TestFolder::new("surface-refused");
    type Spoil = fn(&mut SurfaceMesh);
    let cases: [(&str, Spoil); 5] = [
        ("9 numbers of \"normals\" for 4 vertices", |m| m.normals.truncate(3)),
        ("3 numbers of \"foam\" for 4 vertices", |m| m.attributes[0].1.truncate(3)),
        ("uses vertex 4 (from 0), but there are 4", |m| m.triangles[2][1] = 4),
        ("\"velocities\" of vertex 1 is NaN", |m| m.velocities[1][2] = f32::NAN),
        ("\"positions\" of vertex 3 is inf", |m| m.positions[3][0] = f32::INFINITY),
    ];
    for (expected, spoil) in cases {
        let mut bad = drop_of_water();
        spoil(&mut bad);
        let path = folder.join("a");
        let sequence = UsdaSequence { frames: 1..=1, fps: 24.0, up: UpAxis::Y };
        for written in [
            write_surface_ply(&path, &bad),
            write_surface_obj(&path, &bad),
            write_glb(&path, &bad, &GlbMaterial::default()),
            write_surface_usda(&path, &sequence, |_| Ok(bad.clone())),
        ] {
            let message = written.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
    assert!(folder.names().is_empty());
}

#[test]
fn damaged_surfaces_say_where() {
    let folder = TestFolder::new("surface-damaged");
    let path = folder.join("a.ply");
    write_surface_ply(&path, &drop_of_water()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        let fault = ply_table::parse(&bytes[..length]).map(|_| ()).unwrap_err();
        assert!(fault.place != Place::Whole, "{length}: {fault:?}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    let fault = ply_table::parse(&longer).map(|_| ()).unwrap_err();
    assert_eq!((fault.place, fault.what.as_str()), (Place::Byte(bytes.len()), "1 bytes too many"));
    // Whatever byte is wrong: an answer, and what is read can be used.
    for at in 0..bytes.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            std::fs::write(&path, &damaged).unwrap();
            if let Ok(mesh) = read_surface_ply(&path) {
                surface::check(&path, &mesh).unwrap();
            }
        }
    }
}

#[test]
fn what_was_up_along_y_is_up_along_z() {
    let mut mesh = drop_of_water();
    z_up(&mut mesh);
    assert_eq!((mesh.positions[2], mesh.positions[3]), ([0.0, 0.0, 1.5], [0.0, 2.25, 0.0]));
    assert_eq!((mesh.normals[2], mesh.velocities[0]), ([0.0, 0.0, 1.0], [0.5, 0.0, -9.81]));
}

#[test]
fn a_binary_gltf_file_describes_every_byte_that_it_holds() {
    let folder = TestFolder::new("surface-glb");
    let path = folder.join("a.glb");
    let mesh = drop_of_water();
    write_glb(&path, &mesh, &GlbMaterial::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(8), word(12) % 4), (bytes.len(), 0));
    let json: serde_json::Value = serde_json::from_slice(&bytes[20..20 + word(12)]).unwrap();
    let binary = 20 + word(12);
    // Nine numbers and six attributes for each of four vertices, three for each of four triangles.
    assert_eq!((word(binary), bytes.len() - binary - 8), (4 * 4 * (9 + 6 + 3), 4 * 4 * (9 + 6 + 3)));
    assert_eq!(json["buffers"][0]["byteLength"], word(binary));
    assert_eq!(json["accessors"][0]["min"].as_array().unwrap()[2], -2.25);
    assert_eq!(json["accessors"][0]["max"].as_array().unwrap()[0], 1.0);
    let attributes = json["meshes"][0]["primitives"][0]["attributes"].as_object().unwrap();
    let mut names: Vec<&String> = attributes.keys().collect();
    names.sort();
    let expected = ["NORMAL", "POSITION", "_2ND", "_ATTRIBUTE", "_FOAM", "_FOAM_2", "_VELOCITY", "_WET___DRY", "_X"];
    assert_eq!(names, expected);
    let material = &json["materials"][0];
    assert_eq!(material["extensions"]["KHR_materials_ior"]["ior"], 1.333);
    assert_eq!(material["extensions"]["KHR_materials_transmission"]["transmissionFactor"], 1.0);
    assert_eq!(json["extensionsUsed"].as_array().unwrap().len(), 2);
    let plain = GlbMaterial { transmission: 0.0, ior: 1.5, ..GlbMaterial::default() };
    write_glb(&path, &mesh, &plain).unwrap();
    assert!(!String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("xtensions"));
    assert!(write_glb(&path, &mesh, &GlbMaterial { ior: f32::NAN, ..plain }).is_err());
}

#[test]
fn a_usd_sequence_has_a_sample_of_every_list_at_every_frame() {
    let folder = TestFolder::new("surface-usda");
    let path = folder.join("a.usda");
    let sequence = UsdaSequence { frames: 3..=5, fps: 25.0, up: UpAxis::Y };
    let mut asked = 0;
    let mesh = |frame| {
        asked += 1;
        let whole = drop_of_water();
        Ok::<_, IoError>(match frame {
            3 => whole,
            4 => SurfaceMesh::default(),
            _ => SurfaceMesh { normals: vec![], attributes: vec![], ..whole },
        })
    };
    write_surface_usda(&path, &sequence, mesh).unwrap();
    assert_eq!(asked, 3 * (4 + 6), "places, triangles, normals, velocities and six attributes");
    let text = std::fs::read_to_string(&path).unwrap();
    for expected in [
        "#usda 1.0\n",
        "startTimeCode = 3\n",
        "endTimeCode = 5\n",
        "timeCodesPerSecond = 25\n",
        "framesPerSecond = 25\n",
        "metersPerUnit = 1\n",
        "upAxis = \"Y\"\n",
        "        3: [(0.1, 0, 0), (1, 1e-7, 0), (0, 1.5, 0), (0, 0, -2.25)],\n        4: [],\n",
        "    int[] faceVertexCounts.timeSamples = {\n        3: [3, 3, 3, 3],\n        4: [],\n",
        "        3: [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3],\n",
        "    normal3f[] normals (\n        interpolation = \"vertex\"\n    )\n    normal3f[] normals.timeSamples = {\n",
        "        3: [(0, 0, -2.25), (1, 1.5, 0)],\n        4: [(0, 0, 0), (0, 0, 0)],\n",
        "    float[] primvars:wet___dry.timeSamples = {\n        3: [2, 0, 1, -1],\n        4: None,\n        5: None,\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let refused = write_surface_usda(&path, &sequence, |_| Err(IoError::content(&path, "gone")));
    assert!(refused.unwrap_err().to_string().contains("gone"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "the older file stays");
}
