//! What holds for whatever proptest makes up: it looks for a counterexample, and then for the smallest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use squall::Scene;
use squall::expr::{Expr, Lanes};
use squall_core::Volume;
use squall_core::shape::TriangleMesh;
use squall_io::{VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, parse_mesh, read_vdb, write_ply, write_vdb};

use crate::folder::Folder;

/// Tries so many cases, always the same ones, so that nobody's change fails by chance. `PROPTEST_CASES=100000` tries more.
fn check<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let config = ProptestConfig { cases: wanted.unwrap_or(cases), failure_persistence: None, ..Default::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    if let Err(error) = runner.run(&strategy, test) {
        panic!("{error}");
    }
}

/// An expression, as a tree.
#[derive(Clone, Debug)]
enum Tree {
    Number(f32),
    Variable(usize),
    Negative(Box<Tree>),
    Square(Box<Tree>),
    Call(&'static str, Box<[Tree; 2]>),
    Operator(char, Box<[Tree; 2]>),
}

const NAMES: [&str; 3] = ["x", "y", "t"];
const VALUES: [f32; 3] = [0.75, -1.5, 3.0];

impl Tree {
    fn any() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            (0..400u16).prop_map(|n| Tree::Number(f32::from(n) / 16.0)),
            (0..3usize).prop_map(Tree::Variable)
        ];
        leaf.prop_recursive(5, 40, 2, |inner| {
            let two = (inner.clone(), inner.clone()).prop_map(|(a, b)| Box::new([a, b]));
            prop_oneof![
                inner.clone().prop_map(|a| Tree::Negative(Box::new(a))),
                inner.prop_map(|a| Tree::Square(Box::new(a))),
                (prop::sample::select(&["min", "max"][..]), two.clone()).prop_map(|(f, ab)| Tree::Call(f, ab)),
                (prop::sample::select(&['+', '-', '*', '/', '<', '>'][..]), two)
                    .prop_map(|(o, ab)| Tree::Operator(o, ab)),
            ]
        })
    }

    /// How tightly it binds.
    fn rank(&self) -> u8 {
        match self {
            Tree::Operator('<' | '>', _) => 0,
            Tree::Operator('+' | '-', _) => 1,
            Tree::Operator(..) => 2,
            Tree::Negative(_) => 3,
            Tree::Square(_) => 4,
            Tree::Number(_) | Tree::Variable(_) | Tree::Call(..) => 5,
        }
    }

    /// With parentheses only where they are needed: those that the grammar makes superfluous are what is tested.
    fn text(&self, rank: u8) -> String {
        let inside = match self {
            Tree::Number(n) => n.to_string(),
            Tree::Variable(v) => NAMES[*v].to_owned(),
            Tree::Negative(a) => format!("-{}", a.text(3)),
            Tree::Square(a) => format!("{}^2", a.text(5)),
            Tree::Call(name, ab) => format!("{name}({}, {})", ab[0].text(0), ab[1].text(0)),
            // To the left: a - b - c. Comparisons are not chained.
            Tree::Operator(o @ ('<' | '>'), ab) => format!("{} {o} {}", ab[0].text(1), ab[1].text(1)),
            Tree::Operator(o, ab) => format!("{} {o} {}", ab[0].text(self.rank()), ab[1].text(self.rank() + 1)),
        };
        if self.rank() < rank { format!("({inside})") } else { inside }
    }

    fn value(&self) -> f32 {
        match self {
            Tree::Number(n) => *n,
            Tree::Variable(v) => VALUES[*v],
            Tree::Negative(a) => -a.value(),
            Tree::Square(a) => a.value() * a.value(),
            Tree::Call("min", ab) => ab[0].value().min(ab[1].value()),
            Tree::Call(_, ab) => ab[0].value().max(ab[1].value()),
            Tree::Operator(o, ab) => {
                let [a, b] = [ab[0].value(), ab[1].value()];
                match o {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a / b,
                    '<' => f32::from(u8::from(a < b)),
                    _ => f32::from(u8::from(a > b)),
                }
            }
        }
    }

    /// Whether something in it is not a number: which of two the least is then, is nobody's business.
    fn is_finite(&self) -> bool {
        let parts: &[Tree] = match self {
            Tree::Negative(a) | Tree::Square(a) => std::slice::from_ref(&**a),
            Tree::Call(_, ab) | Tree::Operator(_, ab) => &**ab,
            _ => &[],
        };
        self.value().is_finite() && parts.iter().all(Tree::is_finite)
    }
}

