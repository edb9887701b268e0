//! The comparison of machine types of one job, cached between questions, because the fit and the
//! predictions of all configurations depend only on the runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreglow_model::{JointPredictor, Limits, Plan, Space, median};
use foreglow_shared::{Catalog, Context, Job, JobDefinition, JobGroup, Observation, PriceSheet, group_jobs};

use super::html::{ComparedHtml, MachineHtml};
use super::{MachineQuestion, MachineRow, MachineTable, TypePrice, pick, pick_html};
use crate::data::machine_choice::{MachineChoice, MachinePick};
use crate::data::text::capitalised;

/// The jobs of the page, and the cached results that do not depend on the question.
pub struct Session(Result<Fitted, String>);

/// The fit of a job on all its machine types.
struct Fitted {
    group: JobGroup,
    types: Vec<TypePrice>,
    catalog: Catalog,
    /// Whole machines are billed while executors start.
    startup_secs: f64,
    predictor: Arc<JointPredictor>,
    /// The predictor for the last picked partition size.
    of_size: Option<(u32, Arc<JointPredictor>)>,
    /// All configurations of all machine types, with the price sheet of the last question.
    plan: Option<(Option<PriceSheet>, Plan)>,
    /// Plan of the machine types of the last choice, if it excludes some.
    some: Option<(MachineChoice, Plan)>,
    /// The last table with its question.
    table: Option<(Asked, MachineTable)>,
}

/// The part of a question that the table depends on.
#[derive(Clone, PartialEq)]
struct Asked {
    limits: Limits,
    sheet: PriceSheet,
    choice: MachineChoice,
}

impl Session {
    /// Fits the job of a context on all its machine types.
    pub fn of(jobs: Vec<Job>, context: &Context) -> Self {
        Self(Fitted::of(jobs, context))
    }

    /// Answers as HTML: the plan, or the reason why it failed. Parts that the page already
    /// has are omitted.
    pub fn answer(&mut self, question: MachineQuestion) -> MachineHtml {
        let failed = |reason: &str, choice: &MachineChoice| MachineHtml {
            compared: Some(ComparedHtml::failed(reason, choice)),
            picked: String::new(),
        };
        let fitted = match &mut self.0 {
            Ok(fitted) => fitted,
            Err(reason) => return failed(reason, &question.choice),
        };
        let limits = Limits {
            startup_secs: fitted.startup_secs,
            max_hourly_cost: question.choice.max_hourly_cost,
            spot: question.choice.spot,
            ..question.limits
        };
        let pick = question.choice.pick;
        let choice = MachineChoice { pick: MachinePick::default(), ..question.choice };
        let asked = Asked { limits, sheet: question.sheet, choice };
        let is_known = fitted.table.as_ref().is_some_and(|(known, _)| *known == asked);
        if !is_known {
            match fitted.compare(&asked) {
                Ok(table) => fitted.table = Some((asked.clone(), table)),
                Err(reason) => {
                    fitted.table = None;
                    return failed(&reason, &asked.choice);
                }
            }
        }
        let space = fitted.space(&asked);
        // The controls show a single size, which the what-if uses.
        let size = pick.partition_size.or_else(|| pick::usual_size(&pick, &fitted.predictor, &question.context));
        let predictor = fitted.of_size(size);
        let picked = pick::answer(&pick, &predictor, space, &limits, &question.context, question.what_if);
        let Some((_, table)) = &fitted.table else { return failed("the job has no runs", &asked.choice) };
        MachineHtml {
            compared: (!is_known).then(|| ComparedHtml::of(table, &asked.choice, &limits)),
            picked: if table.compares() { pick_html::picked(table, &picked, &pick) } else { String::new() },
        }
    }
}

impl Fitted {
    fn of(jobs: Vec<Job>, context: &Context) -> Result<Self, String> {
        let definition = JobDefinition::of(context);
        let group = group_jobs(jobs).into_iter().find(|group| group.definition == definition);
        let group = group.ok_or("the job has no runs")?;
        let predictor = Arc::new(JointPredictor::fit(&group).map_err(|error| error.to_string())?);
        Ok(Self {
            types: types(&group),
            catalog: Catalog::built_in(),
            startup_secs: median_startup_secs(group.jobs.iter().flat_map(|job| &job.observations)),
            predictor,
            of_size: None,
            plan: None,
            some: None,
            table: None,
            group,
        })
    }

