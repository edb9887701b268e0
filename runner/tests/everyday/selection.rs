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
fn runs_of_two_sizes_are_one_job_and_the_answer_is_for_the_larger() {
    let home = Foreglow::new();
    let lines = std::fs::read_to_string(SAMPLES).unwrap();
    let of_2000: Vec<&str> = lines.lines().filter(|line| line.contains("resnet18")).collect();
    // As many images of a job that is twice as large.
    let twice = |line: &&str| {
        let mut sample: serde_json::Value = serde_json::from_str(line).unwrap();
        sample["workload"]["images"] = 4000.into();
        sample["sampling_rate"] = (sample["sampling_rate"].as_f64().unwrap() / 2.0).into();
        sample.to_string().replace("019aa6d1", "019aa6d2")
    };
    let (first, second) = of_2000.split_at(5);
    let mixed: Vec<String> = first.iter().map(|line| (*line).to_owned()).chain(second.iter().map(twice)).collect();
    let mixed = home.write("mixed.jsonl", &mixed.join("\n"));
    let alike = home.write("alike.jsonl", &of_2000.join("\n"));
    let plan = |file: &str, images: &[&str]| {
        let answer = home.run(&[&["plan", file, "--format", "json"], images].concat());
        assert_eq!(answer.code, 0, "{answer:?}");
        let plan: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        let secs = plan["recommended"]["completion_time_secs"].as_f64().unwrap();
        (answer.stderr, plan["job"]["images"].as_u64().unwrap(), secs)
    };
    let (note, images, secs) = plan(&mixed, &[]);
    assert!(note.contains("note: runs of several numbers of images (2000, 4000) count as runs of one job"), "{note}");
    assert_eq!(images, 4000);
    let (note, _, of_one_size) = plan(&alike, &["--images", "4000"]);
    assert!(!note.contains("several numbers"), "{note}");
    assert!((secs / of_one_size - 1.0).abs() < 1e-6, "{secs} {of_one_size}");
    let (_, images, secs) = plan(&mixed, &["--images", "2000"]);
    assert_eq!(images, 2000);
    assert!((secs / plan(&alike, &[]).2 - 1.0).abs() < 1e-6);
    let scaling = home.run(&["scaling", &mixed]);
    assert!(scaling.code == 0 && scaling.stderr.contains("(2000, 4000)"), "{scaling:?}");
}
