//! The page's state as signals. The link is its serialised form.

mod change;
mod import;
mod jobs;
mod live;
mod networks;
mod outcome;
mod pins;
mod plan;
mod published;

use std::rc::Rc;

use foreglow_model::UnmeasuredJob;
use foreglow_shared::{Job, MonitoredRun, PriceSheet, Question, WhatIf};
use leptos::prelude::*;

use self::import::Import;
pub use self::import::{Lacked, Offered, OpenedFiles, Unmapped};
use self::live::Live;
pub use self::live::{Connection, JobSummary};
use self::networks::Networks;
pub use self::outcome::{Compared, Evaluated, Fit};
pub use self::plan::Answer;
use crate::client::{PlanWorker, RunningRequest};
use crate::data::candidate_list::CandidateList;
use crate::data::edits::Edits;
use crate::data::job::Space;
use crate::data::machine_choice::{MachineChoice, Selection};
use crate::data::switch::Switches;
use crate::data::unmeasured::USUAL_DEADLINE_SECS;
use crate::data::view::Tab;
use crate::data::view_state::Step;
use crate::worker::messages::OwnAccuracy;

/// The state that the address bar shows: its fragment, as this version writes it, and its step.
#[derive(Clone, Default)]
pub struct AddressState {
    /// The fragment. The address bar may hold another one, such as an equal link of an earlier
    /// version or one that cannot be opened.
    pub fragment: Option<String>,
    /// The step; `None` on a page that has not loaded its first jobs.
    pub step: Option<Step>,
}

/// The signals from which everything on the page is derived. Those of the [`ViewState`] are
/// separate, so that a slider redraws only what depends on it; links, the history, reloads, files
/// and messages read and write all of them at once (`change.rs`).
///
/// [`ViewState`]: crate::data::view_state::ViewState
#[derive(Clone, Copy)]
pub struct Planner {
    /// The measured jobs, sorted by descending number of runs.
    pub jobs: RwSignal<Vec<Job>>,
    /// Index of the selected job.
    pub selected: RwSignal<usize>,
    /// The job without samples, which the page is about if there are no others.
    pub unmeasured: RwSignal<UnmeasuredJob>,
    /// The names of the networks and of the GPUs of the public measurements; empty until they are
    /// loaded.
    pub public_names: RwSignal<[Vec<String>; 2]>,
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
    /// The configuration of the what-if that the user chose; `None` for the recommended one.
    pub chosen: RwSignal<Option<WhatIf>>,
    /// Executors and cores of the what-if. The worker's answer about them follows.
    pub what_if: Memo<WhatIf>,
    /// The pinned configurations.
    pub pins: RwSignal<Vec<Selection>>,
    /// The configuration whose figures the "Why?" dialog explains.
    pub explained: RwSignal<Option<Selection>>,
    /// The worker's answer.
    pub answer: Answer,
    /// The view that is shown.
    pub tab: RwSignal<Tab>,
    /// State of the selected job's fit.
    pub fit: RwSignal<Fit>,
    /// The machine types to compare, and the user's prices of them.
    pub machine_choice: RwSignal<MachineChoice>,
    /// The switches of the charts.
    pub switches: RwSignal<Switches>,
    /// Order and filter of the list of configurations.
    pub list: RwSignal<CandidateList>,
    /// State of the evaluation of the published scenarios.
    pub evaluated: RwSignal<Evaluated>,
    /// The error of the predictor on held-out settings, once it is known.
    pub held_out: RwSignal<Option<OwnAccuracy>>,
    /// How often the predictions of whole jobs held, in sentences; empty until it is known.
    pub whole_jobs: RwSignal<Vec<String>>,
    /// State of the comparison of the published scenarios with all learners.
    pub compared: RwSignal<Compared>,
    /// The last error, in one sentence; the rest of the page is unaffected by it.
    pub alert: RwSignal<Option<String>>,
    /// A job with other runs on the collector than on the page.
    pub newer: RwSignal<Option<Job>>,
    /// Whether a source is still loading.
    pub loading: RwSignal<bool>,
    /// Number of the files and examples that the user has opened.
    pub opened: RwSignal<usize>,
    /// Whether the page is being printed.
    pub printing: RwSignal<bool>,
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
    /// The state that the address bar shows.
    pub address: StoredValue<AddressState>,
    worker: StoredValue<Option<Rc<PlanWorker>>, LocalStorage>,
    comparison: StoredValue<Option<RunningRequest>, LocalStorage>,
    evaluation: StoredValue<Option<RunningRequest>, LocalStorage>,
}

impl Planner {
    /// An empty page.
    pub fn new() -> Self {
        let question = Question::about(&[]);
        let fit = RwSignal::new(Fit::None);
        let deadline_secs = RwSignal::new(Some(USUAL_DEADLINE_SECS));
        let budget = RwSignal::new(None);
        let min_accuracy = RwSignal::new(None);
        let probability = RwSignal::new(question.probability);
        let jobs = RwSignal::new(Vec::<Job>::new());
        let selected = RwSignal::new(0);
        let space = RwSignal::new(Space::of(&question));
        let prices = RwSignal::new(question.prices);
        let chosen = RwSignal::new(None);
        let answer = Answer::new();
        let what_if = Memo::new(move |_| {
            let shown = || answer.what_if.with(|view| view.as_ref().map(|view| view.selection.counts));
            chosen.get().or_else(shown).unwrap_or(question.what_if)
        });
        Self {
            jobs,
            selected,
            unmeasured: RwSignal::new(UnmeasuredJob::default()),
            public_names: RwSignal::new(Default::default()),
            deadline_secs,
            budget,
            min_accuracy,
            probability,
            space,
            prices,
            chosen,
            what_if,
            answer,
            explained: RwSignal::new(None),
            pins: RwSignal::new(Vec::new()),
            tab: RwSignal::new(Tab::default()),
            fit,
            evaluated: RwSignal::new(Evaluated::None),
            held_out: RwSignal::new(None),
            whole_jobs: RwSignal::new(Vec::new()),
            machine_choice: RwSignal::new(MachineChoice::default()),
            switches: RwSignal::new(Switches::default()),
            list: RwSignal::new(CandidateList::default()),
            alert: RwSignal::new(None),
            newer: RwSignal::new(None),
            loading: RwSignal::new(true),
            opened: RwSignal::new(0),
            printing: RwSignal::new(false),
            edits: RwSignal::new(Edits::default()),
            import: Import::new(),
            monitored: RwSignal::new(Vec::new()),
            networks: Networks::new(),
            live: Live::new(),
            choice: StoredValue::new(0),
            address: StoredValue::new(AddressState::default()),
            worker: StoredValue::new_local(None),
            comparison: StoredValue::new_local(None),
            evaluation: StoredValue::new_local(None),
            compared: RwSignal::new(Compared::None),
        }
    }

    /// The selected job; reactive.
    pub fn job(&self) -> Option<Job> {
        self.jobs.with(|jobs| jobs.get(self.selected.get()).cloned())
    }

    /// Whether the page is about a job without samples; reactive.
    pub fn is_unmeasured(&self) -> bool {
        !self.loading.get() && self.jobs.with(Vec::is_empty)
    }

    /// The current question with a placeholder for the what-if; reactive, but not to the what-if.
    pub fn question_without_what_if(&self) -> Question {
        self.space.get().ask(self.limits(), self.prices.get(), WhatIf { executors: 1, cores_per_executor: 1 })
    }

    /// Shows a view.
    pub fn show(self, tab: Tab) {
        // Setting the same value would create the view again.
        if self.tab.get_untracked() != tab {
            self.tab.set(tab);
        }
    }
}
