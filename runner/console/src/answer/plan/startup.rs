//! Start-up times: the time before a job's clock starts.

use foreglow_model::median;
use foreglow_shared::{Observation, format_duration};
use serde::Serialize;

/// The start-up times of samples, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Startup {
    shortest_secs: f64,
    median_secs: f64,
    longest_secs: f64,
}

impl Startup {
    /// Returns the start-up times of the runs; `None` if none was measured.
    pub fn of(runs: &[Observation]) -> Option<Self> {
        let secs: Vec<f64> = runs.iter().filter_map(|run| run.startup_secs).collect();
        let shortest_secs = secs.iter().copied().min_by(f64::total_cmp)?;
        let longest_secs = secs.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { shortest_secs, median_secs: median(&secs), longest_secs })
    }

    /// Returns the longest start-up time, seconds.
    pub fn longest_secs(&self) -> f64 {
        self.longest_secs
    }

    /// Returns the median of the start-up times, seconds.
    pub fn median_secs(&self) -> f64 {
        self.median_secs
    }

    /// Returns one line for users; rented machines are billed while executors start.
    pub fn describe(&self, rents_machines: bool) -> String {
        let Self { shortest_secs, median_secs, longest_secs } = self;
        let range = match format_duration(*shortest_secs) == format_duration(*longest_secs) {
            true => format_duration(*longest_secs),
            false => format!(
                "{} to {} in the samples, median {}",
                format_duration(*shortest_secs),
                format_duration(*longest_secs),
                format_duration(*median_secs)
            ),
        };
        let billed = if rents_machines { "; machines are billed for the median" } else { "" };
        format!(
            "Start-up, excluded from these times: {range} (--with-startup subtracts it from the deadline){billed}.\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_and_the_longest_start_up_are_told() {
        let runs: Vec<Observation> = serde_json::from_str(
            "[[1,1,1024,8,0.1,4.0,24.0],[1,1,1024,8,0.1,4.0,null],[1,1,1024,8,0.1,4.0,9.0],[1,1,1024,8,0.1,4.0,12.0]]",
        )
        .unwrap();
        let startup = Startup::of(&runs).unwrap();
        assert_eq!(startup.longest_secs(), 24.0);
        let said = startup.describe(false);
        assert!(said.contains("9.00 s to 24.00 s in the samples, median 12.00 s"), "{said}");
        assert_eq!(Startup::of(&runs[1..2]), None);
        assert!(Startup::of(&runs[..1]).unwrap().describe(false).contains("times: 24.00 s ("));
    }
}
