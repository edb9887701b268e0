//! Test of the loss of a graphics adapter during the work, for example by a driver reset. The test
//! destroys a device of the software adapter.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use burn::tensor::Device;
use burn_wgpu::{WgpuSetup, wgpu};
use foreglow_cnn::Network;
use foreglow_data::{Drawing, Source};
use foreglow_machine::device::DeviceId;
use foreglow_protocol::{Assignment, Partition, Report};
use foreglow_shared::{NumberFormat, Resizing};

use super::Reports;
use super::data::Data;
use super::slot::Slot;

/// Standard output of an executor.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Opens a separate device on the software adapter, which other tests may use at the same time.
fn software_device() -> Option<WgpuSetup> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let backends = wgpu::Backends::VULKAN;
    let description = wgpu::InstanceDescriptor { backends, ..wgpu::InstanceDescriptor::new_without_display_handle() };
    let instance = wgpu::Instance::new(description);
    let adapters = runtime.block_on(instance.enumerate_adapters(backends));
    let adapter = adapters.into_iter().find(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu)?;
    let request = adapter.request_device(&wgpu::DeviceDescriptor {
        required_features: adapter.features() - wgpu::Features::all_experimental_mask(),
        required_limits: adapter.limits(),
        ..wgpu::DeviceDescriptor::default()
    });
    let (device, queue) = runtime.block_on(request).unwrap();
    let backend = adapter.get_info().backend;
    Some(WgpuSetup { instance, adapter, device, queue, backend })
}

#[test]
fn a_lost_device_fails_every_later_partition_with_the_reason() {
    let Some(setup) = software_device() else {
        eprintln!("SKIPPED: this machine has no software Vulkan adapter; install mesa-vulkan-drivers to run this test");
        return;
    };
    let graphics = setup.device.clone();
    let device = Device::wgpu_options().setup(setup).init().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let source = Source::drawn(Drawing::Digits, Some(folder.path())).unwrap();
    source.prepare(8, &mut |_, _| {}).unwrap();
    let job = Assignment {
        model: "lenet5".into(),
        network: None,
        classes: None,
        weights: None,
        image_px: 32,
        words: None,
        normalisation: None,
        resizing: Resizing::default(),
        batch_size: 4,
        partition_size: 4,
        threads: 1,
        memory_mib: None,
        processors: Vec::new(),
        place: DeviceId::Software,
        source,
        images: 8,
        sampling_rate: 1.0,
        number_format: NumberFormat::F32,
        seed: 0,
        assigned: None,
        training: None,
    };
    let network = Network::named("lenet5").unwrap();
    let data = Arc::new(Data::open(&job, &network).unwrap());
    let cnn = network.build(0, data.shape(), &device).unwrap();
    let mut slot = Slot::new(cnn, device, &job, data);
    slot.warm_up().unwrap();

    let said = Said::default();
    let reports = Reports(Arc::new(Mutex::new(said.clone())));
    let mut work = |partitions: &[Partition]| {
        let (orders, queue) = mpsc::channel();
        partitions.iter().for_each(|partition| orders.send(*partition).unwrap());
        drop(orders);
        slot.work(&Mutex::new(queue), &reports);
    };
    let partition = |index| Partition { index, first: 4 * (index % 2), len: 4 };
    work(&[partition(0)]);
    graphics.destroy();
    // Polling reports the loss to all waiting operations.
    let _ = graphics.poll(wgpu::PollType::wait_indefinitely());
    work(&[partition(1), partition(2)]);

    let said = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
    let reports: Vec<Report> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), 3, "each partition is answered: {said}");
    assert!(matches!(reports[0], Report::Done { partition: 0, images: 4, .. }), "{said}");
    for (report, number) in reports[1..].iter().zip(1..) {
        let Report::Failed { partition, reason } = report else { panic!("{report:?}") };
        assert_eq!(*partition, Some(number));
        assert!(reason.contains("the device was lost"), "{reason}");
    }
}
