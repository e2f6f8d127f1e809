//! Film: smoke, fire, water and objects in one picture, seen by a moving camera under several lights.
//!
//! ```
//! use squall_core::Volume;
//! use squall_render::film::{Camera, Ground, Quality, Scene, Sphere, Style, Substance, Tone, render};
//!
//! // A ball of smoke of 32³ cells of 5 cm, above a ball of stone.
//! let cells = [32; 3];
//! let at = |i: usize| [i % 32, i / 32 % 32, i / 1024].map(|c| c as f32 - 15.5);
//! let inside = |[x, y, z]: [f32; 3]| if x.hypot(y).hypot(z) < 12.0 { 1.0 } else { 0.0 };
//! let values: Vec<f32> = (0..32 * 32 * 32).map(|i| inside(at(i))).collect();
//! let smoke = Volume::from_dense([0.0, 0.5, 0.0], 0.05, 0.0, cells, &values);
//!
//! let stone = Sphere { center: [0.8, 0.3, 0.8], radius: 0.3, finish: Default::default() };
//! let scene = Scene { substances: vec![Substance::new(&smoke)], surfaces: vec![&stone], ..Scene::default() };
//! let style = Style { ground: Some(Ground::default()), ..Style::default() };
//! let camera = Camera::framing([0.0; 3], [1.6, 2.1, 1.6], 30.0, 10.0, 35.0, 1.5, 0.05);
//!
//! let frame = render(&scene, &style, &camera, [96, 64], 0, Quality::PREVIEW)?;
//! let image = frame.to_image(&Tone::default());
//! assert_eq!(image.pixels.len(), 96 * 64);
//! # Ok::<(), squall_render::RenderError>(())
//! ```
//!
//! [`render`] draws one picture; a [`Stage`] keeps the smoke and its shadows for several pictures of the same moment.
//!
//! | module | what it does |
//! |---|---|
//! | `style`, `ramp` | looks: lights, ambient, glow, ground, quality; the colours of heat |
//! | `camera`, `orbit` | perspective and orthographic cameras; smooth ways around a target |
//! | `bricks`, `index` | sparse volumes as rays want them; leaping over empty space |
//! | `shadow` | light that reaches every place in the smoke |
//! | `march` | rays through smoke |
//! | `passes`, `slope` | more than colour from the same rays: motion, normals, heat, light from six sides |
//! | `liquid`, `levels`, `lookup` | water, its surface for rays, what is dissolved in it |
//! | `water`, `optics` | what is seen in water and through it |
//! | `caustics` | light that falls through water |
//! | `body` | subsurface light of liquids that scatter it |
//! | `environment`, `sky` | the surroundings: rooms, clear skies, pictures |
//! | `surface`, `shading`, `ground_sky` | objects by their distance, the ground, shadows on them |
//! | `fire` | light that fire throws on smoke and objects |
//! | `moved` | smoke advected to another moment, for motion blur |
//! | `sparks` | bright points with trails, on a finished picture |
//! | `frame`, `bloom` | linear light with depth, its way to a screen, light that spreads in the lens |
//!
//! Differences from a full solution of light transport: light is scattered once, with shadows softened as several
//! scatterings would ([`Scatter::softness`]); fire is some lamps to what it lights; surfaces do not reflect each other. Only water mirrors and bends what is seen; smoke is not seen in it or through it, and water
//! casts no shadow on smoke. Objects under water have the straight shadows that they have in air. The same input gives
//! the same bytes on any number of threads.
//!
//! Water:
//!
//! ```
//! use squall_core::Volume;
//! use squall_render::film::{Camera, Environment, Ground, Liquid, Quality, Scene, Style, render};
//!
//! // A drop of 30 cm, by the distance to its surface in cells of 5 cm.
//! let at = |i: usize| [i % 16, i / 16 % 16, i / 256].map(|c| 0.05 * (c as f32 - 7.5));
//! let distance = |[x, y, z]: [f32; 3]| x.hypot(y).hypot(z) - 0.3;
//! let values: Vec<f32> = (0..16 * 16 * 16).map(|i| distance(at(i))).collect();
//! let drop = Volume::from_dense([-0.4, 0.0, -0.4], 0.05, 1.0, [16; 3], &values);
//!
//! let scene = Scene { liquid: Some(Liquid::new(&drop)), ..Scene::default() };
//! let style = Style {
//!     ground: Some(Ground::tiled(0.0, 0.1)),
//!     environment: Some(Environment::studio()),
//!     ..Style::default()
//! };
//! let camera = Camera::framing([-0.4, 0.0, -0.4], [0.4, 0.8, 0.4], 30.0, 15.0, 30.0, 1.5, 0.05);
//! let frame = render(&scene, &style, &camera, [96, 64], 0, Quality::PREVIEW)?;
//! assert!(frame.rgba.iter().all(|pixel| pixel[3] == 1.0));
//! # Ok::<(), squall_render::RenderError>(())
//! ```

mod bloom;
mod body;
mod bricks;
mod camera;
mod caustics;
mod environment;
mod fire;
mod frame;
mod ground_sky;
mod index;
mod levels;
mod liquid;
mod lookup;
mod march;
mod moved;
mod optics;
mod orbit;
mod passes;
mod ramp;
mod shading;
mod shadow;
mod sky;
mod slope;
mod sparks;
mod stage;
mod style;
mod surface;
mod vector;
mod water;

pub use camera::{Camera, Projection};
pub use caustics::light_map_bytes;
pub use environment::{Environment, Softbox};
pub use frame::{Frame, Tone, View};
pub use liquid::{Cloudy, Ink, Liquid};
pub use moved::moved;
pub use orbit::{Orbit, OrbitKey};
pub use passes::{Motion, Passes, Wanted, passes};
pub use ramp::blackbody;
pub use sky::{ClearSky, Dome, Panorama};
pub use sparks::{Spark, SparkStyle, draw_sparks};
pub use stage::{Scene, Stage, Substance, render};
pub use style::{Ambient, Finish, Glow, Ground, Light, MAX_LIGHTS, Quality, Ramp, Scatter, Source, Style, Tiles};
pub use surface::{FnSurface, ShapeSurface, Sphere, Surface};
