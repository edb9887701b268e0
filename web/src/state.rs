//! What the page holds, as signals. The link is its serialised form.

use std::rc::Rc;
use std::sync::Arc;

use foreglow_model::{Decision, Prediction, ScenarioRow, Setting, decide};
use foreglow_shared::{
    Engine, Job, LinkError, Observation, PriceSheet, Question, Resources, Sample, View, WhatIf, spark_submit_arguments,
};
use leptos::prelude::*;

use crate::fit::{Fitted, FromWorker};
use crate::fit_worker::{Comparison, FitWorker};
use crate::job::{self, Limits, Space};

/// How far the fit is.
#[derive(Clone, Debug)]
pub enum Fit {
    /// There is nothing to fit.
    None,
    /// The worker has it.
    Running,
    /// Done.
    Ready(Arc<Fitted>),
    /// Why there is no predictor.
    Failed(String),
}

impl Fit {
    fn fitted(&self) -> Option<Arc<Fitted>> {
        match self {
            Self::Ready(fitted) => Some(Arc::clone(fitted)),
            _ => None,
        }
    }
}

/// How far the comparison of all learners is.
#[derive(Clone, Debug)]
pub enum Compared {
    /// Nobody has asked.
    None,
    /// So many steps are done, of so many.
    Running(u64, u64),
    /// Every scenario.
    Ready(Vec<ScenarioRow>),
    /// Why there is none.
    Failed(String),
}

/// Everything the page shows follows from these.
#[derive(Clone, Copy)]
pub struct Planner {
    /// What was measured, the most runs first.
    pub jobs: RwSignal<Vec<Job>>,
    /// Which of them is asked about.
    pub selected: RwSignal<usize>,
    /// The job must be done within so many seconds.
    pub deadline_secs: RwSignal<Option<f64>>,
    /// The job may cost so much.
    pub budget: RwSignal<Option<f64>>,
    /// Probability with which both are to be kept.
    pub probability: RwSignal<f64>,
    /// What there is to choose from.
    pub space: RwSignal<Space>,
    /// What an hour costs.
    pub prices: RwSignal<PriceSheet>,
    /// The configuration that is looked at.
    pub what_if: RwSignal<WhatIf>,
    /// Configurations that are compared.
    pub pins: RwSignal<Vec<WhatIf>>,
    /// The predictor of the selected job.
    pub fit: RwSignal<Fit>,
    /// The published scenarios with all learners, on request.
    pub compared: RwSignal<Compared>,
    /// What went wrong, in one sentence; the page stays as it is.
    pub alert: RwSignal<Option<String>>,
    /// A job that the collector knows with other runs than the page shows.
    pub newer: RwSignal<Option<Job>>,
    /// Whether a source is still being asked.
    pub loading: RwSignal<bool>,
    /// The decision about the question, which the what-if does not change. `None` while there is no predictor.
    pub decision: Memo<Option<Result<Arc<Decision>, String>>>,
    worker: StoredValue<Option<Rc<FitWorker>>, LocalStorage>,
    comparison: StoredValue<Option<Comparison>, LocalStorage>,
}

impl Planner {
    /// An empty page.
    pub fn new() -> Self {
        let question = Question::about(&[]);
        let fit = RwSignal::new(Fit::None);
        let deadline_secs = RwSignal::new(None);
        let budget = RwSignal::new(None);
        let probability = RwSignal::new(question.probability);
        let jobs = RwSignal::new(Vec::<Job>::new());
        let selected = RwSignal::new(0);
        let space = RwSignal::new(Space::of(&question));
        let prices = RwSignal::new(question.prices);
        let decision = Memo::new(move |_| {
            let predictor = fit.with(Fit::fitted)?;
            let limits =
                Limits { deadline_secs: deadline_secs.get(), budget: budget.get(), probability: probability.get() };
            let question = space.get().ask(limits, prices.get(), question.what_if);
            let job = jobs.with(|jobs| jobs.get(selected.get()).cloned())?;
            Some(decide(&predictor.predictor, &job, &question).map(Arc::new).map_err(|error| error.to_string()))
        });
        Self {
            jobs,
            selected,
            deadline_secs,
            budget,
            probability,
            space,
            prices,
            what_if: RwSignal::new(question.what_if),
            pins: RwSignal::new(Vec::new()),
            fit,
            decision,
            alert: RwSignal::new(None),
            newer: RwSignal::new(None),
            loading: RwSignal::new(true),
            worker: StoredValue::new_local(None),
            comparison: StoredValue::new_local(None),
            compared: RwSignal::new(Compared::None),
        }
    }

    /// The job that is asked about; reactive.
    pub fn job(&self) -> Option<Job> {
        self.jobs.with(|jobs| jobs.get(self.selected.get()).cloned())
    }

    /// The runs of that job; reactive.
    pub fn observations(&self) -> Vec<Observation> {
        self.job().map(|job| job.observations).unwrap_or_default()
    }

    /// The question as it stands; reactive.
    pub fn question(&self) -> Question {
        Question { what_if: self.what_if.get(), ..self.question_without_what_if() }
    }

    /// The question about a configuration of no meaning; reactive, but not to the what-if.
    pub fn question_without_what_if(&self) -> Question {
        let limits = Limits {
            deadline_secs: self.deadline_secs.get(),
            budget: self.budget.get(),
            probability: self.probability.get(),
        };
        self.space.get().ask(limits, self.prices.get(), WhatIf { executors: 1, cores_per_executor: 1 })
    }

