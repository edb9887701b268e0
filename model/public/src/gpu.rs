//! Data sheets of GPUs.

use foreglow_shared::{distinct, edit_distance};

use crate::columns::read_rows;
use crate::{Precision, PublicError};

/// Data sheets, with the sources of the figures.
const SHEETS: &str = include_str!("../data/gpus.csv");

/// Generations with units for fp16, but not for bf16.
const WITHOUT_BF16: [&str; 3] = ["Pascal", "Volta", "Turing"];

/// The figures of a GPU's data sheet that determine its speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Short name in the tables, such as `a100_sxm_40`.
    pub key: String,
    /// Name that the driver reports.
    pub name: String,
    /// Generation, such as `Ampere`.
    pub architecture: String,
    /// Peak rates in tera-operations per second: fp32, TF32, fp16 and int8; `None` if the GPU has
    /// no units for the format.
    pub(crate) rates: [Option<f64>; 4],
    /// Memory, GiB.
    pub memory_gib: f64,
    /// Memory bandwidth, GB/s.
    pub memory_gb_per_sec: f64,
}

impl Gpu {
    /// Returns the peak rate at a number format, tera-operations per second. Mixed precision and
    /// TF32 fall back to fp32, as frameworks do; `None` if the GPU cannot compute in the format.
    pub fn rate(&self, format: Precision) -> Option<f64> {
        let [fp32, tf32, fp16, int8] = self.rates;
        match format {
            Precision::Fp32 => fp32,
            Precision::Tf32 => tf32.or(fp32),
            Precision::Mixed | Precision::Fp16 | Precision::Bf16 => fp16.or(fp32),
            Precision::Int8 => int8,
        }
    }

    /// Whether the GPU has units for the format; otherwise frameworks refuse it or fall back to
    /// fp32.
    pub fn has(&self, format: Precision) -> bool {
        let [fp32, tf32, fp16, int8] = self.rates;
        match format {
            Precision::Fp32 => fp32.is_some(),
            Precision::Tf32 => tf32.is_some(),
            Precision::Mixed | Precision::Fp16 => fp16.is_some(),
            Precision::Int8 => int8.is_some(),
            Precision::Bf16 => fp16.is_some() && !WITHOUT_BF16.contains(&self.architecture.as_str()),
        }
    }
}

/// The known GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpus(Vec<Gpu>);

impl Gpus {
    pub(crate) fn new(gpus: Vec<Gpu>) -> Self {
        Self(gpus)
    }

    /// Returns the built-in data sheets.
    pub fn built_in() -> Self {
        // A test checks that the built-in text is valid.
        Self::read(SHEETS).unwrap_or(Self(Vec::new()))
    }

    /// Reads data sheets.
    ///
    /// # Errors
    /// The text is no such table.
    pub fn read(text: &str) -> Result<Self, PublicError> {
        let gpus = read_rows(text, |columns, row| {
            let rate = |name: &str| columns.optional_number(row, name);
            Ok(Gpu {
                key: columns.text(row, "gpu_key")?.to_owned(),
                name: columns.text(row, "gpu")?.to_owned(),
                architecture: columns.text(row, "architecture")?.to_owned(),
                rates: [rate("fp32_tflops")?, rate("tf32_tflops")?, rate("fp16_tflops")?, rate("int8_tops")?],
                memory_gib: columns.number(row, "memory_gib")?,
                memory_gb_per_sec: columns.number(row, "memory_gbs")?,
            })
        });
        gpus.map(Self)
    }

    /// Returns all GPUs.
    pub fn all(&self) -> &[Gpu] {
        &self.0
    }

    /// Returns the GPU with this key.
    pub fn with_key(&self, key: &str) -> Option<&Gpu> {
        self.0.iter().find(|gpu| gpu.key == key)
    }

    /// Returns the GPU that a user, a driver or a catalog calls by this name, such as `A100`, `RTX
    /// 3090` or `NVIDIA A100-SXM4-40GB`. Of several forms of one GPU, the first with this memory
    /// (MiB, within a tenth), in the order of [`PREFERRED`].
    ///
    /// # Errors
    /// The name is unknown; the error names similar ones.
    pub fn find(&self, name: &str, memory_mib: Option<u32>) -> Result<&Gpu, PublicError> {
        self.place(name, memory_mib).map(|place| &self.0[place])
    }

    /// Returns the index of [`Gpus::find`].
    ///
    /// # Errors
    /// As [`Gpus::find`].
    pub fn place(&self, name: &str, memory_mib: Option<u32>) -> Result<usize, PublicError> {
        let asked = words(name);
        let mut found: Vec<usize> = (0..self.0.len()).filter(|place| is_called(&self.0[*place], &asked)).collect();
        if let Some(mib) = memory_mib {
            let has_memory = |place: &usize| (self.0[*place].memory_gib * 1024.0 / f64::from(mib) - 1.0).abs() < 0.1;
            if found.iter().any(has_memory) {
                found.retain(has_memory);
            }
        }
        let rank = |place: &usize| {
            let gpu = &self.0[*place];
            let exact = words(&gpu.name) != asked && words(&gpu.key) != asked;
            (exact, PREFERRED.iter().position(|key| *key == gpu.key).unwrap_or(PREFERRED.len()))
        };
        found
            .into_iter()
            .min_by_key(rank)
            .ok_or_else(|| PublicError::UnknownGpu { name: name.to_owned(), similar: self.similar(&asked) })
    }

