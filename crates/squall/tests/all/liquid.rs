//! Facts about liquids in scenes.

use crate::folder::{Folder, go, options};
use squall::build::build;
use squall::run::{CancelToken, Outcome, RunError, RunOptions, memory_needed, memory_needed_at, run};
use squall::{Assets, Event, Scene, Setup};
use squall_core::shape::TriangleMesh;
use squall_core::{Simulation, StepReport};
use squall_io::{load_mesh, read_particles_ply, read_surface_ply, read_vdb};

fn setup(text: &str) -> Setup {
    Scene::parse("liquid.toml", text, &[]).unwrap().setup().unwrap().0
}

/// Goes on to a time, in steps of a cell at most.
fn go_on(sim: &mut dyn Simulation, until: f64, mut look: impl FnMut(&StepReport)) {
    while sim.time() < until - 1e-9 {
        let dt = sim.longest_step(1.0).min(until - sim.time()).min(1.0 / 60.0);
        look(&sim.step(dt).unwrap());
    }
}

fn figure(sim: &mut dyn Simulation, name: &str) -> f64 {
    sim.figures().into_iter().find(|f| f.name == name).map(|f| f.value).unwrap()
}

const BOX: &str = "model = \"liquid\"\n[grid]\ncells = [48, 48]\n[[blob]]\nshape = { box = { min = [0.0, 0.0], max = [1.0, 0.3] } }\n";

#[test]
fn a_blob_appears_at_its_time_and_only_where_there_is_no_liquid() {
    let later = "[[blob]]\nshape = { box = { min = [0.2, 0.2], max = [0.6, 0.6] } }\ntime = 0.1\n";
    let mut sim = build(&setup(&format!("{BOX}{later}"))).unwrap();
    let volume = figure(&mut *sim, "volume");
    // Cells are filled as a whole, or by the points of their lattice: to a particle in a row of 96.
    assert!((volume - 0.3).abs() < 0.01, "{volume}");
    let mut emitted = 0.0;
    go_on(&mut *sim, 0.09, |report| emitted += report.ledger.substances[0].emitted);
    assert_eq!((emitted, figure(&mut *sim, "volume")), (0.0, volume));
    go_on(&mut *sim, 0.12, |report| emitted += report.ledger.substances[0].emitted);
    // A quarter of it lies in the pool, and half a cell beside that.
    assert!((emitted - 0.4 * 0.3).abs() < 0.012, "{emitted}");
    assert!((figure(&mut *sim, "volume") - volume - emitted).abs() < 1e-9, "all of it is accounted for");
}

#[test]
fn water_runs_out_of_an_open_side_and_is_accounted_for() {
    let open = "[boundary]\nx = { lo = \"slip\", hi = \"open\" }\n";
    let mut sim = build(&setup(&format!("{BOX}{open}"))).unwrap();
    let before = figure(&mut *sim, "volume");
    let (mut left, mut unexplained) = (0.0, 0.0f64);
    go_on(&mut *sim, 1.5, |report| {
        left -= report.ledger.substances[0].sides;
        unexplained = unexplained.max(report.ledger.substances[0].unexplained().abs());
    });
    let after = figure(&mut *sim, "volume");
    assert!(left > 0.3 * before, "{left} of {before}");
    assert!((before - after - left).abs() < 1e-9 && unexplained < 1e-9, "{before} {after} {left} {unexplained}");
}

#[test]
fn water_that_leaves_a_periodic_box_comes_in_at_the_other_side() {
    // A pool that moves along, and a drop that falls into it.
    let text = "model = \"liquid\"\n[grid]\ncells = [40, 40]\n[boundary]\nx = \"periodic\"\n\
                [[blob]]\nshape = { box = { min = [-1.0, 0.0], max = [2.0, 0.3] } }\nvelocity = [2.0, 0.0]\n\
                [[blob]]\nshape = { sphere = { center = [0.5, 0.6], radius = 0.1 } }\nvelocity = [2.0, 0.0]\n";
    let mut sim = build(&setup(text)).unwrap();
    let momentum = |sim: &dyn Simulation| {
        let particles = sim.particles().unwrap();
        let sum: f64 = particles.velocities[0].iter().map(|v| f64::from(*v)).sum();
        assert!(particles.positions[0].iter().all(|x| (0.0..=1.0).contains(x)));
        sum / particles.len() as f64
    };
    let (count, along) = (figure(&mut *sim, "particles"), momentum(&*sim));
    go_on(&mut *sim, 1.0, |report| assert!(report.pressure.converged));
    assert_eq!(figure(&mut *sim, "particles"), count);
    // Nothing pushes along x: only the transfers at the surface may change it a little.
    let kept = momentum(&*sim) / along;
    assert!((kept - 1.0).abs() < 0.02, "{kept}");
}

