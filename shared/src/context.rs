//! What samples must have in common to be comparable, and what of each the predictor sees.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Engine, Host, Sample, Workload};

/// Everything that must be equal for two completion times to be comparable, apart from the features themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The CNN job.
    pub workload: Workload,
    /// What ran the executors.
    pub engine: Engine,
    /// The machine that measured.
    pub host: Host,
    /// Accelerator that each executor holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<String>,
}

/// One completed run, as the predictor sees it. In a link it is a row of seven numbers, in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct Observation {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Upper bound on an executor's memory, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Share of the images, in (0, 1].
    pub sampling_rate: f64,
    /// Wall clock from submission to the last result, seconds, above 0.
    pub completion_time_secs: f64,
    /// Start-up, seconds; `None` where it was not measured.
    pub startup_secs: Option<f64>,
}

type Row = (u32, u32, u32, u32, f64, f64, Option<f64>);

impl From<Row> for Observation {
    fn from(row: Row) -> Self {
        Self {
            executors: row.0,
            cores_per_executor: row.1,
            memory_per_executor_mib: row.2,
            partition_size: row.3,
            sampling_rate: row.4,
            completion_time_secs: row.5,
            startup_secs: row.6,
        }
    }
}

impl From<Observation> for Row {
    fn from(run: Observation) -> Self {
        (
            run.executors,
            run.cores_per_executor,
            run.memory_per_executor_mib,
            run.partition_size,
            run.sampling_rate,
            run.completion_time_secs,
            run.startup_secs,
        )
    }
}

impl Context {
    /// The context of a sample. Fields that this version does not know come in the order of their names, so that the
    /// order in which a tool wrote them tells no contexts apart.
    pub fn of(sample: &Sample) -> Self {
        let mut context = Self {
            workload: sample.workload.clone(),
            engine: sample.engine,
            host: sample.host.clone(),
            accelerator: sample.configuration.accelerator.clone(),
        };
        for extra in [&mut context.workload.extra, &mut context.host.extra] {
            extra.sort_keys();
            extra.values_mut().for_each(serde_json::Value::sort_all_objects);
        }
        context
    }

    /// One line that names it to a person: `resnet18 inference, 2000 images of 32 px, batch 8, local, Some CPU`.
    pub fn title(&self) -> String {
        let Workload { model, mode, image_px, images, epochs, batch_size, .. } = &self.workload;
        let mut title = format!("{model} {}, {images} images of {image_px} px, batch {batch_size}", mode.as_str());
        if *epochs > 1 {
            title.push_str(&format!(", {epochs} epochs"));
        }
        title.push_str(&format!(", {}", self.engine.as_str()));
        for part in [&self.host.adapter, &self.host.cpu].into_iter().flatten().take(1) {
            title.push_str(&format!(", {part}"));
        }
        title
    }

    /// Orders contexts, whatever their fields are.
    fn key(&self) -> String {
        serde_json::to_string(self).expect("a context holds only strings, numbers and maps with string keys")
    }
}

impl Observation {
    /// What the predictor sees of a sample; `None` unless the run completed.
    pub fn of(sample: &Sample) -> Option<Self> {
        let configuration = &sample.configuration;
        Some(Self {
            executors: configuration.executors,
            cores_per_executor: configuration.cores_per_executor,
            memory_per_executor_mib: configuration.memory_per_executor_mib,
            partition_size: configuration.partition_size,
            sampling_rate: sample.sampling_rate,
            completion_time_secs: sample.completed_secs()?,
            startup_secs: sample.startup_secs,
        })
    }

    fn cmp_features(&self, other: &Self) -> std::cmp::Ordering {
        let features =
            |run: &Self| (run.executors, run.cores_per_executor, run.memory_per_executor_mib, run.partition_size);
        features(self)
            .cmp(&features(other))
            .then(self.sampling_rate.total_cmp(&other.sampling_rate))
            .then(self.completion_time_secs.total_cmp(&other.completion_time_secs))
            .then(self.startup_secs.unwrap_or(0.0).total_cmp(&other.startup_secs.unwrap_or(0.0)))
    }
}

/// Sorts the completed runs of samples into their contexts. The order of the samples changes nothing: contexts come in
/// the order of their JSON, observations in the order of their features. A context whose runs all ended otherwise is
/// there without observations.
pub fn group_by_context(samples: &[Sample]) -> Vec<(Context, Vec<Observation>)> {
    let mut groups: BTreeMap<String, (Context, Vec<Observation>)> = BTreeMap::new();
    for sample in samples {
        let context = Context::of(sample);
        let (_, observations) = groups.entry(context.key()).or_insert_with(|| (context, Vec::new()));
        observations.extend(Observation::of(sample));
    }
    groups
        .into_values()
        .map(|(context, mut observations)| {
            observations.sort_by(Observation::cmp_features);
            (context, observations)
        })
        .collect()
}
