//! Jobs on many clusters by machine type and nodes: Scout (18 jobs on up to 69 clusters each) and
//! CherryPick (five jobs on 47 to 72 clusters). The intervals beyond the range of a context were
//! developed on Scout; no part of the predictor was chosen on CherryPick.
//! `tests/accuracy/clouds.py` writes their tables.

use foreglow_model::{Roles, Term};

use crate::protocol::splits::{Splits, TablePart};
use crate::protocol::{Protocol, Set};
use crate::table::Spec;

const SCOUT: Set = Set { is_development: true, ..Set::cloned("Scout", "scout") };
const CHERRYPICK: Set = Set::cloned("CherryPick", "cherrypick");

const SCOUT_JOBS: [&str; 18] = [
    "join_bigdata_spark",
    "join_huge_spark",
    "kmeans_bigdata_spark15",
    "kmeans_huge_spark15",
    "lr_bigdata_spark",
    "lr_huge_spark",
    "naive-bayes_bigdata_spark15",
    "naive-bayes_huge_spark15",
    "pagerank_bigdata_hadoop",
    "pagerank_bigdata_spark",
    "pagerank_huge_hadoop",
    "pagerank_huge_spark",
    "regression_bigdata_spark15",
    "regression_huge_spark15",
    "terasort_bigdata_hadoop",
    "terasort_huge_hadoop",
    "wordcount-large_bigdata_hadoop",
    "wordcount-large_huge_hadoop",
];
const CHERRYPICK_JOBS: [&str; 5] = ["kmeans", "spark", "terasort", "tpcds", "tpch"];

/// Returns every protocol on these sets.
pub fn protocols() -> Vec<Protocol> {
    let clouds =
        [(SCOUT, "scout/runs.csv", SCOUT_JOBS.as_slice()), (CHERRYPICK, "cherrypick/runs.csv", &CHERRYPICK_JOBS)];
    clouds.into_iter().flat_map(|(set, file, jobs)| cluster_protocols(set, file, jobs)).collect()
}

/// A job on many clusters: larger clusters, random clusters, and a new machine type.
fn cluster_protocols(set: Set, file: &'static str, jobs: &'static [&'static str]) -> Vec<Protocol> {
    let few = |fitted: usize| Splits::Random { splits: 10, fitted: Some(fitted) };
    let by_type = || TablePart {
        spec: Spec { file: file.into(), target: "time_s", features: vec!["nodes", "vm"], ..Spec::default() },
        roles: Roles { machines: Some(Term::new("nodes")), ..Roles::default() },
        ..TablePart::default()
    };
    let by_size = |machine: &'static str| TablePart {
        spec: Spec { features: vec!["nodes", "vcpu", machine], ..by_type().spec },
        roles: Roles { machines: "nodes*vcpu".parse().ok(), ..Roles::default() },
        ..TablePart::default()
    };
    let new_type = Splits::NewValue { column: "vm", own: 3, draws: 2 };
    let questions = [
        ("all smaller clusters → the largest", by_type(), Splits::conditions(&["largest=no"], &["largest=yes"])),
        ("half the range → the largest", by_type(), Splits::conditions(&["share<=0.5"], &["largest=yes"])),
        ("12 random clusters", by_size("family"), few(12)),
        ("24 random clusters", by_size("family"), few(24)),
        ("new machine type, 3 own runs", by_size("vm"), new_type),
    ];
    let protocol = |(name, part, splits): (&str, TablePart, Splits)| {
        let of_job = move |job: &&str| TablePart {
            spec: Spec { only: vec![format!("job={job}")], ..part.spec.clone() },
            splits: splits.clone(),
            ..part.clone()
        };
        let parts: Vec<TablePart> = jobs.iter().map(of_job).collect();
        Protocol { slowed_trials: 10, ..Protocol::of_tables(set, name, parts) }
    };
    questions.into_iter().map(protocol).collect()
}
