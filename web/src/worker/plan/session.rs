//! The plan of one job, cached between questions, because the fit and the predictions of all
//! configurations depend only on the runs.

use std::sync::Arc;

use foreglow_model::{
    Basis, Decision, JointPredictor, Limits, Neighbours, Plan, Prices, PublicData, Setting, Space, UnmeasuredJob,
    median,
};
use foreglow_shared::{
    Catalog, Context, Devices, Engine, Job, JobDefinition, JobGroup, PriceSheet, Question, WhatIf, group_jobs, sort_by,
    spark_submit_arguments,
};

use super::charts::charts;
use super::decided::Decided;
use super::public::Public;
use super::rows::{arms, rows};
use super::verdict::{cost_unknown, prices, verdict};
use super::view::{PlanView, TypePrice};
use super::{PlanAnswer, PlanQuestion};
use crate::data::machine_choice::{MachineChoice, MachinePick};
use crate::data::text::capitalised;

/// Limit on the settings of a context, in which the time of a fit is cubic; repeats are merged.
const MOST_SETTINGS: usize = 5_000;

/// The fit of a job on all its machine types, and the answer to the last question.
pub struct Session {
    pub(super) group: JobGroup,
    /// The public measurements of a job without samples.
    pub(super) public: Option<Public>,
    types: Vec<TypePrice>,
    /// Whole machines are billed while executors start.
    startup_secs: f64,
    pub(super) predictor: Arc<JointPredictor>,
    /// The predictor for the last picked partition size.
    pub(super) of_size: Option<(u32, Arc<JointPredictor>)>,
    /// All configurations of all machine types.
    plan: Option<(Priced, Plan)>,
    /// Plan of the machine types of the last choice, if it excludes some.
    some: Option<(MachineChoice, Plan)>,
    /// The last decision with its question.
    decided: Option<(Asked, Result<Decided, String>)>,
    /// The last question, and the arm of its what-if.
    last: Option<(PlanQuestion, usize)>,
}

/// The part of a question that the predictions depend on.
#[derive(Clone, PartialEq)]
struct Priced {
    sheet: Option<PriceSheet>,
    /// Whether a price sheet charges all machines.
    is_charged: bool,
    counts: [Vec<u32>; 2],
    memory_per_executor_mib: Option<u32>,
}

/// The part of a question that the decision depends on.
#[derive(Clone, PartialEq)]
struct Asked {
    context: Option<Context>,
    question: Question,
    choice: MachineChoice,
}

impl Asked {
    fn of(PlanQuestion { context, question, choice, .. }: &PlanQuestion) -> Self {
        let what_if = WhatIf { executors: 1, cores_per_executor: 1 };
        Self {
            context: context.clone(),
            question: Question { what_if, ..question.clone() },
            choice: MachineChoice { pick: MachinePick::default(), ..choice.clone() },
        }
    }

    /// Whether the user asks for whole machines.
    fn rents_machines(&self) -> bool {
        let MachineChoice { devices, without, prices, max_hourly_cost, spot, .. } = &self.choice;
        *devices != Devices::All || !without.is_empty() || !prices.is_empty() || max_hourly_cost.is_some() || *spot
    }
}

fn distinct_settings(job: &Job) -> usize {
    let mut settings: Vec<Setting> = job.observations.iter().map(Setting::of).collect();
    sort_by(&mut settings, Setting::order);
    settings.dedup();
    settings.len()
}

impl Session {
    /// Fits the job of a context on all its machine types.
    ///
    /// # Errors
    /// No predictor can be fitted to these runs; one sentence with the reason.
    pub fn new(jobs: Vec<Job>, context: Option<&Context>) -> Result<Self, String> {
        let definition = JobDefinition::of(context.ok_or("the question names no job")?);
        let group = group_jobs(jobs).into_iter().find(|group| group.definition.is_same_job(&definition));
        let group = JobGroup { definition, ..group.ok_or("the job has no runs")? };
        let settings = group.jobs.iter().map(distinct_settings).max().unwrap_or_default();
        if settings > MOST_SETTINGS {
            return Err(format!(
                "there are runs of {settings} settings, and the page fits at most {MOST_SETTINGS}; use those of one job, or \
                 run `foreglow plan` on them"
            ));
        }
        let predictor = JointPredictor::fit(&group).map_err(|error| error.to_string())?;
        Ok(Self::of_predictor(group, predictor))
    }

