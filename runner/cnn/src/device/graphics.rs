//! Graphics adapters, through wgpu: lists them and opens one for Burn.

use std::sync::OnceLock;

use burn::tensor::{Device, DeviceKind};
use burn_wgpu::WgpuInitError;
use foreglow_machine::accelerator_memory_mib;
use foreglow_machine::device::{Adapter, DeviceId, Limits};
use foreglow_shared::NumberFormat;
use wgpu::{Backends, CooperativeScalarType, DeviceType, Features, Instance, InstanceDescriptor};

/// Matrix sizes of a device's matrix units, for 16-bit floats with 32-bit sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrices {
    /// Rows and columns.
    pub side: u32,
    /// Units of a subgroup, which share a multiplication.
    pub lanes: u32,
}

/// The matrix sizes of each adapter with matrix units.
static MATRICES: OnceLock<Vec<(DeviceId, Matrices)>> = OnceLock::new();

/// Opens a device. Burn selects the graphics interface by the same rule as [`adapters`].
///
/// # Errors
/// The device does not exist or cannot be opened.
pub fn open(place: DeviceId) -> anyhow::Result<Device> {
    let kind = match place {
        DeviceId::Cpu | DeviceId::Software => DeviceKind::Cpu,
        DeviceId::DiscreteGpu(index) => DeviceKind::DiscreteGpu(index),
        DeviceId::IntegratedGpu(index) => DeviceKind::IntegratedGpu(index),
        DeviceId::VirtualGpu(index) => DeviceKind::VirtualGpu(index),
    };
    // Burn would fall back to another device of the same kind, also through an older graphics
    // interface.
    if !adapters().iter().any(|adapter| adapter.place == place) {
        anyhow::bail!("the device does not exist; `foreglow devices` lists the available devices");
    }
    // Found before threads start, because the Vulkan loader fails when several threads create
    // instances.
    MATRICES.get_or_init(matrix_units);
    match Device::wgpu_options().device_kind(kind.clone()).init() {
        Ok(device) => Ok(device),
        // This process has already opened the device.
        Err(WgpuInitError::Registration { .. }) => Ok(Device::wgpu(kind)),
        Err(error) => anyhow::bail!("the device cannot be opened: {error}"),
    }
}

/// Returns the adapters in the driver's order, numbered from 1: the processor is 0.
pub fn adapters() -> Vec<Adapter> {
    let mut places = Places::default();
    let mut found = Vec::new();
    for adapter in of(Backends::VULKAN | Backends::METAL | Backends::DX12) {
        let info = adapter.get_info();
        let Some(place) = places.next(info.device_type) else { continue };
        let limits = adapter.limits();
        // Burn computes in bf16 on no graphics interface yet: SPIR-V has no arithmetic for it.
        let has_f16 = adapter.features().contains(Features::SHADER_F16);
        let number_formats = [Some(NumberFormat::F32), has_f16.then_some(NumberFormat::F16)];
        found.push(Adapter {
            index: found.len() + 1,
            name: info.name,
            backend: info.backend.to_str().to_owned(),
            kind: place.kind(),
            memory_mib: accelerator_memory_mib(&info.device_pci_bus_id).filter(|_| place.is_gpu()),
            pci_bus_id: Some(info.device_pci_bus_id).filter(|id| !id.is_empty()),
            driver: Some(format!("{} {}", info.driver, info.driver_info).trim().to_owned()),
            limits: Some(Limits {
                buffer_mib: limits.max_buffer_size >> 20,
                binding_mib: limits.max_storage_buffer_binding_size >> 20,
                workgroup_invocations: limits.max_compute_invocations_per_workgroup,
                workgroup_memory_kib: limits.max_compute_workgroup_storage_size >> 10,
            }),
            number_formats: number_formats.into_iter().flatten().collect(),
            place,
        });
    }
    found
}

/// Returns the matrix sizes of an opened device for 16-bit floats with 32-bit sums; `None` without
/// matrix units.
pub fn matrices(place: DeviceId) -> Option<Matrices> {
    MATRICES.get()?.iter().find(|(known, _)| *known == place).map(|(_, matrices)| *matrices)
}

/// Returns the largest matrix size of each adapter whose subgroups have a fixed size.
fn matrix_units() -> Vec<(DeviceId, Matrices)> {
    let mut places = Places::default();
    let mut found = Vec::new();
    for adapter in of(Backends::VULKAN) {
        let info = adapter.get_info();
        let Some(place) = places.next(info.device_type) else { continue };
        let sides = adapter.cooperative_matrix_properties().into_iter().filter_map(|of| {
            let is_square = of.m_size == of.n_size && of.n_size == of.k_size && !of.saturating_accumulation;
            let formats = (of.ab_type, of.cr_type);
            (is_square && formats == (CooperativeScalarType::F16, CooperativeScalarType::F32)).then_some(of.m_size)
        });
        let has_feature = adapter.features().contains(Features::EXPERIMENTAL_COOPERATIVE_MATRIX | Features::SHADER_F16);
        let lanes = info.subgroup_min_size;
        if let Some(side) = sides.max().filter(|_| has_feature && lanes == info.subgroup_max_size) {
            found.push((place, Matrices { side, lanes }));
        }
    }
    found
}

/// Returns the adapters of these graphics interfaces.
fn of(backends: Backends) -> Vec<wgpu::Adapter> {
    let instance = Instance::new(InstanceDescriptor { backends, ..InstanceDescriptor::new_without_display_handle() });
    block_on(instance.enumerate_adapters(backends))
}

/// Numbers the adapters of each kind.
#[derive(Default)]
struct Places {
    discrete: usize,
    integrated: usize,
    virtual_gpus: usize,
}

impl Places {
    /// Returns the place of the next adapter of this kind.
    fn next(&mut self, kind: DeviceType) -> Option<DeviceId> {
        let next = |count: &mut usize| std::mem::replace(count, *count + 1);
        Some(match kind {
            DeviceType::DiscreteGpu => DeviceId::DiscreteGpu(next(&mut self.discrete)),
            DeviceType::IntegratedGpu => DeviceId::IntegratedGpu(next(&mut self.integrated)),
            DeviceType::VirtualGpu => DeviceId::VirtualGpu(next(&mut self.virtual_gpus)),
            DeviceType::Cpu => DeviceId::Software,
            DeviceType::Other => return None,
        })
    }
}

/// On native platforms wgpu's futures are ready at once, so a single-threaded runtime is enough.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime of the current thread without timers and sockets needs nothing from the system")
        .block_on(future)
}
