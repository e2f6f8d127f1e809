//! The surface of a liquid at one moment, computed once for pictures, volumes and meshes.

use squall_core::surface::{Fineness, Outline, Points, Room, SurfaceMesh, contour, outline, refined, touch_solids};
use squall_core::volume::BLOCK;
use squall_core::{CancelToken, Particles, Shape, Simulation, Volume};

use crate::build::{BuildError, shape};
use crate::setup::{Axis, Setup, Side, Substance};
use squall_render::RenderError;
use squall_render::color::{from_srgb8, with_inks};

/// Particles, and the distance to the surface around them.
#[derive(Clone, Debug)]
pub struct Surface {
    /// What it is made of; of a level set, the cells at its surface and how they move.
    pub particles: Particles,
    distance: Distance,
    /// The particles as the surface was made from them, in 3D; none if it was not.
    points: Option<Points<3>>,
}

#[derive(Clone, Debug)]
enum Distance {
    Flat(Volume<2>),
    Full(Volume),
}

/// The solids that a liquid touches.
pub enum Solids {
    /// In 2D.
    Flat(Forms<2>),
    /// In 3D.
    Full(Forms<3>),
}

/// Solids, and the times from which on they are those.
type Forms<const D: usize> = Vec<(f64, Vec<Box<dyn Shape<D>>>)>;

/// Those of a time.
fn solids_at<const D: usize>(forms: &mut Forms<D>, time: f64) -> &mut [Box<dyn Shape<D>>] {
    forms.iter_mut().rev().find(|(from, _)| *from <= time).map_or(&mut [], |(_, solids)| solids)
}

impl Solids {
    /// Those of a scene.
    pub fn new(setup: &Setup) -> Result<Self, BuildError> {
        Ok(match setup.dimensions() {
            2 => Solids::Flat(forms(setup)?),
            _ => Solids::Full(forms(setup)?),
        })
    }
}

fn forms<const D: usize>(setup: &Setup) -> Result<Forms<D>, BuildError> {
    setup.forms().map(|(time, setup)| Ok((time, shapes(setup)?))).collect()
}

fn shapes<const D: usize>(setup: &Setup) -> Result<Vec<Box<dyn Shape<D>>>, BuildError> {
    let solid = setup.objects.iter().filter(|o| o.solid && setup.liquid.is_some());
    solid.map(|o| shape::moving::<D>(&o.shape, &o.motion, setup.grid.spacing()[0])).collect()
}

fn fineness(setup: &Setup) -> Fineness {
    Fineness { refine: setup.surface.refine as usize, smoothing: setup.surface.smoothing as usize }
}

/// The distance around particles, which touches solids as they are at a time.
fn around<const D: usize>(
    setup: &Setup,
    points: &Points<D>,
    solids: &mut [Box<dyn Shape<D>>],
    time: f64,
    cancel: &CancelToken,
) -> Result<Volume<D>, RenderError> {
    go_on(cancel)?;
    let distances = points.distances(fineness(setup));
    go_on(cancel)?;
    Ok(touching(setup, distances, solids, time))
}

fn go_on(cancel: &CancelToken) -> Result<(), RenderError> {
    if cancel.is_cancelled() { Err(RenderError::Cancelled) } else { Ok(()) }
}

/// The distance that a simulation has on its grid.
fn on_grid<const D: usize>(setup: &Setup, values: &[f32], solids: &mut [Box<dyn Shape<D>>], time: f64) -> Volume<D> {
    let cells = std::array::from_fn(|a| setup.grid.cells[a]);
    touching(setup, refined(values, cells, &room(setup), fineness(setup)), solids, time)
}

fn touching<const D: usize>(
    setup: &Setup,
    mut volume: Volume<D>,
    solids: &mut [Box<dyn Shape<D>>],
    time: f64,
) -> Volume<D> {
    let room = room::<D>(setup);
    if !solids.is_empty() {
        solids.iter_mut().for_each(|shape| shape.prepare(time));
        let nearest = |x: [f64; D]| solids.iter().map(|s| s.distance(x, time)).fold(f64::INFINITY, f64::min);
        touch_solids(&mut volume, &room, nearest);
    }
    volume
}

