//! Reduces a very large grid of configurations of one arm to the few that can be outstanding.
//!
//! Every configuration is predicted and priced, and those that another dominates in time and cost
//! are dropped. The rest is then compared like a short list. It adds in another order than the
//! comparison, so of two configurations that differ only by rounding either may be kept.

use std::ops::Range;

use foreglow_numeric::exponentials;
use foreglow_shared::{CoreSplit, distinct};

use super::configurations::{counts, place};
use super::front::{MAX_FRONT, pareto_front};
use super::{Limits, MAX_CONFIGURATIONS, MAX_LISTED, Objective, Placement, Plan, Pricing, Space};
use crate::cheapest::{MOST_SAME_MONEY, as_cheap_as};
use crate::joint::FittedArm;
use crate::{DecideError, JointPredictor, Predictor};
use foreglow_predictor::ensemble::{Margin, Region, Surface};

/// Number of time bins of the staircase that stores the least cost so far.
const STEPS: usize = 1 << 14;
/// Number of configurations of a row that are processed together.
const BLOCK: usize = 64;
/// Tolerance of limits against the rounding of sums in another order; far below that of the
/// comparison, which has the last word.
const ROUNDING: f64 = 1e-12;
/// Coarse pass: every 16th row first, so that the second pass can prune most of the rest.
const FIRST_LOOK: usize = 16;

/// The counts of a grid, both ascending.
#[derive(Clone, Debug)]
pub(super) struct GridCounts {
    executors: Vec<u32>,
    cores: Vec<u32>,
}

impl GridCounts {
    /// Returns the counts of a plan with a single arm that has too many configurations to list and
    /// is priced by executors; `None` if all configurations are listed.
    ///
    /// # Errors
    /// [`DecideError::TooMany`]: there are more than a million configurations.
    pub(super) fn of(
        predictor: &JointPredictor,
        space: &Space,
        pricing: &[Pricing],
    ) -> Result<Option<Self>, DecideError> {
        let ([arm], [pricing]) = (predictor.arms(), pricing) else { return Ok(None) };
        let fitted = predictor.fitted(0);
        let is_surface = fitted.own.is_some() && fitted.whole_job == 1.0 && !fitted.assumes_another_size();
        let is_grid = space.is_grid() && pricing.machine_type().is_none();
        if !(is_surface && is_grid && space.has(arm)) {
            return Ok(None);
        }
        let (executors, cores) = counts(predictor, 0, space);
        match executors.len().saturating_mul(cores.len()) {
            count if count > MAX_CONFIGURATIONS => Err(DecideError::TooMany(count)),
            count if count > MAX_LISTED => Ok(Some(Self { executors, cores })),
            _ => Ok(None),
        }
    }

    /// Returns the number of configurations.
    pub(super) fn len(&self) -> usize {
        self.executors.len() * self.cores.len()
    }

    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.executors.iter().flat_map(|executors| self.cores.iter().map(|cores| (*executors, *cores)))
    }
}

/// Returns the configurations of the grid that can be outstanding under these limits, ascending.
pub(super) fn outstanding(plan: &Plan, grid: &GridCounts, limits: &Limits) -> Vec<CoreSplit> {
    let Some(own) = &plan.predictor.fitted(0).own else { return Vec::new() };
    let (executors, cores) = own.answerable(&grid.executors, &grid.cores);
    let listed: Vec<(u32, u32)> = if executors.is_empty() || cores.is_empty() {
        // One configuration is enough for the warning that says why there is no prediction.
        grid.pairs().take(1).collect()
    } else {
        let asked = Asked { plan, own, fitted: plan.predictor.fitted(0), limits };
        let mut accurate = executors.clone();
        accurate.retain(|executors| plan.keeps_accuracy(asked.placement(*executors, cores[0]), limits));
        // The fastest or cheapest configuration may not be accurate enough.
        let some = (1..executors.len()).contains(&accurate.len()).then(|| scan(&asked, &accurate, &cores)).flatten();
        let best = some.map(|scanned| scanned.best).unwrap_or_default();
        scan(&asked, &executors, &cores).map_or_else(|| grid.pairs().collect(), |all| all.listed(MAX_FRONT, &best))
    };
    listed.into_iter().map(|(executors, cores)| CoreSplit::even(executors, cores)).collect()
}

/// A question about the grid.
struct Asked<'a> {
    plan: &'a Plan,
    own: &'a Predictor,
    fitted: &'a FittedArm,
    limits: &'a Limits,
}

impl Asked<'_> {
    /// Returns a configuration without regard to its memory.
    fn placement(&self, executors: u32, cores_per_executor: u32) -> Placement {
        Placement::new(0, CoreSplit::even(executors, cores_per_executor), 0)
    }
}