#[test]
fn a_plate_that_rises_through_water_pushes_it_away_and_none_gets_inside() {
    let text = "model = \"liquid\"\n[grid]\ncells = [48, 48]\n\
                [[blob]]\nshape = { box = { min = [0.0, 0.0], max = [1.0, 0.5] } }\n\
                [[object]]\nname = \"plate\"\nshape = { box = { min = [0.3, 0.06], max = [0.7, 0.14] } }\n\
                position = { keys = [[0.0, [0.0, 0.0]], [0.5, [0.0, 0.4]]] }\n";
    let mut sim = build(&setup(text)).unwrap();
    let count = figure(&mut *sim, "particles");
    go_on(&mut *sim, 0.5, |_| {});
    assert_eq!(figure(&mut *sim, "particles"), count);
    let particles = sim.particles().unwrap();
    let (x, y) = (&particles.positions[0], &particles.positions[1]);
    // Half a cell less: distances are interpolated between cell centres, and corners are round.
    let within = |i: &usize| (0.31..0.69).contains(&x[*i]) && (0.47..0.53).contains(&y[*i]);
    assert_eq!((0..x.len()).filter(within).count(), 0);
    let above = (0..x.len()).filter(|&i| y[i] > 0.56).count();
    assert!(above > 20, "it lifts what lies on it: {above}");
}

/// A small dam, with everything that can be written of its surface.
const DAM: &str = r#"
model = "liquid"
[grid]
cells = [24, 16, 12]
size = [1.5, 1.0, 0.75]
[[blob]]
shape = { box = { min = [0.0, 0.0, 0.0], max = [0.6, 0.6, 0.75] } }
[time]
frames = 3
[output]
width = 48
movie = "none"
mesh = ["ply", "obj", "glb", "usda"]
particles = true
vdb = { fields = ["surface", "liquid", "velocity"] }
[render]
quality = "preview"
"#;

fn with(text: &str, overrides: &[&str]) -> Setup {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    Scene::parse("liquid.toml", text, &overrides).unwrap().setup().unwrap().0
}

/// Every edge has two triangles.
fn is_closed(mesh: &TriangleMesh) -> bool {
    let mut edges = std::collections::HashMap::new();
    for t in &mesh.triangles {
        (0..3).for_each(|k| *edges.entry((t[k], t[(k + 1) % 3])).or_insert(0) += 1);
    }
    edges.iter().all(|(&(a, b), &n)| n == 1 && edges.get(&(b, a)) == Some(&1))
}

