//! The state of the page: what links, reloads, the history, files and messages read and write.

use foreglow_model::UnmeasuredJob;
use foreglow_shared::{
    Context, Job, JobDefinition, LinkError, MOST_RUNS_IN_LINK, PriceSheet, Question, SHORT_PREFIX, ShortLink, View,
    WhatIf,
};
use serde::{Deserialize, Serialize};

use crate::data::candidate_list::CandidateList;
use crate::data::edits::Edits;
use crate::data::job::{Limits, Space, same_job};
use crate::data::left_out::Run;
use crate::data::machine_choice::{MachineChoice, MachinePick, Selection};
use crate::data::switch::Switches;
use crate::data::unmeasured::{self, USUAL_DEADLINE_SECS, is_unmeasured};
use crate::data::view::{Tab, ViewSettings, split};

/// The what-if in the link of a page whose user has not chosen one.
const UNCHOSEN: WhatIf = WhatIf { executors: 1, cores_per_executor: 1 };

/// The state of the page, without what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewState {
    /// The measured jobs, sorted by descending number of runs, in the size of the question. Without
    /// any, the question is about the job without samples.
    pub jobs: Vec<Job>,
    /// The job without samples.
    pub unmeasured: UnmeasuredJob,
    /// Index of the selected job.
    pub selected: usize,
    /// The excluded runs, and the jobs in another size than the measured one.
    pub edits: Edits,
    /// The limits, and the required probability of meeting them.
    pub limits: Limits,
    /// The configurations to choose from.
    pub space: Space,
    /// The prices.
    pub prices: PriceSheet,
    /// The configuration of the what-if; `None` for the recommended one.
    pub what_if: Option<WhatIf>,
    /// The pinned configurations.
    pub pins: Vec<Selection>,
    /// The machine types to compare, and the user's prices of them.
    pub choice: MachineChoice,
    /// The view that is shown.
    pub tab: Tab,
    /// The switches of the charts.
    pub switches: Switches,
    /// Order and filter of the list of configurations.
    pub list: CandidateList,
}

/// A link: the address of the page without the part before `#`.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    content: Content,
    shown: ViewSettings,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    /// The runs and the question.
    Full(Box<View>),
    /// The question about a job that the collector or session storage has.
    Short(Box<ShortLink>),
    /// The question about a job without samples.
    Unmeasured(Box<(UnmeasuredJob, Limits)>),
}

/// The part of the state that a link lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// All jobs of the page; empty if the link holds them.
    jobs: Vec<Job>,
    /// [`Edits::as_jobs`].
    edits: [Vec<Job>; 2],
    /// The pinned configurations, which a short link lacks.
    #[serde(default)]
    pinned: Vec<Selection>,
}

/// The part of the state whose changes are steps of the history, so that the back button returns to
/// the previous one. Changes of the rest, such as moves of a slider, replace the current step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The selected job, in the size of the question.
    pub context: Option<Context>,
    /// The job without samples, if there is no other.
    pub unmeasured: Option<UnmeasuredJob>,
    /// The limits, and the required probability of meeting them.
    pub limits: Limits,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// The prices.
    pub prices: PriceSheet,
    /// The machine types to compare, with the default what-if.
    pub choice: MachineChoice,
    /// The view that is shown.
    pub tab: Tab,
}

impl Link {
    /// Reads a fragment, without `#`. What is unknown after `&` is ignored.
    ///
    /// # Errors
    /// The link is damaged, or of a newer version.
    pub fn read(fragment: &str) -> Result<Self, LinkError> {
        let (link, shown) = split(fragment);
        if is_unmeasured(link) {
            let asked = unmeasured::read(fragment).map_err(LinkError::Form)?;
            return Ok(Self { content: Content::Unmeasured(Box::new(asked)), shown });
        }
        let content = match is_short(link) {
            true => Content::Short(Box::new(ShortLink::from_fragment(link)?)),
            false => Content::Full(Box::new(View::from_link(link)?)),
        };
        Ok(Self { content, shown })
    }

