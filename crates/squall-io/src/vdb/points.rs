//! Particles as a `PointDataGrid` of OpenVDB, which Houdini calls VDB points.
//!
//! A leaf has a number for each of its cells, how many points there are up to its end, and an array for each attribute with the
//! points in the order of the cells. They stand in the file in passes over all leaves, with `n` attributes:
//!
//! ```text
//! number of passes
//! 0          of each leaf: the bytes of its counts, 65535 if they are not packed
//! 1          once: types and names of the attributes; of each leaf and attribute: bytes, flags, number of values
//! 2 ..       sizes of pages: nothing, as nothing is packed
//! n + 2      of each leaf: the mask of cells that have points, 65535, its counts
//! n + 3 ..   one attribute after the other, of each leaf: 0 (not packed) and its values; if it is uniform, one value
//! 2n + 3     nothing
//! ```
//! Places are counted in cells, from the centre of the cell that a point is in: as exact far away as near the origin.

use std::path::Path as FilePath;

use rayon::prelude::*;
use squall_core::Particles;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

use super::meta::{Metadata, write_metadata};
use super::pack::Format;
use super::transform::write_transform;
use super::tree::{FAR, Path, set};
use super::wire::{put_text, put_u32};
use super::write::{Body, Leaf, Tree, check_name, write_bodies};
use super::{VdbClass, VdbCompression, VdbPrecision};
use crate::mesh::{UpAxis, attribute_names, check_particles};
use crate::output::IoError;

/// How particles become points.
#[derive(Clone, Copy, Debug)]
pub struct VdbPoints<'a> {
    /// The name of the grid: by custom `points`.
    pub name: &'a str,
    /// The lower corner of cell 0, before anything is turned.
    pub origin: [f64; 3],
    /// The side of the cells that points are sorted into; some points in each are best.
    pub spacing: f64,
    /// The radius of every point, `pscale`.
    pub radius: f32,
    /// The axis of the file that points upwards.
    pub up: UpAxis,
}

/// What the file calls what every particle has: those that Houdini knows.
const KNOWN: [&str; 4] = ["P", "v", "id", "pscale"];
/// Of 16 bits: a list that is not packed.
const NOT_PACKED: u16 = u16::MAX;
/// As many numbers for each point as its type has.
const CONSTANT_STRIDE: u8 = 8;
/// One value stands for all.
const UNIFORM: u8 = 2;

/// Writes particles as OpenVDB points: `P`, `v` where known, `id`, `pscale`, then each attribute under its name. In 2D the third coordinate is 0.
pub fn write_vdb_points(
    path: impl AsRef<FilePath>,
    particles: &Particles,
    points: &VdbPoints<'_>,
    metadata: &Metadata,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let body = body(particles, points).map_err(|what| IoError::content(path, what))?;
    write_bodies(path, &[points.name], &[body], metadata)
}

/// A point in the order of the file: where its leaf is, which cell of it, and its place among the particles.
type Place = (Path, u16, u32);

struct Attribute<'a> {
    name: String,
    /// Its type, as OpenVDB names it.
    kind: &'static str,
    bytes: usize,
    values: Values<'a>,
}

enum Values<'a> {
    /// The same for all.
    Uniform(f32),
    Each(Put<'a>),
}

/// Writes the value of a particle.
type Put<'a> = Box<dyn Fn(&mut Vec<u8>, usize) + 'a>;

impl<'a> Attribute<'a> {
    fn each(name: &str, kind: &'static str, bytes: usize, put: impl Fn(&mut Vec<u8>, usize) + 'a) -> Self {
        Self { name: name.to_owned(), kind, bytes, values: Values::Each(Box::new(put)) }
    }
}

