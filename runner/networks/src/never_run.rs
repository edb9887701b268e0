//! Jobs of a CNN without samples, predicted from the runs of other CNNs and the costs of their
//! layers.

use std::collections::BTreeMap;
use std::path::Path;

use foreglow_architectures::{Architecture, Input};
use foreglow_cnn::Network;
use foreglow_console::answer::Basis;
use foreglow_console::ask::Source;
use foreglow_console::calibration;
use foreglow_console::progress::note;
use foreglow_exit::unusable;
use foreglow_model::{GraphCosts, Layer, LayerTimes, LayeredCnn, MeasuredCnn, Predictor, TransferredJob};
use foreglow_shared::{Context, Job, Mode, NetworkFile, Sample, Workload, list_jobs, measured_jobs};

use crate::costs::{graph_costs, layers};

/// Differences of a job of another CNN from the measured jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Differences {
    /// Side of the images, pixels.
    pub image_px: Option<u32>,
    /// Images per mini-batch.
    pub batch_size: Option<u32>,
    /// Images of the job.
    pub images: Option<u64>,
    /// Passes over the images.
    pub epochs: Option<u32>,
}

/// A job of a CNN that was never run, with its predictor.
pub struct NeverRun {
    /// Measured runs, scaled to the CNN.
    pub job: Job,
    /// Predictor fitted to these runs.
    pub predictor: Predictor,
    /// Basis of the prediction.
    pub basis: Basis,
}

/// Predicts the CNN of `source` from the samples of others. `None` if it was measured, or if there
/// is neither a built-in CNN nor a file of its name.
///
/// # Errors
/// The samples do not determine the job, or have no comparable runs.
pub fn never_run(source: &Source, samples: &[Sample], differences: Differences) -> anyhow::Result<Option<NeverRun>> {
    let Some(name) = source.model.as_deref() else { return Ok(None) };
    let jobs = measured_jobs(samples);
    let is_measured = |(_, job): &(usize, Job)| {
        let workload = &job.context.workload;
        source.is_of_model(&workload.model)
            && differences.image_px.is_none_or(|px| px == workload.image_px)
            && differences.batch_size.is_none_or(|size| size == workload.batch_size)
    };
    let is_file = Path::new(name).extension().is_some_and(|ending| ending == "onnx");
    if jobs.is_empty() || jobs.iter().any(is_measured) || !(is_file || Architecture::named(name).is_some()) {
        return Ok(None);
    }
    let network = Network::named(name)?;
    let input = network.input()?;
    let Input::Images { colour, .. } = &input else {
        return Err(unusable(format!(
            "{} takes texts and was never run here; only CNNs that take images are predicted from others, so measure it",
            network.name()
        )));
    };
    let ran_otherwise = jobs.iter().any(|(_, job)| source.is_of_model(&job.context.workload.model));
    let (costed, left_out) = costed(&jobs, samples);
    if !left_out.is_empty() {
        note(&format!("note: the costs of {} are unknown, so its runs are left out", left_out.join(", ")));
    }
    let called = match ran_otherwise {
        true => format!("{} at this image size and batch size", network.name()),
        false => network.name().to_owned(),
    };
    let group = comparable(source, costed, &jobs, &called)?;
    let context = context(&network, &input, (&group, &called), differences)?;
    let Workload { image_px, batch_size, mode, .. } = context.workload;
    let shape = colour.shape(image_px);
    network.classes(shape, batch_size as usize)?;
    if mode == Mode::Training {
        network.check_training(shape)?;
    }
    let costs = network.costs(shape)?;
    let mut measured_models: Vec<String> = group.iter().map(|cnn| cnn.job.context.workload.model.clone()).collect();
    measured_models.sort_unstable();
    measured_models.dedup();
    let is_at_another_size = measured_models.iter().any(|model| model == network.name());
    let what = match is_at_another_size {
        true => format!("{} with images of {image_px} px in batches of {batch_size}", network.name()),
        false => network.name().to_owned(),
    };
    let runs = group.iter().map(|cnn| cnn.job.observations.len()).sum();
    // The backward pass was not timed.
    let is_timed = mode == Mode::Inference;
    let times = if is_timed { LayerTimes::fit(&calibration::of_machine(samples, &context)) } else { None };
    let by_layers = times.as_ref().and_then(|times| {
        let cnn = LayeredCnn { layers: &layers(&costs), input: shape.iter().product::<usize>() as f64 };
        TransferredJob::calibrated(&group, times, context.clone(), cnn)
    });
    let timed_layers = times.filter(|_| by_layers.is_some()).map(|times| times.layers());
    let basis = Basis { measured_models, runs, timed_layers, what };
    let transferred = by_layers
        .or_else(|| TransferredJob::new(&group, context, &graph_costs(&costs, shape)))
        .ok_or_else(|| unusable(format!("the time of {} does not follow from the samples", network.name())))?;
    let predictor = Predictor::fit_transferred(&transferred).map_err(|error| unusable(error.to_string()))?;
    Ok(Some(NeverRun { job: transferred.job, predictor, basis }))
}

