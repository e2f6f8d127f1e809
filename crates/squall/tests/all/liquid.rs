//! Facts about liquids in scenes.

use crate::folder::{Folder, go, options};
use squall::build::build;
use squall::run::CancelToken;
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
    let other = read_surface_ply(folder.0.join("volumes/surface_0003.ply")).unwrap().area_and_volume()[1];
    assert!((other / volume - 1.0).abs() < 1e-3, "{other}, {volume}");
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
