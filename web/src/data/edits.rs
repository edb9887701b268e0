//! Changes of the user to the measured jobs: excluded runs, and other numbers of images or epochs.

use foreglow_shared::{Context, Job, JobDefinition, LeftOut};

use crate::data::left_out::LeftOuts;
use crate::data::workload::with_work;

/// The changes of all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edits {
    /// The excluded runs.
    pub left_out: LeftOuts,
    /// Pairs of the context in the size of the question and the measured context. One pair per job
    /// covers all machine types, batch and partition sizes.
    sizes: Vec<(Context, Context)>,
}

impl Edits {
    /// Whether every job of the page has its measured size.
    pub fn keeps_sizes(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Clears the measured sizes, when other jobs replace those of the page.
    pub fn forget_sizes(&mut self) {
        self.sizes.clear();
    }

    /// The measured context of a job of the page.
    pub fn measured(&self, context: &Context) -> Context {
        let definition = JobDefinition::of(context);
        let known = self.sizes.iter().find(|(asked, _)| JobDefinition::of(asked) == definition);
        match known {
            Some((_, Context { workload, .. })) => context.with_size(workload.images, workload.epochs),
            None => context.clone(),
        }
    }

    /// Whether two jobs of the page were measured as one job.
    pub fn were_measured_as_one(&self, one: &Context, other: &Context) -> bool {
        JobDefinition::of(&self.measured(one)) == JobDefinition::of(&self.measured(other))
    }

    /// Rescales all jobs that were measured as the job of a context, with their excluded runs.
    /// After an error nothing is changed.
    ///
    /// # Errors
    /// As [`with_work`].
    pub fn resize(&mut self, jobs: &mut [Job], of: &Context, images: u64, epochs: u32) -> Result<(), String> {
        let mut changed = Vec::new();
        for job in jobs.iter_mut().filter(|job| self.were_measured_as_one(&job.context, of)) {
            if job.context.with_size(images, epochs) == job.context {
                continue;
            }
            let resized = with_work(job, &self.left_out.of(&job.context), images, epochs)?;
            changed.push((job, resized));
        }
        for (job, (resized, left_out)) in changed {
            self.left_out.set(&job.context, LeftOut::default());
            self.left_out.set(&resized.context, left_out);
            *job = resized;
        }
        let (asked, measured) = (of.with_size(images, epochs), self.measured(of));
        if self.measured(&asked) != measured {
            let definition = JobDefinition::of(&asked);
            self.sizes.retain(|(known, _)| JobDefinition::of(known) != definition);
            self.sizes.push((asked, measured));
        }
        Ok(())
    }

    /// Rescales a measured job to the size on the page. A job with a run of more images keeps its
    /// size.
    pub fn as_shown(&self, jobs: &[Job], job: Job) -> Job {
        let shown = jobs.iter().map(|job| &job.context).find(|shown| self.were_measured_as_one(shown, &job.context));
        let size = shown.map(|Context { workload, .. }| (workload.images, workload.epochs));
        let size = size.filter(|size| *size != (job.context.workload.images, job.context.workload.epochs));
        let resized = size.and_then(|(images, epochs)| with_work(&job, &LeftOut::default(), images, epochs).ok());
        resized.map_or(job, |(resized, _)| resized)
    }

    /// The excluded runs as jobs of their own, and the contexts of [`Edits::measured`] in pairs, as
    /// jobs without runs, so that session storage needs no further format.
    pub fn as_jobs(&self) -> [Vec<Job>; 2] {
        let excluded = |(context, runs): &(Context, LeftOut)| Job {
            incomplete: runs.incomplete.clone(),
            ..Job::of_runs(context.clone(), runs.observations.clone())
        };
        let pairs = self.sizes.iter().flat_map(|(asked, measured)| [asked, measured]);
        let empty = |context: &Context| Job::of_runs(context.clone(), Vec::new());
        [self.left_out.iter().map(excluded).collect(), pairs.map(empty).collect()]
    }

    /// Adds the changes of [`Edits::as_jobs`].
    pub fn add(&mut self, [excluded, sizes]: [Vec<Job>; 2]) {
        for Job { context, observations, incomplete, .. } in excluded {
            self.left_out.set(&context, LeftOut { observations, incomplete });
        }
        let pair = |pair: &[Job]| Some((pair.first()?.context.clone(), pair.get(1)?.context.clone()));
        self.sizes.extend(sizes.chunks(2).filter_map(pair));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::left_out::Run;

    fn job(batch_size: u32) -> Job {
        let run = |sampling_rate: f64| (1, 2, 1024, 8, sampling_rate, 300.0 * sampling_rate, None::<f64>);
        serde_json::from_value(serde_json::json!({
            "context": {"workload": {"model": "lenet5", "mode": "training", "image_px": 28, "images": 1000, "epochs": 2,
                "batch_size": batch_size}, "engine": "local", "host": {"cpu": "Some CPU"}},
            "observations": [run(0.01), run(0.1)],
        }))
        .unwrap()
    }

    fn sizes(jobs: &[Job]) -> Vec<(u64, u32)> {
        jobs.iter().map(|job| (job.context.workload.images, job.context.workload.epochs)).collect()
    }

    #[test]
    fn all_settings_of_a_job_are_rescaled_and_a_second_size_replaces_the_first() {
        let mut other = job(8);
        other.context.workload.model = "vgg16".into();
        let measured = vec![job(8), job(32), other];
        let (mut jobs, mut edits) = (measured.clone(), Edits::default());
        for (images, epochs) in [(3000, 2), (7000, 3), (1000, 2)] {
            let of = jobs[1].context.clone();
            edits.resize(&mut jobs, &of, images, epochs).unwrap();
            assert_eq!(sizes(&jobs), [(images, epochs), (images, epochs), (1000, 2)]);
            for (job, measured) in jobs.iter().zip(&measured) {
                assert_eq!(edits.measured(&job.context), measured.context);
            }
        }
        assert_eq!(jobs[0].context, measured[0].context);
    }

    #[test]
    fn a_size_that_one_setting_cannot_have_changes_none() {
        let mut jobs = vec![job(8), job(32)];
        jobs[1].observations[1].sampling_rate = 0.5;
        let (before, mut edits) = (jobs.clone(), Edits::default());
        let of = jobs[0].context.clone();
        let refused = edits.resize(&mut jobs, &of, 400, 2).unwrap_err();
        assert!(refused.contains("500 or more"), "{refused}");
        assert_eq!((jobs, edits), (before, Edits::default()));
    }

    #[test]
    fn runs_that_arrive_are_rescaled_like_the_page_and_excluded_ones_stay_excluded() {
        let (mut jobs, mut edits) = (vec![job(8)], Edits::default());
        let run = Run::Completed(jobs[0].observations[1]);
        edits.left_out.leave_out(&mut jobs[0], run);
        // Rescaling in two steps would round the sampling rates differently.
        for images in [3000, 7000] {
            let of = jobs[0].context.clone();
            edits.resize(&mut jobs, &of, images, 2).unwrap();
        }
        let arrived = edits.as_shown(&jobs, job(8));
        assert_eq!(arrived.context, jobs[0].context);
        assert_eq!(arrived.observations.len(), 2);
        assert_eq!(edits.left_out.without(arrived).observations.len(), 1);
        // Another batch size of the same job, and another job.
        assert_eq!(sizes(&[edits.as_shown(&jobs, job(32))]), [(7000, 2)]);
        let mut other = job(8);
        other.context.workload.image_px = 64;
        assert_eq!(edits.as_shown(&jobs, other.clone()), other);
    }

    #[test]
    fn changes_survive_being_kept_as_jobs() {
        let (mut jobs, mut edits) = (vec![job(8), job(32)], Edits::default());
        let run = Run::Completed(jobs[1].observations[1]);
        edits.left_out.leave_out(&mut jobs[1], run);
        let of = jobs[0].context.clone();
        edits.resize(&mut jobs, &of, 3000, 2).unwrap();
        let mut kept = Edits::default();
        kept.add(edits.as_jobs());
        assert_eq!(kept, edits);
    }
}
