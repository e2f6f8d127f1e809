//! glTF 2.0, as text or GLB: the triangles of every node of the scene, in its place at a time.

use super::build::{Builder, Fault, MOST, quote};
use super::gltf_motion::{Move, Part};
use super::{LoadedMesh, MOST_BYTES, gltf_buffer};
use serde::Deserialize;
use std::array::from_fn;
use std::path::Path;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Document {
    scene: Option<usize>,
    scenes: Vec<Scene>,
    nodes: Vec<Node>,
    meshes: Vec<Mesh>,
    accessors: Vec<Accessor>,
    buffer_views: Vec<View>,
    buffers: Vec<Buffer>,
    extensions_required: Vec<String>,
    animations: Vec<Animation>,
}

#[derive(Deserialize)]
struct Animation {
    channels: Vec<Channel>,
    samplers: Vec<Sampler>,
}

#[derive(Deserialize)]
struct Channel {
    sampler: usize,
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    node: Option<usize>,
    path: String,
}

#[derive(Deserialize)]
struct Sampler {
    input: usize,
    output: usize,
    interpolation: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Scene {
    nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Node {
    mesh: Option<usize>,
    skin: Option<usize>,
    children: Vec<usize>,
    /// Column by column.
    matrix: Option<[f64; 16]>,
    translation: Option<[f64; 3]>,
    /// A quaternion: x, y, z, w.
    rotation: Option<[f64; 4]>,
    scale: Option<[f64; 3]>,
}

#[derive(Deserialize)]
struct Mesh {
    primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
struct Primitive {
    attributes: Attributes,
    indices: Option<usize>,
    mode: Option<u32>,
}

#[derive(Deserialize)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accessor {
    buffer_view: Option<usize>,
    #[serde(default)]
    byte_offset: usize,
    component_type: u32,
    count: usize,
    #[serde(rename = "type")]
    shape: String,
    sparse: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View {
    buffer: usize,
    #[serde(default)]
    byte_offset: usize,
    byte_length: usize,
    byte_stride: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Buffer {
    uri: Option<String>,
    byte_length: usize,
}

/// Components of accessors.
const U8: u32 = 5121;
const U16: u32 = 5123;
const U32: u32 = 5125;
const F32: u32 = 5126;

/// Modes of primitives.
const TRIANGLES: u32 = 4;
const STRIP: u32 = 5;
const FAN: u32 = 6;

pub fn parse_binary(data: &[u8], folder: &Path) -> Result<File, Fault> {
    // Header: magic, version, length. Then chunks: length, kind, bytes.
    let word = |at: usize| -> Result<u32, Fault> {
        let bytes = data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes).ok_or_else(|| Fault::at(at, "the file ends too early: is it whole?"))
    };
    if word(4)? != 2 {
        return Err(Fault::at(4, "only version 2 of glTF is read"));
    }
    if word(8)? as usize != data.len() {
        let (claimed, there) = (word(8)?, data.len());
        return Err(Fault::at(8, format!("its length should be {claimed} bytes, but there are {there}: is it whole?")));
    }
    let chunk = |at: usize, kind: &[u8; 4]| -> Result<&[u8], Fault> {
        let length = word(at)? as usize;
        if data.get(at + 4..at + 8) != Some(kind) {
            return Err(Fault::at(at + 4, format!("a chunk {} should be here", quote(kind))));
        }
        let bytes = at.checked_add(8).and_then(|start| data.get(start..start.checked_add(length)?));
        bytes.ok_or_else(|| Fault::at(at, format!("a chunk of {length} bytes is cut off: is the file whole?")))
    };
    let json = chunk(12, b"JSON")?;
    let next = 20 + json.len();
    let binary = if next < data.len() { Some(chunk(next, b"BIN\0")?) } else { None };
    parse(json, binary, folder)
}

pub fn parse_text(data: &[u8], folder: &Path) -> Result<File, Fault> {
    parse(data, None, folder)
}

fn parse(json: &[u8], binary: Option<&[u8]>, folder: &Path) -> Result<File, Fault> {
    let document: Document =
        serde_json::from_slice(json).map_err(|error| Fault::line(error.line(), error.to_string()))?;
    for extension in &document.extensions_required {
        // What packs coordinates needs its own decoder.
        if extension.contains("draco") || extension.contains("compression") {
            return Err(Fault::whole(format!("it is compressed ({extension}): export it without compression")));
        }
        // Looks do not change where triangles are.
        if !(extension.starts_with("KHR_materials_")
            || extension.starts_with("KHR_texture_")
            || extension.contains("_texture_"))
        {
            let name = quote(extension.as_bytes());
            return Err(Fault::whole(format!(
                "it needs the extension {name}, which is not known here: export without it"
            )));
        }
    }
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    // All buffers together may be as large as a file: one file can be named many times.
    let mut left = MOST_BYTES;
    for (i, buffer) in document.buffers.iter().enumerate() {
        buffers.push(match (&buffer.uri, binary) {
            (Some(uri), _) => gltf_buffer::load(uri, folder, left)?,
            (None, Some(binary)) if i == 0 => binary.to_vec(),
            (None, _) => return Err(Fault::whole(format!("buffer {i} has no bytes"))),
        });
        let there = buffers[i].len();
        if buffer.byte_length > there {
            let claimed = buffer.byte_length;
            return Err(Fault::whole(format!(
                "buffer {i} should have {claimed} bytes, but there are {there}: is it whole?"
            )));
        }
        left = left.saturating_sub(buffers[i].len() as u64);
    }
    let mut file = File { document, buffers, moves: Vec::new(), seconds: 0.0 };
    file.moves = file.read_moves()?;
    file.seconds = file.moves.iter().map(Move::end).fold(0.0, f64::max);
    Ok(file)
}

/// A file, read up to its triangles.
pub struct File {
    document: Document,
    buffers: Vec<Vec<u8>>,
    moves: Vec<Move>,
    /// How long its animation lasts; 0 if it has none.
    pub seconds: f64,
}

impl File {
    /// All triangles as they are at a time.
    pub fn mesh(&self, time: f64) -> Result<LoadedMesh, Fault> {
        // What lies on top of something else now, or is flat, may move away from it.
        let mesh = Builder::new(self.seconds == 0.0);
        let mut reader = Reader { file: self, time, mesh, skipped: 0 };
        reader.scene()?;
        let Reader { mut mesh, skipped, .. } = reader;
        if skipped > 0 {
            mesh.notes.push(format!("{skipped} groups of points or lines were passed over"));
        }
        if self.document.nodes.iter().any(|node| node.skin.is_some()) {
            mesh.notes.push("skins were passed over: the mesh is in its rest pose".into());
        }
        mesh.finish()
    }

    /// What moves nodes: all animations together, from time 0 on.
    fn read_moves(&self) -> Result<Vec<Move>, Fault> {
        let mut moves: Vec<Move> = Vec::new();
        let Document { nodes, accessors, animations, .. } = &self.document;
        let hint = "export it as numbered OBJ, PLY or STL files, one for each frame";
        if let (Some(i), false) = (nodes.iter().position(|node| node.skin.is_some()), animations.is_empty()) {
            return Err(Fault::whole(format!("node {i} is deformed by bones, which is not supported: {hint}")));
        }
        for animation in animations {
            for channel in &animation.channels {
                let Some(node) = channel.target.node else { continue };
                get(nodes, node, "node")?;
                let part = match channel.target.path.as_str() {
                    "translation" => Part::Translation,
                    "rotation" => Part::Rotation,
                    "scale" => Part::Scale,
                    "weights" => {
                        let what = format!("node {node} is deformed by morph targets, which is not supported: {hint}");
                        return Err(Fault::whole(what));
                    }
                    // Of an extension: colours, lamps.
                    _ => continue,
                };
                // Several animations of one file are alternatives: the first one that moves a node is played.
                if moves.iter().any(|other| other.node == node && other.part == part) {
                    continue;
                }
                let sampler = get(&animation.samplers, channel.sampler, "sampler")?;
                let times = self.floats(get(accessors, sampler.input, "accessor")?, 1)?;
                let values = self.floats(get(accessors, sampler.output, "accessor")?, part.components())?;
                let interpolation = sampler.interpolation.as_deref().unwrap_or("LINEAR");
                moves.push(Move::new(node, part, times, values, interpolation).map_err(Fault::whole)?);
            }
        }
        Ok(moves)
    }

    /// Numbers of an animation.
    fn floats(&self, accessor: &Accessor, components: usize) -> Result<Vec<f64>, Fault> {
        const MOST_KEYS: usize = 1_000_000;
        if accessor.component_type != F32 {
            return Err(Fault::whole("an animation is not in 32-bit floats: export without quantisation"));
        }
        if accessor.count > MOST_KEYS {
            return Err(Fault::whole(format!("an animation has more than {MOST_KEYS} keys")));
        }
        let mut floats = Vec::new();
        for i in 0..accessor.count {
            let (numbers, _) = self.item(accessor, i, 4 * components)?.as_chunks::<4>();
            floats.extend(numbers.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))));
        }
        Ok(floats)
    }

