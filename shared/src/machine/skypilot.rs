//! Reads the catalogs of SkyPilot (`vms.csv`) unchanged.
//!
//! One row is a machine type in a zone; columns and their order differ by cloud, so they are found
//! by name. GCP lists accelerators in separate rows without a machine type, and the prices of its
//! machine types with accelerators exclude them.

use std::collections::BTreeMap;

use super::own::form;
use super::{Accelerators, BillingTerms, Catalog, CatalogError, MachineType};
use crate::limits::MONEY;

const REQUIRED: &[&str] = &["InstanceType", "vCPUs", "MemoryGiB", "Price", "Region"];
/// Catalogs of SkyPilot are in US dollars.
const CURRENCY: &str = "USD";
const MIB_PER_GIB: f64 = 1024.0;

/// Machine families of GCP whose price excludes their accelerators: the prefix of the name, the
/// accelerator, and the rule for the number of accelerators.
const GCP_FAMILIES: [(&str, &str, CountRule); 6] = [
    ("a2-highgpu-", "A100", CountRule::Suffix),
    ("a2-megagpu-", "A100", CountRule::Suffix),
    ("a2-ultragpu-", "A100-80GB", CountRule::Suffix),
    ("a3-highgpu-", "H100", CountRule::Suffix),
    ("a4-highgpu-", "B200", CountRule::Suffix),
    ("g2-standard-", "L4", CountRule::ByProcessors),
];

/// How the number of accelerators follows from a machine type's name.
#[derive(Clone, Copy)]
enum CountRule {
    /// `-8g` is eight.
    Suffix,
    /// One accelerator for up to 16 processors and for 32, otherwise one for each twelve.
    ByProcessors,
}

/// Whether a header is that of a `vms.csv`.
pub(super) fn is_header(line: &str) -> bool {
    line.split(',').any(|column| column.trim() == "InstanceType")
}

/// A row of the file: the price of a machine type, or of an accelerator alone, in a region.
struct CatalogEntry {
    machine: String,
    region: String,
    /// Whether the zone is a Local Zone. These have other prices and are omitted.
    is_local_zone: bool,
    processors: Option<f64>,
    memory_gib: Option<f64>,
    accelerator: Option<(String, u32, Option<u32>)>,
    /// Whether the machine has a fraction of an accelerator, such as a sixth of an A10. These are
    /// omitted, because the speed of a fraction is unknown.
    has_part: bool,
    price: Option<f64>,
    spot: Option<f64>,
}

pub(super) fn read(text: &str, provider: &str, region: Option<&str>) -> Result<Catalog, CatalogError> {
    let rows = rows(text)?;
    let region = region_of(&rows, region)?;
    let here = || rows.iter().filter(|row| row.region == region && !row.is_local_zone);
    let gpus = gpus(here());
    let mut machines: BTreeMap<String, MachineType> = BTreeMap::new();
    let mut left_out = 0;
    for row in here().filter(|row| !row.machine.is_empty()) {
        let Some(machine) = machine(row, provider, &gpus) else {
            left_out += 1;
            continue;
        };
        match machines.get_mut(&machine.name) {
            // The zones of a region differ only in their spot prices.
            Some(known) => {
                known.hourly_price = known.hourly_price.max(machine.hourly_price);
                known.spot_price = [known.spot_price, machine.spot_price].into_iter().flatten().reduce(f64::min);
            }
            None => drop(machines.insert(machine.name.clone(), machine)),
        }
    }
    Catalog { currency: CURRENCY.to_owned(), machines: machines.into_values().collect(), left_out }.sorted()
}

fn rows(text: &str) -> Result<Vec<CatalogEntry>, CatalogError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| form(text, &error))?.clone();
    let place = |name: &str| headers.iter().position(|header| header.eq_ignore_ascii_case(name));
    let missing: Vec<&str> = REQUIRED.iter().copied().filter(|name| place(name).is_none()).collect();
    if !missing.is_empty() {
        return Err(CatalogError::Columns { missing, required: REQUIRED });
    }
    let columns = [
        "InstanceType",
        "Region",
        "AvailabilityZone",
        "vCPUs",
        "MemoryGiB",
        "AcceleratorName",
        "AcceleratorCount",
        "GpuInfo",
        "Price",
        "SpotPrice",
    ]
    .map(place);
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| form(text, &error))?;
        let [machine, region, zone, processors, memory, name, count, info, price, spot] =
            columns.map(|place| place.and_then(|place| record.get(place)).unwrap_or_default());
        let count = positive(count).filter(|_| !name.is_empty());
        let has_part = count.is_some_and(|count| count.fract() > 0.0);
        rows.push(CatalogEntry {
            machine: machine.to_owned(),
            region: region.to_owned(),
            is_local_zone: is_local_zone(zone),
            processors: positive(processors),
            memory_gib: positive(memory),
            accelerator: count.filter(|_| !has_part).map(|count| (name.to_owned(), count as u32, gpu_memory_mib(info))),
            has_part,
            price: positive(price),
            spot: positive(spot),
        });
    }
    Ok(rows)
}

