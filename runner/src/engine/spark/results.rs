//! The results of a timed job, counted: none may be lost, and none counted twice.

use serde_json::{Map, Value, json};

use crate::engine::describe_broken;
use crate::executor::protocol::{BrokenImage, Phases, Report};

/// What the executors have reported so far.
#[derive(Debug, Default)]
pub struct Results {
    seen: Vec<bool>,
    images: u64,
    phases: Phases,
    /// Images that could not be used.
    pub broken: Vec<BrokenImage>,
}

impl Results {
    /// Those of a job with so many partitions.
    pub fn new(partitions: u64) -> Self {
        Self { seen: vec![false; usize::try_from(partitions).unwrap_or(usize::MAX)], ..Self::default() }
    }

    /// Counts the report of a partition.
    ///
    /// # Errors
    /// It is none, of a partition that the job does not have, or of one that has reported already.
    pub fn add(&mut self, report: Report) -> Result<(), String> {
        let Report::Done { partition, images, broken, phases } = report else {
            return Err(format!("an executor answers what nobody has asked: {report:?}"));
        };
        match usize::try_from(partition).ok().and_then(|index| self.seen.get_mut(index)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(format!("partition {partition} has two results")),
            None => return Err(format!("the job has no partition {partition}, and there is a result of it")),
        }
        self.images += images + broken.len() as u64;
        self.broken.extend(broken);
        self.phases += phases;
        Ok(())
    }

    /// Whether every image of the sample was worked on.
    ///
    /// # Errors
    /// Results are missing.
    pub fn check(&self, images: u64) -> Result<(), String> {
        if let Some(lost) = self.seen.iter().position(|seen| !seen) {
            let (lost_count, all) = (self.seen.iter().filter(|seen| !**seen).count(), self.seen.len());
            return Err(format!("partitions without a result: {lost_count} of {all}; the first is {lost}"));
        }
        if self.images != images {
            return Err(format!("the executors worked on {} images, and the sample has {images}", self.images));
        }
        Ok(())
    }

    /// Writes into a sample what it says beyond the time.
    pub fn describe(&self, extra: &mut Map<String, Value>) {
        describe_broken(&self.broken, extra);
        if self.images > 0 {
            extra.insert("images_processed".into(), json!(self.images - self.broken.len() as u64));
            extra.insert("phases".into(), json!(self.phases.rounded()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(partition: u64, images: u64) -> Report {
        Report::Done { partition, images, broken: Vec::new(), phases: Phases::default() }
    }

    #[test]
    fn a_lost_partition_is_noticed() {
        let mut results = Results::new(3);
        results.add(done(2, 8)).unwrap();
        results.add(done(0, 8)).unwrap();
        assert!(results.check(24).unwrap_err().contains("1 of 3; the first is 1"));
        results.add(done(1, 8)).unwrap();
        results.check(24).unwrap();
    }

    #[test]
    fn a_lost_image_and_a_result_too_many_are_noticed() {
        let mut results = Results::new(2);
        results.add(done(0, 8)).unwrap();
        assert!(results.add(done(0, 8)).unwrap_err().contains("two results"));
        assert!(results.add(done(2, 8)).unwrap_err().contains("no partition 2"));
        assert!(results.add(Report::Ready { images: 1 }).is_err());
        results.add(done(1, 7)).unwrap();
        assert!(results.check(16).unwrap_err().contains("15 images"));
    }
}