    /// Predicts a job without samples on all machine types of the catalog that have GPUs.
    ///
    /// # Errors
    /// The network, a GPU or the number format is unknown or unsuitable; one sentence with the
    /// reason.
    pub fn unmeasured(job: &UnmeasuredJob, data: &mut PublicData) -> Result<Self, String> {
        let (group, predictor, public) = Public::predict(job, data)?;
        Ok(Self { public: Some(public), ..Self::of_predictor(group, predictor) })
    }

    fn of_predictor(group: JobGroup, predictor: JointPredictor) -> Self {
        let runs = group.jobs.iter().flat_map(|job| &job.observations);
        Self {
            types: types(&group),
            public: None,
            startup_secs: median(runs.filter_map(|run| run.startup_secs)),
            predictor: Arc::new(predictor),
            of_size: None,
            plan: None,
            some: None,
            decided: None,
            last: None,
            group,
        }
    }

    /// The job on all machine types that it was measured on.
    pub fn group(&self) -> &JobGroup {
        &self.group
    }

    /// Plans a question, for advice on it.
    ///
    /// # Errors
    /// As the plan of [`Session::answer`].
    pub fn plan(&mut self, question: &PlanQuestion) -> Result<(&Plan, Limits), String> {
        let (limits, ..) = self.prepare(&Asked::of(question))?;
        Ok((self.kept(), limits))
    }

    /// Answers a question; parts that the last answer had are omitted.
    pub fn answer(&mut self, question: PlanQuestion) -> PlanAnswer {
        let asked = Asked::of(&question);
        let known = self.decided.take().filter(|(known, _)| *known == asked);
        let last = self.last.take().filter(|_| known.is_some());
        let is_known = known.is_some();
        let (asked, decided) = known.unwrap_or_else(|| {
            let decided = self.decide(&asked);
            (asked, decided)
        });
        let answer = match &decided {
            Ok(decided) => self.show(question, decided, last.as_ref(), is_known),
            Err(reason) => PlanAnswer { plan: (!is_known).then(|| Err(reason.clone())), ..PlanAnswer::default() },
        };
        self.decided = Some((asked, decided));
        answer
    }

    fn show(
        &mut self,
        question: PlanQuestion,
        decided: &Decided,
        last: Option<&(PlanQuestion, usize)>,
        is_known: bool,
    ) -> PlanAnswer {
        let (what_if, arm) = self.what_if(&question, decided);
        let has_charts = last.is_some_and(|(_, last)| *last == arm);
        let has_pins = last.is_some_and(|(last, _)| last.pins == question.pins);
        let answer = PlanAnswer {
            plan: (!is_known).then(|| Ok(decided.view.clone())),
            charts: (!has_charts).then(|| charts(self.kept(), arm, decided, &question.question)),
            what_if: Some(what_if),
            pinned: (!has_pins).then(|| self.pinned(&question, decided)),
            reasons: question.explained.as_ref().map(|selection| self.explain(selection, &question, decided)),
        };
        self.last = Some((question, arm));
        answer
    }

    /// The plan of the last decision.
    pub(super) fn kept(&self) -> &Plan {
        let all = self.plan.as_ref().map(|(_, plan)| plan);
        self.some.as_ref().map(|(_, plan)| plan).or(all).expect("a decision keeps its plan")
    }