impl Surface {
    /// That of a simulation now, unless it is cancelled on its way; `None` if it has neither particles nor a surface.
    pub fn of(
        setup: &Setup,
        solids: &mut Solids,
        sim: &dyn Simulation,
        cancel: &CancelToken,
    ) -> Result<Option<Self>, RenderError> {
        if let Some(particles) = sim.particles() {
            return Self::around(setup, solids, particles, sim.time(), cancel).map(Some);
        }
        let Some(name) = sim.surface() else { return Ok(None) };
        let mut values = Vec::new();
        if !sim.read(name, 0, &mut values) {
            return Ok(None);
        }
        go_on(cancel)?;
        let distance = match solids {
            Solids::Flat(solids) => Distance::Flat(on_grid(setup, &values, solids_at(solids, sim.time()), sim.time())),
            Solids::Full(solids) => Distance::Full(on_grid(setup, &values, solids_at(solids, sim.time()), sim.time())),
        };
        Ok(Some(Surface { particles: moving_cells(setup, sim, &values), distance, points: None }))
    }

    /// The surface around particles, beside solids as they are at a time in seconds.
    pub fn around(
        setup: &Setup,
        solids: &mut Solids,
        particles: Particles,
        time: f64,
        cancel: &CancelToken,
    ) -> Result<Self, RenderError> {
        go_on(cancel)?;
        let (distance, points) = match solids {
            Solids::Flat(solids) => {
                let points = points::<2>(setup, &particles);
                (Distance::Flat(around(setup, &points, solids_at(solids, time), time, cancel)?), None)
            }
            Solids::Full(solids) => {
                let points = points::<3>(setup, &particles);
                (Distance::Full(around(setup, &points, solids_at(solids, time), time, cancel)?), Some(points))
            }
        };
        Ok(Surface { particles, distance, points })
    }

    /// A surface of which only the distance is known.
    pub fn from_volume(distance: Volume) -> Self {
        Surface { particles: Particles::default(), distance: Distance::Full(distance), points: None }
    }

    /// The same with what the cells of the grid beside it hold: how they move, and whatever is carried, by name.
    pub fn from_volumes(distance: Volume, velocity: &[Volume; 3], carried: &[(String, &Volume)]) -> Self {
        let Volume { origin, spacing, .. } = velocity[0];
        let refine = ((spacing / distance.spacing).round() as i32).max(1);
        let mut cells: Vec<[i32; 3]> = Vec::new();
        for (b, block) in distance.blocks.iter().enumerate() {
            for (i, _) in distance.block(b).iter().enumerate().filter(|(_, v)| v.abs() < distance.background) {
                let within = [i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK)];
                let fine: [i32; 3] = std::array::from_fn(|a| block[a] * BLOCK as i32 + within[a] as i32);
                // One of them is in the middle of a cell of the grid.
                if fine.iter().all(|x| x.rem_euclid(refine) == refine / 2) {
                    cells.push(fine.map(|x| x.div_euclid(refine)));
                }
            }
        }
        // Where the file holds no velocity nothing is known of it.
        cells.retain(|&cell| velocity.iter().any(|component| component.get(cell) != 0.0));
        let of = |volume: &Volume| cells.iter().map(|&cell| volume.get(cell)).collect();
        let place = |a: usize| cells.iter().map(|c| (origin[a] + (f64::from(c[a]) + 0.5) * spacing) as f32).collect();
        let particles = Particles {
            ids: (0..cells.len() as u64).collect(),
            positions: (0..3).map(place).collect(),
            velocities: velocity.iter().map(of).collect(),
            attributes: carried.iter().map(|(name, volume)| (name.clone(), of(volume))).collect(),
        };
        Surface { particles, distance: Distance::Full(distance), points: None }
    }

    /// The distance in metres, negative inside; `None` in 2D.
    pub fn volume(&self) -> Option<&Volume> {
        match &self.distance {
            Distance::Full(volume) => Some(volume),
            Distance::Flat(_) => None,
        }
    }

    /// The distance on all cells of the box, the bottom row first, how many they are and how large; `None` in 3D.
    pub fn plane(&self, setup: &Setup) -> Option<(Vec<f32>, [usize; 2], [f64; 2])> {
        let Distance::Flat(volume) = &self.distance else { return None };
        let refine = setup.surface.refine as usize;
        let cells = [setup.grid.cells[0] * refine, setup.grid.cells[1] * refine];
        let mut values = vec![volume.background; cells[0] * cells[1]];
        for (b, block) in volume.blocks.iter().enumerate() {
            for (i, value) in volume.block(b).iter().enumerate() {
                let at = |a: usize, i: usize| {
                    usize::try_from(block[a] * BLOCK as i32 + i as i32).ok().filter(|&i| i < cells[a])
                };
                if let (Some(x), Some(y)) = (at(0, i % BLOCK), at(1, i / BLOCK)) {
                    values[x + cells[0] * y] = *value;
                }
            }
        }
        Some((values, cells, [volume.spacing; 2]))
    }

    /// The closed mesh, with velocities and whatever particles carry.
    pub fn mesh(&self, setup: &Setup) -> SurfaceMesh {
        let Distance::Full(volume) = &self.distance else { return SurfaceMesh::default() };
        let mut mesh = contour(volume);
        let particles = &self.particles;
        if particles.is_empty() {
            return mesh;
        }
        let lists: Vec<&[f32]> = particles
            .velocities
            .iter()
            .map(Vec::as_slice)
            .chain(particles.attributes.iter().map(|(_, values)| values.as_slice()))
            .collect();
        let carried = |points: &Points<3>| points.carried(&mesh.positions, &lists);
        let found = self.points.as_ref().map_or_else(|| carried(&points(setup, particles)), carried);
        mesh.velocities = (0..mesh.positions.len()).map(|v| std::array::from_fn(|a| found[a][v])).collect();
        mesh.attributes =
            particles.attributes.iter().map(|(name, _)| name.clone()).zip(found.into_iter().skip(3)).collect();
        mesh.colors = colors(setup, &mesh.attributes, mesh.positions.len());
        mesh
    }

    /// Closed lines, in 2D.
    pub fn outline(&self) -> Outline {
        match &self.distance {
            Distance::Flat(volume) => outline(volume),
            Distance::Full(_) => Outline::default(),
        }
    }
}

