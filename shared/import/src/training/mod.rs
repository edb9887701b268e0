//! What training leaves behind: files with the progress of a run.

mod history;
mod log;
mod mlflow;
mod profiler;
mod tensorboard;
mod trainer;

use foreglow_progress::Recorder;
use foreglow_shared::{
    Catalog, Curve, Label, LabelError, Labels, NO_IMAGE_PX, Outcome, RUN_SECS, SYSTEM_MIB, Sample, Timestamp,
    format_count, format_duration, parse_line,
};
use serde_json::json;

pub use self::history::History;
pub use self::log::Log;
pub use self::mlflow::MlflowMetric;
pub use self::profiler::ProfilerTrace;
pub use self::tensorboard::TensorBoard;
pub(crate) use self::tensorboard::no_events;
pub use self::trainer::{TrainerState, steps_of_trainer};
use crate::identity::run_id;
use crate::{Given, Import, ImportError};

/// Memory of an executor where neither the file nor the user tells it, MiB.
const ASSUMED_MEMORY_MIB: u32 = 1024;

/// Labels that have usual values.
const ASSUMED: [&str; 3] = ["model", "accelerator", "gpus"];
/// Least length of a pause at which a run was interrupted, although its work does not go back,
/// seconds, and its least multiple of the second longest one.
const LONG_PAUSE_SECS: f64 = 1800.0;
const LONG_PAUSE_RATIO: f64 = 20.0;
/// Least number of other intervals that show what is usual.
const LEAST_INTERVALS: usize = 10;
/// Largest share of the job before the first report of a run that was not resumed.
const MOST_MISSING: f64 = 0.05;
const COUNT: &str = "a whole number, 1 or more";

/// A training run.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    /// The progress; its times start with the run.
    curve: Curve,
    /// Start of the run, seconds since 1970, if the file tells it.
    started_at_secs: Option<f64>,
    /// Time of the finished run, if the file tells it.
    finished_secs: Option<f64>,
    /// What the file tells about the job.
    labels: Labels,
    /// Remarks on what the file has.
    notes: Vec<String>,
    /// A longer run in the same file, before this one started again.
    earlier: Option<Box<Run>>,
}

impl Run {
    fn new(curve: Curve) -> Self {
        let labels = Labels::default();
        Self { curve, started_at_secs: None, finished_secs: None, labels, notes: Vec::new(), earlier: None }
    }

    /// Creates a run whose progress was recorded from a file that starts at a time, seconds since
    /// 1970.
    fn recorded(curve: Curve, recorder: &Recorder, file_starts_at: Option<f64>) -> Self {
        let cut = recorder.interruptions();
        let mut run = Self::new(curve);
        run.started_at_secs = file_starts_at.map(|secs| secs + cut.start_secs);
        if cut.count > 0 {
            let unit = &run.curve.unit;
            run.notes.push(format!(
                "its {unit} go back after a pause, because it was interrupted and resumed, or started again: {} without work \
                 are left out, and {} {unit} that it did again count once",
                format_duration(cut.pause_secs),
                cut.repeated
            ));
        }
        run.earlier = recorder.earlier().map(|earlier| {
            let curve = Curve { points: earlier.points(), ..run.curve.clone() };
            Box::new(Self::recorded(curve, earlier, file_starts_at))
        });
        run.without_long_pause()
    }

    /// Leaves out a pause that is far above all others and not at the end of an epoch.
    fn without_long_pause(mut self) -> Self {
        let points = &self.curve.points;
        let length = |place: &usize| points[place + 1].0 - points[*place].0;
        let mut intervals: Vec<usize> = (0..points.len().saturating_sub(1)).collect();
        intervals.sort_by(|one, other| length(other).total_cmp(&length(one)));
        let [longest, second, ..] = intervals[..] else { return self };
        // An epoch that is done ends here, also of a program that counts its steps from 0.
        let epoch_of = |done: f64| self.curve.per_epoch.map_or(0.0, |units| (done / units).floor());
        let is_within_epoch = epoch_of(points[longest].1 - 1.0) == epoch_of(points[longest + 1].1);
        let pause = length(&longest);
        let is_far_above = pause >= LONG_PAUSE_SECS && pause >= LONG_PAUSE_RATIO * length(&second);
        if intervals.len() <= LEAST_INTERVALS || !is_far_above || !is_within_epoch {
            return self;
        }
        let (first, last) = (points[0], points[points.len() - 1]);
        let work = points[longest + 1].1 - points[longest].1;
        let cut = pause - (last.0 - first.0 - pause) / (last.1 - first.1 - work) * work;
        self.notes.push(format!(
            "a pause of {} is far above all others and counts as an interruption, which is left out",
            format_duration(pause)
        ));
        self.curve.points[longest + 1..].iter_mut().for_each(|point| point.0 -= cut);
        self
    }

