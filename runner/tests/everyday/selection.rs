//! Which job is meant: its number, its CNN, and the options about its values.

use crate::foreglow::{Foreglow, SAMPLES};

/// The samples, and those of ResNet-18 as runs of another CNN: three jobs.
fn three_jobs(home: &Foreglow) -> String {
    let lines = std::fs::read_to_string(SAMPLES).unwrap();
    let resnet18 = lines.lines().filter(|line| line.contains("resnet18"));
    let other = resnet18.map(|line| line.replace("resnet18", "mobilenet_v2").replace("019aa6d1", "019aa6d2") + "\n");
    home.write("three.jsonl", &(lines.clone() + &other.collect::<String>()))
}

#[test]
fn the_number_of_a_job_counts_all_jobs_whatever_else_selects_it() {
    let home = Foreglow::new();
    let file = three_jobs(&home);
    let ask = |more: &[&str]| home.run(&[&["predict", &file, "-E", "1", "-C", "1"], more].concat());
    let third = ask(&["--context", "3"]);
    assert!(third.stdout.starts_with("resnet18 inference"), "{third:?}");
    for same in [["--images", "2000"], ["--batch-size", "8"], ["--image-px", "64"]] {
        assert_eq!(ask(&[&["--context", "3"], &same[..]].concat()).stdout, third.stdout, "{same:?}");
        let several = ask(&same);
        assert!(
            several.stderr.contains("\n  2  mobilenet_v2") && several.stderr.contains("\n  3  resnet18"),
            "{several:?}"
        );
        assert!(!several.stderr.contains("\n  1  "), "{several:?}");
    }
    for (other, why) in [
        (
            ["--images", "2000"],
            "no sample of job 1 has --images 2000, but 20000; `foreglow plan --context 1 --images 2000",
        ),
        (["--batch-size", "8"], "no sample of job 1 has --batch-size 8, but 32"),
        (["--image-px", "64"], "no sample of job 1 has --image-px 64, but 28"),
    ] {
        let refused = ask(&[&["--context", "1"], &other[..]].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
}

#[test]
fn several_jobs_of_one_cnn_are_told_apart_by_their_number_alone() {
    let home = Foreglow::new();
    let lines = std::fs::read_to_string(SAMPLES).unwrap();
    let inference: String =
        lines.lines().filter(|line| line.contains("resnet18")).map(|line| format!("{line}\n")).collect();
    let training = inference.replace("inference", "training").replace("019aa6d1", "019aa6d2");
    let file = home.write("two.jsonl", &(inference + &training));
    for choice in [&[][..], &["--model", "resnet18"]] {
        let ask = |more: &[&str]| home.run(&[&["plan", &file, "--images", "4000"], choice, more].concat());
        let several = ask(&[]);
        assert_eq!(several.code, 2, "{several:?}");
        assert!(several.stderr.contains("several jobs of one CNN; choose one with --context N:\n"), "{several:?}");
        for (number, mode) in [("1", "inference"), ("2", "training")] {
            let answer = ask(&["--context", number, "--format", "json"]);
            assert_eq!(answer.code, 0, "{answer:?}");
            let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
            assert_eq!((&answer["job"]["mode"], &answer["job"]["images"]), (&mode.into(), &4000.into()), "{answer}");
        }
    }
}

#[test]
fn whole_jobs_of_two_sizes_are_one_job() {
    let home = Foreglow::new();
    // Whole jobs of 40,000 and of 80,000 images, the larger as two epochs.
    let run = |index: usize, executors: usize, epochs: usize| {
        let secs = 20.0 + 400.0 * epochs as f64 / executors as f64;
        format!(
            r#"{{"schema":1,"id":"019aa6d3-0000-7000-8000-{index:012x}","workload":{{"model":"resnet18","mode":"inference","image_px":64,"images":40000,"epochs":{epochs},"batch_size":8}},"configuration":{{"executors":{executors},"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null}},"sampling_rate":1.0,"outcome":"completed","completion_time_secs":{secs},"engine":"local","runner_version":"0.1.0","host":{{"cpu":"Four-core example","processors":4}},"started_at":"2026-11-21T10:13:00Z"}}"#
        ) + "\n"
    };
    let runs = [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2)].into_iter().enumerate();
    let file = home.write("sizes.jsonl", &runs.map(|(i, (e, epochs))| run(i + 1, e, epochs)).collect::<String>());
    let ask = |more: &[&str]| -> serde_json::Value {
        let answer = home.run(&[&["plan", &file, "--format", "json"], more].concat());
        assert_eq!(answer.code, 0, "{answer:?}");
        serde_json::from_str(&answer.stdout).unwrap()
    };
    let secs = |answer: &serde_json::Value, executors: u64| -> f64 {
        let of = |candidate: &&serde_json::Value| candidate["executors"] == executors;
        answer["candidates"].as_array().unwrap().iter().find(of).unwrap()["completion_time_secs"].as_f64().unwrap()
    };
    let (whole, half) = (ask(&[]), ask(&["--images", "40000", "--epochs", "1"]));
    assert_eq!((&whole["job"]["images"], &whole["job"]["epochs"]), (&40000.into(), &2.into()), "{whole}");
    // Only one epoch was measured on four executors.
    assert!((secs(&whole, 4) / 220.0 - 1.0).abs() < 0.15, "{}", secs(&whole, 4));
    assert!((secs(&half, 2) / 220.0 - 1.0).abs() < 0.1, "{}", secs(&half, 2));
}
