//! Replays a search on a table whose times are all known.

use serde::{Deserialize, Serialize};

use super::{Probe, SearchTable, Strategy};
use crate::FitError;

/// The outcome of a replayed search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Runs that were made.
    pub probes: usize,
    /// Extra cost of the recommended configuration over the cheapest that meets the deadline, as a
    /// share; `None` if no run met the deadline.
    pub regret: Option<f64>,
    /// Cost of all runs, in units of the cost of the cheapest configuration in time.
    pub spent: f64,
    /// Number of runs when the strategy's stopping rule was first met; `None` if it never was.
    pub stopped_after: Option<usize>,
    /// Regret when the stopping rule was first met, or after all runs if it never was; `None` if no
    /// run met the deadline.
    pub regret_at_stop: Option<f64>,
}

/// Replays a search: `secs` has the time of each configuration. Makes `most` runs, regardless of
/// the strategy's stopping rule says.
///
/// # Errors
/// [`FitError`]: the runs cannot be fitted.
///
/// # Panics
/// No configuration meets the deadline.
pub fn replay(
    table: &SearchTable,
    secs: &[f64],
    deadline: f64,
    strategy: Strategy,
    first: &[usize],
    most: usize,
) -> Result<Replay, FitError> {
    let cost = |candidate: usize| secs[candidate] * table.prices[candidate];
    let in_time = (0..table.len()).filter(|candidate| secs[*candidate] <= deadline);
    let optimum = in_time.map(cost).fold(f64::INFINITY, f64::min);
    assert!(optimum.is_finite(), "a configuration meets the deadline");
    let mut probes: Vec<Probe> = Vec::new();
    let mut stopped_after = None;
    let mut regret_at_stop = None;
    let regret = |probes: &[Probe]| table.best(probes, deadline).map(|best| cost(best.candidate) / optimum - 1.0);
    for run in 0..most.min(table.len()) {
        let next = match first.get(run) {
            Some(candidate) => Some(*candidate),
            None => {
                let proposal = table.propose(&probes, deadline, strategy)?;
                if proposal.is_enough && stopped_after.is_none() {
                    stopped_after = Some(probes.len());
                    regret_at_stop = regret(&probes);
                }
                proposal.next
            }
        };
        let Some(candidate) = next else { break };
        probes.push(Probe { candidate, secs: secs[candidate] });
    }
    Ok(Replay {
        probes: probes.len(),
        regret: regret(&probes),
        spent: probes.iter().map(|probe| cost(probe.candidate)).sum::<f64>() / optimum,
        stopped_after,
        regret_at_stop: if stopped_after.is_some() { regret_at_stop } else { regret(&probes) },
    })
}