    /// Returns a run without the work before the first that the file has, if it is more than the
    /// start of a job of `whole` units: that of a run that was resumed.
    fn without_missing_start(&self, whole: f64) -> Option<Self> {
        let [(_, first), (_, second), ..] = self.curve.points[..] else { return None };
        let missing = first - (second - first);
        if first <= MOST_MISSING * whole || missing <= second - first {
            return None;
        }
        let mut run = self.clone();
        run.curve.points.iter_mut().for_each(|point| point.1 -= missing);
        run.notes.push(format!(
            "its progress starts at {first} of {whole} {}, because it was resumed; what it has counts as the beginning of the job",
            self.curve.unit
        ));
        Some(run)
    }

    /// Returns the last complete run of `whole` units, if the file has several, or one that started
    /// again.
    fn last_complete(&self, whole: f64) -> Option<Self> {
        let done = |run: &Self| run.curve.last().map_or(0.0, |last| last.1);
        if done(self) + 1.0 < whole {
            let mut earlier = (**self.earlier.as_ref()?).clone();
            let note = "the last run in it is not complete; the one before it counts".to_owned();
            earlier.notes.push(note);
            return (done(&earlier) + 1.0 >= whole).then_some(earlier);
        }
        // A bar that starts again has passed the whole job.
        let epochs = whole / self.curve.per_epoch?;
        if done(self) <= whole || epochs < 1.0 || epochs.fract() > 1e-9 {
            return None;
        }
        let runs = ((done(self) + 1.0) / whole).floor();
        let before = (runs - 1.0) * whole;
        let counts_from_zero = self.curve.points.first().is_some_and(|first| first.1 == 0.0);
        let is_in = |done: f64| match counts_from_zero {
            true => before <= done && done < before + whole,
            false => before < done && done <= before + whole,
        };
        let mut points = self.curve.points.clone();
        points.retain(|point| is_in(point.1));
        let start_secs = points.first()?.0;
        points.iter_mut().for_each(|point| *point = (point.0 - start_secs, point.1 - before));
        let mut run = self.clone();
        run.notes.push(format!(
            "its progress has {} {}, and the whole job {whole}: it has several runs, of which the last complete one counts",
            done(self),
            self.curve.unit
        ));
        run.curve.points = points;
        run.started_at_secs = self.started_at_secs.map(|secs| secs + start_secs);
        Some(run)
    }

    fn with_label(mut self, name: &str, value: Option<u64>) -> Self {
        self.labels.set(name, value.map(|value| value.to_string()).unwrap_or_default());
        self
    }

    /// Returns the run as a sample of the whole job; `given` has what the file lacks.
    fn import(self, given: &Given) -> Result<Import, ImportError> {
        let rates = given.sampling_rates.first().filter(|rate| **rate < 1.0);
        if rates.is_some() {
            return Err(refused(
                "its progress tells the share of the job; omit --sampling-rate and give the images and epochs of the job",
            ));
        }
        let mut notes = Vec::new();
        let labels = self.labels.clone().with_flags(&given.labels)?;
        let mut assumed = labels.missing(&ASSUMED);
        let labels = described(labels, given);
        let (labels, work) = self.with_work(labels)?;
        let labels = on_machine(labels, given, &mut notes)?;
        assumed.retain(|label| given.machine.is_none() || label.name == "model");
        let mut own_notes = Vec::new();
        let mut sample = self.sample(&labels, work.clone(), given, &mut own_notes)?;
        match sample
            .whole_units()
            .and_then(|whole| self.last_complete(whole).or_else(|| self.without_missing_start(whole)))
        {
            Some(run) => {
                sample = run.sample(&labels, work, given, &mut notes)?;
                notes.extend(run.notes);
            }
            None => {
                notes.extend(own_notes);
                notes.extend(self.notes);
            }
        }
        Ok(Import { samples: vec![sample], notes, assumed, ..Import::default() })
    }

