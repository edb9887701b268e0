//! The page's state as signals. The link is its serialised form.

pub mod history;
mod import;
mod jobs;
mod links;
mod live;
mod machines;
mod networks;
mod outcome;
mod work;

use std::rc::Rc;
use std::sync::Arc;

use foreglow_model::{DecideError, Decision, JointPredictor, Limits, Plan, Prediction, Setting, Space as PlanSpace};
use foreglow_shared::{
    Engine, Job, MonitoredRun, Observation, PriceSheet, Question, Resources, View, WhatIf, spark_submit_arguments,
};
use leptos::prelude::*;

use self::history::begin_scenario;
use self::import::Import;
pub use self::import::Unmapped;
use self::live::Live;
pub use self::live::{Connection, Listed};
use self::networks::Networks;
pub use self::outcome::{Compared, Evaluated, Fit, MachineView, Machines};
use crate::client::{Errand, FitWorker, MachineWorker};
use crate::data::edits::Edits;
use crate::data::job::{Limits as QuestionLimits, Space};
use crate::data::machine_choice::MachineChoice;
use crate::data::switch::Switches;
use crate::data::view::{Shown, Tab};
use crate::worker::messages::Fitted;

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
    /// Least accuracy of the trained CNN, in (0, 1].
    pub min_accuracy: RwSignal<Option<f64>>,
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
    /// The switches of the charts.
    pub switches: RwSignal<Switches>,
    /// State of the evaluation of the published scenarios.
    pub evaluated: RwSignal<Evaluated>,
    /// State of the comparison of the published scenarios with all learners.
    pub compared: RwSignal<Compared>,
    /// The last error, in one sentence; the rest of the page is unaffected by it.
    pub alert: RwSignal<Option<String>>,
    /// A job with other runs on the collector than on the page.
    pub newer: RwSignal<Option<Job>>,
    /// Whether a source is still loading.
    pub loading: RwSignal<bool>,
    /// The excluded runs, and the jobs in another size than the measured one.
    pub edits: RwSignal<Edits>,
    /// State of the file import.
    pub import: Import,
    /// The runs of a file of `--monitor`, if one is open.
    pub monitored: RwSignal<Vec<MonitoredRun>>,
    /// The networks of dropped ONNX files.
    pub networks: Networks,
    /// State of the connection to the collector.
    pub live: Live,
    /// Number of the user's last choice of a job.
    choice: StoredValue<u64>,
    /// The decision, independent of the what-if. `None` without a predictor.
    pub decision: Memo<Option<Result<Arc<Decision>, String>>>,
    /// The prediction for the configuration under inspection. `None` without a predictor.
    pub prediction: Memo<Option<Prediction>>,
    /// Computes a predictor's decision ahead of time, so that the memo can reuse it.
    foresee: Callback<Arc<Fitted>>,
    worker: StoredValue<Option<Rc<FitWorker>>, LocalStorage>,
    comparison: StoredValue<Option<Errand>, LocalStorage>,
    evaluation: StoredValue<Option<Errand>, LocalStorage>,
    machine_worker: StoredValue<Option<Rc<MachineWorker>>, LocalStorage>,
}

/// The plan of the last question, for questions that differ only in their limits.
#[derive(Clone)]
struct Planned {
    fitted: Arc<Fitted>,
    joint: Arc<JointPredictor>,
    /// The question without its limits.
    asked: Question,
    plan: Arc<Plan>,
}

impl Planned {
    /// Plans a question; reuses what an earlier plan has in common with it.
    fn of(known: Option<Self>, fitted: Arc<Fitted>, job: &Job, question: &Question) -> Result<Self, DecideError> {
        let asked =
            Question { deadline_secs: None, budget: None, min_accuracy: None, probability: 0.5, ..question.clone() };
        let known = known.filter(|known| Arc::ptr_eq(&known.fitted, &fitted));
        if let Some(known) = known.clone().filter(|known| known.asked == asked) {
            return Ok(known);
        }
        let joint = known.map_or_else(
            || Arc::new(JointPredictor::from_predictor(fitted.predictor.clone(), job)),
            |known| known.joint,
        );
        let plan = Plan::new(Arc::clone(&joint), PlanSpace::from_context(question, job)?)?;
        Ok(Self { fitted, joint, asked, plan: Arc::new(plan) })
    }
}

