//! Prices of an arm's configurations.

use foreglow_shared::{MachineType, PriceSheet, Rate};
use serde::{Deserialize, Serialize};

use super::Placement;

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

impl Pricing {
    /// Returns the cost function of a configuration; `None` without a price, or without a spot
    /// price if requested.
    pub(crate) fn rate(&self, placement: Placement, spot: bool, startup_secs: f64) -> Option<Rate> {
        match self {
            Self::Machines(machine) => machine.rate(placement.machines, spot, startup_secs),
            Self::Sheet { sheet, accelerated, shared_accelerators } => {
                sheet.rate(placement.resources(*accelerated, *shared_accelerators))
            }
            Self::Unknown => None,
        }
    }

    /// Returns the prices under which a configuration costs its executor-hours.
    pub(crate) fn executor_hours() -> Self {
        let sheet = PriceSheet {
            executor_hour: 1.0,
            core_hour: 0.0,
            gib_hour: 0.0,
            accelerator_hour: 0.0,
            executor_start: 0.0,
            startup_secs: 0.0,
            minimum_secs: 0.0,
            discount: 0.0,
            ..PriceSheet::example()
        };
        Self::Sheet { sheet, accelerated: false, shared_accelerators: None }
    }

    /// Returns the prices of executors without the accelerators that they share. If they share
    /// some, also their number and the prices of executors that share a single one.
    pub(super) fn without_shared_accelerators(&self) -> (Self, Option<(u32, Self)>) {
        let with = |count: u32| match self {
            Self::Sheet { sheet, accelerated, .. } => {
                Self::Sheet { sheet: sheet.clone(), accelerated: *accelerated, shared_accelerators: Some(count) }
            }
            other => other.clone(),
        };
        match self {
            Self::Sheet { shared_accelerators: Some(count), .. } => (with(0), Some((*count, with(1)))),
            _ => (self.clone(), None),
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