    /// Adds the work of the whole job to labels: images, of which the user tells the number, or the
    /// units of the progress.
    ///
    /// # Errors
    /// The whole job is unknown.
    fn with_work(&self, mut labels: Labels) -> Result<(Labels, Work), ImportError> {
        let unit = &self.curve.unit;
        if labels.get("images").is_some() {
            if labels.get("steps").is_some() {
                return Err(refused("the whole job is given by --images and by --steps; omit one of them"));
            }
            let mut needed = Vec::new();
            if labels.get("mode") == Some("training") {
                needed.push("epochs");
            }
            if unit == "steps" && self.curve.of.is_none() {
                needed.push("batch_size");
            }
            let missing = labels.missing(&needed);
            if !missing.is_empty() {
                return Err(LabelError::Missing(missing).into());
            }
            let unit = labels.get("image_px").is_none().then(|| "images".to_owned());
            return Ok((labels.or(&usual(&[("image_px", NO_IMAGE_PX), ("batch_size", 1)])), Work { unit, of: None }));
        }
        let epochs = labels.optional::<u32>("epochs", COUNT)?;
        let steps = labels.optional::<u32>("steps", COUNT)?.map(f64::from);
        let of = match (self.curve.whole(epochs), steps) {
            (_, Some(_)) if unit != "steps" => {
                return Err(refused(format!("it counts {unit}; omit --steps, and give --images or --epochs")));
            }
            (Some(own), Some(given)) if own != given => {
                return Err(refused(format!("it tells that the whole job has {own} steps; omit --steps")));
            }
            (own, given) => own.or(given),
        };
        let of = of.filter(|of| *of >= 1.0).ok_or_else(|| {
            let name = match unit.as_str() {
                _ if self.curve.per_epoch.is_some() => "epochs",
                "epochs" => "epochs",
                "steps" => "steps",
                _ => "images",
            };
            let label = self.labels.missing(&[name]).first().copied().unwrap_or(Label { name, flag: None });
            ImportError::UnknownWork { unit: unit.clone(), label, assumed: self.labels.missing(&ASSUMED) }
        })?;
        let mut whole = usual(&[("image_px", NO_IMAGE_PX), ("batch_size", 1), ("epochs", 1)]);
        whole.set("images", (of.ceil() as u64).to_string());
        // The epochs are in the work.
        labels.remove("epochs");
        Ok((labels.or(&whole), Work { unit: Some(unit.clone()), of: Some(of) }))
    }

    fn sample(
        &self,
        labels: &Labels,
        work: Work,
        given: &Given,
        notes: &mut Vec<String>,
    ) -> Result<Sample, ImportError> {
        let (last_secs, done) = self.curve.last().ok_or_else(|| refused("it has no progress"))?;
        let at = |secs: f64| Timestamp::from_millisecond((secs * 1000.0) as i64).unwrap_or(Timestamp::UNIX_EPOCH);
        let recorded_start = self.started_at_secs.map(at);
        let started_at = recorded_start.unwrap_or_else(|| match given.written_at {
            Some(end) => {
                notes.push("the file has no date, so that the run is dated by when the file was written".to_owned());
                at(end.as_millisecond() as f64 / 1000.0 - last_secs)
            }
            None => {
                notes.push("the file has no date, so that the run is dated 1970-01-01".to_owned());
                Timestamp::UNIX_EPOCH
            }
        });
        let startup_secs = self.curve.startup_secs().unwrap_or(0.0);
        let secs = self.finished_secs.unwrap_or(last_secs) - startup_secs;
        let mut sample = given.labelled(labels);
        // A copy of the file, which is written later, has the same run.
        let dated = recorded_start.unwrap_or(Timestamp::UNIX_EPOCH);
        sample["id"] = run_id(&format!("{:?}", self.curve), dated).to_string().into();
        sample["sampling_rate"] = 1.0.into();
        sample["outcome"] = Outcome::TimedOut.as_str().into();
        sample["completion_time_secs"] = secs.max(*RUN_SECS.start()).into();
        sample["startup_secs"] = startup_secs.into();
        sample["started_at"] = started_at.to_string().into();
        sample["progress"] = json!(Curve { of: work.of.or(self.curve.of), ..self.curve.clone() });
        if let Some(unit) = work.unit {
            sample["workload"]["unit"] = unit.into();
        }
        let batch_size = sample["workload"]["batch_size"].clone();
        let configuration = &mut sample["configuration"];
        configuration["executors"] = labels.optional::<u32>("gpus", COUNT)?.unwrap_or(1).into();
        configuration["cores_per_executor"] = 1.into();
        if configuration["partition_size"].is_null() {
            configuration["partition_size"] = batch_size;
        }
        let mut sample = parse_line(&sample.to_string()).map_err(|error| refused(error.to_string()))?;
        let unit = &self.curve.unit;
        // Programs that count steps from 0 end one earlier.
        let uncounted = if unit == "epochs" { 0.0 } else { 1.0 };
        match sample.whole_units() {
            Some(whole) if done + uncounted >= whole || self.finished_secs.is_some() => {
                sample.outcome = Outcome::Completed;
            }
            Some(whole) => sample.reason = Some(format!("its progress ends after {done} of {whole} {unit}")),
            None => {
                return Err(refused(format!(
                    "it counts {unit}, of which the whole job is not known; record the progress in steps or images"
                )));
            }
        }
        notes.extend(sample.reason.clone());
        Ok(sample)
    }
}