    /// A node as it is at a time.
    fn transform(&self, index: usize, node: &Node, time: f64) -> Transform {
        let (mut translation, mut rotation, mut scale) = (node.translation, node.rotation, node.scale);
        let mut is_moved = false;
        for moved in self.moves.iter().filter(|moved| moved.node == index) {
            is_moved = true;
            let [x, y, z, w] = moved.at(time);
            match moved.part {
                Part::Translation => translation = Some([x, y, z]),
                Part::Rotation => rotation = Some([x, y, z, w]),
                Part::Scale => scale = Some([x, y, z]),
            }
        }
        match node.matrix.filter(|_| !is_moved) {
            Some(m) => Transform { rows: from_fn(|a| from_fn(|b| m[4 * b + a])), shift: from_fn(|a| m[12 + a]) },
            None => Transform::of(translation, rotation, scale),
        }
    }

    /// The bytes of the `i`-th of the items of an accessor, `size` bytes each. A count that lies ends with the buffer.
    fn item(&self, accessor: &Accessor, i: usize, size: usize) -> Result<&[u8], Fault> {
        let Some(view) = accessor.buffer_view.filter(|_| accessor.sparse.is_none()) else {
            return Err(Fault::whole("sparse accessors are not read: export the mesh without morph targets"));
        };
        let view = get(&self.document.buffer_views, view, "buffer view")?;
        let buffer = get(&self.buffers, view.buffer, "buffer")?;
        let stride = view.byte_stride.filter(|&stride| stride > 0).unwrap_or(size);
        let start = i.checked_mul(stride).and_then(|start| start.checked_add(accessor.byte_offset));
        let inside = start.filter(|start| start.checked_add(size).is_some_and(|end| end <= view.byte_length));
        let bytes = inside
            .and_then(|start| start.checked_add(view.byte_offset))
            .and_then(|start| buffer.get(start..start.checked_add(size)?));
        bytes.ok_or_else(|| Fault::whole(format!("item {i} lies beyond the end of its buffer: is the file whole?")))
    }
}

