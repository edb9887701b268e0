//! Machine types that can be rented or are owned, with their prices.

mod catalog;
mod error;
mod gpu_memory;
mod own;
mod skypilot;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

pub use self::catalog::Catalog;
pub use self::error::CatalogError;
use crate::Rate;

/// Memory reserved for the operating system and the runner on each machine, MiB.
pub const SYSTEM_MIB: u32 = 512;

/// A machine type: its resources and the price of a whole machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineType {
    /// The provider's name of the type, such as `c7i.large`.
    pub name: String,
    /// The provider, such as `aws`; `own` for own hardware.
    pub provider: String,
    /// The provider's region in which the prices apply; empty for own hardware.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Hardware threads (vCPUs).
    pub processors: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// Accelerators of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerators: Option<Accelerators>,
    /// Price of a whole machine with its accelerators per hour, on demand.
    pub hourly_price: f64,
    /// Price per hour of a machine that the provider may take back at any time; `None` if there is
    /// no such offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot_price: Option<f64>,
    /// Day on which the prices were valid; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    /// How a rented machine is charged for; `None` if unknown, so that the exact time is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing: Option<BillingTerms>,
}

/// The accelerators of a machine type, all of the same kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accelerators {
    /// Name, such as `A10G`.
    pub name: String,
    /// Number in a machine, 1 or more.
    pub count: u32,
    /// Memory of one of them, MiB; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
}

/// How a provider rounds the time that it charges for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BillingTerms {
    /// Least time that is charged, seconds.
    pub minimum_secs: u32,
    /// The time is rounded up to a multiple of this, seconds; 0 charges the exact time.
    pub increment_secs: u32,
}

/// Provider name of owned machines, whose exact time is charged.
pub const OWN: &str = "own";

impl BillingTerms {
    /// Returns the published terms of a provider; `None` if they are not known.
    ///
    /// AWS and Google bill each second of a Linux machine and at least a minute; Lambda bills each
    /// started minute. Own hardware is charged for the exact time.
    pub fn of(provider: &str) -> Option<Self> {
        match provider {
            "aws" | "gcp" => Some(Self { minimum_secs: 60, increment_secs: 1 }),
            "lambda" => Some(Self { minimum_secs: 60, increment_secs: 60 }),
            OWN => Some(Self { minimum_secs: 0, increment_secs: 0 }),
            _ => None,
        }
    }
}

impl MachineType {
    /// Returns whether a text can be the name of a machine type: at most 100 visible characters of
    /// ASCII, without spaces.
    ///
    /// ```
    /// use foreglow_shared::MachineType;
    ///
    /// assert!(MachineType::is_name("c5.xlarge") && MachineType::is_name("n1-standard-4+1xT4"));
    /// assert!(!MachineType::is_name("Some CPU, 8 processors") && !MachineType::is_name(""));
    /// ```
    pub fn is_name(text: &str) -> bool {
        (1..=100).contains(&text.len()) && text.bytes().all(|letter| letter.is_ascii_graphic())
    }

    /// Returns the price per hour: on demand, or spot. `None` if there is no spot price.
    pub fn price(&self, spot: bool) -> Option<f64> {
        if spot { self.spot_price } else { Some(self.hourly_price) }
    }

    /// Returns what machines of this type cost by their time, on demand or spot; `None` if there is
    /// no spot price. They are charged for `startup_secs` before the completion time starts.
    ///
    /// ```
    /// use foreglow_shared::Catalog;
    ///
    /// let catalog = Catalog::built_in();
    /// let rate = catalog.find("c5.xlarge").unwrap().rate(3, false, 0.0).unwrap();
    /// // A minute at least, and started seconds as whole ones: 3 machines × 251 s × USD 0.17 an
    /// // hour.
    /// assert_eq!((rate.billed_secs(12.3), rate.billed_secs(250.2)), (60.0, 251.0));
    /// assert!((rate.cost(250.2) - 0.035558).abs() < 1e-6);
    /// ```
    pub fn rate(&self, machines: u32, spot: bool, startup_secs: f64) -> Option<Rate> {
        let billing = self.billing.unwrap_or(BillingTerms { minimum_secs: 0, increment_secs: 0 });
        Some(Rate {
            units: f64::from(machines),
            start: 0.0,
            hour: self.price(spot)?,
            share: 1.0,
            startup_secs,
            minimum_secs: f64::from(billing.minimum_secs),
            increment_secs: f64::from(billing.increment_secs),
        })
    }

    /// Returns the number of accelerators.
    pub fn accelerator_count(&self) -> u32 {
        self.accelerators.as_ref().map_or(0, |accelerators| accelerators.count)
    }

    /// Returns a short description: `4 processors, 16 GiB, 1 × T4`.
    pub fn describe(&self) -> String {
        let gib = f64::from(self.memory_mib) / 1024.0;
        let gib = format!("{gib:.1}");
        let mut text = format!("{} processors, {} GiB", self.processors, gib.strip_suffix(".0").unwrap_or(&gib));
        if let Some(Accelerators { name, count, .. }) = &self.accelerators {
            text.push_str(&format!(", {count} × {name}"));
        }
        text
    }
}
