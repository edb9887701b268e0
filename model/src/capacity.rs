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
const MAX_EXECUTORS: usize = 1 << 16;

/// Hardware threads that all executors share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capacity {
    pub(crate) processors: u32,
    /// Whether fewer executors are another job: they average less.
    averages: bool,
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

    /// The fastest configuration with at most as many executors and cores that fits, at the same sampling rate, among
    /// values within the measured range; `None` where none is. Of each number of executors the fewest cores compete and
    /// the most that fit; of a job that trains only the most executors.
    pub(crate) fn fastest_within(
        self,
        range: &Range,
        setting: Setting,
        secs: impl Fn(Setting) -> Option<f64>,
    ) -> Option<Setting> {
        let Range { executors, cores } = *range;
        let most = executors.1.min(setting.executors).min(self.processors);
        let ends = |executors: u32| {
            let most = cores.1.min(setting.cores_per_executor).min(self.processors / executors);
            let fewest = (most > cores.0).then_some(cores.0);
            let cores = fewest.into_iter().chain((most >= cores.0).then_some(most));
            cores.map(move |cores_per_executor| Setting { executors, cores_per_executor, ..setting })
        };
        let fewest = if self.averages { most } else { 1 };
        (executors.0.max(fewest).max(1)..=most)
            .take(MAX_EXECUTORS)
            .flat_map(ends)
            .filter_map(|end| Some((end, secs(end)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(end, _)| end)
    }
}
