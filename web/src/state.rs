//! The page's state as signals. The link is its serialised form.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use foreglow_model::{Decision, MachineLimits, Prediction, Setting, decide, decide_again};
use foreglow_shared::{
    Engine, Job, LinkError, MonitoredRun, Observation, PriceSheet, Question, Resources, ShortLink, View, WhatIf,
    measured_choices, spark_submit_arguments,
};
use leptos::prelude::*;

use crate::errand::{COMPARISON, Errand, READER};
use crate::fit::{Fitted, FromErrand, Published, Scenario, ToErrand};
use crate::fit_worker::FitWorker;
use crate::job::{Limits, Space};
use crate::left_out::{LeftOuts, Run};
use crate::machines::{MachineChoice, MachineHtml, MachineQuestion};
use crate::source::{Import, Live, Networks, address};
use crate::view::{Shown, Tab};
use crate::workload::with_work;

/// Delay after the last change of the question until machine types are compared again.
const MACHINES_PAUSE: Duration = Duration::from_millis(250);

/// State of the fit.
#[derive(Clone, Debug)]
pub enum Fit {
    /// There are no runs to fit.
    None,
    /// The worker is fitting.
    Running,
    /// The fit is done.
    Ready(Arc<Fitted>),
    /// The fit failed, with the reason.
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

/// State of the evaluation of the published scenarios.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluated {
    /// No view has shown it yet.
    None,
    /// Running.
    Running,
    /// The evaluation is done.
    Ready(Arc<Published>),
    /// The evaluation failed, with the reason.
    Failed(String),
}

/// State of the comparison of machine types.
#[derive(Clone, Debug, PartialEq)]
pub enum Machines {
    /// The job was measured with one machine type, batch size and partition size.
    None,
    /// Running.
    Running,
    /// The comparison is done.
    Ready(Arc<MachineHtml>),
    /// The comparison failed, with the reason.
    Failed(String),
}

/// State of the comparison of all learners.
#[derive(Clone, Debug)]
pub enum Compared {
    /// Not requested.
    None,
    /// Running: steps done, steps in total.
    Running(u64, u64),
    /// The evaluation of every scenario.
    Ready(Vec<Scenario>),
    /// The comparison failed, with the reason.
    Failed(String),
}

