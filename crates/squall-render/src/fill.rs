//! Values where there are none, from those around: what a texture needs beside its visible part, so that filters and
//! moved samples do not meet nothing.

/// Replaces values of little weight (from 0 to 1) by the weighted mean of their neighbourhood, near ones before far ones.
/// Where the weight is 1 nothing changes. Without any weight everything is left alone.
///
/// Means are taken over squares of two, four, eight pixels and so on, and the smallest square that holds enough is
/// blended in ("pull-push", Gortler et al. 1996).
pub fn fill<const C: usize>(values: &mut [[f32; C]], weights: &[f32], width: usize, height: usize) {
    assert!(values.len() == width * height && weights.len() == values.len(), "one weight per value");
    if width == 0 || height == 0 || !weights.iter().any(|w| *w > 0.0) {
        return;
    }
    let weights = weights.iter().map(|w| w.clamp(0.0, 1.0)).collect();
    let mut levels = vec![Level { width, height, values: values.to_vec(), weights }];
    while let Some(last) = levels.last().filter(|l| l.width * l.height > 1) {
        let coarser = last.halved();
        levels.push(coarser);
    }
    while let Some(coarse) = levels.pop() {
        let Some(fine) = levels.last_mut() else {
            values.copy_from_slice(&coarse.values);
            return;
        };
        fine.complete(&coarse);
    }
}

struct Level<const C: usize> {
    width: usize,
    height: usize,
    values: Vec<[f32; C]>,
    weights: Vec<f32>,
}

impl<const C: usize> Level<C> {
    /// Weighted means of two by two.
    fn halved(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let (mut values, mut weights) = (vec![[0.0; C]; width * height], vec![0.0; width * height]);
        for i in 0..width * height {
            let (x, y) = (2 * (i % width), 2 * (i / width));
            let mut sum = 0.0;
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                if x + dx < self.width && y + dy < self.height {
                    let from = x + dx + self.width * (y + dy);
                    let weight = self.weights[from];
                    sum += weight;
                    (0..C).for_each(|c| values[i][c] += weight * self.values[from][c]);
                }
            }
            if sum > 0.0 {
                values[i] = values[i].map(|v| v / sum);
            }
            weights[i] = sum.min(1.0);
        }
        Self { width, height, values, weights }
    }

    /// Puts in what is missing, from a level with values everywhere.
    fn complete(&mut self, coarse: &Self) {
        for i in 0..self.values.len() {
            let weight = self.weights[i];
            if weight < 1.0 {
                let behind = coarse.between(i % self.width, i / self.width);
                (0..C).for_each(|c| self.values[i][c] = weight * self.values[i][c] + (1.0 - weight) * behind[c]);
            }
        }
    }

    /// The value at the middle of a pixel of the next finer level: linear between neighbours.
    fn between(&self, x: usize, y: usize) -> [f32; C] {
        let near = |i: usize, n: usize| {
            let other = if i.is_multiple_of(2) { (i / 2).saturating_sub(1) } else { i / 2 + 1 };
            [((i / 2).min(n - 1), 0.75), (other.min(n - 1), 0.25)]
        };
        let mut out = [0.0; C];
        for (y, v) in near(y, self.height) {
            for (x, u) in near(x, self.width) {
                (0..C).for_each(|c| out[c] += u * v * self.values[x + self.width * y][c]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_stay_and_the_rest_takes_those_of_its_neighbourhood() {
        let (width, height) = (37, 21);
        let left = |i: usize| i % width < 10;
        let weights: Vec<f32> =
            (0..width * height).map(|i| if i % width < 4 || i % width >= 30 { 1.0 } else { 0.0 }).collect();
        let mut values: Vec<[f32; 2]> =
            (0..width * height).map(|i| if left(i) { [3.0, -1.0] } else { [7.0, 5.0] }).collect();
        let before = values.clone();
        fill(&mut values, &weights, width, height);
        for i in 0..values.len() {
            if weights[i] == 1.0 {
                assert_eq!(values[i], before[i]);
            }
            assert!((3.0 - 1e-5..=7.0 + 1e-5).contains(&values[i][0]), "between the known ones: {:?}", values[i]);
        }
        let at = |x: usize| values[10 * width + x][0];
        assert!(at(6) < 4.0 && at(27) > 6.0, "{} {}", at(6), at(27));
    }

    #[test]
    fn without_weights_nothing_changes() {
        let mut values = vec![[1.0], [2.0]];
        fill(&mut values, &[0.0, 0.0], 2, 1);
        assert_eq!(values, [[1.0], [2.0]]);
    }
}
