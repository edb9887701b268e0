//! Results of a timed job, counted so that no result is lost or counted twice.

use std::collections::BTreeSet;

use foreglow_protocol::{BrokenImage, Phases, Report};
use foreglow_shared::Configuration;
use serde_json::{Map, json};

use super::rounds::Rounds;
use crate::run_stats::check_work;
use crate::training_history::TrainingHistory;
use crate::{Job, describe_broken};

/// Reports of the executors so far.
#[derive(Debug, Default)]
pub struct Results {
    /// Partitions, or rounds of training executors, that are finished.
    seen: Vec<bool>,
    /// Images to process, over all epochs.
    wanted: u64,
    pub images: u64,
    skipped: u64,
    phases: Phases,
    /// Peak memory of any executor process.
    pub peak_memory_mib: Option<u64>,
    /// Time from the first step of each round to its last, summed over executors and rounds.
    pub learning_secs: f64,
    course: TrainingHistory,
    /// Names of the GPUs that the cluster has assigned.
    accelerators: BTreeSet<String>,
    /// Images of the sample that could not be used.
    pub broken: Vec<BrokenImage>,
    /// Held-out images that could not be used.
    broken_held_out: Vec<BrokenImage>,
}

impl Results {
    /// Creates the results of a job on `images` images.
    pub fn new(job: &Job, configuration: &Configuration, images: u64) -> Self {
        let (ends, epochs) = match &job.training {
            None => (images.div_ceil(u64::from(configuration.partition_size)), 1),
            Some(training) => {
                let rounds = Rounds::of(job, configuration, images).map_or(1, Rounds::jobs);
                (u64::from(configuration.executors) * rounds, u64::from(training.settings.epochs))
            }
        };
        Self::of(ends, images * epochs)
    }

    fn of(ends: u64, wanted: u64) -> Self {
        Self { seen: vec![false; usize::try_from(ends).unwrap_or(usize::MAX)], wanted, ..Self::default() }
    }

    /// Counts a report.
    ///
    /// # Errors
    /// The report is for a partition that does not exist or is already finished, or is unexpected.
    pub fn add(&mut self, report: Report) -> Result<(), String> {
        match report {
            Report::Done { partition, images, broken, phases, peak_memory_mib, accelerator } => {
                self.accelerators.extend(accelerator);
                match usize::try_from(partition).ok().and_then(|index| self.seen.get_mut(index)) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => return Err(format!("partition {partition} has two results")),
                    None => return Err(format!("the job has no partition {partition}, but there is a result for it")),
                }
                self.peak_memory_mib = self.peak_memory_mib.max(peak_memory_mib);
                self.count(images, broken, phases);
            }
            Report::Learned { epoch, tally, broken, phases } => {
                self.course.learn(epoch, tally);
                self.count(tally.images, broken, phases);
            }
            Report::Trained { secs, peak_memory_mib, accelerator, .. } => {
                match self.seen.iter_mut().find(|seen| !**seen) {
                    Some(seen) => {
                        *seen = true;
                        self.peak_memory_mib = self.peak_memory_mib.max(peak_memory_mib);
                        self.learning_secs += secs;
                        self.accelerators.extend(accelerator);
                    }
                    None => return Err("more executors have trained than were requested".to_owned()),
                }
            }
            Report::Evaluated { tally, broken, confusion } => {
                self.course.judge(tally, &confusion);
                self.broken_held_out.extend(broken);
            }
            other => return Err(format!("an executor sent an unexpected answer: {other:?}")),
        }
        Ok(())
    }

    /// Returns the name of the assigned GPUs, or all names if they differ; `None` without assigned
    /// GPUs.
    pub fn accelerator(&self) -> Option<String> {
        let names: Vec<&str> = self.accelerators.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }

    fn count(&mut self, images: u64, broken: Vec<BrokenImage>, phases: Phases) {
        self.images += images;
        self.skipped += broken.len() as u64;
        self.phases += phases;
        self.skip(broken);
    }

    /// Adds phases that the executors cannot measure.
    pub fn add_phases(&mut self, phases: Phases) {
        self.phases += phases;
    }

    /// Records unusable images once, although every epoch reads them again.
    fn skip(&mut self, broken: Vec<BrokenImage>) {
        for image in broken {
            if self.broken.iter().all(|known| known.name != image.name) {
                self.broken.push(image);
            }
        }
    }

    /// Returns whether every partition, or round of an executor, has its result.
    pub fn is_complete(&self) -> bool {
        self.seen.iter().all(|seen| *seen)
    }

    /// Checks that every image of the sample was processed.
    ///
    /// # Errors
    /// Results are missing, or all images are broken.
    pub fn check(&self) -> Result<(), String> {
        if let Some(lost) = self.seen.iter().position(|seen| !seen) {
            let (lost_count, all) = (self.seen.iter().filter(|seen| !**seen).count(), self.seen.len());
            return Err(format!("partitions without a result: {lost_count} of {all}; the first is {lost}"));
        }
        let (there, wanted) = (self.images + self.skipped, self.wanted);
        if there != wanted {
            return Err(format!("the executors worked on {there} images, and the sample has {wanted}"));
        }
        check_work(self.images, &self.broken, "images")
    }

    /// Adds the fields of the sample.
    pub fn describe(&self, job: &Job, extra: &mut Map<String, serde_json::Value>) {
        describe_broken(&self.broken, &self.broken_held_out, extra);
        if self.images > 0 {
            extra.insert("phases".into(), json!(self.phases.rounded()));
        }
        if let Some(training) = &job.training {
            extra.insert("training".into(), self.course.to_json(training, job));
        }
    }
}

