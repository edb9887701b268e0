//! The few of very many configurations that can stand out.
//!
//! Every configuration of a grid is predicted and priced, and nothing is kept of one that another beats in time and
//! money. What is left is then weighed like any short list. The sums are those of `Candidate`, in another order: where
//! two configurations differ by rounding alone, either may be the one that is kept.

use std::ops::Range;

use foreglow_shared::{Job, Question, Resources};

use super::front::pareto_front;
use super::{Exclusion, SAME_MONEY};
use crate::Predictor;
use crate::ensemble::{Margin, Region, Surface};
use crate::regression::elementary::exponentials;

/// Steps of time in which the cheapest seen so far is remembered; a configuration is compared with those of earlier steps.
const STEPS: usize = 1 << 14;
/// Configurations of a row that are looked at together.
const BLOCK: usize = 64;
/// One row in so many is looked at first: what these hold spares most of the others a place.
const FIRST_LOOK: usize = 16;

/// What a grid comes down to.
pub(super) struct Scanned {
    /// Configurations that no other beats in time and money, by time ascending.
    pub(super) front: Vec<Point>,
    /// The best that keeps all that is asked; `None` where none does.
    pub(super) best: Option<(u32, u32)>,
    /// Configurations that are weighed one by one: those on which a run did not complete, and those for which a machine has
    /// too few processors, where no other takes as long and occupies less.
    passed_over: Vec<(u32, u32)>,
}

impl Scanned {
    /// The best, those that were passed over, and at most so many of the front with both of its ends, by E and C.
    pub(super) fn listed(&self, most: usize) -> Vec<(u32, u32)> {
        let last = self.front.len().saturating_sub(1);
        let places = self.front.len().min(most);
        let place = |index: usize| last * index / places.saturating_sub(1).max(1);
        let mut listed: Vec<(u32, u32)> = (0..places).map(|index| self.front[place(index)].configuration).collect();
        listed.extend(&self.passed_over);
        listed.extend(self.best);
        listed.sort_unstable();
        listed.dedup();
        listed
    }
}

/// A configuration with what it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// E and C.
    pub(super) configuration: (u32, u32),
    pub(super) secs: f64,
    pub(super) cost: f64,
    /// Step of the stairs on which it stands.
    step: usize,
}

/// Predicts, prices and reduces a grid of numbers of executors and of cores, both ascending. `None` where the predictor
/// cannot predict a grid at once.
pub(super) fn scan(
    predictor: &Predictor,
    job: &Job,
    question: &Question,
    executors: &[u32],
    cores: &[u32],
) -> Option<Scanned> {
    let surface = predictor.kept_surface(executors, cores)?;
    let bills = Bills::of(job, question, cores);
    // A run that did not complete says more of its configuration than any prediction.
    let mut stopped: Vec<(u32, u32)> =
        job.incomplete.iter().map(|run| (run.executors, run.cores_per_executor)).collect();
    stopped.retain(|(e, c)| executors.binary_search(e).is_ok() && cores.binary_search(c).is_ok());
    let best = Best { near: Vec::new(), passed_over: &stopped };
    let mut scan = Scan { question, bills, executors, cores, stairs: Stairs::of(&surface), best };
    for step in [FIRST_LOOK, 1] {
        scan.stairs.kept.clear();
        surface.regions.iter().for_each(|region| scan.region(region, step));
    }
    let Scan { stairs, best, .. } = scan;
    let best = best.configuration();
    let mut points = stairs.kept;
    points.retain(|point| point.cost < stairs.least[point.step]);
    let times: Vec<(f64, f64)> = points.iter().map(|point| (point.secs, point.cost)).collect();
    let front = pareto_front(&times).into_iter().map(|index| points[index]).collect();
    let oversubscribed = oversubscribed(predictor, executors, cores, &stopped);
    let is_asked = |(e, c): &(u32, u32)| executors.binary_search(e).is_ok() && cores.binary_search(c).is_ok();
    let measured = predictor.measured_ratios.configurations().filter(is_asked).collect();
    let passed_over = [stopped, oversubscribed, measured].concat();
    Some(Scanned { front, best, passed_over })
}

