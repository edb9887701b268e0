//! Published price lists as dated data: `presets.json` has the source page of each.

use serde::Deserialize;

use crate::PriceSheet;

/// A price list with its source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The page on which it was published.
    pub source: String,
    /// Words of the name of the GPU that each executor gets for this price, such as `A100 40GB`;
    /// `None` for prices of processors and memory.
    #[serde(default)]
    pub accelerator: Option<String>,
    /// The prices.
    pub sheet: PriceSheet,
}

/// Every published price list; the first is [`PriceSheet::example`].
pub fn presets() -> Vec<Preset> {
    // A test checks that the built-in text is valid.
    serde_json::from_str(include_str!("presets.json")).unwrap_or_default()
}

impl Preset {
    /// Returns whether these are the prices of the hardware: of the GPU with this driver name, or
    /// of processors.
    pub fn is_for(&self, accelerator: Option<&str>) -> bool {
        match (&self.accelerator, accelerator) {
            (None, None) => true,
            (Some(words), Some(name)) => has_words(name, words),
            _ => false,
        }
    }
}

impl PriceSheet {
    /// Returns the published prices for a job whose executors hold this accelerator: those of the
    /// most specific list for it, otherwise [`PriceSheet::example`], which has no price for
    /// accelerators.
    ///
    /// ```
    /// use foreglow_shared::PriceSheet;
    ///
    /// assert!(PriceSheet::usual_for(Some("NVIDIA A10G")).name.contains("g5.xlarge"));
    /// assert_eq!(PriceSheet::usual_for(None), PriceSheet::example());
    /// assert!(PriceSheet::usual_for(Some("Unheard-of GPU")).check_for(Some("Unheard-of GPU")).is_err());
    /// ```
    pub fn usual_for(accelerator: Option<&str>) -> Self {
        let mut usual = None;
        for preset in presets().into_iter().filter(|preset| preset.is_for(accelerator)) {
            let words = preset.accelerator.as_deref().map_or(0, |words| words_of(words).count());
            if usual.as_ref().is_none_or(|(most, _)| words > *most) {
                usual = Some((words, preset.sheet));
            }
        }
        usual.map_or_else(Self::example, |(_, sheet)| sheet)
    }

    /// Returns these prices, or the published ones for the accelerator if these are a published
    /// list for other hardware. The user's own sheet is kept.
    pub fn or_usual_for(self, accelerator: Option<&str>) -> Self {
        if self.list_of_others(accelerator).is_some() { Self::usual_for(accelerator) } else { self }
    }

    /// Returns the GPU whose machines these prices are of, if they are a published list for another
    /// GPU than this one.
    pub(crate) fn gpu_of_others(&self, accelerator: Option<&str>) -> Option<String> {
        self.list_of_others(accelerator)?.accelerator
    }

    /// Returns the published list that these prices are, if it is for other hardware.
    fn list_of_others(&self, accelerator: Option<&str>) -> Option<Preset> {
        presets().into_iter().find(|preset| preset.sheet == *self && !preset.is_for(accelerator))
    }
}

/// Returns whether a driver's name of a GPU has all these words, regardless of their case and
/// order.
///
/// ```
/// use foreglow_shared::has_words;
///
/// assert!(has_words("NVIDIA A100-SXM4-80GB", "A100 80GB"));
/// assert!(!has_words("NVIDIA A10G", "A10"));
/// ```
pub fn has_words(name: &str, words: &str) -> bool {
    let in_name: Vec<String> = words_of(name).collect();
    words_of(words).all(|word| in_name.contains(&word))
}

fn words_of(name: &str) -> impl Iterator<Item = String> {
    name.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_list_can_be_used_and_says_where_and_when_it_was_published() {
        let presets = presets();
        assert_eq!(presets[0].sheet, PriceSheet::example());
        for preset in &presets {
            let accelerator = preset.accelerator.as_deref();
            assert_eq!(preset.sheet.check_for(accelerator), Ok(()), "{}", preset.sheet.name);
            assert!(preset.source.starts_with("https://"), "{}", preset.sheet.name);
            assert_eq!(preset.sheet.currency, PriceSheet::example().currency, "one comparison may use several lists");
            assert_eq!(PriceSheet::usual_for(accelerator), preset.sheet, "one list for each GPU");
        }
        let mut names: Vec<&str> = presets.iter().map(|preset| preset.sheet.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), presets.len());
    }

    #[test]
    fn a_gpu_has_the_prices_of_its_own_name_and_of_no_similar_one() {
        let name = |gpu: &str| PriceSheet::usual_for(Some(gpu)).name;
        for (gpu, machine) in [
            ("NVIDIA A10G", "g5.xlarge"),
            ("NVIDIA A10", "Lambda 1× A10,"),
            ("Tesla T4", "g4dn.xlarge"),
            ("NVIDIA L4", "g6.xlarge"),
            ("Tesla V100-SXM2-16GB", "p3.2xlarge"),
            ("NVIDIA A100-SXM4-40GB", "p4d.24xlarge"),
            ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ] {
            assert!(name(gpu).contains(machine), "{gpu}: {}", name(gpu));
        }
        for gpu in ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", "NVIDIA L40S", "NVIDIA GeForce RTX 4090"] {
            assert_eq!(name(gpu), PriceSheet::example().name, "{gpu}");
        }
    }

    #[test]
    fn published_prices_follow_the_hardware_and_the_users_own_stay() {
        let (a10g, example) = (PriceSheet::usual_for(Some("NVIDIA A10G")), PriceSheet::example());
        assert_eq!(example.clone().or_usual_for(Some("NVIDIA A10G")), a10g);
        assert_eq!(a10g.clone().or_usual_for(None), example);
        assert_eq!(a10g.clone().or_usual_for(Some("NVIDIA A10G")), a10g);
        let own = PriceSheet { core_hour: 1.0, ..example };
        assert_eq!(own.clone().or_usual_for(Some("NVIDIA A10G")), own);
    }
}
