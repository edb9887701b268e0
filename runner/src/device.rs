//! What the CNN can run on, and what it runs on where nobody says: a real GPU, or else the processor.

use std::fmt;
use std::process::{Command, Stdio};
use std::str::FromStr;

use burn::tensor::{Device, ExecutionError};
use serde::{Deserialize, Serialize};

use crate::exit::unusable;

#[cfg(feature = "gpu")]
mod graphics;
#[cfg(not(feature = "gpu"))]
#[path = "device/no_graphics.rs"]
mod graphics;

pub use graphics::UNSUPPORTED;

/// A device, in the words of the executor's job description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The processor, through Burn's native device.
    Cpu,
    /// A graphics card, counted among its kind.
    DiscreteGpu(usize),
    /// Graphics in the processor, counted among its kind.
    IntegratedGpu(usize),
    /// A part of a graphics card in a virtual machine, counted among its kind.
    VirtualGpu(usize),
    /// A driver that computes graphics on the processor.
    Software,
}

/// An entry of `foreglow devices`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Its place in the list, for `--device`.
    pub index: usize,
    /// What its driver calls it.
    pub name: String,
    /// `native`, `vulkan`, `metal`, `dx12`.
    pub backend: String,
    /// `cpu`, `discrete_gpu`, `integrated_gpu`, `virtual_gpu`, `software`.
    pub kind: String,
    /// Memory of the machine for the processor, MiB; graphics interfaces do not tell that of a GPU.
    pub memory_mib: Option<u64>,
    /// What its driver says of itself.
    pub driver: Option<String>,
    /// Its address on the PCI bus, such as `0000:01:00.0`, where its driver says it.
    pub pci_bus_id: Option<String>,
    /// Limits that decide whether a CNN fits; `None` for the processor.
    pub limits: Option<Limits>,
    /// Where the executor finds it.
    pub place: Place,
}

/// Limits of an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Largest buffer, MiB.
    pub buffer_mib: u64,
    /// Largest buffer that one kernel can be given, MiB.
    pub binding_mib: u64,
    /// Invocations of one workgroup.
    pub workgroup_invocations: u32,
    /// Memory that a workgroup shares, KiB.
    pub workgroup_memory_kib: u32,
}

/// The device that a job runs on: one adapter, and all others of its make, which executors share out among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    adapter: Adapter,
    places: Vec<Place>,
    pci_bus_ids: Vec<String>,
}

impl Chosen {
    /// Where the executor of that number finds its device.
    pub fn place(&self, executor: usize) -> Place {
        self.places[executor % self.places.len()]
    }

    /// What each executor holds beside the processor, if it is hardware of its own.
    pub fn accelerator(&self) -> Option<&str> {
        self.adapter.place.is_gpu().then_some(self.adapter.name.as_str())
    }

    /// The graphics adapter that runs the CNN, hardware or software.
    pub fn adapter_name(&self) -> Option<&str> {
        (self.adapter.place != Place::Cpu).then_some(self.adapter.name.as_str())
    }

    /// Addresses of its accelerators on the PCI bus, where their driver says them.
    pub fn pci_bus_ids(&self) -> &[String] {
        &self.pci_bus_ids
    }

    /// Its place in the list.
    pub fn index(&self) -> usize {
        self.adapter.index
    }

    /// What a person calls it.
    pub fn name(&self) -> &str {
        &self.adapter.name
    }

    /// Whether the executors can be held to their memory.
    pub fn bounds_memory(&self) -> bool {
        self.adapter.place.is_native()
    }
}

/// What the person asked for with `--device`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// A real GPU if there is one, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A real GPU.
    Gpu,
    /// An entry of the list, by its number or a part of its name.
    Entry(String),
}

impl FromStr for Wish {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu,
            _ => Self::Entry(text.to_owned()),
        })
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Entry(entry) => entry,
        })
    }
}

impl Place {
    /// Opens the device.
    ///
    /// # Errors
    /// The device is missing, or this build has no GPU support.
    pub fn open(self) -> anyhow::Result<Device> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            place => graphics::open(place),
        }
    }

    /// Whether it is a piece of hardware of its own.
    pub fn is_gpu(self) -> bool {
        !matches!(self, Self::Cpu | Self::Software)
    }

    /// Whether all of its memory is the process's: only then can the process be held to a bound.
    pub fn is_native(self) -> bool {
        self == Self::Cpu
    }

    fn kind(self) -> String {
        let kind = match self {
            Self::Cpu => "cpu",
            Self::DiscreteGpu(_) => "discrete_gpu",
            Self::IntegratedGpu(_) => "integrated_gpu",
            Self::VirtualGpu(_) => "virtual_gpu",
            Self::Software => "software",
        };
        kind.to_owned()
    }
}

