//! Timing samples as human-readable tables.

use foreglow_engine::is_stopped;
use foreglow_engine::sweep::Run;
use foreglow_model::{Repetitions, WholeJob, whole_job};
use foreglow_shared::{Confusion, Estimate, Outcome, Sample, format_duration, format_rate, printable};

use crate::table::{Align, aligned, table};

/// Renders one sample with a line per field.
pub fn one(sample: &Sample) -> String {
    let (workload, configuration) = (&sample.workload, &sample.configuration);
    let device = sample.host.adapter.as_ref().or(sample.host.cpu.as_ref());
    let (size, unit) = workload.input_size();
    let mut rows = vec![("job", workload.describe_job())];
    match &workload.command {
        None if workload.unit.is_some() => rows.push(("work", workload.describe_data())),
        None => {
            rows.push((
                workload.noun(),
                format!("{} of {size} {unit}, {} at once", workload.images, workload.batch_size),
            ));
        }
        Some(command) => rows.extend([("command", command.line()), ("work", workload.describe_data())]),
    }
    rows.extend([
        ("executors × cores", configuration.split().short()),
        ("executor memory", format!("{} MiB", configuration.memory_per_executor_mib)),
        ("partition size", configuration.partition_size.to_string()),
        ("sampling rate", format_rate(sample.sampling_rate)),
        ("device", device.cloned().unwrap_or_else(|| "unknown".into())),
        ("outcome", if is_stopped(sample) { "stopped as asked" } else { sample.outcome.as_str() }.to_owned()),
        ("completion time", completion_time(sample)),
        ("start-up, excluded", startup(sample)),
    ]);
    rows.extend(accuracy(sample));
    rows.extend(whole(sample).map(|whole| ("whole job, here", whole)));
    if let Some(reason) = &sample.reason {
        rows.push(("reason", reason.clone()));
    }
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    table(&aligned(["<sample", &format!("<{}", sample.id)]), rows)
}

/// Describes the time of the whole job on the machine of a run that was stopped early, start-up
/// included; `None` for other runs. It is the time of another run, because this one has ended.
fn whole(sample: &Sample) -> Option<String> {
    let whole = whole_job(sample).filter(|_| sample.outcome == Outcome::TimedOut)?;
    Some(match whole.map(WholeJob::of_another_run) {
        Ok(job) => {
            let error = (job.upper_secs - job.lower_secs) / 2.0;
            let [secs, lower, upper] =
                [job.secs, job.lower_secs, job.upper_secs].map(|secs| Estimate::new(secs, error).duration());
            let unseen = if job.lacks_end_of_epoch { ", no end of an epoch was seen" } else { "" };
            format!("{secs} ({lower} to {upper}{unseen})")
        }
        Err(error) => format!("unknown: {error}"),
    })
}

fn startup(sample: &Sample) -> String {
    match (sample.startup_secs, &sample.workload.command) {
        (Some(secs), _) => format_duration(secs),
        (None, Some(_)) => "unknown: it is in the completion time".to_owned(),
        (None, None) => "unknown".to_owned(),
    }
}

/// Renders combinations that ran more than once, one line each; `None` if there are none.
pub fn repeated(combinations: &[(Run, Vec<f64>)]) -> Option<String> {
    let unit = combinations.first()?.0.workload.input_size().1;
    let columns = aligned([
        "executors",
        "cores",
        "memory MiB",
        "partition size",
        unit,
        "batch",
        "sampling rate",
        "runs",
        "median",
        "spread",
        "95 % interval of the median",
        "outliers",
    ]);
    let row = |(run, times): &(Run, Vec<f64>)| {
        let repetitions = Repetitions::of(times).filter(|_| times.len() > 1)?;
        let (workload, configuration) = (&run.workload, &run.configuration);
        let interval = |(lower, upper)| format!("{} to {}", format_duration(lower), format_duration(upper));
        Some(vec![
            configuration.executors.to_string(),
            configuration.split().cores(),
            configuration.memory_per_executor_mib.to_string(),
            configuration.partition_size.to_string(),
            workload.input_size().0.to_string(),
            workload.batch_size.to_string(),
            format_rate(run.sampling_rate),
            times.len().to_string(),
            format_duration(repetitions.median),
            format!("{:.1} %", 100.0 * repetitions.spread),
            repetitions.interval.map_or_else(|| "6 runs or more".into(), interval),
            repetitions.outliers.len().to_string(),
        ])
    };
    let rows: Vec<Vec<String>> = combinations.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| table(&columns, rows))
}

