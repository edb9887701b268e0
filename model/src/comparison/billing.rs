//! Prices of an arm's configurations.

use foreglow_shared::{BillingTerms, MachineType, PriceSheet};
use serde::{Deserialize, Serialize};

use super::{Placement, resources};

const SECS_PER_HOUR: f64 = 3600.0;

/// How the configurations of an arm are priced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pricing {
    /// Whole machines of a type in the catalog.
    Machines(MachineType),
    /// A price per executor, core and GiB.
    Sheet {
        /// The prices.
        sheet: PriceSheet,
        /// Whether executors use accelerators.
        accelerated: bool,
        /// Number of accelerators that all executors share; `None` if each holds its own.
        shared_accelerators: Option<u32>,
    },
    /// No price is known: neither the catalog nor a price sheet covers the hardware.
    Unknown,
}

/// The cost of one configuration as a function of its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Cost of a charged second of all machines.
    per_second: f64,
    /// Fixed charge.
    fixed: f64,
    startup_secs: f64,
    terms: Terms,
}

/// How the charged time is rounded.
#[derive(Clone, Copy, Debug)]
enum Terms {
    Rounded(BillingTerms),
    AtLeast(f64),
}

impl Rate {
    /// Returns the cost of a run of `secs` seconds.
    pub(crate) fn cost(&self, secs: f64) -> f64 {
        let secs = secs + self.startup_secs;
        let billed = match self.terms {
            Terms::Rounded(terms) => terms.billed_secs(secs),
            Terms::AtLeast(minimum) => secs.max(minimum),
        };
        self.fixed + self.per_second * billed
    }

    /// Returns the price of all machines per hour.
    pub(crate) fn hourly(&self) -> f64 {
        self.per_second * SECS_PER_HOUR
    }
}

impl Pricing {
    /// Returns the cost function of a configuration; `None` without a price, or without a spot
    /// price if requested.
    pub(crate) fn rate(&self, placement: Placement, spot: bool, startup_secs: f64) -> Option<Rate> {
        match self {
            Self::Machines(machine) => Some(Rate {
                per_second: f64::from(placement.machines) * machine.price(spot)? / SECS_PER_HOUR,
                fixed: 0.0,
                startup_secs,
                terms: Terms::Rounded(machine.billing),
            }),
            Self::Sheet { sheet, accelerated, shared_accelerators } => {
                let executors = f64::from(placement.executors);
                let resources = resources(placement, *accelerated, *shared_accelerators);
                Some(Rate {
                    per_second: executors * sheet.executor_second(resources),
                    fixed: executors * sheet.executor_charge(resources),
                    startup_secs: sheet.startup_secs,
                    terms: Terms::AtLeast(sheet.minimum_secs),
                })
            }
            Self::Unknown => None,
        }
    }

    /// Returns the machine type of the catalog, if there is one.
    pub fn machine_type(&self) -> Option<&MachineType> {
        match self {
            Self::Machines(machine) => Some(machine),
            Self::Sheet { .. } | Self::Unknown => None,
        }
    }

    /// Returns the price sheet, if the machine type is not in the catalog and the sheet covers it.
    pub fn sheet(&self) -> Option<&PriceSheet> {
        match self {
            Self::Sheet { sheet, .. } => Some(sheet),
            Self::Machines(_) | Self::Unknown => None,
        }
    }
}
