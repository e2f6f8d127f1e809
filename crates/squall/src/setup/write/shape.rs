//! Shapes, motion and objects as TOML.

use std::fmt::{self, Write};

use super::{color, list, text};
use crate::setup::{Mesh, Motion, Object, Shape, Up};

/// The line `shape = ...`, after a comment for each mesh: its fingerprint takes part in that of the scene.
pub(super) fn write_shape(out: &mut String, s: &Shape) -> fmt::Result {
    for mesh in s.meshes() {
        writeln!(out, "# {:?} holds {:016x}", mesh.file, mesh.fingerprint)?;
    }
    writeln!(out, "shape = {}", shape(s))
}

pub(super) fn shape(s: &Shape) -> String {
    let line = |kind: &str, from: &[f64], to: &[f64], radius: f64| {
        format!("{{ {kind} = {{ from = {}, to = {}, radius = {radius:?} }} }}", list(from), list(to))
    };
    let parts = |parts: &[Shape]| parts.iter().map(shape).collect::<Vec<_>>().join(", ");
    match s {
        Shape::Sphere { center, radius } => {
            format!("{{ sphere = {{ center = {}, radius = {radius:?} }} }}", list(center))
        }
        Shape::Box { min, max, rounding } => {
            format!("{{ box = {{ min = {}, max = {}, rounding = {rounding:?} }} }}", list(min), list(max))
        }
        Shape::Capsule { from, to, radius } => line("capsule", from, to, *radius),
        Shape::Cylinder { from, to, radius } => line("cylinder", from, to, *radius),
        Shape::Plane { point, normal } => {
            format!("{{ plane = {{ point = {}, normal = {} }} }}", list(point), list(normal))
        }
        Shape::Polygon(points) => format!("{{ polygon = {points:?} }}"),
        Shape::Mesh(m) => format!("{{ mesh = {{ {} }} }}", mesh(m)),
        Shape::Union(shapes) => format!("{{ union = [{}] }}", parts(shapes)),
        Shape::Intersection(shapes) => format!("{{ intersection = [{}] }}", parts(shapes)),
        Shape::Difference(both) => {
            format!("{{ difference = {{ from = {}, cut = {} }} }}", shape(&both[0]), shape(&both[1]))
        }
        Shape::Inverse(s) => format!("{{ inverse = {} }}", shape(s)),
        Shape::Shell { shape: s, thickness } => {
            format!("{{ shell = {{ shape = {}, thickness = {thickness:?} }} }}", shape(s))
        }
        Shape::Grown { shape: s, by } => format!("{{ grown = {{ shape = {}, by = {by:?} }} }}", shape(s)),
    }
}

fn mesh(m: &Mesh) -> String {
    let mut out = format!("file = {}", text(&m.file));
    if let Some([first, last]) = m.frames {
        out += &format!(", frames = [{first}, {last}]");
    }
    if m.meshes.len() > 1 {
        out += &format!(", fps = {:?}, loop = {}", m.fps, m.repeat);
    }
    if m.up != Up::Y {
        out += &format!(", up = \"{}\"", m.up.word());
    }
    if let Some(sheet) = m.sheet {
        out += &format!(", sheet = {sheet:?}");
    }
    out + &format!(", thicken = {}", m.thicken)
}

/// The lines that say where something is and how it moves; none if it stays where it was built.
pub(super) fn write_motion(out: &mut String, m: &Motion) -> fmt::Result {
    motion_keys(m).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// What says how something moves, key by key.
pub(super) fn motion_keys(m: &Motion) -> Vec<String> {
    if m.is_rest() {
        return Vec::new();
    }
    let angles = |a: [f64; 3]| if m.pivot.len() == 2 { format!("{:?}", a[2]) } else { list(&a) };
    let key = |k: &crate::setup::MotionKey| {
        format!("{{ time = {:?}, position = {}, rotation = {} }}", k.time, list(&k.position), angles(k.rotation))
    };
    let keys = m.keys.iter().map(key).collect::<Vec<_>>().join(", ");
    let motion = format!(
        "motion = {{ keys = [{keys}], interpolation = \"{}\", loop = {}, velocity = {}, spin = {} }}",
        m.interpolation.word(),
        m.repeat,
        list(&m.velocity),
        angles(m.spin)
    );
    vec![format!("pivot = {}", list(&m.pivot)), format!("scale = {:?}", m.scale), motion]
}

/// An object; its looks only with `colors`.
pub(super) fn write_object(out: &mut String, o: &Object, colors: bool) -> fmt::Result {
    writeln!(out, "\n[[object]]\nname = {}", text(&o.name))?;
    write_shape(out, &o.shape)?;
    write_motion(out, &o.motion)?;
    writeln!(out, "solid = {}\nfriction = {:?}", o.solid, o.friction)?;
    if colors {
        writeln!(out, "color = {}\nroughness = {:?}\nvisible = {}", color(o.color), o.roughness, o.visible)?;
    }
    Ok(())
}
