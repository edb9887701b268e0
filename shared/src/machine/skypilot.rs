//! Reads the catalogs of SkyPilot (`vms.csv`) unchanged.
//!
//! One row is a machine type in a zone; columns and their order differ by cloud, so they are found
//! by name. GCP lists accelerators in separate rows without a machine type, and the prices of its
//! machine types with accelerators exclude them.

use std::collections::BTreeMap;

use super::gpu_memory::{GpuMemory, KnownMemory};
use super::{Accelerators, BillingTerms, Catalog, CatalogError, MachineType};
use crate::limits::MONEY;
use crate::number;
use crate::table::{Table, TableRow};

const REQUIRED: &[&str] = &["InstanceType", "vCPUs", "MemoryGiB", "Price", "Region"];
/// Columns whose cells are names, which may look like numbers.
const NAMES: &[&str] = &["InstanceType", "AcceleratorName", "GpuInfo", "Region", "AvailabilityZone"];
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
    /// Empty if the row has no region, so that it is unusable.
    region: String,
    /// Whether the zone is a Local Zone. These have other prices and are omitted.
    is_local_zone: bool,
    processors: Option<f64>,
    memory_gib: Option<f64>,
    accelerator: Option<(String, u32)>,
    /// What the row says of the memory of its accelerators.
    memory: GpuMemory,
    /// Whether the machine has a fraction of an accelerator, such as a sixth of an A10, whose speed
    /// is unknown; or a name of accelerators without a number, or a number without a name. These
    /// are omitted.
    has_unknown_gpus: bool,
    price: Option<f64>,
    spot: Option<f64>,
}

pub(super) fn read(text: &str, provider: &str, region: Option<&str>) -> Result<Catalog, CatalogError> {
    let mut rows = rows(text)?;
    let all = rows.len();
    rows.retain(|row| !row.region.is_empty() || row.machine.is_empty());
    let without_region = all - rows.len();
    if rows.is_empty() {
        return Err(CatalogError::Empty);
    }
    let region = region_of(&rows, region)?;
    let known = KnownMemory::of(rows.iter().filter_map(|row| {
        let (name, count) = row.accelerator.as_ref()?;
        Some((name.as_str(), *count, &row.memory))
    }));
    rows.retain(|row| row.region == region && !row.is_local_zone);
    let gpus = gpus(&rows);
    let mut catalog = Catalog { left_out: without_region, ..Catalog::empty(CURRENCY) };
    let mut machines: BTreeMap<&str, Vec<MachineType>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.machine.is_empty()) {
        match machine(row, provider, &gpus, &known) {
            Some(machine) => machines.entry(&row.machine).or_default().push(machine),
            None => catalog.left_out += 1,
        }
    }
    for offers in machines.into_values() {
        let count = offers.len();
        match merged(offers) {
            Some((machine, has_several_prices)) => {
                catalog.several_prices += usize::from(has_several_prices);
                catalog.machines.push(machine);
            }
            None => catalog.left_out += count,
        }
    }
    catalog.sorted()
}

/// Joins the rows of a machine type, one for each zone of the region, and returns whether they have
/// several prices on demand, of which it keeps the highest; `None` if they describe different
/// machines. Spot prices always differ: it keeps the lowest.
fn merged(offers: Vec<MachineType>) -> Option<(MachineType, bool)> {
    let mut has_several_prices = false;
    let mut offers = offers.into_iter();
    let mut merged = offers.next()?;
    for offer in offers {
        let description =
            |machine: &MachineType| (machine.processors, machine.memory_mib, machine.accelerators.clone());
        if description(&merged) != description(&offer) {
            return None;
        }
        has_several_prices |= merged.hourly_price != offer.hourly_price;
        merged.hourly_price = merged.hourly_price.max(offer.hourly_price);
        merged.spot_price = [merged.spot_price, offer.spot_price].into_iter().flatten().reduce(f64::min);
    }
    Some((merged, has_several_prices))
}