/// Rows of a matrix and what is added.
#[derive(Clone, Copy)]
struct Transform {
    rows: [[f64; 3]; 3],
    shift: [f64; 3],
}

impl Transform {
    const NONE: Transform = Transform { rows: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], shift: [0.0; 3] };

    fn of(translation: Option<[f64; 3]>, rotation: Option<[f64; 4]>, scale: Option<[f64; 3]>) -> Self {
        let [x, y, z, w] = rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let s = scale.unwrap_or([1.0; 3]);
        // The rotation of a unit quaternion, then its columns scaled.
        let turn = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ];
        Transform { rows: turn.map(|row| from_fn(|b| row[b] * s[b])), shift: translation.unwrap_or([0.0; 3]) }
    }

    fn apply(&self, p: [f64; 3]) -> [f64; 3] {
        from_fn(|a| self.rows[a][0] * p[0] + self.rows[a][1] * p[1] + self.rows[a][2] * p[2] + self.shift[a])
    }

    /// First `inner`, then this.
    fn after(&self, inner: &Transform) -> Transform {
        let column = |b: usize| {
            let image = self.apply(from_fn(|a| inner.rows[a][b]));
            from_fn::<f64, 3, _>(|a| image[a] - self.shift[a])
        };
        let columns: [[f64; 3]; 3] = from_fn(column);
        Transform { rows: from_fn(|a| from_fn(|b| columns[b][a])), shift: self.apply(inner.shift) }
    }

    /// Whether left becomes right.
    fn mirrors(&self) -> bool {
        let [a, b, c] = self.rows;
        let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
        a[0] * cross[0] + a[1] * cross[1] + a[2] * cross[2] < 0.0
    }
}

struct Reader<'a> {
    file: &'a File,
    time: f64,
    mesh: Builder,
    skipped: usize,
}

fn get<'a, T>(list: &'a [T], index: usize, what: &str) -> Result<&'a T, Fault> {
    list.get(index).ok_or_else(|| Fault::whole(format!("{what} {index} is used, but there are only {}", list.len())))
}