/// The outstanding configurations of a grid.
struct Scanned {
    /// The Pareto front of time and cost, by ascending time.
    front: Vec<Point>,
    /// The best configurations that meet all limits: those of the front that cost little more than
    /// the least, one of which counts as equal to it and is recommended.
    best: Vec<(u32, u32)>,
    /// Configurations to evaluate individually: those with an incomplete run, and the
    /// oversubscribed ones that no smaller one dominates.
    passed_over: Vec<(u32, u32)>,
}

impl Scanned {
    /// Returns the best configurations, those to evaluate individually, `others`, and at most
    /// `most` points of the front including both ends, sorted by E and C.
    fn listed(&self, most: usize, others: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let last = self.front.len().saturating_sub(1);
        let places = self.front.len().min(most);
        let place = |index: usize| last * index / places.saturating_sub(1).max(1);
        let front = (0..places).map(|index| self.front[place(index)].configuration);
        distinct(front.chain(self.passed_over.iter().chain(&self.best).chain(others).copied()))
    }
}

/// A configuration with its time, seconds, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// E and C.
    configuration: (u32, u32),
    secs: f64,
    cost: f64,
    /// Time bin, an index into [`Stairs::least`].
    step: usize,
}

/// Predicts, prices and reduces the grid of executors × cores, both ascending. `None` if the
/// predictor cannot evaluate a grid at once.
fn scan(asked: &Asked, executors: &[u32], cores: &[u32]) -> Option<Scanned> {
    let Asked { plan, own, fitted, limits } = asked;
    let surface = own.kept_surface(executors, cores)?;
    let bills = Bills::of(asked, executors, cores);
    // Without prices no budget is met.
    let budget = if plan.objective() == Objective::Cost { limits.budget } else { limits.budget.map(|_| 0.0) };
    // An incomplete run overrides the prediction of its configuration.
    let mut stopped: Vec<(u32, u32)> =
        fitted.job.incomplete.iter().filter_map(|run| run.split().equal_counts()).collect();
    let is_asked = |(e, c): &(u32, u32)| executors.binary_search(e).is_ok() && cores.binary_search(c).is_ok();
    stopped.retain(is_asked);
    let best = Best { near: Vec::new(), passed_over: &stopped };
    let mut scan = Scan { limits, budget, bills, executors, cores, stairs: Stairs::of(&surface), best };
    for step in [FIRST_LOOK, 1] {
        scan.stairs.kept.clear();
        surface.regions.iter().for_each(|region| scan.region(region, step));
    }
    let Scan { stairs, best, .. } = scan;
    let best = best.configurations();
    let mut points = stairs.kept;
    points.retain(|point| point.cost < stairs.least[point.step]);
    let times: Vec<(f64, f64)> = points.iter().map(|point| (point.secs, point.cost)).collect();
    let front = pareto_front(&times).into_iter().map(|index| points[index]).collect();
    let oversubscribed = oversubscribed(own, executors, cores, &stopped);
    let measured = own.measured_ratios.configurations().filter(is_asked).collect();
    let repeated = own.configurations_with_own_spread().filter(is_asked).collect();
    let passed_over = [stopped, oversubscribed, measured, repeated].concat();
    Some(Scanned { front, best, passed_over })
}

/// Returns the oversubscribed configurations that no smaller one dominates. A smaller one dominates
/// if it takes as long and costs no more.
fn oversubscribed(predictor: &Predictor, executors: &[u32], cores: &[u32], stopped: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let alone: Vec<usize> = executors.iter().map(|count| predictor.predicted_alone(*count, cores)).collect();
    let alone = &alone;
    // Beyond the measured range the time stays the same and only the cost changes.
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
        whole_job.fitting(CoreSplit::even(e, c)).is_some_and(
            |CoreSplit { executors: e, cores_per_executor: c, .. }| {
                let is_there = executors.binary_search(&e).is_ok() && cores.binary_search(&c).is_ok();
                is_there && !stopped.contains(&(e, c))
            },
        )
    };
    (0..executors.len()).flat_map(row).filter(|configuration| !is_beaten(*configuration)).collect()
}

/// State of a scan.
struct Scan<'a> {
    limits: &'a Limits,
    /// Maximum cost of a configuration.
    budget: Option<f64>,
    bills: Bills,
    executors: &'a [u32],
    cores: &'a [u32],
    stairs: Stairs,
    best: Best<'a>,
}

/// Price of one executor by column; infinite if the executor would run out of memory.
struct Bills {
    starts: Vec<f64>,
    seconds: Vec<f64>,
    /// Logarithms of `seconds`; infinite if the executor would run out of memory.
    log_seconds: Vec<f64>,
    startup_secs: f64,
    minimum_secs: f64,
    shared: SharedAccelerators,
}

