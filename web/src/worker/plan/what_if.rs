//! The what-if and the pins: the answer for one configuration, as by `foreglow plan` for it alone.

use std::sync::Arc;

use foreglow_model::{Candidate, JointPredictor, Limits, Plan, Space};
use foreglow_shared::{Context, Estimate, format_probability};

use super::PlanQuestion;
use super::charts::lines;
use super::decided::Decided;
use super::rows::{is_alone, row};
use super::session::Session;
use super::view::{Row, Verdict, WhatIfView};
use super::why::{Explained, Reason, reasons};
use crate::data::machine_choice::{MachinePick, Selection};

/// A configuration with its plan of one.
struct Answered {
    plan: Plan,
    candidate: Candidate,
    /// Its arm in the plan of all configurations.
    arm: usize,
}

impl Session {
    /// Answers for the configuration of the what-if; also returns its arm.
    pub(super) fn what_if(&mut self, question: &PlanQuestion, decided: &Decided) -> (WhatIfView, usize) {
        let view = &decided.view;
        let usual = view.row(view.recommended).or(view.row(view.likeliest)).or(view.row(view.fastest));
        let pick = &question.choice.pick;
        let is_neutral = question.chosen.is_none() && *pick == MachinePick::default();
        let counts = question.chosen.or(usual.map(|row| row.counts)).unwrap_or(question.question.what_if);
        let selection = self.resolved(&Selection { counts, pick: pick.clone() }, question, usual, decided);
        let answered = self.answered(&selection, decided);
        let (outcome, warnings, arm, verdict) = match answered {
            Ok(Answered { candidate, arm, plan }) => {
                let warnings = candidate.prediction.warnings.iter().map(ToString::to_string).collect();
                let verdict = if is_neutral { None } else { self.verdict(&plan, &candidate, &decided.limits) };
                (Ok(Row { arm, ..row(&plan, &candidate, is_alone(self.kept())) }), warnings, arm, verdict)
            }
            Err(reason) => (Err(reason), Vec::new(), usual.map_or(0, |row| row.arm), None),
        };
        let lines = lines(self.kept(), arm, counts, &decided.view, &question.question);
        let view = WhatIfView {
            selection,
            is_neutral,
            outcome,
            warnings,
            verdict,
            by_executors: lines.by_executors,
            by_cores: lines.by_cores,
            band: lines.band,
            by_rate: lines.by_rate,
        };
        (view, arm)
    }

    /// Answers for the pinned configurations.
    pub(super) fn pinned(&mut self, question: &PlanQuestion, decided: &Decided) -> Vec<Option<Row>> {
        let view = &decided.view;
        let usual = view.row(view.recommended).or(view.row(view.likeliest)).or(view.row(view.fastest));
        let mut rows = Vec::new();
        for pin in &question.pins {
            let selection = self.resolved(pin, question, usual, decided);
            let answered = self.answered(&selection, decided).ok();
            rows.push(
                answered.map(|Answered { plan, candidate, arm }| Row {
                    arm,
                    ..row(&plan, &candidate, is_alone(self.kept()))
                }),
            );
        }
        rows
    }

    /// Explains the figures of a configuration.
    pub(super) fn explain(&mut self, selection: &Selection, question: &PlanQuestion, decided: &Decided) -> Vec<Reason> {
        let view = &decided.view;
        let usual = view.row(view.recommended).or(view.row(view.likeliest)).or(view.row(view.fastest));
        let selection = self.resolved(selection, question, usual, decided);
        match self.answered(&selection, decided) {
            Ok(Answered { plan, candidate, .. }) => {
                let explained = Explained { plan: &plan, candidate: &candidate, limits: &decided.limits };
                match &self.public {
                    Some(public) => public.reasons(&explained),
                    None => reasons(&explained),
                }
            }
            Err(reason) => vec![Reason::new("No prediction".into(), vec![reason])],
        }
    }

