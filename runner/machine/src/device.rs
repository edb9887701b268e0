//! Devices that can run a CNN, and the default: a real GPU, or else the CPU.

use std::fmt;
use std::process::{Command, Stdio};
use std::str::FromStr;

use foreglow_exit::unusable;
use foreglow_shared::{Accelerator, NumberFormat};
use serde::{Deserialize, Serialize};

use crate::accelerator::installed;
pub use crate::gpu_support::UNSUPPORTED;
use crate::gpu_support::is_gpu_out_of_reach;
use crate::processor::{machine_memory_mib, processor_name};

/// Name of a GPU on a cluster before its executors have reported its real name.
pub const UNNAMED_GPU: &str = "gpu";

/// A device, as encoded in an executor's assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceId {
    /// The CPU, through Burn's native device.
    Cpu,
    /// A discrete GPU, by its index among discrete GPUs.
    DiscreteGpu(usize),
    /// An integrated GPU, by its index among integrated GPUs.
    IntegratedGpu(usize),
    /// A virtual GPU, by its index among virtual GPUs.
    VirtualGpu(usize),
    /// A software driver that renders on the CPU.
    Software,
}

/// An entry of `foreglow devices`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Position in the list, for `--device`.
    pub index: usize,
    /// Name reported by the driver.
    pub name: String,
    /// `native`, `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// `cpu`, `discrete_gpu`, `integrated_gpu`, `virtual_gpu` or `software`.
    pub kind: String,
    /// Memory of the machine for the CPU; that of a GPU if its driver reports it, MiB.
    pub memory_mib: Option<u64>,
    /// Name and version of the driver.
    pub driver: Option<String>,
    /// PCI bus address, such as `0000:01:00.0`, if the driver reports it.
    pub pci_bus_id: Option<String>,
    /// Limits that decide whether a CNN fits; `None` for the CPU.
    pub limits: Option<Limits>,
    /// Number formats in which it computes.
    pub number_formats: Vec<NumberFormat>,
    /// Device for the executor's assignment.
    pub place: DeviceId,
}

/// Limits of an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Largest buffer, MiB.
    pub buffer_mib: u64,
    /// Largest buffer binding of a kernel, MiB.
    pub binding_mib: u64,
    /// Invocations per workgroup.
    pub workgroup_invocations: u32,
    /// Shared memory per workgroup, KiB.
    pub workgroup_memory_kib: u32,
}

/// Device of a job: one adapter and, if it is a GPU, all GPUs of the same make, over which the
/// executors are spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    adapter: Adapter,
    /// In the driver's order, but starting with the selected one.
    alike: Vec<Adapter>,
    /// Whether several executors may share a GPU.
    is_shared: bool,
    /// Whether a cluster assigns the GPUs.
    is_assigned: bool,
}

impl Chosen {
    fn one(adapter: Adapter) -> Self {
        Self { alike: vec![adapter.clone()], adapter, is_shared: false, is_assigned: false }
    }

    /// Returns the same device with GPUs that several executors may share.
    ///
    /// # Errors
    /// A cluster assigns the GPUs.
    pub fn shared(mut self, is_shared: bool) -> anyhow::Result<Self> {
        if is_shared && self.is_assigned {
            return Err(unusable("--share-gpu is for the GPUs of this machine; a cluster assigns its own"));
        }
        self.is_shared = is_shared && self.adapter.place.is_gpu();
        Ok(self)
    }

    /// Returns the device of an executor, counted from 0.
    pub fn place(&self, executor: usize) -> DeviceId {
        self.alike[executor % self.alike.len()].place
    }

    /// Whether several executors may share a GPU.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns the maximum number of executors: one per GPU of this machine; `None` on the
    /// processor, on a cluster, and if executors may share a GPU.
    pub fn most_executors(&self) -> Option<u32> {
        let is_counted = self.adapter.place.is_gpu() && !self.is_shared && !self.is_assigned;
        is_counted.then(|| u32::try_from(self.alike.len()).unwrap_or(u32::MAX))
    }

