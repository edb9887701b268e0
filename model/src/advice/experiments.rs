//! The configurations to choose from, and the runs that can be made: on measured machine types and
//! on those that were never measured.

use std::cell::RefCell;
use std::collections::BTreeMap;

use foreglow_shared::{CoreSplit, MachineType, Observation, Rate, distinct};

use super::belief::{Location, Point};
use super::pool::{MOST_VALUES, MOST_VALUES_OF_MANY, most_executors, rates, thinned_counts, was_made};
use super::site::{Site, sites};
use super::{NOISE, ONE_DEVIATION, USUAL_NOISE};
use crate::capacity::Capacity;
use crate::chance::{keeps, stopped_secs};
use crate::joint::FittedArm;
use crate::plan::Timed;
use crate::plan::configurations::place;
use crate::{Arm, Basis, JointPredictor, Limits, Objective, Placement, Plan, Pricing, Setting, Space};

/// Number of sites whose noise is enough; each takes a fit of its own.
const ENOUGH_NOISES: usize = 16;
/// Number of sites from which fewer runs are considered on each.
const MANY_SITES: usize = 50;

/// Device, batch, configuration and the bits of the share of the job.
type Guess = (usize, usize, CoreSplit, u64);

/// The configurations and the runs.
pub(super) struct Experiments<'a> {
    predictor: &'a JointPredictor,
    pub(super) sites: Vec<Site<'a>>,
    /// Whether the runs so far differ in their executors, and in their cores.
    pub(super) varied: (bool, bool),
    /// Times of configurations on machine types that were never measured.
    guesses: RefCell<BTreeMap<Guess, Option<f64>>>,
}

/// A configuration of the whole job.
pub(super) struct Choice {
    pub(super) site: usize,
    pub(super) timed: Timed,
    /// Whether the runs so far tell the time; otherwise it is guessed from other configurations.
    pub(super) is_known: bool,
    /// The objective of a time; `None` if it is unknown.
    pub(super) rate: Option<Rate>,
}

/// A run that can be made.
pub(super) struct Run {
    pub(super) site: usize,
    pub(super) placement: Placement,
    pub(super) sampling_rate: f64,
    /// The images of the run as a share of the job's.
    pub(super) share: f64,
    pub(super) secs: f64,
    pub(super) rate: Option<Rate>,
}

impl<'a> Experiments<'a> {
    pub(super) fn of(predictor: &'a JointPredictor, space: &Space, unmeasured: &'a [MachineType]) -> Self {
        let arms = predictor.arms();
        let sites = sites(predictor, space, unmeasured);
        let runs = || (0..arms.len()).flat_map(|arm| &predictor.fitted(arm).job.observations);
        let varies = |count: fn(&Observation) -> u32| runs().any(|run| runs().next().map(count) != Some(count(run)));
        let varied = (varies(|run| run.executors), varies(|run| run.cores_per_executor));
        Self { predictor, sites, varied, guesses: RefCell::default() }
    }