/// What went wrong on a device.
pub fn failure(error: ExecutionError) -> anyhow::Error {
    match error {
        ExecutionError::DevicePoisoned { reason } => {
            anyhow::anyhow!("the device was lost ({reason}); `foreglow devices` lists those that are there")
        }
        error => anyhow::anyhow!("the device failed: {error:?}"),
    }
}

/// The processor, then every graphics adapter in the driver's order, as a process of its own finds them: graphics drivers
/// write to standard error as they please, and some crash.
pub fn adapters() -> Vec<Adapter> {
    let found = std::env::current_exe().and_then(|program| {
        Command::new(program).args(["executor", "--adapters"]).stdin(Stdio::null()).stderr(Stdio::null()).output()
    });
    found.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_else(|| vec![processor()])
}

/// The adapters, as this process finds them.
pub fn probe() -> Vec<Adapter> {
    let mut found = vec![processor()];
    found.extend(graphics::adapters());
    found
}

/// Chooses what was wished for. Where that is a GPU by kind and not by name, all GPUs of its make are shared out.
///
/// # Errors
/// There is no such device; the sentence lists those that there are.
pub fn choose(wish: &Wish) -> anyhow::Result<Chosen> {
    match wish {
        // The driver is not asked where its answer does not matter: that takes a moment.
        Wish::Cpu => Ok(Chosen { adapter: processor(), places: vec![Place::Cpu], pci_bus_ids: Vec::new() }),
        _ => {
            if let (Wish::Auto, Some(reason)) = (wish, UNSUPPORTED.filter(|_| graphics::is_gpu_out_of_reach())) {
                eprintln!("note: {reason}; the CNN runs on the processor");
            }
            pick(wish, &adapters())
        }
    }
}

/// The device of executors on a cluster, which are told by the cluster which GPU is theirs.
///
/// # Errors
/// A device was named: it is one of this machine.
pub fn on_cluster(wish: &Wish) -> anyhow::Result<Chosen> {
    match wish {
        Wish::Auto | Wish::Cpu => choose(&Wish::Cpu),
        Wish::Gpu => {
            supported()?;
            let place = Place::DiscreteGpu(0);
            let adapter = Adapter { name: "gpu".into(), kind: place.kind(), place, memory_mib: None, ..processor() };
            Ok(Chosen { adapter, places: vec![place], pci_bus_ids: Vec::new() })
        }
        Wish::Entry(entry) => Err(unusable(format!(
            "--device {entry} is a device of this machine; on a cluster choose cpu, or gpu, which the cluster then assigns"
        ))),
    }
}

/// The GPU that a cluster has assigned: its address is its place among those that the driver finds.
///
/// # Errors
/// There is no such GPU.
pub fn assigned(address: &str) -> anyhow::Result<Place> {
    supported()?;
    let gpus: Vec<Place> = probe().iter().map(|adapter| adapter.place).filter(|place| place.is_gpu()).collect();
    let place = address.trim().parse().ok().and_then(|index: usize| gpus.get(index));
    let found = gpus.len();
    place.copied().ok_or_else(|| {
        anyhow::anyhow!(
            "the cluster has assigned GPU {address}, and the graphics driver finds {found} GPUs; install the GPU's Vulkan driver on \
             every worker, and have the discovery script count from 0"
        )
    })
}

/// Chooses among these; see [`choose`].
///
/// # Errors
/// What was wished for is not among them.
pub fn pick(wish: &Wish, adapters: &[Adapter]) -> anyhow::Result<Chosen> {
    let best_gpu = || {
        let rank = |adapter: &&Adapter| match adapter.place {
            Place::DiscreteGpu(_) => 0,
            Place::VirtualGpu(_) => 1,
            _ => 2,
        };
        adapters.iter().filter(|adapter| adapter.place.is_gpu()).min_by_key(rank)
    };
    let adapter = match wish {
        Wish::Cpu => None,
        Wish::Auto => best_gpu(),
        Wish::Gpu => Some(best_gpu().ok_or_else(|| {
            unusable(UNSUPPORTED.map_or_else(
                || "the graphics driver knows no GPU; use --device cpu, or install the GPU's Vulkan driver".to_owned(),
                |reason| format!("{reason}; or use --device cpu"),
            ))
        })?),
        Wish::Entry(entry) => Some(named(entry, adapters).ok_or_else(|| {
            let names: Vec<_> = adapters.iter().map(|adapter| format!("{} {}", adapter.index, adapter.name)).collect();
            let reason = UNSUPPORTED.map_or_else(String::new, |reason| format!("; {reason}"));
            let names = names.join(", ");
            unusable(format!("there is no device {entry}; choose auto, cpu, gpu or one of: {names}{reason}"))
        })?),
    };
    let adapter = adapter.cloned().unwrap_or_else(processor);
    let alike: Vec<&Adapter> = match wish {
        Wish::Auto | Wish::Gpu if adapter.place.is_gpu() => {
            let alike = |other: &&Adapter| (&other.name, &other.kind) == (&adapter.name, &adapter.kind);
            adapters.iter().filter(alike).collect()
        }
        _ => vec![&adapter],
    };
    let places = alike.iter().map(|alike| alike.place).collect();
    let pci_bus_ids = alike.iter().filter_map(|alike| alike.pci_bus_id.clone()).collect();
    Ok(Chosen { adapter, places, pci_bus_ids })
}