/// Price of the accelerators that all executors share; 0 if each holds its own, which is then part
/// of the price of an executor.
#[derive(Clone, Copy, Default)]
struct SharedAccelerators {
    count: u32,
    start: f64,
    second: f64,
}

impl SharedAccelerators {
    /// Returns the fixed charge and the price of a second with this number of executors.
    fn of(self, executors: u32) -> (f64, f64) {
        let billed = f64::from(self.count.min(executors));
        (billed * self.start, billed * self.second)
    }
}

/// The least cost by time: a staircase with bins of equal width in ln t.
struct Stairs {
    /// ln t of the first bin, and the number of bins per unit of ln t.
    first: f64,
    steps: f64,
    /// The least cost of all earlier bins.
    least: Vec<f64>,
    kept: Vec<Point>,
}

/// The best configurations that meet all limits, by cost, or by time if only a budget is set.
struct Best<'a> {
    /// Non-dominated configurations close to the best: goal ascending, time descending.
    near: Vec<Goal>,
    passed_over: &'a [(u32, u32)],
}

struct Goal {
    /// The cost or time to minimise.
    goal: f64,
    secs: f64,
    configuration: (u32, u32),
}

/// A block of a row.
struct Block<'a> {
    logs: &'a mut [f64],
    secs: &'a mut [f64],
    costs: &'a mut [f64],
    goals: &'a mut [f64],
}

/// Buffers for one row of a region.
struct RowBuffers {
    logs: Vec<f64>,
    secs: Vec<f64>,
    costs: Vec<f64>,
    goals: Vec<f64>,
}

impl Scan<'_> {
    /// Scans every `step`-th row of a region.
    fn region(&mut self, region: &Region, step: usize) {
        let columns = region.columns.clone();
        let mut row = RowBuffers::of(columns.len());
        let probability = self.limits.probability;
        // The predicted time is the median, so probabilities up to 1/2 need no margin.
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

    /// Whether a block may hold a point of the front or the best configuration. The bound ignores
    /// fixed charges: an executor costs at least its seconds.
    fn can_stand_out(&self, executors: u32, places: Range<usize>, logs: &[f64]) -> bool {
        let fastest = least(logs);
        let (_, shared_second) = self.bills.shared.of(executors);
        let cost = f64::from(executors) * libm::exp(least_sum(logs, &self.bills.log_seconds[places]))
            + shared_second * libm::exp(fastest);
        let goal = if self.limits.wants_speed() { libm::exp(fastest) } else { cost };
        cost < self.stairs.least[self.stairs.step(fastest)] || goal <= self.best.bound()
    }

    /// Prices a block of a row and keeps its outstanding configurations.
    fn block(
        &mut self,
        region: &Region,
        (index, executors): (usize, u32),
        (block, places): (Range<usize>, Range<usize>),
        margin: Option<Margin>,
        row: &mut RowBuffers,
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

    fn has_limit(&self) -> bool {
        self.limits.deadline_secs.is_some() || self.limits.budget.is_some()
    }

    /// Computes the goals of a block; infinite where a limit is missed. `logs` are ln of the times
    /// that must meet the limits, margin included.
    fn goals(&self, executors: u32, columns: Range<usize>, part: &mut Block) {
        let Block { secs, costs, goals, logs } = part;
        let (deadline, budget) = (self.limits.deadline_secs, self.budget);
        goals.copy_from_slice(if self.limits.wants_speed() { secs } else { costs });
        if let Some(most) = self.limits.max_hourly_cost {
            self.bills.hourly(executors, columns.clone(), secs);
            forbid_above(most * (1.0 + ROUNDING), secs, goals);
        }
        if let Some(deadline) = deadline {
            forbid_above(libm::log(deadline) + ROUNDING, logs, goals);
        }
        if let Some(budget) = budget {
            exponentials(logs);
            self.bills.price(executors, columns, logs, costs);
            forbid_above(budget * (1.0 + ROUNDING), costs, goals);
        }
    }
}

impl RowBuffers {
    fn of(width: usize) -> Self {
        let room = || vec![0.0; width];
        Self { logs: room(), secs: room(), costs: room(), goals: room() }
    }

    fn part(&mut self, block: Range<usize>) -> Block<'_> {
        Block {
            logs: &mut self.logs[block.clone()],
            secs: &mut self.secs[block.clone()],
            costs: &mut self.costs[block.clone()],
            goals: &mut self.goals[block],
        }
    }
}

