//! Samples whose times are far from those of their repetitions.

use std::collections::{BTreeMap, BTreeSet};

use foreglow_engine::sweep::Run;
use foreglow_exit::note;
use foreglow_model::{Repetitions, Setting, Warning};
use foreglow_shared::{Context, JobDefinition, Outcome, Sample, Uuid, format_count, shell_word};
use foreglow_store::Store;

use crate::ask::Source;

/// Maximum number of samples that a warning names.
const MOST_NAMED: usize = 5;
/// Relative difference up to which a time is that of a warning, which may be its logarithm's.
const SAME_TIME: f64 = 1e-6;

/// Returns the samples that are outliers among the repetitions of their combination.
pub fn outliers(samples: &[Sample]) -> BTreeSet<Uuid> {
    let mut all: BTreeMap<String, Vec<(Run, Vec<&Sample>)>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.outcome == Outcome::Completed) {
        let alike = all.entry(key(sample)).or_default();
        match alike.iter_mut().find(|(run, all)| all[0].host == sample.host && run.is_of(sample)) {
            Some((_, all)) => all.push(sample),
            None => alike.push((Run::of(sample), vec![sample])),
        }
    }
    let of_combination = |(_, all): &(Run, Vec<&Sample>)| {
        let times: Vec<f64> = all.iter().filter_map(|sample| sample.completed_secs()).collect();
        let outliers = Repetitions::of(&times).map(|repetitions| repetitions.outliers).unwrap_or_default();
        outliers.into_iter().filter_map(|index| Some(all.get(index)?.id)).collect::<Vec<Uuid>>()
    };
    all.values().flatten().flat_map(of_combination).collect()
}

/// Returns a text that is equal for samples of one combination, so that only those with the same
/// text are compared with each other.
fn key(sample: &Sample) -> String {
    let (workload, configuration) = (&sample.workload, &sample.configuration);
    let images = workload.command.is_none().then(|| (workload.images as f64 * sample.sampling_rate).round().max(1.0));
    let sizes = (configuration.split(), configuration.memory_per_executor_mib, configuration.partition_size);
    format!("{} {sizes:?} {images:?}", Context::of(sample).key())
}

/// Returns the samples of a job, of any size.
fn samples_of<'a>(samples: &'a [Sample], definition: &'a JobDefinition) -> impl Iterator<Item = &'a Sample> {
    let is_of_job = |sample: &&Sample| {
        sample.workload.model == definition.model && JobDefinition::of(&Context::of(sample)).is_same_job(definition)
    };
    samples.iter().filter(is_of_job)
}

/// Returns the sentence that names the samples of a job that warnings are about, with the commands
/// that remove and repeat them; `None` if the warnings are about no sample.
pub fn named(source: &Source, samples: &[Sample], definition: &JobDefinition, warnings: &[Warning]) -> Option<String> {
    let meant = warnings.iter().flat_map(|warning| meant(warning, samples_of(samples, definition)));
    let mut ids: Vec<Uuid> = Vec::new();
    meant.for_each(|id| ids.extend((!ids.contains(&id)).then_some(id)));
    let first = ids.first()?;
    let from = match source.files.as_slice() {
        [] => place(source),
        [file] => format!(" --from {}", shell_word(&file.display().to_string())),
        _ => " --from FILE".to_owned(),
    };
    let (are, them) = if ids.len() == 1 { ("This sample is", "it") } else { ("These samples are", "one") };
    let names = ids.iter().take(MOST_NAMED).map(Uuid::to_string).collect();
    Some(format!(
        "{are} {}; `foreglow samples remove {first}{from}` removes {them}, and then the command that measured {them}, \
         repeated, measures {them} again",
        listed(names, ids.len())
    ))
}

/// Returns the samples that a warning is about: of its features, and of its times if one has them.
fn meant<'a>(warning: &Warning, samples: impl Iterator<Item = &'a Sample>) -> Vec<Uuid> {
    let at: Vec<(&str, f64)> = match warning {
        Warning::SamplesDisagree { at, secs, .. } => vec![(at, *secs)],
        Warning::RepeatsContradict { at, fastest_secs, slowest_secs, .. } => {
            vec![(at, *fastest_secs), (at, *slowest_secs)]
        }
        Warning::WorkContradicts { at, secs, less_work_at, less_work_secs } => {
            vec![(at, *secs), (less_work_at, *less_work_secs)]
        }
        _ => return Vec::new(),
    };
    let has_features = |sample: &&Sample| {
        let own = Setting::at(sample.configuration.split(), sample.sampling_rate).describe();
        at.iter().any(|(at, _)| *at == own)
    };
    let has_time = |sample: &&&Sample| {
        let own = sample.completed_secs().unwrap_or(f64::NAN);
        at.iter().any(|(_, secs)| (own / secs - 1.0).abs() < SAME_TIME)
    };
    let of_features: Vec<&Sample> = samples.filter(has_features).collect();
    let of_times: Vec<&Sample> = of_features.iter().filter(has_time).copied().collect();
    let meant = if of_times.is_empty() { of_features } else { of_times };
    meant.iter().map(|sample| sample.id).collect()
}

