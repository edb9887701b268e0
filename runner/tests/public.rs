//! Plans from public measurements: of jobs without samples, and of machine types that samples lack.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::{Answer, Foreglow};
use serde_json::Value;

const RESNET50: [&str; 12] = [
    "plan",
    "resnet50",
    "--mode",
    "training",
    "--images",
    "1281167",
    "--epochs",
    "90",
    "--image-px",
    "224",
    "--dtype",
    "amp",
];

fn plan(options: &[&str]) -> Answer {
    Foreglow::new().run(&[&RESNET50[..], options].concat())
}

fn json(options: &[&str]) -> Value {
    let answer = plan(&[options, &["--format", "json"]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

#[test]
fn a_plan_without_samples_says_where_its_numbers_come_from() {
    let options = ["--deadline", "24h", "--probability", "50%", "--gpus", "L4,A100,H100"];
    let Answer { code, stdout, stderr } = plan(&options);
    assert_eq!(code, 0, "{stdout}{stderr}");
    for part in [
        "resnet50 training",
        "Nothing was measured here: predicted from public measurements of the runs of others",
        "--known 'RTX 3090=812/s'",
        "public measurements",
        " costs less than ",
        "a2-highgpu-1g",
        "p5.48xlarge",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains("T4") && !stdout.contains("its own runs"), "{stdout}");
    let known = plan(&[&options[..], &["--known", "RTX 3090=812/s"]].concat());
    assert!(known.stdout.contains("and 1 number of your own"), "{}", known.stdout);
}

#[test]
fn every_candidate_is_from_public_measurements_and_none_is_measured() {
    let answer = json(&["--deadline", "500h"]);
    let candidates = answer["candidates"].as_array().unwrap();
    assert!(candidates.len() > 30, "{}", candidates.len());
    assert!(candidates.iter().all(|row| row["basis"] == "public" && row["interval"].is_object()));
    assert!(answer["measured"].is_null());
    assert_eq!(answer["public_measurements"]["known"], 0);
}

#[test]
fn a_number_of_the_user_narrows_the_intervals() {
    let width = |answer: &Value| {
        let interval = &answer["candidates"][0]["interval"];
        interval["upper_secs"].as_f64().unwrap() / interval["lower_secs"].as_f64().unwrap()
    };
    let gpus = ["--deadline", "500h", "--gpus", "A100"];
    let known = [&gpus[..], &["--known", "RTX 3090=812/s"]].concat();
    assert!(width(&json(&known)) < 0.7 * width(&json(&gpus)));
}

#[test]
fn an_own_number_that_contradicts_everything_is_reported() {
    let answer = json(&["--deadline", "500h", "--known", "RTX 3090=60000/s"]);
    let notes = answer["public_measurements"]["notes"].to_string();
    assert!(notes.contains("times faster than public measurements suggest"), "{notes}");
}

#[test]
fn unusable_questions_are_refused_with_the_reason() {
    let home = Foreglow::new();
    let cpus = home.write("cpus.csv", "name,processors,memory_gib,hourly_price,currency\nnarrow,1,4,0.05,USD\n");
    for (options, reason) in [
        (&["--gpus", "L5"][..], "similar names: "),
        (&["--known", "RTX 3O90=812/s"], "RTX 3090"),
        (&["--known", "812"], "write a GPU and its images per second"),
        (&["--dtype", "int8"], "int8 is for inference"),
        (&["--catalog", &cpus], "no machine type with a GPU"),
        (&["--batch-size", "8,16"], "one --batch-size"),
        (&["--image-px", "7"], "resnet50 takes images of 32 to 1024 px; choose another image size"),
        (&["--machines", "c5.xlarge"], "c5.xlarge has no GPU, and public measurements are of GPUs"),
        (&["--machines", "c5.huge"], "there is no machine type c5.huge in the catalog"),
        (&["--known", "V100=300/s", "--dtype", "bf16"], "V100 has no units for bf16"),
    ] {
        let answer = home.run(&[&RESNET50[..10], options].concat());
        assert_eq!(answer.code, 2, "{options:?}: {}", answer.stdout);
        assert!(answer.stderr.contains(reason), "{options:?}: {}", answer.stderr);
    }
    let without_images = home.run(&["plan", "resnet50"]);
    assert_eq!((without_images.code, without_images.stderr.contains("--images")), (2, true));
    let with_samples = home.run(&["plan", foreglow::SAMPLES, "--known", "L4=5/s"]);
    assert_eq!((with_samples.code, with_samples.stderr.contains("job without samples")), (2, true));
}

#[test]
fn a_gpu_without_units_for_bfloat16_is_left_out_with_the_reason() {
    let answer = |dtype: &str| {
        let answer = Foreglow::new()
            .run(&[&RESNET50[..10], &["--dtype", dtype, "--deadline", "500h", "--format", "json"]].concat());
        serde_json::from_str::<Value>(&answer.stdout).unwrap()
    };
    let (amp, bf16) = (answer("amp"), answer("bf16"));
    let times = |answer: &Value, machine: &str| {
        let candidates = answer["candidates"].as_array().unwrap().iter();
        candidates.filter(|row| row["machine"] == machine).map(|row| row["completion_time_secs"].clone()).next()
    };
    assert_eq!(times(&amp, "gpu_1x_a100"), times(&bf16, "gpu_1x_a100"));
    assert!(times(&amp, "p3.2xlarge").is_some() && times(&bf16, "p3.2xlarge").is_none());
    assert!(bf16.to_string().contains("its GPU has no units for bf16"), "{bf16:#}");
}

#[test]
fn a_network_file_is_predicted_by_the_costs_of_its_graph() {
    let net = format!("{}/../shared/onnx/tests/exports/shufflenet_v2.onnx", env!("CARGO_MANIFEST_DIR"));
    let command = ["plan", &net, "--image-px", "32", "--images", "1000000", "--format", "json"];
    let answer = Foreglow::new().run(&command);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer["public_measurements"]["rows_of_network"], 0);
    assert!(answer["recommended"]["completion_time_secs"].as_f64().unwrap() > 1.0);
}

/// The job of own samples, and what they ran on.
struct Own {
    workload: &'static str,
    machine: &'static str,
    accelerator: &'static str,
}

/// A program that trains ResNet-50.
const PROGRAM: Own = Own {
    workload: r#""model":"train.py","mode":"training","image_px":1,"images":1281167,"epochs":1,"batch_size":128,
        "unit":"images","command":["python","train.py","--images","{images}"]"#,
    machine: "g6.xlarge",
    accelerator: r#""NVIDIA L4""#,
};

const STEPS: Own = Own {
    workload: r#""model":"train.py","mode":"training","image_px":1,"images":10000,"epochs":1,"batch_size":128,
        "unit":"steps","command":["python","train.py","--steps","{steps}"]"#,
    ..PROGRAM
};

const RESNET50_RUNS: Own = Own {
    workload: r#""model":"resnet50","mode":"training","image_px":224,"images":1281167,"epochs":1,"batch_size":128"#,
    ..PROGRAM
};

/// Writes runs of up to 5 % of the job at this speed.
fn own_samples(home: &Foreglow, own: &Own, images_per_sec: f64) -> String {
    let line = |(number, rate): (usize, f64)| {
        let secs = 2.0 + 1_281_167.0 * rate / images_per_sec;
        let Own { workload, machine, accelerator } = own;
        let sample = format!(
            r#"{{"schema":1,"id":"019aa6d1-0000-7000-8000-{number:012x}","workload":{{{workload}}},"configuration":
            {{"executors":1,"cores_per_executor":4,"memory_per_executor_mib":15360,"partition_size":128,
            "accelerator":{accelerator}}},"sampling_rate":{rate},"outcome":"completed","completion_time_secs":{secs:.3},
            "startup_secs":8.0,"engine":"command","runner_version":"0.1.0","host":{{"cpu":"Example","processors":4,
            "adapter":null,"machine":"{machine}"}},"started_at":"2026-11-21T10:0{number}:00Z"}}"#
        );
        sample.split_whitespace().collect::<Vec<_>>().join(" ") + "\n"
    };
    home.write("own.jsonl", &[0.005, 0.01, 0.02, 0.05].into_iter().enumerate().map(line).collect::<String>())
}

