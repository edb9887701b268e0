//! Test data: a sample, a view and their parts.

use foreglow_shared::{Job, LeftOut, Observation, PriceSheet, Question, Sample, View, WhatIf, parse_line};

/// The example of the published sample format.
pub const EXAMPLE: &str = r#"{"schema":1,"id":"01939c5e-7c00-7000-8000-000000000001","workload":{"model":"resnet50","mode":"inference","image_px":224,"images":200000,"epochs":1,"batch_size":32},"configuration":{"executors":2,"cores_per_executor":4,"memory_per_executor_mib":4096,"partition_size":40,"accelerator":null},"sampling_rate":0.01,"outcome":"completed","completion_time_secs":12.4,"startup_secs":1.9,"engine":"local","runner_version":"0.1.0","host":{"cpu":"…","adapter":null},"started_at":"2026-11-21T10:00:00Z"}"#;

pub fn sample() -> Sample {
    parse_line(EXAMPLE).unwrap()
}

/// The example with an id derived from `number`.
pub fn numbered(number: u32) -> Sample {
    let id = format!("01939c5e-7c00-7000-8000-{number:012}").parse().unwrap();
    Sample { id, ..sample() }
}

pub fn observation(executors: u32, cores_per_executor: u32, sampling_rate: f64, secs: f64) -> Observation {
    Observation {
        executors,
        cores_per_executor,
        total_cores: None,
        memory_per_executor_mib: 4096,
        partition_size: 40,
        sampling_rate,
        completion_time_secs: secs,
        startup_secs: Some(1.25),
        disturbed: false,
        log_error: 0.0,
    }
}

pub fn view(observations: Vec<Observation>) -> View {
    View {
        job: Job::of_runs(foreglow_shared::Context::of(&sample()), observations),
        question: Question {
            deadline_secs: Some(600.0),
            budget: None,
            min_accuracy: None,
            probability: 0.9,
            executors: vec![1, 2, 4],
            cores_per_executor: vec![1, 2],
            memory_per_executor_mib: 4096,
            prices: PriceSheet::example(),
            what_if: WhatIf { executors: 2, cores_per_executor: 1 },
        },
        pins: Vec::new(),
        left_out: LeftOut::default(),
        compared: Vec::new(),
    }
}
