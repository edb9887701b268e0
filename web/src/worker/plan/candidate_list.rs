//! The order and the filter of the list of all configurations.

use std::cmp::Ordering;

use foreglow_shared::sort_by;

use super::view::{PlanView, Row};
use crate::data::candidate_list::{CandidateList, SortBy};

impl CandidateList {
    /// Returns the places of the listed rows, of all or of the best of each machine type; unknown
    /// values come last.
    pub fn places(&self, plan: &PlanView, only_best: bool) -> Vec<usize> {
        let words: Vec<String> = self.filter.to_ascii_lowercase().split_whitespace().map(str::to_owned).collect();
        let all: Vec<usize> = match only_best {
            true => plan.best_per_machine.clone(),
            false => (0..plan.rows.len()).collect(),
        };
        let is_listed = |place: &usize| {
            let row = &plan.rows[*place];
            let hardware = plan.arms.get(row.arm).and_then(|arm| arm.hardware.as_ref());
            let hardware = hardware.map(|one| format!("{} {}", one.gpus, one.place)).unwrap_or_default();
            let text = format!("{} {} {} {hardware}", row.name, short(row), row.remark).to_ascii_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let mut places: Vec<usize> = all.into_iter().filter(is_listed).collect();
        sort_by(&mut places, |a, b| {
            let order = self.order(plan, &plan.rows[*a], &plan.rows[*b]);
            if self.descending { order.reverse() } else { order }
        });
        places
    }

    fn order(&self, plan: &PlanView, a: &Row, b: &Row) -> Ordering {
        let secs = |row: &Row| row.secs.unwrap_or(f64::INFINITY);
        let money = |row: &Row| row.objective.unwrap_or(f64::INFINITY);
        let by_time = secs(a).total_cmp(&secs(b));
        match self.by {
            SortBy::Money => {
                let limits = (!a.is_feasible).cmp(&!b.is_feasible);
                limits.then(money(a).total_cmp(&money(b))).then(by_time)
            }
            SortBy::Time => by_time.then(money(a).total_cmp(&money(b))),
            SortBy::Configuration => {
                let machine = |row: &Row| plan.arms.get(row.arm).map(|arm| arm.machine.clone());
                let counts = |row: &Row| (row.counts.executors, row.counts.cores_per_executor);
                machine(a).cmp(&machine(b)).then(counts(a).cmp(&counts(b)))
            }
            SortBy::Probability => {
                let chance = |row: &Row| row.success_probability.unwrap_or(-1.0);
                chance(b).total_cmp(&chance(a)).then(by_time)
            }
        }
    }
}

/// `2x4`, as the filter of the runs reads it.
fn short(row: &Row) -> String {
    format!("{}x{}", row.counts.executors, row.counts.cores_per_executor)
}

#[cfg(test)]
mod tests {
    use foreglow_shared::WhatIf;

    use super::*;

    fn plan() -> PlanView {
        let row = |executors: u32, secs: Option<f64>, cost: f64, is_feasible: bool| Row {
            arm: 0,
            counts: WhatIf { executors, cores_per_executor: 2 },
            memory_per_executor_mib: 1024,
            name: format!("{executors} × 2"),
            secs,
            interval: None,
            cost: Some(cost),
            objective: Some(cost),
            success_probability: None,
            is_feasible,
            remark: if is_feasible { String::new() } else { "too late".into() },
            exclusion: None,
            accuracy: None,
        };
        let rows = vec![
            row(1, Some(40.0), 1.0, false),
            row(2, Some(21.0), 1.2, true),
            row(3, None, 1.1, true),
            row(12, Some(9.0), 1.3, true),
        ];
        PlanView { rows, best_per_machine: vec![1], compared: 4, ..PlanView::default() }
    }

    #[test]
    fn the_list_starts_with_the_cheapest_that_meets_the_limits() {
        assert_eq!(CandidateList::default().places(&plan(), false), [2, 1, 3, 0]);
        assert_eq!(CandidateList::default().places(&plan(), true), [1]);
    }

    #[test]
    fn unknown_times_come_last_and_the_order_can_be_reversed() {
        let by = |by, descending| CandidateList { by, descending, ..CandidateList::default() }.places(&plan(), false);
        assert_eq!(by(SortBy::Time, false), [3, 1, 0, 2]);
        assert_eq!(by(SortBy::Configuration, false), [0, 1, 2, 3]);
        assert_eq!(by(SortBy::Configuration, true), [3, 2, 1, 0]);
    }

    #[test]
    fn a_filter_finds_configurations_and_remarks() {
        let of =
            |filter: &str| CandidateList { filter: filter.into(), ..CandidateList::default() }.places(&plan(), false);
        assert_eq!(of("2x2"), [1, 3]);
        assert_eq!(of("Late"), [0]);
        assert_eq!(of("late 3x2"), [0usize; 0]);
    }
}
