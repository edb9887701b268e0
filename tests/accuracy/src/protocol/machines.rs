//! A new machine type with three own runs, and other fully measured ones: PROFET, the job of C3O
//! that ran on three machine types, and TrimTuner.

use foreglow_model::{Roles, Term};

use crate::protocol::splits::{Splits, TablePart};
use crate::protocol::{Protocol, Set, Source};
use crate::table::Spec;

const SET: Set = Set { name: "New machine type", is_development: true, source: Source::Shared };
/// Fitted runs of the new machine type.
const OWN: usize = 3;

/// Returns every protocol on new machine types.
pub fn protocols() -> Vec<Protocol> {
    // Number of draws for each machine type; few for PROFET, whose fits are slowest.
    let parts = [("PROFET", 2, profet()), ("C3O sort", 10, sort()), ("TrimTuner RNN", 3, trimtuner())];
    let protocol = |(name, draws, (column, part)): (&str, usize, (&'static str, TablePart))| {
        let part = TablePart { splits: Splits::NewValue { column, own: OWN, draws }, ..part };
        Protocol {
            set: SET,
            name: format!("{name}, 3 own runs"),
            parts: Box::new(move |places| Ok(vec![part.read(&places.data)?])),
            slowed_trials: 12,
            quick_trials: 4,
            is_costly: true,
            limit_secs: None,
        }
    };
    parts.into_iter().map(protocol).collect()
}

fn profet() -> (&'static str, TablePart) {
    let batch = Term::new("batchsize");
    let part = TablePart {
        spec: Spec {
            file: "profet/samples.csv".into(),
            target: "batch_latency_s",
            features: vec!["pixels", "batchsize", "instance_name", "model"],
            ..Spec::default()
        },
        roles: Roles { batch_size: Some(batch), ..Roles::default() },
        ..TablePart::default()
    };
    ("instance_name", part)
}

fn sort() -> (&'static str, TablePart) {
    let part = TablePart {
        spec: Spec {
            file: "c3o/sort.tsv".into(),
            target: "gross_runtime",
            features: vec!["instance_count", "data_size_MB", "machine_type"],
            ..Spec::default()
        },
        roles: Roles {
            machines: Some(Term::new("instance_count")),
            data_size: Some(Term::new("data_size_MB")),
            ..Roles::default()
        },
        ..TablePart::default()
    };
    ("machine_type", part)
}

/// The processors of a machine are known, so that machines of several sizes can be compared.
fn trimtuner() -> (&'static str, TablePart) {
    let part = TablePart {
        spec: Spec {
            file: "trimtuner_rnn/samples.csv".into(),
            target: "time_s",
            features: vec!["n_vms", "vcpu", "batch", "train_samples", "vm", "sync"],
            ..Spec::default()
        },
        roles: Roles {
            machines: "n_vms*vcpu".parse().ok(),
            data_size: Some(Term::new("train_samples")),
            batch_size: Some(Term::new("batch")),
            ..Roles::default()
        },
        ..TablePart::default()
    };
    ("vm", part)
}
