//! Progress display on standard error. If standard error is not a terminal, each finished step is
//! one line.

use std::cell::RefCell;
use std::io::IsTerminal as _;
use std::mem::discriminant;
use std::time::{Duration, Instant};

use foreglow_engine as engine;
use foreglow_engine::sweep::{Run, Step};
pub use foreglow_exit::{be_quiet, note};
use foreglow_exit::{is_quiet, plain};
use foreglow_machine::{AcceleratorUse, Use, Warning};
use foreglow_shared::{Outcome, Sample, format_count, format_duration, format_rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar on standard error.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    going: RefCell<RunProgress>,
    warned: RefCell<Vec<Warning>>,
    /// Plural noun for the items of the runs.
    noun: RefCell<String>,
}

/// State of a run.
#[derive(Debug)]
struct RunProgress {
    since: Instant,
    done: u64,
    all: u64,
    using: Option<Use>,
}

impl Default for Progress {
    /// Creates an empty bar, hidden with `--quiet`.
    fn default() -> Self {
        let target = if is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {prefix} {bar:24} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        let going = RefCell::new(RunProgress { since: Instant::now(), done: 0, all: 1, using: None });
        Self {
            bar,
            is_terminal: std::io::stderr().is_terminal(),
            going,
            warned: RefCell::default(),
            noun: RefCell::new("images".to_owned()),
        }
    }
}

impl Progress {
    /// Sets the plural noun for the items: images or texts.
    pub fn counts(&self, noun: &str) {
        noun.clone_into(&mut self.noun.borrow_mut());
    }

    /// Shows the progress of an operation on images.
    pub fn images(&self, what: &'static str, done: u64, all: u64) {
        self.bar.set_prefix(what);
        self.show(done, all, format!("{done} of {all}"));
    }

    /// Shows the finished steps of tuning and training a published scenario.
    pub fn tuning(&self, scenario: &str, done: u64, all: u64) {
        self.bar.set_prefix(format!("tuning scenario {scenario}"));
        self.show(done, all, format!("{done} of {all}"));
    }

    /// Shows the progress of a single run.
    pub fn run(&self, progress: engine::Progress) {
        match progress {
            engine::Progress::Epoch(epoch) => return self.line(&describe_epoch(&epoch)),
            engine::Progress::Resumed(epochs) => {
                return self
                    .line(&format!("the checkpoint continues after {}", format_count(epochs as usize, "epoch")));
            }
            _ => {}
        }
        self.bar.set_prefix(if progress == engine::Progress::Starting { "starting executors" } else { "running" });
        self.go_on(progress);
    }

    /// Shows the progress of a run in a sweep.
    pub fn step(&self, step: &Step<'_>) {
        let left = step.time_left.map_or_else(String::new, |left| format!(", about {} left", coarse(left)));
        self.bar.set_prefix(format!("run {} of {}{left}: {}", step.number + 1, step.of, describe(step.run)));
        self.go_on(step.progress);
    }

    fn go_on(&self, progress: engine::Progress) {
        let mut going = self.going.borrow_mut();
        match progress {
            engine::Progress::Starting => return self.show(0, 1, "starting".to_owned()),
            engine::Progress::Images(0, all) => {
                *going = RunProgress { since: Instant::now(), done: 0, all, using: None }
            }
            engine::Progress::Images(done, all) => (going.done, going.all) = (done, all),
            engine::Progress::Using(using) => going.using = Some(using),
            // A sweep has too many epochs for a line each.
            engine::Progress::Epoch(_) | engine::Progress::Resumed(_) => {}
        }
        self.show(going.done, going.all, going.describe(&self.noun.borrow(), going.since.elapsed()));
    }

    /// Prints a warning. Only the first warning of each kind is printed.
    pub fn warn(&self, warning: Warning) {
        let mut warned = self.warned.borrow_mut();
        if !warned.iter().any(|other| discriminant(other) == discriminant(&warning)) {
            self.line(&format!("warning: {warning}"));
            warned.push(warning);
        }
    }

    /// Prints the result of a finished run.
    pub fn finished(&self, number: usize, of: usize, run: &Run, sample: &Sample) {
        self.line(&format!("{number}/{of}  {}  {}", describe(run), result(sample)));
    }