impl Bills {
    fn of(asked: &Asked, executors: &[u32], cores: &[u32]) -> Self {
        let Asked { plan, fitted, .. } = asked;
        let hours = Pricing::executor_hours();
        let pricing = if plan.objective() == Objective::Cost { &plan.pricing[0] } else { &hours };
        let arm = &plan.predictor.arms()[0];
        // The number of executors matters for memory only if they share a GPU; each listed
        // configuration is checked by itself.
        let fewest = executors.first().copied().unwrap_or(1);
        let placed = |cores: &u32| place((arm, fitted), CoreSplit::even(fewest, *cores), pricing, &plan.space);
        // Shared accelerators are priced for all executors together.
        let (alone, shared) = pricing.without_shared_accelerators();
        let rate = |placement: Placement| alone.rate(Placement { executors: 1, ..placement }, false, 0.0);
        let charge = |placement: Placement| rate(placement).map_or(0.0, |rate| rate.charge());
        let second = |placement: Placement| rate(placement).map_or(0.0, |rate| rate.second());
        let starts: Vec<f64> = cores.iter().map(|cores| placed(cores).map_or(f64::INFINITY, charge)).collect();
        let seconds: Vec<f64> =
            cores.iter().map(|cores| placed(cores).map_or_else(|(at, _)| second(at), second)).collect();
        let log = |(second, start): (&f64, &f64)| if start.is_finite() { libm::log(*second) } else { f64::INFINITY };
        let log_seconds = seconds.iter().zip(&starts).map(log).collect();
        let shared = shared.map_or_else(SharedAccelerators::default, |(count, one)| {
            let placement = Placement { executors: 1, ..asked.placement(1, 1) };
            let with = one.rate(placement, false, 0.0);
            let (start, second) = (
                with.map_or(0.0, |rate| rate.charge()) - charge(placement),
                with.map_or(0.0, |rate| rate.second()) - second(placement),
            );
            SharedAccelerators { count, start, second }
        });
        let (startup_secs, minimum_secs) =
            pricing.sheet().map_or((0.0, 0.0), |sheet| (sheet.startup_secs, sheet.minimum_secs));
        Self { starts, seconds, log_seconds, startup_secs, minimum_secs, shared }
    }

    /// Computes the price per hour of each configuration of a row.
    fn hourly(&self, executors: u32, columns: Range<usize>, prices: &mut [f64]) {
        let (_, shared_second) = self.shared.of(executors);
        for (price, second) in prices.iter_mut().zip(&self.seconds[columns]) {
            *price = (f64::from(executors) * second + shared_second) * 3600.0;
        }
    }

    /// Computes the cost of each time of a row.
    fn price(&self, executors: u32, columns: Range<usize>, secs: &[f64], costs: &mut [f64]) {
        let (shared_start, shared_second) = self.shared.of(executors);
        let executors = f64::from(executors);
        let (starts, seconds) = (&self.starts[columns.clone()], &self.seconds[columns]);
        for (((cost, secs), start), second) in costs.iter_mut().zip(secs).zip(starts).zip(seconds) {
            let billed = secs + self.startup_secs;
            let billed = if billed > self.minimum_secs { billed } else { self.minimum_secs };
            *cost = executors * (start + second * billed) + (shared_start + shared_second * billed);
        }
    }
}

impl Stairs {
    /// Creates a staircase over the range of times in the first and last non-empty row of every
    /// region.
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

    /// Keeps the points of a block that nothing in an earlier bin dominates.
    fn keep(&mut self, executors: u32, cores: &[u32], part: &Block) {
        for (j, cores) in cores.iter().enumerate() {
            let (step, cost) = (self.step(part.logs[j]), part.costs[j]);
            if cost < self.least[step] {
                self.kept.push(Point { configuration: (executors, *cores), secs: part.secs[j], cost, step });
                // Updates the later bins.
                self.least[step + 1..].iter_mut().take_while(|least| **least > cost).for_each(|least| *least = cost);
            }
        }
    }

    fn step(&self, log: f64) -> usize {
        (((log - self.first) * self.steps) as usize).min(STEPS - 1)
    }
}

impl Best<'_> {
    /// Returns the largest goal that can count as equal to the best.
    fn bound(&self) -> f64 {
        self.near.first().map_or(f64::MAX, |best| as_cheap_as(best.goal, MOST_SAME_MONEY))
    }

    fn keep(&mut self, executors: u32, cores: &[u32], part: &Block) {
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

    /// Returns the configurations whose goal can count as equal to the best.
    fn configurations(&self) -> Vec<(u32, u32)> {
        let near = self.near.iter().take_while(|other| other.goal <= self.bound());
        near.map(|goal| goal.configuration).collect()
    }
}

/// Sets the goal to infinity wherever the value exceeds the limit.
fn forbid_above(limit: f64, values: &[f64], goals: &mut [f64]) {
    for (goal, value) in goals.iter_mut().zip(values) {
        *goal = if *value <= limit { *goal } else { f64::INFINITY };
    }
}

/// Returns the least element-wise sum of two slices of at most `BLOCK` numbers.
fn least_sum(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [f64::INFINITY; BLOCK];
    sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum = a + b);
    least(&sums)
}

/// Returns the minimum; uses lanes so that the compiler can vectorise it.
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
