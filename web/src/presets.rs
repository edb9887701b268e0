//! Published price lists to start from, as dated data: `presets.json` names for each the page that it was read from.

use foreglow_shared::PriceSheet;
use serde::Deserialize;

/// A price list with its source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Preset {
    /// Where it was published.
    pub source: String,
    /// The prices.
    pub sheet: PriceSheet,
}

/// Every price list, the one that the page starts with first.
pub fn presets() -> Vec<Preset> {
    // The tests read the same text.
    serde_json::from_str(include_str!("presets.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_list_can_be_used_and_says_where_and_when_it_was_published() {
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
