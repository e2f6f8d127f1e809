//! A sequence of surfaces as USD text: one mesh whose places, triangles and values change with time.

use super::surface::{UpAxis, bounds, check, names};
use super::text::{put_number, put_whole, write_list};
use crate::output::{IoError, OutputFile};
use squall_core::surface::SurfaceMesh;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::Path;

/// What a sequence of surfaces is like as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct UsdaSequence {
    /// The frames, which are the time codes.
    pub frames: RangeInclusive<u64>,
    /// Frames per second.
    pub fps: f64,
    /// Which way is up in the meshes; see [`z_up`](super::z_up) to turn them.
    pub up: UpAxis,
}

/// What the first look at all frames tells.
#[derive(Default)]
struct Overview {
    bounds: Vec<([f32; 3], [f32; 3])>,
    triangles: Vec<usize>,
    has_normals: bool,
    has_velocities: bool,
    has_colors: bool,
    /// In the order in which they appear.
    attributes: Vec<String>,
}

impl Overview {
    fn see(&mut self, mesh: &SurfaceMesh) {
        self.bounds.push(bounds(mesh));
        self.triangles.push(mesh.triangles.len());
        self.has_normals |= !mesh.normals.is_empty();
        self.has_velocities |= !mesh.velocities.is_empty();
        self.has_colors |= !mesh.colors.is_empty();
        for (name, _) in &mesh.attributes {
            if !self.attributes.contains(name) {
                self.attributes.push(name.clone());
            }
        }
    }
}

/// Writes surfaces as one USD file in text form (`.usda`), with a time sample for each frame.
///
/// `mesh` gives the surface of a frame. Because USD text holds all times of one list before the next list, it is asked several times
/// for each frame: once for places, triangles, normals, velocities, colours and each attribute. Only one surface is in memory at a time.
/// Lists that a frame does not have are blocked there (`None`).
pub fn write_surface_usda<E: From<IoError>>(
    path: impl AsRef<Path>,
    sequence: &UsdaSequence,
    mesh: impl FnMut(u64) -> Result<SurfaceMesh, E>,
) -> Result<(), E> {
    let path = path.as_ref();
    if !(sequence.fps.is_finite() && sequence.fps > 0.0) {
        return Err(IoError::content(path, format!("{} frames per second are no speed", sequence.fps)).into());
    }
    let mut writer = Writer { file: OutputFile::create(path)?, frames: sequence.frames.clone(), mesh };
    writer.write(sequence)?;
    writer.file.finish()?;
    Ok(())
}

struct Writer<F> {
    file: OutputFile,
    frames: RangeInclusive<u64>,
    mesh: F,
}

