//! Samples as JSON Lines and CSV.

use foreglow_shared::{
    Accelerator, CommandTemplate, Configuration, Curve, Engine, ExceededMemory, Fit, Host, Interpolation, Mode,
    NotText, NumberFormat, Outcome, PlannedTime, ReadError, Sample, SampleError, TextInput, Workload, parse_line,
    read_samples, write_csv, write_jsonl,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::words::{EXAMPLE, numbered, sample};

pub fn read(text: &str) -> Result<Vec<Sample>, ReadError> {
    read_samples(text.as_bytes())
}

/// A sample with unknown fields at every level.
fn extended() -> Sample {
    let mut value: Value = serde_json::from_str(EXAMPLE).unwrap();
    value["note"] = json!("kept, \"as it is\"\nover two lines");
    value["workload"]["precision"] = json!("f16");
    value["configuration"]["disk"] = json!({"kind": "ssd", "gib": 100, "speeds": [1.5, 2]});
    value["host"]["kernel"] = json!(6.12);
    value["tags"] = json!({});
    serde_json::from_value(value).unwrap()
}

fn with(path: &str, change: Value) -> Result<Sample, SampleError> {
    let mut value: Value = serde_json::from_str(EXAMPLE).unwrap();
    *value.pointer_mut(path).unwrap() = change;
    parse_line(&value.to_string())
}

#[test]
fn the_published_example_round_trips() {
    let sample = parse_line(EXAMPLE).unwrap();
    assert_eq!((sample.configuration.executors, sample.completed_secs()), (2, Some(12.4)));
    assert_eq!(write_jsonl([&sample]), format!("{EXAMPLE}\n"));
}

#[test]
fn a_field_that_is_given_twice_is_refused() {
    for (line, field) in [
        (EXAMPLE.replacen('{', "{\"sampling_rate\":0.5,", 1), "sampling_rate"),
        (EXAMPLE.replacen("\"workload\":{", "\"workload\":{\"images\":1,", 1), "images"),
    ] {
        let error = parse_line(&line).unwrap_err().to_string();
        assert_eq!(error, format!("{field} is given twice; keep one of them"));
    }
}

#[test]
fn json_lines_keep_unknown_fields_at_every_level() {
    let samples = [extended(), numbered(2)];
    let text = write_jsonl(&samples);
    assert_eq!(text.lines().count(), 2);
    assert_eq!(read(&text).unwrap(), samples);
}

#[test]
fn csv_keeps_unknown_fields_at_every_level() {
    let samples = [extended(), numbered(2)];
    let text = write_csv(&samples);
    assert!(text.lines().next().unwrap().contains("configuration.disk.kind"));
    assert_eq!(read(&text).unwrap(), samples);
}

#[test]
fn csv_keeps_text_that_looks_like_another_type() {
    for value in
        [json!("12"), json!("null"), json!(""), json!(" spaced "), json!("\"quoted\""), json!("{"), json!("NaN")]
    {
        let mut sample = sample();
        sample.extra.insert("note".into(), value);
        assert_eq!(read(&write_csv(std::slice::from_ref(&sample))).unwrap(), [sample]);
    }
}

#[test]
fn an_incomplete_run_has_no_completion_time() {
    let mut value: Value = serde_json::from_str(EXAMPLE).unwrap();
    value["outcome"] = json!("timed_out");
    assert_eq!(parse_line(&value.to_string()).unwrap().completed_secs(), None);
    value["outcome"] = json!("out_of_memory");
    value.as_object_mut().unwrap().remove("completion_time_secs");
    value["reason"] = json!("executor 1 went over 4096 MiB");
    let failed = parse_line(&value.to_string()).unwrap();
    assert_eq!(failed.completed_secs(), None);
    assert_eq!(read(&write_csv(std::slice::from_ref(&failed))).unwrap(), [failed]);
}

#[test]
fn a_completed_run_requires_a_time() {
    let error = with("/completion_time_secs", Value::Null).unwrap_err();
    assert_eq!(error, SampleError::MissingTime { outcome: "completed" });
}

#[test]
fn out_of_range_numbers_name_the_field_and_its_range() {
    for (path, change, field) in [
        ("/sampling_rate", json!(0.0), "sampling_rate"),
        ("/sampling_rate", json!(-0.1), "sampling_rate"),
        ("/sampling_rate", json!(1.5), "sampling_rate"),
        ("/completion_time_secs", json!(0), "completion_time_secs"),
        ("/completion_time_secs", json!(-3.5), "completion_time_secs"),
        ("/startup_secs", json!(-0.5), "startup_secs"),
        ("/configuration/executors", json!(0), "configuration.executors"),
        ("/configuration/cores_per_executor", json!(0), "configuration.cores_per_executor"),
        ("/workload/images", json!(0), "workload.images"),
        ("/workload/model", json!("  "), "workload.model"),
        ("/configuration/executors", json!(u32::MAX), "configuration.executors"),
        ("/configuration/cores_per_executor", json!(100_000), "configuration.cores_per_executor"),
        ("/configuration/memory_per_executor_mib", json!(u32::MAX), "configuration.memory_per_executor_mib"),
        ("/workload/images", json!(u64::MAX), "workload.images"),
        ("/workload/image_px", json!(u32::MAX), "workload.image_px"),
        ("/workload/epochs", json!(u32::MAX), "workload.epochs"),
        ("/workload/model", json!("x".repeat(2_000)), "workload.model"),
        ("/completion_time_secs", json!(1e12), "completion_time_secs"),
        ("/completion_time_secs", json!(9e-10), "completion_time_secs"),
        ("/startup_secs", json!(1e12), "startup_secs"),
        ("/sampling_rate", json!(5e-324), "sampling_rate"),
        ("/sampling_rate", json!(1e-13), "sampling_rate"),
        ("/host", json!({ "core_share": 5e-324 }), "host.core_share"),
    ] {
        match with(path, change) {
            Err(SampleError::Range { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{path}: {other:?}"),
        }
    }
    let error = with("/sampling_rate", json!(1.5)).unwrap_err();
    assert_eq!(error.to_string(), "sampling_rate is 1.5; it must be from 1e-12 to 1");
    let error = with("/sampling_rate", json!(5e-324)).unwrap_err();
    assert_eq!(error.to_string(), "sampling_rate is 5e-324; it must be from 1e-12 to 1");
    let error = with("/configuration/executors", json!(u32::MAX)).unwrap_err();
    assert_eq!(error.to_string(), "configuration.executors is 4294967295; it must be from 1 to 10000");
}

#[test]
fn numbers_that_are_not_finite_are_rejected() {
    assert!(matches!(parse_line(&EXAMPLE.replace("12.4", "NaN")), Err(SampleError::Form(_))));
    for none in ["NaN", "inf", "-inf", "1e999", "twelve"] {
        let text = write_csv(&[sample()]).replace("12.4", none);
        assert!(matches!(read(&text), Err(ReadError::Line { line: 2, .. })), "{none}");
    }
    let mut sample = sample();
    for secs in [f64::NAN, f64::INFINITY] {
        sample.completion_time_secs = Some(secs);
        assert!(matches!(sample.check(), Err(SampleError::Range { field: "completion_time_secs", .. })));
    }
    sample.sampling_rate = f64::NAN;
    assert!(matches!(sample.check(), Err(SampleError::Range { field: "sampling_rate", .. })));
}

#[test]
fn another_schema_version_is_rejected() {
    assert_eq!(with("/schema", json!(2)).unwrap_err(), SampleError::Schema(2));
}

#[test]
fn the_line_of_the_first_error_is_reported() {
    let good = write_jsonl([&numbered(1)]);
    let error = read(&format!("{good}\n{}oops\n", write_jsonl([&numbered(2)]))).unwrap_err();
    assert!(matches!(error, ReadError::Line { line: 4, .. }), "{error}");
    assert_eq!(error.to_string(), "line 4: it is not a sample (expected value at column 1); correct it");
    let csv = write_csv(&[numbered(1), numbered(2), numbered(3)]);
    let lines: Vec<&str> = csv.lines().collect();
    let error = read(&[lines[0], lines[1], "1,2", lines[3]].join("\n")).unwrap_err();
    assert!(matches!(error, ReadError::Line { line: 3, .. }), "{error}");
    let error = read(&[lines[0], lines[1], &lines[2].replace("0.01", "7")].join("\n")).unwrap_err();
    assert!(error.to_string().starts_with("line 3: sampling_rate is 7"), "{error}");
}

#[test]
fn a_field_that_cannot_be_read_is_named_as_its_column_is() {
    let good = write_jsonl([&numbered(1)]);
    let csv = write_csv(&[numbered(1)]);
    let named = |text: &str, line: u64| {
        let error = read(text).unwrap_err().to_string();
        assert!(!error.contains("column") && !error.contains("JSON"), "{error}");
        error.strip_prefix(&format!("line {line}: ")).unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    let why = "sampling_rate is \"10%\"; it must be a number";
    assert_eq!(named(&good.replace("\"sampling_rate\":0.01", "\"sampling_rate\":\"10%\""), 1), why);
    assert_eq!(named(&csv.replace(",0.01,", ",10%,"), 2), why);
    let executors = named(&good.replace("\"executors\":", "\"executors\":-"), 1);
    assert_eq!(executors, "configuration.executors is -2; it must be a whole number, not negative");
    let outcome = "outcome is Completed; it must be one of completed, out_of_memory, timed_out, failed";
    assert_eq!(named(&csv.replace(",completed,", ",Completed,"), 2), outcome);
    let wrong = named(&csv.replace(",inference,", ",eval,"), 2);
    assert_eq!(wrong, "workload.mode is eval; it must be inference or training");
    let moment = named(&good.replace("\"started_at\":\"2", "\"started_at\":\"x"), 1);
    assert!(moment.starts_with("started_at cannot be read ("), "{moment}");
    for (field, missing) in [("\"batch_size\":", "workload.batch_size"), ("\"engine\":", "engine")] {
        assert_eq!(named(&good.replace(field, "\"other\":"), 1), format!("{missing} is missing; correct it"));
    }
}

#[test]
fn the_line_of_a_csv_row_is_counted_across_cells_of_several_lines() {
    let mut first = numbered(1);
    first.extra.insert("note".into(), json!("one\ntwo\nthree"));
    let mut second = numbered(2);
    second.extra.insert("note".into(), json!("none"));
    let text = write_csv(&[first, second]).replace(",none", ",none,one cell too many");
    assert!(matches!(read(&text), Err(ReadError::Line { line: 5, .. })), "{:?}", read(&text));
}

#[test]
fn lines_are_counted_alike_with_every_line_end() {
    let csv = write_csv(&[numbered(1), numbered(2), numbered(3)]);
    let lines: Vec<&str> = csv.lines().collect();
    for end in ["\n", "\r\n"] {
        let wrong = lines[3].replace("0.01", "7");
        let error = read(&[lines[0], lines[1], lines[2], &wrong].join(end)).unwrap_err();
        assert!(error.to_string().starts_with("line 4: sampling_rate is 7"), "{error}");
        let error = read(&[lines[0], lines[1], "", "1,2"].join(end)).unwrap_err();
        assert!(error.to_string().starts_with("line 4: it is not a sample (2 cells, the header has"), "{error}");
    }
}

#[test]
fn samples_with_one_id_are_read_once_or_all() {
    let text = write_jsonl([&numbered(1), &numbered(2), &numbered(1)]);
    assert_eq!(read(&text).unwrap().len(), 2);
    assert_eq!(foreglow_shared::read_repeated_samples(text.as_bytes()).unwrap().len(), 3);
    assert_eq!(foreglow_shared::read_repeated_samples(b"\n"), Err(ReadError::Empty));
}

#[test]
fn a_missing_column_is_reported() {
    let error = read("id,outcome\n1,completed\n").unwrap_err();
    assert_eq!(error, ReadError::Header("schema"));
}

#[test]
fn a_file_without_samples_or_text_is_rejected() {
    for empty in ["", "\n \n", "\u{feff}"] {
        assert_eq!(read(empty), Err(ReadError::Empty), "{empty:?}");
    }
    assert_eq!(read(write_csv(&[sample()]).lines().next().unwrap()), Err(ReadError::Empty));
    assert_eq!(read_samples(&[b'{', 0x01]), Err(ReadError::NotText(NotText::Byte(1))));
    assert!(read("\u{7f}ELF").is_err() && read("[1, 2]").is_err() && read("{}").is_err());
}

#[test]
fn a_table_of_no_samples_has_a_header() {
    assert!(write_csv(&[]).starts_with("schema,id,workload.model,"));
    assert_eq!(read(&write_csv(&[])), Err(ReadError::Empty));
}

#[test]
fn duplicate_samples_are_read_once() {
    let text = write_jsonl([&numbered(1), &numbered(2), &numbered(1)]);
    assert_eq!(read(&text).unwrap(), [numbered(1), numbered(2)]);
}

fn any_sample() -> impl Strategy<Value = Sample> {
    let text = "[ -~äπ]{0,12}";
    let counts = (1u32..=10_000, 1u32..=1_000, 1u64..=1 << 53);
    (text, text, counts, 1e-9f64..=1.0, 1e-9f64..1e9, prop::option::of(0.0f64..1e6)).prop_map(
        |(cpu, note, (executors, cores, images), rate, secs, startup)| {
            let mut sample = sample();
            // White space around a CSV cell is not part of the value.
            sample.host.cpu = Some(cpu.trim().to_owned()).filter(|cpu| !cpu.is_empty());
            sample.extra.insert("note".into(), json!(note));
            sample.configuration.executors = executors;
            sample.configuration.cores_per_executor = cores;
            sample.workload.images = images;
            sample.sampling_rate = rate;
            sample.completion_time_secs = Some(secs);
            sample.startup_secs = startup;
            sample
        },
    )
}

proptest! {
    #[test]
    fn every_sample_round_trips_through_json_lines(sample in any_sample()) {
        prop_assert_eq!(read(&write_jsonl([&sample])).unwrap(), [sample]);
    }

    #[test]
    fn every_sample_round_trips_through_csv(sample in any_sample()) {
        prop_assert_eq!(read(&write_csv(std::slice::from_ref(&sample))).unwrap(), [sample]);
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_samples(&bytes);
    }

    #[test]
    fn no_damage_to_a_file_makes_reading_panic(at in 0usize..600, byte in any::<u8>()) {
        for text in [write_jsonl([&sample()]), write_csv(&[sample()])] {
            let mut bytes = text.into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = read_samples(&bytes);
        }
    }
}

/// A sample with every field, so that a new one is added here: fractions where a number may have
/// one, and names that look like numbers.
pub fn complete() -> Sample {
    let name = || "2,5".to_owned();
    let extra = |field: &str, value: Value| [(field.to_owned(), value)].into_iter().collect();
    Sample {
        schema: 1,
        id: numbered(7).id,
        workload: Workload {
            model: name(),
            mode: Mode::Training,
            image_px: 64,
            images: 1000,
            epochs: 2,
            batch_size: 8,
            average_every: Some(20),
            average_optimizer_state: Some(true),
            classes: Some(10),
            command: CommandTemplate::new(vec!["train".to_owned(), "--steps={steps}".to_owned()]).ok(),
            data: Some(name()),
            data_fingerprint: Some("1234567890123456".to_owned()),
            data_format: Some(name()),
            data_items: Some(1000),
            dtype: Some(NumberFormat::Bf16),
            interpolation: Some(Interpolation::Lanczos),
            network: Some(name()),
            network_fingerprint: Some("1e5".to_owned()),
            optimizer: Some("true".to_owned()),
            resize: Some(Fit::Stretch),
            resize_px: Some(72),
            share_size: Some(4),
            text: Some(TextInput {
                vector_dims: 200,
                vectors: Some("null".to_owned()),
                vocabulary: Some(5000),
                words: 50,
                extra: extra("language", json!({"code": "en"})),
            }),
            unit: Some(name()),
            validation: Some(0.25),
            extra: extra("layout", json!({"order": "nchw"})),
        },
        configuration: Configuration {
            executors: 3,
            cores_per_executor: 3,
            total_cores: Some(8),
            memory_per_executor_mib: 512,
            partition_size: 10,
            accelerator: Some(name()),
            shares_accelerators: true,
            accelerators_per_executor: Some(8),
            machines: Some(2),
            extra: extra("disk", json!({"speed": 1.5})),
        },
        sampling_rate: 0.05,
        outcome: Outcome::TimedOut,
        completion_time_secs: Some(1.75),
        startup_secs: Some(0.5),
        predicted: Some(PlannedTime {
            planned_at: "2026-11-20T18:00:00Z".parse().unwrap(),
            median_secs: 1.5,
            lower_secs: Some(1.25),
            upper_secs: Some(1.8),
            deadline_secs: Some(2.5),
            success_probability: Some(0.995),
        }),
        reason: Some(name()),
        engine: Engine::Local,
        runner_version: name(),
        host: Host {
            cpu: Some(name()),
            machine: Some(name()),
            processors: Some(16),
            core_share: Some(0.05),
            adapter: Some(name()),
            accelerators: vec![Accelerator { name: name(), ..Accelerator::default() }],
            extra: extra("kernel", json!(6.12)),
        },
        started_at: sample().started_at,
        seed: Some(u64::MAX),
        images_processed: Some(100),
        peak_memory_mib: Some(300),
        exceeded_memory: Some(ExceededMemory::Accelerator),
        progress: Some(Curve {
            unit: name(),
            of: Some(5000.0),
            per_epoch: Some(500.0),
            points: vec![(0.5, 1.0), (1.25, 3.0)],
        }),
        log_error: 0.0,
        simulated: None,
        extra: extra("phases", json!({"read_secs": 1.5})),
    }
}

#[test]
fn a_sample_whose_progress_goes_back_is_refused() {
    let mut sample = complete();
    assert_eq!(sample.check(), Ok(()));
    if let Some(curve) = &mut sample.progress {
        curve.points.push((2.0, 2.0));
    }
    assert!(sample.check().unwrap_err().to_string().starts_with("progress is"));
}

/// The example with a value at the dotted name of a field.
fn with_field(field: &str, value: Value) -> Result<Sample, SampleError> {
    let mut sample = serde_json::to_value(complete()).unwrap();
    *sample.pointer_mut(&format!("/{}", field.replace('.', "/"))).unwrap() = value;
    parse_line(&sample.to_string())
}

#[test]
fn an_optional_field_of_another_type_is_refused_by_its_name() {
    let fields = [
        ("workload", serde_json::to_value(complete().workload).unwrap()),
        ("configuration", serde_json::to_value(complete().configuration).unwrap()),
    ];
    let fields = fields
        .iter()
        .flat_map(|(part, fields)| fields.as_object().unwrap().keys().map(move |field| format!("{part}.{field}")));
    let own = ["seed", "images_processed", "peak_memory_mib", "exceeded_memory"].map(str::to_owned);
    let unknown = ["workload.layout", "configuration.disk"];
    for field in fields.chain(own).filter(|field| !unknown.contains(&field.as_str())) {
        let error = with_field(&field, json!([1])).unwrap_err().to_string();
        let is_told = error.contains("cannot be read") || error.contains("; it must be ");
        assert!(error.starts_with(&field) && is_told, "{field}: {error}");
    }
    for field in unknown {
        assert!(with_field(field, json!([1])).is_ok(), "{field}");
    }
}

#[test]
fn a_run_of_less_than_an_image_is_refused() {
    let mut sample = numbered(1);
    sample.workload.images = 20_000;
    sample.sampling_rate = 1e-9;
    let error = sample.check().unwrap_err().to_string();
    assert_eq!(error, "sampling_rate is 0.000000001; it must be at least one of the 20000 images, and at most 1");
    sample.sampling_rate = 0.000_05;
    assert_eq!(sample.check(), Ok(()), "one image");
    (sample.workload.images, sample.sampling_rate) = (1, 0.1);
    assert_eq!(sample.check(), Ok(()), "a part of a job without images");
}

#[test]
fn an_optional_field_out_of_range_is_refused_by_its_name() {
    for (field, value) in [
        ("workload.average_every", json!(0)),
        ("workload.classes", json!(0)),
        ("workload.resize_px", json!(70_000)),
        ("workload.share_size", json!(0)),
        ("workload.text.words", json!(0)),
        ("workload.text.vector_dims", json!(0)),
        ("workload.unit", json!(" ")),
        ("workload.unit", json!("a".repeat(1001))),
        ("workload.validation", json!(1)),
        ("workload.validation", json!(0)),
        ("configuration.accelerators_per_executor", json!(0)),
        ("configuration.accelerators_per_executor", json!(1001)),
        ("configuration.machines", json!(0)),
        ("configuration.machines", json!(10_001)),
        ("predicted.median_secs", json!(0)),
        ("predicted.lower_secs", json!(-1)),
        ("predicted.upper_secs", json!(1e13)),
        ("predicted.deadline_secs", json!(0)),
        ("predicted.success_probability", json!(1.5)),
    ] {
        let error = with_field(field, value).unwrap_err();
        assert!(matches!(&error, SampleError::Range { field: refused, .. } if *refused == field), "{field}: {error}");
    }
}

/// The example with three executors, of which the largest have three cores.
fn with_total(total_cores: u32) -> Result<Sample, SampleError> {
    let mut value: Value = serde_json::from_str(EXAMPLE).unwrap();
    value["configuration"]["executors"] = json!(3);
    value["configuration"]["cores_per_executor"] = json!(3);
    value["configuration"]["total_cores"] = json!(total_cores);
    parse_line(&value.to_string())
}

#[test]
fn an_uneven_split_round_trips_in_every_format() {
    let uneven = with_total(8).unwrap();
    assert_eq!(uneven.configuration.split().to_string(), "3 executors, 8 cores (3+3+2)");
    // Samples with one ID are read once.
    let both = [sample(), Sample { id: foreglow_shared::Uuid::max(), ..uneven }];
    assert_eq!(read(&write_jsonl(&both)).unwrap(), both);
    let csv = write_csv(&both);
    assert!(csv.lines().next().unwrap().contains("configuration.total_cores"));
    assert_eq!(read(&csv).unwrap(), both);
    assert!(!write_csv(&[sample()]).contains("total_cores"), "equal executors are written as before");
}

#[test]
fn a_total_of_cores_must_be_one_that_the_executors_can_have() {
    for (total, is_right) in [(2, false), (6, false), (7, true), (8, true), (9, true), (10, false)] {
        assert_eq!(with_total(total).is_ok(), is_right, "{total}");
    }
    assert_eq!(with_total(9).unwrap().configuration.split(), foreglow_shared::CoreSplit::even(3, 3));
    let refused = with_total(6).unwrap_err().to_string();
    assert!(
        refused.starts_with("configuration.total_cores is 6; it must be the total of an uneven split"),
        "{refused}"
    );
}
