//! Published price lists. `presets.json` holds them with their dates and sources.

use foreglow_shared::PriceSheet;
use serde::Deserialize;

/// A price list with its source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Preset {
    /// URL of the page that it was read from.
    pub source: String,
    /// The prices.
    pub sheet: PriceSheet,
}

/// Every price list; the first is the default.
pub fn presets() -> Vec<Preset> {
    // Cannot fail: a test parses the same file.
    serde_json::from_str(include_str!("presets.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_list_is_valid_and_has_a_source_and_a_date() {
        let presets = presets();
        assert_eq!(presets[0].sheet, PriceSheet::example());
        for preset in &presets {
            assert_eq!(preset.sheet.check(), Ok(()), "{}", preset.sheet.name);
            assert!(preset.source.starts_with("https://"), "{}", preset.sheet.name);
        }
        let mut names: Vec<&str> = presets.iter().map(|preset| preset.sheet.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), presets.len());
    }
}
