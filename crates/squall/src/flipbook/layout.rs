//! Which frames, how large, and where on the texture.

use crate::setup::{Axis, Flipbook, Setup};

/// The largest side of a texture that engines take.
pub const MAX_SIDE: u64 = 16_384;
/// Frames, if nobody says how many.
const FRAMES: u32 = 64;

/// Why frames do not fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The texture would be larger than engines take.
    #[error(
        "{columns} x {rows} frames of {frame:?} pixels make a texture of {size:?}; engines take at most {MAX_SIDE} along a side"
    )]
    TooLarge {
        /// Frames beside each other.
        columns: u32,
        /// Rows.
        rows: u32,
        /// Pixels of a frame, with its border.
        frame: [u32; 2],
        /// Pixels of the texture.
        size: [u64; 2],
    },
    /// The scene is too short.
    #[error("the scene has {available} frames from frame {from} on, one in {every}; the flipbook wants {wanted}")]
    TooFew {
        /// Frames there are.
        available: u32,
        /// The first.
        from: u32,
        /// Every how many.
        every: u32,
        /// Frames wanted.
        wanted: u32,
    },
    /// The first frame comes after the last.
    #[error("the flipbook begins at frame {from}, but the scene has {last}")]
    Begin {
        /// The first.
        from: u32,
        /// The last of the scene.
        last: u32,
    },
    /// More frames than places.
    #[error("{count} frames do not fit into {columns} columns and {rows} rows")]
    Places {
        /// Frames.
        count: u32,
        /// Columns.
        columns: u32,
        /// Rows.
        rows: u32,
    },
    /// Columns or rows that make no power of two.
    #[error("{given} {what} cannot make a texture whose sides are powers of two")]
    NotPowerOfTwo {
        /// Columns or rows.
        what: &'static str,
        /// How many.
        given: u32,
    },
    /// The border leaves nothing of a frame.
    #[error("a border of {padding} pixels on each side leaves nothing of a frame of {cell:?} pixels")]
    Padding {
        /// Its width.
        padding: u32,
        /// The frame with its border.
        cell: [u32; 2],
    },
}

impl LayoutError {
    /// What to do about it.
    pub fn advice(&self) -> String {
        match self {
            LayoutError::TooLarge { .. } => "take fewer frames (--count, --every) or smaller ones (--size)".to_owned(),
            LayoutError::TooFew { available, .. } => {
                format!("use --count {available}, or make the scene longer with --frames")
            }
            LayoutError::Begin { .. } => "use a smaller --from, or make the scene longer with --frames".to_owned(),
            LayoutError::Places { columns, .. } => {
                format!("leave --rows out, or use fewer frames; {columns} columns may have any number of rows")
            }
            LayoutError::NotPowerOfTwo { what, given } => {
                format!(
                    "use --{what} {} or {}, or leave out --power-of-two",
                    given.next_power_of_two() / 2,
                    given.next_power_of_two()
                )
            }
            LayoutError::Padding { .. } => "use a smaller --padding, fewer --mips or a larger --size".to_owned(),
        }
    }
}

/// Where frames are on a texture: row by row from the upper left, each with a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Frames beside each other.
    pub columns: u32,
    /// Rows of frames.
    pub rows: u32,
    /// Pixels of a frame without its border: width and height.
    pub frame: [u32; 2],
    /// Pixels of the border on each side.
    pub padding: u32,
    /// Whether frames go on at the opposite edge, along x and y: those of a periodic 2D scene.
    pub wraps: [bool; 2],
}

impl Layout {
    /// Pixels of a frame with its border.
    pub fn cell(&self) -> [u32; 2] {
        self.frame.map(|n| n + 2 * self.padding)
    }

    /// Pixels of the texture.
    pub fn size(&self) -> [u32; 2] {
        let [width, height] = self.cell();
        [self.columns * width, self.rows * height]
    }

    /// Where the `i`-th frame begins, inside of its border.
    pub fn place(&self, i: u32) -> [u32; 2] {
        let [width, height] = self.cell();
        [i % self.columns * width + self.padding, i / self.columns * height + self.padding]
    }

