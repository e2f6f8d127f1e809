//! What moves the nodes of glTF files: translations, rotations and scales between keys.

/// What of a node moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    Translation,
    Rotation,
    Scale,
}

impl Part {
    pub fn components(self) -> usize {
        if self == Part::Rotation { 4 } else { 3 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Step,
    Linear,
    /// Each key has a slope before it, its value, and a slope after it.
    Cubic,
}

/// One part of one node, over time.
#[derive(Debug)]
pub struct Move {
    pub node: usize,
    pub part: Part,
    times: Vec<f64>,
    values: Vec<f64>,
    between: Between,
}

impl Move {
    /// Checks everything; says what is wrong.
    pub fn new(node: usize, part: Part, times: Vec<f64>, values: Vec<f64>, word: &str) -> Result<Self, String> {
        let between = match word {
            "STEP" => Between::Step,
            "LINEAR" => Between::Linear,
            "CUBICSPLINE" => Between::Cubic,
            other => return Err(format!("{other:?} is no interpolation between keys of an animation")),
        };
        let sets = if between == Between::Cubic { 3 } else { 1 };
        if times.is_empty() || values.len() != times.len() * sets * part.components() {
            return Err(format!("the animation of node {node} has {} times for other values", times.len()));
        }
        if !times.is_sorted() || !times.iter().chain(&values).all(|v| v.abs() <= 1e12) || times[0] < 0.0 {
            return Err(format!(
                "the animation of node {node} has times that do not grow, or numbers that are not finite"
            ));
        }
        Ok(Self { node, part, times, values, between })
    }

    /// When it ends, in seconds.
    pub fn end(&self) -> f64 {
        self.times[self.times.len() - 1]
    }

    /// The `set`-th list of numbers of a key.
    fn key(&self, key: usize, set: usize) -> [f64; 4] {
        let (sets, n) = (if self.between == Between::Cubic { 3 } else { 1 }, self.part.components());
        let mut numbers = [0.0; 4];
        numbers[..n].copy_from_slice(&self.values[(key * sets + set) * n..][..n]);
        numbers
    }

    /// The value at a time: three numbers, or a quaternion of length 1.
    pub fn at(&self, time: f64) -> [f64; 4] {
        let middle = usize::from(self.between == Between::Cubic);
        let next = self.times.partition_point(|&t| t <= time);
        let value = if next == 0 || next == self.times.len() || self.between == Between::Step {
            self.key(next.saturating_sub(1), middle)
        } else {
            let span = self.times[next] - self.times[next - 1];
            let share = (time - self.times[next - 1]) / span;
            let (from, to) = (self.key(next - 1, middle), self.key(next, middle));
            match self.between {
                Between::Cubic => {
                    // A Hermite spline: appendix C of the specification.
                    let (out, into) = (self.key(next - 1, 2), self.key(next, 0));
                    let (s2, s3) = (share * share, share * share * share);
                    let weights = [2.0 * s3 - 3.0 * s2 + 1.0, s3 - 2.0 * s2 + share, 3.0 * s2 - 2.0 * s3, s3 - s2];
                    std::array::from_fn(|a| {
                        weights[0] * from[a]
                            + weights[1] * span * out[a]
                            + weights[2] * to[a]
                            + weights[3] * span * into[a]
                    })
                }
                _ if self.part == Part::Rotation => turned(from, to, share),
                _ => std::array::from_fn(|a| from[a] + share * (to[a] - from[a])),
            }
        };
        if self.part == Part::Rotation { unit(value) } else { value }
    }
}

fn dot(a: [f64; 4], b: [f64; 4]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn unit(q: [f64; 4]) -> [f64; 4] {
    let length = dot(q, q).sqrt();
    if length > 0.0 { q.map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] }
}

/// The rotation between two, at an even pace along the shorter way.
fn turned(from: [f64; 4], to: [f64; 4], share: f64) -> [f64; 4] {
    let (from, to) = (unit(from), unit(to));
    let cosine = dot(from, to);
    let to = if cosine < 0.0 { to.map(|v| -v) } else { to };
    let angle = libm::acos(cosine.abs().min(1.0));
    let sine = libm::sin(angle);
    // Next to each other the way is straight.
    let [a, b] = if sine < 1e-6 {
        [1.0 - share, share]
    } else {
        [libm::sin((1.0 - share) * angle) / sine, libm::sin(share * angle) / sine]
    };
    std::array::from_fn(|i| a * from[i] + b * to[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_met_and_the_way_between_them_is_right() {
        let s = 0.5_f64.sqrt();
        // A quarter turn about y in one second, half-way: an eighth. Rounding of sines.
        let turn = Move::new(0, Part::Rotation, vec![1.0, 2.0], vec![0.0, 0.0, 0.0, 1.0, 0.0, -s, 0.0, -s], "LINEAR");
        let [_, y, _, w] = turn.unwrap().at(1.5);
        assert!((y - (std::f64::consts::PI / 8.0).sin()).abs() < 1e-12 && w > 0.9, "{y} {w}");
        let values = vec![0.0, 0.0, 0.0, 4.0, 0.0, 0.0];
        let at = |word: &str, t: f64| {
            Move::new(0, Part::Translation, vec![0.0, 2.0], values.clone(), word).unwrap().at(t)[0]
        };
        assert_eq!([at("LINEAR", -1.0), at("LINEAR", 0.5), at("LINEAR", 9.0), at("STEP", 1.9)], [0.0, 1.0, 4.0, 0.0]);
        // Slopes of 2 m/s before and after both keys, 4 m apart in 2 s: a straight line.
        let cubic = [[2.0, 0.0, 0.0], [0.0; 3], [2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
        let cubic =
            Move::new(0, Part::Translation, vec![0.0, 2.0], cubic.as_flattened().to_vec(), "CUBICSPLINE").unwrap();
        assert!((cubic.at(0.5)[0] - 1.0).abs() < 1e-12);
        for (times, values) in [(vec![], vec![]), (vec![1.0, 0.0], vec![0.0; 6]), (vec![0.0], vec![f64::NAN; 3])] {
            assert!(Move::new(0, Part::Scale, times, values, "LINEAR").is_err());
        }
    }
}
