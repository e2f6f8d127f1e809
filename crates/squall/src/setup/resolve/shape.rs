//! Shapes, motion, objects.

use super::*;
use crate::assets::{Loaded, MeshFiles, numbered};

/// Longest mesh sequence.
const MAX_MESHES: u64 = 10_000;

/// The keys that say where something is and how it moves.
pub(super) struct Place<'a> {
    pub position: Vec<Curve>,
    pub rotation: [Curve; 3],
    pub scale: f64,
    pub pivot: &'a Option<Spanned<Vector>>,
    pub motion: &'a Option<Spanned<scene::Motion>>,
}

/// How often in a frame a position that changes with time is looked at: fine enough for what one sees, and for the
/// velocities of solids.
const SAMPLES_PER_FRAME: f64 = 4.0;
const BEFORE_START: i32 = 2;
/// Most keyframes that a curve becomes; in a longer run they are further apart.
const MAX_SAMPLES: f64 = 200_000.0;

impl Resolver<'_> {
    pub(super) fn objects(&mut self, file: &SceneFile) -> Vec<Object> {
        let Some(list) = &file.object else { return Vec::new() };
        let mut objects: Vec<Object> = Vec::new();
        for (i, o) in list.iter().enumerate() {
            let key = format!("object.{i}");
            let name = o.name().clone();
            if let (Some(given), true) = (&o.name, objects.iter().any(|other| other.name == name)) {
                self.problems
                    .error(given.span, format!("two objects are called `{}`", short(&name)), "the second one")
                    .help("give each object a name of its own");
            }
            let shape = o.shape.as_ref().and_then(|shape| self.shape(shape, &format!("{key}.shape")));
            let shape = shape.unwrap_or(Shape::Sphere { center: vec![0.0; self.d], radius: 1.0 });
            let place = Place {
                position: o.position().plain(),
                rotation: o.rotation().curves(),
                scale: *o.scale(),
                pivot: &o.pivot,
                motion: &o.motion,
            };
            objects.push(Object {
                motion: self.motion(place, &shape, &key),
                name,
                shape,
                solid: *o.solid(),
                friction: *o.friction(),
                temperature: o.temperature.as_ref().map(|t| t.value.plain()),
                color: o.color().0,
                roughness: *o.roughness(),
                glass: *o.glass(),
                metal: *o.metal(),
                visible: *o.visible(),
            });
        }
        objects
    }

    pub(super) fn motion(&mut self, place: Place<'_>, shape: &Shape, key: &str) -> Motion {
        let Place { position, rotation, scale, .. } = place;
        let animated = position.iter().chain(&rotation).any(|curve| !curve.is_constant());
        let at = |time: f64| MotionKey {
            time,
            position: curve::at(&position, time),
            rotation: rotation.each_ref().map(|curve| curve.at(time)),
        };
        let mut keys: Vec<MotionKey> = Vec::new();
        let motion = place.motion.as_deref();
        for (k, given) in motion.iter().filter_map(|m| m.keys.as_ref()).flat_map(|keys| &keys.value).enumerate() {
            let key = format!("{key}.motion.keys.{k}");
            let time = *given.time();
            if keys.last().is_some_and(|last| last.time >= time) {
                self.problems
                    .error(given.span, format!("`{key}` is at {time} s, not later than the key before it"), "too early")
                    .help("put keys in order of time");
            }
            if animated {
                self.problems
                    .error(given.span, format!("`{key}`, but position or rotation change with time already"), "twice")
                    .help("keep one of the two: keyframes in `motion`, or `position` and `rotation` over time");
            }
            let rest = at(0.0);
            keys.push(MotionKey {
                time,
                position: given.position.as_ref().map_or(rest.position, |p| p.values()),
                rotation: given.rotation.as_ref().map_or(rest.rotation, |r| r.0),
            });
        }
        if animated && keys.is_empty() {
            // The times do not depend on the length of the run, and there are some after its end, so that a run that is
            // made longer afterwards goes on as if it had been so from the start.
            let mut rate = SAMPLES_PER_FRAME * self.fps;
            while rate * self.duration > MAX_SAMPLES {
                rate *= 0.5;
            }
            let last = (rate * self.duration).ceil() as i32 + 2 * SAMPLES_PER_FRAME as i32;
            let all_finite = |k: &MotionKey| k.position.iter().chain(&k.rotation).all(|v| v.is_finite());
            // Some lie before the start, where there is a motion at all: what turns steadily does not start from rest.
            let sample = |i: i32| at(f64::from(i) / rate);
            let before = (-BEFORE_START..0).map(sample).skip_while(|k| !all_finite(k));
            keys = before.chain((0..=last).map(sample).take_while(all_finite)).collect();
        } else if keys.is_empty() && (at(0.0).position.iter().any(|p| *p != 0.0) || at(0.0).rotation != [0.0; 3]) {
            keys.push(at(0.0));
        }
        let (lo, hi) = shape.extent();
        let middle: Vec<f64> = lo.iter().zip(&hi).map(|(l, h)| 0.5 * (l + h)).collect();
        let natural = !shape.has_mesh() && middle.len() == self.d && middle.iter().all(|m| m.is_finite());
        Motion {
            pivot: match place.pivot {
                Some(pivot) => pivot.values(),
                None if natural => middle,
                None => vec![0.0; self.d],
            },
            scale,
            keys,
            interpolation: motion.map_or(Interpolation::Smooth, |m| *m.interpolation()),
            repeat: motion.is_some_and(|m| *m.r#loop()),
            velocity: motion.map_or(vec![0.0; self.d], |m| m.velocity().values()),
            spin: motion.map_or([0.0; 3], |m| m.spin().0),
            path: None,
        }
    }

    pub(super) fn shape(&mut self, shape: &Spanned<scene::Shape>, key: &str) -> Option<Shape> {
        self.shape_at(&shape.value, shape.span, key)
    }

    fn shape_at(&mut self, s: &scene::Shape, span: Span, key: &str) -> Option<Shape> {
        let kinds = [
            s.sphere.is_some(),
            s.r#box.is_some(),
            s.capsule.is_some(),
            s.cylinder.is_some(),
            s.plane.is_some(),
            s.polygon.is_some(),
            s.mesh.is_some(),
            s.union.is_some(),
            s.intersection.is_some(),
            s.difference.is_some(),
            s.inverse.is_some(),
            s.shell.is_some(),
            s.grown.is_some(),
        ];
        if kinds.iter().filter(|k| **k).count() != 1 {
            let message = match kinds.contains(&true) {
                true => format!("`{key}` is more than one shape"),
                false => format!("`{key}` is empty"),
            };
            self.problems
                .error(span, message, "exactly one of `sphere`, `box`, `capsule`, ...")
                .help("several shapes make one with union = [{ sphere = ... }, { box = ... }]");
            return None;
        }
        if let Some(shape) = self.simple_shape(s, key) {
            return shape;
        }
        if let Some(points) = &s.polygon {
            return self.polygon(points, &format!("{key}.polygon"));
        }
        if let Some(mesh) = &s.mesh {
            return self.mesh(mesh, &format!("{key}.mesh"));
        }
        if let Some(parts) = &s.union {
            return self.parts(parts, &format!("{key}.union")).map(Shape::Union);
        }
        if let Some(parts) = &s.intersection {
            return self.parts(parts, &format!("{key}.intersection")).map(Shape::Intersection);
        }
        if let Some(d) = &s.difference {
            let key = format!("{key}.difference");
            let from = self.part(d.from.as_ref()?, &format!("{key}.from"));
            let cut = self.part(d.cut.as_ref()?, &format!("{key}.cut"));
            return Some(Shape::Difference(Box::new([from?, cut?])));
        }
        if let Some(inverse) = &s.inverse {
            return self.part(inverse, &format!("{key}.inverse")).map(|shape| Shape::Inverse(Box::new(shape)));
        }
        if let Some(shell) = &s.shell {
            let shape = self.part(shell.shape.as_ref()?, &format!("{key}.shell.shape"))?;
            return Some(Shape::Shell { shape: Box::new(shape), thickness: *shell.thickness() });
        }
        let grown = s.grown.as_ref()?;
        let shape = self.part(grown.shape.as_ref()?, &format!("{key}.grown.shape"))?;
        Some(Shape::Grown { shape: Box::new(shape), by: *grown.by() })
    }

    pub(super) fn part(&mut self, part: &Spanned<scene::Part>, key: &str) -> Option<Shape> {
        self.shape_at(&part.value.0, part.span, key)
    }

    fn parts(&mut self, parts: &Spanned<Vec<Spanned<scene::Part>>>, key: &str) -> Option<Vec<Shape>> {
        if parts.is_empty() {
            self.problems
                .error(parts.span, format!("`{key}` is empty"), "no shapes")
                .help("for example [{ sphere = { ... } }, { box = { ... } }]");
            return None;
        }
        let shapes: Vec<_> = parts.iter().enumerate().map(|(i, p)| self.part(p, &format!("{key}.{i}"))).collect();
        shapes.into_iter().collect()
    }

    /// A shape of a few numbers; the outer `None`: it is none of these.
    fn simple_shape(&mut self, shape: &scene::Shape, key: &str) -> Option<Option<Shape>> {
        if let Some(s) = &shape.sphere {
            return Some(Some(Shape::Sphere { center: s.center().values(), radius: *s.radius() }));
        }
        if let Some(b) = &shape.r#box {
            return Some(self.block(b, &format!("{key}.box")));
        }
        if let Some(c) = &shape.capsule {
            let (from, to) = (c.from().values(), c.to().values());
            return Some(Some(Shape::Capsule { from, to, radius: *c.radius() }));
        }
        if let Some(c) = &shape.cylinder {
            let (from, to) = (c.from().values(), c.to().values());
            if from == to {
                self.problems
                    .error(c.span, format!("`{key}.cylinder` has no length"), "`from` and `to` are the same")
                    .help("a cylinder reaches from one end to the other; a ball is a `sphere`");
            }
            return Some(Some(Shape::Cylinder { from, to, radius: *c.radius() }));
        }
        let p = shape.plane.as_ref()?;
        let (point, normal) = (p.point().values(), p.normal().values());
        if normal.iter().all(|n| *n == 0.0) {
            self.problems
                .error(p.span, format!("`{key}.plane.normal` has no direction"), "length zero")
                .help("a floor has the normal [0.0, 1.0]");
        }
        Some(Some(Shape::Plane { point, normal }))
    }

    fn block(&mut self, b: &Spanned<scene::Block>, key: &str) -> Option<Shape> {
        let (min, max) = (b.min().values(), b.max().values());
        if let Some(a) = (0..self.d).find(|&a| min[a] >= max[a]) {
            let message = format!("the box `{key}` has no extent along {}", AXES[a]);
            let help = format!("along {} it reaches from {} to {}: min must be less than max", AXES[a], min[a], max[a]);
            self.problems.error(b.span, message, "min and max").help(help);
        }
        Some(Shape::Box { min, max, rounding: *b.rounding() })
    }

    fn polygon(&mut self, typed: &Spanned<Vec<Spanned<Vec<Spanned<f64>>>>>, key: &str) -> Option<Shape> {
        if self.d == 3 {
            self.problems
                .error(typed.span, format!("`{key}` in a 3D scene"), "only in 2D")
                .help("use a `mesh`, or a `box`, `cylinder` or other solid");
            return None;
        }
        let mut points = Vec::new();
        for point in &typed.value {
            let [x, y] = point.as_slice() else {
                self.problems
                    .error(point.span, format!("a point of `{key}` has {}", entries(point.len())), "expected [x, y]")
                    .help("for example [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]");
                return None;
            };
            points.push([x.value, y.value]);
        }
        if points.len() < 3 {
            self.problems
                .error(
                    typed.span,
                    format!("`{key}` has {}; an outline needs 3", entries(points.len())),
                    "too few points",
                )
                .help("for example [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]");
            return None;
        }
        Some(Shape::Polygon(points))
    }

    fn mesh(&mut self, typed: &Spanned<scene::MeshFile>, key: &str) -> Option<Shape> {
        let mesh = &typed.value.0;
        if self.d == 2 {
            self.problems
                .error(typed.span, format!("`{key}` in a 2D scene"), "only in 3D")
                .help("use a `polygon`: a list of points");
            return None;
        }
        let file = mesh.file.as_ref()?;
        let frames = self.mesh_frames(mesh, file, key)?;
        let mut files = MeshFiles::default();
        for frame in frames.map_or(0..=0, |[first, last]| first..=last) {
            let name = numbered(&file.value, frame).unwrap_or_else(|| file.value.clone());
            // Of a sequence each file is one mesh, animated or not.
            let fps = frames.is_none().then_some(*mesh.fps());
            if let Err(e) = files.load(self.assets, self.loaded, &name, fps, *mesh.up()) {
                self.unusable(file.span, &e);
                return None;
            }
        }
        let MeshFiles { meshes, fingerprint, bytes } = files;
        self.loaded += bytes as u64;
        self.read_file(Matters::Physics, &file.value, fingerprint);
        Some(Shape::Mesh(Mesh {
            file: file.value.clone(),
            fingerprint,
            frames,
            fps: *mesh.fps(),
            repeat: *mesh.r#loop(),
            sheet: mesh.sheet.as_deref().copied(),
            thicken: *mesh.thicken(),
            up: *mesh.up(),
            meshes: Loaded::new(fingerprint, meshes),
        }))
    }

    /// First and last frame of a sequence; the outer `None`: wrong, and said so.
    fn mesh_frames(&mut self, mesh: &scene::Mesh, file: &Spanned<String>, key: &str) -> Option<Option<[u64; 2]>> {
        let is_numbered = numbered(file, 0).is_some();
        let Some(frames) = &mesh.frames else {
            if is_numbered {
                self.problems
                    .error(file.span, format!("`{key}` is a sequence, but how long is it?"), "needs `frames`")
                    .help("for example frames = [1, 24]: the first and the last");
            }
            return (!is_numbered).then_some(None);
        };
        match frames.as_slice() {
            _ if !is_numbered => {
                self.problems
                    .error(file.span, format!("`{key}.frames` needs a file for each frame"), "no `{frame}` in it")
                    .help("for example \"walk_{frame}.ply\": walk_0001.ply, walk_0002.ply, ...");
                None
            }
            [first, last] if first.value <= last.value && last.value - first.value < MAX_MESHES => {
                Some(Some([first.value, last.value]))
            }
            _ => {
                self.problems
                    .error(frames.span, format!("`{key}.frames` is not a first and a last frame"), "[first, last]")
                    .help(format!("for example [1, 24]; at most {MAX_MESHES} meshes"));
                None
            }
        }
    }
}
