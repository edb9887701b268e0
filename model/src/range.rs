//! The range of measured configurations.

use serde::{Deserialize, Serialize};

use foreglow_shared::CoreSplit;

use crate::Setting;

/// Smallest and largest measured numbers of executors and of cores per executor. An uneven split
/// has cores of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Range {
    pub(crate) executors: (u32, u32),
    pub(crate) cores: (u32, u32),
}

impl Range {
    /// Returns the range of the settings; `None` if there are none.
    pub(crate) fn of(settings: impl IntoIterator<Item = Setting>) -> Option<Self> {
        let one = |setting: Setting| Self {
            executors: (setting.executors, setting.executors),
            cores: (setting.split().fewest_cores(), setting.cores_per_executor),
        };
        let join = |a: (u32, u32), b: (u32, u32)| (a.0.min(b.0), a.1.max(b.1));
        settings
            .into_iter()
            .map(one)
            .reduce(|a, b| Self { executors: join(a.executors, b.executors), cores: join(a.cores, b.cores) })
    }

    /// Whether the runs show the effect of a count: they vary it, or all have it.
    pub(crate) fn shows((fewest, most): (u32, u32), count: u32) -> bool {
        fewest < most || count == most
    }

    /// Whether the runs show the effects of both counts of a configuration.
    pub(crate) fn shows_both(&self, split: CoreSplit) -> bool {
        Self::shows(self.executors, split.executors)
            && [split.fewest_cores(), split.cores_per_executor].into_iter().all(|cores| Self::shows(self.cores, cores))
    }
}
