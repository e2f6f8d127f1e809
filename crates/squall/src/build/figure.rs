//! Figures as densities on the grid.

use std::any::Any;
use std::sync::Arc;

use squall_core::model::target::{ShapeTarget, TargetSource};
use squall_core::{At, Field, Grid, Shape};

use super::effects::{Noises, Shared, fill_at};
use super::{BuildError, shape};
use crate::setup::{Figure, FigureKind, FlatAxis, Formula, Frame, Setup};
use crate::target::{DensitySequence, Slab, extrude};

/// A figure as something that smoke can be driven to.
pub fn source<const D: usize>(
    setup: &Setup,
    grid: &Grid<D>,
    figure: &Figure,
) -> Result<Box<dyn TargetSource<D>>, BuildError> {
    Ok(match &figure.kind {
        FigureKind::Image { density, .. } | FigureKind::Text { density, .. } => {
            Box::new(Still(in_space(grid, figure.frame.as_ref(), &density.share())))
        }
        FigureKind::Mesh { density, .. } | FigureKind::Vdb { density, .. } => Box::new(Still(density.share())),
        FigureKind::Film { density, from, .. } => {
            let (frames, flat) = (density.share(), Vec::new());
            Box::new(Film { frames, from: *from, frame: figure.frame.clone(), flat })
        }
        FigureKind::Shape { shape, motion } => {
            Box::new(ShapeTarget(shape::moving::<D>(shape, motion, grid.min_spacing())?))
        }
        FigureKind::Formula(formula) => {
            let noises = Noises::of_formula(setup, grid, formula);
            Box::new(FormulaTarget { formula: formula.clone(), noises, moves: figure.moves() })
        }
    })
}

/// A figure as a shape: where its density is more than a half.
pub fn shape<const D: usize>(setup: &Setup, grid: &Grid<D>, figure: &Figure) -> Result<Box<dyn Shape<D>>, BuildError> {
    let mut density = Field::new(grid.cells, At::Center, grid.flat_ends(0.0))?;
    source(setup, grid, figure)?.density(grid, 0.0, &mut density);
    density.fill_halo();
    Ok(Box::new(Drawn { grid: *grid, density }))
}

/// Where a density on the cells of a grid is more than a half.
struct Drawn<const D: usize> {
    grid: Grid<D>,
    density: Field<D>,
}

impl<const D: usize> Shape<D> for Drawn<D> {
    /// No distance, but of the right sign.
    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        let cells: [f64; D] = std::array::from_fn(|a| {
            let cell = (x[a] - self.grid.origin[a]) / self.grid.spacing[a] - 0.5;
            // Further out there is nothing.
            cell.clamp(-1.0, self.grid.cells[a] as f64)
        });
        let first = cells.map(|x| x.floor() as isize);
        let corner = |k: usize| {
            let (mut index, mut weight) = (first, 1.0);
            for a in 0..D {
                let (upper, way) = (k >> a & 1 == 1, cells[a] - first[a] as f64);
                index[a] += isize::from(upper);
                weight *= if upper { way } else { 1.0 - way };
            }
            let inside = (0..D).all(|a| (0..self.grid.cells[a] as isize).contains(&index[a]));
            if inside { weight * f64::from(self.density.get_signed(index)) } else { 0.0 }
        };
        (0.5 - (0..1 << D).map(corner).sum::<f64>()) * self.grid.spacing[0]
    }

    fn velocity(&self, _: [f64; D], _: f64) -> [f64; D] {
        [0.0; D]
    }

    fn moves(&self) -> bool {
        false
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        let size = self.grid.size();
        Some((self.grid.origin, std::array::from_fn(|a| self.grid.origin[a] + size[a])))
    }
}

/// One value for each cell.
struct Still(Arc<Vec<f32>>);

impl<const D: usize> TargetSource<D> for Still {
    fn density(&mut self, grid: &Grid<D>, _: f64, out: &mut Field<D>) {
        copy(grid, &self.0, out);
    }
}

/// Pictures, one after the other.
struct Film {
    frames: Arc<DensitySequence>,
    from: f64,
    frame: Option<Frame>,
    /// The one that was last shown.
    flat: Vec<f32>,
}

impl<const D: usize> TargetSource<D> for Film {
    fn density(&mut self, grid: &Grid<D>, time: f64, out: &mut Field<D>) {
        self.frames.at(time - self.from, &mut self.flat);
        if D == 2 {
            return copy(grid, &self.flat, out);
        }
        let flat = Arc::new(std::mem::take(&mut self.flat));
        copy(grid, &in_space(grid, self.frame.as_ref(), &flat), out);
        self.flat = Arc::into_inner(flat).unwrap_or_default();
    }

    fn moves(&self) -> bool {
        true
    }
}

/// A density by a formula. What is negative, infinite or no number counts as nothing.
struct FormulaTarget<const D: usize> {
    formula: Formula,
    noises: Shared<D>,
    moves: bool,
}

impl<const D: usize> TargetSource<D> for FormulaTarget<D> {
    fn density(&mut self, grid: &Grid<D>, time: f64, out: &mut Field<D>) {
        fill_at(out, grid, &self.formula, &self.noises, time);
        let usable = |v: f32| if v > 0.0 && v.is_finite() { v } else { 0.0 };
        out.par_rows(|_, out| out.iter_mut().for_each(|v| *v = usable(*v)));
    }

    fn moves(&self) -> bool {
        self.moves
    }
}

fn copy<const D: usize>(grid: &Grid<D>, values: &[f32], out: &mut Field<D>) {
    let n = grid.cells;
    out.par_rows(|row, out| {
        // x fastest, then y, then z.
        let line = (1..D).rev().fold(0, |line, a| line * n[a] + row.index[a] as usize);
        out.copy_from_slice(&values[line * n[0]..][..n[0]]);
    });
}

/// Something flat in 3D is a slab; in 2D it is what it is.
fn in_space<const D: usize>(grid: &Grid<D>, frame: Option<&Frame>, flat: &Arc<Vec<f32>>) -> Arc<Vec<f32>> {
    let grid: &dyn Any = grid;
    match (grid.downcast_ref::<Grid<3>>(), frame) {
        (Some(grid), Some(frame)) => {
            // The numbers were checked when the scene was read.
            Arc::new(extrude(flat, grid, &slab(frame)).expect("a slab in the box"))
        }
        _ => flat.clone(),
    }
}

/// The layer that a flat figure fills.
pub fn slab(frame: &Frame) -> Slab {
    let (thickness, axis) = frame.slab.expect("flat figures in 3D have a thickness");
    let normal = match axis {
        FlatAxis::X => 0,
        FlatAxis::Y => 1,
        FlatAxis::Z => 2,
    };
    Slab { normal, thickness, center: frame.center.as_ref().map(|c| c[normal]) }
}
