//! timm: the step time of about 1,100 image classifiers on a GPU and on a CPU. One family of CNNs
//! is held out.

use std::collections::BTreeMap;

use foreglow_model::{Column, Dataset, Features, Repeats, Roles, Term};

use crate::chance::Chance;
use crate::protocol::{Part, Places, Protocol, Set, Source};
use crate::table::{Spec, Table};
use crate::trial::{TableTrial, Trial};

const SET: Set = Set { name: "timm", is_development: false, source: Source::Shared };

pub(super) const GPU: &str = "timm/infer-amp-nchw-pt240-cu124-rtx3090.csv";
const GPU_LAST: &str = "timm/infer-amp-nhwc-pt240-cu124-rtx3090.csv";
pub(super) const CPU: &str = "timm/infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv";

/// Held-out families of CNNs: every model whose name contains the word.
pub(super) const FAMILIES: [&str; 12] = [
    "resnet",
    "efficientnet",
    "mobilenet",
    "convnext",
    "regnet",
    "resnext",
    "vgg",
    "densenet",
    "hrnet",
    "dla",
    "inception",
    "dpn",
];
/// Maximum numbers of fitted runs of other CNNs and of tested runs of the family.
const FITTED: usize = 240;
const TESTED: usize = 60;

/// Numbers of rows and CNN names of the table with a large category.
const ROWS: usize = 1_500;
const NAMES: usize = 500;
/// Time limit of a predictor on the large table, seconds.
const LIMIT_SECS: f64 = 120.0;

/// Returns every protocol on timm.
pub fn protocols() -> Vec<Protocol> {
    let family = |(file, device): (&'static str, &str)| Protocol {
        set: SET,
        name: format!("{device}, a family of CNNs that was never run"),
        parts: Box::new(move |places| FAMILIES.iter().map(|family| left_out(places, file, family)).collect()),
        slowed_trials: 1,
        quick_trials: 1,
        is_costly: true,
        limit_secs: None,
    };
    let large = Protocol {
        set: SET,
        name: format!("{ROWS} rows with {NAMES} CNN names, a random tenth"),
        parts: Box::new(|places| Ok(vec![large(places)?])),
        slowed_trials: 0,
        quick_trials: 1,
        is_costly: false,
        limit_secs: Some(LIMIT_SECS),
    };
    [(GPU, "RTX 3090"), (CPU, "i9-10940X")].into_iter().map(family).chain([large]).collect()
}

/// One CNN at one image size.
#[derive(Clone)]
pub(super) struct Run {
    device: &'static str,
    pub(super) model: String,
    /// Parameters in millions, multiply-accumulates in G, activations in M, pixels, batch.
    numbers: [f64; 5],
    pub(super) secs: f64,
}

impl Run {
    pub(super) fn pixels(&self) -> u64 {
        self.numbers[3] as u64
    }

    pub(super) fn batch_size(&self) -> f64 {
        self.numbers[4]
    }
}

const NUMBERS: [&str; 5] = ["param_count", "infer_gmacs", "infer_macts", "infer_img_size", "infer_batch_size"];

/// Returns the complete runs of a file.
pub(super) fn runs(places: &Places, file: &str, device: &'static str) -> anyhow::Result<Vec<Run>> {
    let spec = Spec { file: file.to_owned(), ..Spec::default() };
    let table = Table::read(&places.data, &spec)?;
    let (models, times) = (table.cells("model")?, table.cells("infer_step_time")?);
    let columns = NUMBERS.iter().map(|name| table.cells(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let run = |row: usize| {
        let mut numbers = [0.0; 5];
        for (number, column) in numbers.iter_mut().zip(&columns) {
            *number = column[row].parse().ok()?;
        }
        let millis: f64 = times[row].parse().ok()?;
        Some(Run { device, model: models[row].to_owned(), numbers, secs: millis / 1e3 })
    };
    Ok((0..models.len()).filter_map(run).collect())
}

fn left_out(places: &Places, file: &str, family: &str) -> anyhow::Result<Part> {
    let (test, fit): (Vec<Run>, Vec<Run>) =
        runs(places, file, "one")?.into_iter().partition(|run| run.model.contains(family));
    let mut chance = Chance::new(&[4, family.len() as u64, test.len() as u64]);
    let mut some = |runs: &[Run], most: usize| {
        let places = chance.places(runs.len(), most);
        numbers(&places.into_iter().map(|place| runs[place].clone()).collect::<Vec<_>>())
    };
    let (fit, test) = (some(&fit, FITTED)?, some(&test, TESTED)?);
    let roles = Roles { batch_size: Some(Term::new("infer_batch_size")), ..Roles::default() };
    let trial = Trial::Table(TableTrial { fit, test, repeats: Repeats::Median, roles });
    Ok(Part { command: Vec::new(), trials: vec![trial] })
}

fn numbers(runs: &[Run]) -> anyhow::Result<Dataset> {
    let column = |(place, name): (usize, &&str)| {
        Column::numeric(*name, runs.iter().map(|run| run.numbers[place]).collect(), None)
    };
    dataset(runs, NUMBERS.iter().enumerate().map(column).collect())
}

fn dataset(runs: &[Run], columns: Vec<Column>) -> anyhow::Result<Dataset> {
    let secs = runs.iter().map(|run| run.secs).collect();
    Ok(Dataset::new(Features::new(columns)?, secs, vec![false; runs.len()])?)
}

/// Returns 500 CNNs on three devices, identified by their names; a tenth of the rows is tested.
fn large(places: &Places) -> anyhow::Result<Part> {
    let mut by_model: BTreeMap<(String, u64), Vec<Run>> = BTreeMap::new();
    for (file, device) in [(GPU, "RTX 3090 NCHW"), (GPU_LAST, "RTX 3090 NHWC"), (CPU, "i9-10940X")] {
        for run in runs(places, file, device)? {
            by_model.entry((run.model.clone(), run.numbers[3] as u64)).or_default().push(run);
        }
    }
    // One image size for each CNN, the same on all devices.
    let mut seen = String::new();
    let mut complete: Vec<Vec<Run>> = Vec::new();
    for ((model, _), runs) in by_model {
        if runs.len() == 3 && model != seen {
            seen = model;
            complete.push(runs);
        }
    }
    let mut chance = Chance::new(&[5]);
    let drawn = chance.places(complete.len(), NAMES);
    let rows: Vec<Run> = drawn.into_iter().flat_map(|place| complete[place].clone()).collect();
    anyhow::ensure!(rows.len() == ROWS, "the table has {} rows in place of {ROWS}", rows.len());
    let tested = chance.places(ROWS, ROWS / 10);
    let side = |is_tested: bool| -> anyhow::Result<Dataset> {
        let side: Vec<Run> =
            (0..ROWS).filter(|row| tested.contains(row) == is_tested).map(|row| rows[row].clone()).collect();
        let number =
            |name: &str, place: usize| Column::numeric(name, side.iter().map(|run| run.numbers[place]).collect(), None);
        let columns = vec![
            Column::category("gpu", side.iter().map(|run| run.device)),
            Column::category("cnn", side.iter().map(|run| run.model.as_str())),
            number("pixels", 3),
            number("gmacs", 1),
        ];
        dataset(&side, columns)
    };
    let trial = TableTrial { fit: side(false)?, test: side(true)?, repeats: Repeats::Median, roles: Roles::default() };
    Ok(Part { command: Vec::new(), trials: vec![Trial::Table(trial)] })
}