    /// Shows the finished fits of an evaluation.
    pub fn trials(&self, met: usize, of: usize) {
        self.bar.set_prefix("evaluating");
        self.show(met as u64, of as u64, format!("{met} of {of} fits"));
    }

    /// Prints a permanent line above the bar.
    pub fn line(&self, text: &str) {
        if self.is_terminal {
            self.bar.println(plain(text));
        } else {
            note(text);
        }
    }

    fn show(&self, done: u64, all: u64, message: String) {
        self.bar.set_length(all);
        self.bar.set_position(done);
        self.bar.set_message(message);
    }
}

/// Returns a line such as `epoch 2 of 6: loss 0.4312, accuracy 86.20 %; validation: loss 0.3999,
/// accuracy 87.00 %`.
fn describe_epoch(epoch: &engine::Epoch) -> String {
    let score = |score: engine::Score| format!("loss {:.4}, accuracy {:.2} %", score.loss, 100.0 * score.accuracy);
    let mut line = format!("epoch {} of {}: {}", epoch.number, epoch.of, score(epoch.training));
    line.extend(epoch.validation.map(|validation| format!("; validation: {}", score(validation))));
    line
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl RunProgress {
    /// Returns a text such as `120 of 320 images, 113 images/s, 2 s left, 1.9 processors, GPU 87 %,
    /// 1234 MiB`.
    fn describe(&self, noun: &str, since: Duration) -> String {
        let mut text = format!("{} of {} {noun}", self.done, self.all);
        if self.done > 0 && !since.is_zero() {
            let pace = self.done as f64 / since.as_secs_f64();
            let left = Duration::try_from_secs_f64(self.all.saturating_sub(self.done) as f64 / pace);
            text.push_str(&format!(", {pace:.0} {noun}/s, {} left", left.map_or_else(|_| "long".into(), coarse)));
        }
        if let Some(Use { processors, accelerator }) = self.using {
            text.push_str(&format!(", {processors:.1} processors"));
            let AcceleratorUse { use_percent, memory_used_mib, .. } = accelerator.unwrap_or_default();
            text.extend(use_percent.map(|percent| format!(", GPU {percent} %")));
            text.extend(memory_used_mib.map(|mib| format!(", {mib} MiB")));
        }
        text
    }
}

/// Returns a short description of a configuration and a sampling rate.
pub fn describe(run: &Run) -> String {
    let configuration = &run.configuration;
    format!(
        "{} cores, {} MiB, P {}, SR {}",
        configuration.split().short(),
        configuration.memory_per_executor_mib,
        configuration.partition_size,
        format_rate(run.sampling_rate)
    )
}

/// Returns a short description of the outcome of a run.
pub fn result(sample: &Sample) -> String {
    match (sample.outcome, sample.completion_time_secs) {
        (Outcome::Completed, Some(secs)) => format_duration(secs),
        _ => {
            let reason = sample.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
            format!("{}{reason}", sample.outcome.as_str())
        }
    }
}

/// Formats a remaining time in whole seconds, because it is an estimate.
fn coarse(time: Duration) -> String {
    let secs = time.as_secs_f64().round() as u64;
    if secs < 60 { format!("{secs} s") } else { format!("{} min {:02} s", secs / 60, secs % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_described_by_images_throughput_and_resource_use() {
        let mut going = RunProgress { since: Instant::now(), done: 0, all: 320, using: None };
        assert_eq!(going.describe("images", Duration::ZERO), "0 of 320 images");
        going.done = 120;
        assert_eq!(going.describe("images", Duration::from_secs(2)), "120 of 320 images, 60 images/s, 3 s left");
        let accelerator =
            AcceleratorUse { use_percent: Some(87), memory_used_mib: Some(1234), ..AcceleratorUse::default() };
        going.using = Some(Use { processors: 1.94, accelerator: Some(accelerator) });
        let told = "120 of 320 images, 60 images/s, 3 s left, 1.9 processors, GPU 87 %, 1234 MiB";
        assert_eq!(going.describe("images", Duration::from_secs(2)), told);
    }
}