/// Renders samples of one job, one line each.
pub fn many(samples: &[Sample]) -> String {
    let columns = aligned([
        "executors",
        "cores",
        "memory MiB",
        "partition size",
        "sampling rate",
        "<outcome",
        "completion time",
        "start-up",
    ]);
    let rows = samples.iter().map(|sample| {
        let configuration = &sample.configuration;
        vec![
            configuration.executors.to_string(),
            configuration.split().cores(),
            configuration.memory_per_executor_mib.to_string(),
            configuration.partition_size.to_string(),
            format_rate(sample.sampling_rate),
            sample.outcome.as_str().to_owned(),
            completion_time(sample),
            sample.startup_secs.map_or_else(|| "unknown".into(), format_duration),
        ]
    });
    table(&columns, rows)
}

/// Returns loss and accuracy of the last epoch and on the held-out images.
fn accuracy(sample: &Sample) -> Vec<(&'static str, String)> {
    let Some(training) = sample.extra.get("training") else { return Vec::new() };
    let noun = sample.workload.noun();
    let shown = |score: &serde_json::Value| {
        let loss = score["loss"].as_f64().map_or_else(|| "none".to_owned(), |loss| format!("{loss:.4}"));
        match score["accuracy"].as_f64() {
            Some(share) => format!("loss {loss}, accuracy {:.2} % of {} {noun}", 100.0 * share, score["images"]),
            None => format!("unknown: none of the {noun} was usable"),
        }
    };
    let last = training["epochs"].as_array().and_then(|epochs| epochs.last());
    let last = last.map(|score| ("last epoch", shown(score)));
    let validation = training["epochs"].as_array().and_then(|epochs| epochs.last()?.get("validation"));
    let validation = validation.map(|score| ("validation", shown(score)));
    let held_out = training.get("held_out").map(|score| ("held out", shown(score)));
    let average = training["classification"].get("macro").map(|it| {
        let share = |name: &str| it[name].as_f64().unwrap_or(0.0);
        let [precision, recall, f1] = ["precision", "recall", "f1"].map(share);
        ("mean of the classes", format!("precision {precision:.4}, recall {recall:.4}, F1 {f1:.4}"))
    });
    last.into_iter().chain(validation).chain(held_out).chain(average).collect()
}

/// Limit on the classes in a table with a confusion matrix.
const MOST_CLASSES: usize = 20;

/// Renders precision, recall, F1 and confusion matrix of a training run, one line per true class;
/// empty without evaluated images or with too many classes.
pub fn classes(sample: &Sample) -> String {
    let classification = sample.extra.get("training").and_then(|training| training.get("classification"));
    let classes = classification.and_then(|it| it["classes"].as_array()).filter(|it| it.len() <= MOST_CLASSES);
    let confusion = classification.and_then(|it| serde_json::from_value::<Confusion>(it["confusion"].clone()).ok());
    let Some((classes, confusion)) = classes.zip(confusion) else { return String::new() };
    let number = |class: &serde_json::Value| class["class"].as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
    let name = |class: &serde_json::Value| class["name"].as_str().map_or_else(|| number(class).to_string(), printable);
    let predicted: Vec<String> = classes.iter().map(|class| format!("as {}", name(class))).collect();
    let mut columns = vec![("class", Align::Left)];
    columns.extend(["images", "precision", "recall", "F1"].map(|title| (title, Align::Right)));
    columns.extend(predicted.iter().map(|title| (title.as_str(), Align::Right)));
    let rows = classes.iter().map(|class| {
        let share = |field: &str| format!("{:.4}", class[field].as_f64().unwrap_or(0.0));
        let mut row = vec![name(class), class["images"].to_string(), share("precision"), share("recall"), share("f1")];
        row.extend(classes.iter().map(|other| confusion.count(number(class), number(other)).to_string()));
        row
    });
    format!("\n{}", table(&columns, rows))
}

/// Returns the completion time of a sample for users.
pub fn completion_time(sample: &Sample) -> String {
    match (sample.outcome, sample.completion_time_secs) {
        (Outcome::TimedOut, Some(secs)) => format!("more than {}", format_duration(secs)),
        (_, Some(secs)) => format_duration(secs),
        (_, None) => "unknown".into(),
    }
}