/// The work of the whole job.
#[derive(Clone, Debug, PartialEq)]
struct Work {
    /// Plural noun for its units; `None` for images of a known size.
    unit: Option<String>,
    /// Number of them in the unit of the progress; `None` if the labels tell it.
    of: Option<f64>,
}

/// Returns labels of numbers.
fn usual(labels: &[(&str, u32)]) -> Labels {
    let mut usual = Labels::default();
    labels.iter().for_each(|(name, value)| usual.set(name, value.to_string()));
    usual
}

/// Names the job of a run.
fn described(labels: Labels, given: &Given) -> Labels {
    let mut usual = Labels::default();
    usual.set("mode", "training");
    usual.set("model", given.name.as_deref().unwrap_or("training"));
    labels.or(&usual)
}

/// Adds the machine of a run to labels: its memory and GPUs are those of the machine type, if it is
/// in the built-in catalog.
///
/// # Errors
/// It is unknown which GPUs, or how many, the run used.
fn on_machine(labels: Labels, given: &Given, notes: &mut Vec<String>) -> Result<Labels, ImportError> {
    let catalog = given.machine.as_ref().map(|_| Catalog::built_in());
    let machine = catalog.as_ref().zip(given.machine.as_deref()).and_then(|(catalog, name)| catalog.find(name).ok());
    let gpus = machine.and_then(|machine| machine.accelerators.as_ref());
    let mut usual = Labels::default();
    if let (Some(gpus), None, Some(machine)) = (gpus, labels.get("gpus"), &given.machine)
        && gpus.count > 1
    {
        let count = gpus.count;
        return Err(refused(format!("{machine} has {count} GPUs; tell how many of them the run used with --gpus")));
    }
    usual.set("accelerator", gpus.map(|gpus| gpus.name.clone()).unwrap_or_default());
    let labels = labels.or(&usual);
    let executors = labels.optional::<u32>("gpus", COUNT)?.unwrap_or(1).max(1);
    match (labels.get("accelerator"), labels.get("gpus")) {
        (None, Some(_)) => return Err(LabelError::Missing(labels.missing(&["accelerator"])).into()),
        (None, None) => notes.push(
            "it counts as a run of one executor with one core and no GPU, because the file does not tell them; name a GPU \
             with --accelerator, or the machine type with --machine"
                .to_owned(),
        ),
        (Some(_), _) => notes.push(format!("it counts as a run of {}", format_count(executors as usize, "GPU"))),
    }
    if labels.get("memory_per_executor_mib").is_some() {
        return Ok(labels);
    }
    let memory_mib =
        machine.map_or(ASSUMED_MEMORY_MIB, |machine| machine.memory_mib.saturating_sub(SYSTEM_MIB) / executors);
    if machine.is_none() {
        notes.push(format!("its memory is not in the file and counts as {ASSUMED_MEMORY_MIB} MiB; --memory tells it"));
    }
    Ok(labels.or(&self::usual(&[("memory_per_executor_mib", memory_mib)])))
}

fn refused(sentence: impl Into<String>) -> ImportError {
    ImportError::Training(sentence.into())
}

/// Says that the batch size changes during a run.
fn changed_batch_size((first, last): (f64, f64)) -> String {
    format!(
        "its batch size changes from {first} to {last} during the run, and the time of a step with it; the prediction counts \
         steps of all sizes alike"
    )
}

/// Replaces `NaN` and `Infinity`, which Python writes and JSON does not have, by `null`.
fn without_nan(bytes: &[u8]) -> Vec<u8> {
    const NAMES: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let (mut json, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    let mut is_text = false;
    while let [first, after @ ..] = rest {
        let name = NAMES.into_iter().find(|name| !is_text && rest.starts_with(name));
        let escaped = usize::from(is_text && *first == b'\\' && !after.is_empty());
        is_text ^= *first == b'"';
        let length = name.map_or(1 + escaped, <[u8]>::len);
        json.extend_from_slice(if name.is_some() { b"null" } else { &rest[..length] });
        rest = &rest[length..];
    }
    json
}
