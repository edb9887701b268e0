//! Public GPU benchmarks: a new GPU type with three own runs, an unmeasured pair of GPU and CNN,
//! and more GPUs than measured. No constant of the predictor was chosen on them.
//! `tests/accuracy/gpus.py` writes their tables.

use foreglow_model::{Roles, Term};

use crate::protocol::splits::{Splits, TablePart};
use crate::protocol::{Protocol, Set};
use crate::table::Spec;

const TORCHVISION: Set = Set::cloned("CNNs of torchvision on GPUs", "torchvision");
const TORCH7: Set = Set::cloned("CNNs of Torch 7 on GPUs", "torch7");
const LAMBDA: Set = Set::cloned("Training on 1 to 8 GPUs", "lambda");

const TORCHVISION_FILE: &str = "torchvision/steps.csv";
const LAMBDA_FILE: &str = "lambda/jobs.csv";
/// GPU types of torchvision that were measured with one to four GPUs.
const SEVERAL: [&str; 4] = ["A100", "RTX 2080 Ti", "TITAN RTX", "TITAN Xp"];
/// Fitted runs of the new type, and number of draws for each type.
const OWN: usize = 3;
const DRAWS: usize = 2;

/// Returns every protocol on these sets.
pub fn protocols() -> Vec<Protocol> {
    let new_type = |column: &'static str| Splits::NewValue { column, own: OWN, draws: DRAWS };
    let pairs = |columns: [&'static str; 2]| Splits::LeaveOut(columns.to_vec());
    let cnns =
        |only: &[&str], features: &[&'static str], splits: Splits| part(TORCHVISION_FILE, only, features, splits);
    let devices = |splits: Splits| vec![part("torch7/passes.csv", &[], &["device", "mode", "cnn"], splits)];
    let jobs =
        |only: &[&str], features: &[&'static str], splits: Splits| vec![part(LAMBDA_FILE, only, features, splits)];
    let more = |gpu: &&str| {
        let splits = Splits::conditions(&["gpus<=3"], &["gpus=4"]);
        cnns(&[&format!("gpu={gpu}")], &["gpus", "precision", "mode", "cnn"], splits)
    };

    let new_gpu = vec![cnns(&["gpus=1"], &["gpu", "precision", "mode", "cnn"], new_type("gpu"))];
    let pair = vec![cnns(&["gpus=1", "precision=single"], &["gpu", "mode", "cnn"], pairs(["gpu", "cnn"]))];
    let job = ["gpus", "gpu", "precision", "network"];
    let eight = Splits::conditions(&["gpus<=4"], &["gpus=8"]);
    let questions = [
        (TORCHVISION, "new GPU type, 3 own runs", new_gpu),
        (TORCHVISION, "unseen pair of GPU and CNN", pair),
        (TORCHVISION, "1 to 3 GPUs → 4", SEVERAL.iter().map(more).collect()),
        (TORCH7, "new device, 3 own runs", devices(new_type("device"))),
        (TORCH7, "unseen pair of device and CNN", devices(pairs(["device", "cnn"]))),
        (LAMBDA, "new GPU type, 3 own runs", jobs(&[], &job, new_type("gpu"))),
        (LAMBDA, "unseen pair of GPU and network", jobs(&["gpus=1"], &job[1..], pairs(["gpu", "network"]))),
        (LAMBDA, "1 to 4 GPUs → 8", jobs(&[], &job, eight)),
    ];
    let protocol = |(set, name, parts): (Set, &str, Vec<TablePart>)| Protocol {
        // A pair has few questions, so 12 pairs would not be enough.
        slowed_trials: if name.starts_with("unseen pair") { 48 } else { 12 },
        is_costly: true,
        ..Protocol::of_tables(set, name, parts)
    };
    questions.into_iter().map(protocol).collect()
}

/// A part on the rows that meet the conditions. The number of GPUs is that of the machines.
fn part(file: &str, only: &[&str], features: &[&'static str], splits: Splits) -> TablePart {
    let spec = Spec {
        file: file.into(),
        target: "time_s",
        features: features.to_vec(),
        only: only.iter().map(|condition| (*condition).to_owned()).collect(),
        ..Spec::default()
    };
    let machines = features.contains(&"gpus").then(|| Term::new("gpus"));
    TablePart { spec, splits, roles: Roles { machines, ..Roles::default() }, ..TablePart::default() }
}
