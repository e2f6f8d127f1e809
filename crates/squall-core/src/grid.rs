//! Grids: cells, spacing, and the boundary condition at each end of each axis.

use crate::Real;

/// A box of cells: origin, cell size and count along each axis, and what bounds each axis.
///
/// Cell `i` covers `[origin + i h, origin + (i + 1) h]` along each axis; its centre lies at `origin + (i + 1/2) h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid<const D: usize> {
    /// The lower corner of cell 0, in metres.
    pub origin: [f64; D],
    /// The cell size along each axis, in metres. The axes may differ.
    pub spacing: [f64; D],
    /// How many cells along each axis: any count from 1 on.
    pub cells: [usize; D],
    /// What bounds each axis.
    pub axes: [Axis<D>; D],
}

/// What bounds one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis<const D: usize> {
    /// The far end joins the near one.
    Periodic,
    /// Two ends, each with its own condition.
    Bounded {
        /// The end at the origin.
        lo: Side<D>,
        /// The far end.
        hi: Side<D>,
    },
    /// No ends: the grid goes wherever the fluid goes, in tiles; the cell count says only how much is looked at. The same
    /// as [`Side::Unbounded`] on both sides.
    Unbounded,
}

/// One end of a bounded axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side<const D: usize> {
    /// Nothing crosses; the fluid slides along freely.
    Slip,
    /// Nothing crosses; the fluid sticks to a wall that moves along itself with this velocity.
    NoSlip {
        /// Velocity of the wall. Its component across the wall counts as zero.
        velocity: [Real; D],
    },
    /// Fluid enters (or leaves) with this velocity.
    Inflow {
        /// Velocity on the face.
        velocity: [Real; D],
    },
    /// The outside air at pressure zero: fluid comes and goes as it likes.
    Open,
    /// No end: on this side the grid goes wherever the fluid goes, in tiles.
    Unbounded,
}

impl<const D: usize> Axis<D> {
    /// What stands at the two ends; `None` if they join.
    pub fn sides(self) -> Option<[Side<D>; 2]> {
        match self {
            Axis::Periodic => None,
            Axis::Bounded { lo, hi } => Some([lo, hi]),
            Axis::Unbounded => Some([Side::Unbounded; 2]),
        }
    }

    /// Whether there is no end on either side, or on one of them.
    pub fn is_unbounded(self) -> bool {
        self.sides().is_some_and(|sides| sides.contains(&Side::Unbounded))
    }
}

impl<const D: usize> Side<D> {
    /// A wall at rest to which the fluid sticks.
    pub const STICKY: Self = Side::NoSlip { velocity: [0.0; D] };

    /// Whether it says how the fluid beside it moves along it.
    pub(crate) fn sticks(self) -> bool {
        matches!(self, Side::NoSlip { .. } | Side::Inflow { .. })
    }
}

/// Where in its cell a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// The centre of the cell.
    Center,
    /// The centre of the lower face across this axis.
    Face(usize),
    /// The centre of the lower edge along this axis: on the lower side across all others. In 2D the edge along an axis is
    /// the face across the other one.
    Edge(usize),
    /// The lower corner.
    Node,
}

impl At {
    /// Whether values lie on the lower side of their cells across axis `a`: then an end of that axis has values on it.
    #[inline]
    pub fn on_lower_side(self, a: usize) -> bool {
        match self {
            At::Center => false,
            At::Face(across) => across == a,
            At::Edge(along) => along != a,
            At::Node => true,
        }
    }
}

/// What a field does at the two ends of one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// The far end joins the near one.
    Periodic,
    /// Two ends, each with its own rule.
    Bounded {
        /// The end at the origin.
        lo: End,
        /// The far end.
        hi: End,
    },
    /// No ends: where no cells are, the field has this value.
    Unbounded(Real),
}

/// What a field does at one end of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// No slope across the boundary face (insulated, mirror image).
    Flat,
    /// This value on the boundary face.
    Value(Real),
    /// No end on this side: where no cells are, the field has this value.
    Outside(Real),
}

impl Ends {
    /// The two ends; `None` if they join.
    pub fn pair(self) -> Option<[End; 2]> {
        match self {
            Ends::Periodic => None,
            Ends::Bounded { lo, hi } => Some([lo, hi]),
            Ends::Unbounded(outside) => Some([End::Outside(outside); 2]),
        }
    }

    /// The same with each end replaced. Two ends outside are [`Ends::Unbounded`].
    pub fn map(self, f: impl Fn(End) -> End) -> Self {
        self.pair().map_or(Ends::Periodic, |pair| Ends::of(pair.map(f)))
    }

    /// From two ends.
    pub(crate) fn of(pair: [End; 2]) -> Self {
        match pair {
            [End::Outside(outside), End::Outside(_)] => Ends::Unbounded(outside),
            [lo, hi] => Ends::Bounded { lo, hi },
        }
    }

