//! Extrapolation of velocities beyond the surface of a liquid.
//!
//! Layer by layer: a face that is not known takes the mean of those beside it that are. Every layer reads what the one before left, so
//! no order matters. Which faces are known is a bit of each ([`Bits`]): a layer is found by shifting words, and only its own faces are looked at.

use super::bits::{Bits, Neighbours};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Ends, Grid};
use crate::layout::Layout;
use crate::rows;

/// Room for it.
pub struct Extrapolation<const D: usize> {
    rows: Neighbours<D>,
    periodic: [bool; D],
    /// Cells of the liquid.
    wet: Bits,
    /// Faces that are known.
    known: Bits,
    /// Faces whose change is known.
    changed: Bits,
    /// How much faces beyond the surface have changed.
    change: Field<D>,
    layer: Layer,
}

/// How many layers a change is continued by: as far as particles of the liquid reach.
const HEARD: usize = 2;

impl<const D: usize> Extrapolation<D> {
    /// For fields of a layout.
    pub fn new(grid: &Grid<D>, layout: &Layout<D>) -> Result<Self, OutOfMemory> {
        let change = Field::on(layout, At::Face(0), grid.flat_ends(0.0))?;
        let periodic = change.ends().map(|ends| ends == Ends::Periodic);
        Ok(Extrapolation {
            rows: Neighbours::new(layout, periodic),
            periodic,
            wet: Bits::default(),
            known: Bits::default(),
            changed: Bits::default(),
            change,
            layer: Layer::default(),
        })
    }

    /// Goes over to another layout.
    pub fn reset_on(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        self.rows = Neighbours::new(layout, self.periodic);
        self.change.reset_on(layout)
    }

    /// Continues `u` from the faces of liquid cells (`phi < 0`) that are `open` by more than a part by so many layers; it is zero further away. Needs the ghosts of
    /// `phi`, leaves those of `u` filled.
    ///
    /// Faces that particles have `told` what they were before, zero where none has (with the pressure, for walls that the liquid lets
    /// go of), keep that and take the change of the faces beside: the
    /// velocity of a particle at the surface is then not mixed with that of others.
    pub fn apply(
        &mut self,
        u: &mut VectorField<D>,
        told: Option<(&VectorField<D>, &Field<D>)>,
        phi: &Field<D>,
        open: Option<(&VectorField<D>, Real)>,
        layers: usize,
    ) {
        let Self { rows, wet, known, changed, change, layer, .. } = self;
        wet.set_below(phi, 0.0);
        for (a, u) in u.iter_mut().enumerate() {
            known.set_faces(rows, wet, a);
            if let Some((open, least)) = open {
                known.keep_above(&open[a], least);
            }
            if let Some(told) = told.map(|(told, _)| &told[a]) {
                changed.copy(known);
                for _ in 0..HEARD {
                    let (now, change_now) = (&*u, &*change);
                    layer.find(rows, changed, |row, x, at| match known.has(row, x) {
                        true => now.data[at] - told.data[at],
                        false => change_now.data[at],
                    });
                    layer.write(change);
                    layer.note(changed);
                }
                changed.remove(known);
                layer.all(rows, changed, |_, _, at| told.data[at] + change.data[at]);
                layer.keep(|at| told.data[at] != 0.0);
                layer.write(u);
                layer.note(known);
            }
            for _ in 0..layers {
                layer.find(rows, known, |_, _, at| u.data[at]);
                layer.write(u);
                layer.note(known);
            }
            let known = &*known;
            rows::numbered([&mut *u], |r, _, [u]| known.clear_others(r, u));
            match told {
                Some((_, p)) => u.set_end_faces_that_press(p),
                // What was not projected knows nothing of the last faces of open sides.
                None => u.finish_end_faces(),
            }
            u.fill_halo();
        }
    }

    /// Continues `u` from the faces that particles have told something, those with a weight, by so many layers. Leaves ghosts filled.
    pub fn from_told(&mut self, u: &mut VectorField<D>, weight: &VectorField<D>, p: &Field<D>, layers: usize) {
        let Self { rows, known, layer, .. } = self;
        for (u, weight) in u.iter_mut().zip(weight) {
            known.set_above(weight, 0.0);
            for _ in 0..layers {
                layer.find(rows, known, |_, _, at| u.data[at]);
                layer.write(u);
                layer.note(known);
            }
            u.set_end_faces_that_press(p);
            u.fill_halo();
        }
    }
}

/// Faces that become known together, and their values, by blocks of rows.
#[derive(Debug, Default)]
struct Layer {
    faces: Bits,
    found: Vec<Vec<(u32, Real)>>,
}

impl Layer {
    /// Finds the faces beside those that are known, and for each the mean of the known ones beside it: `value(row, x, place)`.
    fn find<const D: usize>(
        &mut self,
        rows: &Neighbours<D>,
        known: &Bits,
        value: impl Fn(usize, usize, usize) -> Real + Sync,
    ) {
        self.faces.set_beside(rows, known);
        self.faces.list(rows, &mut self.found, |r, x, _| {
            let (mut sum, mut count) = (0.0, 0.0);
            rows.for_each_beside(r, x, |row, x, at| {
                if known.has(row, x) {
                    sum += value(row, x, at);
                    count += 1.0;
                }
            });
            sum / count
        });
    }

    /// Takes a set of faces as they are, with values.
    fn all<const D: usize>(
        &mut self,
        rows: &Neighbours<D>,
        faces: &Bits,
        value: impl Fn(usize, usize, usize) -> Real + Sync,
    ) {
        self.faces.copy(faces);
        self.faces.list(rows, &mut self.found, value);
    }

    /// Keeps the faces at some places.
    fn keep(&mut self, wanted: impl Fn(usize) -> bool) {
        let Layer { faces, found } = self;
        let mut places = found.iter().flatten().map(|(at, _)| wanted(*at as usize));
        faces.filter(|| places.next().unwrap_or(false));
        found.iter_mut().for_each(|list| list.retain(|(at, _)| wanted(*at as usize)));
    }

    fn write<const D: usize>(&self, out: &mut Field<D>) {
        let data = out.data_mut();
        self.found.iter().flatten().for_each(|&(at, value)| data[at as usize] = value);
    }

    fn note(&self, known: &mut Bits) {
        known.add(&self.faces);
    }
}
