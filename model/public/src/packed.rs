//! The tables in a compact form, column by column, for the page. Packed tables of fewer networks
//! give the same digits for these: the order of rows and names is the same.

use foreglow_onnx::{PeakBytes, StepBytes};
use foreglow_shared::{Mode, distinct};

use crate::gpu::Gpu;
use crate::{
    BuiltInNetwork, Conditions, Gpus, Measurement, Measurements, MemorySource, NetworkCosts, Precision, PublicError,
    SoftwareKind, Source, StepMemory,
};

impl Measurements {
    /// Returns the table of the networks with rows that every fit has, and of all their rows.
    pub fn of_usual_networks(&self) -> Self {
        let name = |row: &Measurement| self.networks[row.conditions.network].name.as_str();
        let usual = distinct(self.rows.iter().filter(|row| row.is_base).map(name));
        let kept: Vec<usize> = (0..self.networks.len())
            .filter(|network| usual.binary_search(&self.networks[*network].name.as_str()).is_ok())
            .collect();
        let place = |network: usize| kept.binary_search(&network).ok();
        let row = |row: &Measurement| {
            let conditions = Conditions { network: place(row.conditions.network)?, ..row.conditions };
            Some(Measurement { conditions, ..row.clone() })
        };
        Self {
            networks: kept.iter().map(|network| self.networks[*network].clone()).collect(),
            rows: self.rows.iter().filter_map(row).collect(),
            ..self.clone()
        }
    }

    /// Packs the tables.
    ///
    /// # Panics
    /// A number has more digits than a float holds exactly.
    pub fn pack(&self) -> Vec<u8> {
        let mut packed = Packer::default();
        let Self { sources, networks, built_in, gpus, rows } = self;
        packed.texts(sources.iter().map(|source| source.name.as_str()));
        packed.texts(sources.iter().map(|source| source.kind.name()));
        packed.texts(sources.iter().map(|source| source.licence.as_str()));
        packed.texts(sources.iter().map(|source| source.address.as_str()));
        packed.gpus(gpus.all());
        packed.networks(networks);
        packed.networks(&built_in.iter().map(|network| network.costs.clone()).collect::<Vec<_>>());
        for BuiltInNetwork { memory, px, .. } in built_in {
            packed.count(memory.parameters);
            let StepBytes { inference, training } = memory.peaks;
            for PeakBytes { fixed, per_image } in inference.into_iter().chain(training) {
                [fixed, per_image].into_iter().for_each(|bytes| packed.count(bytes));
            }
            [px.start(), px.end()].into_iter().for_each(|side| packed.count((*side).into()));
        }
        let texts = |text: fn(&Measurement) -> &str| {
            let mut texts: Vec<&str> = Vec::new();
            for row in rows {
                if !texts.contains(&text(row)) {
                    texts.push(text(row));
                }
            }
            texts
        };
        let (stacks, dates) = (texts(|row| &row.stack), texts(|row| &row.date));
        let place = |texts: &[&str], text: &str| texts.iter().position(|known| *known == text).unwrap_or(0) as u64;
        packed.texts(stacks.iter().copied());
        packed.texts(dates.iter().copied());
        packed.count(rows.len() as u64);
        packed.column(rows, |row| row.source as u64);
        packed.column(rows, |row| place(&stacks, &row.stack));
        packed.column(rows, |row| place(&dates, &row.date));
        packed.column(rows, |row| u64::from(row.conditions.mode == Mode::Training));
        packed.column(rows, |row| row.conditions.format as u64);
        packed.column(rows, |row| row.conditions.gpu as u64);
        packed.column(rows, |row| row.conditions.gpus.into());
        packed.column(rows, |row| row.conditions.nodes.into());
        packed.column(rows, |row| row.conditions.network as u64);
        packed.column(rows, |row| row.conditions.batch.unwrap_or(0).into());
        packed.column(rows, |row| row.is_base.into());
        packed.column(rows, |row| decimal(row.images_per_sec).1.into());
        packed.column(rows, |row| decimal(row.images_per_sec).0);
        packed.0
    }

    /// Unpacks tables.
    ///
    /// # Errors
    /// They are damaged or of another version.
    pub fn unpack(bytes: &[u8]) -> Result<Self, PublicError> {
        let mut packed = Unpacker(bytes);
        packed.tables().ok_or_else(|| PublicError::Table("they are damaged or of another version".to_owned()))
    }
}