impl Planner {
    /// An empty page.
    pub fn new() -> Self {
        let question = Question::about(&[]);
        let fit = RwSignal::new(Fit::None);
        let deadline_secs = RwSignal::new(None);
        let budget = RwSignal::new(None);
        let min_accuracy = RwSignal::new(None);
        let probability = RwSignal::new(question.probability);
        let jobs = RwSignal::new(Vec::<Job>::new());
        let selected = RwSignal::new(0);
        let space = RwSignal::new(Space::of(&question));
        let prices = RwSignal::new(question.prices);
        let planned = StoredValue::new(None::<Planned>);
        let decide_with = move |fitted: Arc<Fitted>| {
            let limits = QuestionLimits {
                deadline_secs: deadline_secs.get(),
                budget: budget.get(),
                min_accuracy: min_accuracy.get(),
                probability: probability.get(),
            };
            let question = space.get().ask(limits, prices.get(), question.what_if);
            let job = jobs.with(|jobs| jobs.get(selected.get()).cloned())?;
            let known = planned.get_value();
            let decided = Planned::of(known, fitted, &job, &question).and_then(|new| {
                let decided = new.plan.decide(&Limits::of(&question));
                planned.set_value(Some(new));
                decided
            });
            Some(decided.map(Arc::new).map_err(|error| error.to_string()))
        };
        let decision = Memo::new(move |_| decide_with(fit.with(Fit::fitted)?));
        let what_if = RwSignal::new(question.what_if);
        let prediction = Memo::new(move |_| {
            let WhatIf { executors, cores_per_executor } = what_if.get();
            let setting = Setting::even(executors, cores_per_executor, 1.0);
            fit.with(Fit::fitted).map(|fitted| fitted.predictor.predict(setting))
        });
        Self {
            jobs,
            selected,
            deadline_secs,
            budget,
            min_accuracy,
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
            switches: RwSignal::new(Switches::default()),
            decision,
            foresee: Callback::new(move |fitted| drop(untrack(|| decide_with(fitted)))),
            alert: RwSignal::new(None),
            newer: RwSignal::new(None),
            loading: RwSignal::new(true),
            edits: RwSignal::new(Edits::default()),
            import: Import::new(),
            monitored: RwSignal::new(Vec::new()),
            networks: Networks::new(),
            live: Live::new(),
            choice: StoredValue::new(0),
            worker: StoredValue::new_local(None),
            comparison: StoredValue::new_local(None),
            evaluation: StoredValue::new_local(None),
            machine_worker: StoredValue::new_local(None),
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
        let limits = QuestionLimits {
            deadline_secs: self.deadline_secs.get(),
            budget: self.budget.get(),
            min_accuracy: self.min_accuracy.get(),
            probability: self.probability.get(),
        };
        self.space.get().ask(limits, self.prices.get(), WhatIf { executors: 1, cores_per_executor: 1 })
    }

    /// The shareable state of the page; reactive. `None` on an empty page.
    pub fn view(&self) -> Option<View> {
        let question = self.question();
        let pins = self.pins.get();
        let job = self.job()?;
        let left_out = self.edits.with(|edits| edits.left_out.of(&job.context));
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
        let setting = Setting::even(executors, cores_per_executor, 1.0);
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
        let (accelerated, shared_accelerators) = self.accelerators();
        Resources {
            executors: configuration.executors,
            cores_per_executor: configuration.cores_per_executor,
            total_cores: None,
            memory_per_executor_mib: self.space.with(|space| space.memory_per_executor_mib),
            accelerated,
            shared_accelerators,
        }
    }

    /// Whether each executor uses an accelerator, and the number that all of them share; reactive.
    pub fn accelerators(&self) -> (bool, Option<u32>) {
        let selected = self.selected.get();
        self.jobs.with(|jobs| {
            let context = jobs.get(selected).map(|job| &job.context);
            context.map_or((false, None), |context| (context.accelerator.is_some(), context.shared_accelerators()))
        })
    }

    /// Shows a view. The back button returns to the previous one.
    pub fn show(self, tab: Tab) {
        if self.tab.get_untracked() != tab {
            begin_scenario();
            self.tab.set(tab);
        }
    }

    /// The state of the page besides the link; reactive.
    pub fn shown(self) -> Shown {
        let (choice, switches) = (self.machine_choice.get(), self.switches.get());
        Shown { tab: self.tab.get(), choice, switches, size: None }
    }

    /// Applies the state of an address.
    pub fn take_shown(self, shown: Shown) {
        self.tab.set(shown.tab);
        if self.machine_choice.get_untracked() != shown.choice {
            self.machine_choice.set(shown.choice);
        }
        self.switches.set(shown.switches);
    }
}