impl Reader<'_> {
    fn scene(&mut self) -> Result<(), Fault> {
        let document = &self.file.document;
        let roots: Vec<usize> = match document.scenes.is_empty() {
            false => get(&document.scenes, document.scene.unwrap_or(0), "scene")?.nodes.clone(),
            true => {
                // Every node that is nobody's child.
                let mut is_child = vec![false; document.nodes.len()];
                for &child in document.nodes.iter().flat_map(|node| &node.children) {
                    *is_child.get_mut(child).ok_or_else(|| Fault::whole(format!("there is no node {child}")))? = true;
                }
                (0..is_child.len()).filter(|&node| !is_child[node]).collect()
            }
        };
        let mut seen = vec![false; document.nodes.len()];
        let mut waiting: Vec<(usize, Transform)> =
            roots.into_iter().rev().map(|node| (node, Transform::NONE)).collect();
        while let Some((index, above)) = waiting.pop() {
            let node = get(&document.nodes, index, "node")?;
            if std::mem::replace(&mut seen[index], true) {
                return Err(Fault::whole(format!("node {index} is in the scene twice: nodes must form a tree")));
            }
            let transform = above.after(&self.file.transform(index, node, self.time));
            if let Some(mesh) = node.mesh {
                for primitive in &get(&document.meshes, mesh, "mesh")?.primitives {
                    self.primitive(primitive, &transform)?;
                }
            }
            waiting.extend(node.children.iter().rev().map(|&child| (child, transform)));
        }
        Ok(())
    }

    fn primitive(&mut self, primitive: &Primitive, transform: &Transform) -> Result<(), Fault> {
        let mode = primitive.mode.unwrap_or(TRIANGLES);
        let Some(position) = primitive.attributes.position.filter(|_| (TRIANGLES..=FAN).contains(&mode)) else {
            self.skipped += 1;
            return Ok(());
        };
        let first = self.mesh.vertices() as u32;
        let accessor = get(&self.file.document.accessors, position, "accessor")?;
        if accessor.component_type != F32 || accessor.shape != "VEC3" {
            return Err(Fault::whole("positions are not three 32-bit floats: export without quantisation"));
        }
        let count = accessor.count;
        for i in 0..count {
            let bytes = self.file.item(accessor, i, 12)?;
            let (numbers, _) = bytes.as_chunks::<4>();
            let at = transform.apply(from_fn(|a| f64::from(f32::from_le_bytes(numbers[a]))));
            self.mesh.vertex(at).map_err(|what| Fault::whole(format!("mesh vertex {i}: {what}")))?;
        }
        let corners = match primitive.indices {
            None => (0..count as u32).collect(),
            Some(indices) => self.indices(get(&self.file.document.accessors, indices, "accessor")?, count)?,
        };
        let corners: Vec<u32> = corners.into_iter().map(|corner| first + corner).collect();
        let triangles: Vec<[u32; 3]> = match mode {
            TRIANGLES => corners.as_chunks().0.to_vec(),
            // Every second triangle of a strip runs the other way round.
            STRIP => corners
                .windows(3)
                .enumerate()
                .map(|(i, t)| if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[1], t[0], t[2]] })
                .collect(),
            _ => corners.get(1..).unwrap_or_default().windows(2).map(|t| [corners[0], t[0], t[1]]).collect(),
        };
        for [a, b, c] in triangles {
            let triangle = if transform.mirrors() { [a, c, b] } else { [a, b, c] };
            self.mesh.polygon(&triangle).map_err(Fault::whole)?;
        }
        Ok(())
    }

    fn indices(&self, accessor: &Accessor, vertices: usize) -> Result<Vec<u32>, Fault> {
        let size = match accessor.component_type {
            U8 => 1,
            U16 => 2,
            U32 => 4,
            other => return Err(Fault::whole(format!("indices of type {other} are not allowed"))),
        };
        if accessor.count > 3 * MOST {
            return Err(Fault::whole(format!("there are more than {MOST} triangles: simplify the mesh")));
        }
        let mut indices = Vec::new();
        for i in 0..accessor.count {
            let index =
                self.file.item(accessor, i, size)?.iter().rev().fold(0u32, |sum, &byte| sum << 8 | u32::from(byte));
            if index as usize >= vertices {
                return Err(Fault::whole(format!("a triangle uses vertex {index} (from 0), but there are {vertices}")));
            }
            indices.push(index);
        }
        Ok(indices)
    }
}