#[test]
fn a_run_writes_its_surface_for_other_programs_and_meshes_are_made_again_from_what_it_wrote() {
    let folder = Folder::new("liquid-meshes");
    let out = folder.0.join("run");
    go(&setup(DAM), &out);
    let mesh = read_surface_ply(out.join("surface_0003.ply")).unwrap();
    let loaded = load_mesh(out.join("surface_0003.ply")).unwrap().mesh;
    assert!(is_closed(&loaded), "a closed mesh");
    let volume = mesh.area_and_volume()[1];
    // 0.6 * 0.6 * 0.75. Edges are rounded by kernels of a cell and a half.
    assert!((volume / 0.27 - 1.0).abs() < 0.04, "{volume}");
    assert!(mesh.velocities.len() == mesh.positions.len() && mesh.velocities.iter().any(|v| v[0] > 0.5), "it runs");
    for name in ["surface_0003.obj", "surface_0003.glb"] {
        let other = load_mesh(out.join(name)).unwrap().mesh;
        assert_eq!(other.triangles.len(), mesh.triangles.len(), "{name}");
    }
    let stage = std::fs::read_to_string(out.join("surface.usda")).unwrap();
    assert!(stage.contains("timeSamples") && stage.contains("velocities"));
    let particles = read_particles_ply(out.join("particles_0003.ply")).unwrap().particles;
    // Eight for each of 1105.9 cells, to a layer of particles.
    assert!((particles.len() as f64 / 8847.0 - 1.0).abs() < 0.08, "{}", particles.len());
    let file = read_vdb(out.join("volume_0003.vdb")).unwrap();
    let names: Vec<&str> = file.grids.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["surface", "liquid", "velocity"]);

    let again = |overrides: &[&str], name: &str| {
        let (setup, none) = (with(DAM, overrides), &mut |_: &Event<'_>| {});
        squall::run::mesh(&setup, &out, &Assets::none(), &options(&folder.0.join(name)), none, &CancelToken::default())
    };
    again(&["output.mesh=[\"ply\"]"], "same").unwrap();
    assert_eq!(folder.files("same")["surface_0003.ply"], folder.files("run")["surface_0003.ply"], "the same bytes");
    again(&["output.mesh=[\"ply\"]", "surface.refine=1"], "coarse").unwrap();
    let coarse = read_surface_ply(folder.0.join("coarse/surface_0003.ply")).unwrap();
    assert!(
        coarse.triangles.len() < mesh.triangles.len() / 3,
        "{} of {}",
        coarse.triangles.len(),
        mesh.triangles.len()
    );
    // Without particles, from volumes of 16 bits.
    (0..=3).for_each(|k| drop(std::fs::remove_file(out.join(format!("particles_{k:04}.ply")))));
    again(&["output.mesh=[\"ply\"]"], "volumes").unwrap();
    let other = read_surface_ply(folder.0.join("volumes/surface_0003.ply")).unwrap();
    let enclosed = other.area_and_volume()[1];
    assert!((enclosed / volume - 1.0).abs() < 1e-3, "{enclosed}, {volume}");
    let momentum = |mesh: &squall_core::surface::SurfaceMesh| {
        mesh.velocities.iter().map(|v| f64::from(v[0])).sum::<f64>() / mesh.positions.len() as f64
    };
    assert_eq!(other.velocities.len(), other.positions.len());
    // Velocities of cells instead of particles, also of cells in the air beside the surface: 9 % here, where it falls and runs.
    assert!((momentum(&other) / momentum(&mesh) - 1.0).abs() < 0.12, "{}, {}", momentum(&other), momentum(&mesh));
    let pictures = squall::run::render(
        &with(DAM, &["camera.yaw=80"]),
        &out,
        &Assets::none(),
        &options(&folder.0.join("turned")),
        &mut |_: &Event<'_>| {},
        &CancelToken::default(),
    );
    assert_eq!(pictures.unwrap().frames, 3, "pictures are taken again from the same volumes");
}

#[test]
fn flat_water_is_written_as_outlines() {
    let folder = Folder::new("liquid-outlines");
    let more = "[time]\nframes = 2\n[output]\nmesh = [\"svg\"]\nwidth = 64\nmovie = \"none\"\n";
    go(&setup(&format!("{BOX}{more}")), &folder.0.join("run"));
    let svg = String::from_utf8(folder.files("run")["surface_0002.svg"].clone()).unwrap();
    assert!(svg.contains("<path") && svg.contains("</svg>"), "{svg}");
}

/// Two columns of ink in a box, one heated from below.
const INKS: &str = r##"
model = "liquid"
[grid]
cells = [24, 16, 12]
size = [1.5, 1.0, 0.75]
[substance.red]
color = "#ff2010"
diffusion = 1e-3
[substance.blue]
color = "#1030ff"
[substance.warmth]
initial = "20 + 10*x"
dissipation = 0.1
[[force]]
buoyancy = { substance = "warmth", strength = 0.002, ambient = 20.0 }
[[blob]]
shape = { box = { min = [0.0, 0.0, 0.0], max = [0.5, 0.6, 0.75] } }
set = { red = 1.0, warmth = 50.0 }
[[blob]]
shape = { box = { min = [1.0, 0.0, 0.0], max = [1.5, 0.6, 0.75] } }
set = { blue = 0.5 }
[[source]]
shape = { box = { min = [0.0, 0.0, 0.0], max = [1.5, 0.1, 0.75] } }
rate = { warmth = 5.0 }
[time]
frames = 4
[output]
width = 48
movie = "none"
mesh = ["ply", "obj", "glb", "usda"]
particles = ["npy", "ply", "vdb"]
[render]
quality = "preview"
"##;

