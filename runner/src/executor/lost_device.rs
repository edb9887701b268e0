//! A graphics adapter that is lost in the middle of the work: a driver that was reset, a card that was pulled out. A software
//! adapter does it on request.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use burn::tensor::{Device, DeviceKind};

use super::Reports;
use super::data::Data;
use super::protocol::{Assignment, Partition, Report};
use super::slot::Slot;
use crate::cnn::Architecture;
use crate::device::{Place, probe};
use crate::input::{Drawing, Source};

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

#[test]
fn a_device_that_is_lost_fails_the_partition_and_says_so() {
    if !probe().iter().any(|adapter| adapter.place == Place::Software) {
        eprintln!("SKIPPED: this machine has no software Vulkan adapter; install mesa-vulkan-drivers to run this test");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = Source::drawn(Drawing::Digits, Some(folder.path())).unwrap();
    source.prepare(8, &mut |_, _| {}).unwrap();
    let job = Assignment {
        model: "lenet5".into(),
        image_px: 32,
        words: None,
        batch_size: 4,
        partition_size: 4,
        threads: 1,
        memory_mib: None,
        processors: Vec::new(),
        place: Place::Software,
        source,
        images: 8,
        sampling_rate: 1.0,
        seed: 0,
        training: None,
    };
    // Its own handles, which can be destroyed.
    let (device, setup) = Device::wgpu_options().device_kind(DeviceKind::Cpu).init_with_setup().unwrap();
    let architecture = Architecture::named("lenet5").unwrap();
    let data = Arc::new(Data::open(&job, architecture).unwrap());
    let mut slot = Slot::new(architecture.build(0, data.shape(), &device), device, &job, data);
    slot.warm_up().unwrap();

    let (said, (orders, queue)) = (Said::default(), mpsc::channel());
    let reports = Reports(Arc::new(Mutex::new(said.clone())));
    orders.send(Partition { index: 0, first: 0, len: 4 }).unwrap();
    orders.send(Partition { index: 1, first: 4, len: 4 }).unwrap();
    drop(orders);
    let queue = Mutex::new(queue);
    setup.device.destroy();
    slot.work(&queue, &reports);

    let said = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
    let reports: Vec<Report> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), 2, "each partition is answered: {said}");
    for (report, number) in reports.iter().zip(0..) {
        let Report::Failed { partition, reason } = report else { panic!("{report:?}") };
        assert_eq!(*partition, Some(number));
        assert!(reason.contains("the device was lost"), "{reason}");
    }
}
