//! Errors of smokes against their targets.

use super::goal::Aim;
use super::{Blur, Gathered, TargetSmoke};
use crate::Real;
use crate::field::Field;
use crate::flow::Flow;
use crate::grid::At;
use crate::layout::Row;
use crate::ops::{lanes_sum, max_abs, sum};
use crate::rows;
use crate::sim::Figure;

/// The ratios of the target's largest density to the smoke's within which a flow alone comes close to the target: it cannot change
/// densities, only rearrange them. Outside, [`Matching::Area`](super::Matching) or gathering has to help.
pub const PEAKS_MATCH: [f64; 2] = [0.7, 1.4];

/// How well one smoke meets its target. Errors are sums over cells of differences, target scaled to the mass of the smoke.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The active target, counted from 0.
    pub target: Option<usize>,
    /// The integral of the smoke.
    pub mass: f64,
    /// `|rho - rho*| / mass`: from 0, the target itself, to 2, nothing in common.
    pub raw_error: f64,
    /// The same, relative to its value when the target became active.
    pub raw_error_of_first: f64,
    /// `|rt - rts| / mass`, both smoothed as they are in the end.
    pub smooth_error: f64,
    /// The same, relative to its value when the target became active.
    pub smooth_error_of_first: f64,
    /// The largest density of the target over that of the smoke.
    pub peak_ratio: f64,
    /// Whether that is within [`PEAKS_MATCH`].
    pub peaks_match: bool,
    /// The width of smoothing now, in metres.
    pub sigma: f64,
    /// What gathering did in the last step.
    pub gathered: Gathered,
}

impl Metrics {
    /// By name, for those who do not know this model. Targets are counted from 1; 0 is none.
    pub(super) fn figures(&self, smoke: &str) -> [Figure; 8] {
        [
            ("target", self.target.map_or(0.0, |k| k as f64 + 1.0)),
            ("raw_error", self.raw_error),
            ("raw_error_of_first", self.raw_error_of_first),
            ("smooth_error", self.smooth_error),
            ("smooth_error_of_first", self.smooth_error_of_first),
            ("mass", self.mass),
            ("peak_ratio", self.peak_ratio),
            ("sigma", self.sigma),
        ]
        .map(|(what, value)| Figure::new(format!("{smoke}.{what}"), value))
    }
}

impl<const D: usize> TargetSmoke<D> {
    /// How well each smoke meets its target as it is now. Smooths each of them once; meant for every frame.
    pub fn metrics(&mut self) -> Vec<Metrics> {
        let Self { flow: Flow { grid, substances, .. }, guided, smooth, blur, .. } = self;
        let of_first = |error: f64, first: f64| if first > 0.0 { error / first } else { 0.0 };
        let mut all = Vec::with_capacity(guided.len());
        for guided in guided {
            let (aim, smoke) = (&guided.aim, &substances[guided.substance].field);
            let [smooth_error, raw_error] = errors(aim, guided.finest(), smoke, smooth, blur);
            let (mass, peak) = (sum(smoke), max_abs(smoke) as f64);
            let peak_ratio = if peak > 0.0 { aim.scale(mass) * aim.peak / peak } else { 0.0 };
            all.push(Metrics {
                target: aim.active,
                mass: mass * grid.cell_volume(),
                raw_error,
                raw_error_of_first: of_first(raw_error, aim.first_errors[1]),
                smooth_error,
                smooth_error_of_first: of_first(smooth_error, aim.first_errors[0]),
                peak_ratio,
                peaks_match: (PEAKS_MATCH[0]..=PEAKS_MATCH[1]).contains(&peak_ratio),
                sigma: aim.sigma,
                gathered: aim.gathered,
            });
        }
        all
    }
}

/// Differences of smoke and target, smoothed and raw, relative to the mass. 0 without smoke or target.
pub(super) fn errors<const D: usize>(
    aim: &Aim<D>,
    sigma: f64,
    smoke: &Field<D>,
    difference: &mut Field<D>,
    blur: &mut Blur<D>,
) -> [f64; 2] {
    let mass = sum(smoke);
    if mass.is_nan() || mass <= 0.0 || aim.total <= 0.0 {
        return [0.0; 2];
    }
    let scale = aim.scale(mass) as Real;
    difference.relabel(At::Center, aim.density.ends());
    difference.par_rows(|row, out| {
        let (smoke, goal) = (smoke.row(row), aim.density.row(row));
        for x in 0..out.len() {
            out[x] = smoke[x] - scale * goal[x];
        }
    });
    let size = |field: &Field<D>| {
        let of_row = |row: Row<'_, D>| {
            let v = field.row(row);
            lanes_sum(v.len(), |x| v[x].abs() as f64)
        };
        rows::reduce(field.layout(), of_row, |x, y| x + y) / mass
    };
    let raw = size(difference);
    blur.apply(difference, sigma);
    [size(difference), raw]
}
