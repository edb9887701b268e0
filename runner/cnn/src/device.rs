//! Opens the devices that run CNNs, and lists them in this process.

use std::path::Path;

use burn::tensor::{Device, ExecutionError, FloatDType};
use foreglow_exit::unusable;
use foreglow_machine::device::{Adapter, DeviceId, UNSUPPORTED, processor};
use foreglow_shared::NumberFormat;

#[cfg(feature = "gpu")]
mod graphics;
#[cfg(not(feature = "gpu"))]
#[path = "device/no_graphics.rs"]
mod graphics;
#[cfg(feature = "gpu")]
mod peaks;
#[cfg(feature = "gpu")]
pub(crate) use self::graphics::{Matrices, matrices};

/// Burn's message for a failed allocation, which it reports when a kernel uses the buffer.
const NOT_ALLOCATED: &str = "Memory location was never initialized";

/// Opens the device.
///
/// # Errors
/// The device does not exist, no longer exists, or this build has no GPU support.
pub fn open(place: DeviceId) -> anyhow::Result<Device> {
    match place {
        DeviceId::Cpu => Ok(Device::flex()),
        place => graphics::open(place),
    }
}

/// Opens the device and makes a number format its default, which a process can do once.
///
/// # Errors
/// As for [`open`], or the device does not compute in this format.
pub fn open_in(place: DeviceId, format: NumberFormat) -> anyhow::Result<Device> {
    let mut device = open(place)?;
    let dtype = match format {
        NumberFormat::F32 => return Ok(device),
        NumberFormat::F16 => FloatDType::F16,
        NumberFormat::Bf16 => FloatDType::BF16,
    };
    anyhow::ensure!(device.supports_dtype(dtype), "the device does not compute in {format}; use --dtype f32");
    device.configure(dtype).map_err(|error| anyhow::anyhow!("the device cannot be set to {format}: {error:?}"))?;
    Ok(device)
}

/// Gives the tuner of an opened device the measurements that an earlier process stored in this
/// folder.
#[cfg_attr(not(feature = "gpu"), expect(unused_variables, reason = "the CPU has no tuner"))]
pub fn recall_peaks(place: DeviceId, folder: &Path) {
    #[cfg(feature = "gpu")]
    peaks::recall(place, folder);
}

/// Stores the measurements of the device's tuner for later processes.
///
/// # Errors
/// The file cannot be written.
#[cfg_attr(not(feature = "gpu"), expect(unused_variables, reason = "the CPU has no tuner"))]
pub fn keep_peaks(place: DeviceId, folder: &Path) -> anyhow::Result<()> {
    #[cfg(feature = "gpu")]
    peaks::keep(place, folder)?;
    Ok(())
}

/// Converts an error of a device to a message.
pub fn failure(error: ExecutionError) -> anyhow::Error {
    match error {
        ExecutionError::DevicePoisoned { reason } => {
            anyhow::anyhow!("the device was lost ({reason}); `foreglow devices` lists the available devices")
        }
        error => {
            let words = format!("{error:?}");
            match words.contains(NOT_ALLOCATED) {
                true => anyhow::anyhow!("out of memory: the device could not allocate a buffer"),
                false => anyhow::anyhow!("the device failed: {words}"),
            }
        }
    }
}

/// Lists the adapters in this process.
pub fn probe() -> Vec<Adapter> {
    let mut found = vec![processor()];
    found.extend(graphics::adapters());
    found
}

/// Returns the GPU that a cluster has assigned: its address is its index among those that the
/// driver finds.
///
/// # Errors
/// There is no such GPU.
pub fn assigned(address: &str) -> anyhow::Result<Adapter> {
    supported()?;
    let gpus: Vec<Adapter> = probe().into_iter().filter(|adapter| adapter.place.is_gpu()).collect();
    let gpu = address.trim().parse().ok().and_then(|index: usize| gpus.get(index));
    let found = gpus.len();
    gpu.cloned().ok_or_else(|| {
        anyhow::anyhow!(
            "the cluster has assigned GPU {address}, and the graphics driver finds {found} GPUs; install the GPU's Vulkan driver on \
             every worker, and have the discovery script count from 0"
        )
    })
}

/// Checks that this build can use GPUs.
fn supported() -> anyhow::Result<()> {
    UNSUPPORTED.map_or(Ok(()), |reason| Err(unusable(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn a_build_without_gpu_support_opens_no_gpu_and_says_why() {
        for refused in [assigned("0").unwrap_err(), open(DeviceId::DiscreteGpu(0)).unwrap_err()] {
            assert!(refused.to_string().contains("no GPU support"), "{refused}");
        }
    }

    #[test]
    fn the_cpu_is_always_listed_first() {
        let found = probe();
        assert_eq!((found[0].place, found[0].kind.as_str()), (DeviceId::Cpu, "cpu"));
    }
}
