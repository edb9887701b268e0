//! Sites, where runs can be made: machine types, measured or not, each with a batch size.

use foreglow_shared::{Engine, MachineType};

use super::belief::Location;
use crate::{Arm, Basis, JointPredictor, Pricing, Space};

/// A machine type with an engine, a device, a batch size and an averaging interval.
pub(super) struct Site<'a> {
    /// The measured arm, or the one whose context, memory and partition size apply.
    pub(super) arm: usize,
    /// Whether it may be chosen; otherwise its runs only inform the prediction of others.
    pub(super) is_offered: bool,
    /// Whether new runs are proposed on this site. Sites that differ only in the partition size
    /// share their runs, and new runs have the usual size.
    pub(super) has_runs: bool,
    /// The machine type, if it was never measured.
    pub(super) unmeasured: Option<&'a MachineType>,
    pub(super) pricing: Pricing,
    pub(super) location: Location,
}

impl Site<'_> {
    /// Whether the arm's runs were made here.
    pub(super) fn owns_runs_of(&self, arm: &Arm) -> bool {
        self.has_runs && self.unmeasured.is_none() && arm.basis != Basis::Interpolated
    }
}

/// Returns the sites of the arms, in their order, and then those of machine types that were never
/// measured, one for each batch size and averaging interval on the same kind of device.
pub(super) fn sites<'a>(predictor: &JointPredictor, space: &Space, unmeasured: &'a [MachineType]) -> Vec<Site<'a>> {
    let arms = predictor.arms();
    let mut numbers = Numbers::default();
    let mut sites: Vec<Site> = Vec::new();
    for (index, arm) in arms.iter().enumerate() {
        let location = numbers.location(arm, &arm.machine);
        sites.push(Site {
            arm: index,
            is_offered: space.has(arm),
            // The usual partition size comes first.
            has_runs: !sites.iter().any(|site| site.location == location),
            unmeasured: None,
            pricing: space.pricing(predictor, index),
            location,
        });
    }
    for machine in unmeasured {
        for (index, arm) in arms.iter().enumerate() {
            let is_like = arm.accelerator.is_some() == machine.accelerators.is_some();
            let is_asked = space.batch_sizes.is_empty() || space.batch_sizes.contains(&arm.batch_size);
            let location = Location { has_other_cnns: false, ..numbers.location(arm, &machine.name) };
            if is_like && is_asked && !sites.iter().any(|site| site.location == location) {
                sites.push(Site {
                    arm: index,
                    is_offered: true,
                    has_runs: true,
                    unmeasured: Some(machine),
                    pricing: Pricing::Machines(machine.clone()),
                    location,
                });
            }
        }
    }
    sites
}

/// Assigns numbers to devices, machine types and batch sizes; equal ones get the same number.
#[derive(Default)]
struct Numbers {
    devices: Vec<(Engine, bool)>,
    machines: Vec<String>,
    batches: Vec<(u32, Option<u32>)>,
}

impl Numbers {
    fn location(&mut self, arm: &Arm, machine: &str) -> Location {
        Location {
            device: number(&mut self.devices, (arm.engine, arm.accelerator.is_some())),
            machine: number(&mut self.machines, machine.to_owned()),
            batch: number(&mut self.batches, (arm.batch_size, arm.average_every)),
            has_other_cnns: arm.basis == Basis::OtherCnns,
        }
    }
}

fn number<T: PartialEq>(known: &mut Vec<T>, value: T) -> usize {
    known.iter().position(|other| *other == value).unwrap_or_else(|| {
        known.push(value);
        known.len() - 1
    })
}
