//! The unit in which the costs of configurations are compared.

use serde::{Deserialize, Serialize};

use crate::format::LEAST_MONEY;
use crate::{JobDefinition, Mode};

const SECS_PER_HOUR: f64 = 3600.0;
/// Share of a bill that does not grow with the work, up to which the cost of more work is
/// proportional to it.
const MOST_FIXED: f64 = 0.1;
/// Numbers of a unit, ascending.
const COUNTS: [(f64, &str); 3] = [(1e3, "thousand"), (1e6, "million"), (1e9, "billion")];

/// A large number of the inputs of a job, or of jobs, whose cost has digits where that of the
/// job is less than a cent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostUnit {
    /// Cost of the unit, in costs of the job.
    factor: f64,
    /// `million images`.
    name: String,
    /// Whether the job costs less than a cent.
    is_needed: bool,
}

impl CostUnit {
    /// Returns the unit for a job that takes `secs` on a configuration at a price per hour, and
    /// costs `cost`: at least a million images, texts or tokens, and as many as cost a cent. For
    /// a job that counts something else, or whose bill has a large minimum or start-up, at least a
    /// thousand jobs if the job costs less than a cent, and else `None`.
    ///
    /// ```
    /// # use foreglow_shared::{CostUnit, JobDefinition};
    /// let definition: JobDefinition = serde_json::from_str(
    ///     r#"{"model":"lenet5","mode":"inference","image_px":28,"images":20000,"epochs":1}"#,
    /// )?;
    /// let unit = CostUnit::of(&definition, 11.9, 0.000281, 0.085).unwrap();
    /// assert_eq!((unit.title().as_str(), unit.cost(0.000281)), ("per million images", 0.01405));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of(job: &JobDefinition, secs: f64, cost: f64, hourly_cost: f64) -> Option<Self> {
        let is_needed = cost > 0.0 && cost < LEAST_MONEY;
        let is_proportional = (cost - hourly_cost * secs / SECS_PER_HOUR).abs() <= MOST_FIXED * cost;
        let noun = Some(job.noun()).filter(|noun| is_proportional && ["images", "texts", "tokens"].contains(noun));
        let (in_job, noun, counts) = match noun {
            // An input counts once for each epoch.
            Some(noun) => {
                let trained = if job.mode == Mode::Training { " trained" } else { "" };
                (job.images as f64 * f64::from(job.epochs), format!("{noun}{trained}"), &COUNTS[1..])
            }
            None if is_needed => (1.0, "jobs".to_owned(), &COUNTS[..]),
            None => return None,
        };
        let (count, number) =
            counts.iter().find(|(count, _)| cost / in_job * count >= LEAST_MONEY).or(counts.last()).copied()?;
        Some(Self { factor: count / in_job, name: format!("{number} {noun}"), is_needed })
    }

    /// Returns the words after a cost: `per million images`.
    pub fn title(&self) -> String {
        format!("per {}", self.name)
    }

    /// Returns the cost of the unit from that of the job.
    pub fn cost(&self, of_job: f64) -> f64 {
        of_job * self.factor
    }

    /// Whether the job costs less than a cent, so that only the costs of the unit can be compared.
    pub fn is_needed(&self) -> bool {
        self.is_needed
    }

    /// Whether the unit is the job itself.
    pub fn is_job(&self) -> bool {
        self.factor == 1.0
    }
}