#[test]
fn inks_are_in_particles_meshes_volumes_and_pictures() {
    let folder = Folder::new("liquid-inks");
    let out = folder.0.join("run");
    let mut first = None;
    let see = &mut |event: &Event<'_>| {
        if let Event::Picture { frame: 4, image } = event {
            first = Some((*image).clone());
        }
    };
    squall::run(&setup(INKS), &options(&out), see, &CancelToken::default()).unwrap();
    let particles = read_particles_ply(out.join("particles_0004.ply")).unwrap().particles;
    let names: Vec<&str> = particles.attributes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["red", "blue", "warmth"]);
    let values = |k: usize| particles.attributes[k].1.iter().copied();
    assert!(values(0).fold(0.0, f32::max) > 0.99 && values(0).all(|v| (0.0..=1.0).contains(&v)));
    assert!(values(1).all(|v| v == 0.0 || v == 0.5), "what does not diffuse stays what it is");
    // Half a kelvin of 20 to 50 is lost or won in 0.13 s.
    assert!(values(2).all(|v| (19.0..51.0).contains(&v)) && values(2).any(|v| (25.0..36.0).contains(&v)));
    let (shape, blue) = squall_io::read_npy(out.join("particles_blue_0004.npy")).unwrap();
    assert!(shape == [particles.len()] && values(1).eq(blue), "the same numbers as an array");
    let points = squall_io::read_vdb_info(out.join("points_0004.vdb")).unwrap();
    assert_eq!((&*points.grids[0].name, &*points.grids[0].kind), ("points", "ptdataidx32"));
    let mesh = read_surface_ply(out.join("surface_0004.ply")).unwrap();
    let names: Vec<&str> = mesh.attributes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["red_2", "blue_2", "warmth"], "red and blue are the colour");
    for (x, [r, _, b]) in mesh.positions.iter().zip(&mesh.colors) {
        assert!(if x[0] < 0.75 { *r > 4.0 * b } else { b > r }, "{r} {b} at {x:?}");
    }
    let stage = std::fs::read_to_string(out.join("surface.usda")).unwrap();
    assert!(stage.contains("primvars:displayColor") && stage.contains("primvars:warmth"));
    let file = read_vdb(out.join("volume_0004.vdb")).unwrap();
    let names: Vec<&str> = file.grids.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["surface", "red", "blue", "warmth"]);

    let again = |name: &str| folder.0.join(name);
    let none = &mut |_: &Event<'_>| {};
    let (scene, assets, cancel) = (setup(INKS), Assets::none(), CancelToken::default());
    squall::run::mesh(&scene, &out, &assets, &options(&again("meshes")), none, &cancel).unwrap();
    assert_eq!(folder.files("meshes")["surface_0004.ply"], folder.files("run")["surface_0004.ply"], "the same bytes");
    // From volumes of 16 bits with the same colours; a grey picture would differ by far more.
    let mut second = None;
    let see = &mut |event: &Event<'_>| {
        if let Event::Picture { frame: 4, image } = event {
            second = Some((*image).clone());
        }
    };
    squall::run::render(&scene, &out, &assets, &options(&again("pictures")), see, &cancel).unwrap();
    let (first, second) = (first.unwrap(), second.unwrap());
    let pairs = first.pixels.as_flattened().iter().zip(second.pixels.as_flattened());
    let off = pairs.map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / (4 * first.pixels.len()) as f64;
    let red = first.pixels.iter().filter(|[r, g, b, _]| u16::from(*r) > 2 * u16::from(*g.max(b))).count();
    assert!(red > first.pixels.len() / 50, "{red} red pixels");
    assert!(off < 2.0, "{off} of 255 on average");
}

#[test]
fn water_takes_the_colour_of_its_inks() {
    let text = "model = \"liquid\"\n[grid]\ncells = [32, 32]\n[substance.red]\ncolor = \"#ff0000\"\n[substance.heat]\n\
                [[blob]]\nshape = { box = { min = [0.0, 0.0], max = [0.5, 0.6] } }\nset = { red = 1.0, heat = 9.0 }\n\
                [[blob]]\nshape = { box = { min = [0.5, 0.0], max = [1.0, 0.6] } }\nset = { heat = 9.0 }\n[output]\nwidth = 64\n";
    let setup = setup(text);
    let sim = build(&setup).unwrap();
    let mut painter = squall::picture::Painter::new(&setup).unwrap();
    let image = painter.draw(&*sim, 0.0, 0).unwrap().to_image(&Default::default());
    let at = |x: usize, y: usize| image.pixels[x + image.width * y];
    let ([r, g, b, _], [wr, wg, wb, _]) = (at(12, 50), at(52, 50));
    assert!(r > 200 && g < 40 && b < 40, "red: {r} {g} {b}");
    assert!(wb > wr && wb > wg, "water, whatever its heat: {wr} {wg} {wb}");
}