    /// Checks that there is a GPU for each executor.
    ///
    /// # Errors
    /// There are more executors than GPUs, and they may not share them.
    pub fn check_executors(&self, executors: u32) -> anyhow::Result<()> {
        match self.most_executors() {
            Some(most) if executors > most => {
                let gpus = if most == 1 { "1 GPU".to_owned() } else { format!("{most} GPUs") };
                Err(unusable(format!(
                    "--executors {executors} exceeds the {gpus} ({}) of this machine, and each executor needs its own; \
                     choose at most {most}, or let several share a GPU with --share-gpu",
                    self.adapter.name
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the executors can compute in a number format. On a cluster they check it
    /// themselves.
    ///
    /// # Errors
    /// The device does not support it.
    pub fn check_number_format(&self, format: NumberFormat) -> anyhow::Result<()> {
        if self.is_assigned { Ok(()) } else { self.adapter.check_number_format(format) }
    }

    /// Returns the GPUs that the executors are spread over, in the driver's order; empty on the
    /// processor and on a cluster, which assigns its own.
    pub fn accelerators(&self) -> Vec<Accelerator> {
        if !self.adapter.place.is_gpu() || self.is_assigned {
            return Vec::new();
        }
        let mut alike = self.alike.clone();
        alike.sort_by_key(|adapter| adapter.index);
        let accelerator = |adapter: Adapter| Accelerator {
            name: adapter.name,
            memory_mib: adapter.memory_mib,
            pci_bus_id: adapter.pci_bus_id,
            extra: serde_json::Map::new(),
        };
        alike.into_iter().map(accelerator).collect()
    }

    /// Whether executors on this device can have the accelerator of a sample. On a cluster its name
    /// is unknown until they run.
    pub fn may_have(&self, accelerator: Option<&str>) -> bool {
        match self.is_assigned {
            true => accelerator.is_some() == self.accelerator().is_some(),
            false => accelerator == self.accelerator(),
        }
    }

    /// Returns the name of each executor's accelerator, if the device is a GPU.
    pub fn accelerator(&self) -> Option<&str> {
        self.adapter.place.is_gpu().then_some(self.adapter.name.as_str())
    }

    /// Returns the name of the graphics adapter that runs the CNN, hardware or software.
    pub fn adapter_name(&self) -> Option<&str> {
        (self.adapter.place != DeviceId::Cpu).then_some(self.adapter.name.as_str())
    }

    /// Returns the PCI bus addresses of the accelerators, as far as the driver reports them.
    pub fn pci_bus_ids(&self) -> Vec<String> {
        self.alike.iter().filter_map(|adapter| adapter.pci_bus_id.clone()).collect()
    }

    /// Returns the position in the list.
    pub fn index(&self) -> usize {
        self.adapter.index
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &str {
        &self.adapter.name
    }

    /// Returns whether the memory of the executors can be limited.
    pub fn bounds_memory(&self) -> bool {
        self.adapter.place.is_native()
    }
}

/// Value of `--device`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A real GPU if there is one, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A real GPU.
    Gpu,
    /// An entry of the list, by its number or a part of its name.
    Entry(String),
}

impl FromStr for DeviceChoice {
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

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Entry(entry) => entry,
        })
    }
}

impl DeviceId {
    /// Returns whether the device is a hardware accelerator.
    pub fn is_gpu(self) -> bool {
        !matches!(self, Self::Cpu | Self::Software)
    }

    /// Returns whether the device uses only the process's own memory, so that the memory can be
    /// limited.
    pub fn is_native(self) -> bool {
        self == Self::Cpu
    }

    /// Returns the name of its kind in the list of devices.
    pub fn kind(self) -> String {
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

/// Lists the CPU and then every graphics adapter in the driver's order. A child process does the
/// listing, because some graphics drivers write to standard error or crash.
pub fn adapters() -> Vec<Adapter> {
    let found = std::env::current_exe().and_then(|program| {
        Command::new(program).args(["executor", "--adapters"]).stdin(Stdio::null()).stderr(Stdio::null()).output()
    });
    found.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_else(|| vec![processor()])
}

/// Chooses the requested device. If that is a GPU, by whatever name, the executors are spread over
/// all GPUs of the same make.
///
/// # Errors
/// There is no such device; the message lists the available ones.
pub fn choose(choice: &DeviceChoice) -> anyhow::Result<Chosen> {
    match choice {
        // Listing the adapters takes a moment, which the CPU does not need.
        DeviceChoice::Cpu => Ok(Chosen::one(processor())),
        _ => {
            if let (DeviceChoice::Auto, Some(reason)) = (choice, UNSUPPORTED.filter(|_| is_gpu_out_of_reach())) {
                foreglow_exit::note(&format!("note: {reason}; the CNN runs on the CPU"));
            }
            pick(choice, &adapters())
        }
    }
}

/// Returns the device of executors on a cluster, which assigns the GPUs itself.
///
/// # Errors
/// A specific device of this machine was requested.
pub fn on_cluster(choice: &DeviceChoice) -> anyhow::Result<Chosen> {
    match choice {
        DeviceChoice::Auto | DeviceChoice::Cpu => choose(&DeviceChoice::Cpu),
        DeviceChoice::Gpu => {
            let place = DeviceId::DiscreteGpu(0);
            let adapter =
                Adapter { name: UNNAMED_GPU.into(), kind: place.kind(), place, memory_mib: None, ..processor() };
            Ok(Chosen { is_assigned: true, ..Chosen::one(adapter) })
        }
        DeviceChoice::Entry(entry) => Err(unusable(format!(
            "--device {entry} is a device of this machine; on a cluster choose cpu, or gpu, which the cluster then assigns"
        ))),
    }
}

/// Returns the device of the user's own program, whose GPUs are counted by their drivers, because
/// it need not use the graphics driver. `gpus` is the most that it uses on a machine; without it,
/// it uses a GPU if there is one. If no GPU is found, or the program runs on other machines, the
/// GPUs are unnamed.
///
/// # Errors
/// The machine has fewer GPUs, or the CPU was asked for together with GPUs.
pub fn of_program(choice: &DeviceChoice, gpus: Option<u32>, is_here: bool) -> anyhow::Result<Chosen> {
    program_device(choice, gpus, if is_here { installed() } else { Vec::new() })
}

fn program_device(choice: &DeviceChoice, gpus: Option<u32>, mut installed: Vec<Accelerator>) -> anyhow::Result<Chosen> {
    let is_asked = gpus.is_some() || matches!(choice, DeviceChoice::Gpu | DeviceChoice::Entry(_));
    if matches!(choice, DeviceChoice::Cpu) && gpus.is_some() {
        return Err(unusable("--gpus are not for --device cpu; leave one of the two out"));
    }
    if let DeviceChoice::Entry(name) = choice {
        let name = name.to_ascii_lowercase();
        installed.retain(|gpu| gpu.name.to_ascii_lowercase().contains(&name));
    }
    if matches!(choice, DeviceChoice::Cpu) || (!is_asked && installed.is_empty()) {
        return Ok(Chosen::one(processor()));
    }
    // Times on different GPUs are not comparable.
    let name = installed.first().map(|gpu| gpu.name.clone());
    installed.retain(|gpu| Some(&gpu.name) == name.as_ref());
    let count = u32::try_from(installed.len()).unwrap_or(u32::MAX);
    if let (Some(name), Some(most)) = (&name, gpus.filter(|most| count > 0 && *most > count)) {
        let there = if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") };
        return Err(unusable(format!(
            "--gpus {most} exceeds the {there} ({name}) of this machine; give {count} or less"
        )));
    }
    let named = |name: String| {
        let place = DeviceId::DiscreteGpu(0);
        Adapter { name, kind: place.kind(), place, memory_mib: None, ..processor() }
    };
    let unnamed = if let DeviceChoice::Entry(name) = choice { name.as_str() } else { UNNAMED_GPU };
    let adapter = |(index, gpu): (usize, &Accelerator)| Adapter {
        index: index + 1,
        memory_mib: gpu.memory_mib,
        pci_bus_id: gpu.pci_bus_id.clone(),
        ..named(gpu.name.clone())
    };
    let alike: Vec<Adapter> = installed.iter().enumerate().map(adapter).collect();
    let first = alike.first().cloned();
    let is_assigned = first.is_none();
    let chosen = Chosen { is_assigned, ..Chosen::one(first.unwrap_or_else(|| named(unnamed.to_owned()))) };
    Ok(if is_assigned { chosen } else { Chosen { alike, ..chosen } })
}

/// Selects among these adapters; see [`choose`].
///
/// # Errors
/// The requested device is not among them.
pub fn pick(choice: &DeviceChoice, adapters: &[Adapter]) -> anyhow::Result<Chosen> {
    let best_gpu = || {
        let rank = |adapter: &&Adapter| match adapter.place {
            DeviceId::DiscreteGpu(_) => 0,
            DeviceId::VirtualGpu(_) => 1,
            _ => 2,
        };
        let is_fit = |adapter: &&Adapter| adapter.place.is_gpu() && adapter.shortcoming().is_none();
        adapters.iter().filter(is_fit).min_by_key(rank)
    };
    let adapter = match choice {
        DeviceChoice::Cpu => None,
        DeviceChoice::Auto => best_gpu(),
        DeviceChoice::Gpu => Some(best_gpu().ok_or_else(|| {
            if let Some(reason) =
                adapters.iter().filter(|adapter| adapter.place.is_gpu()).find_map(Adapter::shortcoming)
            {
                return unusable(reason);
            }
            unusable(UNSUPPORTED.map_or_else(
                || "the graphics driver finds no GPU; use --device cpu, or install the GPU's Vulkan driver".to_owned(),
                |reason| format!("{reason}; or use --device cpu"),
            ))
        })?),
        DeviceChoice::Entry(entry) => Some(named(entry, adapters).ok_or_else(|| {
            let names: Vec<_> = adapters.iter().map(|adapter| format!("{} {}", adapter.index, adapter.name)).collect();
            let reason = UNSUPPORTED.map_or_else(String::new, |reason| format!("; {reason}"));
            let names = names.join(", ");
            unusable(format!("there is no device {entry}; choose auto, cpu, gpu or one of: {names}{reason}"))
        })?),
    };
    let adapter = adapter.cloned().unwrap_or_else(processor);
    if let Some(reason) = adapter.shortcoming() {
        return Err(unusable(reason));
    }
    if !adapter.place.is_gpu() {
        return Ok(Chosen::one(adapter));
    }
    let is_alike = |other: &&Adapter| (&other.name, &other.kind) == (&adapter.name, &adapter.kind);
    let mut alike: Vec<Adapter> = adapters.iter().filter(is_alike).cloned().collect();
    let first = alike.iter().position(|other| other.index == adapter.index).unwrap_or(0);
    alike.rotate_left(first);
    Ok(Chosen { alike, ..Chosen::one(adapter) })
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

/// Returns the CPU as an entry of the list.
pub fn processor() -> Adapter {
    let place = DeviceId::Cpu;
    Adapter {
        index: 0,
        name: processor_name().unwrap_or_else(|| "processor".into()),
        backend: "native".into(),
        kind: place.kind(),
        memory_mib: machine_memory_mib(),
        driver: None,
        pci_bus_id: None,
        limits: None,
        number_formats: vec![NumberFormat::F32],
        place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(places: &[DeviceId]) -> Vec<Adapter> {
        let mut all = vec![processor()];
        for (index, place) in places.iter().enumerate() {
            let name = format!("Adapter {place:?}");
            all.push(Adapter { index: index + 1, name, place: *place, kind: place.kind(), ..processor() });
        }
        all
    }

    #[test]
    fn a_gpu_is_preferred_to_the_cpu_and_a_discrete_gpu_to_others() {
        let both = list(&[DeviceId::Software, DeviceId::IntegratedGpu(0), DeviceId::DiscreteGpu(0)]);
        assert_eq!(pick(&DeviceChoice::Auto, &both).unwrap().place(0), DeviceId::DiscreteGpu(0));
        let integrated = list(&[DeviceId::IntegratedGpu(0)]);
        assert_eq!(pick(&DeviceChoice::Auto, &integrated).unwrap().place(0), DeviceId::IntegratedGpu(0));
    }

    #[test]
    fn executors_share_the_gpus_of_one_model() {
        let mut two = list(&[DeviceId::DiscreteGpu(0), DeviceId::DiscreteGpu(1)]);
        let places = |choice: &DeviceChoice, all: &[Adapter]| {
            pick(choice, all).unwrap().alike.iter().map(|adapter| adapter.place).collect::<Vec<DeviceId>>()
        };
        assert_eq!(places(&DeviceChoice::Auto, &two), [DeviceId::DiscreteGpu(0)], "two models");
        two[2].name = two[1].name.clone();
        let chosen = pick(&DeviceChoice::Auto, &two).unwrap();
        assert_eq!([0, 1, 2].map(|executor| chosen.place(executor)), [0, 1, 0].map(DeviceId::DiscreteGpu));
        let second = DeviceChoice::Entry("2".into());
        assert_eq!(places(&second, &two), [1, 0].map(DeviceId::DiscreteGpu), "the one that was asked for comes first");
        let named = DeviceChoice::Entry(two[1].name.clone());
        for choice in [DeviceChoice::Auto, DeviceChoice::Gpu, DeviceChoice::Entry("1".into()), second, named] {
            let same = pick(&choice, &two).unwrap();
            assert_eq!(same.accelerators(), chosen.accelerators(), "{choice}");
            assert_eq!((same.accelerator(), same.adapter_name()), (chosen.accelerator(), chosen.adapter_name()));
        }
    }

    #[test]
    fn each_executor_holds_a_gpu_unless_they_may_share() {
        let mut two = list(&[DeviceId::DiscreteGpu(0), DeviceId::DiscreteGpu(1)]);
        two[2].name = two[1].name.clone();
        let chosen = pick(&DeviceChoice::Auto, &two).unwrap();
        assert_eq!(chosen.most_executors(), Some(2));
        assert!(chosen.check_executors(2).is_ok());
        let refused = chosen.check_executors(3).unwrap_err().to_string();
        assert!(
            refused.contains("the 2 GPUs (Adapter DiscreteGpu(0))") && refused.contains("--share-gpu"),
            "{refused}"
        );
        assert!(chosen.shared(true).unwrap().check_executors(3).is_ok());
        let processor = pick(&DeviceChoice::Cpu, &two).unwrap().shared(true).unwrap();
        assert_eq!((processor.most_executors(), processor.is_shared()), (None, false));
    }

    #[test]
    fn a_software_adapter_is_used_only_on_request() {
        let software = list(&[DeviceId::Software]);
        assert_eq!(pick(&DeviceChoice::Auto, &software).unwrap().place(0), DeviceId::Cpu);
        assert!(pick(&DeviceChoice::Gpu, &software).unwrap_err().to_string().contains("use --device cpu"));
        for entry in ["1", "adapter soft"] {
            let chosen = pick(&DeviceChoice::Entry(entry.into()), &software).unwrap();
            assert_eq!(chosen.place(0), DeviceId::Software);
            assert_eq!((chosen.accelerator(), chosen.adapter_name()), (None, Some("Adapter Software")));
        }
    }

    #[test]
    fn a_gpu_with_too_small_limits_is_refused_and_left_out_by_default() {
        let mut one = list(&[DeviceId::DiscreteGpu(0)]);
        let limits =
            Limits { buffer_mib: 2048, binding_mib: 128, workgroup_invocations: 128, workgroup_memory_kib: 32 };
        one[1].limits = Some(limits);
        let sentence = "Adapter DiscreteGpu(0) allows 128 invocations per workgroup, and the kernels of the CNNs need 256; use --device cpu";
        for choice in [DeviceChoice::Gpu, DeviceChoice::Entry("1".into())] {
            assert_eq!(pick(&choice, &one).unwrap_err().to_string(), sentence);
        }
        assert_eq!(pick(&DeviceChoice::Auto, &one).unwrap().place(0), DeviceId::Cpu);
    }

    #[test]
    fn a_number_format_must_be_one_of_the_devices() {
        let mut one = list(&[DeviceId::DiscreteGpu(0)]);
        one[1].number_formats.push(NumberFormat::F16);
        let gpu = pick(&DeviceChoice::Gpu, &one).unwrap();
        assert!(gpu.check_number_format(NumberFormat::F16).is_ok());
        let refused = gpu.check_number_format(NumberFormat::Bf16).unwrap_err().to_string();
        assert_eq!(refused, "--dtype bf16 is not supported by Adapter DiscreteGpu(0); choose f32 or f16");
        let refused =
            pick(&DeviceChoice::Cpu, &one).unwrap().check_number_format(NumberFormat::F16).unwrap_err().to_string();
        assert!(refused.ends_with("; choose f32"), "{refused}");
    }

    #[test]
    fn a_program_has_the_gpus_that_it_asks_for() {
        let gpu = |name: &str| Accelerator { name: name.to_owned(), ..Accelerator::default() };
        let of = |choice: &DeviceChoice, gpus, installed: &[&str]| {
            program_device(choice, gpus, installed.iter().map(|name| gpu(name)).collect())
        };
        let two = ["A100", "A100", "T400"];
        let chosen = of(&DeviceChoice::Auto, Some(2), &two).unwrap();
        assert_eq!((chosen.accelerator(), chosen.accelerators().len()), (Some("A100"), 2));
        assert_eq!(of(&DeviceChoice::Auto, None, &two).unwrap().accelerator(), Some("A100"));
        assert_eq!(of(&DeviceChoice::Entry("t400".into()), None, &two).unwrap().accelerators().len(), 1);
        assert_eq!(of(&DeviceChoice::Cpu, None, &two).unwrap().accelerator(), None);
        assert_eq!(of(&DeviceChoice::Auto, None, &[]).unwrap().accelerator(), None);
        let refused = of(&DeviceChoice::Auto, Some(3), &two).unwrap_err().to_string();
        assert_eq!(refused, "--gpus 3 exceeds the 2 GPUs (A100) of this machine; give 2 or less");
        assert!(of(&DeviceChoice::Cpu, Some(1), &two).is_err());
        let unnamed = of(&DeviceChoice::Auto, Some(8), &[]).unwrap();
        assert_eq!((unnamed.accelerator(), unnamed.accelerators().len()), (Some(UNNAMED_GPU), 0));
        assert_eq!(of(&DeviceChoice::Entry("Gaudi 3".into()), Some(8), &[]).unwrap().accelerator(), Some("Gaudi 3"));
    }

    #[test]
    fn a_missing_device_is_rejected_with_a_list_of_the_others() {
        let error = pick(&DeviceChoice::Entry("9".into()), &list(&[DeviceId::Software])).unwrap_err();
        assert!(error.to_string().contains("1 Adapter Software"), "{error}");
    }

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn a_build_without_gpu_support_says_so_wherever_a_gpu_is_asked_for() {
        for choice in [DeviceChoice::Gpu, DeviceChoice::Entry("A100".into())] {
            let sentence = choose(&choice).unwrap_err().to_string();
            assert!(sentence.contains("this build of foreglow has no GPU support"), "{sentence}");
        }
        assert_eq!(choose(&DeviceChoice::Auto).unwrap().place(0), DeviceId::Cpu);
    }
}