#[test]
fn expressions_have_the_value_that_they_have_with_all_parentheses() {
    let names = NAMES.map(String::from);
    check(2000, Tree::any(), |tree| {
        let text = tree.text(0);
        prop_assume!(tree.is_finite() && text.len() <= squall::expr::MAX_LENGTH);
        let compiled = Expr::parse(&text, &names).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        let value = |name: &String| VALUES[NAMES.iter().position(|n| n == name).unwrap()];
        let inputs: Vec<Lanes> = compiled.variables().iter().map(|name| Lanes::splat(value(name))).collect();
        prop_assert_eq!(compiled.eval(&inputs).0[63], tree.value(), "{}", text);
        Ok(())
    });
}

/// Parts of a scene for each model; `#` stands for a number between 0 and 1, `@` for a place.
const PARTS: [&str; 16] = [
    "[fluid]\nviscosity = #\nnoise_scale = #",
    "[solver]\ncfl = #\nsteps_per_frame = 3",
    "[[force]]\nnoise = { strength = #, scale = # }\nfrom = #",
    "[[force]]\nvortex = { center = @, radius = #, strength = { keys = [[0, #], [2, #]], ease = \"linear\" } }",
    "[[force]]\nwind = { velocity = @, rate = \"# + t\" }\nto = 3",
    "[[force]]\nstir = { path = [@, @], radius = #, loop = true }",
    "[picture]\ngamma = #\nmap = [\"#102030\", \"white\"]\nexposure = \"1 + #*t\"",
    "[output]\nwidth = 77\nmovie = \"none\"",
    "[substance.soot]\ndiffusion = #\ninitial = \"#*x + y\"\ncolor = \"#abcdef\"",
    "[[source]]\nshape = { sphere = { center = @, radius = # } }\nset = { SMOKE = # }\nnoise = #",
    "[[source]]\nshape = { capsule = { from = @, to = @, radius = # } }\nrate = { SMOKE = \"#*t\" }\nevery = 3\nto = #",
    "[[object]]\nname = \"a\"\nshape = { grown = { shape = { sphere = { center = @, radius = # } }, by = # } }\nfriction = #",
    "[[object]]\nname = \"b\"\nshape = { difference = { from = { sphere = { center = @, radius = 1.5 } }, cut = { plane = { point = @, normal = @ } } } }\nmotion = { velocity = @ }",
    "[camera]\nyaw = \"#*t\"\nfov = 40",
    "[time]\nfps = 12.5\nframes = 7\ninclude_start = true",
    "[boundary]\nx = \"periodic\"\ny = { lo = \"no_slip\", hi = \"open\" }",
];

fn scene() -> impl Strategy<Value = String> {
    let numbers = vec(1..1000u32, 120);
    let parts = prop::sample::subsequence(&PARTS[..], 0..=PARTS.len());
    (any::<bool>(), any::<bool>(), vec(4..20u32, 3), parts, numbers).prop_map(|(smoke, flat, cells, parts, numbers)| {
        let d = if flat { 2 } else { 3 };
        let mut text = format!("model = \"{}\"\n", if smoke { "smoke" } else { "stable_fluids" });
        writeln!(text, "grid = {{ cells = {:?} }}\n[substance.ink]", &cells[..d]).unwrap();
        let mut numbers = numbers.iter().map(|n| f64::from(*n) / 1000.0);
        for part in parts {
            let part = part.replace("SMOKE", if smoke { "density" } else { "ink" });
            // Colours begin with the same sign.
            let colors = ["\"#102030\"", "\"#abcdef\""];
            let hidden =
                colors.iter().enumerate().fold(part, |text, (i, color)| text.replace(color, &format!("<{i}>")));
            for c in hidden.chars() {
                match c {
                    '#' => write!(text, "{}", numbers.next().unwrap()).unwrap(),
                    '@' => write!(text, "{:?}", numbers.by_ref().take(d).collect::<Vec<_>>()).unwrap(),
                    c => text.push(c),
                }
            }
            text = colors.iter().enumerate().fold(text, |text, (i, color)| text.replace(&format!("<{i}>"), color));
            text.push('\n');
        }
        text
    })
}

