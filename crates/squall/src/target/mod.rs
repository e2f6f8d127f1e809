//! Shapes that smoke is to form, as densities: one value from 0 to 1 for each cell of a grid, x fastest.
//!
//! | from | function |
//! |---|---|
//! | a picture or a drawing | [`picture_density`], in 3D with [`extrude`] |
//! | letters | [`squall_io::picture::draw_text`] and its `density`, in 3D with [`extrude`] |
//! | a film, or numbered files | [`film`], [`numbered_files`]: a [`DensitySequence`] |
//! | any shape with a distance | [`shape_density`] |
//! | a triangle mesh | [`mesh_density`] |
//! | a volume, an OpenVDB file | [`volume_density`], [`vdb_density`] |
//!
//! What has no place of its own in the box is made as large as fits: [`Place`].

mod extrude;
mod picture;
mod sequence;
mod solid;
#[cfg(test)]
mod tests;
mod volume;

pub use extrude::{Slab, extrude, face, on_face};
pub use picture::{PictureOptions, film, numbered_files, picture_density};
pub use sequence::DensitySequence;
pub use solid::{mesh_density, shape_density};
pub use volume::{vdb_density, volume_density};

use crate::assets::AssetError;
use squall_core::Grid;
use squall_core::shape::MeshError;
use squall_io::picture::PictureError;

/// Why something cannot be a target. The message says what helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A picture, a drawing or a text.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// A file that cannot be had.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// A volume.
    #[error("the volume cannot be a target: {what}")]
    Volume {
        /// What is wrong and what helps.
        what: String,
    },
    /// A sequence.
    #[error("the frames are not a sequence: {what}")]
    Sequence {
        /// What is wrong and what helps.
        what: String,
    },
    /// A number that places it makes no sense.
    #[error("a target cannot be placed with {what}")]
    Place {
        /// Which number, and what it may be.
        what: String,
    },
}

/// Pixels along an axis of so many cells in which letters and drawings are drawn: eight for each cell, which is more than the grid
/// can show, and on large grids two.
pub fn pixels_across(cells: usize) -> usize {
    (8 * cells).clamp(64, (2 * cells).clamp(2048, 8192))
}

/// Where in the box something with an extent of its own goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Where its own coordinates say, in metres.
    AsIs,
    /// As large as fits into a frame, in its middle, the proportions kept.
    Fitted {
        /// Share of the shortest side of the box that stays empty on all sides, where the frame is the box: 0 to 0.45.
        margin: f64,
        /// The middle of the frame, in metres. `None`: the middle of the box.
        center: Option<[f64; 3]>,
        /// The sides of the frame, in metres. `None`: the box without its margin.
        size: Option<[f64; 3]>,
    },
}

impl Default for Place {
    fn default() -> Self {
        Place::Fitted { margin: 0.1, center: None, size: None }
    }
}

/// x -> to + scale (x - from)
struct Fitting {
    from: [f64; 3],
    to: [f64; 3],
    scale: f64,
}

impl Fitting {
    fn at(&self, x: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|a| self.to[a] + self.scale * (x[a] - self.from[a]))
    }
}

impl Place {
    /// How something between two corners comes to its place.
    fn fitting(&self, low: [f64; 3], high: [f64; 3], grid: &Grid<3>) -> Result<Fitting, TargetError> {
        let Place::Fitted { margin, center, size } = *self else {
            return Ok(Fitting { from: [0.0; 3], to: [0.0; 3], scale: 1.0 });
        };
        let wrong = |what: String| Err(TargetError::Place { what });
        if !(0.0..=0.45).contains(&margin) {
            return wrong(format!("a margin of {margin}: it may be 0 to 0.45"));
        }
        if let Some(size) = size.filter(|s| !s.iter().all(|x| x.is_finite() && *x > 0.0)) {
            return wrong(format!("a size of {size:?} m: all three must be positive"));
        }
        if let Some(center) = center.filter(|c| !c.iter().all(|x| x.is_finite())) {
            return wrong(format!("a centre at {center:?} m"));
        }
        let whole = grid.size();
        let margin = margin * whole[0].min(whole[1]).min(whole[2]);
        let frame = size.unwrap_or(whole.map(|length| length - 2.0 * margin));
        // Something flat has no extent along one axis: it does not count there.
        let ratios = (0..3).filter(|&a| high[a] > low[a]).map(|a| frame[a] / (high[a] - low[a]));
        let scale = ratios.fold(f64::INFINITY, f64::min);
        if !(scale.is_finite() && scale > 0.0) {
            return wrong("no extent at all: it is a single point".into());
        }
        Ok(Fitting {
            from: std::array::from_fn(|a| 0.5 * (low[a] + high[a])),
            to: center.unwrap_or(std::array::from_fn(|a| grid.origin[a] + 0.5 * whole[a])),
            scale,
        })
    }
}