    /// Compares the machine types, as `foreglow plan` does.
    ///
    /// # Errors
    /// A limit is out of range, or all configurations are excluded; one sentence.
    fn compare(&mut self, asked: &Asked) -> Result<MachineTable, String> {
        let choice = &asked.choice;
        if !self.types.iter().any(|kind| kind.is_kept(choice)) {
            return Err("every machine type is left out; choose at least one".into());
        }
        let space = self.space(asked);
        let known = self.plan.take().filter(|(sheet, _)| *sheet == space.sheet).map(|(_, known)| known);
        let mut plan = match known {
            Some(plan) => plan,
            None => {
                self.some = None;
                Plan::new(Arc::clone(&self.predictor), space.clone()).map_err(|error| error.to_string())?
            }
        };
        let catalog = space.catalog.unwrap_or_else(|| self.catalog.clone());
        plan.reprice(&catalog);
        let keeps_all = self.types.iter().all(|kind| kind.is_kept(choice));
        let is_kept = |machine: &str| self.types.iter().any(|kind| kind.machine == machine && kind.is_kept(choice));
        let is_same = |of: &MachineChoice| of.devices == choice.devices && of.without == choice.without;
        let known = self.some.take().filter(|(of, _)| is_same(of));
        let some = (!keeps_all).then(|| known.unwrap_or_else(|| (choice.clone(), plan.only(is_kept))));
        let some = some.map(|(of, mut some)| {
            some.reprice(&catalog);
            (of, some)
        });
        let kept = some.as_ref().map_or(&plan, |(_, some)| some);
        let table = self.table(kept, &catalog, &asked.limits);
        self.some = some;
        self.plan = Some((space.sheet, plan));
        table
    }

    fn table(&self, plan: &Plan, catalog: &Catalog, limits: &Limits) -> Result<MachineTable, String> {
        let decision = plan.decide(limits).map_err(|error| error.to_string())?;
        // Only the outstanding configurations are shown.
        let singles = [decision.recommended, decision.fastest].into_iter().flatten();
        let shown: BTreeSet<usize> =
            singles.chain(decision.best_per_machine.iter().chain(&decision.pareto).copied()).collect();
        let places: Vec<usize> = shown.into_iter().collect();
        let row = |place: usize| places.binary_search(&place).ok();
        let all = |list: &[usize]| list.iter().filter_map(|place| row(*place)).collect();
        let priced = |kind: &TypePrice| {
            let machine = catalog.find(&kind.machine).ok();
            TypePrice { hourly_price: machine.map(|machine| machine.hourly_price), ..kind.clone() }
        };
        let is_measured = |name: &str| self.types.iter().any(|kind| kind.machine == name);
        let names: Vec<&str> = catalog.machines.iter().map(|machine| machine.name.as_str()).collect();
        // Unmeasured machine types of the catalog are spaceed only if a measured one is in it.
        let unmeasured = match names.iter().any(|name| is_measured(name)) {
            true => names.into_iter().filter(|name| !is_measured(name)).map(str::to_owned).collect(),
            false => Vec::new(),
        };
        let mut batch_sizes: Vec<u32> = self.predictor.arms().iter().map(|arm| arm.batch_size).collect();
        batch_sizes.sort();
        batch_sizes.dedup();
        let mut intervals: Vec<Option<u32>> = self.predictor.arms().iter().map(|arm| arm.average_every).collect();
        intervals.sort();
        intervals.dedup();
        let unknown = self.predictor.accuracy_unknown();
        let unknown = unknown.filter(|unknown| unknown.is_partial() || limits.min_accuracy.is_some());
        Ok(MachineTable {
            currency: plan.currency().to_owned(),
            weighed: decision.compared,
            rows: places.iter().map(|place| MachineRow::of(plan, &decision.candidates[*place])).collect(),
            recommended: decision.recommended.and_then(row),
            fastest: decision.fastest.and_then(row),
            best: all(&decision.best_per_machine),
            pareto: all(&decision.pareto),
            types: self.types.iter().map(priced).collect(),
            unmeasured,
            batch_sizes,
            partition_sizes: self.predictor.partition_sizes(),
            averaging_intervals: intervals.len(),
            trained: plan.trained(limits),
            accuracy_unknown: unknown.map(|unknown| capitalised(&unknown.to_string())),
            omitted: plan.omissions().iter().map(|left| format!("{}: {}", left.machine, left.reason)).collect(),
        })
    }

    fn space(&self, asked: &Asked) -> Space {
        let mut catalog = self.catalog.clone();
        for machine in &mut catalog.machines {
            let own = asked.choice.prices.iter().find(|(name, _)| *name == machine.name);
            machine.hourly_price = own.map_or(machine.hourly_price, |(_, price)| *price);
        }
        // If no machine type is in a catalog, all are priced by their cores and memory.
        let is_in_catalog = |job: &Job| catalog.find(&job.context.machine_name()).is_ok();
        let sheet = (!self.group.jobs.iter().any(is_in_catalog) && asked.sheet.currency == catalog.currency)
            .then(|| asked.sheet.clone());
        Space { catalog: Some(catalog), sheet, ..Space::default() }
    }

