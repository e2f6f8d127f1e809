//! How samples along a line (pixels of a row, cells of a volume) spread over the cells of a grid, one axis at a time.

/// Weights of samples in cells along one axis: `cell = sum of weight * sample`.
///
/// A sample counts as constant over its width where cells are larger than samples: then the value of a cell is the exact
/// mean over it. Where cells are clearly smaller, values between the middles of samples are linear, constant in the outer halves of
/// the first and last: no steps are seen, and the mean over all cells stays what it is.
#[derive(Clone, Debug)]
pub struct AxisWeights {
    /// First sample of each cell, and where its weights begin.
    cells: Vec<(usize, usize)>,
    weights: Vec<f64>,
}

/// Samples this much larger than cells are smoothed: at about the same size that would only blur what is sharp.
const SMOOTH_FROM: f64 = 1.25;

impl AxisWeights {
    /// Weights for `count` samples that cover `[from, to]` metres, on `cells` cells of size `h` beginning at `origin`.
    /// If `to < from` the samples run against the axis. Outside of the samples there is nothing.
    pub fn new(count: usize, [from, to]: [f64; 2], cells: usize, origin: f64, h: f64) -> Self {
        let width = (to - from) / count as f64;
        let smooth = width.abs() > SMOOTH_FROM * h;
        let mut list = AxisWeights { cells: Vec::with_capacity(cells + 1), weights: Vec::new() };
        for i in 0..cells {
            // The ends of the cell, counted in samples from the first one's beginning.
            let ends = [0, 1].map(|end| (origin + (i + end) as f64 * h - from) / width);
            let (a, b) = (ends[0].min(ends[1]).max(0.0), ends[0].max(ends[1]).min(count as f64));
            let start = list.weights.len();
            if b <= a {
                list.cells.push((0, start));
                continue;
            }
            let reach = if smooth { 0.5 } else { 0.0 };
            let first = ((a - reach).max(0.0) as usize).min(count - 1);
            let last = ((b + reach).ceil() as usize).clamp(first + 1, count);
            let per_cell = width.abs() / h;
            list.weights.extend((first..last).map(|j| {
                let sum = |x: f64| if smooth { below_hat(x, j, count) } else { (x - j as f64).clamp(0.0, 1.0) };
                (sum(b) - sum(a)) * per_cell
            }));
            list.cells.push((first, start));
        }
        list.cells.push((0, list.weights.len()));
        list
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len() - 1
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first sample of a cell and the weights from there on.
    pub fn of(&self, cell: usize) -> (usize, &[f64]) {
        let (first, start) = self.cells[cell];
        (first, &self.weights[start..self.cells[cell + 1].1])
    }
}

/// The integral up to `x` of the function that is 1 in the middle of sample `j`, 0 from the middles of its neighbours on
/// and linear between; the first and last samples keep their 1 up to the end.
fn below_hat(x: f64, j: usize, count: usize) -> f64 {
    let t = x - (j as f64 + 0.5);
    let rising = if j == 0 { (t + 0.5).clamp(0.0, 0.5) } else { 0.5 * (t + 1.0).clamp(0.0, 1.0).powi(2) };
    let falling = if j + 1 == count { t.clamp(0.0, 0.5) } else { 0.5 - 0.5 * (1.0 - t).clamp(0.0, 1.0).powi(2) };
    if t <= 0.0 { rising } else { 0.5 + falling }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_spent_exactly_once_at_any_ratio() {
        for (count, cells, from, to) in [
            (1, 7, 0.2, 0.9),
            (5, 3, 0.0, 1.0),
            (3, 5, 0.1, 0.7),
            (97, 31, 0.05, 0.95),
            (31, 97, 0.9, 0.1),
            (64, 64, 0.0, 1.0),
            (2, 100, 0.0, 1.0),
        ] {
            let h = 1.0 / cells as f64;
            let axis = AxisWeights::new(count, [from, to], cells, 0.0, h);
            let mut spent = vec![0.0; count];
            for i in 0..axis.len() {
                let (first, weights) = axis.of(i);
                assert!(weights.iter().all(|w| *w >= -1e-15));
                weights.iter().enumerate().for_each(|(k, w)| spent[first + k] += w * h);
            }
            let width = (to - from).abs() / count as f64;
            // Rounding of a hundred additions.
            assert!(spent.iter().all(|s| (s - width).abs() < 1e-14), "{count} samples on {cells} cells: {spent:?}");
        }
    }

    #[test]
    fn few_samples_on_many_cells_make_a_straight_line() {
        // Samples 0 and 1, the middles at 1/4 and 3/4.
        let axis = AxisWeights::new(2, [0.0, 1.0], 40, 0.0, 0.025);
        for i in 0..40 {
            let (first, weights) = axis.of(i);
            let value: f64 = weights.iter().enumerate().map(|(k, w)| (first + k) as f64 * w).sum();
            let expected = (((i as f64 + 0.5) * 0.025 - 0.25) * 2.0).clamp(0.0, 1.0);
            assert!((value - expected).abs() < 1e-12, "cell {i}: {value}, not {expected}");
        }
    }
}
