//! State of an accelerator: NVIDIA's through NVML, which is part of the driver, AMD's through
//! sysfs.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use serde::Serialize;

use super::Warning;

/// Utilisation before a run, per cent, above which an accelerator counts as shared.
const BUSY_PERCENT: u32 = 10;
/// Drivers report the utilisation of the last second or less (NVML: `nvmlUtilization_t`).
const SAMPLING_PERIOD: Duration = Duration::from_millis(1100);
/// Throttle reasons that slow an NVIDIA accelerator under load.
const SLOWED: ThrottleReasons = ThrottleReasons::SW_THERMAL_SLOWDOWN.union(ThrottleReasons::HW_SLOWDOWN);

/// An accelerator whose state can be read.
#[derive(Debug)]
pub enum Accelerator {
    /// PCI bus address, such as `0000:01:00.0`.
    Nvidia(String),
    /// Folder below `/sys/bus/pci/devices`.
    Amd(PathBuf),
}

/// Momentary state of an accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AcceleratorUse {
    /// Share of the last sampling period with work, per cent.
    pub use_percent: Option<u32>,
    /// Memory in use, MiB.
    pub memory_used_mib: Option<u64>,
    /// Processes that compute on it.
    pub processes: Option<u32>,
    /// Whether heat or power limits slow it.
    pub is_throttled: Option<bool>,
}

impl Accelerator {
    /// Opens the accelerator at a PCI address; `None` if its driver reports no state.
    pub fn open(bus_id: &str) -> Option<Self> {
        let folder = PathBuf::from("/sys/bus/pci/devices").join(bus_id);
        if folder.join("gpu_busy_percent").exists() {
            return Some(Self::Amd(folder));
        }
        library()?.device_by_pci_bus_id(bus_id).ok()?;
        Some(Self::Nvidia(bus_id.to_owned()))
    }

    /// Reads the state before a run. A busy accelerator is read again after a sampling period,
    /// because the load may be that of the previous run.
    pub fn look_before_run(&self) -> AcceleratorUse {
        let now = self.look();
        if now.sharing().is_none() {
            return now;
        }
        std::thread::sleep(SAMPLING_PERIOD);
        self.look()
    }

    /// Reads the current state.
    pub fn look(&self) -> AcceleratorUse {
        match self {
            Self::Nvidia(bus_id) => nvidia(bus_id).unwrap_or_default(),
            Self::Amd(folder) => {
                let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
                AcceleratorUse {
                    use_percent: read("gpu_busy_percent").and_then(|percent| u32::try_from(percent).ok()),
                    memory_used_mib: read("mem_info_vram_used").map(|bytes| bytes >> 20),
                    processes: None,
                    is_throttled: None,
                }
            }
        }
    }
}

/// Returns the memory of the accelerator at a PCI address, MiB; `None` if its driver does not
/// report it.
pub fn accelerator_memory_mib(bus_id: &str) -> Option<u64> {
    match Accelerator::open(bus_id)? {
        Accelerator::Nvidia(bus_id) => {
            let device = library()?.device_by_pci_bus_id(bus_id).ok()?;
            Some(device.memory_info().ok()?.total >> 20)
        }
        Accelerator::Amd(folder) => {
            let bytes = std::fs::read_to_string(folder.join("mem_info_vram_total")).ok()?;
            Some(bytes.trim().parse::<u64>().ok()? >> 20)
        }
    }
}

/// Returns the GPUs whose driver is NVIDIA's or AMD's, in the order of their addresses.
pub fn installed() -> Vec<foreglow_shared::Accelerator> {
    let of = |name: String, memory_mib: Option<u64>, bus_id: String| foreglow_shared::Accelerator {
        name,
        memory_mib,
        pci_bus_id: Some(bus_id),
        ..foreglow_shared::Accelerator::default()
    };
    let nvidia = |index: u32| {
        let device = library()?.device_by_index(index).ok()?;
        let bus_id = device.pci_info().ok()?.bus_id.to_ascii_lowercase();
        // NVML writes eight digits for the domain, and Linux four.
        let bus_id = bus_id.strip_prefix("0000").filter(|short| short.len() == 12).unwrap_or(&bus_id).to_owned();
        Some(of(device.name().ok()?, device.memory_info().ok().map(|memory| memory.total >> 20), bus_id))
    };
    let count = library().and_then(|library| library.device_count().ok()).unwrap_or(0);
    let mut all: Vec<foreglow_shared::Accelerator> = (0..count).filter_map(nvidia).collect();
    for entry in std::fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten() {
        let bus_id = entry.file_name().to_string_lossy().into_owned();
        let Ok(name) = std::fs::read_to_string(entry.path().join("product_name")) else { continue };
        if matches!(Accelerator::open(&bus_id), Some(Accelerator::Amd(_))) && !name.trim().is_empty() {
            all.push(of(name.trim().to_owned(), accelerator_memory_mib(&bus_id), bus_id));
        }
    }
    all
}

impl AcceleratorUse {
    /// Combines two accelerators. Utilisation is the maximum, because a mean would hide a busy one.
    pub fn with(self, other: Self) -> Self {
        Self {
            use_percent: self.use_percent.max(other.use_percent),
            memory_used_mib: sum(self.memory_used_mib, other.memory_used_mib),
            processes: sum(self.processes, other.processes),
            is_throttled: self.is_throttled.max(other.is_throttled),
        }
    }

    /// Returns a warning if other programs use the accelerator; call it before a run.
    pub fn sharing(&self) -> Option<Warning> {
        let (processes, use_percent) = (self.processes.unwrap_or(0), self.use_percent.unwrap_or(0));
        (processes > 0 || use_percent > BUSY_PERCENT).then_some(Warning::SharedAccelerator { processes, use_percent })
    }

    /// Returns a warning if the accelerator is throttled.
    pub fn throttling(&self) -> Option<Warning> {
        (self.is_throttled == Some(true)).then_some(Warning::ThrottledAccelerator)
    }
}

fn sum<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

/// Returns NVML, if the driver is installed.
fn library() -> Option<&'static Nvml> {
    static LIBRARY: OnceLock<Option<Nvml>> = OnceLock::new();
    LIBRARY.get_or_init(|| Nvml::init().ok()).as_ref()
}

fn nvidia(bus_id: &str) -> Option<AcceleratorUse> {
    let device = library()?.device_by_pci_bus_id(bus_id).ok()?;
    Some(AcceleratorUse {
        use_percent: device.utilization_rates().ok().map(|rates| rates.gpu),
        memory_used_mib: device.memory_info().ok().map(|memory| memory.used >> 20),
        processes: device.running_compute_processes_count().ok(),
        is_throttled: device.current_throttle_reasons().ok().map(|reasons| reasons.intersects(SLOWED)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_and_throttled_accelerators_give_warnings() {
        let idle = AcceleratorUse { use_percent: Some(3), processes: Some(0), ..AcceleratorUse::default() };
        assert_eq!((idle.sharing(), idle.throttling()), (None, None));
        let busy = AcceleratorUse { use_percent: Some(80), is_throttled: Some(true), ..AcceleratorUse::default() };
        assert_eq!(busy.sharing(), Some(Warning::SharedAccelerator { processes: 0, use_percent: 80 }));
        assert_eq!(busy.throttling(), Some(Warning::ThrottledAccelerator));
        let both = idle.with(busy);
        assert_eq!((both.use_percent, both.processes, both.is_throttled), (Some(80), Some(0), Some(true)));
    }

    #[test]
    fn an_address_without_an_accelerator_is_none() {
        assert!(Accelerator::open("ffff:ff:1f.7").is_none());
    }
}
