//! Samples of other sources on the way into the store or a file.

use std::collections::BTreeMap;

use foreglow_shared::{Sample, Uuid, format_count};
use serde_json::{Map, Value};

use crate::kept_plans::KeptPlans;
use crate::place::{Destination, DestinationArgs};

/// Fields that make samples with one id contradict each other. The others say how a sample was
/// recorded, and may change with the version of Foreglow.
const COMPARED: [&str; 8] =
    ["workload", "configuration", "sampling_rate", "outcome", "completion_time_secs", "startup_secs", "engine", "host"];

/// Adds samples to a destination, each id once.
#[derive(Debug)]
pub struct Imported {
    place: Destination,
    /// The plans that the imported runs may follow.
    plans: KeptPlans,
    /// All samples in the destination, in their order.
    kept: Vec<Sample>,
    /// Positions in `kept` by id, and whether the sample was imported.
    known: BTreeMap<Uuid, (usize, bool)>,
    samples: Vec<Sample>,
    new: usize,
    contradicted: Vec<Uuid>,
    /// Difference of the first contradiction.
    difference: Option<String>,
}

impl Imported {
    /// Imports into a destination that has the samples `kept`. New samples of planned runs get what
    /// the plans predicted.
    pub fn new(place: Destination, kept: Vec<Sample>, plans: KeptPlans) -> Self {
        let known = kept.iter().enumerate().map(|(position, sample)| (sample.id, (position, false))).collect();
        Self { place, plans, kept, known, samples: Vec::new(), new: 0, contradicted: Vec::new(), difference: None }
    }

    /// Takes a sample. The destination keeps a sample that it has, also if this one has other
    /// values, which [`contradiction`](Self::contradiction) then tells.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn take(&mut self, mut sample: Sample) -> anyhow::Result<()> {
        if let Some((position, is_imported)) = self.known.get_mut(&sample.id) {
            if let Some(difference) = difference(&self.kept[*position], &sample) {
                self.difference.get_or_insert(difference);
                if !self.contradicted.contains(&sample.id) {
                    self.contradicted.push(sample.id);
                }
            } else if !std::mem::replace(is_imported, true) {
                self.samples.push(sample);
            }
            return Ok(());
        }
        self.plans.attach(&mut sample);
        self.place.append(&sample)?;
        self.known.insert(sample.id, (self.kept.len(), true));
        self.kept.push(sample.clone());
        self.samples.push(sample);
        self.new += 1;
        Ok(())
    }

    /// Returns the imported samples, without those that contradict the destination.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the samples that the destination did not have.
    pub fn new_samples(&self) -> &[Sample] {
        &self.kept[self.kept.len() - self.new..]
    }

    /// Returns all samples in the destination.
    pub fn kept(&self) -> &[Sample] {
        &self.kept
    }

    /// Returns the numbers of imported and of new samples, for the user.
    pub fn summary(&self) -> String {
        format!("{}, {} new in {}", format_count(self.samples.len(), "sample"), self.new, self.place.location())
    }

    /// Describes the samples that the destination has with other values, and how to replace them.
    pub fn contradiction(&self, args: &DestinationArgs) -> Option<String> {
        let difference = self.difference.as_deref()?;
        Some(format!(
            "{} not imported, because {} has the same runs with other values; the first differs in {difference}. To \
             replace them, remove them, and import again:\n  {}",
            format_count(self.contradicted.len(), "sample"),
            self.place.location(),
            args.remove_command(&self.contradicted)
        ))
    }
}

/// Describes the first difference of two samples with one id; `None` if they agree.
pub(crate) fn difference(kept: &Sample, new: &Sample) -> Option<String> {
    let [kept, new] = [kept, new].map(|sample| serde_json::to_value(sample).unwrap_or_default());
    COMPARED.iter().find_map(|field| between(field, &kept[*field], &new[*field]))
}

fn between(field: &str, kept: &Value, new: &Value) -> Option<String> {
    if kept == new {
        return None;
    }
    if let (Value::Object(kept), Value::Object(new)) = (kept, new) {
        let value = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or_default();
        let mut names = kept.keys().chain(new.keys());
        return names.find_map(|name| between(&format!("{field}.{name}"), &value(kept, name), &value(new, name)));
    }
    Some(format!("{field}, {new} instead of {kept}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(id: u8, images: u32) -> Sample {
        let line = format!(
            r#"{{"schema":1,"id":"01890000-0000-7000-8000-0000000000{id:02}","workload":{{"model":"lenet5","mode":"inference","image_px":28,"images":{images},"epochs":1,"batch_size":8}},"configuration":{{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8}},"sampling_rate":0.1,"outcome":"completed","completion_time_secs":2.5,"engine":"spark","runner_version":"0.1.0","host":{{}},"started_at":"2026-11-21T10:00:00Z"}}"#
        );
        foreglow_shared::parse_line(&line).unwrap()
    }

    #[test]
    fn a_known_sample_with_other_values_is_named_and_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("a.jsonl");
        let args = DestinationArgs { output: Some(output.clone()), store: None };
        let import = |samples: &[Sample]| {
            let (place, kept) = args.open().unwrap();
            let mut imported = Imported::new(place, kept, KeptPlans::default());
            samples.iter().for_each(|sample| imported.take(sample.clone()).unwrap());
            imported
        };
        let first = import(&[sample(1, 1000), sample(2, 1000), sample(1, 1000)]);
        let place = output.display();
        assert_eq!((first.summary(), first.contradiction(&args)), (format!("2 samples, 2 new in {place}"), None));
        drop(first);

        // A sample by another version of Foreglow is the same.
        let mut newer = sample(2, 1000);
        newer.runner_version = "9.0.0".into();
        let again = import(&[sample(1, 2000), newer, sample(1, 2000), sample(3, 2000)]);
        assert_eq!(again.summary(), format!("2 samples, 1 new in {place}"));
        assert_eq!(again.kept().len(), 3);
        let sentence = again.contradiction(&args).unwrap();
        let expected = format!(
            "1 sample not imported, because {place} has the same runs with other values; the first differs in \
             workload.images, 2000 instead of 1000. To replace them, remove them, and import again:\n  \
             foreglow samples remove --from {place} 01890000-0000-7000-8000-000000000001"
        );
        assert_eq!(sentence, expected);
    }
}