/// The configurations for which a machine has too few processors, but for those that another one beats: each takes as long as
/// a smaller one, of whose like the smallest occupies the least.
fn oversubscribed(predictor: &Predictor, executors: &[u32], cores: &[u32], stopped: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let alone: Vec<usize> = executors.iter().map(|count| predictor.predicted_alone(*count, cores)).collect();
    let alone = &alone;
    // Beyond the measured range nothing but the price changes.
    let range = &predictor.range;
    let is_like = |most: u32, count: u32, smaller: u32| count.min(most) == smaller.min(most);
    let row = |row: usize| {
        let above = row.checked_sub(1).filter(|above| is_like(range.executors.1, executors[row], executors[*above]));
        let is_least = move |column: &usize| {
            let is_like_above = above.is_some_and(|above| *column >= alone[above]);
            let is_like_left = *column > alone[row] && is_like(range.cores.1, cores[*column], cores[column - 1]);
            !is_like_above && !is_like_left
        };
        (alone[row]..cores.len()).filter(is_least).map(move |column| (executors[row], cores[column]))
    };
    let mut whole_job = predictor.at_rate(1.0);
    let mut is_beaten = |(e, c): (u32, u32)| {
        whole_job.fitting(e, c).is_some_and(|fitting| {
            let is_there = executors.binary_search(&fitting.0).is_ok() && cores.binary_search(&fitting.1).is_ok();
            is_there && !stopped.contains(&fitting)
        })
    };
    (0..executors.len()).flat_map(row).filter(|configuration| !is_beaten(*configuration)).collect()
}

/// What is known half-way through a grid.
struct Scan<'a> {
    question: &'a Question,
    bills: Bills,
    executors: &'a [u32],
    cores: &'a [u32],
    stairs: Stairs,
    best: Best<'a>,
}

/// What one executor costs, by its number of cores. One that goes over its memory costs more than anything.
struct Bills {
    starts: Vec<f64>,
    seconds: Vec<f64>,
    /// Logarithms of the seconds; infinite where the executor goes over its memory.
    log_seconds: Vec<f64>,
    startup_secs: f64,
    minimum_secs: f64,
}

/// The cheapest configuration of every time, as far as they have been seen.
struct Stairs {
    /// ln t of the first step, and steps for each unit of it.
    first: f64,
    steps: f64,
    /// The least money of all earlier steps.
    least: Vec<f64>,
    kept: Vec<Point>,
}

/// The best configurations that keep all that is asked: by money, or by time where only a budget is asked.
struct Best<'a> {
    /// Each takes longer than those after it and is better than they are.
    near: Vec<Goal>,
    passed_over: &'a [(u32, u32)],
}

struct Goal {
    /// What is to be least.
    goal: f64,
    secs: f64,
    configuration: (u32, u32),
}

/// A block of a row.
struct Part<'a> {
    logs: &'a mut [f64],
    secs: &'a mut [f64],
    costs: &'a mut [f64],
    goals: &'a mut [f64],
}

/// Room for what is known of one row of a region.
struct Row {
    logs: Vec<f64>,
    secs: Vec<f64>,
    costs: Vec<f64>,
    goals: Vec<f64>,
}

