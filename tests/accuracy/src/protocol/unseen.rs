//! timm with the costs of each layer: a family of CNNs that was never run, predicted from all other
//! CNNs on the device.
//!
//! Kinds of layers and constants were chosen on the development families, which are selected by a
//! hash of their names.

use std::collections::BTreeMap;

use anyhow::Context as _;
use foreglow_model::{CostedRun, GraphCosts};

use super::timm::{CPU, FAMILIES, GPU, Run, runs};
use crate::protocol::{Part, Places, Protocol, Set, Source};
use crate::trial::CnnTrial;
use crate::trial::Trial;

const DEVELOPMENT: Set = Set { name: "timm, layers of the graph", is_development: true, source: Source::Shared };
const UNTOUCHED: Set =
    Set { name: "timm, layers of the graph, other families", is_development: false, source: Source::Shared };

/// Costs of each network for one image, written by `tests/accuracy/costs/timm.py`.
const COSTS: &str = "tests/accuracy/costs/timm.csv";

/// Returns the protocols: development and untouched families, on a GPU and on a CPU.
pub fn protocols() -> Vec<Protocol> {
    let devices = [(GPU, "RTX 3090"), (CPU, "i9-10940X")];
    let protocol = |(set, (file, device)): (Set, (&'static str, &str))| Protocol {
        set,
        name: format!("{device}, a family that was never run"),
        parts: Box::new(move |places| {
            let all = costed(places, file)?;
            let families = FAMILIES.iter().filter(|family| is_development(family) == set.is_development);
            Ok(families.filter_map(|family| left_out(&all, family)).collect())
        }),
        slowed_trials: 1,
        quick_trials: 1,
        is_costly: true,
        limit_secs: None,
    };
    [DEVELOPMENT, UNTOUCHED]
        .into_iter()
        .flat_map(|set| devices.into_iter().map(move |device| (set, device)))
        .map(protocol)
        .collect()
}

/// Uses a higher bit of FNV-1a, 64 bits, because the lowest is the parity of the letters.
fn is_development(family: &str) -> bool {
    let hash = family
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash >> 40) & 1 == 0
}

fn left_out(all: &[(String, CostedRun)], family: &str) -> Option<Part> {
    let side = |is_of: bool| -> Vec<CostedRun> {
        all.iter().filter(|(model, _)| model.contains(family) == is_of).map(|(_, run)| run.clone()).collect()
    };
    let (fit, test) = (side(false), side(true));
    (!test.is_empty()).then(|| Part { command: Vec::new(), trials: vec![Trial::Cnn(CnnTrial { fit, test })] })
}

/// Returns the runs of a file whose network is in the table of costs, with their names.
fn costed(places: &Places, file: &str) -> anyhow::Result<Vec<(String, CostedRun)>> {
    let costs = costs(places)?;
    let run = |run: Run| {
        let costs = costs.get(&(run.model.clone(), run.pixels()))?.clone();
        let (batch_size, family) = (run.batch_size(), family(&run.model));
        Some((run.model, CostedRun { family, costs, batch_size, secs_per_image: run.secs / batch_size }))
    };
    Ok(runs(places, file, "one")?.into_iter().filter_map(run).collect())
}

/// Returns the first word of a name, such as `resnet` of `resnet50d`. Ported weights and old
/// versions are of the same family.
fn family(model: &str) -> String {
    let bare = ["tf_", "legacy_"].iter().fold(model, |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    bare.chars().take_while(char::is_ascii_lowercase).collect()
}

/// Reads the table of costs by name and image size.
fn costs(places: &Places) -> anyhow::Result<BTreeMap<(String, u64), GraphCosts>> {
    let path = places.project.join(COSTS);
    let mut reader = csv::Reader::from_path(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut costs = BTreeMap::new();
    for record in reader.records() {
        let record = record?;
        let cell = |place: usize| record.get(place).unwrap_or_default();
        let line = || format!("{}: {:?} is no row of costs", path.display(), record.get(0));
        let mut values = [0.0; GraphCosts::NAMES.len()];
        for (place, value) in values.iter_mut().enumerate() {
            *value = cell(place + 2).parse().with_context(line)?;
        }
        let graph = GraphCosts::from_values(values).with_context(line)?;
        costs.insert((cell(0).to_owned(), cell(1).parse().with_context(line)?), graph);
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_the_first_word_of_a_name() {
        assert_eq!(family("tf_efficientnet_b0"), "efficientnet");
        assert_eq!(family("resnet50d"), "resnet");
        assert_eq!(family("legacy_seresnext50_32x4d"), "seresnext");
    }

    #[test]
    fn both_halves_of_the_families_have_several() {
        let development = FAMILIES.iter().filter(|family| is_development(family)).count();
        assert_eq!((development, FAMILIES.len() - development), (8, 4));
    }

    #[test]
    fn the_table_of_costs_agrees_with_published_counts() {
        let costs = costs(&Places::new(None)).unwrap();
        // He et al. 2016: 4.1 G multiply-accumulates at 224 px.
        let resnet50 = costs[&("resnet50".to_owned(), 224)].multiply_accumulates();
        assert!((resnet50 / 4.09e9 - 1.0).abs() < 0.02, "{resnet50}");
    }
}
