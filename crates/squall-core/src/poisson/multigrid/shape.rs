//! The shapes of the levels: what each of them covers and what lies around it.

use crate::grid::{End, Ends};
use crate::layout::Layout;

/// What lies behind one end of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    /// The other end.
    Joined,
    /// Nothing: no link.
    Wall,
    /// The value zero, `1 / weight` cells behind the centre of the last cell.
    Zero { weight: f64 },
}

/// What lies around the cells of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Around<const D: usize> {
    /// The six (four) sides of a box.
    Sides([[Side; 2]; D]),
    /// The cells of tiles are known to be there or not one by one; behind the last of them the value is zero,
    /// `1 / weight` cells behind its centre, or in the centre itself (`None`): then that cell is no unknown.
    Envelope { weight: Option<f64> },
}

/// Cells of one level.
#[derive(Clone, Debug)]
pub(super) struct Shape<const D: usize> {
    pub layout: Layout<D>,
    /// The layout's cell 0 in the frame in which cell `I` covers the cells `2 I` and `2 I + 1` of the next finer level.
    pub origin: [isize; D],
    pub around: Around<D>,
    /// Where the far end of each bounded axis lies, in cells: on a coarse level not on a face, if the fine cell count is
    /// odd.
    end: [f64; D],
}

/// A level of so few cells is solved directly.
pub(super) const SMALL: usize = 64;

/// Tiles are merged into one box when that has no more than so many cells a side ...
const SMALL_BOX: usize = 32;
/// ... or no more than so many times the cells that the tiles have.
const DENSE: usize = 2;

impl<const D: usize> Shape<D> {
    /// The finest level, for values at cell centres, or on faces across axis `own`. The first and the last face on an end
    /// of that axis are no unknowns. The last one is not among the values of the rows: it is a zero one cell behind them.
    /// The first one is: who sets the states has to say what it is.
    pub fn finest(layout: &Layout<D>, ends: [Ends; D], own: Option<usize>) -> Self {
        let mut end = layout.cells().map(|n| n as f64);
        let around = if layout.as_tiles().is_some() {
            Around::Envelope { weight: None }
        } else {
            let side = |end| match end {
                End::Flat => Side::Wall,
                // Half a cell behind the centre of the last one.
                End::Value(_) => Side::Zero { weight: 2.0 },
            };
            Around::Sides(std::array::from_fn(|a| match ends[a] {
                Ends::Periodic => [Side::Joined; 2],
                Ends::Bounded { hi: End::Flat, .. } if own == Some(a) => [Side::Wall; 2],
                Ends::Bounded { .. } if own == Some(a) => {
                    end[a] += 0.5;
                    [Side::Wall, Side::Zero { weight: 1.0 }]
                }
                Ends::Bounded { lo, hi } => [side(lo), side(hi)],
                Ends::Unbounded(_) => [Side::Zero { weight: 2.0 }; 2],
            }))
        };
        Shape { layout: layout.clone(), origin: [0; D], around, end }
    }

    pub fn joined(&self) -> [bool; D] {
        match self.around {
            Around::Sides(sides) => sides.map(|side| side[0] == Side::Joined),
            Around::Envelope { .. } => [false; D],
        }
    }

    /// The next coarser level, unless this one is small enough or cannot get smaller.
    pub fn coarser(&self) -> Option<Self> {
        if self.layout.cell_count() <= SMALL && self.layout.as_tiles().is_none() {
            return None;
        }
        match (self.around, self.layout.as_tiles()) {
            (Around::Sides(sides), _) => self.coarser_box(sides),
            (Around::Envelope { weight }, tiles) => {
                // The zero stays where it is: `1 / weight` behind this centre, half a cell more behind the coarse one.
                let behind = (weight.map_or(0.0, |w| 1.0 / w) + 0.5) / 2.0;
                let around = Around::Envelope { weight: Some(1.0 / behind) };
                let (layout, origin) = match tiles {
                    Some(tiles) => coarser_tiles(&self.layout, tiles.coords()),
                    None => (Layout::dense(self.layout.cells().map(|n| n.div_ceil(2))), [0; D]),
                };
                Some(Shape { end: layout.cells().map(|n| n as f64), layout, origin, around })
            }
        }
    }

    fn coarser_box(&self, mut sides: [[Side; 2]; D]) -> Option<Self> {
        let mut cells = self.layout.cells();
        let mut end = self.end;
        for a in 0..D {
            end[a] /= 2.0;
            match &mut sides[a][1] {
                Side::Zero { weight } => {
                    // Cells whose centres lie before the end. The zero is up to one cell behind the last of them.
                    let count = (end[a] - 0.5).ceil();
                    if count < 1.0 {
                        return None;
                    }
                    cells[a] = count as usize;
                    *weight = 1.0 / (end[a] + 0.5 - count);
                }
                Side::Wall | Side::Joined => cells[a] = cells[a].div_ceil(2),
            }
        }
        let shape = Shape { layout: Layout::dense(cells), origin: [0; D], around: Around::Sides(sides), end };
        (cells != self.layout.cells()).then_some(shape)
    }
}

/// The coarser cells above a set of tiles, as tiles or, if it is not much more, as one box; and where their first cell is.
/// Which tiles have one coarser tile in common depends on where they are in the set, not in space: far away everything is
/// the same.
fn coarser_tiles<const D: usize>(fine: &Layout<D>, coords: &[[i32; D]]) -> (Layout<D>, [isize; D]) {
    let half = fine.cells()[0] / 2;
    let (mut low, mut high) = ([i32::MAX; D], [i32::MIN; D]);
    for c in coords {
        for a in 0..D {
            low[a] = low[a].min(c[a]);
            high[a] = high[a].max(c[a]);
        }
    }
    let origin = low.map(|low| low as isize * half as isize);
    let cells: [usize; D] = std::array::from_fn(|a| (high[a] as i64 - low[a] as i64 + 1) as usize * half);
    let count = cells.iter().fold(1usize, |count, &n| count.saturating_mul(n));
    let stored = coords.len() * half.pow(D as u32);
    if count <= SMALL_BOX.pow(D as u32) || count <= DENSE * stored {
        return (Layout::dense(cells), origin);
    }
    let coarser = |c: &[i32; D]| std::array::from_fn(|a| (c[a] - low[a]) / 2);
    (Layout::tiles(coords.iter().map(coarser)), origin)
}