impl Scan<'_> {
    /// Looks at one row in `step` of a region.
    fn region(&mut self, region: &Region, step: usize) {
        let columns = region.columns.clone();
        let mut row = Row::of(columns.len());
        let probability = self.question.probability;
        // The predicted time is the median: it answers for probabilities up to 1/2 without a spread.
        let margin = (probability > 0.5).then(|| region.margin(probability));
        for (index, place) in region.rows.clone().enumerate().step_by(step) {
            let executors = self.executors[place];
            let span = region.spans[index].clone();
            if span.is_empty() {
                continue;
            }
            region.logs(index, &mut row.logs, &mut row.secs);
            for start in span.clone().step_by(BLOCK) {
                let block = start..(start + BLOCK).min(span.end);
                let places = columns.start + block.start..columns.start + block.end;
                if self.can_stand_out(executors, places.clone(), &row.logs[block.clone()]) {
                    self.block(region, (index, executors), (block, places), margin, &mut row);
                }
            }
        }
    }

    /// Whether a block may hold a configuration of the front or the best one: an executor costs no less than its seconds.
    fn can_stand_out(&self, executors: u32, places: Range<usize>, logs: &[f64]) -> bool {
        let fastest = least(logs);
        let cost = f64::from(executors) * libm::exp(least_sum(logs, &self.bills.log_seconds[places]));
        let goal = if self.is_by_time() { libm::exp(fastest) } else { cost };
        cost < self.stairs.least[self.stairs.step(fastest)] || goal <= self.best.bound()
    }

    /// Prices a block of a row, and keeps what stands out of it.
    fn block(
        &mut self,
        region: &Region,
        (index, executors): (usize, u32),
        (block, places): (Range<usize>, Range<usize>),
        margin: Option<Margin>,
        row: &mut Row,
    ) {
        let mut part = row.part(block.clone());
        part.secs.copy_from_slice(part.logs);
        exponentials(part.secs);
        self.bills.price(executors, places.clone(), part.secs, part.costs);
        let cores = &self.cores[places.clone()];
        self.stairs.keep(executors, cores, &part);
        if let Some(margin) = margin.filter(|_| self.has_limit()) {
            region.add_margin(margin, index, block, part.logs);
        }
        self.goals(executors, places, &mut part);
        self.best.keep(executors, cores, &part);
    }

    fn is_by_time(&self) -> bool {
        self.question.deadline_secs.is_none() && self.question.budget.is_some()
    }

    fn has_limit(&self) -> bool {
        self.question.deadline_secs.is_some() || self.question.budget.is_some()
    }

    /// What is to be least of each configuration of a row; infinite where it does not keep all that is asked. The
    /// logarithms are those of the times that are to be within the limits.
    fn goals(&self, executors: u32, columns: Range<usize>, part: &mut Part) {
        let Part { secs, costs, goals, logs } = part;
        let (deadline, budget) = (self.question.deadline_secs, self.question.budget);
        goals.copy_from_slice(if self.is_by_time() { secs } else { costs });
        if let Some(deadline) = deadline {
            forbid_above(libm::log(deadline), logs, goals);
        }
        if let Some(budget) = budget {
            exponentials(logs);
            self.bills.price(executors, columns, logs, costs);
            forbid_above(budget, costs, goals);
        }
    }
}

impl Row {
    fn of(width: usize) -> Self {
        let room = || vec![0.0; width];
        Self { logs: room(), secs: room(), costs: room(), goals: room() }
    }

    fn part(&mut self, block: Range<usize>) -> Part<'_> {
        Part {
            logs: &mut self.logs[block.clone()],
            secs: &mut self.secs[block.clone()],
            costs: &mut self.costs[block.clone()],
            goals: &mut self.goals[block],
        }
    }
}

impl Bills {
    fn of(job: &Job, question: &Question, cores: &[u32]) -> Self {
        let prices = &question.prices;
        let memory = question.memory_per_executor_mib;
        let executor = |cores: &u32| Resources {
            executors: 1,
            cores_per_executor: *cores,
            memory_per_executor_mib: memory,
            accelerated: job.context.accelerator.is_some(),
        };
        let start = |cores: &u32| match Exclusion::of(job, *cores, memory, 1.0) {
            Some(_) => f64::INFINITY,
            None => prices.executor_start * (1.0 - prices.discount),
        };
        let starts: Vec<f64> = cores.iter().map(start).collect();
        let seconds: Vec<f64> = cores.iter().map(|cores| prices.executor_second(executor(cores))).collect();
        let log = |(second, start): (&f64, &f64)| if start.is_finite() { libm::log(*second) } else { f64::INFINITY };
        let log_seconds = seconds.iter().zip(&starts).map(log).collect();
        let (startup_secs, minimum_secs) = (prices.startup_secs, prices.minimum_secs);
        Self { starts, seconds, log_seconds, startup_secs, minimum_secs }
    }