    pub(super) fn arm(&self, site: &Site) -> &'a Arm {
        &self.predictor.arms()[site.arm]
    }

    pub(super) fn fitted(&self, site: &Site) -> &'a FittedArm {
        self.predictor.fitted(site.arm)
    }

    /// Whether the runs so far give a predicted time for any measured configuration.
    pub(super) fn has_times(&self) -> bool {
        self.sites.iter().filter(|site| site.owns_runs_of(self.arm(site))).any(|site| {
            let run = self.fitted(site).job.observations.first();
            run.is_some_and(|run| self.secs_of_arm(site.arm, run.split(), 1.0).is_some())
        })
    }

    /// Returns the largest numbers of executors and of cores that ran on the machine type of a
    /// site, or on any machine type if its own runs are few.
    pub(super) fn most_counts(&self, site: &Site) -> (u32, u32) {
        let own = self.arm(site);
        let is_alone = site.unmeasured.is_none() && own.basis == Basis::Own;
        let counts = |run: &Observation| (run.executors, run.cores_per_executor);
        let alike = self.sites.iter().filter(|other| {
            let arm = self.arm(other);
            other.owns_runs_of(arm) && (!is_alone || arm.machine == own.machine)
        });
        let runs = alike.flat_map(|other| &self.fitted(other).job.observations).map(counts);
        runs.fold((1, 1), |most, (executors, cores)| (most.0.max(executors), most.1.max(cores)))
    }

    /// Whether the job never ran on the machine type of a site, not even in part.
    pub(super) fn is_new(&self, site: &Site) -> bool {
        let machine = match &site.unmeasured {
            Some(machine) => &machine.name,
            None => &self.arm(site).machine,
        };
        let has_runs = |arm: &Arm| arm.machine == *machine && arm.runs > 0;
        !self.predictor.was_tried_on(machine) && !self.predictor.arms().iter().any(has_runs)
    }

    /// Returns the numbers of kinds of devices and of batch sizes.
    pub(super) fn devices_and_batches(&self) -> (usize, usize) {
        let count =
            |of: fn(&Location) -> usize| self.sites.iter().map(|site| 1 + of(&site.location)).max().unwrap_or(0);
        (count(|location| location.device), count(|location| location.batch))
    }

    /// Returns all runs so far as points, and the noise between equal runs.
    pub(super) fn runs_so_far(&self) -> (Vec<Point>, f64) {
        let (mut points, mut noises) = (Vec::new(), Vec::new());
        for site in self.sites.iter().filter(|site| site.owns_runs_of(self.arm(site))) {
            let fitted = self.fitted(site);
            for run in &fitted.job.observations {
                let share = run.sampling_rate / fitted.whole_job;
                points.push(Point::new(site.location, run.split(), share));
            }
            if noises.len() == ENOUGH_NOISES {
                continue;
            }
            let first = fitted.job.observations.first().zip(fitted.own.as_ref());
            let spread = first.and_then(|(run, own)| own.predict(Setting::of(run)).spread);
            noises.extend(spread.map(|spread| libm::log(spread.quantile(ONE_DEVIATION))));
        }
        noises.retain(|noise: &f64| noise.is_finite());
        let noise = if noises.is_empty() { USUAL_NOISE } else { foreglow_numeric::median(noises) };
        (points, noise.clamp(*NOISE.start(), *NOISE.end()))
    }

    /// Lists the configurations of the whole job: those of the plan, and those whose time
    /// cannot be predicted yet.
    pub(super) fn choices(&self, plan: &Plan, limits: &Limits) -> Vec<Choice> {
        let (space, hours) = (plan.space(), Pricing::executor_hours());
        let rate = |site: &Site, placement| match plan.objective() {
            Objective::Cost => site.pricing.rate(placement, limits.spot, limits.startup_secs),
            Objective::ExecutorHours if !limits.is_about_money() => hours.rate(placement, false, 0.0),
            _ => None,
        };
        let mut choices: Vec<Choice> = Vec::new();
        for timed in plan.listed(limits).timed() {
            // The first sites are those of the arms.
            let site = timed.placement.arm;
            choices.push(Choice {
                site,
                timed: timed.clone(),
                is_known: true,
                rate: rate(&self.sites[site], timed.placement),
            });
        }
        let known = distinct(choices.iter().map(|choice| (choice.site, choice.timed.placement.split())));
        let is_open = |(_, site): &(usize, &Site)| site.is_offered && site.has_runs;
        for (index, site) in self.sites.iter().enumerate().filter(is_open) {
            for placement in self.placements(site, space) {
                if known.binary_search(&(index, placement.split())).is_ok() {
                    continue;
                }
                let Some(secs) = self.secs(site, placement.split(), 1.0) else { continue };
                let fitted = self.fitted(site);
                let is_own = site.unmeasured.is_none();
                let stopped = if is_own { stopped_secs(&fitted.job, placement.split(), fitted.whole_job) } else { 0.0 };
                let timed = Timed { placement, secs, spread: None, at_least_secs: stopped };
                choices.push(Choice { site: index, timed, is_known: false, rate: rate(site, placement) });
            }
        }
        let keeps_hourly = |choice: &Choice| match (limits.max_hourly_cost, choice.rate) {
            (Some(most), Some(rate)) => keeps(rate.hourly(), most),
            _ => true,
        };
        choices.retain(|choice| keeps_hourly(choice) && plan.keeps_accuracy(choice.timed.placement, limits));
        choices
    }

    /// Lists the runs that can be made on a site: on one machine if the executors share one, with a
    /// partition for each task thread, and without the runs made so far.
    pub(super) fn runs(&self, index: usize, space: &Space, limits: &Limits) -> Vec<Run> {
        let site = &self.sites[index];
        if !site.has_runs {
            return Vec::new();
        }
        let (arm, fitted) = (self.arm(site), self.fitted(site));
        let workload = &fitted.job.context.workload;
        let images = workload.images_processed();
        let of_job = images / self.predictor.definition().images_processed();
        let own = &fitted.job;
        let made = |run: &Observation| run.sampling_rate / fitted.whole_job / of_job;
        let rates = rates(own.observations.iter().map(made), self.most_values());
        let mut runs = Vec::new();
        for placement in self.placements(site, space) {
            let split = placement.split();
            if arm.engine.is_on_one_machine() && placement.machines > 1 {
                continue;
            }
            for sampling_rate in &rates {
                let share = sampling_rate * of_job;
                let is_large_enough =
                    images * sampling_rate >= f64::from(split.slots()) * f64::from(arm.partition_size);
                let was_made = site.owns_runs_of(arm) && was_made(own, split, share * fitted.whole_job);
                if !is_large_enough || was_made {
                    continue;
                }
                let Some(secs) = self.secs(site, split, share) else { continue };
                let rate = site.pricing.rate(placement, limits.spot, limits.startup_secs);
                runs.push(Run { site: index, placement, sampling_rate: *sampling_rate, share, secs, rate });
            }
        }
        runs
    }

    fn most_values(&self) -> usize {
        if self.sites.len() > MANY_SITES { MOST_VALUES_OF_MANY } else { MOST_VALUES }
    }

    /// Returns the configurations of a site that fit its machines.
    fn placements(&self, site: &Site, space: &Space) -> Vec<Placement> {
        let (arm, fitted) = (self.arm(site), self.fitted(site));
        let processors = match (site.pricing.machine_type(), arm.engine) {
            (Some(machine), _) => Some(machine.processors),
            (None, engine) => arm.processors.filter(|_| engine.is_on_one_machine()),
        };
        let measured = |count: fn(&Observation) -> u32| {
            let arms = 0..self.predictor.arms().len();
            arms.flat_map(|arm| &self.predictor.fitted(arm).job.observations).map(count).max().unwrap_or(1)
        };
        let counts = |given: &[u32], measured: u32, most: Option<u32>| match given {
            [] => thinned_counts(&(1..=most.unwrap_or(measured)).collect::<Vec<u32>>(), self.most_values()),
            given => thinned_counts(given, self.most_values()),
        };
        // On a cluster, executors take more machines.
        let most = processors.filter(|_| arm.engine.is_on_one_machine());
        let most = most_executors(&fitted.job).or(most);
        let executors = counts(&space.executors, measured(|run| run.executors), most);
        let cores = counts(&space.cores_per_executor, measured(|run| run.cores_per_executor), processors);
        // A run that oversubscribes its machine tells little of others.
        let capacity = Capacity::of(&fitted.job.context).filter(|_| site.pricing.machine_type().is_none());
        let is_held = |split: CoreSplit| capacity.is_none_or(|capacity| capacity.holds(Setting::at(split, 1.0)));
        let mut placements = Vec::new();
        for executors in executors {
            for cores in cores.iter().filter(|cores| is_held(CoreSplit::even(executors, **cores))) {
                let placed = place((arm, fitted), CoreSplit::even(executors, *cores), &site.pricing, space);
                placements.extend(placed.map(|placement| Placement { arm: site.arm, ..placement }));
            }
        }
        placements
    }

    /// Returns the time of a share of the job: the predicted time, or else that of a measured
    /// configuration scaled by the number of task threads. On a machine type without
    /// times, it is the geometric mean of the others.
    fn secs(&self, site: &Site, split: CoreSplit, share: f64) -> Option<f64> {
        let has_times = |site: &Site| site.unmeasured.is_none() && !self.fitted(site).has_only_exceeded;
        if has_times(site) {
            return self.secs_of_arm(site.arm, split, share);
        }
        let Location { device, batch, .. } = site.location;
        let key = (device, batch, split, share.to_bits());
        if let Some(known) = self.guesses.borrow().get(&key) {
            return *known;
        }
        let is_like = |other: &&Site| {
            let location = other.location;
            has_times(other) && other.has_runs && (location.device, location.batch) == (device, batch)
        };
        let times = self.sites.iter().filter(is_like).filter_map(|other| self.secs_of_arm(other.arm, split, share));
        let logs: Vec<f64> = times.map(libm::log).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let guess = (!logs.is_empty()).then(|| libm::exp(mean));
        self.guesses.borrow_mut().insert(key, guess);
        guess
    }

    fn secs_of_arm(&self, arm: usize, split: CoreSplit, share: f64) -> Option<f64> {
        let known = |split: CoreSplit| self.predictor.predict_share(arm, split, share).completion_time_secs;
        known(split).or_else(|| {
            let run = self.predictor.fitted(arm).job.observations.first()?.split();
            Some(known(run)? * f64::from(run.slots()) / f64::from(split.slots()))
        })
    }
}
