//! Files of samples, as JSON Lines or CSV.

use foreglow_shared::{LABELS, Labels, Sample, read_unless_cut};

use crate::{Given, Import, ImportError, Importer, Input};

/// Files of samples. A file in an unknown format is also read as one, for the message.
pub struct SampleFile;

impl Importer for SampleFile {
    fn sniff(&self, _start: &str) -> bool {
        true
    }

    /// Reads also samples that occur repeatedly, because two with one id and other values
    /// contradict each other.
    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let (samples, cut) = read_unless_cut(&input.bytes()?)?;
        if let Some(flag) = given.of_training_runs() {
            return Err(ImportError::TrainingOnly(flag));
        }
        let labels = given.labels_of_runs(samples.len(), || format!("{} samples", samples.len()))?;
        samples.iter().zip(&labels).try_for_each(|(sample, labels)| check(sample, labels, given))?;
        let note = |line| format!("line {line} was cut short, as by a crash, and is left out");
        Ok(Import { samples, notes: cut.map(note).into_iter().collect(), ..Import::default() })
    }
}

/// Refuses a value that contradicts a sample, whose values are complete.
fn check(sample: &Sample, labels: &Labels, given: &Given) -> Result<(), ImportError> {
    let Sample { workload, configuration, host, .. } = sample;
    let number = |value: u32| Some(value.to_string());
    let values = [
        ("model", Some(workload.model.clone())),
        ("mode", Some(workload.mode.as_str().to_owned())),
        ("image_px", number(workload.image_px)),
        ("images", Some(workload.images.to_string())),
        ("epochs", number(workload.epochs)),
        ("batch_size", number(workload.batch_size)),
        ("partition_size", number(configuration.partition_size)),
        ("sampling_rate", Some(sample.sampling_rate.to_string())),
        ("memory_per_executor_mib", number(configuration.memory_per_executor_mib)),
        ("data", workload.data_path().map(str::to_owned)),
        ("accelerator", configuration.accelerator.clone()),
        ("cpu", host.cpu.clone()),
        ("adapter", host.adapter.clone()),
    ];
    let flag = |label: &str| LABELS.iter().find(|known| known.name == label).and_then(|known| known.flag);
    let compared = values.into_iter().map(|(label, value)| (label, value, labels.get(label), flag(label)));
    let engine = given.engine.map(|engine| engine.as_str());
    let engine = ("engine", Some(sample.engine.as_str().to_owned()), engine, Some("--engine"));
    for (label, value, given, flag) in compared.chain([engine]) {
        let given = given.filter(|given| value.as_deref() != Some(*given));
        if let (Some(given), Some(flag)) = (given, flag) {
            let value = value.map_or_else(|| "no value".to_owned(), |value| format!("{value:?}"));
            return Err(ImportError::Contradiction { id: sample.id, label, value, flag, given: given.to_owned() });
        }
    }
    Ok(())
}