#[test]
fn letters_and_formulas_are_filled_with_liquid() {
    let count = |figure: &str| {
        let text = format!("model = \"liquid\"\n[grid]\ncells = [64, 64]\n[[blob]]\nfigure = {figure}\n");
        build(&setup(&text)).unwrap().particles().unwrap()
    };
    let disc = count("{ formula = \"(x - 0.5)^2 + (y - 0.5)^2 < 0.09\" }");
    let wanted = std::f64::consts::PI * 0.09 * 64.0 * 64.0 * 4.0;
    assert!((disc.len() as f64 / wanted - 1.0).abs() < 0.02, "{} of {wanted}", disc.len());
    // A stem in the middle under a bar at the top.
    let letter = count("{ text = \"T\" }");
    let wide = |from: f32, to: f32| {
        let row = letter.positions[0].iter().zip(&letter.positions[1]).filter(|(_, y)| (from..to).contains(y));
        let xs: Vec<f32> = row.map(|(x, _)| *x).collect();
        xs.iter().copied().fold(0.0, f32::max) - xs.iter().copied().fold(1.0, f32::min)
    };
    assert!(wide(0.8, 0.88) > 0.4 && wide(0.15, 0.5) < 0.25, "{} and {}", wide(0.8, 0.88), wide(0.15, 0.5));
}

/// Water poured onto a floor without walls, with a step in it; the box is what is looked at.
const FREE: &str = r#"
model = "liquid"
[grid]
cells = [24, 24, 24]
[boundary]
x = "unbounded"
y = { lo = "slip", hi = "unbounded" }
z = "unbounded"
[[spout]]
center = [0.5, 0.6, 0.5]
direction = [0.0, -1.0, 0.0]
radius = 0.12
speed = 2.5
[[object]]
name = "step"
shape = { box = { min = [0.8, -0.5, 0.0], max = [1.2, 0.15, 1.0] } }
[time]
frames = 12
[output]
width = 40
movie = "none"
mesh = ["ply"]
vdb = { fields = ["surface"] }
[render]
quality = "preview"
"#;

#[test]
fn water_without_walls_runs_out_of_the_picture_and_resumes_to_the_same_bytes() {
    let folder = Folder::new("liquid-unbounded");
    go(&setup(FREE), &folder.0.join("whole"));
    go(&with(FREE, &["time.frames=7"]), &folder.0.join("parts"));
    go(&setup(FREE), &folder.0.join("parts"));
    let (whole, parts) = (folder.files("whole"), folder.files("parts"));
    for name in ["surface_0012.ply", "frame_0012.png", "volume_0012.vdb"] {
        assert_eq!(whole[name], parts[name], "{name}");
    }
    let mesh = read_surface_ply(folder.0.join("whole/surface_0012.ply")).unwrap();
    let reach = mesh.positions.iter().map(|p| p[0]).fold(0.0, f32::min);
    assert!(reach < -0.05, "beyond the box: {reach}");
    assert!(mesh.positions.iter().all(|p| p[1] > -1e-5), "and not into the floor");
    assert!(is_closed(&load_mesh(folder.0.join("whole/surface_0012.ply")).unwrap().mesh), "a closed mesh");
}