fn named<'a>(entry: &str, adapters: &'a [Adapter]) -> Option<&'a Adapter> {
    match entry.parse::<usize>() {
        Ok(number) => adapters.iter().find(|adapter| adapter.index == number),
        Err(_) => {
            let part = entry.to_ascii_lowercase();
            adapters.iter().find(|adapter| adapter.name.to_ascii_lowercase().contains(&part))
        }
    }
}

/// Name of the processor.
pub fn processor_name() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Hardware threads that this process may use.
pub fn processors() -> Option<u32> {
    std::thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok())
}

fn processor() -> Adapter {
    let place = Place::Cpu;
    Adapter {
        index: 0,
        name: processor_name().unwrap_or_else(|| "processor".into()),
        backend: "native".into(),
        kind: place.kind(),
        memory_mib: machine_memory_mib(),
        driver: None,
        pci_bus_id: None,
        limits: None,
        place,
    }
}

fn machine_memory_mib() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemTotal"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}

/// Checks that this build can use GPUs.
fn supported() -> anyhow::Result<()> {
    UNSUPPORTED.map_or(Ok(()), |reason| Err(unusable(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(places: &[Place]) -> Vec<Adapter> {
        let mut all = vec![processor()];
        for (index, place) in places.iter().enumerate() {
            let name = format!("Adapter {place:?}");
            all.push(Adapter { index: index + 1, name, place: *place, kind: place.kind(), ..processor() });
        }
        all
    }

    #[test]
    fn a_real_gpu_is_taken_before_the_processor_and_a_discrete_one_first() {
        let both = list(&[Place::Software, Place::IntegratedGpu(0), Place::DiscreteGpu(0)]);
        assert_eq!(pick(&Wish::Auto, &both).unwrap().place(0), Place::DiscreteGpu(0));
        let integrated = list(&[Place::IntegratedGpu(0)]);
        assert_eq!(pick(&Wish::Auto, &integrated).unwrap().place(0), Place::IntegratedGpu(0));
    }

    #[test]
    fn executors_share_out_the_gpus_of_one_make() {
        let mut two = list(&[Place::DiscreteGpu(0), Place::DiscreteGpu(1)]);
        assert_eq!(pick(&Wish::Auto, &two).unwrap().places, [Place::DiscreteGpu(0)], "two makes");
        two[2].name = two[1].name.clone();
        let chosen = pick(&Wish::Auto, &two).unwrap();
        assert_eq!([0, 1, 2].map(|executor| chosen.place(executor)), [0, 1, 0].map(Place::DiscreteGpu));
        let second = pick(&Wish::Entry("2".into()), &two).unwrap();
        assert_eq!(second.places, [Place::DiscreteGpu(1)], "a GPU that was named is meant");
    }

    #[test]
    fn a_software_adapter_is_no_gpu_and_is_taken_only_when_it_is_asked_for() {
        let software = list(&[Place::Software]);
        assert_eq!(pick(&Wish::Auto, &software).unwrap().place(0), Place::Cpu);
        assert!(pick(&Wish::Gpu, &software).unwrap_err().to_string().contains("use --device cpu"));
        for entry in ["1", "adapter soft"] {
            let chosen = pick(&Wish::Entry(entry.into()), &software).unwrap();
            assert_eq!(chosen.place(0), Place::Software);
            assert_eq!((chosen.accelerator(), chosen.adapter_name()), (None, Some("Adapter Software")));
        }
    }

    #[test]
    fn a_device_that_is_not_there_is_answered_with_those_that_are() {
        let error = pick(&Wish::Entry("9".into()), &list(&[Place::Software])).unwrap_err();
        assert!(error.to_string().contains("1 Adapter Software"), "{error}");
    }

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn a_build_without_gpu_support_says_so_wherever_a_gpu_is_asked_for() {
        for wish in [Wish::Gpu, Wish::Entry("A100".into())] {
            let sentence = choose(&wish).unwrap_err().to_string();
            assert!(sentence.contains("this build of foreglow has no GPU support"), "{sentence}");
        }
        for refused in [on_cluster(&Wish::Gpu).unwrap_err(), Place::DiscreteGpu(0).open().unwrap_err()] {
            assert!(refused.to_string().contains("no GPU support"), "{refused}");
        }
        assert_eq!(choose(&Wish::Auto).unwrap().place(0), Place::Cpu);
    }

    #[test]
    fn the_processor_is_always_listed_first() {
        let found = probe();
        assert_eq!((found[0].place, found[0].kind.as_str()), (Place::Cpu, "cpu"));
    }
}