fn rows(text: &str) -> Result<Vec<CatalogEntry>, CatalogError> {
    let table = Table::parse_with_names(text, NAMES)?;
    let place = |name: &str| table.header().iter().position(|header| header.eq_ignore_ascii_case(name));
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
    columns.into_iter().flatten().try_for_each(|column| table.check_numbers(column))?;
    let entry = |record: TableRow<'_>| {
        let [machine, region, zone, processors, memory, name, count, info, price, spot] =
            columns.map(|place| place.and_then(|place| record.get(place)).unwrap_or_default());
        let count = positive(count);
        let has_unknown_gpus = count.map_or(!name.is_empty(), |count| count.fract() > 0.0 || name.is_empty());
        CatalogEntry {
            machine: machine.to_owned(),
            region: region.to_owned(),
            is_local_zone: is_local_zone(zone),
            processors: positive(processors),
            memory_gib: positive(memory),
            accelerator: count.filter(|_| !has_unknown_gpus).map(|count| (name.to_owned(), count as u32)),
            memory: GpuMemory::of(info),
            has_unknown_gpus,
            price: positive(price),
            spot: positive(spot),
        }
    };
    Ok(table.rows().map(entry).collect())
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

/// Rows of accelerators without a machine that have a price, by name and count.
type Gpus<'a> = BTreeMap<(&'a str, u32), (f64, &'a CatalogEntry)>;

fn gpus(rows: &[CatalogEntry]) -> Gpus<'_> {
    let mut gpus = Gpus::new();
    for row in rows.iter().filter(|row| row.machine.is_empty()) {
        if let (Some((name, count)), Some(price)) = (&row.accelerator, row.price) {
            gpus.entry((name, *count)).or_insert((price, row));
        }
    }
    gpus
}

/// Returns the machine type of a row; `None` if its price is unknown, or it has less than one
/// processor or a fraction or an unknown number of accelerators. A spot price above the price on
/// demand is unknown.
fn machine(row: &CatalogEntry, provider: &str, gpus: &Gpus<'_>, known: &KnownMemory) -> Option<MachineType> {
    if row.has_unknown_gpus {
        return None;
    }
    let processors = row.processors?.floor();
    let is_unknown_family = provider == "gcp" && is_accelerated_family(&row.machine);
    let (mut accelerator, mut memory, mut price, mut spot) =
        (row.accelerator.clone(), &row.memory, row.price, row.spot);
    if let Some((name, count)) = gcp_accelerators(&row.machine, processors).filter(|_| accelerator.is_none()) {
        let (gpu_price, gpu) = gpus.get(&(name, count))?;
        (accelerator, memory) = (Some((name.to_owned(), count)), &gpu.memory);
        // A machine without a price of its own is included in the price of its accelerators.
        price = Some(price.unwrap_or(0.0) + gpu_price);
        spot = spot.zip(gpu.spot).map(|(machine, gpus)| machine + gpus);
    } else if accelerator.is_none() && is_unknown_family {
        // The price excludes accelerators that the file does not name.
        return None;
    }
    let accelerators =
        accelerator.map(|(name, count)| Accelerators { memory_mib: memory.of_one(&name, count, known), name, count });
    Some(MachineType {
        name: row.machine.clone(),
        provider: provider.to_owned(),
        region: row.region.clone(),
        processors: Some(processors as u32).filter(|count| *count > 0)?,
        memory_mib: (row.memory_gib? * MIB_PER_GIB) as u32,
        accelerators,
        hourly_price: price?,
        spot_price: spot.filter(|spot| Some(*spot) <= price),
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

/// Whether a zone of AWS is a Local Zone: `use1-atl2-az1` has a city between region and number.
fn is_local_zone(zone: &str) -> bool {
    zone.matches('-').count() == 2 && zone.rsplit('-').next().is_some_and(|last| last.starts_with("az"))
}

fn positive(text: &str) -> Option<f64> {
    number(text).filter(|value| MONEY.contains(value))
}
