//! Shapes, motion, objects.

use std::sync::Arc;

use super::*;
use crate::assets::{MeshFiles, numbered};

/// Longest mesh sequence.
const MAX_MESHES: u64 = 10_000;

/// The keys that say where something is and how it moves.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub position: &'a Vector,
    pub rotation: &'a Option<Spanned<OneOrMany<Spanned<f64>>>>,
    pub scale: &'a Number,
    pub pivot: &'a Vector,
    pub motion: &'a Option<Spanned<scene::Motion>>,
}

impl Resolver<'_> {
    pub(super) fn objects(&mut self, file: &scene::SceneFile, model: Model) -> Vec<Object> {
        let Some(typed) = &file.object else { return Vec::new() };
        if model == Model::StableFluids {
            self.only_in_smoke(&file.object, "object");
            return Vec::new();
        }
        let mut objects: Vec<Object> = Vec::new();
        for (i, o) in typed.iter().enumerate() {
            let key = format!("object.{i}");
            self.required(&o.name, o.span, &key, "name", "\"ball\"");
            let example = "{ sphere = { center = [0.5, 0.5], radius = 0.1 } }";
            self.required(&o.shape, o.span, &key, "shape", example);
            let name = o.name.as_deref().cloned().unwrap_or_default();
            if let (Some(given), true) = (&o.name, objects.iter().any(|other| other.name == name)) {
                self.problems
                    .error(given.span, format!("two objects are called `{}`", short(&name)), "the second one")
                    .help("give each object a name of its own");
            }
            let shape = o.shape.as_ref().and_then(|shape| self.shape(shape, &format!("{key}.shape")));
            let shape = shape.unwrap_or(Shape::Sphere { center: vec![0.0; self.d], radius: 1.0 });
            let place = Place {
                position: &o.position,
                rotation: &o.rotation,
                scale: &o.scale,
                pivot: &o.pivot,
                motion: &o.motion,
            };
            objects.push(Object {
                motion: self.motion(place, &shape, &key),
                name,
                shape,
                solid: o.solid.as_deref().copied().unwrap_or(true),
                friction: self.between(&o.friction, 0.0, 1.0, 0.0, &format!("{key}.friction")),
                color: o.color.as_ref().map_or([0xbc; 3], |c| self.color(c)),
                roughness: self.between(&o.roughness, 0.0, 1.0, 0.45, &format!("{key}.roughness")),
                visible: o.visible.as_deref().copied().unwrap_or(true),
            });
        }
        objects
    }

    pub(super) fn motion(&mut self, place: Place<'_>, shape: &Shape, key: &str) -> Motion {
        let position = self.vector(place.position, &format!("{key}.position"));
        let rotation = self.angles(place.rotation, &format!("{key}.rotation"));
        let default = scene::Motion::default();
        let typed = place.motion.as_deref().unwrap_or(&default);
        let mut keys: Vec<MotionKey> = Vec::new();
        for (k, given) in typed.keys.iter().flat_map(|keys| &keys.value).enumerate() {
            let key = format!("{key}.motion.keys.{k}");
            self.required(&given.time, given.span, &key, "time", "1.0");
            let time = given.time.as_ref().map_or(0.0, |t| t.value);
            if keys.last().is_some_and(|last| last.time >= time) && given.time.is_some() {
                self.problems
                    .error(given.span, format!("`{key}` is at {time} s, not later than the key before it"), "too early")
                    .help("put keys in order of time");
            }
            keys.push(MotionKey {
                time,
                position: match &given.position {
                    Some(_) => self.vector(&given.position, &format!("{key}.position")),
                    None => position.clone(),
                },
                rotation: match &given.rotation {
                    Some(_) => self.angles(&given.rotation, &format!("{key}.rotation")),
                    None => rotation,
                },
            });
        }
        if keys.is_empty() && (position.iter().any(|p| *p != 0.0) || rotation != [0.0; 3]) {
            keys.push(MotionKey { time: 0.0, position, rotation });
        }
        let (lo, hi) = shape.extent();
        let middle: Vec<f64> = lo.iter().zip(&hi).map(|(l, h)| 0.5 * (l + h)).collect();
        let natural = !shape.has_mesh() && middle.len() == self.d && middle.iter().all(|m| m.is_finite());
        Motion {
            pivot: match place.pivot {
                Some(_) => self.vector(place.pivot, &format!("{key}.pivot")),
                None if natural => middle,
                None => vec![0.0; self.d],
            },
            scale: self.positive(place.scale, 1.0, &format!("{key}.scale")),
            keys,
            interpolation: typed.interpolation.as_deref().copied().unwrap_or(Interpolation::Smooth),
            repeat: typed.r#loop.as_deref().copied().unwrap_or(false),
            velocity: self.vector(&typed.velocity, &format!("{key}.motion.velocity")),
            spin: self.angles(&typed.spin, &format!("{key}.motion.spin")),
        }
    }

    /// Degrees about x, y and z. In 2D one number: about the viewer's axis.
    pub(super) fn angles(&mut self, typed: &Option<Spanned<OneOrMany<Spanned<f64>>>>, key: &str) -> [f64; 3] {
        match (typed.as_ref().map(|t| (&t.value, t.span)), self.d) {
            (None, _) => [0.0; 3],
            (Some((OneOrMany::One(angle), _)), 2) => [0.0, 0.0, angle.value],
            (Some((OneOrMany::Many(list), span)), 3) => match list.as_slice() {
                [x, y, z] => [x.value, y.value, z.value],
                _ => self.wrong_angles(span, key, "three numbers", "[0.0, 90.0, 0.0]"),
            },
            (Some((_, span)), 2) => self.wrong_angles(span, key, "one number in 2D", "90.0"),
            (Some((_, span)), _) => self.wrong_angles(span, key, "three numbers in 3D", "[0.0, 90.0, 0.0]"),
        }
    }

    fn wrong_angles(&mut self, span: Span, key: &str, wanted: &str, example: &str) -> [f64; 3] {
        self.problems
            .error(span, format!("`{key}` must be {wanted}"), "degrees")
            .help(format!("for example {example}: about x, y and z, in degrees"));
        [0.0; 3]
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
            let whole = self.required(&d.from, d.span, &key, "from", "{ sphere = { ... } }")
                & self.required(&d.cut, d.span, &key, "cut", "{ sphere = { ... } }");
            let from = d.from.as_ref().and_then(|p| self.part(p, &format!("{key}.from")));
            let cut = d.cut.as_ref().and_then(|p| self.part(p, &format!("{key}.cut")));
            return whole.then_some(()).and(Some(Shape::Difference(Box::new([from?, cut?]))));
        }
        if let Some(inverse) = &s.inverse {
            return self.part(inverse, &format!("{key}.inverse")).map(|shape| Shape::Inverse(Box::new(shape)));
        }
        if let Some(shell) = &s.shell {
            let key = format!("{key}.shell");
            self.required(&shell.shape, shell.span, &key, "shape", "{ sphere = { ... } }");
            self.required(&shell.thickness, shell.span, &key, "thickness", "0.02");
            let shape = shell.shape.as_ref().and_then(|p| self.part(p, &format!("{key}.shape")))?;
            shell.thickness.as_ref()?;
            let thickness = self.positive(&shell.thickness, REQUIRED, &format!("{key}.thickness"));
            return Some(Shape::Shell { shape: Box::new(shape), thickness });
        }
        let grown = s.grown.as_ref()?;
        let key = format!("{key}.grown");
        self.required(&grown.shape, grown.span, &key, "shape", "{ sphere = { ... } }");
        self.required(&grown.by, grown.span, &key, "by", "0.02");
        let shape = grown.shape.as_ref().and_then(|p| self.part(p, &format!("{key}.shape")))?;
        Some(Shape::Grown { shape: Box::new(shape), by: grown.by.as_ref()?.value })
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
            let key = format!("{key}.sphere");
            let center = self.required(&s.center, s.span, &key, "center", "[0.5, 0.1]");
            let radius = self.required(&s.radius, s.span, &key, "radius", "0.05");
            return Some((center & radius).then(|| Shape::Sphere {
                center: self.vector(&s.center, &format!("{key}.center")),
                radius: self.positive(&s.radius, REQUIRED, &format!("{key}.radius")),
            }));
        }
        if let Some(b) = &shape.r#box {
            return Some(self.block(b, &format!("{key}.box")));
        }
        if let Some(c) = &shape.capsule {
            let line = self.line(c.span, &c.from, &c.to, &c.radius, &format!("{key}.capsule"));
            return Some(line.map(|(from, to, radius)| Shape::Capsule { from, to, radius }));
        }
        if let Some(c) = &shape.cylinder {
            let key = format!("{key}.cylinder");
            let line = self.line(c.span, &c.from, &c.to, &c.radius, &key);
            return Some(line.map(|(from, to, radius)| {
                if from == to {
                    self.problems
                        .error(c.span, format!("`{key}` has no length"), "`from` and `to` are the same")
                        .help("a cylinder reaches from one end to the other; a ball is a `sphere`");
                }
                Shape::Cylinder { from, to, radius }
            }));
        }
        let p = shape.plane.as_ref()?;
        let key = format!("{key}.plane");
        let point = self.required(&p.point, p.span, &key, "point", "[0.0, 0.0]");
        let normal = self.required(&p.normal, p.span, &key, "normal", "[0.0, 1.0]");
        Some((point & normal).then(|| {
            let normal = self.vector(&p.normal, &format!("{key}.normal"));
            if normal.iter().all(|n| *n == 0.0) {
                self.problems
                    .error(p.span, format!("`{key}.normal` has no direction"), "length zero")
                    .help("a floor has the normal [0.0, 1.0]");
            }
            Shape::Plane { point: self.vector(&p.point, &format!("{key}.point")), normal }
        }))
    }

    fn line(&mut self, span: Span, from: &Vector, to: &Vector, radius: &Number, key: &str) -> Option<Line> {
        let whole = self.required(from, span, key, "from", "[0.2, 0.1]")
            & self.required(to, span, key, "to", "[0.8, 0.1]")
            & self.required(radius, span, key, "radius", "0.05");
        whole.then(|| {
            let from = self.vector(from, &format!("{key}.from"));
            let to = self.vector(to, &format!("{key}.to"));
            (from, to, self.positive(radius, REQUIRED, &format!("{key}.radius")))
        })
    }

    fn block(&mut self, b: &Spanned<scene::Block>, key: &str) -> Option<Shape> {
        let low = self.required(&b.min, b.span, key, "min", "[0.4, 0.0]");
        let high = self.required(&b.max, b.span, key, "max", "[0.6, 0.1]");
        if !(low & high) {
            return None;
        }
        let min = self.vector(&b.min, &format!("{key}.min"));
        let max = self.vector(&b.max, &format!("{key}.max"));
        if let Some(a) = (0..self.d).find(|&a| min[a] >= max[a]) {
            let message = format!("the box `{key}` has no extent along {}", AXES[a]);
            let help = format!("along {} it reaches from {} to {}: min must be less than max", AXES[a], min[a], max[a]);
            self.problems.error(b.span, message, "min and max").help(help);
        }
        Some(Shape::Box { min, max, rounding: self.not_negative(&b.rounding, 0.0, &format!("{key}.rounding")) })
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
        self.required(&mesh.file, typed.span, key, "file", "\"horse.ply\"");
        let file = mesh.file.as_ref()?;
        let frames = self.mesh_frames(mesh, file, key)?;
        let fps = self.between(&mesh.fps, 0.001, 10_000.0, self.fps, &format!("{key}.fps"));
        let up = mesh.up.as_deref().copied().unwrap_or(Up::Y);
        let mut files = MeshFiles::default();
        for frame in frames.map_or(0..=0, |[first, last]| first..=last) {
            let name = numbered(&file.value, frame).unwrap_or_else(|| file.value.clone());
            // Of a sequence each file is one mesh, animated or not.
            let fps = frames.is_none().then_some(fps);
            if let Err(e) = files.load(self.assets, &name, fps, up) {
                self.unusable(file.span, &e);
                return None;
            }
        }
        let MeshFiles { meshes, fingerprint, .. } = files;
        Some(Shape::Mesh(Mesh {
            file: file.value.clone(),
            fingerprint,
            frames,
            fps,
            repeat: mesh.r#loop.as_deref().copied().unwrap_or(false),
            sheet: mesh.sheet.as_ref().map(|_| self.positive(&mesh.sheet, REQUIRED, &format!("{key}.sheet"))),
            thicken: mesh.thicken.as_deref().copied().unwrap_or(false),
            up,
            meshes: Arc::new(meshes),
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

type Line = (Vec<f64>, Vec<f64>, f64);
