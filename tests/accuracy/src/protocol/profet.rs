//! PROFET: CNN training on four GPU types.

use foreglow_model::{Roles, Term};

use crate::protocol::splits::{Splits, TablePart};
use crate::protocol::{Protocol, Set, Source};
use crate::table::Spec;

const SET: Set = Set { name: "PROFET", is_development: true, source: Source::Shared };

const PAIR: &str = "unseen GPU-and-model pair";

/// Returns every protocol on PROFET.
pub fn protocols() -> Vec<Protocol> {
    let questions = [
        ("60 random runs", Splits::Random { splits: 20, fitted: Some(60) }),
        ("batch ≤ 64 → 256", Splits::conditions(&["batchsize<=64"], &["batchsize=256"])),
        ("pixels ≤ 128 → ≥ 224", Splits::conditions(&["pixels<=128"], &["pixels>=224"])),
        (PAIR, Splits::LeaveOut(vec!["instance_name", "model"])),
    ];
    let protocol = |(name, splits): (&'static str, Splits)| Protocol {
        set: SET,
        name: name.to_owned(),
        parts: Box::new(move |places| Ok(vec![part(splits.clone()).read(&places.data)?])),
        slowed_trials: 24,
        quick_trials: 2,
        is_costly: name == PAIR,
        limit_secs: None,
    };
    questions.into_iter().map(protocol).collect()
}

fn part(splits: Splits) -> TablePart {
    let batch = Term::new("batchsize");
    let area = "batchsize*pixels*pixels".parse().expect("a product of columns");
    TablePart {
        spec: Spec {
            file: "profet/samples.csv".into(),
            target: "batch_latency_s",
            features: vec!["pixels", "batchsize", "instance_name", "model"],
            ..Spec::default()
        },
        roles: Roles { batch_size: Some(batch.clone()), terms: vec![batch, area], ..Roles::default() },
        splits,
        ..TablePart::default()
    }
}