impl<E: From<IoError>, F: FnMut(u64) -> Result<SurfaceMesh, E>> Writer<F> {
    fn write(&mut self, sequence: &UsdaSequence) -> Result<(), E> {
        let (first, last, fps) = (self.frames.start(), self.frames.end(), sequence.fps);
        let up = if sequence.up == UpAxis::Z { "Z" } else { "Y" };
        let version = env!("CARGO_PKG_VERSION");
        let head = format!(
            "#usda 1.0\n(\n    defaultPrim = \"surface\"\n    doc = \"Squall {version}\"\n    endTimeCode = {last}\n    \
             framesPerSecond = {fps}\n    metersPerUnit = 1\n    startTimeCode = {first}\n    timeCodesPerSecond = {fps}\n    \
             upAxis = \"{up}\"\n)\n\ndef Mesh \"surface\"\n{{\n    uniform token orientation = \"rightHanded\"\n    \
             uniform token subdivisionScheme = \"none\"\n"
        );
        self.text(&head)?;

        let mut seen = Overview::default();
        self.samples("point3f[] points", "", |file, mesh| {
            seen.see(mesh);
            vectors(file, Some(&mesh.positions))
        })?;
        self.samples("int[] faceVertexIndices", "", |file, mesh| {
            list(file, mesh.triangles.as_flattened(), |out, v| put_whole(out, (*v).into()))
        })?;
        if seen.has_normals {
            self.samples("normal3f[] normals", VERTEX, |file, mesh| vectors(file, known(&mesh.normals, mesh)))?;
        }
        if seen.has_velocities {
            self.samples("vector3f[] velocities", "", |file, mesh| vectors(file, known(&mesh.velocities, mesh)))?;
        }
        if seen.has_colors {
            let what = "color3f[] primvars:displayColor";
            self.samples(what, VERTEX, |file, mesh| vectors(file, known(&mesh.colors, mesh)))?;
        }
        // Names that renderers understand in their own way.
        let taken = ["normals", "st", "displayColor", "displayOpacity", "velocities"];
        let names = names(seen.attributes.iter().map(String::as_str), &taken);
        for (wanted, name) in seen.attributes.iter().zip(names) {
            self.samples(&format!("float[] primvars:{name}"), VERTEX, |file, mesh| {
                match mesh.attributes.iter().find(|(name, _)| name == wanted) {
                    Some((_, values)) => list(file, values, |out, x| put_number(out, *x)),
                    None => file.write_all(b"None"),
                }
            })?;
        }

        self.text("    int[] faceVertexCounts.timeSamples = {\n")?;
        for (frame, count) in self.frames.clone().zip(&seen.triangles) {
            let threes = vec![3; *count];
            self.sample(frame, |file| list(file, &threes, |out, n| put_whole(out, *n)))?;
        }
        self.text("    }\n    float3[] extent.timeSamples = {\n")?;
        for (frame, (low, high)) in self.frames.clone().zip(&seen.bounds) {
            self.sample(frame, |file| vectors(file, Some(&[*low, *high])))?;
        }
        self.text("    }\n}\n")
    }

    fn text(&mut self, text: &str) -> Result<(), E> {
        self.file.write_all(text.as_bytes()).map_err(|e| self.file.explain(e).into())
    }

    fn sample(&mut self, frame: u64, value: impl FnOnce(&mut OutputFile) -> io::Result<()>) -> Result<(), E> {
        self.text(&format!("        {frame}: "))?;
        value(&mut self.file).map_err(|e| self.file.explain(e))?;
        self.text(",\n")
    }

    /// Writes the values of one list at all frames.
    fn samples(
        &mut self,
        what: &str,
        metadata: &str,
        mut value: impl FnMut(&mut OutputFile, &SurfaceMesh) -> io::Result<()>,
    ) -> Result<(), E> {
        if !metadata.is_empty() {
            self.text(&format!("    {what} (\n        {metadata}\n    )\n"))?;
        }
        self.text(&format!("    {what}.timeSamples = {{\n"))?;
        for frame in self.frames.clone() {
            let mesh = (self.mesh)(frame)?;
            check(self.file.path(), &mesh)?;
            self.sample(frame, |file| value(file, &mesh))?;
        }
        self.text("    }\n")
    }
}

const VERTEX: &str = "interpolation = \"vertex\"";

/// None if there are no values for the vertices that there are.
fn known<'a>(values: &'a [[f32; 3]], mesh: &SurfaceMesh) -> Option<&'a [[f32; 3]]> {
    (values.len() == mesh.positions.len()).then_some(values)
}

fn vectors(file: &mut OutputFile, vectors: Option<&[[f32; 3]]>) -> io::Result<()> {
    let Some(vectors) = vectors else { return file.write_all(b"None") };
    list(file, vectors, |out, vector| {
        for (x, before) in vector.iter().zip(["(", ", ", ", "]) {
            out.extend_from_slice(before.as_bytes());
            put_number(out, *x);
        }
        out.push(b')');
    })
}

fn list<T: Sync>(file: &mut OutputFile, items: &[T], put: impl Fn(&mut Vec<u8>, &T) + Sync) -> io::Result<()> {
    file.write_all(b"[")?;
    write_list(file, items, |out, i, item| {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        put(out, item);
    })?;
    file.write_all(b"]")
}