/// Returns the digits of a number, and how many of them are decimals.
fn decimal(number: f64) -> (u64, u32) {
    let text = number.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32);
    let digits = text.replace('.', "").parse::<u64>().ok();
    let digits = digits.filter(|digits| digits.next_power_of_two() <= 1 << 53 && decimals <= 22);
    (digits.expect("the numbers of the tables have few digits"), decimals)
}

#[derive(Default)]
struct Packer(Vec<u8>);

impl Packer {
    /// Writes 7 bits a byte, the low ones first.
    fn count(&mut self, mut count: u64) {
        while count >= 128 {
            self.0.push((count & 127) as u8 | 128);
            count >>= 7;
        }
        self.0.push(count as u8);
    }

    fn number(&mut self, number: f64) {
        let (digits, decimals) = decimal(number);
        self.count(decimals.into());
        self.count(digits);
    }

    fn column<T>(&mut self, rows: &[T], value: impl Fn(&T) -> u64) {
        rows.iter().for_each(|row| self.count(value(row)));
    }

    fn texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) {
        self.count(texts.len() as u64);
        for text in texts {
            self.count(text.len() as u64);
            self.0.extend(text.bytes());
        }
    }

    fn gpus(&mut self, gpus: &[Gpu]) {
        self.texts(gpus.iter().map(|gpu| gpu.key.as_str()));
        self.texts(gpus.iter().map(|gpu| gpu.name.as_str()));
        self.texts(gpus.iter().map(|gpu| gpu.architecture.as_str()));
        for gpu in gpus {
            gpu.rates.iter().for_each(|rate| self.number(rate.unwrap_or(0.0)));
            self.number(gpu.memory_gib);
            self.number(gpu.memory_gb_per_sec);
        }
    }

    fn networks(&mut self, networks: &[NetworkCosts]) {
        self.texts(networks.iter().map(|network| network.name.as_str()));
        self.texts(networks.iter().map(|network| network.family.as_str()));
        self.column(networks, |network| network.is_convolutional.into());
        self.column(networks, |network| network.image_px.into());
        let numbers: [fn(&NetworkCosts) -> f64; 3] = [|one| one.parameters_m, |one| one.gmacs, |one| one.activations_m];
        for number in numbers {
            networks.iter().for_each(|network| self.number(number(network)));
        }
    }
}

struct Unpacker<'a>(&'a [u8]);

