//! The built-in scenes, and templates for new ones.

use crate::assets::Assets;
use crate::scene::Scene;

/// A scene of the gallery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GalleryScene {
    /// The name it is called by: `squall run plume`.
    pub name: &'static str,
    /// The scene file.
    pub text: &'static str,
}

impl GalleryScene {
    /// What the scene shows, in its own words.
    pub fn description(&self) -> String {
        let scene = Scene::parse(self.name, self.text, &[]).ok();
        scene.and_then(|s| s.file.description).map_or_else(String::new, |d| d.value)
    }
}

/// To add a scene, put its file into `scenes/` and its name here.
macro_rules! scenes {
    ($($name:literal)*) => {
        &[$(GalleryScene { name: $name, text: include_str!(concat!("../../../scenes/", $name, ".toml")) },)*]
    };
}

const ALL: &[GalleryScene] = scenes! {
    "plume"
    "fire"
    "ink_jets"
    "kelvin_helmholtz"
    "mushrooms"
    "plume_3d"
    "dam"
    "dam_3d"
    "fountain"
    "crown_splash"
    "ink_dam"
    "two_juices"
    "poured_glass"
    "rain"
    "wave_tank"
    "river"
    "stirred_cup"
    "merging_drops"
    "honey"
    "chocolate"
    "toothpaste"
    "slime"
    "wax"
    "folds"
    "jelly"
    "rayleigh_benard"
    "stirred_box"
    "turbulence"
    "vortex_street"
    "cavity"
    "around_a_ball"
    "burst"
    "candle"
    "ground_fog"
    "spinning_knot"
    "psi_to_omega"
    "psi_to_omega_paper"
    "cross_to_tick"
    "cross_to_tick_paper"
    "word_to_logo"
    "word_to_logo_paper"
    "word_to_logo_inverted"
    "logo_reveal"
    "words"
    "formed_knot"
    "marbled_paper"
    "coffee_and_milk"
    "lava_lamp"
    "stirred_pebbles"
    "billows"
    "campfire"
    "torch"
    "fireball"
    "gas_ring"
    "burning_letters"
    "fog_tile"
};

/// To add a file that a scene names, put it into a folder of `scenes/` and its path here.
macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_bytes!(concat!("../../../scenes/", $path))),)*]
    };
}

const FILES: &[(&str, &[u8])] = files! {
    "meshes/knot.ply"
    "meshes/propeller.obj"
    "meshes/star.ply"
    "meshes/valley.ply"
    "figures/air.svg"
    "figures/cross.svg"
    "figures/squall.svg"
    "figures/tick.svg"
};

/// The files that scenes of the gallery name.
pub fn assets() -> Assets {
    Assets::embedded(FILES)
}

/// All scenes of the gallery.
pub fn all() -> &'static [GalleryScene] {
    ALL
}

/// The scene of this name.
pub fn find(name: &str) -> Option<&'static GalleryScene> {
    ALL.iter().find(|scene| scene.name == name)
}

/// The scene whose name is nearest to what was typed, if one is near enough to have been meant.
pub fn nearest(typed: &str) -> Option<&'static str> {
    crate::diagnostic::nearest(typed, ALL.iter().map(|scene| scene.name))
}

/// A commented scene that a new project starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it makes, in a few words.
    pub description: &'static str,
    text: &'static str,
}

/// To add a template, put its file into `templates/` and its name here.
macro_rules! templates {
    ($($name:literal: $description:literal,)*) => {
        &[$(Template {
            name: $name,
            description: $description,
            text: include_str!(concat!("templates/", $name, ".toml")),
        },)*]
    };
}

/// The scenes that a project may start from; the first is the usual one.
pub const TEMPLATES: &[Template] = templates! {
    "plume": "a plume in 2D, every common key explained",
    "3d": "smoke in 3D without walls, with a camera",
    "fire": "flames in 3D that glow",
    "obstacle": "smoke in 3D around objects that stand or move",
    "morph": "smoke that forms words, pictures or shapes",
    "water": "water in 2D, with a drop that falls and a ball that moves",
    "ink": "ink in 2D, stirred, dark on white",
    "loop": "smoke whose last frame leads into its first, for flipbooks",
    "tile": "fog that tiles in both directions and loops",
};

/// The template of this name.
pub fn find_template(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.name == name)
}

impl Template {
    /// The scene, for a project of this name.
    pub fn scene(&self, name: &str) -> String {
        // The name stands inside quotes in the template.
        let name: String = name.chars().filter(|c| !c.is_control() && !"\"\\".contains(*c)).take(100).collect();
        self.text.replace("NAME", &name)
    }
}
