//! `--core-share`: cores as shares of a processor.

use serde_json::Value;

use crate::bench_folder::{answer, sample};

const RUN: [&str; 11] =
    ["run", "--model", "lenet5", "--images", "1600", "--sampling-rate", "1", "--device", "cpu", "--format", "json"];

/// Arguments of a run on this configuration; `None` if quotas are not permitted here, after a check
/// of the refusal.
fn slow_run(executors: &str, cores: &str, rest: &[&str]) -> Option<(i32, foreglow_shared::Sample)> {
    let size = ["--executors", executors, "--cores", cores, "--core-share", "10%"];
    let arguments = [&RUN[..], &size, rest].concat();
    let (code, _, error) = answer(&[&RUN[..], &size, &["--images", "20"]].concat());
    if code != 0 {
        assert!(code == 2 && error.contains("--core-share needs CPU quotas"), "{error}");
        return None;
    }
    Some(sample(&arguments))
}

#[test]
fn a_slow_core_gets_its_share_of_a_processor_and_is_part_of_the_context() {
    let folder = tempfile::tempdir().unwrap();
    let monitor = folder.path().join("use.jsonl");
    let Some((code, sample)) = slow_run("1", "2", &["--monitor", monitor.to_str().unwrap()]) else { return };
    assert_eq!(code, 0, "{sample:?}");
    assert_eq!(sample.host.core_share, Some(0.1));
    assert_eq!(sample.host.processors, whole_processors().map(|count| count * 10));
    // Two cores of a tenth; the first moment includes some of the start.
    let used = sample.extra["usage"]["processors"]["mean"].as_f64().unwrap();
    assert!(used < 0.6, "{used} processors were used");
    let title = foreglow_shared::Context::of(&sample).title();
    assert!(title.ends_with("cores of 10 % of a processor"), "{title}");
    let command =
        foreglow_shared::collect_command(&foreglow_shared::Context::of(&sample), &sample.configuration, 1.0, None);
    assert!(command.unwrap().contains("--core-share 0.1"));
}

#[test]
fn a_quota_slows_the_run_and_not_the_start() {
    let Some((_, slow)) = slow_run("1", "1", &[]) else { return };
    let (_, whole) = sample(&[&RUN[..], &["--executors", "1", "--cores", "1"]].concat());
    let ratio = slow.completed_secs().unwrap() / whole.completed_secs().unwrap();
    // Ten on an idle machine; a disturbance of the run on whole processors makes it smaller.
    assert!(ratio > 3.0, "{ratio} times as long");
    assert_eq!(whole.host.core_share, None);
    assert!(slow.startup_secs.unwrap() < slow.completed_secs().unwrap());
}

#[test]
fn shares_are_refused_where_they_mean_nothing() {
    let cases: [(&[&str], &str); 3] = [
        (&["--core-share", "0.5%"], "write a share of a processor from 1% to 100%"),
        (&["--core-share", "2"], "write a share of a processor from 1% to 100%"),
        (
            &["--core-share", "10%", "--engine", "spark", "--master", "spark://127.0.0.1:7077"],
            "leave it out for a cluster",
        ),
    ];
    for (arguments, sentence) in cases {
        let command = if arguments.len() > 2 { "collect" } else { "run" };
        let (code, _, error) = answer(&[&[command, "--model", "lenet5"], arguments].concat());
        assert!(code == 2 && error.contains(sentence), "{arguments:?}: {error}");
    }
}

/// Returns the processors that a run on whole processors records.
fn whole_processors() -> Option<u32> {
    let (_, out, _) = answer(&[&RUN[..], &["--images", "20"]].concat());
    let sample: Value = serde_json::from_str(&out).ok()?;
    let count = sample.get("host").or_else(|| sample["sample"].get("host"))?["processors"].as_u64()?;
    u32::try_from(count).ok()
}