    /// The predictor for a partition size.
    fn of_size(&mut self, partition_size: Option<u32>) -> Arc<JointPredictor> {
        let Some(size) = partition_size else { return Arc::clone(&self.predictor) };
        let known = self.of_size.take().filter(|(known, _)| *known == size);
        let sized = || Arc::new(JointPredictor::clone(&self.predictor).with_partition_size(size));
        let predictor = known.map_or_else(sized, |(_, predictor)| predictor);
        self.of_size = Some((size, Arc::clone(&predictor)));
        predictor
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
    types.sort_by(|a, b| a.machine.cmp(&b.machine));
    types
}

/// Whole machines are billed while executors start: the median of the start-up times, or 0.
fn median_startup_secs<'a>(runs: impl Iterator<Item = &'a Observation>) -> f64 {
    median(runs.filter_map(|run| run.startup_secs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::job::jobs_of;
    use foreglow_shared::{Devices, Question, WhatIf, read_samples};

    /// The first job of the example, as if two machine types of the catalog had run it.
    fn jobs() -> Vec<Job> {
        let job = jobs_of(&read_samples(include_bytes!("../../../assets/example.jsonl")).unwrap()).remove(0);
        let on = |(machine, factor): (&str, f64)| {
            let mut job = job.clone();
            job.context.host.machine = Some(machine.to_owned());
            job.observations.iter_mut().for_each(|run| run.completion_time_secs *= factor);
            job
        };
        [("c5.xlarge", 1.0), ("c5.4xlarge", 0.7)].map(on).to_vec()
    }

    fn question(jobs: &[Job]) -> MachineQuestion {
        let question = Question::about(&jobs[0].observations);
        MachineQuestion {
            context: jobs[0].context.clone(),
            limits: Limits::of(&question),
            sheet: question.prices,
            choice: MachineChoice::default(),
            what_if: WhatIf { executors: 1, cores_per_executor: 2 },
        }
    }

    #[test]
    fn a_kept_fit_answers_every_question_as_a_new_one_does() {
        let jobs = jobs();
        let asked = question(&jobs);
        let mut kept = Session::of(jobs.clone(), &asked.context);
        kept.answer(asked.clone());
        let choices = [
            MachineChoice { prices: vec![("c5.4xlarge".into(), 0.001)], ..MachineChoice::default() },
            MachineChoice { without: vec!["c5.xlarge".into()], ..MachineChoice::default() },
            MachineChoice { devices: Devices::Gpu, ..MachineChoice::default() },
            MachineChoice::default(),
        ];
        let mut answers = Vec::new();
        for choice in choices {
            for deadline_secs in [Some(5.0), Some(500.0)] {
                let limits = Limits { deadline_secs, ..asked.limits };
                let asked = MachineQuestion { limits, choice: choice.clone(), ..asked.clone() };
                let answer = kept.answer(asked.clone());
                assert_eq!(answer, Session::of(jobs.clone(), &asked.context).answer(asked));
                answers.push(answer.compared.unwrap().recommended);
            }
        }
        assert!(answers[1].contains("c5.4xlarge") && answers[5].is_empty(), "{answers:?}");
        assert_ne!(answers[1], answers[7], "the edited price is taken back");
    }

    #[test]
    fn another_what_if_leaves_the_comparison_in_place() {
        let jobs = jobs();
        let asked = question(&jobs);
        let mut session = Session::of(jobs, &asked.context);
        let first = session.answer(asked.clone());
        let second =
            session.answer(MachineQuestion { what_if: WhatIf { executors: 1, cores_per_executor: 1 }, ..asked });
        assert!(first.compared.is_some() && second.compared.is_none());
        assert_ne!(first.picked, second.picked);
    }

    #[test]
    fn a_machine_type_that_only_another_cnn_ran_on_is_compared() {
        let mut all = jobs();
        for job in jobs() {
            let mut other = job;
            other.context.workload.model = "vgg16".into();
            all.push(other);
        }
        let asked = question(&all);
        let slow = all.remove(1);
        assert_eq!(slow.context.host.machine.as_deref(), Some("c5.4xlarge"));
        let body = Session::of(all, &asked.context).answer(asked).compared.unwrap().body;
        assert!(body.contains("data-machine=\"c5.4xlarge\""), "{body}");
    }

    #[test]
    fn a_machine_type_without_runs_can_be_picked_and_gets_no_time() {
        let jobs = jobs();
        let mut asked = question(&jobs);
        asked.choice.pick.machine = Some("m7i.2xlarge".into());
        let html = Session::of(jobs, &asked.context).answer(asked).picked;
        assert!(html.contains("<option value=\"m7i.2xlarge\" selected>") && html.contains("not measured;"), "{html}");
        assert!(!html.contains("data-secs"), "{html}");
    }
}