    /// Decides, as `foreglow plan` does.
    ///
    /// # Errors
    /// A limit is out of range, or there is nothing to choose from; one sentence.
    fn decide(&mut self, asked: &Asked) -> Result<Decided, String> {
        let (limits, space, catalog) = self.prepare(asked)?;
        let kept = self.kept();
        if let ([arm], [omission]) = (kept.predictor().arms(), kept.omissions())
            && arm.basis == Basis::Unknown
        {
            return Err(omission.reason.clone());
        }
        let decision = kept.decide(&limits).map_err(|error| error.to_string())?;
        let view = self.view(kept, &decision, &limits, &catalog);
        Ok(Decided { limits, space, decision, view })
    }

    /// Plans the configurations of a question, as far as the last plan does not have them.
    fn prepare(&mut self, asked: &Asked) -> Result<(Limits, Space, Catalog), String> {
        let choice = &asked.choice;
        if !self.types.iter().any(|kind| kind.is_kept(choice)) {
            return Err("every machine type is left out; choose at least one".into());
        }
        let space = self.space(asked);
        let priced = Priced::of(&space);
        let plan = match self.plan.take().filter(|(known, _)| *known == priced) {
            Some((_, plan)) => plan,
            None => {
                self.some = None;
                Plan::new(Arc::clone(&self.predictor), space.clone()).map_err(|error| error.to_string())?
            }
        };
        let (_, plan) = self.plan.insert((priced, plan));
        let catalog = space.catalog.clone().unwrap_or_else(|| Catalog::empty(plan.currency()));
        plan.reprice(&catalog);
        let is_kept = |machine: &str| self.types.iter().any(|kind| kind.machine == machine && kind.is_kept(choice));
        let is_same = |of: &MachineChoice| of.devices == choice.devices && of.without == choice.without;
        let keeps_all = self.types.iter().all(|kind| kind.is_kept(choice));
        let known = self.some.take().filter(|(of, _)| is_same(of));
        self.some = (!keeps_all).then(|| known.unwrap_or_else(|| (choice.clone(), plan.only(is_kept))));
        self.some.iter_mut().for_each(|(_, some)| some.reprice(&catalog));
        let limits = Limits {
            startup_secs: self.startup_secs,
            max_hourly_cost: choice.max_hourly_cost,
            spot: choice.spot,
            ..Limits::of(&asked.question)
        };
        Ok((limits, space, catalog))
    }

    fn view(&self, plan: &Plan, decision: &Decision, limits: &Limits, catalog: &Catalog) -> PlanView {
        let best = decision.recommended.and_then(|place| decision.candidates.get(place));
        let neighbours = Neighbours::of(decision);
        let priced = |kind: &TypePrice| {
            let machine = catalog.find(&kind.machine).ok();
            TypePrice { hourly_price: machine.map(|machine| machine.hourly_price), ..kind.clone() }
        };
        let is_measured = |name: &str| self.types.iter().any(|kind| kind.machine == name);
        let names = || catalog.machines.iter().map(|machine| machine.name.as_str());
        // Unmeasured machine types of the catalog are offered only if a measured one is in it.
        let offers = self.public.is_none() && names().any(is_measured);
        let offered = names().filter(|name| offers && !is_measured(name));
        let unknown = plan.predictor().accuracy_unknown();
        let unknown = unknown.filter(|unknown| unknown.is_partial() || limits.min_accuracy.is_some());
        let cost_unknown = cost_unknown(plan);
        let warnings = best.map(|best| best.prediction.warnings.iter().map(ToString::to_string));
        let mut omitted: Vec<String> =
            plan.omissions().iter().map(|left| format!("{}: {}", left.machine, left.reason)).collect();
        let mut arms = arms(plan);
        if let Some(public) = &self.public {
            arms.iter_mut().for_each(|arm| arm.hardware = public.hardware(&arm.machine, catalog));
            omitted.extend(public.left_out());
        }
        PlanView {
            currency: plan.currency().to_owned(),
            cost_unit: decision.cost_unit(plan.predictor().definition()),
            compared: decision.compared,
            arms,
            rows: rows(plan, decision, limits),
            recommended: decision.recommended,
            fastest: decision.fastest,
            likeliest: decision.likeliest,
            next_faster: neighbours.faster,
            next_cheaper: neighbours.cheaper,
            front: decision.pareto.clone(),
            best_per_machine: decision.best_per_machine.clone(),
            verdict: verdict(plan, decision, limits),
            prices: match (&cost_unknown, best) {
                (Some(reason), _) => capitalised(reason),
                (None, Some(best)) => prices(plan, best, limits),
                (None, None) => String::new(),
            },
            cost_unknown,
            warnings: warnings.into_iter().flatten().collect(),
            spark_submit: best.and_then(|best| {
                let arm = &plan.predictor().arms()[best.placement.arm];
                let resources = best.placement.resources(arm.accelerator.is_some(), None);
                (arm.engine == Engine::Spark).then(|| spark_submit_arguments(resources))
            }),
            types: self.types.iter().map(priced).collect(),
            unmeasured: offered.map(str::to_owned).collect(),
            trained: plan.trained(limits),
            accuracy_unknown: unknown.map(|unknown| capitalised(&unknown.to_string())),
            omitted,
            public: self.public.as_ref().map(|public| public.view(plan, decision)),
        }
    }

