//! The time left of training runs that MLPerf published, as `foreglow watch` says it, beside the
//! estimate of a bar and the time that was left.
//!
//! ```sh
//! cargo run --release -p foreglow-accuracy --example time_left -- FOLDER…
//! ```
//!
//! Each folder has results of MLPerf training, such as those of `mlcommons/training_results_v3.1`;
//! of each system and benchmark the first two runs count. A log is cut where 10, 25 and 50 % of its
//! work was done, and the whole job is what was done at its end, because a run stops when its
//! accuracy is reached. It ends with its process, if its launcher says how long that took, and else
//! with MLPerf's `run_stop`.

#![allow(clippy::print_stdout, reason = "the tables in docs/accuracy.md")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use foreglow_model::WholeJob;
use foreglow_progress::Reader;
use foreglow_shared::{Curve, Timestamp};

const SHARES: [f64; 3] = [0.1, 0.25, 0.5];
/// Shorter runs have more start than work, seconds.
const SHORTEST_SECS: f64 = 30.0;
/// Time zones differ by multiples of this, seconds.
const ZONE_STEP_SECS: f64 = 900.0;

/// What was said of a run at one share of its work.
struct Answer {
    /// Relative error of the time left, and that of a bar.
    error: f64,
    of_bar: f64,
    is_held: bool,
}

/// A log, with the time that each of its lines tells, or the one before, seconds since 1970.
struct Log<'a> {
    lines: Vec<(&'a [u8], Option<f64>)>,
    ended_at: f64,
}

impl<'a> Log<'a> {
    /// Returns `None` for a log without a run, or with a very short one.
    fn new(text: &'a [u8]) -> Option<Self> {
        let (mut now, mut start, mut stop, mut process) = (None, None, None, None);
        let mut lines = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if let Some((secs, key)) = event(line) {
                now = Some(now.map_or(secs, |now: f64| now.max(secs)));
                match key.as_str() {
                    "run_start" => drop(start.get_or_insert(secs)),
                    "run_stop" => stop = Some(secs),
                    _ => {}
                }
            }
            process = process.or_else(|| process_of(line));
            lines.push((line, now));
        }
        let (start, stop) = (start?, stop?);
        let ended_at = process.map_or(stop, |(began, took)| {
            let zone = ((start - began) / ZONE_STEP_SECS).floor() * ZONE_STEP_SECS;
            stop.max(began + zone + took)
        });
        (stop - start >= SHORTEST_SECS).then_some(Self { lines, ended_at })
    }

    /// Reads the lines up to a moment.
    fn read(&self, until: f64) -> Option<(Curve, f64)> {
        let mut reader = Reader::of_file();
        let is_before = |at: &Option<f64>| at.is_none_or(|at| at <= until);
        self.lines.iter().filter(|(_, at)| is_before(at)).for_each(|(line, _)| reader.push_recorded(line));
        reader.finish_recorded();
        reader.curve().zip(reader.started_at_secs())
    }

    /// Returns the answers at each share; `None` in place of one if nothing could be said.
    fn replay(&self) -> Option<[Option<Answer>; 3]> {
        let (whole, started_at) = self.read(f64::INFINITY)?;
        let of = whole.last()?.1;
        let answer = |share: f64| {
            let reached = whole.points.iter().rev().find(|point| point.1 <= share * of)?.0 + started_at;
            let (curve, _) = self.read(reached + 0.02)?;
            let (so_far, done) = curve.last()?;
            // The lines of some logs have another order than their times.
            let job =
                WholeJob::from_curve(&curve, of).ok().filter(|_| done <= share * of && curve.unit == whole.unit)?;
            let left = self.ended_at - reached;
            let is_held = (job.lower_secs - so_far..=job.upper_secs - so_far).contains(&left);
            let error = |secs: f64| (secs / left - 1.0).abs();
            Some(Answer { error: error(job.secs - so_far), of_bar: error(bar(&curve, of)?), is_held })
        };
        Some(SHARES.map(answer))
    }
}

