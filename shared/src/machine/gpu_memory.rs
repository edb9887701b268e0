//! The memory of one GPU, from what a catalog of SkyPilot says about those of a machine.
//!
//! The files of the providers differ: the size of a GPU may be in GiB, or the total of the machine,
//! and the total may be that of one GPU. A size that other statements do not settle is unknown.

use std::collections::BTreeMap;

use super::Catalog;

const MIB_PER_GIB: f64 = 1024.0;
/// Sizes of GPUs, MiB. Smaller numbers are GiB, and larger ones KiB or bytes.
const LEAST_MIB: f64 = 1024.0;
const MOST_MIB: f64 = 512.0 * MIB_PER_GIB;
/// Sizes from which a number is in KiB and in bytes, of at least 8 and 4 GiB.
const LEAST_KIB: f64 = 8.0 * 1_048_576.0;
const LEAST_BYTES: f64 = 4.0 * 1_073_741_824.0;
/// The largest memory of a GPU that is not of a family in `LARGE`, MiB.
const MOST_USUAL_MIB: f64 = 96.0 * MIB_PER_GIB;
/// Families of GPUs with more memory.
const LARGE: [&str; 8] = ["H20", "B200", "B300", "GH200", "GB", "MI", "GAUDI", "MAX"];
/// The smallest memory of a rented GPU, MiB.
const LEAST_USUAL_MIB: f64 = 4.0 * MIB_PER_GIB;

/// Memory in the column `GpuInfo`, a literal of Python or JSON.
pub(super) struct GpuMemory {
    size: Option<f64>,
    total: Option<f64>,
}

/// Sizes of a GPU in MiB by its name, from statements that do not contradict themselves.
pub(super) struct KnownMemory(BTreeMap<String, Vec<f64>>);

impl KnownMemory {
    /// Collects the sizes in a catalog and in the built-in table.
    pub(super) fn of<'a>(gpus: impl Iterator<Item = (&'a str, u32, &'a GpuMemory)>) -> Self {
        let mut sizes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (name, count, memory) in gpus {
            if let Some(size) = memory.size.filter(|_| memory.total.is_some() && memory.agrees(count)) {
                sizes.entry(name.to_owned()).or_default().push(size);
            }
        }
        for gpus in Catalog::built_in().machines.into_iter().filter_map(|machine| machine.accelerators) {
            sizes.entry(gpus.name).or_default().extend(gpus.memory_mib.map(f64::from));
        }
        Self(sizes)
    }
}

impl GpuMemory {
    pub(super) fn of(info: &str) -> Self {
        let size = number_after(info, "SizeInMiB");
        let unit = match size {
            Some(size) if size < LEAST_MIB => MIB_PER_GIB,
            Some(size) if size >= LEAST_BYTES => 1.0 / (MIB_PER_GIB * MIB_PER_GIB),
            Some(size) if size >= LEAST_KIB => 1.0 / MIB_PER_GIB,
            _ => 1.0,
        };
        let in_mib = |size: f64| size * unit;
        Self { size: size.map(in_mib), total: number_after(info, "TotalGpuMemoryInMiB").map(in_mib) }
    }

    /// Whether the total is that of `count` GPUs of this size.
    fn agrees(&self, count: u32) -> bool {
        self.size.is_some_and(|size| self.total.is_none_or(|total| is_close(total, size * f64::from(count))))
    }

    /// Returns the memory of one of `count` GPUs, MiB; `None` if it is unknown or the statements
    /// contradict each other.
    pub(super) fn of_one(&self, name: &str, count: u32, known: &KnownMemory) -> Option<u32> {
        let size = self.size?;
        let share = size / f64::from(count);
        let among =
            |sizes: &[f64]| [size, share].into_iter().find(|own| sizes.iter().any(|size| is_close(*own, *size)));
        let one = match (gib_in_name(name), known.0.get(name)) {
            (Some(gib), _) => among(&[gib * MIB_PER_GIB])?,
            _ if self.agrees(count) => size,
            (None, Some(sizes)) => among(sizes)?,
            (None, None) if share < LEAST_USUAL_MIB => size,
            (None, None) if size > MOST_USUAL_MIB && !is_large(name) => share,
            (None, None) => return None,
        };
        (LEAST_MIB..=MOST_MIB).contains(&one).then_some(one as u32)
    }
}

fn is_large(name: &str) -> bool {
    LARGE.iter().any(|family| name.to_ascii_uppercase().starts_with(family))
}

/// Whether two sizes are the same up to the difference between GB and GiB, and reserved memory.
fn is_close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.1
}

/// Returns the number before `GB` or `GiB` in the name of a GPU: `A100-80GB`.
fn gib_in_name(name: &str) -> Option<f64> {
    let upper = name.to_ascii_uppercase();
    let end = upper.find("GB").or_else(|| upper.find("GIB"))?;
    let before = upper[..end].trim_end();
    let start = before.rfind(|letter: char| !letter.is_ascii_digit()).map_or(0, |last| last + 1);
    before.get(start..)?.parse().ok()
}

/// Returns the number after a key of a literal, above 0.
fn number_after(info: &str, key: &str) -> Option<f64> {
    let rest = info.split_once(key)?.1.trim_start_matches(['\'', '"', ':', ' ']);
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    crate::number(&rest[..end]).filter(|number| *number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_one(name: &str, count: u32, size: &str, total: &str) -> Option<u32> {
        let info = format!("{{'Gpus': [{{'MemoryInfo': {{'SizeInMiB': {size}}}}}], \"TotalGpuMemoryInMiB\": {total}}}");
        let known = KnownMemory(BTreeMap::from([("B200".to_owned(), vec![184_320.0])]));
        GpuMemory::of(&info).of_one(name, count, &known)
    }

    #[test]
    fn the_memory_of_one_gpu_is_found_in_every_unit_and_beside_every_total() {
        for (name, count, size, total, mib) in [
            ("V100", 4, "16384", "65536", 16_384),
            ("V100", 4, "16384.0", "None", 16_384),
            ("V100", 8, "16384", "16384", 16_384),
            ("A100-80GB", 1, "80", "80", 81_920),
            ("A100-80GB", 8, "80", "640", 81_920),
            ("A100-80GB", 8, "655360", "655360", 81_920),
            ("L4", 1, "25769803776", "25769803776", 24_576),
            ("L4", 1, "25165824", "25165824", 24_576),
            ("RTX5090", 8, "260856", "260856", 32_607),
            ("B200", 8, "184320", "184320", 184_320),
            ("B300", 1, "268288", "268288", 268_288),
        ] {
            assert_eq!(of_one(name, count, size, total), Some(mib), "{count} × {name}: {size}, {total}");
        }
    }

    #[test]
    fn a_memory_that_contradicts_itself_is_unknown() {
        for (name, count, size, total) in
            [("RTX4090", 2, "49152", "49152"), ("A100-80GB", 1, "40960", "40960"), ("X", 1, "None", "None")]
        {
            assert_eq!(of_one(name, count, size, total), None, "{count} × {name}: {size}, {total}");
        }
    }
}