fn body(particles: &Particles, points: &VdbPoints<'_>) -> Result<Body, String> {
    check_name(points.name)?;
    check_particles(particles)?;
    let spacing = points.spacing;
    if !(spacing.is_finite() && spacing > 0.0 && points.origin.iter().all(|x| x.is_finite())) {
        return Err(format!("cells of side {spacing} at {:?} are nowhere", points.origin));
    }
    if particles.len() > u32::MAX as usize || particles.ids.iter().any(|&id| i32::try_from(id).is_err()) {
        return Err("a particle has a number beyond 31 bits".into());
    }
    let axis = |lists: &[Vec<f32>], i: usize, a: usize| lists.get(a).map_or(0.0, |list| list[i]);
    // x, y, z become x, -z, y if z points upwards. (0 - z and not -z: zero has no sign.)
    let turned = |lists: &[Vec<f32>], i: usize| match (axis(lists, i, 0), axis(lists, i, 1), axis(lists, i, 2)) {
        (x, y, z) if points.up == UpAxis::Y => [x, y, z],
        (x, y, z) => [x, 0.0 - z, y],
    };
    let origin = match (points.origin, points.up) {
        (origin, UpAxis::Y) => origin,
        ([x, y, z], UpAxis::Z) => [x, 0.0 - z, y],
    };
    // In cells: the cell and the rest.
    let place = |i: usize| {
        let at = turned(&particles.positions, i);
        std::array::from_fn::<_, 3, _>(|a| {
            let at = (f64::from(at[a]) - origin[a]) / spacing;
            (at.floor(), (at - at.floor() - 0.5) as f32)
        })
    };

    let far = f64::from(FAR) * BLOCK as f64;
    let mut order: Vec<Place> = (0..particles.len())
        .into_par_iter()
        .map(|i| {
            let cell = place(i).map(|(cell, _)| cell);
            if cell.iter().any(|c| !(-far..far).contains(c)) {
                return Err(format!("particle {i} is too far out"));
            }
            let cell = cell.map(|c| c as i32);
            // From x slowest to z fastest.
            let within = cell.iter().fold(0, |n, c| n << 3 | (c & 7) as u16);
            Ok((Path::to_block(cell.map(|c| c >> 3)), within, i as u32))
        })
        .collect::<Result<_, String>>()?;
    order.par_sort_unstable();

    let mut attributes =
        vec![Attribute::each(KNOWN[0], "vec3s", 12, |out, i| put_floats(out, &place(i).map(|(_, rest)| rest)))];
    if !particles.velocities.is_empty() {
        let velocity = |i: usize| turned(&particles.velocities, i);
        attributes.push(Attribute::each(KNOWN[1], "vec3s", 12, move |out, i| put_floats(out, &velocity(i))));
    }
    attributes.push(Attribute::each(KNOWN[2], "int32", 4, |out, i| put_u32(out, particles.ids[i] as u32)));
    attributes.push(Attribute {
        name: KNOWN[3].to_owned(),
        kind: "float",
        bytes: 4,
        values: Values::Uniform(points.radius),
    });
    let names = attribute_names(particles.attributes.iter().map(|(name, _)| name.as_str()), &KNOWN);
    for (name, (_, list)) in names.iter().zip(&particles.attributes) {
        attributes.push(Attribute::each(name, "float", 4, |out, i| put_floats(out, &[list[i]])));
    }

    let format = Format::new(VdbCompression::ActiveOnly, VdbPrecision::Full);
    let leaves: Vec<&[Place]> = order.chunk_by(|a, b| a.0 == b.0).collect();
    let topology = leaves.iter().map(|leaf| {
        let (path, _, first) = leaf[0];
        let mut active = [0; 8];
        leaf.iter().for_each(|(_, cell, _)| set(&mut active, usize::from(*cell)));
        Leaf { path, block: place(first as usize).map(|(cell, _)| cell as i32 >> 3), active: Some(active) }
    });
    let tree = Tree { background: [0.0], leaves: topology.collect(), values: passes(&leaves, &attributes) };
    let mut before_values = Vec::new();
    put_u32(&mut before_values, format.flags());
    write_metadata(&mut before_values, &tree.metadata(points.name, VdbClass::Unknown, format));
    write_transform(&mut before_values, origin, spacing);
    tree.write_topology(&mut before_values, format);
    Ok(Body { kind: "Tree_ptdataidx32_5_4_3", before_values, values: tree.values })
}

fn passes(leaves: &[&[Place]], attributes: &[Attribute<'_>]) -> Vec<Vec<u8>> {
    let mut head = (2 * attributes.len() as u16 + 4).to_le_bytes().to_vec();
    leaves.iter().for_each(|_| head.extend_from_slice(&NOT_PACKED.to_le_bytes()));

    for (l, leaf) in leaves.iter().enumerate() {
        if l == 0 {
            head.push(1); // the same attributes in all leaves
            put_attributes(&mut head, attributes);
        }
        for attribute in attributes {
            let is_uniform = matches!(attribute.values, Values::Uniform(_));
            let bytes = attribute.bytes * if is_uniform { 1 } else { leaf.len() };
            // The bytes count the flags and the number of values as well.
            head.extend_from_slice(&(bytes as u64 + 6).to_le_bytes());
            head.extend_from_slice(&[CONSTANT_STRIDE, if is_uniform { UNIFORM } else { 0 }]);
            put_u32(&mut head, leaf.len() as u32);
        }
    }

    let mut counts = Vec::with_capacity(leaves.len() * (BLOCK_CELLS / 8 + 2 + 4 * BLOCK_CELLS));
    for leaf in leaves {
        let (mut mask, mut up_to) = ([0_u64; 8], [0_u32; BLOCK_CELLS]);
        for (_, cell, _) in *leaf {
            set(&mut mask, usize::from(*cell));
            up_to[usize::from(*cell)] += 1;
        }
        mask.iter().for_each(|word| counts.extend_from_slice(&word.to_le_bytes()));
        counts.extend_from_slice(&NOT_PACKED.to_le_bytes());
        let mut sum = 0;
        for count in up_to {
            sum += count;
            put_u32(&mut counts, sum);
        }
    }

    let lists = attributes.iter().map(|attribute| {
        let mut out = Vec::new();
        for leaf in leaves {
            match &attribute.values {
                Values::Uniform(value) => put_floats(&mut out, &[*value]),
                Values::Each(put) => {
                    out.push(0); // not packed
                    leaf.iter().for_each(|(.., i)| put(&mut out, *i as usize));
                }
            }
        }
        out
    });
    [head, counts].into_iter().chain(lists).collect()
}

/// Types and names of the attributes.
fn put_attributes(out: &mut Vec<u8>, attributes: &[Attribute<'_>]) {
    out.extend_from_slice(&(attributes.len() as u64).to_le_bytes());
    for attribute in attributes {
        put_text(out, attribute.kind);
        put_text(out, "null"); // as they are
    }
    for (i, attribute) in attributes.iter().enumerate() {
        put_text(out, &attribute.name);
        out.extend_from_slice(&(i as u64).to_le_bytes());
    }
    out.extend_from_slice(&0_u64.to_le_bytes()); // no groups
    write_metadata(out, &Metadata::new());
}

fn put_floats(out: &mut Vec<u8>, values: &[f32]) {
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}