/// Returns the time and the key of an event of MLPerf's log.
fn event(line: &[u8]) -> Option<(f64, String)> {
    let line = std::str::from_utf8(line).ok()?;
    let event: serde_json::Value = serde_json::from_str(line.split_once(":::MLLOG")?.1.trim()).ok()?;
    Some((event["time_ms"].as_f64()? / 1e3, event["key"].as_str()?.to_owned()))
}

/// Reads `RESULT,NAME,,4327,root,2020-07-14 10:16:12 PM`: the start of a process on a clock of an
/// unknown zone, and its time in whole seconds.
fn process_of(line: &[u8]) -> Option<(f64, f64)> {
    let line = std::str::from_utf8(line).ok()?;
    let fields: Vec<&str> = line.split_once("RESULT,")?.1.trim().split(',').collect();
    let [_, _, took, _, began] = fields[..] else { return None };
    let (time, is_afternoon) = (began.get(..19)?, began.ends_with("PM"));
    let at = format!("{}T{}Z", time.get(..10)?, time.get(11..)?).parse::<Timestamp>().ok()?.as_second() as f64;
    let is_twelve = time.get(11..13)? == "12";
    let half_days = f64::from(u8::from(is_afternoon)) - f64::from(u8::from(is_twelve));
    Some((at + 43_200.0 * half_days, took.parse().ok()?))
}

/// Returns the time left of a bar of tqdm, an average of the rates with a weight of 0.3 for the
/// last.
fn bar(curve: &Curve, of: f64) -> Option<f64> {
    let (mut smoothed, mut weight) = (0.0, 0.0);
    for pair in curve.points.windows(2) {
        let rate = (pair[1].0 - pair[0].0) / (pair[1].1 - pair[0].1);
        (smoothed, weight) = (0.3 * rate + 0.7 * smoothed, 0.3 + 0.7 * weight);
    }
    (weight > 0.0).then(|| smoothed / weight * (of - curve.points[curve.points.len() - 1].1))
}

/// Finds the first two runs of each system and benchmark.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            find(&path, found)?;
        } else if name == "result_0.txt" || name == "result_1.txt" {
            found.push(path);
        }
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> anyhow::Result<()> {
    let mut paths = Vec::new();
    for folder in std::env::args().skip(1) {
        find(Path::new(&folder), &mut paths)?;
    }
    paths.sort();
    let mut runs: BTreeMap<String, Vec<[Option<Answer>; 3]>> = BTreeMap::new();
    let mut unread = 0;
    for path in paths {
        let text = fs::read(&path)?;
        let Some(log) = Log::new(&text) else { continue };
        let benchmark = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        match log.replay() {
            Some(answers) => {
                runs.entry(benchmark).or_default().push(answers);
            }
            None => unread += 1,
        }
    }
    let count: usize = runs.values().map(Vec::len).sum();
    println!("{count} runs, and {unread} without progress\n");
    println!("| benchmark | share done | runs with an answer | median error, % | a bar's | in the 90 % interval, % |");
    println!("|---|---:|---:|---:|---:|---:|");
    let all = || runs.values().flatten();
    let row = |name: &str, place: usize, answers: &[&Answer], of: usize| {
        let error = 100.0 * median(answers.iter().map(|answer| answer.error));
        let of_bar = 100.0 * median(answers.iter().map(|answer| answer.of_bar));
        let held = answers.iter().filter(|answer| answer.is_held).count() as f64 / answers.len().max(1) as f64;
        let share = 100.0 * SHARES[place];
        println!("| {name} | {share} % | {} of {of} | {error:.2} | {of_bar:.2} | {:.0} |", answers.len(), 100.0 * held);
    };
    for place in 0..SHARES.len() {
        let answers: Vec<&Answer> = all().filter_map(|answers| answers[place].as_ref()).collect();
        row("all", place, &answers, count);
    }
    for (name, answers) in &runs {
        for place in 0..SHARES.len() {
            let own: Vec<&Answer> = answers.iter().filter_map(|answers| answers[place].as_ref()).collect();
            row(name, place, &own, answers.len());
        }
    }
    Ok(())
}