    /// The value where no cells are, if there is no end on one of the sides.
    pub fn outside(self) -> Option<Real> {
        self.pair()?.into_iter().find_map(|end| if let End::Outside(outside) = end { Some(outside) } else { None })
    }

    /// No slope at either end.
    pub const FLAT: Ends = Ends::Bounded { lo: End::Flat, hi: End::Flat };
}

impl<const D: usize> Grid<D> {
    /// A grid over `[0, size]` along each axis with the same bounds on all of them.
    pub fn new(cells: [usize; D], size: [f64; D], axes: [Axis<D>; D]) -> Self {
        assert!(cells.iter().all(|&n| n > 0), "a grid needs at least one cell along each axis");
        let spacing = std::array::from_fn(|a| size[a] / cells[a] as f64);
        Grid { origin: [0.0; D], spacing, cells, axes }
    }

    /// The unit box (side 1 along x, the same cell size along every axis), periodic everywhere.
    pub fn periodic(cells: [usize; D]) -> Self {
        let h = 1.0 / cells[0] as f64;
        Grid::new(cells, cells.map(|n| n as f64 * h), [Axis::Periodic; D])
    }

    /// The unit box (side 1 along x, the same cell size along every axis) with one kind of wall all around.
    pub fn walled(cells: [usize; D], side: Side<D>) -> Self {
        let h = 1.0 / cells[0] as f64;
        Grid::new(cells, cells.map(|n| n as f64 * h), [Axis::Bounded { lo: side, hi: side }; D])
    }

    /// The cell that an index means: the same one on the other side of periodic axes, the last one behind an end.
    pub(crate) fn nearest_cell(&self, cell: [isize; D]) -> [isize; D] {
        std::array::from_fn(|a| match self.axes[a] {
            Axis::Periodic => cell[a].rem_euclid(self.cells[a] as isize),
            Axis::Bounded { .. } => {
                let [first, last] = self.end_faces(a);
                cell[a].clamp(first, last - 1)
            }
            Axis::Unbounded => cell[a],
        })
    }

    /// The faces on the two ends of an axis, by their indices: far away where there is no end.
    pub(crate) fn end_faces(&self, a: usize) -> [isize; 2] {
        let bounded = self.axes[a].sides().map_or([false; 2], |sides| sides.map(|side| side != Side::Unbounded));
        [if bounded[0] { 0 } else { isize::MIN }, if bounded[1] { self.cells[a] as isize } else { isize::MAX }]
    }

    /// Whether the grid goes wherever the fluid goes, on one side at least.
    pub fn is_unbounded(&self) -> bool {
        self.axes.iter().any(|axis| axis.is_unbounded())
    }

    /// Whether fluid can leave it.
    pub fn has_outlet(&self) -> bool {
        let out = |side: &Side<D>| matches!(side, Side::Open | Side::Unbounded);
        self.axes.iter().any(|axis| axis.sides().is_some_and(|sides| sides.iter().any(out)))
    }

    /// How many cells the box has.
    pub fn cell_count(&self) -> usize {
        self.cells.iter().product()
    }

    /// Length of the box along each axis, in metres.
    pub fn size(&self) -> [f64; D] {
        std::array::from_fn(|a| self.spacing[a] * self.cells[a] as f64)
    }

    /// Volume (2D: area) of one cell.
    pub fn cell_volume(&self) -> f64 {
        self.spacing.iter().product()
    }

    /// The smallest cell size over the axes.
    pub fn min_spacing(&self) -> f64 {
        self.spacing.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The largest speed along one axis that a moving wall or an inflow prescribes, in cells per second.
    pub fn fastest_side(&self) -> f64 {
        let speed = |side: &Side<D>| match side {
            Side::NoSlip { velocity } | Side::Inflow { velocity } => {
                (0..D).map(|a| f64::from(velocity[a]).abs() / self.spacing[a]).fold(0.0, f64::max)
            }
            Side::Slip | Side::Open | Side::Unbounded => 0.0,
        };
        self.axes.iter().flat_map(|axis| axis.sides()).flatten().map(|side| speed(&side)).fold(0.0, f64::max)
    }

    /// The velocity along an axis that its sides give to the air far away, in metres per second: that of an inflow, none
    /// through a wall. `None` if they leave it free.
    pub fn wind_past_sides(&self, a: usize) -> Option<Real> {
        let normal = |side: Side<D>| match side {
            Side::Inflow { velocity } => Some(velocity[a]),
            Side::Slip | Side::NoSlip { .. } => Some(0.0),
            Side::Open | Side::Unbounded => None,
        };
        self.axes[a].sides()?.into_iter().find_map(normal)
    }

    /// Where the value of cell `index` lives, in metres.
    pub fn position(&self, at: At, index: [isize; D]) -> [f64; D] {
        std::array::from_fn(|a| {
            let shift = if at.on_lower_side(a) { 0.0 } else { 0.5 };
            self.origin[a] + (index[a] as f64 + shift) * self.spacing[a]
        })
    }
}
