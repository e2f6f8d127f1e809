//! The reference of all keys, as Markdown: what docs/scene-format.md has between its marks.

use super::key::Key;
use super::*;

/// Names of the tables of the reference.
pub const TABLES: &[&str] = &[
    "scene",
    "grid",
    "fluid",
    "smoke",
    "fire",
    "embers",
    "liquid",
    "blob",
    "spout",
    "surface",
    "substance",
    "target",
    "figure",
    "guide",
    "source",
    "shape",
    "object",
    "motion",
    "force",
    "edit",
    "stir",
    "texture",
    "solver",
    "time",
    "loop",
    "output",
    "vdb",
    "picture",
    "camera",
    "orbit",
    "light",
    "render",
    "flipbook",
    "keyframes",
];

/// One table of the reference.
pub fn reference(name: &str) -> Option<String> {
    let rows: Vec<String> = match name {
        "scene" => {
            rows("", SceneFile::all_keys().iter().filter(|key| ["description", "model", "seed"].contains(&key.name)))
        }
        "grid" => rows("", Grid::all_keys()),
        "fluid" => rows("", Fluid::all_keys()),
        "smoke" => rows("", Smoke::all_keys()),
        "fire" => rows("", Fire::all_keys()),
        "embers" => rows("", Embers::all_keys()),
        "liquid" => {
            [rows("", Liquid::all_keys()), rows("melting.", Melting::all_keys()), rows("heat.", HeatLoss::all_keys())]
                .concat()
        }
        "blob" => rows("", Blob::all_keys()),
        "spout" => rows("", Spout::all_keys()),
        "surface" => rows("", Surface::all_keys()),
        "substance" => rows("", Substance::all_keys()),
        "target" => rows("", Target::all_keys()),
        "figure" => rows("", Figure::all_keys()),
        "guide" => rows("", Guide::all_keys()),
        "source" => rows("", Source::all_keys()),
        "shape" => [
            rows("", Shape::all_keys()),
            rows("sphere.", Sphere::all_keys()),
            rows("box.", Block::all_keys()),
            rows("capsule.", Capsule::all_keys()),
            rows("cylinder.", Cylinder::all_keys()),
            rows("plane.", Plane::all_keys()),
            rows("mesh.", Mesh::all_keys()),
            rows("difference.", Difference::all_keys()),
            rows("shell.", Shell::all_keys()),
            rows("grown.", Grown::all_keys()),
        ]
        .concat(),
        "object" => rows("", Object::all_keys()),
        "motion" => [rows("", Motion::all_keys()), rows("keys.", MotionKey::all_keys())].concat(),
        "force" => [
            rows("", Force::all_keys()),
            rows("buoyancy.", Buoyancy::all_keys()),
            rows("wind.", Wind::all_keys()),
            rows("vortex.", Vortex::all_keys()),
            rows("radial.", Radial::all_keys()),
            rows("noise.", Noise::all_keys()),
        ]
        .concat(),
        "edit" => [
            rows("", Edit::all_keys()),
            rows("parameter.", ParameterEdit::all_keys()),
            rows("stroke.", BrushStroke::all_keys()),
            rows("move.", MoveEdit::all_keys()),
        ]
        .concat(),
        "stir" => rows("", Stir::all_keys()),
        "texture" => [
            rows("", Texture::all_keys()),
            rows("detail.", TextureDetail::all_keys()),
            rows("noise.", TextureNoise::all_keys()),
            rows("lines.", TextureLines::all_keys()),
        ]
        .concat(),
        "solver" => rows("", Solver::all_keys()),
        "time" => rows("", Time::all_keys()),
        "loop" => rows("", LoopTable::all_keys()),
        "output" => rows("", Output::all_keys()),
        "vdb" => rows("", VdbTable::all_keys()),
        "picture" => rows("", Picture::all_keys()),
        "camera" => rows("", Camera::all_keys()),
        "orbit" => rows("", CameraKey::all_keys()),
        "light" => rows("", Light::all_keys()),
        "render" => [
            rows("", Render::all_keys()),
            rows("glow.", Glow::all_keys()),
            rows("ambient.", Ambient::all_keys()),
            rows("ground.", Ground::all_keys()),
            rows("water.", Water::all_keys()),
        ]
        .concat(),
        "flipbook" => rows("", Flipbook::all_keys()),
        "keyframes" => rows("", KeyTable::all_keys()),
        _ => return None,
    };
    Some(format!("| key | kind | default | meaning |\n|---|---|---|---|\n{}\n", rows.join("\n")))
}

fn rows<'a>(prefix: &str, keys: impl IntoIterator<Item = &'a Key>) -> Vec<String> {
    keys.into_iter().map(|key| key.row(prefix)).collect()
}