#[test]
fn water_stopped_within_surfaces_and_pictures_writes_the_same_bytes() {
    let folder = Folder::new("liquid-stopped");
    let ground = "[render]\nquality = \"preview\"\nground = { height = -0.1 }\n[[light]]\nsun = [0.3, 1.0, 0.2]\n";
    let setup = with(&DAM.replace("[render]\nquality = \"preview\"\n", ground), &["output.width=24", "time.frames=2"]);
    go(&setup, &folder.0.join("whole"));
    // The token is looked at around the surface, for each brick of it, each strip of caustics and each row: this stops at many of them.
    let mut stopped = 0;
    for looks in (1..).step_by(23) {
        let cancel = CancelToken::after(looks);
        let ended = run(&setup, &options(&folder.0.join("parts")), &mut |_: &Event<'_>| {}, &cancel).unwrap();
        match ended.outcome {
            Outcome::Cancelled => stopped += 1,
            _ => break,
        }
    }
    assert!(stopped > 5, "stopped only {stopped} times");
    let (whole, parts) = (folder.files("whole"), folder.files("parts"));
    assert!(whole.len() > 10 && whole.keys().eq(parts.keys()), "{:?} {:?}", whole.keys(), parts.keys());
    let differ: Vec<_> = whole.keys().filter(|name| whole[*name] != parts[*name]).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

#[test]
fn water_that_spreads_beyond_the_memory_limit_stops() {
    let drop = "model = \"liquid\"\n[grid]\ncells = [16, 16, 16]\n[boundary]\nx = \"unbounded\"\ny = \"unbounded\"\nz = \"unbounded\"\n\
                [[blob]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.2 } }\nvelocity = [20.0, 0.0, 0.0]\n\
                [[blob]]\nshape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.2 } }\nvelocity = [-20.0, 0.0, 0.0]\ntime = 0.1\nevery = 0.1\n\
                [liquid]\ngravity = [0.0, 0.0, 0.0]\n[time]\nframes = 60\n[output]\nwidth = 16\nmovie = \"none\"\n[render]\nquality = \"preview\"\n";
    let (folder, setup) = (Folder::new("liquid-memory"), setup(drop));
    // As much as 40 tiles take.
    let limit = memory_needed_at(&setup, 40 * 4096);
    assert!(limit > memory_needed(&setup), "it begins with less");
    let options = RunOptions { memory_limit: Some(limit), ..options(&folder.0.join("run")) };
    let ended = run(&setup, &options, &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap_err();
    assert!(matches!(ended, RunError::Memory { .. }), "{ended}");
}

#[test]
fn the_surface_of_a_level_set_is_what_meshes_and_volumes_show() {
    let folder = Folder::new("liquid-level-set");
    let out = folder.0.join("run");
    go(&with(DAM, &["liquid.tracking=level_set", "output.particles=false"]), &out);
    let mesh = read_surface_ply(out.join("surface_0001.ply")).unwrap();
    assert!(is_closed(&load_mesh(out.join("surface_0001.ply")).unwrap().mesh), "a closed mesh");
    // 0.6 * 0.6 * 0.75; one edge is not at a wall, and round by a fraction of a cell.
    let volume = mesh.area_and_volume()[1];
    assert!((volume / 0.27 - 1.0).abs() < 0.02, "{volume}");
    assert!(mesh.velocities.len() == mesh.positions.len() && mesh.velocities.iter().any(|v| v[0] > 0.1), "it runs");
    let file = read_vdb(out.join("volume_0001.vdb")).unwrap();
    assert!(file.grids.iter().any(|grid| grid.name == "surface"));
    // And in 2D.
    let flat = format!(
        "{BOX}[liquid]\ntracking = \"level_set\"\n[time]\nframes = 1\n[output]\nwidth = 48\nmesh = [\"svg\"]\nmovie = \"none\"\n"
    );
    go(&setup(&flat), &folder.0.join("flat"));
    assert!(folder.0.join("flat/surface_0001.svg").exists() && folder.0.join("flat/frame_0001.png").exists());
}

#[test]
fn steps_are_short_enough_for_objects_that_are_about_to_move() {
    let h = 1.0 / 48.0;
    let object = "[[object]]\nname = \"blade\"\nshape = { box = { min = [0.45, 0.1], max = [0.55, 0.9] } }\n";
    // At rest at first, after a hundredth of a second at 4 m/s.
    let dash = "position = { keys = [[0.0, [0.0, 0.0]], [0.01, [0.0, 0.0]], [0.06, [0.2, 0.0]]], ease = \"linear\" }\n";
    let sim = build(&setup(&format!("{BOX}{object}{dash}"))).unwrap();
    let dt = sim.longest_step(2.0);
    // Until it has gone by two cells; steps are cut to 32 parts of a tenth of a second.
    let exact = 0.01 + 2.0 * h / 4.0;
    assert!(dt <= exact && dt > exact - 0.1 / 32.0 - 1e-9, "{dt} of {exact}");

    // Something that turns steadily by a formula does not start from rest.
    let turning = build(&setup(&format!("{BOX}{object}rotation = \"360*t\"\n"))).unwrap();
    let (dt, tip) = (turning.longest_step(2.0), 0.4 * std::f64::consts::TAU);
    assert!(dt <= 2.0 * h / (0.9 * tip), "{dt} for a tip at {tip} m/s");
}
