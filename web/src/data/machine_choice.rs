//! The user's choices among machine types. The address contains them.

use foreglow_shared::{Devices, WhatIf, decoded, encoded};
use serde::{Deserialize, Serialize};

/// The machine types to compare, the user's prices, and the what-if over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineChoice {
    /// Kind of device.
    pub devices: Devices,
    /// Names of excluded machine types.
    pub without: Vec<String>,
    /// The user's prices per hour, by name of the machine type.
    pub prices: Vec<(String, f64)>,
    /// Largest price of all machines per hour.
    pub max_hourly_cost: Option<f64>,
    /// Whether machines are rented at spot prices.
    pub spot: bool,
    /// The what-if.
    pub pick: MachinePick,
}

/// Choices of the what-if besides executors and cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachinePick {
    /// Name of the machine type; `None` for that of the recommended configuration.
    pub machine: Option<String>,
    /// Images per forward pass; `None` for those of the recommended configuration, or else the
    /// selected job.
    pub batch_size: Option<u32>,
    /// Images of one task; `None` for those of the recommended configuration, or else the most
    /// frequent number.
    pub partition_size: Option<u32>,
    /// Memory of each executor, MiB; `None` for the memory that the measured peaks require, or else
    /// the largest measured one.
    pub memory_per_executor_mib: Option<u32>,
}

impl MachineChoice {
    /// Whether a machine type is in the comparison.
    pub fn keeps(&self, machine: &str, is_accelerated: bool) -> bool {
        self.devices.includes(is_accelerated) && !self.without.iter().any(|name| name == machine)
    }
}

/// A configuration that a user selects: executors and cores, on a machine type and with sizes if
/// there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Executors and their cores.
    pub counts: WhatIf,
    /// Machine type and sizes.
    pub pick: MachinePick,
}

impl Default for Selection {
    fn default() -> Self {
        Self { counts: WhatIf { executors: 1, cores_per_executor: 1 }, pick: MachinePick::default() }
    }
}

impl From<WhatIf> for Selection {
    fn from(counts: WhatIf) -> Self {
        Self { counts, pick: MachinePick::default() }
    }
}

impl Selection {
    /// Formats it for an address: `2x4:c5.xlarge:8::`.
    pub fn to_address(&self) -> String {
        let WhatIf { executors, cores_per_executor } = self.counts;
        let MachinePick { machine, batch_size, partition_size, memory_per_executor_mib } = &self.pick;
        let machine = encoded(machine.as_deref().unwrap_or_default());
        let sizes = [batch_size, partition_size, memory_per_executor_mib];
        let sizes = sizes.map(|size| size.map(|size| size.to_string()).unwrap_or_default()).join(":");
        format!("{executors}x{cores_per_executor}:{machine}:{sizes}")
    }

    /// Reads [`Selection::to_address`]; `None` if it is invalid.
    pub fn from_address(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (executors, cores) = parts.next()?.split_once('x')?;
        let count = |text: &str| text.parse().ok().filter(|count: &u32| *count > 0);
        let counts = WhatIf { executors: count(executors)?, cores_per_executor: count(cores)? };
        let machine = decoded(parts.next()?)?;
        let mut size = || parts.next().and_then(count);
        let pick = MachinePick {
            machine: Some(machine).filter(|machine| !machine.is_empty()),
            batch_size: size(),
            partition_size: size(),
            memory_per_executor_mib: size(),
        };
        Some(Self { counts, pick })
    }
}