    /// The fingerprint of the job of a short link.
    pub fn short_job(&self) -> Option<&str> {
        match &self.content {
            Content::Full(_) | Content::Unmeasured(_) => None,
            Content::Short(link) => Some(&link.job),
        }
    }
}

/// Whether a fragment holds a question without runs.
pub fn is_short(fragment: &str) -> bool {
    fragment.starts_with(SHORT_PREFIX)
}

impl Default for ViewState {
    /// A page without samples, with the usual question.
    fn default() -> Self {
        let question = Question::about(&[]);
        Self {
            jobs: Vec::new(),
            unmeasured: UnmeasuredJob::default(),
            selected: 0,
            edits: Edits::default(),
            limits: Limits { deadline_secs: Some(USUAL_DEADLINE_SECS), ..Limits::of(&question) },
            space: Space::of(&question),
            prices: question.prices,
            what_if: None,
            pins: Vec::new(),
            choice: MachineChoice::default(),
            tab: Tab::default(),
            switches: Switches::default(),
            list: CandidateList::default(),
        }
    }
}

impl ViewState {
    /// The selected job.
    pub fn job(&self) -> Option<&Job> {
        self.jobs.get(self.selected)
    }

    /// The question about the selected job.
    pub fn question(&self) -> Question {
        self.space.ask(self.limits, self.prices.clone(), self.what_if.unwrap_or(UNCHOSEN))
    }

    /// The page as command line and other pages read it; `None` without a job.
    pub fn view(&self) -> Option<View> {
        let job = self.job()?.clone();
        let left_out = self.edits.left_out.of(&job.context);
        let pins = self.pins.iter().filter(|pin| pin.pick == MachinePick::default()).map(|pin| pin.counts).collect();
        let view = View { job, question: self.question(), pins, left_out, compared: Vec::new() };
        Some(view.comparing(&self.jobs))
    }

    /// The fragment of the link to the page. It contains the runs, unless it should be `short` or
    /// there are too many of them: the collector or session storage then has the measured runs.
    /// Without samples it is the question alone.
    pub fn fragment(&self, short: bool) -> String {
        let Some(view) = self.view() else {
            // What the user looks at is a row of the list, which has no place in the question.
            let choice = MachineChoice { pick: MachinePick::default(), ..self.choice.clone() };
            let (list, pins) = (self.list.clone(), self.pins.clone());
            let shown = ViewSettings { choice, list, pins, ..ViewSettings::default() };
            return unmeasured::fragment(&self.unmeasured, self.limits) + &shown.suffix();
        };
        let mut shown = ViewSettings {
            tab: self.tab,
            choice: self.choice.clone(),
            switches: self.switches,
            list: self.list.clone(),
            size: None,
            pins: self.pins.iter().filter(|pin| pin.pick != MachinePick::default()).cloned().collect(),
            is_smallest_chosen: self.what_if == Some(UNCHOSEN),
        };
        let link = if short || !view.fits_in_link() {
            let Context { workload, .. } = &view.job.context;
            let measured = self.edits.measured(&view.job.context);
            shown.size = (measured.workload != *workload).then_some((workload.images, workload.epochs));
            ShortLink::new(&measured, view.question).to_fragment()
        } else {
            view.to_fragment()
        };
        link + &shown.suffix()
    }

    /// The part of the state whose changes are steps of the history.
    pub fn step(&self) -> Step {
        Step {
            context: self.job().map(|job| job.context.clone()),
            unmeasured: self.jobs.is_empty().then(|| self.unmeasured.clone()),
            limits: self.limits,
            memory_per_executor_mib: self.space.memory_per_executor_mib,
            prices: self.prices.clone(),
            choice: MachineChoice { pick: MachinePick::default(), ..self.choice.clone() },
            tab: self.tab,
        }
    }

