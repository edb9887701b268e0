//! Lists of machine types in one currency.

use serde::{Deserialize, Serialize};

use super::{CatalogError, MachineType, own, skypilot};
use crate::sort_by_cached_key;

/// The built-in table, in the format of own hardware.
///
/// Prices and resources are from `catalogs/v8/{aws,gcp,lambda}/vms.csv` of the repository
/// `skypilot-org/skypilot-catalog` (commits 00148f2a, 006059e0 and 0f407038). The on-demand prices
/// of AWS equal those in `pkg/providers/pricing/zz_generated.pricing_aws.go` of
/// `aws/karpenter-provider-aws` of 2026-07-20, the date in the table; the dates of the other prices
/// are unknown. GPU machines of GCP are the sum of the machine and its accelerators. A spot price
/// is a snapshot of the cheapest zone. Implausible prices are left out: `a3-highgpu-8g`, and the
/// spot price of `p4d.24xlarge`.
const BUILT_IN: &str = include_str!("machines.csv");

/// Machine types with prices in one currency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// ISO 4217 code of all prices.
    pub currency: String,
    /// The machine types, sorted by provider and name. A name appears once for each provider.
    pub machines: Vec<MachineType>,
    /// Number of omitted lines: those without a usable price or region, with a fraction or an
    /// unknown number of accelerators, or that describe a machine type in two ways.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Number of machine types with several prices on demand in the region, of which the highest is
    /// used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub several_prices: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Catalog {
    /// Returns a catalog without machine types.
    pub fn empty(currency: &str) -> Self {
        Self { currency: currency.to_owned(), machines: Vec::new(), left_out: 0, several_prices: 0 }
    }

    /// Returns the built-in table: AWS, GCP and Lambda, in US dollars.
    pub fn built_in() -> Self {
        // A test checks that the built-in text is valid.
        own::read_plain(BUILT_IN).unwrap_or_else(|_| Self::empty("USD"))
    }

    /// Reads a catalog: a CSV of own hardware, or a `vms.csv` of SkyPilot, which is recognised by
    /// its header. `provider` names the provider of a `vms.csv`, whose rows do not; `region`
    /// selects the region of the prices, by default the one with the most machine types.
    ///
    /// # Errors
    /// [`CatalogError`]: the text is not a catalog, a value is invalid, or prices are in two
    /// currencies.
    pub fn read(text: &str, provider: &str, region: Option<&str>) -> Result<Self, CatalogError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let catalog = if skypilot::is_header(text.lines().next().unwrap_or_default()) {
            skypilot::read(text, provider, region)?
        } else {
            own::read(text)?
        };
        if catalog.machines.is_empty() { Err(CatalogError::Empty) } else { Ok(catalog) }
    }

    /// Appends the machine types of another catalog, for example of another provider.
    ///
    /// # Errors
    /// [`CatalogError`]: the currencies differ, or a machine type is in both.
    pub fn merge(mut self, other: Self) -> Result<Self, CatalogError> {
        if self.currency != other.currency {
            return Err(CatalogError::TwoCurrencies { first: self.currency, second: other.currency });
        }
        self.machines.extend(other.machines);
        self.left_out += other.left_out;
        self.several_prices += other.several_prices;
        self.sorted()
    }

    /// Returns the machine type with this name: of several providers, the first that is listed.
    ///
    /// # Errors
    /// The catalog has no such name.
    pub fn find(&self, name: &str) -> Result<&MachineType, CatalogError> {
        let found = self.machines.iter().find(|machine| machine.name == name);
        found.ok_or_else(|| CatalogError::Unknown { name: name.to_owned() })
    }

    /// Returns the machine types that a filter keeps.
    pub fn retain(mut self, keep: impl FnMut(&MachineType) -> bool) -> Self {
        self.machines.retain(keep);
        self
    }

    /// Sorts the machine types and checks that none appears twice.
    pub(super) fn sorted(mut self) -> Result<Self, CatalogError> {
        let key = |machine: &MachineType| (machine.provider.clone(), machine.name.clone());
        sort_by_cached_key(&mut self.machines, key);
        match self.machines.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
            Some(pair) => {
                Err(CatalogError::Twice { machine: pair[0].name.clone(), provider: pair[0].provider.clone() })
            }
            None => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_in_plain_form() {
        let catalog = Catalog::built_in();
        assert!(catalog.machines.len() > 50);
        assert_eq!(catalog, own::read(BUILT_IN).unwrap());
    }
}
