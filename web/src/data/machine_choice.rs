//! The user's choices among machine types. The address contains them.

use foreglow_shared::Devices;
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
    /// Name of the machine type; `None` for that of the selected job.
    pub machine: Option<String>,
    /// Images per forward pass; `None` for those of the selected job.
    pub batch_size: Option<u32>,
    /// Images of one task; `None` for the most frequent number.
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
