//! Substances of a liquid: inks that mix, heat with buoyancy. Particles hold the values; cells hold their means, for forces and for who looks
//! at them.

use super::{Curve, Liquid};
use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::ledger::Account;
use crate::particles::{Found, SPREAD, continue_beyond};
use crate::report::{Stage, StepReport};
use crate::sim::StateVisitor;

/// What liquid that appears somewhere carries of a substance, if nothing else is said.
pub type Beginning<const D: usize> = Box<dyn Fn([f64; D]) -> Real + Send + Sync>;

/// Values of carried substances, by their number: how they change with time, in seconds.
pub type Values = Vec<(usize, Curve)>;

/// Something that particles carry.
pub(super) struct Carried<const D: usize> {
    beginning: Beginning<D>,
    /// The books of the present step, in values times volume.
    pub account: Account,
    /// How much there was when it was last measured.
    amount: f64,
}

/// Nothing has been seen yet.
const NONE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

impl<const D: usize> Carried<D> {
    /// So much of it has vanished with liquid.
    pub fn drain(&mut self, amount: f64) {
        self.account.dissipated -= amount;
        self.amount -= amount;
    }
}

impl<const D: usize> Liquid<D> {
    /// Lets the liquid carry a substance; returns its number among the carried ones, and its place among those of the flow is one higher. What
    /// appears has the value that `beginning` gives for its place. How fast it diffuses and vanishes is said in the flow.
    pub fn carry(&mut self, name: &str, beginning: Beginning<D>) -> Result<usize, OutOfMemory> {
        self.flow.add_substance(name, 0.0)?;
        self.particles.carry_one_more();
        let account = Account { allowed: NONE, ..Account::default() };
        self.carried.push(Carried { beginning, account, amount: 0.0 });
        Ok(self.carried.len() - 1)
    }

    /// Opens the books of a step.
    pub(super) fn open_carried(&mut self) {
        self.enter(|account| &mut account.before);
        for carried in &mut self.carried {
            let Account { allowed, .. } = carried.account;
            carried.account = Account { before: carried.amount, allowed, ..Account::default() };
        }
    }

    /// Measures all that is carried, and enters by how much it has changed.
    pub(super) fn enter(&mut self, entry: impl Fn(&mut Account) -> &mut f64) {
        let volume = self.particle_volume();
        for (k, carried) in self.carried.iter_mut().enumerate() {
            let Found { sum, sizes, range } = self.particles.survey(k);
            let now = volume * sum;
            *entry(&mut carried.account) += now - carried.amount;
            carried.amount = now;
            carried.account.present = volume * sizes;
            carried.account.range = range;
        }
    }

    /// What has just appeared is allowed.
    pub(super) fn allow_carried(&mut self) {
        for carried in &mut self.carried {
            let Account { allowed, range, .. } = &mut carried.account;
            *allowed = [allowed[0].min(range[0]), allowed[1].max(range[1])];
        }
    }

    /// Some of it vanishes, and particles mix; then cells get to know.
    pub(super) fn mix(&mut self, dt: f64) -> Result<(), OutOfMemory> {
        if self.carried.is_empty() {
            return Ok(());
        }
        let timer = self.flow.timings.start();
        let periodic = self.periodic();
        let h = self.flow.grid.spacing[0];
        for k in 0..self.carried.len() {
            let rate = self.flow.substances[k + 1].dissipation;
            if rate > 0.0 && dt > 0.0 {
                self.particles.scale_carried(k, (-rate * dt).exp() as Real);
                let allowed = &mut self.carried[k].account.allowed;
                *allowed = [allowed[0].min(0.0), allowed[1].max(0.0)];
            }
        }
        self.enter(|account| &mut account.dissipated);
        for k in 0..self.carried.len() {
            // As many passes as it takes, each with the same part.
            let spread = self.flow.substances[k + 1].diffusion * dt / (SPREAD * h * h);
            let passes = spread.ceil();
            let heated = self.heated(k);
            let Self { flow, particles, scatter, density: weight, mixture, .. } = self;
            let mean = match mixture {
                Some(field) => field,
                None => mixture.insert(Field::like(weight)?),
            };
            for _ in 0..passes as u64 {
                particles.mean_to_cells(k, scatter, periodic, mean, weight)?;
                mean.fill_halo();
                particles.mix(k, (spread / passes) as Real, periodic, mean, &heated);
            }
            particles.mean_to_cells(k, scatter, periodic, mean, weight)?;
            mean.fill_halo();
            weight.fill_halo();
            continue_beyond(mean, weight, &mut flow.substances[k + 1].field);
        }
        if self.heat.as_ref().is_some_and(|(heat, _)| heat.latent > 0.0) {
            // What melts swallows heat, and what sets gives it back.
            self.enter(|account| &mut account.emitted);
        }
        self.flow.timings.stop(Stage::Diffuse, timer);
        Ok(())
    }

    /// Enters what particles carry in the books of a step, in the place of what cells say.
    pub(super) fn account_carried(&mut self, report: &mut StepReport) {
        self.enter(|account| &mut account.after);
        let entries = report.ledger.substances.iter_mut().zip(&mut report.mass).skip(1);
        for (carried, (entry, mass)) in self.carried.iter_mut().zip(entries) {
            let account = &mut carried.account;
            account.after = carried.amount;
            *entry = *account;
            if self.particles.is_empty() {
                (entry.range, entry.allowed) = ([0.0; 2], [0.0; 2]);
            }
            *mass = carried.amount;
        }
    }

    /// Shows what the next step depends on.
    pub(super) fn visit_carried(&mut self, visitor: &mut dyn StateVisitor) {
        for carried in &mut self.carried {
            // What is infinite has no place in a state.
            let mut allowed = carried.account.allowed;
            let mut any = u64::from(allowed[0] <= allowed[1]);
            visitor.integer("carried_any", &mut any);
            if any == 0 {
                allowed = [0.0; 2];
            }
            allowed.iter_mut().for_each(|v| visitor.real("carried_allowed", v));
            carried.account.allowed = if any == 0 { NONE } else { allowed };
        }
    }
}

/// Fills in what liquid at a place carries.
pub(super) fn begin<const D: usize>(
    all: &[Carried<D>],
    (set, time): (&Values, f64),
    x: [f64; D],
    numbers: &mut [Real],
) {
    numbers.iter_mut().zip(all).for_each(|(number, carried)| *number = (carried.beginning)(x));
    for (k, value) in set {
        numbers[*k] = value(time) as Real;
    }
}