/// Returns the region asked for, or the one with the most machine types; of several the first by
/// name.
fn region_of(rows: &[CatalogEntry], asked: Option<&str>) -> Result<String, CatalogError> {
    let mut names: BTreeMap<&str, std::collections::BTreeSet<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.machine.is_empty()) {
        names.entry(&row.region).or_default().insert(&row.machine);
    }
    if let Some(region) = asked {
        let known = || names.keys().map(|region| (*region).to_owned()).collect();
        let is_known = names.contains_key(region);
        return if is_known {
            Ok(region.to_owned())
        } else {
            Err(CatalogError::Region { region: region.to_owned(), known: known() })
        };
    }
    let most = names.iter().rev().max_by_key(|(_, machines)| machines.len());
    most.map(|(region, _)| (*region).to_owned()).ok_or(CatalogError::Empty)
}

/// Prices of accelerators without a machine, by name and count: on demand, spot, and memory.
type Gpus = BTreeMap<(String, u32), (f64, Option<f64>, Option<u32>)>;

fn gpus<'a>(rows: impl Iterator<Item = &'a CatalogEntry>) -> Gpus {
    let mut gpus = Gpus::new();
    for row in rows.filter(|row| row.machine.is_empty()) {
        if let (Some((name, count, memory)), Some(price)) = (&row.accelerator, row.price) {
            gpus.entry((name.clone(), *count)).or_insert((price, row.spot, *memory));
        }
    }
    gpus
}

/// Returns the machine type of a row; `None` if its price is unknown, or it has less than one
/// processor or a fraction of an accelerator.
fn machine(row: &CatalogEntry, provider: &str, gpus: &Gpus) -> Option<MachineType> {
    if row.has_part {
        return None;
    }
    let processors = row.processors?.floor();
    let is_unknown_family = provider == "gcp" && is_accelerated_family(&row.machine);
    let (mut accelerator, mut price, mut spot) = (row.accelerator.clone(), row.price, row.spot);
    if let Some((name, count)) = gcp_accelerators(&row.machine, processors).filter(|_| accelerator.is_none()) {
        let (gpu_price, gpu_spot, memory) = *gpus.get(&(name.to_owned(), count))?;
        accelerator = Some((name.to_owned(), count, memory));
        // A machine without a price of its own is included in the price of its accelerators.
        price = Some(price.unwrap_or(0.0) + gpu_price);
        spot = spot.zip(gpu_spot).map(|(machine, gpus)| machine + gpus);
    } else if accelerator.is_none() && is_unknown_family {
        // The price excludes accelerators that the file does not name.
        return None;
    }
    Some(MachineType {
        name: row.machine.clone(),
        provider: provider.to_owned(),
        region: row.region.clone(),
        processors: Some(processors as u32).filter(|count| *count > 0)?,
        memory_mib: (row.memory_gib? * MIB_PER_GIB) as u32,
        accelerators: accelerator.map(|(name, count, memory_mib)| Accelerators { name, count, memory_mib }),
        hourly_price: price?,
        spot_price: spot,
        date: None,
        billing: BillingTerms::of(provider),
    })
}

/// Returns the accelerators of a machine type of GCP that its price excludes.
fn gcp_accelerators(machine: &str, processors: f64) -> Option<(&'static str, u32)> {
    let (prefix, name, rule) = GCP_FAMILIES.iter().find(|(prefix, ..)| machine.starts_with(prefix))?;
    let count = match rule {
        CountRule::Suffix => machine[prefix.len()..].strip_suffix('g')?.parse().ok()?,
        CountRule::ByProcessors if processors < 24.0 || processors == 32.0 => 1,
        CountRule::ByProcessors => (processors / 12.0) as u32,
    };
    Some((name, count))
}

/// Whether a machine type of GCP belongs to a family with accelerators: `a2-`, `g2-`, `ct6e-`.
fn is_accelerated_family(machine: &str) -> bool {
    let digit_follows =
        |prefix: char| machine.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    digit_follows('a') || digit_follows('g') || machine.starts_with("ct")
}

/// Returns the memory of one GPU from the literal in `GpuInfo`: the first `SizeInMiB`. The total
/// next to it has different meanings in different files.
fn gpu_memory_mib(info: &str) -> Option<u32> {
    let rest = info.split_once("'SizeInMiB':")?.1.trim_start();
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok().filter(|mib| *mib > 0)
}

/// Whether a zone of AWS is a Local Zone: `use1-atl2-az1` has a city between region and number.
fn is_local_zone(zone: &str) -> bool {
    zone.matches('-').count() == 2 && zone.rsplit('-').next().is_some_and(|last| last.starts_with("az"))
}

fn positive(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| MONEY.contains(value))
}
