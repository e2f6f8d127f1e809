//! The shapes of the levels: what each of them covers and what lies around it.

use crate::grid::{End, Ends};
use crate::layout::{Layout, Tiles};

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
    /// `1 / weight` cells behind its centre, or in the centre itself (`None`): then that cell is no unknown. Sides may stand
    /// in between.
    Envelope { weight: Option<f64>, sides: [[Option<Stand>; 2]; D] },
}

/// A side that bounds tiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stand {
    /// What it is, on the finest level.
    pub side: Side,
    /// The face that it stands on, in the frame of the layout. On a coarse level it may stand in the middle of a cell.
    pub face: f64,
}

impl Stand {
    /// The next face behind it, or on it.
    pub fn last_face(&self) -> isize {
        self.face.ceil() as isize
    }

    /// The weight of that face, if the face is open.
    pub fn weight(&self, upper: bool) -> f64 {
        match self.side {
            Side::Zero { .. } if upper => 1.0 / (self.face - (self.last_face() as f64 - 0.5)).max(NEAREST),
            Side::Zero { weight } => weight,
            _ => 0.0,
        }
    }
}

/// On a coarse level a side may stand in the middle of a cell: then the zero is as close as this, in cells.
const NEAREST: f64 = 0.25;

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
        let side = |end| match end {
            End::Flat => Side::Wall,
            // Half a cell behind the centre of the last one.
            End::Value(_) | End::Outside(_) => Side::Zero { weight: 2.0 },
        };
        let mut sides = std::array::from_fn(|a| match ends[a].pair() {
            None => [Side::Joined; 2],
            Some([_, End::Flat]) if own == Some(a) => [Side::Wall; 2],
            Some(_) if own == Some(a) => [Side::Wall, Side::Zero { weight: 1.0 }],
            Some(ends) => ends.map(side),
        });
        let around = if let Some(tiles) = layout.as_tiles() {
            let bounds = tiles.bounds();
            let stand = |a: usize, k: usize| {
                let (side, width) = (sides[a][k], layout.cells()[a] as f64);
                let beyond = if own == Some(a) && k == 1 && side != Side::Wall { 0.5 } else { 0.0 };
                bounds[a][k].map(|tile| Stand { side, face: tile as f64 * width + beyond })
            };
            Around::Envelope { weight: None, sides: std::array::from_fn(|a| [stand(a, 0), stand(a, 1)]) }
        } else {
            for a in (0..D).filter(|&a| own == Some(a) && sides[a][1] != Side::Wall && sides[a][1] != Side::Joined) {
                end[a] += 0.5;
            }
            Around::Sides(std::mem::replace(&mut sides, [[Side::Wall; 2]; D]))
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
            (Around::Envelope { weight, sides }, tiles) => {
                // The zero stays where it is: `1 / weight` behind this centre, half a cell more behind the coarse one.
                let behind = (weight.map_or(0.0, |w| 1.0 / w) + 0.5) / 2.0;
                let (layout, origin) = match tiles {
                    Some(tiles) => coarser_tiles(&self.layout, tiles),
                    None => (Layout::dense(self.layout.cells().map(|n| n.div_ceil(2))), [0; D]),
                };
                let coarser = |a: usize, stand: Stand| Stand { face: stand.face / 2.0 - origin[a] as f64, ..stand };
                let sides = std::array::from_fn(|a| sides[a].map(|stand| stand.map(|s| coarser(a, s))));
                let around = Around::Envelope { weight: Some(1.0 / behind), sides };
                Some(Shape { end: layout.cells().map(|n| n as f64), layout, origin, around })
            }
        }
    }

    /// Whether a cell lies behind a wall that bounds tiles.
    pub fn is_behind_wall(&self, index: [isize; D]) -> bool {
        let Around::Envelope { sides, .. } = self.around else { return false };
        let wall = |stand: &Option<Stand>| stand.filter(|stand| stand.side == Side::Wall);
        (0..D).any(|a| {
            wall(&sides[a][0]).is_some_and(|stand| index[a] < stand.last_face())
                || wall(&sides[a][1]).is_some_and(|stand| index[a] >= stand.last_face())
        })
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
pub(crate) fn coarser_tiles<const D: usize>(fine: &Layout<D>, tiles: &Tiles<D>) -> (Layout<D>, [isize; D]) {
    let coords = tiles.coords();
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
    let coarser = |c: &[i32; D]| std::array::from_fn(|a| (c[a] - low[a]).div_euclid(2));
    // A far side may stand in the middle of a coarse tile.
    let bounds = std::array::from_fn(|a| {
        let [first, end] = tiles.bounds()[a];
        [first.map(|c| (c - low[a]).div_euclid(2)), end.map(|c| (c - low[a] + 1).div_euclid(2))]
    });
    (Layout::tiles_within(coords.iter().map(coarser), bounds), origin)
}
