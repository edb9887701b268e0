//! The largest training batch that fits a GPU, for the networks of timm.
//!
//! timm's benchmark trains with a batch of 512 and reduces it on every out-of-memory error, in
//! steps of a quarter and a third: each network has a largest batch that fitted and a next larger
//! one that did not. The need of a batch is computed from the graph of the training step
//! (`memory/timm_memory.py`); the usable share of the GPU's memory is learned from the networks of
//! other families.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use foreglow_model::{Bracket, UsableMemory};

use crate::protocol::Places;

/// Memory needs of training steps, written by `tests/accuracy/memory/timm_memory.py`.
const NEEDS: &str = "tests/accuracy/memory/timm_memory.csv";
/// Measurements by memory format.
const FILES: [(&str, &str); 2] = [
    ("channels last", "timm/train-amp-nhwc-pt112-cu113-rtx3090.csv"),
    ("channels first", "timm/train-amp-nchw-pt112-cu113-rtx3090.csv"),
];
/// Memory of an RTX 3090, bytes.
const GPU_BYTES: f64 = 24.0 * 1_073_741_824.0;
/// The batches that timm tries.
const STEPS: [u32; 18] = [512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1];
/// The first of them; larger batches are not tried.
const LARGEST: u32 = STEPS[0];
/// Share of answers that may be too optimistic.
const RISK: f64 = 0.01;
/// Weights, gradients and momentum in 32-bit floats.
const BYTES_PER_PARAMETER: f64 = 12.0;
/// Sources of weights before the name of a network.
const SOURCES: [&str; 8] = ["tf_", "legacy_", "gluon_", "tv_", "swsl_", "ssl_", "ig_", "adv_"];

/// Accuracy of the predicted brackets on one table.
#[derive(Clone, Debug, PartialEq)]
pub struct BracketScore {
    /// Memory format and width of the brackets.
    pub name: String,
    /// Networks.
    pub networks: usize,
    /// Families, each of which was predicted from the others.
    pub families: usize,
    /// Right brackets.
    pub right: usize,
    /// Predicted batches that did not fit.
    pub too_optimistic: usize,
    /// Networks of which a larger bracket fitted.
    pub too_pessimistic: usize,
    /// Usable share of the memory, learned from all networks.
    pub usable: f64,
}

impl BracketScore {
    /// Returns a count as a percentage of the networks.
    pub fn percent(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.networks.max(1) as f64
    }
}

/// A network with the largest batch that fitted.
struct Network {
    family: String,
    /// Need of the graph and of an image, as shares of the memory.
    fixed: f64,
    per_image: f64,
    fitted: u32,
}

impl Network {
    fn need(&self, batch: u32) -> f64 {
        self.fixed + self.per_image * f64::from(batch)
    }

    /// Returns the bracket of the measured batch among these batches.
    fn bracket(&self, batches: &[u32]) -> Bracket {
        let place = batches.iter().position(|batch| *batch <= self.fitted);
        let fitted = place.map_or(0.0, |place| self.need(batches[place]));
        let failed = place.unwrap_or(batches.len()).checked_sub(1);
        Bracket { fitted, failed: failed.map_or(f64::INFINITY, |place| self.need(batches[place])) }
    }

    /// Returns the largest of these batches whose need is at most a share of the memory.
    fn predicted(&self, batches: &[u32], share: f64) -> u32 {
        batches.iter().copied().find(|batch| self.need(*batch) <= share).unwrap_or(0)
    }
}

/// Predicts the bracket of every network from the networks of other families.
///
/// # Errors
/// A table is missing or invalid.
pub fn bracket_scores(places: &Places) -> anyhow::Result<Vec<BracketScore>> {
    let needs = needs(&places.project.join(NEEDS))?;
    let halving: Vec<u32> = STEPS.iter().copied().filter(|batch| batch.is_power_of_two()).collect();
    let mut scores = Vec::new();
    for (name, file) in FILES {
        let networks = networks(&places.data.join(file), &needs)?;
        for (width, batches) in [("halving", &halving[..]), ("all steps", &STEPS[..])] {
            scores.push(score(format!("{name}, {width}"), &networks, batches)?);
        }
    }
    Ok(scores)
}

fn score(name: String, networks: &[Network], batches: &[u32]) -> anyhow::Result<BracketScore> {
    let brackets = |is_fitted: &dyn Fn(&Network) -> bool| -> anyhow::Result<UsableMemory> {
        let fitted = networks.iter().filter(|network| is_fitted(network));
        let brackets: Vec<Bracket> = fitted.map(|network| network.bracket(batches)).collect();
        UsableMemory::fit(&brackets, RISK).context("no batch failed")
    };
    let families: BTreeSet<&str> = networks.iter().map(|network| network.family.as_str()).collect();
    let usable = brackets(&|_| true)?.surely;
    let (mut right, mut too_optimistic, mut too_pessimistic) = (0, 0, 0);
    for family in &families {
        let share = brackets(&|network| network.family != *family)?.surely;
        for network in networks.iter().filter(|network| network.family == *family) {
            let measured = batches.iter().copied().find(|batch| *batch <= network.fitted).unwrap_or(0);
            match network.predicted(batches, share).cmp(&measured) {
                std::cmp::Ordering::Equal => right += 1,
                std::cmp::Ordering::Greater => too_optimistic += 1,
                std::cmp::Ordering::Less => too_pessimistic += 1,
            }
        }
    }
    Ok(BracketScore {
        name,
        networks: networks.len(),
        families: families.len(),
        right,
        too_optimistic,
        too_pessimistic,
        usable,
    })
}