    /// The page as it can be shared; reactive. `None` while there is nothing on it.
    pub fn view(&self) -> Option<View> {
        let question = self.question();
        let pins = self.pins.get();
        self.job().map(|job| View { job, question, pins })
    }

    /// The fitted predictor; reactive.
    pub fn fitted(&self) -> Option<Arc<Fitted>> {
        self.fit.with(Fit::fitted)
    }

    /// What is predicted for the whole job on a configuration; reactive.
    pub fn predict(&self, configuration: WhatIf) -> Option<Prediction> {
        let WhatIf { executors, cores_per_executor } = configuration;
        let setting = Setting { executors, cores_per_executor, sampling_rate: 1.0 };
        self.fitted().map(|fitted| fitted.predictor.predict(setting))
    }

    /// What a prediction costs at the present prices; reactive.
    pub fn cost(&self, configuration: WhatIf, secs: f64) -> f64 {
        self.prices.with(|prices| prices.cost(self.resources(configuration), secs))
    }

    /// A configuration as arguments of `spark-submit`, of a job that Spark ran; reactive.
    pub fn spark_submit(&self, configuration: WhatIf) -> Option<String> {
        let is_spark = self.job().is_some_and(|job| job.context.engine == Engine::Spark);
        is_spark.then(|| spark_submit_arguments(self.resources(configuration)))
    }

    fn resources(&self, configuration: WhatIf) -> Resources {
        Resources {
            executors: configuration.executors,
            cores_per_executor: configuration.cores_per_executor,
            memory_per_executor_mib: self.space.with(|space| space.memory_per_executor_mib),
            accelerated: self
                .jobs
                .with(|jobs| jobs.get(self.selected.get()).is_some_and(|job| job.context.accelerator.is_some())),
        }
    }

    /// Starts the fit worker; without one the page says so when it needs it.
    pub fn start_worker(self) {
        let started = FitWorker::start(move |answer| {
            self.fit.set(match answer {
                Ok(fitted) => Fit::Ready(Arc::new(fitted)),
                Err(reason) => Fit::Failed(reason),
            });
        });
        match started {
            Ok(worker) => self.worker.set_value(Some(worker)),
            Err(reason) => self.alert.set(Some(reason)),
        }
    }

    /// Compares the published scenarios with all of their learners, beside the page.
    pub fn compare(self) {
        let Some(job) = untrack(|| self.job()) else { return };
        self.compared.set(Compared::Running(0, 1));
        let told = move |told: Result<FromWorker, String>| match told {
            Ok(FromWorker::Progress(done, total)) => self.compared.set(Compared::Running(done, total)),
            Ok(FromWorker::Compared(rows)) => self.compared.set(Compared::Ready(rows)),
            Ok(_) => {}
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        };
        match Comparison::start(job, told) {
            Ok(comparison) => self.comparison.set_value(Some(comparison)),
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        }
    }

    /// Breaks a comparison off, or forgets one that is done.
    pub fn cancel_comparison(self) {
        self.comparison.set_value(None);
        self.compared.set(Compared::None);
    }

    /// Takes the samples of a file or a collector in place of what is there.
    pub fn take_samples(&self, samples: &[Sample]) {
        self.take_jobs(job::jobs_of(samples), 0);
    }

    /// Takes jobs in place of what is there and asks the first question about one of them.
    pub fn take_jobs(&self, jobs: Vec<Job>, selected: usize) {
        self.jobs.set(jobs);
        self.select(selected);
    }

    /// Turns to another job. A deadline, a budget and a what-if belong to a job; prices and caution do not.
    pub fn select(&self, selected: usize) {
        self.selected.set(selected);
        let question = Question::about(&self.observations_untracked());
        self.deadline_secs.set(None);
        self.budget.set(None);
        self.space.set(Space::of(&question));
        self.what_if.set(question.what_if);
        self.pins.set(Vec::new());
        self.refit();
    }

    /// Opens a link. A bad one changes nothing but the message.
    pub fn open_link(&self, link: &str) -> Result<(), LinkError> {
        let View { job, question, pins } = View::from_link(link)?;
        // Another question about the same runs has the same predictor.
        let fitted = untrack(|| self.job()).as_ref() == Some(&job) && untrack(|| self.fitted()).is_some();
        self.jobs.update(|jobs| match jobs.iter_mut().position(|known| known.context == job.context) {
            Some(place) => {
                jobs[place] = job.clone();
                self.selected.set(place);
            }
            None => {
                jobs.insert(0, job.clone());
                self.selected.set(0);
            }
        });
        self.space.set(Space::of(&question));
        self.deadline_secs.set(question.deadline_secs);
        self.budget.set(question.budget);
        self.probability.set(question.probability);
        self.prices.set(question.prices);
        self.what_if.set(question.what_if);
        self.pins.set(pins);
        self.alert.set(None);
        if !fitted {
            self.refit();
        }
        Ok(())
    }

    /// Shows other runs of the selected job; the question stays.
    pub fn take_runs(&self, job: Job) {
        self.jobs.update(|jobs| {
            if let Some(known) = jobs.iter_mut().find(|known| known.context == job.context) {
                *known = job;
            }
        });
        self.refit();
    }

    fn observations_untracked(&self) -> Vec<Observation> {
        untrack(|| self.observations())
    }

    fn refit(&self) {
        self.cancel_comparison();
        let Some(job) = untrack(|| self.job()) else {
            self.fit.set(Fit::None);
            return;
        };
        self.fit.set(Fit::Running);
        match self.worker.get_value() {
            Some(worker) => worker.request(job),
            None => {
                self.fit.set(Fit::Failed("this browser cannot run the fit beside the page; try a current one".into()))
            }
        }
    }
}
