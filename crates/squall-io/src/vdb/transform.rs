//! From cells to metres.

use super::wire::{Cursor, Parsed, put_f64s, put_text};

/// Where the centres of cells lie. The centre of cell `i` is at `sum_a i_a axes[a] + translation`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// The step from a cell to its neighbour along each axis, in metres.
    pub axes: [[f64; 3]; 3],
    /// The centre of cell 0.
    pub translation: [f64; 3],
}

impl Transform {
    /// Cubes of side `spacing`; the lower corner of cell 0 is at `origin`, so its centre is half a cell further.
    pub fn of_cells(origin: [f64; 3], spacing: f64) -> Self {
        Self::scaled([spacing; 3], origin.map(|x| x + 0.5 * spacing))
    }

    fn scaled(scale: [f64; 3], translation: [f64; 3]) -> Self {
        let axes = std::array::from_fn(|a| std::array::from_fn(|b| if a == b { scale[a] } else { 0.0 }));
        Self { axes, translation }
    }

    /// Origin and spacing, if cells are cubes along the axes of space.
    pub fn cells(&self) -> Option<([f64; 3], f64)> {
        let spacing = self.axes[0][0];
        let is_cube = *self == Self::scaled([spacing; 3], self.translation);
        let is_sane = spacing.is_finite() && spacing > 0.0 && self.translation.iter().all(|x| x.is_finite());
        (is_cube && is_sane).then(|| (self.translation.map(|x| x - 0.5 * spacing), spacing))
    }

    /// The lengths of a cell's edges.
    pub fn voxel_size(&self) -> [f64; 3] {
        self.axes.map(|axis| axis.iter().map(|x| x * x).sum::<f64>().sqrt())
    }

    /// The box in space that holds the cells `low..=high`, their full extent and not only their centres.
    pub fn bounds(&self, low: [i32; 3], high: [i32; 3]) -> ([f64; 3], [f64; 3]) {
        let mut bounds = (self.translation, self.translation);
        for axis in 0..3 {
            let ends = [f64::from(low[axis]) - 0.5, f64::from(high[axis]) + 0.5];
            for x in 0..3 {
                let [a, b] = ends.map(|i| i * self.axes[axis][x]);
                bounds.0[x] += a.min(b);
                bounds.1[x] += a.max(b);
            }
        }
        bounds
    }
}

pub fn write_transform(out: &mut Vec<u8>, origin: [f64; 3], spacing: f64) {
    put_text(out, "UniformScaleTranslateMap");
    put_f64s(out, &Transform::of_cells(origin, spacing).translation);
    // Scale, size of a voxel, and what OpenVDB keeps at hand for derivatives.
    for value in [spacing, spacing, 1.0 / spacing, 1.0 / (spacing * spacing), 0.5 / spacing] {
        put_f64s(out, &[value; 3]);
    }
}

pub fn read_transform(from: &mut Cursor<'_>) -> Parsed<Transform> {
    let kind = from.text("the type of the transform")?;
    Ok(match kind.as_str() {
        "UniformScaleTranslateMap" | "ScaleTranslateMap" => {
            let [tx, ty, tz, sx, sy, sz] = from.f64s()?;
            from.f64s::<12>()?;
            Transform::scaled([sx, sy, sz], [tx, ty, tz])
        }
        "UniformScaleMap" | "ScaleMap" => {
            let scale = from.f64s()?;
            from.f64s::<12>()?;
            Transform::scaled(scale, [0.0; 3])
        }
        "TranslationMap" => Transform::scaled([1.0; 3], from.f64s()?),
        "AffineMap" | "UnitaryMap" => {
            // Rows of a matrix that points are multiplied to from the left.
            let m: [f64; 16] = from.f64s()?;
            let row = |r: usize| std::array::from_fn(|c| m[4 * r + c]);
            Transform { axes: [row(0), row(1), row(2)], translation: row(3) }
        }
        _ => return Err(format!("its transform is of the type `{kind}`, but only linear ones can be read")),
    })
}
