//! Runs excluded by the user: they stay on the page, and the fit ignores them.

use foreglow_shared::{Context, IncompleteRun, Job, LeftOut, Observation};

/// One run of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Run {
    /// A completed run.
    Completed(Observation),
    /// A run that did not complete.
    Incomplete(IncompleteRun),
}

/// The excluded runs of each job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeftOuts(Vec<(Context, LeftOut)>);

impl LeftOuts {
    /// The excluded runs of a job.
    pub fn of(&self, context: &Context) -> LeftOut {
        self.0.iter().find(|(known, _)| known == context).map(|(_, runs)| runs.clone()).unwrap_or_default()
    }

    /// The jobs with excluded runs.
    pub fn iter(&self) -> impl Iterator<Item = &(Context, LeftOut)> {
        self.0.iter()
    }

    /// Replaces the excluded runs of a job.
    pub fn set(&mut self, context: &Context, runs: LeftOut) {
        self.0.retain(|(known, _)| known != context);
        if !runs.is_empty() {
            self.0.push((context.clone(), runs));
        }
    }

    /// Excludes a run of a job; does nothing if the job lacks it.
    pub fn leave_out(&mut self, job: &mut Job, run: Run) {
        let mut left_out = self.of(&job.context);
        match run {
            Run::Completed(run) => left_out.observations.extend(take(&mut job.observations, &run)),
            Run::Incomplete(run) => left_out.incomplete.extend(take(&mut job.incomplete, &run)),
        }
        self.set(&job.context, left_out);
    }

    /// Restores an excluded run; does nothing if it is not excluded.
    pub fn put_back(&mut self, job: &mut Job, run: Run) {
        let mut left_out = self.of(&job.context);
        match run {
            Run::Completed(run) => job.observations.extend(take(&mut left_out.observations, &run)),
            Run::Incomplete(run) => job.incomplete.extend(take(&mut left_out.incomplete, &run)),
        }
        job.sort_runs();
        self.set(&job.context, left_out);
    }

    /// Removes the excluded runs from a measured job.
    pub fn without(&self, mut job: Job) -> Job {
        let left_out = self.of(&job.context);
        for run in &left_out.observations {
            let _ = take(&mut job.observations, run);
        }
        for run in &left_out.incomplete {
            let _ = take(&mut job.incomplete, run);
        }
        job
    }
}

/// A run with a sampling rate, which may be rounded for another size of the job.
trait Sampled: Copy + PartialEq {
    fn sampling_rate(&mut self) -> &mut f64;

    fn is(mut self, mut other: Self) -> bool {
        let (own, others) = (*self.sampling_rate(), *other.sampling_rate());
        *other.sampling_rate() = own;
        self == other && (own - others).abs() <= 1e-9 * own
    }
}

impl Sampled for Observation {
    fn sampling_rate(&mut self) -> &mut f64 {
        &mut self.sampling_rate
    }
}

impl Sampled for IncompleteRun {
    fn sampling_rate(&mut self) -> &mut f64 {
        &mut self.sampling_rate
    }
}

/// Removes one of the runs that are equal to `run`.
fn take<T: Sampled>(runs: &mut Vec<T>, run: &T) -> Option<T> {
    let place = runs.iter().position(|known| known.is(*run))?;
    Some(runs.remove(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::job::jobs_of;

    fn job() -> Job {
        let samples = foreglow_shared::read_samples(include_bytes!("../../assets/example.jsonl")).unwrap();
        jobs_of(&samples).remove(0)
    }

    #[test]
    fn excluding_and_restoring_a_run_leaves_the_job_as_it_was() {
        let (whole, mut job) = (job(), job());
        let mut left_outs = LeftOuts::default();
        let run = Run::Completed(job.observations[3]);
        left_outs.leave_out(&mut job, run);
        assert_eq!(job.observations.len(), whole.observations.len() - 1);
        assert_eq!(left_outs.of(&job.context).observations, [whole.observations[3]]);
        assert_eq!(left_outs.without(whole.clone()), job);
        left_outs.put_back(&mut job, run);
        assert_eq!((job, left_outs), (whole, LeftOuts::default()));
    }

    #[test]
    fn excluding_one_of_several_equal_runs_removes_one() {
        let mut job = job();
        job.observations[1] = job.observations[0];
        let mut left_outs = LeftOuts::default();
        let count = job.observations.len();
        let run = Run::Completed(job.observations[0]);
        left_outs.leave_out(&mut job, run);
        assert_eq!(job.observations.len(), count - 1);
        assert!(job.observations.contains(&left_outs.of(&job.context).observations[0]));
        let kept = Run::Completed(job.observations[5]);
        left_outs.put_back(&mut job, kept);
        assert_eq!(job.observations.len(), count - 1, "it was not left out");
    }
}