#[cfg(test)]
mod tests {
    use foreglow_protocol::EvaluationTotals;
    use foreglow_shared::Confusion;

    use super::*;

    fn done(partition: u64, images: u64) -> Report {
        let peak_memory_mib = Some(100 + partition);
        let (broken, phases) = (Vec::new(), Phases::default());
        Report::Done { partition, images, broken, phases, peak_memory_mib, accelerator: Some("A GPU".into()) }
    }

    #[test]
    fn a_lost_partition_is_detected() {
        let mut results = Results::of(3, 24);
        results.add(done(2, 8)).unwrap();
        results.add(done(0, 8)).unwrap();
        assert!(results.check().unwrap_err().contains("1 of 3; the first is 1"));
        assert!(!results.is_complete());
        results.add(done(1, 8)).unwrap();
        results.check().unwrap();
        assert!(results.is_complete(), "so that the timeout's clock stops");
        assert_eq!(results.peak_memory_mib, Some(102), "the largest of all");
        assert_eq!(results.accelerator().as_deref(), Some("A GPU"), "each name once");
    }

    #[test]
    fn a_broken_held_out_image_is_described_and_does_not_count_among_those_of_the_sample() {
        let mut results = Results::of(1, 8);
        results.add(done(0, 8)).unwrap();
        let broken = vec![BrokenImage { name: "test/1.jpg".into(), why: "no image".into() }];
        let tally = EvaluationTotals { images: 3, loss_sum: 1.5, correct: 2 };
        results.add(Report::Evaluated { tally, broken, confusion: Confusion::default() }).unwrap();
        results.check().unwrap();
        assert_eq!(results.broken, [], "--max-broken is for the images of the sample");
        let mut extra = Map::new();
        results.describe(&crate::sweep::tests::job(), &mut extra);
        assert_eq!(extra["broken_images"], json!({ "count": 1, "first": ["test/1.jpg (no image)"] }));
    }

    #[test]
    fn a_run_without_one_usable_image_is_not_complete() {
        let mut results = Results::of(1, 2);
        let broken = ["1.jpg", "2.jpg"].map(|name| BrokenImage { name: name.into(), why: "no image".into() });
        let (phases, broken) = (Phases::default(), broken.to_vec());
        let none = Report::Done { partition: 0, images: 0, broken, phases, peak_memory_mib: None, accelerator: None };
        results.add(none).unwrap();
        let said = results.check().unwrap_err();
        assert_eq!(said, "broken images: all 2 of the sample, so the run did no work; the first is 1.jpg (no image)");
    }

    #[test]
    fn lost_images_and_duplicate_results_are_detected() {
        let mut results = Results::of(2, 16);
        results.add(done(0, 8)).unwrap();
        assert!(results.add(done(0, 8)).unwrap_err().contains("two results"));
        assert!(results.add(done(2, 8)).unwrap_err().contains("no partition 2"));
        assert!(results.add(Report::Ready { images: 1 }).is_err());
        results.add(done(1, 7)).unwrap();
        assert!(results.check().unwrap_err().contains("15 images"));
    }
}
