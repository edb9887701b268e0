//! Times of layers, and parts of the time of runs, in samples.

use foreglow_model::{Calibration, RunParts};
use foreglow_shared::{Context, Mode, Sample};

/// Field of the sample with the times of layers. Other versions ignore and keep it.
const FIELD: &str = "calibration";

/// Adds times of layers to a sample of the same machine.
///
/// # Errors
/// They cannot be written as JSON.
pub fn attach(sample: &mut Sample, calibration: &Calibration) -> anyhow::Result<()> {
    sample.extra.insert(FIELD.to_owned(), serde_json::to_value(calibration)?);
    Ok(())
}

/// Returns the times of layers on a context's machine, in its number format.
pub fn of_machine(samples: &[Sample], context: &Context) -> Vec<Calibration> {
    let machine = |context: &Context| {
        let Context { workload, engine, host, accelerator, .. } = context;
        (workload.number_format(), *engine, host.clone(), accelerator.clone())
    };
    let is_there = |sample: &&Sample| machine(&Context::of(sample)) == machine(context);
    // A damaged calibration counts as missing.
    let read = |sample: &Sample| serde_json::from_value(sample.extra.get(FIELD)?.clone()).ok();
    samples.iter().filter(|sample| sample.extra.contains_key(FIELD)).filter(is_there).filter_map(read).collect()
}

/// Returns the parts of the time of completed inference runs of a context, without disturbed runs
/// if there are others.
pub fn parts(samples: &[Sample], context: &Context) -> Vec<RunParts> {
    if context.workload.mode != Mode::Inference {
        return Vec::new();
    }
    let own: Vec<&Sample> = samples.iter().filter(|sample| Context::of(sample) == *context).collect();
    let calm: Vec<RunParts> = own.iter().filter(|sample| !sample.is_disturbed()).filter_map(|it| of_run(it)).collect();
    if calm.is_empty() { own.into_iter().filter_map(of_run).collect() } else { calm }
}

fn of_run(sample: &Sample) -> Option<RunParts> {
    let configuration = &sample.configuration;
    let phase = |name: &str| sample.extra.get("phases")?.get(name)?.as_f64().filter(|secs| *secs >= 0.0);
    let parts = RunParts {
        slots: f64::from(configuration.executors) * f64::from(configuration.cores_per_executor),
        images: (sample.workload.images as f64 * sample.sampling_rate).round().max(1.0),
        completion_secs: sample.completed_secs()?,
        forward_secs: phase("forward_secs")?,
        preparation_secs: phase("read_secs")? + phase("decode_secs")? + phase("copy_secs")?,
    };
    Some(parts)
}
