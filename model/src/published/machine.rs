//! What the scenarios know of the machine: task threads beyond its processors speed nothing up.
//!
//! The local engine runs all executors on one machine, where more threads than processors take turns. A learner of E and C
//! knows nothing of that: it would promise time that is not there, and runs beyond the limit would bend what it learns
//! within it.

use foreglow_shared::{Context, Engine};

use crate::Setting;
use crate::published::Curve;
use crate::published::row::Row;

/// Hardware threads that all executors share.
#[derive(Clone, Copy)]
pub(super) struct Machine {
    processors: u32,
}

impl Machine {
    /// The limit of a context; `None` on a cluster, or where the number of processors is unknown.
    pub(super) fn of(context: &Context) -> Option<Self> {
        let processors = context.host.processors.filter(|count| *count > 0)?;
        (context.engine == Engine::Local).then_some(Self { processors })
    }

    /// Whether a configuration has no more task threads than there are processors.
    pub(super) fn holds(self, setting: Setting) -> bool {
        setting.slots() <= self.processors
    }

    /// The time of a row; of one that the machine does not hold, that of the fastest fitted configuration with no more
    /// executors and no more cores that it holds, where there is one.
    pub(super) fn secs(self, curve: &Curve, fitted: &[Row], row: &Row) -> Option<f64> {
        if self.holds(row.setting) {
            return curve.at(row);
        }
        let smaller = |setting: Setting| {
            self.holds(setting)
                && setting.executors <= row.setting.executors
                && setting.cores_per_executor <= row.setting.cores_per_executor
        };
        let at = |other: &Row| {
            let Setting { executors, cores_per_executor, .. } = other.setting;
            curve.at(&Row { setting: Setting { executors, cores_per_executor, ..row.setting }, ..*row })
        };
        let fastest = fitted.iter().filter(|other| smaller(other.setting)).filter_map(at).min_by(f64::total_cmp);
        fastest.or_else(|| curve.at(row))
    }
}
