//! What a person sees on standard error while something takes its time. Where standard error is no terminal, a finished
//! step is one line.

use std::io::IsTerminal as _;
use std::time::Duration;

use foreglow_shared::{Outcome, Sample, format_duration, format_rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::engine;
use crate::sweep::{Run, Step};

/// A bar on standard error.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
}

impl Progress {
    /// An empty bar.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {prefix} {bar:24} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, is_terminal: std::io::stderr().is_terminal() }
    }

    /// Images of which something is done one after the other.
    pub fn images(&self, what: &'static str, done: u64, all: u64) {
        self.bar.set_prefix(what);
        self.show(done, all, format!("{done} of {all}"));
    }

    /// Steps of tuning and training that are done.
    pub fn tuning(&self, done: u64, all: u64) {
        self.bar.set_prefix("tuning");
        self.show(done, all, format!("{done} of {all}"));
    }

    /// A single run.
    pub fn run(&self, progress: engine::Progress) {
        match progress {
            engine::Progress::Starting => self.bar.set_prefix("starting executors"),
            engine::Progress::Images(done, all) => {
                self.bar.set_prefix("running");
                self.show(done, all, format!("{done} of {all} images"));
            }
        }
    }

    /// A run of a sweep.
    pub fn step(&self, step: &Step<'_>) {
        let left = step.time_left.map_or_else(String::new, |left| format!(", about {} left", coarse(left)));
        self.bar.set_prefix(format!("run {} of {}{left}: {}", step.number + 1, step.of, describe(step.run)));
        match step.progress {
            engine::Progress::Starting => self.show(0, 1, "starting".to_owned()),
            engine::Progress::Images(done, all) => self.show(done, all, format!("{done} of {all} images")),
        }
    }

    /// A finished run: a line that stays.
    pub fn finished(&self, number: usize, of: usize, run: &Run, sample: &Sample) {
        self.line(&format!("{number}/{of}  {}  {}", describe(run), result(sample)));
    }

    /// Predictors that have met splits.
    pub fn trials(&self, met: usize, of: usize) {
        self.bar.set_prefix("evaluating");
        self.show(met as u64, of as u64, format!("{met} of {of} fits"));
    }

    /// A line that stays, above the bar.
    pub fn line(&self, text: &str) {
        if self.is_terminal {
            self.bar.println(text);
        } else {
            eprintln!("{text}");
        }
    }

    fn show(&self, done: u64, all: u64, message: String) {
        self.bar.set_length(all);
        self.bar.set_position(done);
        self.bar.set_message(message);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A configuration and a sampling rate in a few words.
pub fn describe(run: &Run) -> String {
    let configuration = &run.configuration;
    format!(
        "{} × {} cores, {} MiB, P {}, SR {}",
        configuration.executors,
        configuration.cores_per_executor,
        configuration.memory_per_executor_mib,
        configuration.partition_size,
        format_rate(run.sampling_rate)
    )
}

/// How a run ended, in a few words.
pub fn result(sample: &Sample) -> String {
    match (sample.outcome, sample.completion_time_secs) {
        (Outcome::Completed, Some(secs)) => format_duration(secs),
        _ => {
            let reason = sample.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
            format!("{}{reason}", sample.outcome.as_str())
        }
    }
}

/// A time left is an estimate: whole seconds.
fn coarse(time: Duration) -> String {
    let secs = time.as_secs_f64().round() as u64;
    if secs < 60 { format!("{secs} s") } else { format!("{} min {:02} s", secs / 60, secs % 60) }
}
