//! Limit of a machine's processors: oversubscribed configurations do not get faster.
//!
//! The local engine runs all executors on one machine. Task threads never wait, so N hardware
//! threads run at most N tasks at a time. A configuration with E·C > N is oversubscribed: it is no
//! faster than the fastest one that fits. Training is an exception: the executors wait for each
//! other when they average, so only configurations with the same number of executors are
//! comparable.
//!
//! A regression in 1/E and 1/C does not know this limit and would predict a speed-up beyond it. Nor
//! should it learn from oversubscribed runs, which would bend its fit below the limit.

use foreglow_shared::{Context, Engine, Mode};
use serde::{Deserialize, Serialize};

use crate::Setting;
use crate::range::Range;

/// Limit on the numbers of executors to compare; no machine has more processors.
const MAX_EXECUTORS: u32 = 1 << 16;

/// Hardware threads shared by all executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capacity {
    pub(crate) processors: u32,
    /// Whether the executors average gradients or parameters: fewer of them then do a different
    /// job.
    pub(crate) averages: bool,
}

impl Capacity {
    /// Returns the limit of a context; `None` on a cluster, or if the number of processors is
    /// unknown.
    pub(crate) fn of(context: &Context) -> Option<Self> {
        let processors = context.host.processors.filter(|count| *count > 0)?;
        let averages = context.workload.mode == Mode::Training;
        (context.engine == Engine::Local).then_some(Self { processors, averages })
    }

    /// Whether the setting is oversubscribed.
    pub(crate) fn is_exceeded_by(self, setting: Setting) -> bool {
        setting.slots() > self.processors
    }

    /// Whether the measured range has a configuration that can replace an oversubscribed one: with
    /// at most as many executors and cores, and within the limit.
    pub(crate) fn has_fitting(self, range: &Range, setting: Setting) -> bool {
        self.numbers_of_executors(range, setting.executors)
            .next()
            .is_some_and(|executors| self.cores(range, executors, setting.cores_per_executor).next().is_some())
    }

    /// Returns the numbers of executors that may replace an oversubscribed configuration,
    /// ascending: the measured ones up to its own. For training, only the last of these.
    pub(crate) fn numbers_of_executors(self, range: &Range, executors: u32) -> std::ops::Range<u32> {
        let most = range.executors.1.min(executors).min(self.processors);
        let fewest = if self.averages { most } else { 1 };
        let first = range.executors.0.max(fewest).max(1);
        first..most.saturating_add(1).min(first.saturating_add(MAX_EXECUTORS))
    }

    /// Returns the numbers of cores to compare for a number of executors: the fewest measured, and
    /// the most that fit and do not exceed `asked`.
    pub(crate) fn cores(self, range: &Range, executors: u32, asked: u32) -> impl Iterator<Item = u32> + use<> {
        let (fewest, most) = (range.cores.0, range.cores.1.min(asked).min(self.processors / executors));
        (most > fewest).then_some(fewest).into_iter().chain((most >= fewest).then_some(most))
    }
}