/// Warns of the outliers among the samples of a job, because they count like all others, and of
/// disturbed runs.
///
/// # Errors
/// The store cannot be read.
pub fn warn(source: &Source, samples: &[Sample], definition: &JobDefinition) -> anyhow::Result<()> {
    let of_job: Vec<Sample> = samples_of(samples, definition).cloned().collect();
    warn_of_disturbed(source, &of_job);
    let outliers = outliers(&of_job);
    if outliers.is_empty() {
        return Ok(());
    }
    let store = if source.files.is_empty() { Some(Store::open_existing(source.store.as_ref())?) } else { None };
    let name = |id: &Uuid| {
        let sender = store.as_ref().map(|store| store.sender_of(*id)).transpose()?.flatten();
        Ok(sender.map_or_else(|| id.to_string(), |sender| format!("{id} (sent by {sender})")))
    };
    let names = outliers.iter().take(MOST_NAMED).map(name).collect::<anyhow::Result<Vec<String>>>()?;
    let (are, count) = if outliers.len() == 1 { ("is", "counts") } else { ("are", "count") };
    note(&format!(
        "warning: {} {are} far from the repetitions of the same run, and {count}: {}; `foreglow samples list{} \
         --outliers` lists them, and the command that measured them, with --redo-outliers, measures them again",
        format_count(outliers.len(), "sample"),
        listed(names, outliers.len()),
        place(source)
    ));
    Ok(())
}

/// Warns of runs that something else slowed, if they are half of the runs or more: few count less
/// than the others.
fn warn_of_disturbed(source: &Source, samples: &[Sample]) {
    let completed = || samples.iter().filter(|sample| sample.outcome == Outcome::Completed);
    let disturbed: Vec<Uuid> = completed().filter(|sample| sample.is_disturbed()).map(|sample| sample.id).collect();
    if disturbed.is_empty() || disturbed.len() * 2 < completed().count() {
        return;
    }
    let names = disturbed.iter().take(MOST_NAMED).map(Uuid::to_string).collect();
    note(&format!(
        "warning: something else slowed the machine in {} of {}: {}; `foreglow samples list{} --disturbed` lists them, \
         and the command that measured them, with --redo-outliers, measures them again",
        disturbed.len(),
        format_count(completed().count(), "run"),
        listed(names, disturbed.len()),
        place(source)
    ));
}

/// Joins the names of the first samples, and counts the others of `count`.
fn listed(mut names: Vec<String>, count: usize) -> String {
    let others = count - names.len();
    names.extend((others > 0).then(|| format!("{others} more")));
    names.join(", ")
}

/// Returns the arguments that name the source of the samples.
fn place(source: &Source) -> String {
    let files = source.files.iter().map(|file| format!(" {}", shell_word(&file.display().to_string())));
    let store = source.store.as_ref().map(|store| format!(" --store {}", shell_word(&store.to_string())));
    files.chain(store).collect()
}

#[cfg(test)]
mod tests {
    use foreglow_shared::parse_line;

    use super::*;

    fn sample(number: u32, secs: f64) -> Sample {
        let line = format!(
            r#"{{"schema":1,"id":"01890000-0000-7000-8000-{number:012x}","workload":{{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8}},"configuration":{{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8}},"sampling_rate":0.1,"outcome":"completed","completion_time_secs":{secs},"engine":"local","runner_version":"0.1.0","host":{{}},"started_at":"2026-11-21T10:00:00Z"}}"#
        );
        parse_line(&line).unwrap()
    }

    #[test]
    fn warnings_about_samples_name_their_ids_and_the_command_that_removes_them() {
        let samples: Vec<Sample> =
            [2.0, 2.1, 6.0].into_iter().zip(1..).map(|(secs, number)| sample(number, secs)).collect();
        let definition = JobDefinition::of(&Context::of(&samples[0]));
        let at = "executors 1, cores per executor 1, sampling rate 10 %".to_owned();
        let disagrees = |secs| Warning::SamplesDisagree { at: at.clone(), runs: 1, secs, expected_secs: 2.0 };
        let in_file = Source { files: vec!["my runs.jsonl".into()], ..Source::default() };
        let id = samples[2].id;
        let sentence = named(&in_file, &samples, &definition, &[disagrees(6.0), disagrees(6.0)]).unwrap();
        let expected =
            format!("This sample is {id}; `foreglow samples remove {id} --from 'my runs.jsonl'` removes it,");
        assert!(sentence.starts_with(&expected), "{sentence}");
        // The median of several runs is not the time of one of them.
        let of_all = named(&Source::default(), &samples, &definition, &[disagrees(2.05)]).unwrap();
        assert!(of_all.contains(&samples[0].id.to_string()) && of_all.contains(&id.to_string()), "{of_all}");
        assert_eq!(named(&in_file, &samples, &definition, &[Warning::EmptyCell]), None);
    }

    #[test]
    fn outliers_are_told_within_a_combination_and_one_machine() {
        let mut samples: Vec<Sample> =
            [2.0, 2.1, 1.9, 2.05, 6.0].into_iter().zip(1..).map(|(secs, number)| sample(number, secs)).collect();
        assert_eq!(outliers(&samples), BTreeSet::from([samples[4].id]));
        // Samples of earlier versions have the requested rate, which is that of as many images.
        samples[4].sampling_rate = 0.100_01;
        assert_eq!(outliers(&samples), BTreeSet::from([samples[4].id]));
        samples[4].host.cpu = Some("another".into());
        assert!(outliers(&samples).is_empty());
    }
}
