//! Surfaces as glTF 2.0 in one binary file: a header, a JSON document, and the lists that it describes.

use super::surface::{bounds, check, names};
use crate::output::{IoError, OutputFile};
use serde_json::{Map, Value, json};
use squall_core::surface::SurfaceMesh;
use std::io::Write;
use std::path::Path;

/// Numbers that are put together before they are written.
const CHUNK: usize = 1 << 14;

const FLOAT: u32 = 5126;
const WHOLE: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// What a surface in a glTF file is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlbMaterial {
    /// Red, green, blue (linear) and opacity, from 0 to 1.
    pub color: [f32; 4],
    /// From 0, no metal, to 1.
    pub metallic: f32,
    /// From 0, a mirror, to 1.
    pub roughness: f32,
    /// How much light goes through, from 0 to 1.
    pub transmission: f32,
    /// How strongly it bends light.
    pub ior: f32,
}

impl Default for GlbMaterial {
    /// Clear water.
    fn default() -> Self {
        GlbMaterial { color: [1.0; 4], metallic: 0.0, roughness: 0.0, transmission: 1.0, ior: 1.333 }
    }
}

impl GlbMaterial {
    fn json(&self) -> Value {
        let mut extensions = Map::new();
        if self.transmission > 0.0 {
            extensions
                .insert("KHR_materials_transmission".into(), json!({ "transmissionFactor": short(self.transmission) }));
        }
        // What everything has that says nothing.
        if self.ior != 1.5 {
            extensions.insert("KHR_materials_ior".into(), json!({ "ior": short(self.ior) }));
        }
        let mut material = json!({
            "name": "surface",
            "pbrMetallicRoughness": {
                "baseColorFactor": self.color.map(short),
                "metallicFactor": short(self.metallic),
                "roughnessFactor": short(self.roughness),
            },
            "alphaMode": if self.color[3] < 1.0 { "BLEND" } else { "OPAQUE" },
            "doubleSided": false,
        });
        if !extensions.is_empty() {
            material["extensions"] = extensions.into();
        }
        material
    }
}

/// With the digits that single precision has, not those of its image in double precision.
fn short(x: f32) -> Value {
    x.to_string().parse::<f64>().unwrap_or_else(|_| x.into()).into()
}

