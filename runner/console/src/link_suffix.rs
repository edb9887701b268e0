//! The settings of a share link after its payload, such as `&size=3200x2&spot=1`.
//! `docs/environment.md` lists all names.

use foreglow_exit::unusable;
use foreglow_shared::{Devices, LinkSetting, LinkSettings};

/// The settings of a link, and the names that the command line does not apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSuffix {
    /// The settings.
    pub settings: LinkSettings,
    /// Parts that only the page knows, such as `machine=c5.xlarge`.
    pub not_applied: Vec<String>,
}

impl LinkSuffix {
    /// Reads the suffix of a link or fragment.
    ///
    /// # Errors
    /// A value of a known name is invalid.
    pub fn of(link: &str) -> anyhow::Result<Self> {
        let mut suffix = Self::default();
        let fragment = link.trim().rsplit('#').next().unwrap_or_default();
        for part in fragment.split('&').skip(1).filter(|part| !part.is_empty()) {
            let name = part.split('=').next().unwrap_or(part);
            match LinkSetting::read(part) {
                Some(Ok(setting)) => suffix.settings.set(setting),
                Some(Err(error)) => return Err(unusable(format!("the link ends with &{part}; {error}"))),
                // What the page shows, which changes no answer.
                None if matches!(name, "view" | "chart" | "what-if") => {}
                None => suffix.not_applied.push(part.to_owned()),
            }
        }
        Ok(suffix)
    }

    /// Whether some machine types are not compared.
    pub fn omits_machines(&self) -> bool {
        self.settings.devices != Devices::All || !self.settings.without.is_empty()
    }

    /// Whether the answer compares machine types, as `plan` does with the same options.
    pub fn compares(&self) -> bool {
        let LinkSettings { size, spot, max_hourly_cost, prices, .. } = &self.settings;
        size.is_some() || *spot || max_hourly_cost.is_some() || !prices.is_empty() || self.omits_machines()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_the_page_is_read_and_what_only_the_page_knows_is_named() {
        assert_eq!(LinkSuffix::of("https://example.org/?a&b=c#v1.abc").unwrap(), LinkSuffix::default());
        let link = "v1.abc&view=trust&what-if=smallest&size=32000x2&spot=1&hourly=2.5&without=AMD%20EPYC%3A%20%C3%BC&without=c5.large\
                    &price=c5%2Exlarge:0.2&chart=log&devices=gpu&machine=c5.large&later&context=alone\n";
        let read = LinkSuffix::of(link).unwrap();
        let settings = LinkSettings {
            size: Some((32_000, 2)),
            devices: Devices::Gpu,
            spot: true,
            max_hourly_cost: Some(2.5),
            without: vec!["AMD EPYC: ü".to_owned(), "c5.large".to_owned()],
            prices: vec![("c5.xlarge".to_owned(), 0.2)],
            is_alone: true,
        };
        let expected = LinkSuffix { settings, not_applied: vec!["machine=c5.large".to_owned(), "later".to_owned()] };
        assert_eq!(read, expected);
    }

    #[test]
    fn an_invalid_value_is_refused() {
        for broken in ["size=abc", "devices=tpu", "without=%G1", "price=a:0"] {
            let error = LinkSuffix::of(&format!("v1.abc&{broken}")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the link ends with &{broken}; ")), "{error}");
        }
    }
}
