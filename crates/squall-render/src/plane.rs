//! A flat field to draw, and what can be wrong with a request.

/// Why a picture cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The drawing was asked to stop.
    #[error("stopped")]
    Cancelled,
    /// A field does not have one value per cell.
    #[error("a field of {cells:?} cells cannot have {values} values")]
    Length {
        /// Cells along each axis.
        cells: Vec<usize>,
        /// Values given.
        values: usize,
    },
    /// Cells need a size.
    #[error("the cell size {0:?} is not positive")]
    Spacing(Vec<f64>),
    /// A picture that is too small or too large.
    #[error("a picture of {width} x {height} pixels cannot be drawn: both must be from 1 to 32768")]
    Size {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// No such colour.
    #[error("`{0}` is not a colour: write it like #ff8800")]
    Color(String),
    /// No such colour map.
    #[error("there is no colour map `{name}`; there are {}", .known.join(", "))]
    ColorMap {
        /// What was asked for.
        name: String,
        /// What there is.
        known: &'static [&'static str],
    },
    /// A ramp needs colours at increasing positions.
    #[error("a colour ramp needs two or more colours at increasing positions; these are at {0:?}")]
    Ramp(Vec<f32>),
    /// A number that makes no picture.
    #[error("{what} is {value}: it must lie between {lo} and {hi}")]
    Value {
        /// What it is for.
        what: &'static str,
        /// What was given.
        value: f64,
        /// The least possible.
        lo: f64,
        /// The most possible.
        hi: f64,
    },
    /// A camera that sees nothing.
    #[error("this camera sees nothing: {0}")]
    Camera(&'static str),
    /// A sparse volume whose parts do not fit together.
    #[error(
        "a volume of {blocks} blocks with {values} values: blocks must be in order, each once, with 512 values each"
    )]
    Blocks {
        /// Blocks.
        blocks: usize,
        /// Values.
        values: usize,
    },
    /// Volumes on different cells.
    #[error(
        "volumes to be drawn together must have the same cells; one has (origin, spacing) {one:?}, another {other:?}"
    )]
    Cells {
        /// Origin and spacing of one.
        one: ([f64; 3], f64),
        /// Origin and spacing of another.
        other: ([f64; 3], f64),
    },
    /// Smoke in too large a box.
    #[error("what is to be drawn is spread over {cells:?} cells, too many at once; are there stray blocks far away?")]
    Spread {
        /// Cells of the box around it.
        cells: [usize; 3],
    },
}

/// A two-dimensional field: one value per cell, x fastest, the bottom row first.
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) cells: [usize; 2],
    pub(crate) spacing: [f64; 2],
    pub(crate) wraps: [bool; 2],
}

impl<'a> Plane<'a> {
    /// `spacing` is the size of a cell along x and y: it decides the aspect of the picture.
    pub fn new(values: &'a [f32], cells: [usize; 2], spacing: [f64; 2]) -> Result<Self, RenderError> {
        check(values, &cells, &spacing)?;
        Ok(Self { values, cells, spacing, wraps: [false; 2] })
    }

    /// The same field, repeating along these axes: between its last cell and its first it goes on, and so do pictures.
    pub fn wrapping(self, wraps: [bool; 2]) -> Self {
        Self { wraps, ..self }
    }

    /// The size of a picture that is `width` pixels wide: cells keep their shape, and both numbers are even, as
    /// movies want them.
    pub fn picture_size(&self, width: usize) -> Result<(usize, usize), RenderError> {
        let [x, y]: [f64; 2] = std::array::from_fn(|a| self.cells[a] as f64 * self.spacing[a]);
        even_size(width, y / x)
    }
}

pub(crate) fn check(values: &[f32], cells: &[usize], spacing: &[f64]) -> Result<(), RenderError> {
    let count = cells.iter().try_fold(1usize, |count, &n| count.checked_mul(n));
    if values.is_empty() || count != Some(values.len()) {
        return Err(RenderError::Length { cells: cells.to_vec(), values: values.len() });
    }
    if !spacing.iter().all(|h| h.is_finite() && *h > 0.0) {
        return Err(RenderError::Spacing(spacing.to_vec()));
    }
    Ok(())
}

pub(crate) fn even_size(width: usize, height_per_width: f64) -> Result<(usize, usize), RenderError> {
    let even = |x: f64| (2.0 * (x / 2.0).round()).clamp(2.0, 1e9) as usize;
    let (width, height) = (even(width as f64), even(width as f64 * height_per_width));
    if width > 32768 || height > 32768 {
        return Err(RenderError::Size { width, height });
    }
    Ok((width, height))
}
