//! What a machine can hold: task threads beyond its processors speed nothing up.
//!
//! The local engine runs all executors on one machine. A task thread computes without waiting, so that N hardware threads
//! run at most N task threads at a time, and E·C > N of them take turns: the whole is no faster than the fastest
//! configuration that fits. Where a job trains, its executors wait for each other's averages however many threads they
//! have, so that only configurations of as many executors count. A line in 1/E and 1/C knows nothing of that and promises
//! time that is not there; nor can it learn from runs beyond the limit, where an executor more brings nothing, without
//! bending where an executor more does bring something.

use foreglow_shared::{Context, Engine, Mode};
use serde::{Deserialize, Serialize};

use crate::Setting;
use crate::range::Range;

/// Numbers of executors to look through at most; no machine has more processors.
const MAX_EXECUTORS: u32 = 1 << 16;

/// Hardware threads that all executors share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capacity {
    pub(crate) processors: u32,
    /// Whether fewer executors are another job: they average less.
    pub(crate) averages: bool,
}

impl Capacity {
    /// The limit of a context; `None` on a cluster, or where the number of processors is unknown.
    pub(crate) fn of(context: &Context) -> Option<Self> {
        let processors = context.host.processors.filter(|count| *count > 0)?;
        let averages = context.workload.mode == Mode::Training;
        (context.engine == Engine::Local).then_some(Self { processors, averages })
    }

    /// Whether a configuration has more task threads than there are processors.
    pub(crate) fn is_exceeded_by(self, setting: Setting) -> bool {
        setting.slots() > self.processors
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
        let most = range.executors.1.min(executors).min(self.processors);
        let fewest = if self.averages { most } else { 1 };
        let first = range.executors.0.max(fewest).max(1);
        first..most.saturating_add(1).min(first.saturating_add(MAX_EXECUTORS))
    }

    /// Of a number of executors the cores that compete: the fewest measured, and the most that fit and are asked.
    pub(crate) fn cores(self, range: &Range, executors: u32, asked: u32) -> impl Iterator<Item = u32> + use<> {
        let (fewest, most) = (range.cores.0, range.cores.1.min(asked).min(self.processors / executors));
        (most > fewest).then_some(fewest).into_iter().chain((most >= fewest).then_some(most))
    }
}
