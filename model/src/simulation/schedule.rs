//! Spark's scheduler: stages first in, first out, their tasks in order onto whatever slot is free.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::plan::Plan;

/// Slots of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    /// Executors.
    pub executors: u32,
    /// Tasks that one of them runs at the same time.
    pub of_each: u64,
}

/// Something that happens; at the same moment in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Slots become free, of a task of a stage where there is one.
    Free {
        slots: u64,
        stage: Option<usize>,
    },
    StageEnds(usize),
    JobEnds(usize),
    JobStarts(usize),
    StageStarts(usize),
}

struct Schedule<'a> {
    plan: &'a Plan,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    free: u64,
    /// Stages with tasks that wait for a slot.
    waiting: BTreeSet<usize>,
    /// For each stage, its next task.
    next: Vec<usize>,
    /// For each stage, its tasks that have not ended.
    unfinished: Vec<usize>,
    /// For each stage, its parents that have not ended.
    parents: Vec<usize>,
    /// For each stage, those that wait for it.
    children: Vec<Vec<usize>>,
    /// For each stage, its job.
    job: Vec<usize>,
    /// For each job, its stages that have not ended.
    stages: Vec<usize>,
    /// For each job, those that the driver submits after it.
    followers: Vec<Vec<usize>>,
    now_ms: u64,
    completed_ms: u64,
}

/// When the last job ends, milliseconds after the submission of the first; without `slots` each task has one.
pub(super) fn completion_ms(plan: &Plan, slots: Option<Slots>) -> u64 {
    let mut schedule = Schedule::new(plan, slots);
    while let Some(Reverse((at_ms, event))) = schedule.events.pop() {
        schedule.now_ms = at_ms;
        schedule.handle(event);
        // What happens at the same moment happens before tasks are handed out, so that the order of stages decides.
        if schedule.events.peek().is_none_or(|Reverse((next_ms, _))| *next_ms > at_ms) {
            schedule.hand_out();
        }
    }
    schedule.completed_ms
}

impl<'a> Schedule<'a> {
    fn new(plan: &'a Plan, slots: Option<Slots>) -> Self {
        let mut children = vec![Vec::new(); plan.stages.len()];
        for (child, stage) in plan.stages.iter().enumerate() {
            stage.parents.iter().for_each(|parent| children[*parent].push(child));
        }
        let mut job = vec![0; plan.stages.len()];
        for (index, planned) in plan.jobs.iter().enumerate() {
            planned.stages.iter().for_each(|stage| job[*stage] = index);
        }
        let mut followers = vec![Vec::new(); plan.jobs.len()];
        for (index, job) in plan.jobs.iter().enumerate() {
            job.after.into_iter().for_each(|before| followers[before].push(index));
        }
        let mut schedule = Self {
            plan,
            events: BinaryHeap::new(),
            free: 0,
            waiting: BTreeSet::new(),
            next: vec![0; plan.stages.len()],
            unfinished: plan.stages.iter().map(|stage| stage.tasks_ms.len()).collect(),
            parents: plan.stages.iter().map(|stage| stage.parents.len()).collect(),
            children,
            job,
            stages: plan.jobs.iter().map(|job| job.stages.len()).collect(),
            followers,
            now_ms: 0,
            completed_ms: 0,
        };
        schedule.arrivals(slots);
        let first = plan.jobs.iter().enumerate().filter(|(_, job)| job.after.is_none());
        first.for_each(|(index, job)| schedule.at(job.before_ms, Event::JobStarts(index)));
        schedule
    }

    /// Executors start side by side: a cluster with more of them waits as long as the measured one did for its last.
    fn arrivals(&mut self, slots: Option<Slots>) {
        let Some(Slots { executors, of_each }) = slots else {
            self.free = u64::MAX;
            return;
        };
        let measured = &self.plan.arrivals_ms;
        let mut left = u64::from(executors);
        for arrival_ms in measured.iter().take(usize::try_from(executors).unwrap_or(usize::MAX)) {
            left -= 1;
            self.events.push(Reverse((*arrival_ms, Event::Free { slots: of_each, stage: None })));
        }
        let last_ms = measured.last().copied().unwrap_or(0);
        let slots = left.saturating_mul(of_each);
        self.events.push(Reverse((last_ms, Event::Free { slots, stage: None })));
    }

    fn at(&mut self, after_ms: u64, event: Event) {
        self.events.push(Reverse((self.now_ms.saturating_add(after_ms), event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Free { slots, stage } => {
                self.free = self.free.saturating_add(slots);
                if let Some(stage) = stage {
                    self.unfinished[stage] -= 1;
                    if self.unfinished[stage] == 0 {
                        self.at(self.plan.stages[stage].tail_ms, Event::StageEnds(stage));
                    }
                }
            }
            Event::StageStarts(stage) if self.unfinished[stage] == 0 => {
                self.at(self.plan.stages[stage].tail_ms, Event::StageEnds(stage));
            }
            Event::StageStarts(stage) => {
                self.waiting.insert(stage);
            }
            Event::StageEnds(stage) => self.end_stage(stage),
            Event::JobStarts(job) => {
                let stages = &self.plan.jobs[job].stages;
                if stages.is_empty() {
                    self.at(self.plan.jobs[job].tail_ms, Event::JobEnds(job));
                }
                for stage in stages.iter().filter(|stage| self.plan.stages[**stage].parents.is_empty()) {
                    self.at(self.plan.stages[*stage].before_ms, Event::StageStarts(*stage));
                }
            }
            Event::JobEnds(job) => {
                self.completed_ms = self.now_ms;
                for next in std::mem::take(&mut self.followers[job]) {
                    self.at(self.plan.jobs[next].before_ms, Event::JobStarts(next));
                }
            }
        }
    }

    fn end_stage(&mut self, stage: usize) {
        for child in std::mem::take(&mut self.children[stage]) {
            self.parents[child] -= 1;
            if self.parents[child] == 0 {
                self.at(self.plan.stages[child].before_ms, Event::StageStarts(child));
            }
        }
        let job = self.job[stage];
        self.stages[job] -= 1;
        if self.stages[job] == 0 {
            self.at(self.plan.jobs[job].tail_ms, Event::JobEnds(job));
        }
    }

    /// Hands the free slots out. A stage whose tasks must run at the same time waits until there is one for each.
    fn hand_out(&mut self) {
        if self.free == 0 {
            return;
        }
        for stage in self.waiting.clone() {
            let planned = &self.plan.stages[stage];
            if planned.is_barrier && self.free < planned.tasks_ms.len() as u64 {
                continue;
            }
            while self.free > 0 && self.next[stage] < planned.tasks_ms.len() {
                let task_ms = planned.tasks_ms[self.next[stage]];
                self.next[stage] += 1;
                self.free -= 1;
                self.at(u64::from(task_ms), Event::Free { slots: 1, stage: Some(stage) });
            }
            if self.next[stage] == planned.tasks_ms.len() {
                self.waiting.remove(&stage);
            }
        }
    }
}