/// Plans own samples with --public.
fn beside(own: &Own, images_per_sec: f64, options: &[&str]) -> Answer {
    let home = Foreglow::new();
    let samples = own_samples(&home, own, images_per_sec);
    home.run(&[&["plan", &samples, "--public"], options].concat())
}

fn beside_json(own: &Own, images_per_sec: f64, options: &[&str]) -> Value {
    let answer = beside(own, images_per_sec, &[options, &["--format", "json"]].concat());
    assert_eq!(answer.code, 0, "{}{}", answer.stdout, answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

#[test]
fn a_plan_of_own_runs_with_public_measurements_reads_like_this() {
    let options = ["--network", "resnet50", "--image-px", "224", "--gpus", "L4,A100,H100", "--deadline", "2h"];
    let Answer { code, stdout, stderr } = beside(&PROGRAM, 300.0, &[&options[..], &["--probability", "80%"]].concat());
    assert_eq!(code, 0, "{stdout}{stderr}");
    insta::assert_snapshot!("public-beside", stdout);
}

#[test]
fn own_runs_keep_their_answer_and_all_other_machine_types_are_from_public_measurements() {
    let options = ["--deadline", "500h", "--machines", "g6.xlarge,a2-highgpu-1g,g4dn.xlarge"];
    let answer = beside_json(&RESNET50_RUNS, 300.0, &options);
    let rows = answer["candidates"].as_array().unwrap();
    // The samples have one number of cores, and the time with another is unknown.
    let known = || rows.iter().filter(|row| row["exclusion"].is_null());
    let basis = |machine: &str| known().find(|row| row["machine"] == machine).unwrap()["basis"].clone();
    assert_eq!((basis("g6.xlarge"), basis("a2-highgpu-1g")), ("own".into(), "public".into()));
    assert!(known().all(|row| row["interval"].is_object() && row["cost"].is_number()), "{rows:?}");
    let measured = answer["measured"].as_array().unwrap();
    assert!(measured.len() == 1 && measured[0]["machine"] == "g6.xlarge", "{measured:?}");
    let public = &answer["public_measurements"];
    assert_eq!((&public["network"], &public["number_format"]), (&"resnet50".into(), &"fp32".into()));
    assert_eq!(public["own_runs"][0]["gpu"], "NVIDIA L4");
    let home = Foreglow::new();
    let samples = own_samples(&home, &RESNET50_RUNS, 300.0);
    let alone = home.run(&["plan", &samples, "--deadline", "500h", "--machines", "g6.xlarge", "--format", "json"]);
    let alone: Value = serde_json::from_str(&alone.stdout).unwrap();
    let own: Vec<&Value> = rows.iter().filter(|row| row["machine"] == "g6.xlarge").collect();
    let of_alone = alone["candidates"].as_array().unwrap();
    let secs = |row: &Value| row["completion_time_secs"].clone();
    assert_eq!(of_alone.iter().map(secs).collect::<Vec<_>>(), own.iter().map(|row| secs(row)).collect::<Vec<_>>());
    assert!(alone["public_measurements"].is_null());
}

#[test]
fn no_run_is_advised_on_a_machine_type_whose_gpus_cannot_hold_the_batch() {
    let workload =
        r#""model":"resnet50","mode":"training","image_px":224,"images":1281167,"epochs":1,"batch_size":256"#;
    let home = Foreglow::new();
    let samples = own_samples(&home, &Own { workload, ..PROGRAM }, 300.0);
    let machines = ["--machines", "g4dn.xlarge,a2-highgpu-1g", "--deadline", "500h", "--format", "json"];
    let answer = home.run(&[&["advise", &samples], &machines[..]].concat());
    assert_eq!(answer.code, 0, "{answer:?}");
    let advice: Value = serde_json::from_str(&answer.stdout).unwrap();
    let left_out = advice["left_out"].as_array().unwrap();
    assert_eq!((left_out.len(), &left_out[0]["machine"]), (1, &"g4dn.xlarge".into()));
    assert!(left_out[0]["reason"].as_str().unwrap().starts_with("a batch of 256 needs about"), "{left_out:?}");
    let is_on = |run: &Value, machine: &str| run["machine"] == machine;
    let runs = advice["suggestions"].as_array().unwrap();
    assert!(runs.iter().any(|run| is_on(run, "a2-highgpu-1g")), "{runs:?}");
    assert!(!runs.iter().any(|run| is_on(run, "g4dn.xlarge")), "{runs:?}");
}

#[test]
fn own_runs_that_anchor_nothing_or_contradict_everything_are_noted() {
    let notes = |own: &Own, images_per_sec: f64| {
        let options = ["--network", "resnet50", "--deadline", "5000h", "--gpus", "A100"];
        beside_json(own, images_per_sec, &options)["public_measurements"]["notes"].to_string()
    };
    let on_processors = Own { machine: "c5.xlarge", accelerator: "null", ..PROGRAM };
    assert!(notes(&on_processors, 20.0).contains("public measurements are of GPUs"));
    assert!(notes(&PROGRAM, 3.0).contains("times slower than public measurements suggest"));
}

#[test]
fn samples_that_public_measurements_cannot_continue_are_refused_with_the_reason() {
    for (own, options, reason) in [
        (&PROGRAM, &[][..], "no network called train.py; name the one that your program runs with --network"),
        (&PROGRAM, &["--network", "resnet5O"], "resnet50"),
        (&STEPS, &["--network", "resnet50"], "the samples count steps; collect with --images"),
        (&RESNET50_RUNS, &["--mode", "training"], "--mode is for a job without samples"),
        (&RESNET50_RUNS, &["--batch-size", "8,16"], "one --batch-size"),
        (&RESNET50_RUNS, &["--total-cores", "4"], "cannot be used with"),
        (&RESNET50_RUNS, &["--model", "vgg16", "--image-px", "224"], "--public needs runs of the network itself"),
    ] {
        let answer = beside(own, 300.0, options);
        assert_eq!(answer.code, 2, "{options:?}: {}", answer.stdout);
        assert!(answer.stderr.contains(reason), "{options:?}: {}", answer.stderr);
    }
    let without_samples = plan(&["--public"]);
    assert_eq!((without_samples.code, without_samples.stderr.contains("leave --public out")), (2, true));
}