    /// Opens a link.
    ///
    /// # Errors
    /// The page lacks the job of a short link, or it has a run with more images than the question;
    /// one sentence without its full stop. The state is then undefined.
    pub fn open(&mut self, Link { content, shown }: Link) -> Result<(), String> {
        let question = match content {
            Content::Full(view) => self.open_view(*view),
            Content::Short(link) => self.open_short(*link, shown.size)?,
            Content::Unmeasured(asked) => {
                let (job, limits) = *asked;
                self.ask_without_samples(job);
                (self.limits, self.choice, self.list, self.pins) = (limits, shown.choice, shown.list, shown.pins);
                return Ok(());
            }
        };
        self.what_if = Some(question.what_if).filter(|what_if| *what_if != UNCHOSEN || shown.is_smallest_chosen);
        self.limits = Limits::of(&question);
        self.space = Space::of(&question);
        self.prices = question.prices;
        let known = self.pins.clone();
        self.pins.extend(shown.pins.into_iter().filter(|pin| !known.contains(pin)));
        (self.tab, self.choice, self.switches) = (shown.tab, shown.choice, shown.switches);
        self.list = shown.list;
        Ok(())
    }

    fn open_view(&mut self, View { job, question, pins, left_out, compared }: View) -> Question {
        // The page shows each job in one size. If runs have more images, the job stays separate.
        let Context { workload, .. } = &job.context;
        let _ = self.resize(&job.context, workload.images, workload.epochs);
        self.edits.left_out.set(&job.context, left_out);
        match self.jobs.iter().position(|known| known.context == job.context) {
            Some(place) => {
                self.jobs[place] = job;
                self.selected = place;
            }
            None => {
                self.jobs.insert(0, job);
                self.selected = 0;
            }
        }
        compared.into_iter().for_each(|job| self.add_job(job));
        self.pins = pins.into_iter().map(Selection::from).collect();
        question
    }

    fn open_short(&mut self, link: ShortLink, size: Option<(u64, u32)>) -> Result<Question, String> {
        let measured = self.jobs.iter().map(|known| self.edits.measured(&known.context));
        let found = measured.enumerate().find(|(_, measured)| measured.fingerprint() == link.job);
        let (place, measured) = found.ok_or(
            "it is a short link, which holds the question but not the runs, and its job is unknown here; open it at the \
             collector where it was made, or ask for the full link or the file of runs",
        )?;
        let (images, epochs) = size.unwrap_or((measured.workload.images, measured.workload.epochs));
        let shown = self.jobs[place].context.clone();
        if shown.with_size(images, epochs) != shown {
            self.resize(&shown, images, epochs)?;
        }
        if place != self.selected {
            self.select(place);
        }
        Ok(link.question)
    }

    /// The state of a link that is opened with the rest that this tab kept. The rest is used only
    /// for a reload: a link that is entered in this tab starts without it.
    ///
    /// # Errors
    /// As [`ViewState::open`].
    pub fn reopened(link: Link, rest: Rest) -> Result<Self, String> {
        let mut state = Self::default();
        let Rest { jobs, edits, pinned } = rest;
        if link.short_job().is_some() {
            state.edits.add(edits);
            state.jobs = jobs;
            state.open(link)?;
            state.pins = pinned;
            return Ok(state);
        }
        state.open(link)?;
        if state.job().is_some_and(|shown| jobs.contains(shown)) {
            state.edits.add(edits);
            jobs.into_iter().for_each(|job| state.add_other(job));
        }
        Ok(state)
    }

    /// The part of the state that its link lacks; `None` without a job.
    pub fn rest(&self) -> Option<Rest> {
        let link_has_jobs =
            matches!(self.jobs.as_slice(), [job] if self.edits.keeps_sizes() && job.runs() <= MOST_RUNS_IN_LINK);
        self.job()?;
        Some(Rest {
            jobs: if link_has_jobs { Vec::new() } else { self.jobs.clone() },
            edits: self.edits.as_jobs(),
            pinned: self.pins.clone(),
        })
    }

    /// Asks about a job without samples in place of all others. The limits and the user's own
    /// prices stay.
    pub fn ask_without_samples(&mut self, job: UnmeasuredJob) {
        let usual = Self::default();
        self.unmeasured = job;
        (self.jobs, self.selected, self.edits) = (usual.jobs, usual.selected, usual.edits);
        (self.space, self.what_if, self.pins) = (usual.space, usual.what_if, usual.pins);
        self.limits.min_accuracy = None;
        self.choice.pick = MachinePick::default();
    }

