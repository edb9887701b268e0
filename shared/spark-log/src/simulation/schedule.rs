//! Simulation of Spark's FIFO scheduler: stages in order, their tasks onto any free slot.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::plan::Plan;

/// Slots of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    /// Tasks that run at the same time on all executors.
    pub slots: u64,
    /// Tasks that run at the same time on an executor; the last may run fewer.
    pub of_each: u64,
}

/// Simulation events; simultaneous ones are handled in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Slots become free, at the end of a task if `stage` is set.
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
    /// Stages with tasks waiting for a slot.
    waiting: BTreeSet<usize>,
    /// By stage: the next task to launch.
    next: Vec<usize>,
    /// By stage: the number of unfinished tasks.
    unfinished: Vec<usize>,
    /// By stage: the number of unfinished parents.
    parents: Vec<usize>,
    /// By stage: the stages that depend on it.
    children: Vec<Vec<usize>>,
    /// By stage: its job.
    job: Vec<usize>,
    /// By job: the number of unfinished stages.
    stages: Vec<usize>,
    /// By job: the jobs that the driver submits after it.
    followers: Vec<Vec<usize>>,
    now_ms: u64,
    completed_ms: u64,
}

/// Returns when the last job ends, milliseconds after the submission of the first. Without `slots`,
/// every task has a slot of its own.
pub(super) fn completion_ms(plan: &Plan, slots: Option<Slots>) -> u64 {
    let mut schedule = Schedule::new(plan, slots);
    while let Some(Reverse((at_ms, event))) = schedule.events.pop() {
        schedule.now_ms = at_ms;
        schedule.handle(event);
        // All simultaneous events are handled before slots are assigned, so that stages are served
        // in order.
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

    /// Schedules the arrival of executors. They start in parallel: additional ones arrive with the
    /// last measured one.
    fn arrivals(&mut self, slots: Option<Slots>) {
        let Some(Slots { slots: mut left, of_each }) = slots else {
            self.free = u64::MAX;
            return;
        };
        let measured = &self.plan.arrivals_ms;
        for arrival_ms in measured {
            let slots = left.min(of_each);
            left -= slots;
            self.events.push(Reverse((*arrival_ms, Event::Free { slots, stage: None })));
        }
        let last_ms = measured.last().copied().unwrap_or(0);
        self.events.push(Reverse((last_ms, Event::Free { slots: left, stage: None })));
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

    /// Assigns free slots to waiting tasks. A barrier stage waits until there is a slot for each of
    /// its tasks.
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