    /// The configurations and prices of a question. What it has in common with the default was not
    /// asked for.
    fn space(&self, asked: &Asked) -> Space {
        let question = &asked.question;
        let own = self.group.jobs.iter().find(|job| Some(&job.context) == asked.context.as_ref());
        let usual = own.map_or_else(|| Question::about(&[]), Question::about_job);
        let mut catalog = Catalog::built_in();
        for (name, price) in &asked.choice.prices {
            let own = catalog.machines.iter_mut().find(|machine| machine.name == *name);
            own.into_iter().for_each(|machine| machine.hourly_price = *price);
        }
        let given = (question.prices != usual.prices).then(|| question.prices.clone());
        let Prices { catalog, sheet, keeps_sheet, .. } =
            Prices::of(&self.group, &[], (catalog, true), given, asked.rents_machines());
        let counts = |counts: &[u32], usual: &[u32]| if counts == usual { Vec::new() } else { counts.to_vec() };
        let memory = question.memory_per_executor_mib;
        Space {
            catalog: Some(catalog),
            sheet,
            keeps_sheet,
            executors: counts(&question.executors, &usual.executors),
            cores_per_executor: counts(&question.cores_per_executor, &usual.cores_per_executor),
            memory_per_executor_mib: Some(memory).filter(|memory| *memory != usual.memory_per_executor_mib),
            ..Space::default()
        }
    }
}

impl Priced {
    fn of(space: &Space) -> Self {
        Self {
            sheet: space.sheet.clone(),
            is_charged: space.catalog.as_ref().is_none_or(|catalog| catalog.machines.is_empty()),
            counts: [space.executors.clone(), space.cores_per_executor.clone()],
            memory_per_executor_mib: space.memory_per_executor_mib,
        }
    }
}

impl TypePrice {
    fn is_kept(&self, choice: &MachineChoice) -> bool {
        choice.keeps(&self.machine, self.is_accelerated)
    }
}

/// The machine types of the job's runs, and those with a prediction from other CNNs, by name.
fn types(group: &JobGroup) -> Vec<TypePrice> {
    let mut types: Vec<TypePrice> = Vec::new();
    for job in group.jobs.iter().chain(group.other_machines()) {
        let machine = job.context.machine_name();
        match types.iter_mut().find(|kind| kind.machine == machine) {
            Some(kind) => kind.is_accelerated |= job.context.accelerator.is_some(),
            None => {
                let is_accelerated = job.context.accelerator.is_some();
                types.push(TypePrice { machine, is_accelerated, hourly_price: None });
            }
        }
    }
    sort_by(&mut types, |a, b| a.machine.cmp(&b.machine));
    types
}

#[cfg(test)]
mod tests;
