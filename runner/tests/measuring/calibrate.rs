use serde_json::Value;

use crate::bench_folder::{answer, text};

/// A collector refuses longer lines.
const LONGEST_LINE: usize = 64 << 10;

#[test]
fn a_calibration_times_layers_and_predicts_a_cnn_that_was_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calibration.jsonl");
    let file = text(&path);
    // Too little time for more than one round over the layers and the first CNN.
    let (code, shown, errors) = answer(&["calibrate", "--output", file, "--device", "cpu", "--budget", "1s"]);
    assert_eq!(code, 0, "{errors}");
    assert!(shown.contains("resnet20_cifar"), "{shown}");
    let written = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert!(lines.iter().all(|line| line.len() < LONGEST_LINE));
    let samples: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(samples[1..].iter().all(|sample| sample["calibration"].is_null()), "only the first has the layers");
    let calibration = &samples[0]["calibration"];
    assert_eq!(calibration["batch_size"], 8);
    let layers = calibration["layers"].as_array().unwrap();
    assert!(layers.len() > 100, "{}", layers.len());
    assert!(layers.iter().all(|layer| layer["secs"].as_f64().unwrap() > 0.0), "{calibration}");
    let secs = |inputs: f64, outputs: f64| {
        let is_it =
            |layer: &&Value| layer["operator"] == "Gemm" && layer["inputs"] == inputs && layer["outputs"] == outputs;
        layers.iter().find(is_it).unwrap()["secs"].as_f64().unwrap()
    };
    assert!(secs(16384.0, 2048.0) > 20.0 * secs(128.0, 128.0), "a larger layer takes longer");

    if samples.len() > 1 {
        let rate = samples[0]["sampling_rate"].to_string();
        let ask = ["predict", file, "--model", "resnet18", "--image-px", "64", "--executors", "1", "--cores", "1"];
        let (code, predicted, errors) = answer(&[&ask[..], &["--sampling-rate", &rate, "--format", "json"]].concat());
        assert_eq!(code, 0, "{errors}");
        let predicted: Value = serde_json::from_str(&predicted).unwrap();
        assert!(predicted["never_run"]["timed_layers"].as_u64().unwrap() > 100, "{predicted}");
        assert_eq!(predicted["never_run"]["measured_models"][0], "resnet20_cifar");
        assert!(predicted["completion_time_secs"].as_f64().unwrap() > 0.0);
    }
}
