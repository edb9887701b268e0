//! A sample for the unit tests of the store and of the collector.

use foreglow_shared::{Sample, Uuid, parse_line};

const LINE: &str = r#"{"schema":1,"id":"01890000-0000-7000-8000-000000000001","workload":{"model":"lenet5","mode":"inference",
"image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,
"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null},"sampling_rate":0.1,"outcome":"completed",
"completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{"cpu":"A","adapter":null},
"started_at":"2026-11-21T10:00:00Z","note":"kept"}"#;

pub(crate) fn sample(number: u128) -> Sample {
    let mut sample = parse_line(&LINE.replace('\n', "")).unwrap();
    sample.id = Uuid::from_u128((0x0189 << 112) | (7 << 76) | (2 << 62) | number);
    sample
}
