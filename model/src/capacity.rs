//! What a machine can hold: task threads beyond its processors, and executors beyond its accelerators, speed nothing up.
//!
//! The local engine runs all executors on one machine. A task thread computes without waiting, so that N hardware threads
//! run at most N task threads at a time, and E·C > N of them take turns: the whole is no faster than the fastest
//! configuration that fits. The same holds for executors on accelerators, of which each holds one. Where a job trains, its
//! executors wait for each other's averages however many threads they have, so that only configurations of as many executors
//! count. A line in 1/E and 1/C knows nothing of that and promises time that is not there; nor can it learn from runs beyond
//! the limit, where an executor more brings nothing, without bending where an executor more does bring something.

use foreglow_shared::{Context, Engine, Mode};
use serde::{Deserialize, Serialize};

use crate::range::Range;
use crate::{Setting, Warning};

/// Numbers of executors to look through at most; no machine has more processors.
const MAX_EXECUTORS: u32 = 1 << 16;

/// What all executors of a machine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capacity {
    /// Hardware threads; `None` where unknown.
    pub(crate) processors: Option<u32>,
    /// Accelerators, one for each executor; `None` on CPUs, where they are shared, and where their number is unknown.
    #[serde(default)]
    pub(crate) accelerators: Option<u32>,
    /// Whether fewer executors are another job: they average less.
    pub(crate) averages: bool,
}

impl Capacity {
    /// The limits of a context; `None` on a cluster, or where neither number is known.
    pub(crate) fn of(context: &Context) -> Option<Self> {
        let host = &context.host;
        let processors = host.processors.filter(|count| *count > 0);
        let holds_one = context.accelerator.is_some() && !context.shares_accelerators;
        let accelerators = u32::try_from(host.accelerators.len()).ok().filter(|count| holds_one && *count > 0);
        let averages = context.workload.mode == Mode::Training;
        let is_limited = context.engine == Engine::Local && (processors.is_some() || accelerators.is_some());
        is_limited.then_some(Self { processors, accelerators, averages })
    }

    /// Whether a configuration has more task threads than there are processors, or more executors than accelerators.
    pub(crate) fn is_exceeded_by(self, setting: Setting) -> bool {
        setting.slots() > self.most_slots() || setting.executors > self.most_executors()
    }

    /// Whether a configuration has no more of anything than the machine.
    pub(crate) fn holds(self, setting: Setting) -> bool {
        !self.is_exceeded_by(setting)
    }

    /// What to say of a configuration that exceeds the machine.
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

    /// Whether something of the measured range takes the place of such a configuration: has at most as many executors and
    /// cores, and fits.
    pub(crate) fn has_fitting(self, range: &Range, setting: Setting) -> bool {
        self.numbers_of_executors(range, setting.executors)
            .next()
            .is_some_and(|executors| self.cores(range, executors, setting.cores_per_executor).next().is_some())
    }

    /// The numbers of executors that compete to take the place of a configuration, ascending: the measured ones up to its
    /// own, and of a job that trains the last of these alone.
    pub(crate) fn numbers_of_executors(self, range: &Range, executors: u32) -> std::ops::Range<u32> {
        let most = range.executors.1.min(executors).min(self.most_executors());
        let fewest = if self.averages { most } else { 1 };
        let first = range.executors.0.max(fewest).max(1);
        first..most.saturating_add(1).min(first.saturating_add(MAX_EXECUTORS))
    }

    /// Of a number of executors the cores that compete: the fewest measured, and the most that fit and are asked.
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
