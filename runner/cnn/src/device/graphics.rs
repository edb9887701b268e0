//! Graphics adapters, through wgpu: lists them and opens one for Burn.

use burn::tensor::{Device, DeviceKind};
use burn_wgpu::WgpuInitError;
use foreglow_machine::accelerator_memory_mib;
use foreglow_machine::device::{Adapter, Limits, Place};
use foreglow_shared::NumberFormat;
use wgpu::{Backends, DeviceType, Features, Instance, InstanceDescriptor};

/// Opens a device. Burn selects the graphics interface by the same rule as [`adapters`].
///
/// # Errors
/// The device does not exist or cannot be opened.
pub fn open(place: Place) -> anyhow::Result<Device> {
    let kind = match place {
        Place::Cpu | Place::Software => DeviceKind::Cpu,
        Place::DiscreteGpu(index) => DeviceKind::DiscreteGpu(index),
        Place::IntegratedGpu(index) => DeviceKind::IntegratedGpu(index),
        Place::VirtualGpu(index) => DeviceKind::VirtualGpu(index),
    };
    // Burn would fall back to another device of the same kind, also through an older graphics
    // interface.
    if !adapters().iter().any(|adapter| adapter.place == place) {
        anyhow::bail!("the device does not exist; `foreglow devices` lists the available devices");
    }
    match Device::wgpu_options().device_kind(kind.clone()).init() {
        Ok(device) => Ok(device),
        // This process has already opened the device.
        Err(WgpuInitError::Registration { .. }) => Ok(Device::wgpu(kind)),
        Err(error) => anyhow::bail!("the device cannot be opened: {error}"),
    }
}

/// Returns the adapters in the driver's order, numbered from 1: the processor is 0.
pub fn adapters() -> Vec<Adapter> {
    let backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    let instance = Instance::new(InstanceDescriptor { backends, ..InstanceDescriptor::new_without_display_handle() });
    let (mut discrete, mut integrated, mut virtual_gpus) = (0, 0, 0);
    let next = |count: &mut usize| std::mem::replace(count, *count + 1);
    let mut found = Vec::new();
    for adapter in block_on(instance.enumerate_adapters(backends)) {
        let info = adapter.get_info();
        let place = match info.device_type {
            DeviceType::DiscreteGpu => Place::DiscreteGpu(next(&mut discrete)),
            DeviceType::IntegratedGpu => Place::IntegratedGpu(next(&mut integrated)),
            DeviceType::VirtualGpu => Place::VirtualGpu(next(&mut virtual_gpus)),
            DeviceType::Cpu => Place::Software,
            DeviceType::Other => continue,
        };
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

/// On native platforms wgpu's futures are ready at once, so a single-threaded runtime is enough.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime of the current thread without timers and sockets needs nothing from the system")
        .block_on(future)
}
