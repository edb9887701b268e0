//! Limit of a machine's processors for the scenarios: oversubscribed configurations do not get
//! faster.
//!
//! The local engine runs all executors on one machine, where more threads than processors take
//! turns. A learner of E and C does not know this limit: it would predict a speed-up beyond it, and
//! oversubscribed runs would bend its fit below it.

use foreglow_shared::{Context, Engine};

use crate::Setting;
use crate::published::Curve;
use crate::published::row::Row;

/// Hardware threads shared by all executors.
#[derive(Clone, Copy)]
pub(super) struct Machine {
    processors: u32,
}

impl Machine {
    /// Returns the limit of a context; `None` on a cluster, or if the number of processors is
    /// unknown.
    pub(super) fn of(context: &Context) -> Option<Self> {
        let processors = context.host.processors.filter(|count| *count > 0)?;
        (context.engine == Engine::Local).then_some(Self { processors })
    }

    /// Whether the setting has at most as many task threads as there are processors.
    pub(super) fn holds(self, setting: Setting) -> bool {
        setting.slots() <= self.processors
    }

    /// Predicts the time of a row, seconds. An oversubscribed row gets the time of the fastest
    /// fitted configuration within the limit that has no more executors and cores, if there is one.
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
