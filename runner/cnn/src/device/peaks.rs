//! Peak rates of a graphics device, stored in a file.
//!
//! Burn's tuner accepts a kernel that comes close to the device's peak, and measures that peak with
//! probes of its own in every process. With the file, only the first start runs these probes.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cubecl::Device;
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::throughput::{
    MemoryAccess, MemorySpec, PROBE_VERSION, ThroughputCache, ThroughputKey, ThroughputMode, ThroughputValue,
    working_set_sweep,
};
use cubecl::wgpu::{WgpuDevice, WgpuDeviceKind};
use foreglow_exit::create_in_place;
use foreglow_machine::device::DeviceId;

/// Largest working set of a probe, bytes; far above the memory of any device.
const LARGEST: u64 = 1 << 44;

type Peaks = Vec<(ThroughputKey, ThroughputValue)>;

/// Gives the tuner the peaks of an opened device that an earlier process stored in this folder.
/// Without a readable file the tuner measures them.
pub fn recall(place: DeviceId, folder: &Path) {
    let Some(client) = client(place) else { return };
    let Ok(text) = std::fs::read_to_string(file(&client, folder)) else { return };
    let Ok(peaks) = serde_json::from_str::<Peaks>(&text) else { return };
    let cache = ThroughputCache::get_for_device(client.name(), client.properties());
    let mut cache = cache.lock();
    for (key, value) in peaks {
        if cache.get(&key).is_none() {
            cache.insert(key, value);
        }
    }
}

/// Writes the peaks of this process to the file if it has more of them than the file.
///
/// # Errors
/// The file cannot be written.
pub fn keep(place: DeviceId, folder: &Path) -> anyhow::Result<()> {
    let Some(client) = client(place) else { return Ok(()) };
    let (path, cache) = (file(&client, folder), ThroughputCache::get_for_device(client.name(), client.properties()));
    let known: Peaks = {
        let cache = cache.lock();
        keys().filter_map(|key| Some((key, *cache.get(&key)?))).collect()
    };
    let written = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Peaks>(&text).ok());
    if known.len() <= written.map_or(0, |peaks| peaks.len()) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).with_context(|| format!("{} cannot be created", parent.display()))?;
    // Executors start at the same time, so each replaces the file atomically.
    let own = path.with_extension(std::process::id().to_string());
    let text = serde_json::to_string(&known).context("the peaks of the device cannot be written as JSON")?;
    create_in_place(&own)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("{} cannot be written", own.display()))?;
    std::fs::rename(&own, &path).with_context(|| format!("{} cannot be written", path.display()))
}

/// Returns the keys of all probes that the kernels of a CNN use.
fn keys() -> impl Iterator<Item = ThroughputKey> {
    let floats =
        [FloatKind::F32, FloatKind::F16].map(|kind| ThroughputMode::ComputeDirect { dtype: ElemType::Float(kind) });
    let accesses = [MemoryAccess::Copy, MemoryAccess::Read, MemoryAccess::Write];
    let sizes =
        accesses.into_iter().flat_map(|access| working_set_sweep(LARGEST).into_iter().map(move |size| (access, size)));
    let memory = sizes.map(|(access, bytes)| ThroughputMode::Memory(MemorySpec::new(access, bytes)));
    floats.into_iter().chain([ThroughputMode::Launch]).chain(memory).map(|mode| ThroughputKey { mode })
}

/// Returns the file of a device. Its name includes everything that determines the peaks: the
/// device, its driver and the probes.
fn file(client: &Client, folder: &Path) -> PathBuf {
    let identity = &client.properties().identity;
    let name = format!("{}-{}-{}-{PROBE_VERSION}", identity.name, client.name(), identity.fingerprint);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(200).collect();
    folder.join("gpu-peaks").join(format!("{name}.json"))
}

/// Returns the client of a device that is open.
fn client(place: DeviceId) -> Option<Client> {
    let kind = match place {
        DeviceId::Cpu => return None,
        DeviceId::Software => WgpuDeviceKind::Cpu,
        DeviceId::DiscreteGpu(index) => WgpuDeviceKind::DiscreteGpu(index),
        DeviceId::IntegratedGpu(index) => WgpuDeviceKind::IntegratedGpu(index),
        DeviceId::VirtualGpu(index) => WgpuDeviceKind::VirtualGpu(index),
    };
    Some(Device::Wgpu(WgpuDevice::new(kind)).client())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_all_probes_survive_the_file() {
        let all: Vec<ThroughputKey> = keys().collect();
        assert!(all.len() > 20, "{all:?}");
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<ThroughputKey>>(&text).unwrap(), all);
    }
}
