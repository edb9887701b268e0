//! Searches on a table of candidate configurations.

use foreglow_model::{Column, Features, Meaning, Probe, SearchTable, Strategy, Warning, replay};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const TYPES: [(&str, f64, f64); 4] = [("small", 1.0, 1.0), ("fast", 2.6, 2.0), ("old", 0.5, 0.9), ("large", 4.0, 4.4)];
const COUNTS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];

/// Four machine types in eight numbers, with Amdahl's law and a cost of communication.
fn table() -> (SearchTable, Vec<f64>) {
    let rows: Vec<(usize, f64)> = (0..TYPES.len()).flat_map(|kind| COUNTS.map(|count| (kind, count))).collect();
    let secs = rows.iter().map(|(kind, count)| 2000.0 / TYPES[*kind].1 * (0.05 + 0.95 / count) + 4.0 * count).collect();
    let features = Features::new(vec![
        Column::category("machine type", rows.iter().map(|(kind, _)| TYPES[*kind].0)),
        Column::numeric("machines", rows.iter().map(|(_, count)| *count).collect(), None),
    ]);
    let prices = rows.iter().map(|(kind, count)| TYPES[*kind].2 * count / 3600.0).collect();
    let known = vec![("machines".to_owned(), Meaning::Workers)];
    (SearchTable { features: features.unwrap(), prices, known }, secs)
}

fn median(secs: &[f64]) -> f64 {
    let mut secs = secs.to_vec();
    secs.sort_by(f64::total_cmp);
    secs[secs.len() / 2]
}

#[test]
fn a_search_starts_spread_out_proposes_what_was_not_run_and_ends_when_all_were() {
    let (table, secs) = table();
    for strategy in [Strategy::Saving, Strategy::ExpectedImprovement, Strategy::Random(3)] {
        let mut probes: Vec<Probe> = Vec::new();
        while let Some(candidate) = table.propose(&probes, 1e9, strategy).unwrap().next {
            assert!(probes.iter().all(|probe| probe.candidate != candidate), "{strategy:?} repeats {candidate}");
            probes.push(Probe { candidate, secs: secs[candidate] });
            if probes.len() == 6 {
                break;
            }
        }
        assert_eq!(probes.len(), 6);
        let names = |probe: &Probe| probe.candidate / COUNTS.len();
        let mut kinds: Vec<usize> = probes[..3].iter().map(names).collect();
        kinds.dedup();
        assert!(strategy == Strategy::Random(3) || kinds.len() == 3, "{strategy:?} starts on {kinds:?}");
    }
    let all: Vec<Probe> = secs.iter().enumerate().map(|(candidate, secs)| Probe { candidate, secs: *secs }).collect();
    let done = table.propose(&all, 1e9, Strategy::Saving).unwrap();
    assert!(done.is_enough && done.next.is_none() && done.best.is_some());
}

#[test]
fn the_best_of_the_runs_is_the_cheapest_in_time() {
    let (table, _) = table();
    let probes = [(0, 100.0), (1, 40.0), (8, 90.0)].map(|(candidate, secs)| Probe { candidate, secs });
    assert_eq!(table.best(&probes, 95.0).unwrap().candidate, 1);
    assert_eq!(table.best(&probes, 10.0), None);
}

#[test]
fn repeated_runs_count_by_their_median_and_as_one_configuration() {
    let (table, secs) = table();
    let probes = |runs: &[(usize, f64)]| -> Vec<Probe> {
        runs.iter().map(|(candidate, secs)| Probe { candidate: *candidate, secs: *secs }).collect()
    };
    // Their median, 1,450 s, misses the deadline.
    let repeats = probes(&[(0, 2000.0), (0, 900.0)]);
    assert_eq!(table.best(&repeats, 1200.0), None);
    assert_eq!(table.best(&repeats, 1500.0).unwrap().secs, 1450.0);
    // Three runs of one configuration are not yet three places to learn from.
    let first = table.propose(&[], 1e9, Strategy::Saving).unwrap().next.unwrap();
    let one = probes(&[(first, secs[first]); 4]);
    let proposal = table.propose(&one, 1e9, Strategy::Saving).unwrap();
    assert!(proposal.cost.is_none() && proposal.next.is_some_and(|next| next != first), "{proposal:?}");
    let at = |candidate: usize| format!("row {candidate}");
    assert_eq!(SearchTable::warnings(&probes(&[(0, 100.0), (0, 140.0)]), &at), []);
    let warnings = SearchTable::warnings(&repeats, &at);
    assert!(matches!(&warnings[..], [Warning::RepeatsContradict { at, runs: 2, .. }] if at == "row 0"), "{warnings:?}");
}

#[test]
fn the_search_by_saving_finds_a_nearly_optimal_configuration_and_then_stops() {
    let (table, secs) = table();
    let deadline = median(&secs);
    let mut regrets = Vec::new();
    let mut random = Vec::new();
    for seed in 0..6 {
        let first: Vec<usize> = (0..3).map(|run| (seed * 7 + run * 11) % secs.len()).collect();
        let ours = replay(&table, &secs, deadline, Strategy::Saving, &first, 12).unwrap();
        assert_eq!(ours.probes, 12);
        assert!(ours.stopped_after.is_some(), "it never stops from {first:?}");
        regrets.push(ours.regret.unwrap());
        let by_chance = replay(&table, &secs, deadline, Strategy::Random(seed as u64), &first, 12).unwrap();
        random.push(by_chance.regret.unwrap_or(1.0));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!(mean(&regrets) < 0.05 && mean(&regrets) < mean(&random), "{regrets:?} {random:?}");
}