/// One list of the file.
enum List<'a> {
    Vectors(&'a [[f32; 3]]),
    Floats(&'a [f32]),
    Triangles(&'a [[u32; 3]]),
}

impl List<'_> {
    /// Its bytes, in pieces: all numbers have four bytes.
    fn for_each(&self, mut write: impl FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        let mut bytes = Vec::with_capacity(4 * CHUNK);
        let mut put = |some: &mut dyn Iterator<Item = [u8; 4]>| {
            bytes.clear();
            some.for_each(|word| bytes.extend_from_slice(&word));
            write(&bytes)
        };
        match self {
            List::Vectors(v) => {
                v.as_flattened().chunks(CHUNK).try_for_each(|c| put(&mut c.iter().map(|x| x.to_le_bytes())))
            }
            List::Floats(v) => v.chunks(CHUNK).try_for_each(|c| put(&mut c.iter().map(|x| x.to_le_bytes()))),
            List::Triangles(v) => {
                v.as_flattened().chunks(CHUNK).try_for_each(|c| put(&mut c.iter().map(|n| n.to_le_bytes())))
            }
        }
    }

    fn accessor(&self, view: usize) -> Value {
        let (count, kind, component) = match self {
            List::Vectors(v) => (v.len(), "VEC3", FLOAT),
            List::Floats(v) => (v.len(), "SCALAR", FLOAT),
            List::Triangles(v) => (3 * v.len(), "SCALAR", WHOLE),
        };
        json!({ "bufferView": view, "componentType": component, "count": count, "type": kind })
    }

    fn bytes(&self) -> usize {
        match self {
            List::Vectors(v) => 12 * v.len(),
            List::Floats(v) => 4 * v.len(),
            List::Triangles(v) => 12 * v.len(),
        }
    }
}

/// Writes a surface as binary glTF 2.0: places, normals, colours, `_VELOCITY` and each attribute as `_NAME`. In metres, y up.
///
/// Without triangles there is a scene with nothing in it, because lists in glTF cannot be empty.
///
/// Blender up to 5.0 fails to read some files with both velocities and attributes, depending on chance: it mixes up lists of vectors
/// and lists of numbers. For it, leave out one kind.
pub fn write_glb(path: impl AsRef<Path>, mesh: &SurfaceMesh, material: &GlbMaterial) -> Result<(), IoError> {
    let path = path.as_ref();
    check(path, mesh)?;
    let numbers = [material.metallic, material.roughness, material.transmission, material.ior];
    if !numbers.iter().chain(&material.color).all(|x| x.is_finite()) {
        return Err(IoError::content(path, format!("a material of {material:?} cannot be written")));
    }
    let lists = lists(mesh);
    let size: usize = lists.iter().map(|(_, list)| list.bytes()).sum();
    let mut json = document(mesh, material, &lists, size).to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    // Without lists there is no second chunk.
    let total = 12 + 8 + json.len() + if size > 0 { 8 + size } else { 0 };
    let Ok(total) = u32::try_from(total) else {
        return Err(IoError::content(path, format!("{} MB are more than a GLB file can hold", total >> 20)));
    };

    let mut file = OutputFile::create(path)?;
    let written = (|| -> std::io::Result<()> {
        file.write_all(b"glTF\x02\0\0\0")?;
        file.write_all(&total.to_le_bytes())?;
        file.write_all(&(json.len() as u32).to_le_bytes())?;
        file.write_all(b"JSON")?;
        file.write_all(&json)?;
        if size > 0 {
            file.write_all(&(size as u32).to_le_bytes())?;
            file.write_all(b"BIN\0")?;
        }
        lists.iter().try_for_each(|(_, list)| list.for_each(|bytes| file.write_all(bytes)))
    })();
    written.map_err(|e| file.explain(e))?;
    file.finish()
}

/// All lists of the file by name, the triangles last.
fn lists(mesh: &SurfaceMesh) -> Vec<(String, List<'_>)> {
    if mesh.triangles.is_empty() {
        return Vec::new();
    }
    // Names of one's own begin with an underscore, which may already be there.
    let wanted = mesh.attributes.iter().map(|(name, _)| match name.trim_start_matches('_') {
        "" => "attribute",
        name => name,
    });
    let names = names(wanted, &["velocity"]);
    let named = |name: &str, list| (name.to_owned(), list);
    let vectors = [
        ("POSITION", &mesh.positions),
        ("NORMAL", &mesh.normals),
        ("COLOR_0", &mesh.colors),
        ("_VELOCITY", &mesh.velocities),
    ];
    let known = vectors.into_iter().filter(|(_, v)| !v.is_empty()).map(|(name, v)| named(name, List::Vectors(v)));
    let attributes = names
        .iter()
        .zip(&mesh.attributes)
        .map(|(name, (_, values))| (format!("_{}", name.trim_start_matches('_').to_uppercase()), List::Floats(values)));
    known.chain(attributes).chain([named("indices", List::Triangles(&mesh.triangles))]).collect()
}

fn document(mesh: &SurfaceMesh, material: &GlbMaterial, lists: &[(String, List<'_>)], size: usize) -> Value {
    let mut document = json!({
        "asset": { "version": "2.0", "generator": concat!("Squall ", env!("CARGO_PKG_VERSION")) },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "name": "surface" }],
    });
    let Some((indices, vertices)) = lists.len().checked_sub(1).map(|last| (last, &lists[..last])) else {
        return document;
    };
    let mut at = 0;
    let mut views = Vec::new();
    for (i, (_, list)) in lists.iter().enumerate() {
        let target = if i == indices { INDICES } else { VERTICES };
        views.push(json!({ "buffer": 0, "byteOffset": at, "byteLength": list.bytes(), "target": target }));
        at += list.bytes();
    }
    let mut accessors: Vec<Value> = lists.iter().enumerate().map(|(i, (_, list))| list.accessor(i)).collect();
    let (low, high) = bounds(mesh);
    (accessors[0]["min"], accessors[0]["max"]) =
        (low.map(f64::from).to_vec().into(), high.map(f64::from).to_vec().into());
    let attributes: Map<String, Value> =
        vertices.iter().enumerate().map(|(i, (name, _))| (name.clone(), i.into())).collect();
    let material = material.json();
    let extensions: Vec<&String> = material["extensions"].as_object().into_iter().flat_map(Map::keys).collect();
    if !extensions.is_empty() {
        document["extensionsUsed"] = json!(extensions);
    }
    document["nodes"][0]["mesh"] = 0.into();
    document["meshes"] = json!([{
        "name": "surface",
        "primitives": [{ "attributes": attributes, "indices": indices, "material": 0 }],
    }]);
    document["materials"] = json!([material]);
    document["accessors"] = accessors.into();
    document["bufferViews"] = views.into();
    document["buffers"] = json!([{ "byteLength": size }]);
    document
}
