//! Replaces `graphics` in a build without the cargo feature `gpu`: the CPU is the only device.

use burn::tensor::Device;
use foreglow_machine::device::{Adapter, DeviceId, UNSUPPORTED};

/// Opens no device.
///
/// # Errors
/// Always: this build has no GPU support.
pub fn open(_: DeviceId) -> anyhow::Result<Device> {
    anyhow::bail!(UNSUPPORTED.unwrap_or("this build has no GPU support"))
}

/// Returns no adapter.
pub fn adapters() -> Vec<Adapter> {
    Vec::new()
}