impl Unpacker<'_> {
    fn count(&mut self) -> Option<u64> {
        let (mut count, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            count |= u64::from(byte & 127).checked_shl(shift)?;
            if *byte < 128 {
                return Some(count);
            }
            shift += 7;
        }
    }

    fn counts(&mut self, length: usize) -> Option<Vec<u64>> {
        (0..length).map(|_| self.count()).collect()
    }

    /// Reads a number; the quotient is rounded as by a parser of decimals.
    fn number(&mut self) -> Option<f64> {
        let decimals = self.count()?;
        Some(quotient(self.count()?, decimals))
    }

    fn numbers(&mut self, length: usize) -> Option<Vec<f64>> {
        (0..length).map(|_| self.number()).collect()
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        let length = self.count()?;
        let mut text = || {
            let length = usize::try_from(self.count()?).ok()?;
            let (text, rest) = self.0.split_at_checked(length)?;
            self.0 = rest;
            String::from_utf8(text.to_vec()).ok()
        };
        (0..length).map(|_| text()).collect()
    }

    fn gpus(&mut self) -> Option<Gpus> {
        let [keys, names, architectures] = [self.texts()?, self.texts()?, self.texts()?];
        let mut gpus = Vec::new();
        for ((key, name), architecture) in keys.into_iter().zip(names).zip(architectures) {
            let mut rate = || Some(Some(self.number()?).filter(|rate| *rate > 0.0));
            let rates = [rate()?, rate()?, rate()?, rate()?];
            let [memory_gib, memory_gb_per_sec] = [self.number()?, self.number()?];
            gpus.push(Gpu { key, name, architecture, rates, memory_gib, memory_gb_per_sec });
        }
        Some(Gpus::new(gpus))
    }

    fn networks(&mut self) -> Option<Vec<NetworkCosts>> {
        let [names, families] = [self.texts()?, self.texts()?];
        let length = names.len();
        let [kinds, sides] = [self.counts(length)?, self.counts(length)?];
        let [parameters, gmacs, activations] = [self.numbers(length)?, self.numbers(length)?, self.numbers(length)?];
        let named = names.into_iter().zip(families).enumerate();
        let network = |(place, (name, family)): (usize, (String, String))| {
            Some(NetworkCosts {
                name,
                family,
                is_convolutional: kinds[place] == 1,
                image_px: sides[place] as u32,
                parameters_m: parameters[place],
                gmacs: gmacs[place],
                activations_m: activations[place],
            })
        };
        named.map(network).collect()
    }

    fn peaks(&mut self) -> Option<[PeakBytes; 2]> {
        let mut peak = || Some(PeakBytes { fixed: self.count()?, per_image: self.count()? });
        Some([peak()?, peak()?])
    }

    fn tables(&mut self) -> Option<Measurements> {
        let [names, kinds, licences, addresses] = [self.texts()?, self.texts()?, self.texts()?, self.texts()?];
        let mut sources = Vec::new();
        for (((name, kind), licence), address) in names.into_iter().zip(kinds).zip(licences).zip(addresses) {
            sources.push(Source { name, kind: SoftwareKind::named(&kind)?, licence, address });
        }
        let gpus = self.gpus()?;
        let networks = self.networks()?;
        let mut built_in = Vec::new();
        for costs in self.networks()? {
            let parameters = self.count()?;
            let peaks = StepBytes { inference: self.peaks()?, training: self.peaks()? };
            let px = self.count()? as u32..=self.count()? as u32;
            let memory = StepMemory { parameters, peaks, source: MemorySource::Graph };
            built_in.push(BuiltInNetwork { costs, memory, px });
        }
        let [stacks, dates] = [self.texts()?, self.texts()?];
        let length = usize::try_from(self.count()?).ok().filter(|length| *length <= self.0.len())?;
        let columns: Vec<Vec<u64>> = (0..COLUMNS).map(|_| self.counts(length)).collect::<Option<_>>()?;
        let row = |place: usize| {
            let at = |column: usize| columns[column][place];
            let conditions = Conditions {
                network: usize::try_from(at(8)).ok().filter(|network| *network < networks.len())?,
                gpu: usize::try_from(at(5)).ok().filter(|gpu| *gpu < gpus.all().len())?,
                mode: if at(3) == 1 { Mode::Training } else { Mode::Inference },
                format: *Precision::ALL.get(at(4) as usize)?,
                gpus: at(6) as u32,
                nodes: at(7) as u32,
                batch: Some(at(9) as u32).filter(|batch| *batch > 0),
            };
            Some(Measurement {
                source: usize::try_from(at(0)).ok().filter(|source| *source < sources.len())?,
                stack: stacks.get(at(1) as usize)?.clone(),
                date: dates.get(at(2) as usize)?.clone(),
                conditions,
                images_per_sec: quotient(at(12), at(11)),
                is_base: at(10) == 1,
            })
        };
        let rows = (0..length).map(row).collect::<Option<_>>()?;
        Some(Measurements { sources, networks, built_in, gpus, rows })
    }
}

/// Columns of the measurements.
const COLUMNS: usize = 13;

fn quotient(digits: u64, decimals: u64) -> f64 {
    let mut power = 1.0;
    for _ in 0..decimals.min(22) {
        power *= 10.0;
    }
    digits as f64 / power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variances;

    #[test]
    fn packed_tables_are_the_same() {
        let table = Measurements::built_in();
        assert_eq!(Measurements::unpack(&table.pack()), Ok(table));
    }

    #[test]
    fn fewer_networks_give_the_same_fit() {
        let (all, usual) = (Measurements::built_in(), Measurements::built_in().of_usual_networks());
        assert!(usual.networks.len() < all.networks.len() / 4);
        let digits = |table: &Measurements, name: &str| {
            let model = table.model_for(name, &Variances::built_in()).unwrap();
            let row = table.rows.iter().find(|row| table.networks[row.conditions.network].name == name).unwrap();
            model.speeds(&[model.published_case(table, row)], &[], None)[0]
        };
        for name in ["resnet50", "resnet18", "vgg16"] {
            assert_eq!(digits(&usual, name), digits(&all, name), "{name}");
        }
    }

    #[test]
    fn damaged_tables_are_refused() {
        let packed = Measurements::built_in().of_usual_networks().pack();
        for length in (0..packed.len()).step_by(997) {
            assert!(Measurements::unpack(&packed[..length]).is_err(), "{length}");
        }
        let mut changed = packed;
        for place in (0..changed.len()).step_by(311) {
            changed[place] ^= 0x85;
            // It must not panic.
            let _ = Measurements::unpack(&changed);
        }
    }
}
