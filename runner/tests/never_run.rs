//! A CNN that was never run, predicted from the runs of others.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::{Answer, Foreglow, SAMPLES};
use serde_json::Value;

/// Runs of the eight CNNs that take images, from `bench/never-run/measure.py`.
const EIGHT_CNNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/eight_cnns.jsonl");

/// Compares standard output, standard error and exit code with a golden file.
fn golden(name: &str, answer: &Answer) {
    let Answer { code, stdout, stderr } = answer;
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    let text = format!("{stdout}--- standard error, exit code {code}\n{stderr}");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn json(answer: &Answer) -> Value {
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

/// Returns the real samples without those of a CNN, and the times of its runs on one core.
fn without(home: &Foreglow, model: &str) -> (String, Vec<f64>) {
    let (mut others, mut secs) = (String::new(), Vec::new());
    for line in std::fs::read_to_string(EIGHT_CNNS).unwrap().lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        let configuration = &sample["configuration"];
        if sample["workload"]["model"] != model {
            others.push_str(&format!("{line}\n"));
        } else if configuration["executors"] == 1 && configuration["cores_per_executor"] == 1 {
            let images = sample["sampling_rate"].as_f64().unwrap() * sample["workload"]["images"].as_f64().unwrap();
            secs.push(sample["completion_time_secs"].as_f64().unwrap() / images);
        }
    }
    (home.write("others.jsonl", &others), secs)
}

const ONE_CORE: [&str; 6] = ["--executors", "1", "--cores", "1", "--format", "json"];

#[test]
fn the_real_runs_of_seven_cnns_predict_the_eighth() {
    let home = Foreglow::new();
    let mut covered = 0;
    let cnns = [("resnet18", "64"), ("resnet50", "64"), ("vgg16", "32"), ("mobilenet_v2", "64")];
    for (model, px) in cnns {
        let (others, secs) = without(&home, model);
        let ask = home.run(&[&["predict", &others, "--model", model, "--image-px", px][..], &ONE_CORE].concat());
        let answer = json(&ask);
        let measured = secs.iter().sum::<f64>() / secs.len() as f64 * 3200.0;
        let predicted = answer["completion_time_secs"].as_f64().unwrap();
        assert!(predicted / measured < 3.0 && measured / predicted < 3.0, "{model}: {predicted} {measured}");
        let ends = ["lower_secs", "upper_secs"].map(|end| answer["interval"][end].as_f64().unwrap());
        covered += usize::from(ends[0] <= measured && measured <= ends[1]);
        assert_eq!(answer["never_run"]["measured_models"].as_array().unwrap().len(), 7, "{answer}");
        assert_eq!(answer["context"]["workload"]["model"], model);
    }
    assert!(covered >= 3, "{covered} of 4 in their interval");
}

#[test]
fn a_plan_for_a_cnn_that_was_never_run_says_so_in_every_format() {
    let ask =
        |format| Foreglow::new().run(&["plan", SAMPLES, "--model", "vgg16", "--deadline", "1h", "--format", format]);
    golden("plan-table", &ask("table"));
    golden("plan-json", &ask("json"));
}

#[test]
fn a_prediction_of_a_file_that_was_never_run_says_so() {
    let home = Foreglow::new();
    let net = format!("{}/../shared/onnx/tests/exports/shufflenet_v2.onnx", env!("CARGO_MANIFEST_DIR"));
    let command =
        ["predict", EIGHT_CNNS, "--model", &net, "--image-px", "32", "--batch-size", "16", "--images", "1000"];
    let answer = json(&home.run(&[&command[..], &ONE_CORE].concat()));
    let workload = &answer["context"]["workload"];
    assert_eq!((&workload["model"], &workload["images"]), (&"shufflenet_v2.onnx".into(), &1000.into()));
    assert_eq!((&workload["batch_size"], &workload["image_px"]), (&16.into(), &32.into()));
    assert_eq!(workload["network_fingerprint"].as_str().unwrap().len(), 16);
    let table = home.run(&[&command[..], &["--executors", "1", "--cores", "1"]].concat()).stdout;
    assert!(table.contains("shufflenet_v2.onnx was never run here: predicted from"), "{table}");
}

#[test]
fn more_images_or_larger_ones_take_longer() {
    let home = Foreglow::new();
    let secs = |more: &[&str]| {
        let command = ["predict", SAMPLES, "--model", "vgg16"];
        json(&home.run(&[&command[..], &ONE_CORE, more].concat()))["completion_time_secs"].as_f64().unwrap()
    };
    let usual = secs(&[]);
    assert!((secs(&["--images", "4000"]) / usual - 2.0).abs() < 1e-6);
    assert!(secs(&["--image-px", "128"]) > 2.0 * usual);
}

#[test]
fn a_measured_cnn_at_another_size_is_predicted_too() {
    let ask = ["predict", SAMPLES, "--model", "resnet18", "--image-px", "128", "--executors", "1", "--cores", "1"];
    let answer = Foreglow::new().run(&ask);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let said = "resnet18 with images of 128 px in batches of 8 was never run here: predicted from 9 runs of 1 CNN";
    assert!(answer.stdout.contains(said), "{}", answer.stdout);
}

#[test]
fn what_cannot_be_predicted_is_refused_in_one_sentence() {
    let home = Foreglow::new();
    let lines = std::fs::read_to_string(SAMPLES).unwrap();
    let only = |model: &str| -> String {
        lines.lines().filter(|line| line.contains(model)).map(|line| format!("{line}\n")).collect()
    };
    let lenet5 = home.write("lenet5.jsonl", &only("lenet5"));
    let inference = only("resnet18");
    let training = inference.replace("inference", "training").replace("019aa6d1", "019aa6d2");
    let both = home.write("both.jsonl", &(inference + &training));
    for (file, more, expected) in [
        (SAMPLES, &["--model", "nosuch"][..], "no job in the samples matches your choice"),
        (SAMPLES, &["--model", "none.onnx"], "none.onnx"),
        (SAMPLES, &["--model", "text_cnn"], "text_cnn takes texts and was never run here"),
        (SAMPLES, &["--model", "xception"], "give --image-px from 71 to 1024"),
        (EIGHT_CNNS, &["--model", "vgg16", "--image-px", "8"], "give --image-px from 32 to 1024"),
        (EIGHT_CNNS, &["--model", "resnet18", "--image-px", "2000"], "give --image-px from 32 to 1024"),
        (&lenet5, &["--model", "vgg16"], "there are no runs of other CNNs to predict it from"),
        (&both, &["--model", "vgg16"], "choose those to predict it from with --context N"),
        (
            SAMPLES,
            &["--model", "vgg16", "--spot"],
            "--spot needs runs of vgg16, which was never run here; leave it out",
        ),
        (
            SAMPLES,
            &["--model", "vgg16", "--batch-size", "8,16"],
            "--batch-size with several sizes needs runs of vgg16,",
        ),
    ] {
        let answer = home.run(&[&["plan", file][..], more].concat());
        assert_eq!(answer.code, 2, "{more:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(expected), "{more:?}: {}", answer.stderr);
        assert!(answer.stdout.is_empty(), "{more:?}: {}", answer.stdout);
    }
    let chosen = home.run(&["plan", &both, "--model", "vgg16", "--context", "1"]);
    assert_eq!(chosen.code, 0, "{}", chosen.stderr);
}

#[test]
fn an_option_that_needs_own_runs_is_refused_in_one_sentence() {
    let more = ["--model", "vgg16", "--image-px", "64", "--partition-size", "3"];
    for command in [&["plan"][..], &["predict", "-E", "1", "-C", "1"]] {
        let answer = Foreglow::new().run(&[command, &[EIGHT_CNNS], &more].concat());
        let said = "foreglow: --partition-size needs runs of vgg16 with images of 64 px in batches of 8, which was never run \
                    here; leave it out\n";
        assert_eq!((answer.code, answer.stderr.as_str()), (2, said));
    }
}

#[test]
fn another_batch_size_of_a_measured_cnn_is_that_of_its_own_job() {
    let home = Foreglow::new();
    let command = ["--model", "resnet18", "--batch-size", "4"];
    let answer = json(&home.run(&[&["predict", EIGHT_CNNS], &command[..], &ONE_CORE].concat()));
    let workload = &answer["context"]["workload"];
    assert_eq!((&workload["image_px"], &workload["batch_size"]), (&64.into(), &4.into()), "{answer}");
    let lines = std::fs::read_to_string(EIGHT_CNNS).unwrap();
    let larger = lines.lines().filter(|line| line.contains("\"resnet18\""));
    let larger =
        larger.map(|line| line.replace("\"image_px\":64", "\"image_px\":128").replace("\"id\":\"0", "\"id\":\"f"));
    let both = home.write("both.jsonl", &(lines.clone() + &larger.map(|line| line + "\n").collect::<String>()));
    let answer = home.run(&[&["predict", &both], &command[..], &ONE_CORE].concat());
    let said =
        "resnet18 at this image size and batch size was never run here, and its runs have 64, 128; give --image-px";
    assert_eq!((answer.code, answer.stderr.contains(said)), (2, true), "{answer:?}");
}

#[test]
fn a_batch_size_that_was_not_measured_is_answered_with_the_name_of_the_cnn() {
    let home = Foreglow::new();
    let lines = std::fs::read_to_string(SAMPLES).unwrap();
    let only: String = lines.lines().filter(|line| line.contains("resnet18")).map(|line| format!("{line}\n")).collect();
    let file = home.write("resnet18.jsonl", &only);
    let ask = |command: &[&str], more: &[&str]| home.run(&[command, &[&file, "--batch-size", "16"], more].concat());
    let plan = ask(&["plan"], &[]);
    assert_eq!(plan.code, 1, "{plan:?}");
    assert!(plan.stderr.contains("with --model resnet18, plan predicts one other batch size"), "{plan:?}");
    let predict = ask(&["predict", "-E", "1", "-C", "1"], &[]);
    let said = "no sample has --batch-size 16, but 8; with --model NAME other values are predicted from the costs of the layers";
    assert_eq!((predict.code, predict.stderr.contains(said)), (2, true), "{predict:?}");
    for command in [&["plan"][..], &["predict", "-E", "1", "-C", "1"]] {
        assert_eq!(ask(command, &["--model", "resnet18"]).code, 0, "{command:?}");
    }
}

#[test]
fn no_note_names_a_run_that_was_never_made() {
    let command = ["predict", EIGHT_CNNS, "--model", "vgg16", "--image-px", "224", "--images", "100000"];
    let answer = Foreglow::new().run(&[&command[..], &ONE_CORE[..4]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("was never run here") && !answer.stdout.contains("the sample with"), "{answer:?}");
}
