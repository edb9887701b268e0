//! A predictor in its own process, which is killed at a time limit.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use foreglow_model::{Answer, Outcome};
use serde_json::{Value, json};

use crate::options::{Bout, Options};

/// Interval between two checks of the process.
const POLL: Duration = Duration::from_millis(20);

/// Returns what a process of this program prints within a time limit.
///
/// # Errors
/// The process exceeds the limit, or fails.
pub fn outcomes(options: &Options, bout: &Bout, limit_secs: f64) -> Result<Vec<Outcome>, String> {
    let failed = |error: std::io::Error| format!("a process could not be used: {error}");
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(options.arguments_of(bout))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    // A thread reads the answer because a full pipe would block the process.
    let mut pipe = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let read = pipe.as_mut().map(|pipe| std::io::Read::read_to_string(pipe, &mut text));
        read.and_then(Result::ok).map(|_| text)
    });
    let start = Instant::now();
    let ended = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break Some(status),
            None if start.elapsed().as_secs_f64() > limit_secs => break None,
            None => std::thread::sleep(POLL),
        }
    };
    if ended.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = reader.join().ok().flatten().unwrap_or_default();
    match ended {
        None => Err(format!("no answer within {limit_secs:.0} s")),
        Some(_) => serde_json::from_str(&text)
            .ok()
            .and_then(|value| read(&value))
            .unwrap_or_else(|| Err("the process failed".into())),
    }
}

/// Formats an answer for the parent process.
pub fn print(outcomes: &Result<Vec<Outcome>, String>) -> Value {
    let outcome = |outcome: &Outcome| {
        let Answer { secs, interval, tenths, is_beyond } = outcome.answer;
        json!([outcome.measured_secs, secs, interval.map(|(lower, upper)| [lower, upper]), is_beyond, tenths])
    };
    match outcomes {
        Ok(outcomes) => json!({ "outcomes": outcomes.iter().map(outcome).collect::<Vec<_>>() }),
        Err(reason) => json!({ "reason": reason }),
    }
}

/// Parses the answer of a process.
fn read(value: &Value) -> Option<Result<Vec<Outcome>, String>> {
    if let Some(reason) = value["reason"].as_str() {
        return Some(Err(reason.to_owned()));
    }
    let outcome = |row: &Value| {
        let interval = row[2][0].as_f64().zip(row[2][1].as_f64());
        let tenths = serde_json::from_value(row[4].clone()).ok()?;
        let answer = Answer { secs: row[1].as_f64(), interval, tenths, is_beyond: row[3].as_bool()? };
        Some(Outcome { measured_secs: row[0].as_f64()?, answer })
    };
    value["outcomes"].as_array()?.iter().map(outcome).collect::<Option<Vec<_>>>().map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_the_way_through_a_process() {
        let answer = Answer { secs: Some(1.25), interval: Some((1.0, 2.5)), tenths: Some([1.5; 4]), is_beyond: true };
        let outcomes =
            Ok(vec![Outcome { measured_secs: 1.5, answer }, Outcome { measured_secs: 2.0, answer: Answer::default() }]);
        assert_eq!(read(&print(&outcomes)), Some(outcomes));
        let reason = Err("there is no run".to_owned());
        assert_eq!(read(&print(&reason)), Some(reason));
    }
}
