//! Limits of a machine's processors and accelerators: configurations beyond them do not get faster.
//!
//! The local engine runs all executors on one machine. Task threads never wait, so N hardware
//! threads run at most N tasks at a time. A configuration with E·C > N is oversubscribed: it is no
//! faster than the fastest one that fits. The same holds for more executors than accelerators,
//! because each executor holds one. Training is an exception: the executors wait for each other
//! when they average, so only configurations with the same number of executors are comparable.
//!
//! A regression in 1/E and 1/C does not know these limits and would predict a speed-up beyond them.
//! It should not learn from oversubscribed runs either, because they would distort the fit below
//! the limits.

use foreglow_shared::{Context, Mode, format_count};
use serde::{Deserialize, Serialize};

use crate::range::Range;
use crate::{Meaning, Setting, Warning};

/// Limit on the numbers of executors to compare; no machine has more processors.
const MAX_EXECUTORS: u32 = 1 << 16;

/// Returns the scaling law of the executors: replicas on accelerators average their gradients.
pub(crate) fn meaning_of_executors(context: &Context) -> Meaning {
    let are_replicas = context.workload.mode == Mode::Training && context.accelerator.is_some();
    if are_replicas { Meaning::Replicas } else { Meaning::Workers }
}

/// Resources that all executors of a machine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capacity {
    /// Hardware threads; `None` if unknown.
    pub(crate) processors: Option<u32>,
    /// Accelerators, or groups of them, one for each executor; `None` on CPUs, if executors may
    /// share them, or if their number is unknown.
    #[serde(default)]
    pub(crate) accelerators: Option<u32>,
    /// Whether the executors average gradients or parameters. The number of executors is then part
    /// of the job.
    pub(crate) averages: bool,
}

impl Capacity {
    /// Returns the limits of a context; `None` on a cluster, or if neither number is known.
    pub(crate) fn of(context: &Context) -> Option<Self> {
        let host = &context.host;
        let processors = host.processors.filter(|count| *count > 0);
        let holds_one = context.accelerator.is_some() && !context.shares_accelerators;
        let accelerators = u32::try_from(host.accelerators.len()).ok().filter(|count| holds_one && *count > 0);
        let accelerators = accelerators.map(|count| (count / context.accelerators_per_executor.unwrap_or(1)).max(1));
        let averages = context.workload.mode == Mode::Training;
        let is_limited = context.engine.is_on_one_machine()
            && context.machines.is_none()
            && (processors.is_some() || accelerators.is_some());
        is_limited.then_some(Self { processors, accelerators, averages })
    }

    /// Whether the setting is oversubscribed: more task threads than processors, or more executors
    /// than accelerators.
    pub(crate) fn is_exceeded_by(self, setting: Setting) -> bool {
        setting.slots() > self.most_slots() || setting.executors > self.most_executors()
    }

    /// Returns the share of the task threads that wait for a processor, or of the executors that
    /// wait for an accelerator if it is larger; 0 within the limits, and always below 1.
    pub(crate) fn waiting(self, setting: Setting) -> f64 {
        let share = |count: u32, most: u32| (1.0 - f64::from(most) / f64::from(count)).max(0.0);
        share(setting.slots(), self.most_slots()).max(share(setting.executors, self.most_executors()))
    }

    /// Whether a configuration is within every limit of the machine.
    pub(crate) fn holds(self, setting: Setting) -> bool {
        !self.is_exceeded_by(setting)
    }

    /// Returns the warning about a configuration that exceeds the machine.
    pub(crate) fn warning(self, setting: Setting) -> Warning {
        match (self.accelerators, self.processors) {
            (Some(accelerators), _) if setting.executors > accelerators => {
                Warning::TooFewAccelerators { executors: setting.executors, accelerators }
            }
            (_, processors) => {
                Warning::Oversubscribed { slots: setting.slots(), processors: processors.unwrap_or(u32::MAX) }
            }
        }
    }

    /// Returns a sentence that says why a configuration beyond the machine's limits is not offered,
    /// and what to do.
    pub(crate) fn refusal(self, setting: Setting) -> String {
        match (self.accelerators, self.processors) {
            (Some(count), _) if setting.executors > count => format!(
                "it has {}, and each executor holds one; choose at most {}, or measure with --share-gpu",
                format_count(count as usize, "GPU"),
                format_count(count as usize, "executor")
            ),
            (_, processors) => {
                let count = format_count(processors.unwrap_or(u32::MAX) as usize, "processor");
                format!("it has {count}, and more slots gain nothing")
            }
        }
    }

    /// Whether the measured range has a configuration that can replace an oversubscribed one: with
    /// at most as many executors and cores, and within the limit. None can if the runs do not show
    /// the effect of one of its counts: configurations that use all processors are then unknown.
    pub(crate) fn has_fitting(self, range: &Range, setting: Setting) -> bool {
        let mut executors = self.numbers_of_executors(range, setting.executors);
        range.shows_both(setting.split())
            && executors
                .next()
                .is_some_and(|executors| self.cores(range, executors, setting.cores_per_executor).next().is_some())
    }

    /// Returns the numbers of executors that may replace an oversubscribed configuration,
    /// ascending: the measured ones up to its own. For training, only the last of these.
    pub(crate) fn numbers_of_executors(self, range: &Range, executors: u32) -> std::ops::Range<u32> {
        let most = range.executors.1.min(executors).min(self.most_executors());
        let fewest = if self.averages { most } else { 1 };
        let first = range.executors.0.max(fewest).max(1);
        first..most.saturating_add(1).min(first.saturating_add(MAX_EXECUTORS))
    }

    /// Returns the numbers of cores to compare for a number of executors: the fewest measured, and
    /// the most that fit and do not exceed `asked`.
    pub(crate) fn cores(self, range: &Range, executors: u32, asked: u32) -> impl Iterator<Item = u32> + use<> {
        let (fewest, most) = (range.cores.0, range.cores.1.min(asked).min(self.most_slots() / executors));
        (most > fewest).then_some(fewest).into_iter().chain((most >= fewest).then_some(most))
    }

    fn most_slots(self) -> u32 {
        self.processors.unwrap_or(u32::MAX)
    }

    fn most_executors(self) -> u32 {
        self.accelerators.unwrap_or(u32::MAX).min(self.most_slots())
    }
}