#[test]
fn a_scene_that_is_written_out_is_the_same_scene() {
    let used = std::cell::Cell::new(0);
    check(300, scene(), |text| {
        let read = |text: &str| Scene::parse("made_up.toml", text, &[]).and_then(|scene| scene.setup());
        // Objects without smoke, cameras in 2D: refused, and nothing to be compared.
        let Ok((setup, _)) = read(&text) else { return Ok(()) };
        used.set(used.get() + 1);
        let written = setup.to_toml();
        let again = read(&written).map_err(|e| TestCaseError::fail(format!("{}\n{written}", e.to_text())))?.0;
        prop_assert_eq!(again.to_toml(), written);
        prop_assert_eq!(again.hash(), setup.hash());
        prop_assert!(again == setup, "{}", text);
        Ok(())
    });
    assert!(used.get() >= 50, "only {} of the scenes were accepted", used.get());
}

#[test]
fn volumes_are_read_as_they_were_written() {
    let folder = Folder::new("properties-vdb");
    let path = folder.0.join("a.vdb");
    let blocks = btree_set(prop::array::uniform3(-300..300i32), 0..6);
    let values = vec(prop_oneof![Just(0.0f32), -1e6f32..1e6], 6 * Volume::<3>::CELLS);
    check(
        40,
        (blocks, values, prop::array::uniform3(-10.0..10.0f64), 0.01..2.0f64),
        |(blocks, values, origin, spacing)| {
            let mut blocks: Vec<[i32; 3]> = blocks.into_iter().collect();
            blocks.sort();
            let values = values[..blocks.len() * Volume::<3>::CELLS].to_vec();
            let volume = Volume { origin, spacing, background: 0.0, blocks, values };
            let grid = VdbGrid {
                name: "density",
                values: VdbValues::Scalar(&volume),
                class: VdbClass::FogVolume,
                precision: VdbPrecision::Full,
            };
            write_vdb(&path, &[grid], &VdbOptions::default()).unwrap();
            let read = read_vdb(&path).unwrap();
            let VdbValues::Scalar(read) = &read.grids[0].values else { panic!("a scalar grid") };
            prop_assert_eq!(cells(read), cells(&volume));
            prop_assert!((read.spacing / spacing - 1.0).abs() < 1e-12);
            Ok(())
        },
    );
}

/// What is not background, by cell.
fn cells(volume: &Volume) -> BTreeMap<([i32; 3], usize), u32> {
    let each = volume
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(b, block)| volume.block(b).iter().enumerate().map(move |(i, v)| ((*block, i), *v)));
    each.filter(|(_, v)| *v != 0.0).map(|(cell, v)| (cell, v.to_bits())).collect()
}

#[test]
fn meshes_are_read_as_they_were_written() {
    let folder = Folder::new("properties-ply");
    let path = folder.0.join("a.ply");
    // Files hold 32 bits.
    let vertices = vec(prop::array::uniform3(-1e3..1e3f32).prop_map(|p| p.map(f64::from)), 3..30);
    check(200, (vertices, vec(prop::array::uniform3(any::<prop::sample::Index>()), 1..6)), |(vertices, triangles)| {
        let triangles: Vec<[u32; 3]> =
            triangles.iter().map(|corners| corners.map(|corner| corner.index(vertices.len()) as u32)).collect();
        let mesh = TriangleMesh { vertices, triangles };
        // Those without area, and those that are there twice, are left out when they are read.
        let places = |triangle: &[[f64; 3]; 3]| {
            let mut places = triangle.map(|corner| corner.map(f64::to_bits));
            places.sort();
            places
        };
        let different: BTreeSet<_> = corners(&mesh).iter().map(places).collect();
        prop_assume!(different.len() == mesh.triangles.len() && corners(&mesh).iter().all(|&t| area(t) > 1.0));
        write_ply(&path, &mesh).unwrap();
        let read = parse_mesh(&std::fs::read(&path).unwrap(), &path).unwrap().mesh;
        prop_assert_eq!(corners(&read), corners(&mesh));
        Ok(())
    });
}

/// The corners of all triangles.
fn corners(mesh: &TriangleMesh) -> Vec<[[f64; 3]; 3]> {
    mesh.triangles.iter().map(|triangle| triangle.map(|v| mesh.vertices[v as usize])).collect()
}

/// Twice the area of a triangle.
fn area([a, b, c]: [[f64; 3]; 3]) -> f64 {
    let [u, v] = [b, c].map(|p| [p[0] - a[0], p[1] - a[1], p[2] - a[2]]);
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    cross.iter().map(|x| x * x).sum::<f64>().sqrt()
}
