//! The built-in examples: measured jobs, and the initial question of each.

use foreglow_shared::{Job, LeftOut};

use crate::data::workload::with_work;

/// The images of the published study's data set.
const STUDY_IMAGES: u64 = 200_000;

/// A built-in example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Example {
    /// The published study's CNNs on 1–6 executors of 1–4 slow cores: `make sweep-paper`. The
    /// build joins the files of `bench/paper/samples`.
    Study,
    /// Two CNNs, inference and training: `make sweep`.
    Training,
    /// LeNet-5 on MNIST, trained on 1–4 executors that average every mini-batch or every 8:
    /// `make example-mnist`.
    Accuracy,
}

/// The jobs of an example and its question.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The jobs, scaled to the images of the question.
    pub jobs: Vec<Job>,
    /// Index of the job to show first.
    pub first: usize,
    /// Deadline of the question, seconds.
    pub deadline_secs: Option<f64>,
    /// Minimum accuracy of the question.
    pub min_accuracy: Option<f64>,
}

impl Example {
    /// The file of samples, in the page's folder.
    pub fn file(self) -> &'static str {
        match self {
            Self::Study => "./study.jsonl",
            Self::Training => "./example.jsonl",
            Self::Accuracy => "./mnist.jsonl",
        }
    }

    /// The CNN to show first. Contexts sort inference before training.
    fn first_cnn(self) -> &'static str {
        match self {
            Self::Study => "resnet50",
            Self::Training => "resnet18",
            Self::Accuracy => "lenet5",
        }
    }

    /// The question about the jobs of [`Example::file`].
    ///
    /// # Errors
    /// The runs do not fit a job of the study's size; one sentence.
    pub fn opening(self, measured: Vec<Job>) -> Result<Opening, String> {
        let (jobs, deadline_secs) = match self {
            Self::Study => {
                let whole = |job: &Job| with_work(job, &LeftOut::default(), STUDY_IMAGES, 1).map(|(job, _)| job);
                // Each of the study's CNNs has configurations on both sides of four hours.
                (measured.iter().map(whole).collect::<Result<_, _>>()?, Some(4.0 * 3600.0))
            }
            Self::Training => (measured, None),
            // One executor is too slow, and four are too inaccurate.
            Self::Accuracy => (measured, Some(120.0)),
        };
        let min_accuracy = (self == Self::Accuracy).then_some(0.97);
        let first = jobs.iter().position(|job: &Job| job.context.workload.model == self.first_cnn()).unwrap_or(0);
        Ok(Opening { jobs, first, deadline_secs, min_accuracy })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use foreglow_shared::read_samples;

    use super::*;
    use crate::data::job::jobs_of;

    #[test]
    fn the_accuracy_example_has_whole_runs_with_seeds_for_each_way_to_train() {
        let samples = read_samples(include_bytes!("../../assets/mnist.jsonl")).unwrap();
        let opening = Example::Accuracy.opening(jobs_of(&samples)).unwrap();
        assert_eq!((opening.deadline_secs, opening.min_accuracy), (Some(120.0), Some(0.97)));
        assert_eq!(opening.jobs.len(), 2, "two averaging intervals");
        for job in &opening.jobs {
            let executors: BTreeSet<u32> = job.accuracies.iter().map(|run| run.executors).collect();
            for count in executors {
                let runs = job.accuracies.iter().filter(|run| run.executors == count);
                let seeds: BTreeSet<u64> = runs.map(|run| run.seed).collect();
                assert!(seeds.len() >= 3, "{} with {count} executors: {seeds:?}", job.context.title());
            }
        }
    }

    #[test]
    fn the_study_opens_with_200_000_images_on_24_configurations_of_each_cnn() {
        let mut text = String::new();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/paper/samples");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
        let opening = Example::Study.opening(jobs_of(&read_samples(text.as_bytes()).unwrap())).unwrap();
        assert_eq!(opening.jobs[opening.first].context.workload.model, "resnet50");
        assert_eq!(opening.deadline_secs, Some(14_400.0));
        let cnns: BTreeSet<&str> = opening.jobs.iter().map(|job| job.context.workload.model.as_str()).collect();
        assert_eq!(cnns, BTreeSet::from(["inception_v4", "resnet50", "xception"]));
        assert_eq!(cnns.len(), opening.jobs.len(), "one job of each CNN");
        for job in &opening.jobs {
            assert_eq!(job.context.workload.images, 200_000);
            let measured: BTreeSet<(u32, u32)> =
                job.observations.iter().map(|run| (run.executors, run.cores_per_executor)).collect();
            let grid = (1..=6).flat_map(|executors| (1..=4).map(move |cores| (executors, cores)));
            assert_eq!(measured, grid.collect(), "{}", job.context.title());
            // A run over all of the 2,400 measured images has 1.2 % of the study's.
            let most = job.observations.iter().map(|run| run.sampling_rate).fold(0.0, f64::max);
            assert!((most - 0.012).abs() < 1e-12, "{}: {most}", job.context.title());
        }
    }
}
