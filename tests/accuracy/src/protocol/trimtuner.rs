//! TrimTuner: distributed training of a recurrent network, and of a CNN that was stopped at 600 s.

use foreglow_model::{Roles, Term};

use crate::protocol::splits::{Splits, TablePart};
use crate::protocol::{Protocol, Set, Source};
use crate::table::Spec;

const SET: Set = Set { name: "TrimTuner RNN", is_development: true, source: Source::Shared };

/// A hold-out set; `tests/accuracy/clouds.py` writes its table.
const CNN: Set = Set::cloned("TrimTuner CNN", "trimtuner_cnn");

/// Returns every protocol on TrimTuner.
pub fn protocols() -> Vec<Protocol> {
    let four_times = |most: &str, asked: &str| {
        Splits::conditions(&[&format!("train_samples<={most}")], &[&format!("train_samples={asked}")])
    };
    let questions = [
        ("≤ 15k samples → 60k", four_times("15000", "60000"), None),
        ("≤ 15k samples → 60k, stopped at 20 s: bounds", four_times("15000", "60000"), Some((20.0, true))),
        ("≤ 15k samples → 60k, stopped at 20 s: left out", four_times("15000", "60000"), Some((20.0, false))),
        ("40 random runs", Splits::Random { splits: 20, fitted: Some(40) }, None),
    ];
    let protocol = |(name, splits, stop): (&str, Splits, Option<(f64, bool)>)| Protocol {
        set: SET,
        name: name.to_owned(),
        parts: Box::new(move |places| Ok(vec![TablePart { stop, ..part(splits.clone()) }.read(&places.data)?])),
        slowed_trials: 6,
        quick_trials: 4,
        is_costly: false,
        limit_secs: None,
    };
    questions.into_iter().map(protocol).chain(cnn()).collect()
}

fn cnn() -> Vec<Protocol> {
    let of = |splits: Splits| {
        let table = part(splits);
        let spec = Spec { file: "trimtuner_cnn/samples.csv".into(), censored: Some("censored_600s"), ..table.spec };
        TablePart { spec, ..table }
    };
    let larger = Splits::conditions(&["train_samples<=15000"], &["train_samples=60000"]);
    let stopped = TablePart { stop: Some((20.0, true)), ..of(larger.clone()) };
    vec![
        Protocol::of_tables(CNN, "≤ 15k samples → 60k", vec![of(larger)]),
        Protocol::of_tables(CNN, "≤ 15k samples → 60k, stopped at 20 s: bounds", vec![stopped]),
        Protocol::of_tables(CNN, "40 random runs", vec![of(Splits::Random { splits: 20, fitted: Some(40) })]),
    ]
}

fn part(splits: Splits) -> TablePart {
    TablePart {
        spec: Spec {
            file: "trimtuner_rnn/samples.csv".into(),
            target: "time_s",
            features: vec!["n_vms", "batch", "train_samples", "vm", "sync"],
            ..Spec::default()
        },
        roles: Roles {
            machines: Some(Term::new("n_vms")),
            data_size: Some(Term::new("train_samples")),
            batch_size: Some(Term::new("batch")),
            ..Roles::default()
        },
        splits,
        ..TablePart::default()
    }
}