    /// Money for each time of a row.
    fn price(&self, executors: u32, columns: Range<usize>, secs: &[f64], costs: &mut [f64]) {
        let executors = f64::from(executors);
        let (starts, seconds) = (&self.starts[columns.clone()], &self.seconds[columns]);
        for (((cost, secs), start), second) in costs.iter_mut().zip(secs).zip(starts).zip(seconds) {
            let billed = secs + self.startup_secs;
            let billed = if billed > self.minimum_secs { billed } else { self.minimum_secs };
            *cost = executors * (start + second * billed);
        }
    }
}

impl Stairs {
    /// Stairs over the times of the first and the last row of every region, of as much of them as belongs to it.
    fn of(surface: &Surface) -> Self {
        let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
        for region in &surface.regions {
            let mut logs = vec![0.0; region.columns.len()];
            let mut scratch = logs.clone();
            let is_asked = |row: &usize| !region.spans[*row].is_empty();
            let rows = || (0..region.rows.len()).filter(is_asked);
            for row in [rows().next(), rows().next_back()].into_iter().flatten() {
                region.logs(row, &mut logs, &mut scratch);
                let logs = &logs[region.spans[row].clone()];
                first = logs.iter().fold(first, |least, log| least.min(*log));
                last = logs.iter().fold(last, |most, log| most.max(*log));
            }
        }
        let steps = (STEPS - 2) as f64 / (last - first).max(f64::MIN_POSITIVE);
        Self { first, steps: steps.min(f64::MAX), least: vec![f64::INFINITY; STEPS], kept: Vec::new() }
    }

    /// Keeps those that nothing of an earlier step beats.
    fn keep(&mut self, executors: u32, cores: &[u32], part: &Part) {
        for (j, cores) in cores.iter().enumerate() {
            let (step, cost) = (self.step(part.logs[j]), part.costs[j]);
            if cost < self.least[step] {
                self.kept.push(Point { configuration: (executors, *cores), secs: part.secs[j], cost, step });
                // Later steps know it from now on.
                self.least[step + 1..].iter_mut().take_while(|least| **least > cost).for_each(|least| *least = cost);
            }
        }
    }

    fn step(&self, log: f64) -> usize {
        (((log - self.first) * self.steps) as usize).min(STEPS - 1)
    }
}

impl Best<'_> {
    /// Nothing above it is as good as the best.
    fn bound(&self) -> f64 {
        self.near.first().map_or(f64::MAX, |best| best.goal * (1.0 + SAME_MONEY))
    }

    fn keep(&mut self, executors: u32, cores: &[u32], part: &Part) {
        let bound = self.bound();
        for (j, goal) in part.goals.iter().enumerate().filter(|(_, goal)| **goal <= bound) {
            let (goal, secs, configuration) = (*goal, part.secs[j], (executors, cores[j]));
            let place = self.near.partition_point(|other| other.goal <= goal);
            let is_beaten = self.near[..place].last().is_some_and(|other| other.secs <= secs);
            if !is_beaten && !self.passed_over.contains(&configuration) {
                let beats = self.near[place..].iter().take_while(|other| other.secs >= secs).count();
                self.near.splice(place..place + beats, [Goal { goal, secs, configuration }]);
            }
        }
    }

    /// Of those that are as good as the best, the fastest.
    fn configuration(&self) -> Option<(u32, u32)> {
        let as_good = self.near.partition_point(|other| other.goal <= self.bound());
        Some(self.near.get(as_good.checked_sub(1)?)?.configuration)
    }
}

/// Makes the goal infinite of everything that lies above a limit.
fn forbid_above(limit: f64, values: &[f64], goals: &mut [f64]) {
    for (goal, value) in goals.iter_mut().zip(values) {
        *goal = if *value <= limit { *goal } else { f64::INFINITY };
    }
}

/// The least sum of numbers at the same place, as [`least`].
fn least_sum(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [f64::INFINITY; BLOCK];
    sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum = a + b);
    least(&sums)
}

/// The least of numbers, in lanes so that the compiler may use vector instructions.
fn least(values: &[f64]) -> f64 {
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let (chunks, rest) = values.as_chunks::<8>();
    let mut lanes = [f64::INFINITY; 8];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = lesser(*value, *lane);
        }
    }
    lanes.iter().chain(rest).fold(f64::INFINITY, |least, value| lesser(*value, least))
}