    /// Whether a user may call the GPU at this index by a name.
    pub fn is_called(&self, place: usize, name: &str) -> bool {
        is_called(&self.0[place], &words(name))
    }

    fn similar(&self, asked: &[String]) -> Vec<String> {
        similar_names(&asked.concat(), self.0.iter().map(short_name))
    }
}

/// Number of similar names in a message.
const MOST_SIMILAR: usize = 3;

/// Returns up to three names that are similar to another one, the most similar first. A name may be
/// shortened to its first words.
pub fn similar_names(asked: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let asked = words(asked).concat();
    let distance = |name: &str| {
        let words = words(name);
        let shortened = (1..=words.len()).map(|count| words[..count].concat());
        shortened.map(|name| edit_distance(&asked, &name)).min()
    };
    let near = distinct(names.map(|name| (distance(&name), name.len(), name)));
    near.into_iter().map(|(.., name)| name).take(MOST_SIMILAR).collect()
}

/// The form of a GPU that is meant by a name of several: the one that clouds rent.
const PREFERRED: [&str; 7] =
    ["v100_sxm_16", "a100_sxm_40", "a100_sxm_80", "h100_sxm", "h200_sxm", "p100_pcie", "rtx_pro_6000_bw"];

/// Words that manufacturers add to the name of a GPU.
const NOISE: [&str; 9] = ["nvidia", "geforce", "tesla", "amd", "instinct", "radeon", "quadro", "generation", "gpu"];

/// Returns the name without the words that manufacturers add.
pub fn short_name(gpu: &Gpu) -> String {
    gpu.name
        .split(' ')
        .filter(|word| !NOISE.contains(&word.to_ascii_lowercase().as_str()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Splits a name into lower-case words.
fn words(name: &str) -> Vec<String> {
    let lower = name.to_ascii_lowercase();
    let split = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    split.filter(|word| !NOISE.contains(word)).map(str::to_owned).collect()
}

/// Whether all words of a name are in the name or key of the GPU, however they are joined:
/// `rtx6000` is `RTX 6000`, `80GB` is `80`.
fn is_called(gpu: &Gpu, asked: &[String]) -> bool {
    let own: Vec<String> = words(&gpu.name).into_iter().chain(words(&gpu.key)).collect();
    let joined = |words: &[String]| words.concat();
    let is_part = |word: &String| {
        let bare = word.trim_end_matches("gb");
        own.iter().any(|own| own == word || own.trim_end_matches("gb") == bare)
    };
    if asked.is_empty() {
        return false;
    }
    let names = [words(&gpu.name), words(&gpu.key)];
    let is_number = |word: &String| word.len() >= 3 && word.starts_with(|letter: char| letter.is_ascii_digit());
    let begins = names.iter().any(|name| asked.first() == name.first() || asked.first().is_some_and(is_number));
    asked.iter().all(is_part) && begins || names.iter().any(|name| joined(name) == joined(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_data_sheets_are_valid() {
        let gpus = Gpus::read(SHEETS).unwrap();
        assert!(gpus.all().len() > 50);
        assert!(gpus.all().iter().all(|gpu| gpu.rate(Precision::Fp32).is_some_and(|rate| rate > 0.0)));
    }

    #[test]
    fn a_mistyped_gpu_is_suggested_by_its_first_words() {
        let PublicError::UnknownGpu { similar, .. } = Gpus::built_in().find("H1OO", None).unwrap_err() else {
            panic!()
        };
        assert!(similar[0].starts_with("H100"), "{similar:?}");
    }

    #[test]
    fn a_gpu_is_found_by_the_name_of_a_catalog_a_driver_or_a_user() {
        let gpus = Gpus::built_in();
        let key =
            |name: &str, gib: u32| gpus.find(name, (gib > 0).then_some(gib * 1024)).map(|gpu| gpu.key.clone()).unwrap();
        for (name, gib, expected) in [
            ("A100", 40, "a100_sxm_40"),
            ("A100", 80, "a100_sxm_80"),
            ("A100-80GB", 80, "a100_sxm_80"),
            ("NVIDIA A100-SXM4-40GB", 0, "a100_sxm_40"),
            ("V100", 16, "v100_sxm_16"),
            ("V100-32GB", 32, "v100_sxm_32"),
            ("P100", 16, "p100_pcie"),
            ("rtx 3090", 0, "rtx_3090"),
            ("3090", 0, "rtx_3090"),
            ("RTX6000", 24, "quadro_rtx_6000"),
            ("H100", 80, "h100_sxm"),
            ("H100 PCIe", 0, "h100_pcie"),
            ("GH200", 96, "gh200_96"),
            ("A6000", 48, "a6000"),
            ("L4", 22, "l4"),
            ("A10G", 22, "a10g"),
            ("T4", 16, "t4"),
            ("B200", 180, "b200"),
        ] {
            assert_eq!(key(name, gib), expected, "{name} with {gib} GiB");
        }
    }

    #[test]
    fn an_unknown_gpu_is_refused_with_similar_names() {
        let error = Gpus::built_in().find("RTX 3O90", None).unwrap_err().to_string();
        assert!(error.contains("RTX 3090"), "{error}");
        assert!(Gpus::built_in().find("", None).is_err());
    }
}