/// Costs of a network for one image.
struct NetworkCosts {
    costs: GraphCosts,
    layers: Vec<Layer>,
}

/// Returns the jobs with the costs of their CNNs, and the names of the CNNs whose costs are
/// unknown.
fn costed(jobs: &[(usize, Job)], samples: &[Sample]) -> (Vec<(usize, MeasuredCnn)>, Vec<String>) {
    let mut known: BTreeMap<(String, u32), Option<NetworkCosts>> = BTreeMap::new();
    let (mut costed, mut left_out) = (Vec::new(), Vec::new());
    for (number, job) in jobs {
        let workload = &job.context.workload;
        let file = workload.network.as_ref().unwrap_or(&workload.model).clone();
        let costs = known.entry((file, workload.image_px)).or_insert_with(|| costs_of(workload));
        match costs {
            Some(NetworkCosts { costs, layers }) => {
                let measured = MeasuredCnn {
                    family: family(&workload.model),
                    costs: costs.clone(),
                    layers: layers.clone(),
                    job: job.clone(),
                    parts: calibration::parts(samples, &job.context),
                };
                costed.push((*number, measured));
            }
            None => left_out.push(workload.model.clone()),
        }
    }
    left_out.sort_unstable();
    left_out.dedup();
    (costed, left_out)
}

/// Returns the costs of a workload's CNN; `None` for texts, and if it is unknown, its file is
/// missing, or it does not accept such images.
fn costs_of(workload: &Workload) -> Option<NetworkCosts> {
    let network = Network::of(workload).ok()?;
    let Input::Images { colour, px, .. } = network.input().ok()? else { return None };
    // Imported samples can be of another network with the name of a built-in one.
    px.contains(&workload.image_px).then_some(())?;
    let shape = colour.shape(workload.image_px);
    let costs = network.costs(shape).ok()?;
    Some(NetworkCosts { costs: graph_costs(&costs, shape), layers: layers(&costs) })
}

/// Returns the part of a name before its first digit: networks of one family differ only in the
/// rest.
fn family(model: &str) -> String {
    model.split(|letter: char| letter.is_ascii_digit()).next().unwrap_or(model).to_owned()
}

/// Returns the runs with one mode, engine, machine and number format: those of `--context`, or of
/// all samples if they agree.
fn comparable(
    source: &Source,
    costed: Vec<(usize, MeasuredCnn)>,
    jobs: &[(usize, Job)],
    name: &str,
) -> anyhow::Result<Vec<MeasuredCnn>> {
    let chosen = match source.context {
        Some(number) => costed.iter().find(|(known, _)| *known == number).ok_or_else(|| {
            unusable(format!(
                "job {number} has no runs of a CNN whose costs are known; choose one of these:\n{}",
                list_jobs(jobs)
            ))
        })?,
        None => costed.first().ok_or_else(|| {
            unusable(format!("{name} was never run here, and there are no runs of other CNNs to predict it from"))
        })?,
    };
    let chosen = chosen.1.job.context.clone();
    let (group, others): (Vec<_>, Vec<_>) =
        costed.into_iter().partition(|(_, cnn)| is_alike(&cnn.job.context, &chosen));
    if source.context.is_none() && !others.is_empty() {
        return Err(unusable(format!(
            "{name} was never run here, and the samples differ in mode, engine, machine or number format; \
             choose those to predict it from with --context N:\n{}",
            list_jobs(jobs)
        )));
    }
    Ok(group.into_iter().map(|(_, cnn)| cnn).collect())
}

