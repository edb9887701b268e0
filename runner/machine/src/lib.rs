//! This machine: its processors and devices, the limits on a process, and its state during a run
//! (other load, and throttling).
//!
//! The state that is readable without privileges is recorded with the sample, and conditions that
//! spoil the measurement become a [`Warning`].

mod accelerator;
pub mod allocator;
pub mod bounds;
mod capability;
mod clock_rate;
mod cloud;
pub mod control_group;
pub mod device;
mod gpu_support;
mod load;
mod processor;
mod warning;

use serde_json::{Value, json};

pub use self::accelerator::{Accelerator, AcceleratorUse, accelerator_memory_mib};
pub use self::cloud::machine_type;
use self::control_group::{Periods, Quota};
pub use self::load::SharedLoad;
pub use self::processor::{machine_memory_mib, processor_name, processors};
pub use self::warning::{Warning, warnings_of};

/// Share of a quota's periods in which it may be used up without a warning.
const TOLERATED: f64 = 0.05;

/// Field of a sample with the state of the machine.
pub const MACHINE: &str = "machine";
/// Field of a sample with its warnings.
pub const WARNINGS: &str = "warnings";

/// Momentary resource use of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// Processors used by its executors.
    pub processors: f64,
    /// Its accelerators combined, if their state can be read.
    pub accelerator: Option<AcceleratorUse>,
}

/// State of the machine before and during a run.
pub struct Machine {
    slots: u32,
    processors: Vec<u32>,
    load_average: Option<f64>,
    governors: Vec<String>,
    throttles: Option<u64>,
    accelerators: Vec<Accelerator>,
    accelerators_before: Vec<AcceleratorUse>,
    load: Option<SharedLoad>,
    has_full_quotas: bool,
    quota: Option<Quota>,
    /// Periods of the quota during the measurement.
    quota_periods: Option<Periods>,
}

/// Counters of a machine at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// CPU time of all processes.
    load: Option<load::Load>,
    /// Periods of this process's CPU quota; `None` without a quota.
    periods: Option<Periods>,
}

impl Machine {
    /// Reads the state before executors with `slots` slots in total start on these processors and
    /// accelerators.
    pub fn before(slots: u32, processors: Vec<u32>, bus_ids: &[String]) -> Self {
        let accelerators: Vec<_> = bus_ids.iter().filter_map(|bus_id| Accelerator::open(bus_id)).collect();
        Self {
            slots,
            load_average: load::average(),
            governors: clock_rate::governors(&processors),
            throttles: clock_rate::throttles(&processors),
            accelerators_before: accelerators.iter().map(Accelerator::look_before_run).collect(),
            accelerators,
            processors,
            load: None,
            has_full_quotas: false,
            quota: Quota::of_this_process(),
            quota_periods: None,
        }
    }

    /// Reads the counters before a measurement.
    pub fn counters(&self) -> Counters {
        Counters { load: load::Load::of(&self.processors), periods: self.quota.as_ref().and_then(Quota::periods) }
    }

    /// Records the other load during the measurement, and the periods of the quota, since the
    /// counters were read. The own processes used `own_secs` of CPU time.
    pub fn note_since(&mut self, before: Counters, own_secs: f64) {
        let now = self.counters();
        self.load = before.load.zip(now.load).map(|(before, now)| now.since(before, own_secs));
        self.quota_periods = now.periods.zip(before.periods).map(|(now, before)| now.since(before));
    }

    /// Records that every executor got the CPU time of its quota despite the other load.
    pub fn note_full_quotas(&mut self) {
        self.has_full_quotas = true;
    }

    /// Returns the use of each accelerator whose driver reports it.
    pub fn each_accelerator_now(&self) -> Vec<AcceleratorUse> {
        self.accelerators.iter().map(Accelerator::look).collect()
    }

    /// Returns the combined state of the accelerators; `None` if none can be read.
    pub fn accelerators_now(&self) -> Option<AcceleratorUse> {
        self.accelerators.iter().map(Accelerator::look).reduce(AcceleratorUse::with)
    }

    /// Returns the conditions that spoil the measurement.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let usable = processors().unwrap_or(u32::MAX);
        let processors = usable.min(self.processors.len() as u32);
        if self.slots > processors && processors > 0 {
            warnings.push(Warning::MoreSlotsThanProcessors { slots: self.slots, processors });
        }
        let throttled = self.quota_periods.and_then(Periods::throttled_share).filter(|share| *share > TOLERATED);
        warnings.extend(self.quota.as_ref().zip(throttled).map(|(quota, throttled_share)| Warning::ContainerQuota {
            quota_processors: quota.processors,
            throttled_share,
        }));
        // A run that used up its quota had no use for the time that others took.
        let load = self.load.filter(|_| !self.has_full_quotas && throttled.is_none());
        warnings.extend(load.and_then(|load| load.warning(processors.saturating_sub(self.slots), self.slots)));
        warnings.extend(clock_rate::slow_governor(&self.processors).map(|governor| Warning::SlowGovernor { governor }));
        if let Some(times) = self.throttled().filter(|times| *times > 0) {
            warnings.push(Warning::Throttled { times });
        }
        let before = self.accelerators_before.iter().find_map(AcceleratorUse::sharing);
        let now = || self.accelerators.iter().find_map(|accelerator| accelerator.look().throttling());
        warnings.extend(before.into_iter().chain(now()));
        warnings
    }

    /// Returns the field of the sample.
    pub fn to_json(&self) -> Value {
        let load = self.load;
        let rounded = |value: f64| (value * 1e3).round() / 1e3;
        json!({
            "load_average": self.load_average,
            "other_processors": load.map(|load| rounded(load.others)),
            "stolen_processors": load.map(|load| rounded(load.stolen)),
            "governors": self.governors,
            "throttled": self.throttled(),
            "quota_processors": self.quota.as_ref().map(|quota| rounded(quota.processors)),
            "quota_throttled_share": self.quota_periods.and_then(Periods::throttled_share).map(rounded),
            "accelerators_before": self.accelerators_before,
        })
    }

    fn throttled(&self) -> Option<u64> {
        Some(clock_rate::throttles(&self.processors)?.saturating_sub(self.throttles?))
    }
}