/// The colours that inks give to a liquid; none if there are no inks.
fn colors(setup: &Setup, attributes: &[(String, Vec<f32>)], count: usize) -> Vec<[f32; 3]> {
    let amounts = |ink: &Substance| {
        let (_, amounts) = attributes.iter().find(|(name, _)| *name == ink.name)?;
        Some((from_srgb8(ink.color), amounts))
    };
    let inks: Vec<_> = setup.inks().filter_map(amounts).collect();
    let Some(film) = setup.film.as_ref().filter(|_| !inks.is_empty()) else { return Vec::new() };
    let water = from_srgb8(film.render.water.tint);
    (0..count).map(|v| with_inks(water, inks.iter().map(|(color, amounts)| (*color, amounts[v])))).collect()
}

/// The cells near a surface, and how they move.
fn moving_cells(setup: &Setup, sim: &dyn Simulation, distance: &[f32]) -> Particles {
    let (cells, d) = (&setup.grid.cells, setup.dimensions());
    let h = setup.grid.spacing()[0];
    let near: Vec<usize> = (0..distance.len()).filter(|&i| f64::from(distance[i].abs()) < 2.0 * h).collect();
    let mut velocity = Vec::new();
    let of_axis = |a: usize| {
        sim.read("velocity", a, &mut velocity);
        near.iter().map(|&i| velocity.get(i).copied().unwrap_or(0.0)).collect()
    };
    let velocities = (0..d).map(of_axis).collect();
    let places = |a: usize| {
        let stride: usize = cells[..a].iter().product();
        let place = |&i: &usize| (setup.grid.origin[a] + ((i / stride % cells[a]) as f64 + 0.5) * h) as f32;
        near.iter().map(place).collect()
    };
    Particles {
        ids: near.iter().map(|&i| i as u64).collect(),
        positions: (0..d).map(places).collect(),
        velocities,
        attributes: Vec::new(),
    }
}

/// Particles, sorted.
fn points<const D: usize>(setup: &Setup, particles: &Particles) -> Points<D> {
    let places: Vec<[f32; D]> =
        (0..particles.len()).map(|i| std::array::from_fn(|a| particles.positions[a][i])).collect();
    Points::new(&places, &room(setup))
}

/// Where it was simulated.
fn room<const D: usize>(setup: &Setup) -> Room<D> {
    let grid = &setup.grid;
    let walls = std::array::from_fn(|a| {
        let wall = |side: &Side, x: f64| matches!(side, Side::Slip | Side::NoSlip(_)).then_some(x);
        match &grid.axes[a] {
            Axis::Bounded { lo, hi } => [wall(lo, grid.origin[a]), wall(hi, grid.origin[a] + grid.size[a])],
            // The ends are no walls, but what is shown of it begins and ends there.
            Axis::Periodic => [0.0, grid.size[a]].map(|x| Some(grid.origin[a] + x)),
            Axis::Unbounded => [None; 2],
        }
    });
    Room {
        origin: std::array::from_fn(|a| grid.origin[a]),
        cell: grid.spacing()[0],
        walls,
        periodic: std::array::from_fn(|a| matches!(grid.axes[a], Axis::Periodic)),
    }
}
