//! Rules of the reader on short outputs; `output.rs` has those of real programs.

use foreglow_progress::Reader;
use foreglow_shared::{Curve, MOST_CURVE_POINTS};
use proptest::prelude::*;

/// Reads lines that arrive one second apart.
fn live(lines: &[&str]) -> Curve {
    let mut reader = Reader::new();
    for (at, line) in lines.iter().enumerate() {
        reader.push(format!("{line}\n").as_bytes(), at as f64);
    }
    reader.finish();
    reader.curve().expect("the lines tell progress")
}

fn done(curve: &Curve) -> Vec<f64> {
    curve.points.iter().map(|(_, done)| *done).collect()
}

#[test]
fn each_documented_form_has_its_count_total_and_unit() {
    for (line, done, of, unit) in [
        (r#"{"foreglow":{"done":128,"of":5000,"unit":"images"}}"#, 128.0, Some(5000.0), "images"),
        (r#"INFO {"foreglow": {"done": 3}}"#, 3.0, None, "steps"),
        (
            "[2026-11-28 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.1]",
            10.0,
            None,
            "steps",
        ),
        (
            "[INFO] [timer.py:258:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=12.3",
            10.0,
            None,
            "steps",
        ),
        (
            " [2026-11-28 10:00:00] iteration      100/  500000 | consumed samples:        25600 | elapsed time per iteration (ms): 512.3 |",
            100.0,
            Some(5e5),
            "steps",
        ),
        ("iter 100: loss 2.3412, time 45.67ms, mfu 12.30%", 100.0, None, "steps"),
        ("step 450/1000 | loss 3.1", 450.0, Some(1000.0), "steps"),
        ("450it [00:10, 44.52it/s]", 450.0, None, "steps"),
        ("step 3 of 10", 3.0, Some(10.0), "steps"),
        ("  2%|2         | 1.20k/60.0k [00:10<08:10, 120img/s]", 1200.0, Some(6e4), "images"),
    ] {
        let curve = live(&[line]);
        assert_eq!((curve.last().unwrap().1, curve.of, curve.unit.as_str()), (done, of, unit), "{line}");
    }
}

#[test]
fn settings_that_a_program_prints_are_no_progress() {
    let settings = [
        "max_iters = 5000",
        "lr_decay_iters = 5000 # make equal to max_iters usually",
        "Overriding: eval_iters = 5",
        "tokens per iteration will be: 512",
        "launching: train.py --max-steps 6000 --save-steps=500",
        "gradient_accumulation_steps: 4",
        "Scheduled epochs: 40 (epochs + cooldown_epochs).",
        "num_epoch: 40",
    ];
    let done = |line: &str| {
        let mut reader = Reader::new();
        reader.push(format!("{line}\n").as_bytes(), 1.0);
        reader.done()
    };
    assert_eq!(settings.map(done), [None; 8]);
    let mut reader = Reader::new();
    reader.push(b"key 3/38461538461538460\n", 1.0);
    assert_eq!(reader.curve(), None, "a number that no program counts to");
    let counted = ["global_step=3", "train_step: 3", "mini-batch 3: loss 1.5", "step 3, lr 0.1"];
    assert_eq!(counted.map(done), [Some(3.0); 4]);
}

#[test]
fn the_epochs_of_a_bar_that_starts_again_are_added_up() {
    let keras = ["Epoch 1/3", "1/2 - 0s", "2/2 - 1s", "Epoch 2/3", "1/2 - 0s", "2/2 - 1s"];
    let curve = live(&keras);
    assert_eq!((done(&curve), curve.of, curve.per_epoch), (vec![1.0, 2.0, 3.0, 4.0], Some(6.0), Some(2.0)));

    let lightning =
        ["Epoch 0/1  ━━━ 1/2 0:00:03 • 0:00:00 18.82it/s", "Epoch 1/1  ━━━ 1/2 0:00:03 • 0:00:00 18.82it/s"];
    assert_eq!(live(&lightning).of, Some(4.0));

    let pytorch =
        ["Train Epoch: 1 [0/60000 (0%)]", "Train Epoch: 1 [30000/60000 (50%)]", "Train Epoch: 2 [0/60000 (0%)]"];
    let curve = live(&pytorch);
    assert_eq!((done(&curve), curve.unit.as_str()), (vec![0.0, 3e4, 6e4], "images"));
    assert_eq!((curve.of, curve.whole(Some(14))), (None, Some(840_000.0)));
}

#[test]
fn a_run_that_continues_at_a_checkpoint_repeats_steps_without_progress() {
    let steps = [100, 200, 300, 250, 290, 310];
    let lines: Vec<String> = steps.iter().map(|step| format!("step {step}/1000")).collect();
    let curve = live(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(curve.points, [(0.0, 100.0), (1.0, 200.0), (2.0, 300.0), (5.0, 310.0)]);

    // Resumed in the third epoch.
    let curve = live(&["Epoch: [2]  [0/10]", "Epoch: [2]  [5/10]"]);
    assert_eq!(curve.points.len(), 2);
}

#[test]
fn several_ranks_in_one_stream_count_once() {
    let mut lines = Vec::new();
    for epoch in 0..2 {
        for step in 1..=10 {
            lines.extend([1, 0].map(|rank| format!("[rank{rank}]: Epoch: [{epoch}]  [{}/10]", step - rank)));
            lines.extend([1, 0].map(|late| format!("bar  {}/10", step - late)));
        }
    }
    let curve = live(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(curve.last().unwrap().1 <= 20.0, "{curve:?}");
    assert!(curve.last().unwrap().1 >= 19.0, "{curve:?}");
}

#[test]
fn evaluations_are_pauses_of_the_training_and_downloads_no_progress() {
    let mut lines = vec!["data:  50%|##   | 5.0M/10.0M [00:01<00:01, 5.0MB/s]".to_owned()];
    for epoch in 0..3 {
        lines.extend((1..=20).map(|step| format!("Epoch {epoch}: {step}/20 [00:10<00:12, 1.0it/s]")));
        lines.extend((1..=5).map(|step| format!("Validation: {step}/5 [00:10<00:12, 1.0it/s]")));
    }
    let curve = live(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((curve.last().unwrap().1, curve.per_epoch), (60.0, Some(20.0)));
    let longest = curve.points.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
    assert_eq!(longest, 6.0);
}

#[test]
fn an_outer_bar_gives_the_number_of_epochs_of_the_inner_one() {
    let mut lines = Vec::new();
    for epoch in 0..3 {
        lines.push(format!("Epochs:  33%|##   | {epoch}/3 [00:10<00:12, 1.0s/it]"));
        lines.extend((0..=20).map(|step| format!(" 33%|##   | {step}/20 [00:10<00:12, 1.0it/s]")));
    }
    let curve = live(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((curve.last().unwrap().1, curve.of, curve.per_epoch), (60.0, Some(60.0), Some(20.0)));
}

#[test]
fn a_clock_that_is_set_back_goes_on_from_the_last_time() {
    let mut reader = Reader::new();
    for (step, at) in [(1, 10.0), (2, 11.0), (3, 5.0), (4, 6.0)] {
        reader.push(format!("step {step}/9\n").as_bytes(), at);
    }
    assert_eq!(reader.curve().unwrap().points, [(10.0, 1.0), (11.0, 2.0), (11.0, 3.0), (12.0, 4.0)]);
}

#[test]
fn a_rate_without_a_count_is_added_up_over_time() {
    let curve = live(&["10\timages/sec: 100.0 +/- 0.0", "20\timages/sec: 100.0", "30\timages/sec: 50.0"]);
    assert_eq!((done(&curve), curve.unit.as_str()), (vec![0.0, 100.0, 150.0], "images"));
}

#[test]
fn a_pattern_reads_what_no_other_form_has() {
    let mut reader = Reader::with_pattern(r"batch no (?<step>\d+), pass (?<epoch>\d+), of (?<of>\d+)").unwrap();
    reader.push(b"batch no 3, pass 1, of 10; 7/9\nbatch no 10, pass 1, of 10\nbatch no 2, pass 2, of 10\n", 1.0);
    let curve = reader.curve().unwrap();
    assert_eq!((curve.last(), curve.per_epoch), (Some((1.0, 12.0)), Some(10.0)));
    let refused = |pattern| Reader::with_pattern(pattern).unwrap_err().to_string();
    assert!(refused("step (\\d+)").contains("no group that counts work"));
    assert!(refused("(?<step>").starts_with("it is not a regular expression"));
}

#[test]
fn a_log_file_tells_the_time_by_timestamps_bars_or_steps() {
    let recorded = |text: &str| {
        let mut reader = Reader::new();
        reader.push_recorded(text.as_bytes());
        reader.finish_recorded();
        (reader.curve().unwrap().points, reader.started_at_secs())
    };
    let mllog = ":::MLLOG {\"time_ms\": 1000000, \"key\": \"run_start\", \"metadata\": {}}\n\
                 :::MLLOG {\"time_ms\": 1010000, \"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": 1}}\n\
                 :::MLLOG {\"time_ms\": 1060000, \"key\": \"epoch_stop\", \"metadata\": {\"epoch_num\": 1}}\n";
    assert_eq!(recorded(mllog), (vec![(10.0, 0.0), (60.0, 1.0)], Some(1000.0)));
    let nano = "iter 0: loss 4, time 1000.00ms\niter 10: loss 4, time 50.00ms\niter 20: loss 3, time 50.00ms";
    assert_eq!(recorded(nano), (vec![(1.0, 0.0), (1.5, 10.0), (2.0, 20.0)], None));
    let bar = " 10%|# | 1/10 [00:02<00:18, 2.00s/it]\r 50%|# | 5/10 [00:10<00:10, 2.00s/it]\r";
    assert_eq!(recorded(bar).0, [(2.0, 1.0), (10.0, 5.0)]);
    // Bars that are printed once an epoch, and two processes that print the same steps.
    let keras = "Epoch 1/2\n20/20 - 1s - 50ms/step\nEpoch 2/2\n20/20 - 1s - 100ms/step";
    assert_eq!(recorded(keras).0, [(1.0, 20.0), (3.0, 40.0)]);
    let rank = "Epoch: [0][1/2]\tTime  1.000\nEpoch: [0][2/2]\tTime  1.000\nEpoch: [1][1/2]\tTime  1.000\n";
    let ranks: String = rank.lines().flat_map(|line| [line, "\n", line, "\n"]).collect();
    assert_eq!(recorded(&ranks), recorded(rank));
    assert_eq!(recorded(rank).0, [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]);
}

#[test]
fn logs_of_mlperf_count_epochs_blocks_or_evaluations() {
    let read = |events: &[(u32, &str, &str)]| {
        let mut reader = Reader::new();
        for (secs, key, metadata) in events {
            let line =
                format!(":::MLLOG {{\"time_ms\": {secs}000, \"key\": \"{key}\", \"metadata\": {{{metadata}}}}}\n");
            reader.push_recorded(line.as_bytes());
        }
        let curve = reader.curve().unwrap();
        (curve.points, curve.unit)
    };
    // Epochs are finer than the evaluations between them, numbered from 0 or from 1.
    for first in [0, 1] {
        let number = |epoch: u32| format!("\"epoch_num\": {}", first + epoch);
        let (one, two) = (number(0), number(1));
        let events =
            [(10, "epoch_start", &*one), (20, "epoch_stop", &one), (25, "epoch_start", &two), (35, "epoch_stop", &two)];
        let evaluations = [(21, "eval_accuracy", &*one), (36, "eval_accuracy", &two)];
        let points = vec![(0.0, 0.0), (10.0, 1.0), (25.0, 2.0)];
        assert_eq!(
            read(&[&events[..2], &evaluations[..1], &events[2..], &evaluations[1..]].concat()).0,
            points,
            "{first}"
        );
    }
    // Blocks of several epochs.
    let block = |first: u32| format!("\"first_epoch_num\": {first}, \"epoch_count\": 4");
    let blocks = [(10, "block_start", &*block(1)), (20, "block_start", &block(5)), (30, "block_start", &block(9))];
    assert_eq!(read(&blocks).0, [(0.0, 0.0), (10.0, 4.0), (20.0, 8.0)]);
    // Evaluations after parts of an epoch, and after numbers of samples.
    let within = |number: f64| format!("\"epoch_num\": {number}");
    let ends = [(10, "eval_stop", &*within(1.25)), (20, "eval_stop", &within(1.5)), (30, "eval_stop", &within(1.75))];
    assert_eq!(read(&ends).0, [(0.0, 0.25), (10.0, 0.5), (20.0, 0.75)]);
    let mut bert = vec![(5, "epoch_start", within(0.0))];
    bert.extend((1..=9).map(|count| (10 * count, "eval_accuracy", within(f64::from(count) * 175_104.0))));
    bert.push((95, "epoch_stop", within(1_575_936.0)));
    let events: Vec<_> = bert.iter().map(|(secs, key, metadata)| (*secs, *key, metadata.as_str())).collect();
    let (points, unit) = read(&events);
    assert_eq!((points.len(), points[8], unit.as_str()), (9, (85.0, 1_575_936.0), "samples"));
}

proptest! {
    #[test]
    fn any_output_gives_a_valid_curve_however_it_is_cut(
        pieces in prop::collection::vec(
            prop_oneof![
                "[0-9]{1,3}/[0-9]{1,3}( \\[|\n|\r)", "Epoch:? [0-9]{1,2}", "[ -~]{0,9}", "\n|\r|\x1b\\[1m|step |iter |it/s",
            ],
            0..200,
        ),
        cuts in prop::collection::vec(1..40_usize, 1..20),
    ) {
        let text = pieces.concat();
        let whole = { let mut reader = Reader::new(); reader.push(text.as_bytes(), 1.0); reader.finish(); reader };
        let mut cut = Reader::new();
        let mut rest = text.as_bytes();
        for length in cuts.iter().cycle() {
            if rest.is_empty() { break; }
            let (start, end) = rest.split_at((*length).min(rest.len()));
            cut.push(start, 1.0);
            rest = end;
        }
        cut.finish();
        prop_assert_eq!(whole.curve(), cut.curve());
        if let Some(curve) = whole.curve() {
            prop_assert!(curve.is_valid() && curve.points.len() <= MOST_CURVE_POINTS, "{:?}", curve);
        }
    }

    #[test]
    fn any_interrupted_log_gives_a_valid_curve(
        lines in prop::collection::vec((0..20_u32, 0..3_u32, 1..9_u32, 0..4000_u32), 0..60),
    ) {
        let start: foreglow_shared::Timestamp = "2026-11-28T10:00:00Z".parse().unwrap();
        let mut secs = 0;
        let line = |(step, epoch, of, pause): (u32, u32, u32, u32)| {
            secs += if pause < 3000 { pause % 5 } else { pause };
            let bar = if of > 4 { format!("Epoch: [{epoch}] [{step}/{}]", of + 15) } else { format!("step {step}") };
            format!("{} {bar}\n", start + std::time::Duration::from_secs(secs.into()))
        };
        let log: String = lines.into_iter().map(line).collect();
        let mut reader = Reader::of_file();
        reader.push_recorded(log.as_bytes());
        prop_assert!(reader.curve().is_none_or(|curve| curve.is_valid()), "{log}");
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut reader = Reader::of_file();
        reader.push(&bytes, 0.0);
        reader.push_recorded(&bytes);
        reader.finish_recorded();
        prop_assert!(reader.curve().is_none_or(|curve| curve.is_valid()));
    }
}