    /// How many times the texture may be halved before a frame's filtered edge reaches another frame.
    ///
    /// At level m a texel covers 2^m pixels, and linear filtering at the edge of a frame reads texels whose far ends are
    /// 2^m pixels outside: the border must be as wide.
    pub fn safe_mips(&self) -> u32 {
        self.padding.checked_ilog2().unwrap_or(0)
    }
}

/// Which frames of a run a flipbook holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The first.
    pub from: u32,
    /// Every how many frames one is taken.
    pub every: u32,
    /// How many.
    pub count: u32,
}

impl Selection {
    /// The numbers of the frames.
    pub fn frames(&self) -> impl Iterator<Item = u32> + use<> {
        let Self { from, every, count } = *self;
        (0..count).map(move |i| from + i * every)
    }

    /// The number of the last frame.
    pub fn last(&self) -> u32 {
        self.from + (self.count - 1) * self.every
    }
}

/// Chooses frames and their places as the scene asks.
pub(super) fn plan(setup: &Setup) -> Result<(Layout, Selection), LayoutError> {
    let aspect = match &setup.film {
        Some(_) => f64::from(setup.output.height) / f64::from(setup.output.width),
        None => setup.grid.size[1] / setup.grid.size[0],
    };
    let selection = select(&setup.flipbook, u32::from(!setup.time.include_start), setup.time.frames)?;
    let wraps = [0, 1].map(|a| setup.film.is_none() && setup.grid.axes[a] == Axis::Periodic);
    Ok((Layout { wraps, ..place(&setup.flipbook, selection.count, aspect)? }, selection))
}

/// Chooses among the frames from `first` to `last`.
fn select(f: &Flipbook, first: u32, last: u32) -> Result<Selection, LayoutError> {
    let from = f.from.unwrap_or(first).max(first);
    if from > last {
        return Err(LayoutError::Begin { from, last });
    }
    let there = last - from + 1;
    let room = f.columns.zip(f.rows).map(|(columns, rows)| columns * rows);
    let target = f.count.or(room).unwrap_or(FRAMES);
    // With a number of frames, the widest steps that give as many; else those that show all of the scene.
    let every = f.every.unwrap_or(if f.count.is_some() { (there / target).max(1) } else { there.div_ceil(target) });
    let available = there.div_ceil(every);
    if let Some(wanted) = f.count.filter(|&wanted| wanted > available) {
        return Err(LayoutError::TooFew { available, from, every, wanted });
    }
    Ok(Selection { from, every, count: target.min(available) })
}

/// Chooses places for `count` frames; `aspect` is the height of the pictures over their width.
fn place(f: &Flipbook, count: u32, aspect: f64) -> Result<Layout, LayoutError> {
    let padding = f.padding.unwrap_or(if f.mips == 0 { 0 } else { 1 << f.mips });
    let mut frame = [f.width, f.height.unwrap_or((f64::from(f.width) * aspect).round().clamp(1.0, 1e6) as u32)];
    if f.power_of_two {
        let cell = frame.map(|n| nearest_power_of_two(n + 2 * padding));
        if cell.iter().any(|&n| n <= 2 * padding) {
            return Err(LayoutError::Padding { padding, cell });
        }
        frame = cell.map(|n| n - 2 * padding);
    }
    let cell = frame.map(|n| f64::from(n + 2 * padding));
    let whole = |n: u32| if f.power_of_two { n.next_power_of_two() } else { n };
    // As many columns as make the texture square.
    let square = (f64::from(count) * cell[1] / cell[0]).sqrt().ceil().clamp(1.0, f64::from(count)) as u32;
    let columns = f.columns.unwrap_or_else(|| match f.rows {
        Some(rows) => whole(count.div_ceil(rows)),
        None => whole(square),
    });
    let rows = f.rows.unwrap_or_else(|| whole(count.div_ceil(columns)));
    for (what, given) in [("columns", columns), ("rows", rows)] {
        if f.power_of_two && !given.is_power_of_two() {
            return Err(LayoutError::NotPowerOfTwo { what, given });
        }
    }
    if u64::from(columns) * u64::from(rows) < u64::from(count) {
        return Err(LayoutError::Places { count, columns, rows });
    }
    let layout = Layout { columns, rows, frame, padding, wraps: [false; 2] };
    let cell = layout.cell();
    let size = [u64::from(columns) * u64::from(cell[0]), u64::from(rows) * u64::from(cell[1])];
    if size.iter().any(|&side| side > MAX_SIDE) {
        return Err(LayoutError::TooLarge { columns, rows, frame: cell, size });
    }
    Ok(layout)
}