    /// Fills in the machine type and the sizes that the user did not select: those of the usual
    /// configuration, or else of the selected job.
    fn resolved(
        &self,
        Selection { counts, pick }: &Selection,
        question: &PlanQuestion,
        usual: Option<&Row>,
        decided: &Decided,
    ) -> Selection {
        let arms = &decided.view.arms;
        let usual = usual.and_then(|row| arms.get(row.arm));
        let machine = pick.machine.clone().or(usual.map(|arm| arm.machine.clone()));
        let machine = machine
            .or_else(|| question.context.as_ref().map(Context::machine_name))
            .or_else(|| arms.first().map(|arm| arm.machine.clone()))
            .unwrap_or_default();
        let on_it = || arms.iter().filter(|arm| arm.machine == machine);
        let own = question.context.as_ref().map_or(1, |context| context.workload.batch_size);
        let preferred = [usual.map(|arm| arm.batch_size), Some(own), on_it().next().map(|arm| arm.batch_size)];
        let measured = preferred.into_iter().flatten().find(|size| on_it().any(|arm| arm.batch_size == *size));
        let batch_size = pick.batch_size.or(measured).unwrap_or(own);
        let of_batch = || on_it().filter(|arm| arm.batch_size == batch_size);
        let preferred = usual.map(|arm| arm.partition_size);
        let same = of_batch().find(|arm| Some(arm.partition_size) == preferred);
        let partition = same.or_else(|| of_batch().next()).or(arms.first()).map(|arm| arm.partition_size);
        let pick = MachinePick {
            machine: Some(machine),
            batch_size: Some(batch_size),
            partition_size: pick.partition_size.or(partition),
            memory_per_executor_mib: pick.memory_per_executor_mib,
        };
        Selection { counts: *counts, pick }
    }

    /// Plans one configuration with its machine type and sizes.
    ///
    /// # Errors
    /// It cannot run, or its time is unknown; the reason.
    fn answered(&mut self, Selection { counts, pick }: &Selection, decided: &Decided) -> Result<Answered, String> {
        let MachinePick { machine, batch_size, partition_size, memory_per_executor_mib } = pick;
        let has_sizes = decided.view.partition_sizes().len() > 1;
        let predictor = self.of_size(partition_size.filter(|_| has_sizes));
        let space = Space {
            machines: machine.iter().cloned().collect(),
            executors: vec![counts.executors],
            cores_per_executor: vec![counts.cores_per_executor],
            memory_per_executor_mib: memory_per_executor_mib.or(decided.space.memory_per_executor_mib),
            batch_sizes: batch_size.iter().copied().collect(),
            ..decided.space.clone()
        };
        let plan = Plan::new(predictor, space).map_err(|error| error.to_string())?;
        let decision = plan.decide(&decided.limits).map_err(|error| error.to_string())?;
        // There are several answers if engines, accelerators or averaging intervals differ.
        let best = decision.recommended.or(decision.fastest).or((!decision.candidates.is_empty()).then_some(0));
        let Some(candidate) = best.and_then(|place| decision.candidates.get(place)).cloned() else {
            let reasons: Vec<&str> = plan.omissions().iter().map(|left| left.reason.as_str()).collect();
            return Err(match reasons.is_empty() {
                true => "this batch size was not measured on it".to_owned(),
                false => reasons.join("; "),
            });
        };
        if let Some(exclusion) = candidate.exclusion.as_ref().filter(|one| !one.is_about_memory()) {
            return Err(exclusion.to_string());
        }
        let own = &plan.predictor().arms()[candidate.placement.arm];
        let is_own = |arm: &&super::view::ArmView| {
            (&arm.machine, arm.batch_size, arm.average_every) == (&own.machine, own.batch_size, own.average_every)
        };
        let arms = &decided.view.arms;
        let same = arms.iter().position(|arm| is_own(&arm) && arm.partition_size == own.partition_size);
        let arm = same.or_else(|| arms.iter().position(|arm| is_own(&arm))).unwrap_or(0);
        Ok(Answered { candidate, arm, plan })
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

    /// Whether a configuration meets the deadline.
    fn verdict(&self, plan: &Plan, candidate: &Candidate, limits: &Limits) -> Option<Verdict> {
        let deadline = limits.deadline_secs?;
        let (predictor, arm, split) = (plan.predictor(), candidate.placement.arm, candidate.split());
        // A run that was stopped took longer than the prediction may say.
        let at_least_secs = predictor.at_least_secs(arm, split);
        let secs = candidate.prediction.completion_time_secs?.max(at_least_secs);
        let sure = predictor.chance(arm, split, &candidate.prediction, deadline).map(format_probability);
        let sure = sure.map(|sure| format!(", in time with a probability of {sure}")).unwrap_or_default();
        let gap = Estimate::rough((deadline - secs).abs()).duration();
        let is_met = secs <= deadline && at_least_secs < deadline;
        let text = match is_met {
            true => format!("Meets the deadline with {gap} to spare{sure}"),
            false => format!("Misses the deadline by {gap}{sure}"),
        };
        Some(Verdict { is_met, text })
    }
}