fn is_alike(one: &Context, other: &Context) -> bool {
    let with_workload_of = |context: &Context| Context { workload: other.workload.clone(), ..context.clone() };
    (one.workload.mode, one.workload.number_format()) == (other.workload.mode, other.workload.number_format())
        && with_workload_of(one) == *other
}

/// Returns the context of the job: the requested values, or those that the jobs of the CNN itself
/// share, or without any those that all measured jobs share. `called` is the job in messages.
fn context(
    network: &Network,
    input: &Input,
    (group, called): (&[MeasuredCnn], &str),
    differences: Differences,
) -> anyhow::Result<Context> {
    let name = network.name();
    let is_own = |cnn: &&MeasuredCnn| cnn.job.context.workload.model == name;
    let own: Vec<&MeasuredCnn> = group.iter().filter(is_own).collect();
    let (alike, whose) = if own.is_empty() { (group.iter().collect(), "the other CNNs") } else { (own, "its runs") };
    let most_runs = alike.iter().max_by_key(|cnn| cnn.job.observations.len());
    let mut context = most_runs.map(|cnn| cnn.job.context.clone()).ok_or_else(|| {
        unusable(format!("{called} was never run here, and there are no runs of other CNNs to predict it from"))
    })?;
    let measured = |of: fn(&Workload) -> u64| -> Vec<u64> {
        let mut values: Vec<u64> = alike.iter().map(|cnn| of(&cnn.job.context.workload)).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let one = |given: Option<u64>, of: fn(&Workload) -> u64, option: &str| match (given, measured(of).as_slice()) {
        (Some(given), _) | (None, &[given]) => Ok(given),
        (None, several) => {
            let several: Vec<String> = several.iter().map(u64::to_string).collect();
            let several = several.join(", ");
            Err(unusable(format!("{called} was never run here, and {whose} have {several}; give {option}")))
        }
    };
    let Input::Images { default_px, px, .. } = input else {
        return Err(unusable(format!("{name} takes no images")));
    };
    let only = (px.start() == px.end()).then_some(*default_px).map(u64::from);
    let side = one(differences.image_px.map(u64::from).or(only), |work| work.image_px.into(), "--image-px")?;
    let side = u32::try_from(side).ok().filter(|side| px.contains(side)).ok_or_else(|| {
        let (smallest, largest) = (px.start(), px.end());
        unusable(format!("{name} cannot take images of {side} px; give --image-px from {smallest} to {largest}"))
    })?;
    let batch_size = one(differences.batch_size.map(u64::from), |work| work.batch_size.into(), "--batch-size")?;
    let workload = &mut context.workload;
    workload.images = one(differences.images, |work| work.images, "--images")?;
    let epochs = one(differences.epochs.map(u64::from), |work| work.epochs.into(), "--epochs")?;
    workload.model = name.to_owned();
    workload.image_px = side;
    workload.batch_size = u32::try_from(batch_size).unwrap_or(u32::MAX);
    workload.epochs = u32::try_from(epochs).unwrap_or(u32::MAX);
    let file = network.file().map(|file| -> anyhow::Result<NetworkFile> {
        Ok(NetworkFile { path: file.path.to_string_lossy().into_owned(), fingerprint: file.fingerprint()? })
    });
    workload.set_network_file(file.transpose()?);
    Ok(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_that_differ_in_their_depth_are_of_one_family() {
        assert_eq!(family("resnet18"), family("resnet50"));
        assert_ne!(family("resnet18"), family("vgg16"));
        assert_eq!(family("xception"), "xception");
    }
}