/// Returns the first word of a name without the source of its weights: `resnet` of
/// `gluon_resnet50_v1d`.
fn family(model: &str) -> String {
    let bare = SOURCES.iter().fold(model, |name, source| name.strip_prefix(source).unwrap_or(name));
    bare.chars().take_while(char::is_ascii_lowercase).collect()
}

/// Needs by name and image size: bytes of a training step without images, and of an image.
type Needs = BTreeMap<(String, u32), [f64; 2]>;

fn needs(path: &Path) -> anyhow::Result<Needs> {
    let names = ["model", "pixels", "parameters", "peak_bytes", "peak_bytes_per_image"];
    let mut needs = Needs::new();
    for row in rows(path, &names)? {
        let number = |place: usize| row[place].parse::<f64>().with_context(|| format!("{row:?} has no number"));
        let key = (row[0].clone(), row[1].parse().with_context(|| format!("{row:?} has no size"))?);
        needs.insert(key, [number(3)? + BYTES_PER_PARAMETER * number(2)?, number(4)?]);
    }
    Ok(needs)
}

fn networks(path: &Path, needs: &Needs) -> anyhow::Result<Vec<Network>> {
    let mut networks = Vec::new();
    for row in rows(path, &["model", "train_img_size", "train_batch_size"])? {
        let fitted: u32 = row[2].parse().with_context(|| format!("{row:?} has no batch"))?;
        anyhow::ensure!(fitted <= LARGEST, "{row:?}: the batch is above {LARGEST}");
        let key = (row[0].clone(), row[1].parse().with_context(|| format!("{row:?} has no size"))?);
        let Some([fixed, per_image]) = needs.get(&key).map(|need| need.map(|bytes| bytes / GPU_BYTES)) else {
            continue;
        };
        networks.push(Network { family: family(&key.0), fixed, per_image, fitted });
    }
    Ok(networks)
}

/// Returns columns of a table by their names.
fn rows(path: &Path, names: &[&str]) -> anyhow::Result<Vec<Vec<String>>> {
    let shown = path.display();
    let mut reader = csv::Reader::from_path(path).with_context(|| format!("{shown} cannot be read"))?;
    let header = reader.headers()?.clone();
    let place = |name: &&str| {
        header.iter().position(|column| column == *name).with_context(|| format!("{shown} has no column {name}"))
    };
    let columns = names.iter().map(place).collect::<anyhow::Result<Vec<_>>>()?;
    let row = |record: csv::StringRecord| columns.iter().map(|column| record[*column].to_owned()).collect();
    reader.records().map(|record| Ok(row(record?))).collect()
}

#[cfg(test)]
mod tests {
    use foreglow_model::{GraphSums, NetworkCosts, Precision, StepMemory};
    use foreglow_shared::Mode;

    use super::*;

    #[test]
    fn weights_from_another_source_are_of_the_same_family() {
        assert_eq!(family("gluon_resnet50_v1d"), "resnet");
        assert_eq!(family("tf_efficientnet_b0_ns"), "efficientnet");
    }

    #[test]
    fn of_timms_networks_96_percent_need_more_than_the_least_memory_from_their_costs() {
        let places = Places::new(None);
        let needs = needs(&places.project.join(NEEDS)).unwrap();
        let columns = ["network", "image_px", "parameters_m", "activations_m"];
        let costs = rows(&places.project.join("model/public/data/networks.csv"), &columns).unwrap();
        let (mut more, mut all) = (0, 0);
        for row in &costs {
            let px = row[1].parse().unwrap();
            let Some([_, per_image]) = needs.get(&(row[0].clone(), px)) else { continue };
            let mut network = NetworkCosts::of_graph(&row[0], px, GraphSums::default());
            (network.parameters_m, network.activations_m) = (row[2].parse().unwrap(), row[3].parse().unwrap());
            let least = StepMemory::at_least(&network);
            let bytes = |batch| least.bytes(batch, Mode::Training, Precision::Mixed);
            all += 1;
            more += usize::from(*per_image > bytes(1) - bytes(0));
        }
        assert_eq!(all, 766);
        let percent = 100.0 * f64::from(more as u32) / f64::from(all);
        assert!((95.5..96.5).contains(&percent), "{percent}");
    }

    #[test]
    fn a_bracket_ends_at_the_next_batch_that_was_tried() {
        let network = |fitted| Network { family: String::new(), fixed: 0.1, per_image: 0.001, fitted };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let fine = network(384).bracket(&STEPS);
        assert!(near(fine.fitted, 0.484) && near(fine.failed, 0.612), "{fine:?}");
        let halved = network(384).bracket(&[512, 256, 128]);
        assert!(near(halved.fitted, 0.356) && near(halved.failed, 0.612), "{halved:?}");
        assert_eq!(network(512).bracket(&STEPS).failed, f64::INFINITY);
        assert_eq!(network(1).predicted(&STEPS, 0.5), 384);
        assert_eq!(network(1).predicted(&STEPS, 0.05), 0);
    }

    #[test]
    fn channels_last_the_right_halving_bracket_is_predicted_for_95_of_100_families_left_out() {
        let places = Places::new(None);
        if !places.data.join(FILES[0].1).exists() {
            eprintln!("skipped: there is no {} in {}", FILES[0].1, places.data.display());
            return;
        }
        let scores = bracket_scores(&places).unwrap();
        let score = &scores[0];
        assert!(score.networks > 700, "{score:?}");
        assert!(score.percent(score.right) >= 95.0, "{score:?}");
        // The aim is 1 %; the tested families are not those from which the share was learned.
        assert!(score.percent(score.too_optimistic) <= 1.5, "{score:?}");
    }
}