    /// Replaces all jobs, as by a file, and asks the default question about one of them. The
    /// probability and the user's own prices stay.
    pub fn take_jobs(&mut self, jobs: Vec<Job>, selected: usize) {
        self.edits.forget_sizes();
        self.jobs = jobs;
        self.limits = Limits { probability: self.limits.probability, ..Limits::of(&Question::about(&[])) };
        self.select(selected);
    }

    /// Selects a job. The question stays, except for the parts that belong to a job: what-if, pins,
    /// the configurations to choose from, published prices of other hardware, and the minimum
    /// accuracy if the accuracy was not measured.
    pub fn select(&mut self, place: usize) {
        self.selected = place;
        let job = self.jobs.get(place);
        let accelerator = job.and_then(|job| job.context.accelerator.as_deref());
        self.prices = self.prices.clone().or_usual_for(accelerator);
        if job.is_none_or(|job| job.accuracies.is_empty()) {
            self.limits.min_accuracy = None;
        }
        self.space = Space::of(&job.map_or_else(|| Question::about(&[]), Question::about_job));
        self.what_if = None;
        self.choice.pick = MachinePick::default();
        self.pins = Vec::new();
    }

    /// Adds a job, or replaces its runs.
    pub fn add_job(&mut self, job: Job) {
        match self.jobs.iter_mut().find(|known| known.context == job.context) {
            Some(known) => *known = job,
            None => self.jobs.push(job),
        }
    }

    /// Adds a job, unless the page has one with its context.
    pub fn add_other(&mut self, job: Job) {
        if same_job(&self.jobs, &job.context).is_none() {
            self.jobs.push(job);
        }
    }

    /// Replaces the runs of jobs of the collector by its current ones, and adds new jobs. The
    /// question and the excluded runs stay.
    pub fn renew_jobs(&mut self, jobs: Vec<Job>) {
        let jobs: Vec<Job> = jobs.into_iter().map(|job| self.edits.left_out.without(job)).collect();
        let Some(shown) = self.job() else { return self.take_jobs(jobs, 0) };
        let renewed = same_job(&jobs, &shown.context);
        // With the default choice of configurations, those of the new runs are added.
        let usual = |job: &Job| Space::of(&Question::about_job(job));
        if let Some(renewed) = renewed.filter(|_| self.space == usual(shown)) {
            self.space = usual(renewed);
        }
        jobs.into_iter().for_each(|job| self.add_job(job));
    }

    /// Excludes a run of the selected job, or restores it.
    pub fn set_left_out(&mut self, run: Run, out: bool) {
        let Some(job) = self.jobs.get_mut(self.selected) else { return };
        match out {
            true => self.edits.left_out.leave_out(job, run),
            false => self.edits.left_out.put_back(job, run),
        }
    }

    /// Rescales the selected job, on all machine types and with all settings, to another number of
    /// images and epochs. If a job of that size was measured, it is selected. The question stays.
    ///
    /// # Errors
    /// The runs do not fit such a job; one sentence. The state is then unchanged.
    pub fn ask_about(&mut self, images: u64, epochs: u32) -> Result<(), String> {
        let Some(Job { context, .. }) = self.job() else { return Ok(()) };
        let (context, asked) = (context.clone(), context.with_size(images, epochs));
        if asked == context {
            return Ok(());
        }
        let definition = JobDefinition::of(&asked);
        let is_measured = |job: &Job| {
            JobDefinition::of(&job.context) == definition && !self.edits.were_measured_as_one(&job.context, &context)
        };
        match self.jobs.iter().position(is_measured) {
            // Measured runs of this size are better than rescaled ones.
            Some(place) => self.selected = place,
            None => self.resize(&context, images, epochs)?,
        }
        Ok(())
    }

    /// Rescales all jobs of the page that were measured as the job of a context.
    fn resize(&mut self, context: &Context, images: u64, epochs: u32) -> Result<(), String> {
        self.edits.resize(&mut self.jobs, context, images, epochs)
    }
}

#[cfg(test)]
mod tests;