/// The state from which everything on the page is derived.
#[derive(Clone, Copy)]
pub struct Planner {
    /// The measured jobs, sorted by descending number of runs.
    pub jobs: RwSignal<Vec<Job>>,
    /// Index of the selected job.
    pub selected: RwSignal<usize>,
    /// Deadline, seconds.
    pub deadline_secs: RwSignal<Option<f64>>,
    /// Budget, in the price sheet's currency.
    pub budget: RwSignal<Option<f64>>,
    /// Minimum probability of meeting each limit.
    pub probability: RwSignal<f64>,
    /// The configurations to choose from.
    pub space: RwSignal<Space>,
    /// The prices.
    pub prices: RwSignal<PriceSheet>,
    /// The configuration under inspection.
    pub what_if: RwSignal<WhatIf>,
    /// The pinned configurations.
    pub pins: RwSignal<Vec<WhatIf>>,
    /// The view that is shown.
    pub tab: RwSignal<Tab>,
    /// State of the selected job's fit.
    pub fit: RwSignal<Fit>,
    /// State of the comparison of machine types.
    pub machines: RwSignal<Machines>,
    /// The machine types to compare, and the user's prices of them.
    pub machine_choice: RwSignal<MachineChoice>,
    /// State of the evaluation of the published scenarios.
    pub evaluated: RwSignal<Evaluated>,
    /// State of the comparison of the published scenarios with all learners.
    pub compared: RwSignal<Compared>,
    /// The last error, in one sentence; the rest of the page is unaffected by it.
    pub alert: RwSignal<Option<String>>,
    /// A job of which the collector has other runs than the page shows.
    pub newer: RwSignal<Option<Job>>,
    /// Whether a source is still loading.
    pub loading: RwSignal<bool>,
    /// The excluded runs of each job.
    pub left_out: RwSignal<LeftOuts>,
    /// State of the file import.
    pub import: Import,
    /// The runs of a file of `--monitor`, if one is open.
    pub monitored: RwSignal<Vec<MonitoredRun>>,
    /// The networks of dropped ONNX files.
    pub networks: Networks,
    /// State of the connection to the collector.
    pub live: Live,
    /// The decision, independent of the what-if. `None` without a predictor.
    pub decision: Memo<Option<Result<Arc<Decision>, String>>>,
    /// The prediction for the configuration under inspection. `None` without a predictor.
    pub prediction: Memo<Option<Prediction>>,
    /// Computes a predictor's decision ahead of time, so that the memo can reuse it.
    foresee: Callback<Arc<Fitted>>,
    worker: StoredValue<Option<Rc<FitWorker>>, LocalStorage>,
    comparison: StoredValue<Option<Errand>, LocalStorage>,
    evaluation: StoredValue<Option<Errand>, LocalStorage>,
    machine_errand: StoredValue<Option<Errand>, LocalStorage>,
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
        let earlier = StoredValue::new(None::<(Arc<Fitted>, Arc<Decision>)>);
        let decide_with = move |fitted: Arc<Fitted>| {
            let limits =
                Limits { deadline_secs: deadline_secs.get(), budget: budget.get(), probability: probability.get() };
            let question = space.get().ask(limits, prices.get(), question.what_if);
            let job = jobs.with(|jobs| jobs.get(selected.get()).cloned())?;
            let known = earlier.get_value().filter(|(predicted, _)| Arc::ptr_eq(predicted, &fitted));
            let decided = match known {
                Some((_, known)) => decide_again(&fitted.predictor, &job, &question, &known),
                None => decide(&fitted.predictor, &job, &question),
            };
            let decided = decided.map(Arc::new);
            if let Ok(decision) = &decided {
                earlier.set_value(Some((fitted, Arc::clone(decision))));
            }
            Some(decided.map_err(|error| error.to_string()))
        };
        let decision = Memo::new(move |_| decide_with(fit.with(Fit::fitted)?));
        let what_if = RwSignal::new(question.what_if);
        let prediction = Memo::new(move |_| {
            let WhatIf { executors, cores_per_executor } = what_if.get();
            let setting = Setting { executors, cores_per_executor, sampling_rate: 1.0 };
            fit.with(Fit::fitted).map(|fitted| fitted.predictor.predict(setting))
        });
        Self {
            jobs,
            selected,
            deadline_secs,
            budget,
            probability,
            space,
            prices,
            what_if,
            prediction,
            pins: RwSignal::new(Vec::new()),
            tab: RwSignal::new(Tab::default()),
            fit,
            evaluated: RwSignal::new(Evaluated::None),
            machines: RwSignal::new(Machines::None),
            machine_choice: RwSignal::new(MachineChoice::default()),
            decision,
            foresee: Callback::new(move |fitted| drop(untrack(|| decide_with(fitted)))),
            alert: RwSignal::new(None),
            newer: RwSignal::new(None),
            loading: RwSignal::new(true),
            left_out: RwSignal::new(LeftOuts::default()),
            import: Import::new(),
            monitored: RwSignal::new(Vec::new()),
            networks: Networks::new(),
            live: Live::new(),
            worker: StoredValue::new_local(None),
            comparison: StoredValue::new_local(None),
            evaluation: StoredValue::new_local(None),
            machine_errand: StoredValue::new_local(None),
            compared: RwSignal::new(Compared::None),
        }
    }

    /// The selected job; reactive.
    pub fn job(&self) -> Option<Job> {
        self.jobs.with(|jobs| jobs.get(self.selected.get()).cloned())
    }

    /// The runs of the selected job; reactive.
    pub fn observations(&self) -> Vec<Observation> {
        self.job().map(|job| job.observations).unwrap_or_default()
    }

    /// The current question; reactive.
    pub fn question(&self) -> Question {
        Question { what_if: self.what_if.get(), ..self.question_without_what_if() }
    }

    /// The current question with a placeholder for the what-if; reactive, but not to the what-if.
    pub fn question_without_what_if(&self) -> Question {
        let limits = Limits {
            deadline_secs: self.deadline_secs.get(),
            budget: self.budget.get(),
            probability: self.probability.get(),
        };
        self.space.get().ask(limits, self.prices.get(), WhatIf { executors: 1, cores_per_executor: 1 })
    }

    /// The shareable state of the page; reactive. `None` on an empty page.
    pub fn view(&self) -> Option<View> {
        let question = self.question();
        let pins = self.pins.get();
        let job = self.job()?;
        let left_out = self.left_out.with(|left_out| left_out.of(&job.context));
        let view = View { job, question, pins, left_out, compared: Vec::new() };
        Some(self.jobs.with(|jobs| view.comparing(jobs)))
    }

    /// The fitted predictor; reactive.
    pub fn fitted(&self) -> Option<Arc<Fitted>> {
        self.fit.with(Fit::fitted)
    }

    /// The prediction for the whole job on a configuration; reactive.
    pub fn predict(&self, configuration: WhatIf) -> Option<Prediction> {
        let WhatIf { executors, cores_per_executor } = configuration;
        let setting = Setting { executors, cores_per_executor, sampling_rate: 1.0 };
        self.fitted().map(|fitted| fitted.predictor.predict(setting))
    }

    /// The cost of a run of `secs` seconds on a configuration at the current prices, if they cover
    /// the hardware; reactive.
    pub fn cost(&self, configuration: WhatIf, secs: f64) -> Option<f64> {
        self.prices.with(|prices| prices.cost(self.resources(configuration), secs))
    }

    /// Why the cost is unknown; `None` if the prices cover the hardware; reactive.
    pub fn unpriced(&self) -> Option<String> {
        let accelerator = self.job()?.context.accelerator;
        self.prices.with(|prices| prices.check_for(accelerator.as_deref()).err().map(|error| error.to_string()))
    }

    /// The configuration as `spark-submit` arguments if Spark ran the job; reactive.
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

    /// Starts the fit worker, or shows why it cannot be started.
    pub fn start_worker(self) {
        let foresee = move |fitted: &Arc<Fitted>| self.foresee.run(Arc::clone(fitted));
        let started = FitWorker::start(foresee, move |answer| {
            self.fit.set(match answer {
                Ok(fitted) => Fit::Ready(fitted),
                Err(reason) => Fit::Failed(reason),
            });
        });
        match started {
            Ok(worker) => self.worker.set_value(Some(worker)),
            Err(reason) => self.alert.set(Some(reason)),
        }
    }

    /// Shows a view. The back button returns to the earlier one.
    pub fn show(self, tab: Tab) {
        if self.tab.get_untracked() != tab {
            address::begin_scenario();
            self.tab.set(tab);
        }
    }

    /// What the page shows besides the link; reactive.
    pub fn shown(self) -> Shown {
        Shown { tab: self.tab.get(), choice: self.machine_choice.get() }
    }

    /// Shows what an address asks for.
    pub fn take_shown(self, shown: Shown) {
        self.tab.set(shown.tab);
        if self.machine_choice.get_untracked() != shown.choice {
            self.machine_choice.set(shown.choice);
        }
    }

    /// Whether the selected job was measured with several machine types, batch sizes or partition
    /// sizes; reactive.
    pub fn has_machine_types(self) -> bool {
        self.job().is_some_and(|job| self.jobs.with(|jobs| measured_choices(jobs, &job.context) > 1))
    }

    /// Keeps the comparison of machine types current. A change of the question cancels the
    /// comparison in progress.
    pub fn follow_machines(self) {
        Effect::new(move |earlier: Option<Option<TimeoutHandle>>| {
            if let Some(handle) = earlier.flatten() {
                handle.clear();
            }
            self.machine_errand.set_value(None);
            if !self.has_machine_types() {
                self.machines.set(Machines::None);
                return None;
            }
            let question =
                Question { what_if: WhatIf { executors: 1, cores_per_executor: 1 }, ..self.question_without_what_if() };
            let question = MachineQuestion {
                jobs: self.jobs.get(),
                context: self.job()?.context,
                limits: MachineLimits::of(&question),
                sheet: question.prices,
                choice: self.machine_choice.get(),
                what_if: self.what_if.get(),
            };
            if !matches!(self.machines.get_untracked(), Machines::Ready(_)) {
                self.machines.set(Machines::Running);
            }
            set_timeout_with_handle(move || self.compare_machines(question), MACHINES_PAUSE).ok()
        });
    }

    fn compare_machines(self, question: MachineQuestion) {
        let told = move |told: Result<FromErrand, String>| match told {
            Ok(FromErrand::Machines(html)) => self.machines.set(Machines::Ready(Arc::new(*html))),
            Err(reason) => self.machines.set(Machines::Failed(reason)),
            Ok(_) => {}
        };
        match Errand::start(READER, &ToErrand::Machines(Box::new(question)), None, told) {
            Ok(errand) => self.machine_errand.set_value(Some(errand)),
            Err(reason) => self.machines.set(Machines::Failed(reason)),
        }
    }

    /// The published scenarios, evaluated on the first call after a fit; reactive.
    pub fn published(self) -> Option<Arc<Published>> {
        match (self.fit.with(|fit| matches!(fit, Fit::Ready(_))), self.evaluated.get()) {
            (true, Evaluated::Ready(published)) => Some(published),
            (true, Evaluated::None) => {
                self.evaluate();
                None
            }
            _ => None,
        }
    }

    /// Starts the evaluation in a task of its own, because it changes signals.
    fn evaluate(self) {
        let start = move || {
            if self.evaluated.get_untracked() != Evaluated::None {
                return;
            }
            let Some(job) = untrack(|| self.job()) else { return };
            self.evaluated.set(Evaluated::Running);
            let told = move |told: Result<FromErrand, String>| match told {
                Ok(FromErrand::Evaluated(published)) => self.evaluated.set(Evaluated::Ready(Arc::new(*published))),
                Ok(_) => {}
                Err(reason) => self.evaluated.set(Evaluated::Failed(reason)),
            };
            match Errand::start(READER, &ToErrand::Evaluate(job), None, told) {
                Ok(evaluation) => self.evaluation.set_value(Some(evaluation)),
                Err(reason) => self.evaluated.set(Evaluated::Failed(reason)),
            }
        };
        set_timeout(start, Duration::ZERO);
    }

    /// Starts the comparison of the published scenarios with all of their learners.
    pub fn compare(self) {
        let Some(job) = untrack(|| self.job()) else { return };
        self.compared.set(Compared::Running(0, 1));
        let told = move |told: Result<FromErrand, String>| match told {
            Ok(FromErrand::Progress(done, total)) => self.compared.set(Compared::Running(done, total)),
            Ok(FromErrand::Compared(rows)) => self.compared.set(Compared::Ready(rows)),
            Ok(_) => {}
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        };
        match Errand::start(COMPARISON, &ToErrand::Compare(job), None, told) {
            Ok(comparison) => self.comparison.set_value(Some(comparison)),
            Err(reason) => self.compared.set(Compared::Failed(reason)),
        }
    }

    /// Cancels a running comparison, or clears a finished one.
    pub fn cancel_comparison(self) {
        self.comparison.set_value(None);
        self.compared.set(Compared::None);
    }

    /// Replaces all jobs and asks the default question about one of them.
    pub fn take_jobs(&self, jobs: Vec<Job>, selected: usize) {
        self.jobs.set(jobs);
        self.select(selected);
    }

    /// Replaces the collector's earlier jobs by its current ones. The question and the excluded
    /// runs stay.
    pub fn renew_jobs(&self, jobs: Vec<Job>) {
        let jobs: Vec<Job> = jobs.into_iter().map(|job| self.without_left_out(job)).collect();
        let Some(shown) = untrack(|| self.job()) else { return self.take_jobs(jobs, 0) };
        let Some(place) = jobs.iter().position(|job| job.context == shown.context) else { return };
        // A user who has not narrowed the choice gets the configurations that the new runs add.
        let usual = |job: &Job| Space::of(&Question::about(&job.observations));
        if self.space.get_untracked() == usual(&shown) {
            self.space.set(usual(&jobs[place]));
        }
        let is_new = jobs[place] != shown;
        self.jobs.set(jobs);
        self.selected.set(place);
        if is_new {
            self.refit();
        }
    }

    /// Removes the user's excluded runs from a job as it was measured.
    pub fn without_left_out(&self, job: Job) -> Job {
        self.left_out.with_untracked(|left_out| left_out.without(job))
    }

    /// Excludes a run of the selected job, or restores it, and refits.
    pub fn set_left_out(&self, run: Run, out: bool) {
        let selected = self.selected.get_untracked();
        self.jobs.update(|jobs| {
            let Some(job) = jobs.get_mut(selected) else { return };
            self.left_out.update(|runs| if out { runs.leave_out(job, run) } else { runs.put_back(job, run) });
        });
        self.refit();
    }

    /// Adds a job over another number of images and epochs that reuses the selected job's runs, and
    /// selects it. The question stays.
    ///
    /// # Errors
    /// The runs cannot be those of such a job; one sentence.
    pub fn ask_about(&self, images: u64, epochs: u32) -> Result<(), String> {
        let Some(job) = untrack(|| self.job()) else { return Ok(()) };
        let left_out = self.left_out.with_untracked(|left_out| left_out.of(&job.context));
        let (job, left_out) = with_work(&job, &left_out, images, epochs)?;
        address::begin_scenario();
        self.left_out.update(|runs| runs.set(&job.context, left_out));
        self.jobs.update(|jobs| {
            jobs.retain(|known| known.context != job.context);
            jobs.push(job);
        });
        self.selected.set(self.jobs.with_untracked(Vec::len) - 1);
        self.refit();
        Ok(())
    }

    /// Selects a job. Deadline, budget, what-if and pins belong to a job and are reset; probability
    /// and the user's own prices stay. Published prices for other hardware are replaced by those
    /// for the job's.
    pub fn select(&self, selected: usize) {
        address::begin_scenario();
        self.selected.set(selected);
        let question = Question::about(&self.observations_untracked());
        let accelerator = untrack(|| self.job()).and_then(|job| job.context.accelerator);
        let prices = self.prices.get_untracked();
        let fitting = prices.clone().or_usual_for(accelerator.as_deref());
        if fitting != prices {
            self.prices.set(fitting);
        }
        self.deadline_secs.set(None);
        self.budget.set(None);
        self.space.set(Space::of(&question));
        self.what_if.set(question.what_if);
        self.pins.set(Vec::new());
        self.refit();
    }

    /// Opens the fragment of a link, full or short. An invalid one changes nothing.
    ///
    /// # Errors
    /// One sentence without its full stop.
    pub fn open_fragment(&self, fragment: &str) -> Result<(), String> {
        if !address::is_short(fragment) {
            return self.open_link(fragment).map_err(|error| error.to_string());
        }
        let ShortLink { job, question } = ShortLink::from_fragment(fragment).map_err(|error| error.to_string())?;
        let place = self.jobs.with_untracked(|jobs| jobs.iter().position(|known| known.context.fingerprint() == job));
        let place = place.ok_or(
            "it is a short link, which holds the question but not the runs, and its job is unknown here; open it at the \
             collector where it was made, or ask for the full link",
        )?;
        self.select(place);
        self.ask(question);
        self.alert.set(None);
        Ok(())
    }

    /// Opens a full link. An invalid one changes nothing.
    pub fn open_link(&self, link: &str) -> Result<(), LinkError> {
        let View { job, question, pins, left_out, compared } = View::from_link(link)?;
        self.left_out.update(|runs| runs.set(&job.context, left_out));
        // Another question about the same runs needs no new fit.
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
        self.add_compared(compared);
        self.ask(question);
        self.pins.set(pins);
        self.alert.set(None);
        if !fitted {
            self.refit();
        }
        Ok(())
    }

    /// Adds the jobs with which a link compares its job.
    fn add_compared(&self, compared: Vec<Job>) {
        self.jobs.update(|jobs| {
            for job in compared {
                match jobs.iter_mut().find(|known| known.context == job.context) {
                    Some(known) => *known = job,
                    None => jobs.push(job),
                }
            }
        });
    }

    /// Sets the question about the selected job.
    pub fn ask(&self, question: Question) {
        self.space.set(Space::of(&question));
        self.deadline_secs.set(question.deadline_secs);
        self.budget.set(question.budget);
        self.probability.set(question.probability);
        self.prices.set(question.prices);
        self.what_if.set(question.what_if);
    }

    /// Replaces the runs of the job with the same context and refits. The question stays.
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
        self.evaluation.set_value(None);
        self.evaluated.set(Evaluated::None);
        let Some(job) = untrack(|| self.job()) else {
            self.fit.set(Fit::None);
            return;
        };
        self.fit.set(Fit::Running);
        match self.worker.get_value() {
            Some(worker) => worker.request(job, untrack(|| self.question())),
            None => self.fit.set(Fit::Failed("this browser cannot run the fit in a worker; try a current one".into())),
        }
    }
}