/// The power of two that is nearest as a ratio.
fn nearest_power_of_two(n: u32) -> u32 {
    let above = n.next_power_of_two();
    if above > 1 && u64::from(n) * u64::from(n) < u64::from(above) * u64::from(above / 2) { above / 2 } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flipbook of a scene that says nothing about it.
    fn usual() -> Flipbook {
        let scene = crate::Scene::parse("scene.toml", "[grid]\ncells = [8, 8]", &[]);
        scene.and_then(|scene| scene.setup()).expect("a scene").0.flipbook
    }

    #[test]
    fn without_wishes_the_whole_scene_is_shown_in_a_nearly_square_texture() {
        let f = Flipbook { mips: 0, ..usual() };
        assert_eq!(select(&f, 1, 90).unwrap(), Selection { from: 1, every: 2, count: 45 });
        assert_eq!(select(&f, 1, 64).unwrap(), Selection { from: 1, every: 1, count: 64 });
        let layout = place(&f, 45, 1.5).unwrap();
        assert_eq!((layout.columns, layout.rows, layout.frame), (9, 5, [128, 192]));
        assert_eq!(layout.size(), [1152, 960]);
        assert_eq!(layout.place(10), [128, 192]);
    }

    #[test]
    fn powers_of_two_are_exact_whatever_the_border() {
        for (width, aspect, mips, count) in [(128, 1.0, 2, 64), (100, 1.25, 3, 40), (250, 0.5, 0, 5), (60, 2.0, 4, 1)] {
            let f = Flipbook { width, mips, power_of_two: true, ..usual() };
            let layout = place(&f, count, aspect).unwrap();
            assert!(layout.size().iter().all(|side| side.is_power_of_two()), "{layout:?}");
            assert!(layout.columns * layout.rows >= count);
            assert!(layout.safe_mips() >= mips);
            let ratio = f64::from(layout.cell()[0]) / f64::from(width + 2 * layout.padding);
            assert!((0.7..1.42).contains(&ratio), "the nearest power of two: {ratio}");
        }
    }

    #[test]
    fn what_cannot_fit_is_refused_with_a_way_out() {
        let f = Flipbook { width: 4096, mips: 0, ..usual() };
        let error = place(&f, 64, 1.0).unwrap_err();
        assert!(error.to_string().contains("[32768, 32768]") && error.advice().contains("--size"), "{error}");
        let f = Flipbook { columns: Some(6), power_of_two: true, ..usual() };
        assert!(place(&f, 30, 1.0).unwrap_err().advice().contains("--columns 4 or 8"));
        let f = Flipbook { columns: Some(2), rows: Some(2), ..usual() };
        assert!(matches!(place(&f, 5, 1.0), Err(LayoutError::Places { .. })));
        let f = Flipbook { count: Some(50), every: Some(2), ..usual() };
        assert!(matches!(select(&f, 1, 90), Err(LayoutError::TooFew { available: 45, .. })));
        let f = Flipbook { from: Some(91), ..usual() };
        assert!(matches!(select(&f, 1, 90), Err(LayoutError::Begin { from: 91, last: 90 })));
        let f = Flipbook { width: 4, padding: Some(8), power_of_two: true, ..usual() };
        assert!(matches!(place(&f, 4, 1.0), Err(LayoutError::Padding { .. })));
    }

    #[test]
    fn a_number_of_frames_is_met_exactly() {
        let f = Flipbook { count: Some(16), from: Some(20), ..usual() };
        let chosen = select(&f, 1, 90).unwrap();
        assert_eq!(chosen, Selection { from: 20, every: 4, count: 16 });
        assert_eq!(chosen.last(), 80);
        assert_eq!(chosen.frames().nth(2), Some(28));
    }
}
