//! The tables of sources, networks and measurements as CSV.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use foreglow_shared::Mode;

use crate::aliases::meant;
use crate::columns::read_rows;
use crate::{
    BuiltInNetwork, Conditions, Gpus, Measurement, NetworkCosts, Precision, PublicError, SoftwareKind, Source,
};

const SOURCES: &str = include_str!("../data/sources.csv");
const NETWORKS: &str = include_str!("../data/networks.csv");
const MEASUREMENTS: &str = include_str!("../data/measurements.csv");

/// Public measurements, with their sources and networks.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// Who published them.
    pub sources: Vec<Source>,
    /// The networks.
    pub networks: Vec<NetworkCosts>,
    /// The built-in networks.
    pub built_in: Vec<BuiltInNetwork>,
    /// The GPUs.
    pub gpus: Gpus,
    /// The speeds.
    pub rows: Vec<Measurement>,
}

impl Measurements {
    /// Returns the built-in tables.
    pub fn built_in() -> Self {
        // A test checks that the built-in texts are valid.
        Self::read(SOURCES, NETWORKS, MEASUREMENTS).unwrap_or_else(|_| Self {
            sources: Vec::new(),
            networks: Vec::new(),
            built_in: Vec::new(),
            gpus: Gpus::built_in(),
            rows: Vec::new(),
        })
    }

    /// Reads the tables of sources, networks and measurements.
    ///
    /// # Errors
    /// A text is no such table, or a row names something that no table has.
    pub fn read(sources: &str, networks: &str, measurements: &str) -> Result<Self, PublicError> {
        let gpus = Gpus::built_in();
        let sources = read_rows(sources, |columns, row| {
            let kind = columns.text(row, "software")?;
            Ok(Source {
                name: columns.text(row, "source")?.to_owned(),
                kind: SoftwareKind::named(kind).ok_or_else(|| PublicError::Unknown(kind.to_owned()))?,
                licence: columns.text(row, "licence")?.to_owned(),
                address: columns.text(row, "address")?.to_owned(),
            })
        })?;
        let networks = read_rows(networks, |columns, row| {
            Ok(NetworkCosts {
                name: columns.text(row, "network")?.to_owned(),
                family: columns.text(row, "family")?.to_owned(),
                is_convolutional: columns.text(row, "kind")? == "cnn",
                image_px: columns.count(row, "image_px")?,
                parameters_m: columns.number(row, "parameters_m")?,
                gmacs: columns.number(row, "gmacs")?,
                activations_m: columns.number(row, "activations_m")?,
            })
        })?;
        let source_of: BTreeMap<&str, usize> = indexed(sources.iter().map(|source| source.name.as_str()));
        let gpu_of: BTreeMap<&str, usize> = indexed(gpus.all().iter().map(|gpu| gpu.key.as_str()));
        let network_of: BTreeMap<(&str, u32), usize> =
            indexed(networks.iter().map(|network| (network.name.as_str(), network.image_px)));
        let rows = read_rows(measurements, |columns, row| {
            let unknown = |name: &str| PublicError::Unknown(name.to_owned());
            let [source, network, gpu] = ["source", "network", "gpu"].map(|name| columns.text(row, name));
            let (source, network, gpu) = (source?, network?, gpu?);
            let (mode, format) = (columns.text(row, "mode")?, columns.text(row, "format")?);
            let image_px = columns.count(row, "image_px")?;
            Ok(Measurement {
                source: *source_of.get(source).ok_or_else(|| unknown(source))?,
                stack: columns.text(row, "stack")?.to_owned(),
                date: columns.text(row, "date")?.to_owned(),
                conditions: Conditions {
                    network: *network_of.get(&(network, image_px)).ok_or_else(|| unknown(network))?,
                    gpu: *gpu_of.get(gpu).ok_or_else(|| unknown(gpu))?,
                    mode: if mode == TRAINING { Mode::Training } else { Mode::Inference },
                    format: Precision::named(format).ok_or_else(|| unknown(format))?,
                    gpus: columns.count(row, "gpus")?,
                    nodes: columns.count(row, "nodes")?,
                    batch: columns.optional_number(row, "batch")?.map(|batch| batch as u32),
                },
                images_per_sec: columns.number(row, "images_per_sec")?,
                is_base: columns.text(row, "fit")? == EVERY,
            })
        })?;
        Ok(Self { sources, networks, built_in: BuiltInNetwork::all(), gpus, rows })
    }

    /// Returns the name in the tables of a network that users may write otherwise: `ResNet-50`,
    /// `microsoft/resnet-50`, torchvision's `vit_b_16`.
    pub fn network_name(&self, asked: &str) -> Option<&str> {
        let built_in = self.built_in.iter().map(|network| network.costs.name.as_str());
        meant(asked, &built_in.chain(self.networks.iter().map(|network| network.name.as_str())))
    }

    /// Returns the costs of a network at an image size: those of the table, or those of the nearest
    /// size scaled by the pixels. `None` if the name is unknown.
    pub fn costs(&self, name: &str, image_px: u32) -> Option<NetworkCosts> {
        let own = self.networks.iter().filter(|network| network.name == name);
        let nearest = own.min_by_key(|network| network.image_px.abs_diff(image_px))?;
        Some(if nearest.image_px == image_px { nearest.clone() } else { nearest.at(image_px) })
    }

    /// Returns the texts of the tables: sources, networks and measurements.
    pub fn write(&self) -> [String; 3] {
        let mut sources = "source,software,licence,address\n".to_owned();
        for Source { name, kind, licence, address } in &self.sources {
            let _ = writeln!(sources, "{name},{},{licence},{address}", kind.name());
        }
        let mut networks = "network,image_px,parameters_m,gmacs,activations_m,family,kind\n".to_owned();
        for network in &self.networks {
            let NetworkCosts { name, family, is_convolutional, image_px, parameters_m, gmacs, activations_m } = network;
            let kind = if *is_convolutional { "cnn" } else { "other" };
            let _ = writeln!(networks, "{name},{image_px},{parameters_m},{gmacs},{activations_m},{family},{kind}");
        }
        let mut rows =
            "source,stack,date,mode,format,gpu,gpus,nodes,network,image_px,batch,fit,images_per_sec\n".to_owned();
        for Measurement { source, stack, date, conditions, images_per_sec, is_base } in &self.rows {
            let Conditions { network, gpu, mode, format, gpus, nodes, batch } = conditions;
            let (network, gpu) = (&self.networks[*network], &self.gpus.all()[*gpu]);
            let mode = if *mode == Mode::Training { TRAINING } else { "inference" };
            let batch = batch.map_or_else(String::new, |batch| batch.to_string());
            let _ = writeln!(
                rows,
                "{},{stack},{date},{mode},{},{},{gpus},{nodes},{},{},{batch},{},{images_per_sec}",
                self.sources[*source].name,
                format.name(),
                gpu.key,
                network.name,
                network.image_px,
                if *is_base { EVERY } else { "network" },
            );
        }
        [sources, networks, rows]
    }
}

const TRAINING: &str = "training";
/// Fits that have a row: every one, or those about its network.
const EVERY: &str = "every";

fn indexed<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    keys.enumerate().map(|(index, key)| (key, index)).collect()
}
