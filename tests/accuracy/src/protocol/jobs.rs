//! Analytics jobs on cloud machines: C3O (five Spark jobs, 2–12 nodes) and Bell (six Spark and
//! Flink jobs, 4–60 nodes).

use foreglow_model::{Repeats, Roles, Term};

use crate::protocol::splits::{Splits, TablePart};
use crate::protocol::{Protocol, Set, Source};
use crate::table::Spec;

const C3O: Set = Set { name: "C3O", is_development: true, source: Source::Shared };
const BELL: Set = Set { name: "Bell", is_development: true, source: Source::Shared };
const BOTH: Set = Set { name: "C3O and Bell", is_development: true, source: Source::Shared };

/// A job of C3O: its file, its most frequent machine type and its own features.
const C3O_JOBS: [(&str, &str, &[&str]); 5] = [
    ("grep", "m4.2xlarge", &["p_occurrence"]),
    ("kmeans", "r4.2xlarge", &["features", "observations", "k"]),
    ("pagerank", "r4.2xlarge", &["pages", "links", "convergence_criterion"]),
    ("sgd", "r4.2xlarge", &["features", "observations", "iterations"]),
    ("sort", "c4.2xlarge", &["line_length", "lines"]),
];
/// The job of C3O that ran on three machine types.
const SORT: [&str; 3] = ["c4.2xlarge", "m4.2xlarge", "r4.2xlarge"];
/// Jobs of C3O whose times at two nodes are outliers (too little memory).
const TIGHT: [&str; 2] = ["kmeans", "sgd"];
const BELL_JOBS: [&str; 6] =
    ["grep.spark", "kmeans.flink", "pagerank.spark", "sgd.spark", "tpchq10.flink", "wordcount.flink"];

/// Returns every protocol on analytics jobs.
pub fn protocols() -> Vec<Protocol> {
    let few = |fitted: usize| Splits::Random { splits: 20, fitted: Some(fitted) };
    let many = Protocol::of_tables(C3O, "random 90/10, 100 splits", c3o(&Splits::Random { splits: 100, fitted: None }));
    let mut protocols = vec![Protocol { slowed_trials: 3, quick_trials: 1, ..many }];
    for fitted in [6, 12, 24] {
        protocols.push(Protocol::of_tables(C3O, &format!("{fitted} random runs"), c3o(&few(fitted))));
    }
    for (largest, tested, repeats) in [
        ("8", "12", Repeats::Median),
        ("10", "12", Repeats::Median),
        ("10", "12, each repeat fitted and tested", Repeats::Each),
    ] {
        let fit_on = format!("instance_count<={largest}");
        let splits = Splits::conditions(&[&fit_on], &["instance_count=12"]);
        let parts = c3o_by_machine(&splits).into_iter().map(|part| TablePart { repeats, ..part }).collect();
        protocols.push(Protocol::of_tables(C3O, &format!("n ≤ {largest} → {tested}"), parts));
    }
    let others = Splits::conditions(&[], &["Nodes!=4", "Nodes!=8", "Nodes!=16", "Nodes!=28"]);
    for (name, repeats) in
        [("n ∈ {4, 8, 16, 28} → other 11", Repeats::Median), ("the same, each repeat fitted and tested", Repeats::Each)]
    {
        protocols.push(Protocol::of_tables(BELL, name, bell(&others, repeats)));
    }
    protocols.push(Protocol::of_tables(BELL, "5 random node counts", bell(&few(5), Repeats::Median)));
    for (name, c3o_most, bell_most) in
        [("all smaller clusters → the largest", "10", "56"), ("half the range → the largest", "6", "28")]
    {
        let c3o =
            c3o_by_machine(&Splits::conditions(&[&format!("instance_count<={c3o_most}")], &["instance_count=12"]));
        let bell = bell(&Splits::conditions(&[&format!("Nodes<={bell_most}")], &["Nodes=60"]), Repeats::Median);
        protocols.push(Protocol::of_tables(BOTH, name, [c3o, bell].concat()));
    }
    protocols
}

/// Returns the five jobs on their most frequent machine type.
fn c3o(splits: &Splits) -> Vec<TablePart> {
    let part = |(job, machine, features): &(&str, &str, &[&'static str])| {
        let only: &[&str] = if TIGHT.contains(job) { &["instance_count>2"] } else { &[] };
        c3o_part(job, machine, features, only, splits)
    };
    C3O_JOBS.iter().map(part).collect()
}

/// Returns the five jobs on more than two nodes; the job that ran on several machine types appears
/// once for each.
fn c3o_by_machine(splits: &Splits) -> Vec<TablePart> {
    let parts = C3O_JOBS.iter().flat_map(|(job, machine, features)| {
        let machines = if *job == "sort" { SORT.to_vec() } else { vec![*machine] };
        machines.into_iter().map(|machine| c3o_part(job, machine, features, &["instance_count>2"], splits))
    });
    parts.collect()
}

fn c3o_part(job: &str, machine: &str, features: &[&'static str], only: &[&str], splits: &Splits) -> TablePart {
    let mut conditions = vec![format!("machine_type={machine}")];
    conditions.extend(only.iter().map(|condition| (*condition).to_owned()));
    TablePart {
        spec: Spec {
            file: format!("c3o/{job}.tsv"),
            target: "gross_runtime",
            features: [&["instance_count", "data_size_MB"], features].concat(),
            only: conditions,
            ..Spec::default()
        },
        roles: Roles {
            machines: Some(Term::new("instance_count")),
            data_size: Some(Term::new("data_size_MB")),
            ..Roles::default()
        },
        splits: splits.clone(),
        ..TablePart::default()
    }
}

fn bell(splits: &Splits, repeats: Repeats) -> Vec<TablePart> {
    let part = |job: &&str| TablePart {
        spec: Spec { file: format!("bell/{job}.csv"), target: "Runtime", features: vec!["Nodes"], ..Spec::default() },
        roles: Roles { machines: Some(Term::new("Nodes")), ..Roles::default() },
        splits: splits.clone(),
        repeats,
        ..TablePart::default()
    };
    BELL_JOBS.iter().map(part).collect()
}
