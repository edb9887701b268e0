//! Arguments for the grid and the budget of a sweep.

use std::path::PathBuf;
use std::time::Duration;

use foreglow_console::grammar::{self, Counts, Mibs, Rates, duration_secs, mibs, money, rates, share};
use foreglow_console::question::read_prices;
use foreglow_console::split::TotalsOfCores;
use foreglow_engine::sweep::{Budget, Grid};
use foreglow_engine::{Job, Program};
use foreglow_exit::unusable;
use foreglow_shared::{PriceSheet, Workload};

use crate::DEFAULT_MEMORY_MIB;
use crate::program::{ProgramArgs, usual_memory_mib};
use crate::workload::{check_sizes, default_partition_size};

/// Defaults of `--cores` and `--sampling-rate`.
const USUAL_CORES: [u32; 2] = [1, 2];
const USUAL_RATES: [f64; 2] = [0.01, 0.1];
/// Default of `--repeat` with `--precision`.
const MOST_REPEATS: u32 = 20;

/// Dimensions of the grid.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Configurations")]
pub struct GridArgs {
    /// Executor processes, E: 1,2,4 or 1-4 [default: 1,2, but at most one for each GPU]
    #[arg(long, short = 'E', value_name = "LIST", value_parser = grammar::executors, allow_negative_numbers = true)]
    executors: Option<Counts>,

    /// Threads per executor, C: 1,2,4 or 1-4 [default: 1,2, and for your own program on GPUs all
    /// processors divided among the most executors]
    #[arg(long, short = 'C', value_name = "LIST", value_parser = grammar::cores, allow_negative_numbers = true)]
    cores: Option<Counts>,

    #[command(flatten)]
    totals: TotalsOfCores,

    /// Memory limits of an executor: 2048 (MiB), 512m, 2g [default: 2048, and none for your own
    /// program]
    #[arg(long, value_name = "SIZE,…", value_parser = mibs, allow_negative_numbers = true)]
    memory: Option<Mibs>,

    /// Images per task, P [default: 8, or a mini-batch for training]
    #[arg(long, value_name = "LIST", value_parser = grammar::counts, allow_negative_numbers = true)]
    partition_size: Option<Counts>,

    /// Sampling rates, above 0 and at most 1: 0.01,0.1 or 1%,10% [default: 0.01,0.1, and 1 with
    /// --stop-after]
    #[arg(long, value_name = "SR,…", value_parser = rates, allow_negative_numbers = true)]
    sampling_rate: Option<Rates>,

    /// Runs of each combination; with --precision the maximum [default: 1, with --precision 20]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    repeat: Option<u32>,

    /// Repeat each combination until the 95 % confidence half-width is below this share of the
    /// median, such as 2%; this takes at least 6 runs
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    precision: Option<f64>,
}

/// Budget of the sweep.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Budget")]
pub struct BudgetArgs {
    /// Skip runs that would not end within this time from the start: 90s, 10m, 1h30m. The first run
    /// of a job has no forecast and is not skipped
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    budget_time: Option<f64>,

    /// Skip runs that would exceed this budget, in the currency of the prices: 0.5. The first run
    /// of a job has no forecast and is not skipped
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    budget_money: Option<f64>,

    /// Price sheet, JSON [default: a published list price for the hardware]
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl BudgetArgs {
    /// Returns whether there is a budget.
    pub fn is_limited(&self) -> bool {
        self.budget_time.is_some() || self.budget_money.is_some()
    }

    /// Returns the prices for this job's hardware.
    ///
    /// # Errors
    /// The price sheet cannot be read.
    pub fn prices(&self, job: &Job) -> anyhow::Result<PriceSheet> {
        self.prices.as_deref().map_or_else(|| Ok(PriceSheet::usual_for(job.device.accelerator())), read_prices)
    }

    /// Returns the budget of the sweep.
    ///
    /// # Errors
    /// The prices do not cover the hardware.
    pub fn budget(&self, prices: PriceSheet, job: &Job) -> anyhow::Result<Budget> {
        if self.budget_money.is_some() {
            prices.check_for(job.device.accelerator()).map_err(|error| unusable(format!("--budget-money: {error}")))?;
        }
        let prices = prices.for_cores_of(job.core_share);
        Ok(Budget {
            time: self.budget_time.and_then(|secs| Duration::try_from_secs_f64(secs).ok()),
            money: self.budget_money.map(|money| (money, prices)),
        })
    }
}

impl GridArgs {
    /// Returns the grid of this job, with every combination of its image sizes and batch sizes.
    ///
    /// # Errors
    /// There are more executors, or more images per task, than images, or nothing bounds the work
    /// of a program.
    pub fn grid(&self, job: &mut Job, workloads: Vec<Workload>, program: &ProgramArgs) -> anyhow::Result<Grid> {
        let executors = self.executors.as_ref().map(|Counts(executors)| executors.as_slice());
        let cores = self.cores.as_ref().map(|Counts(cores)| cores.as_slice());
        let rates = self.sampling_rate.as_ref().map(|Rates(rates)| rates.clone());
        let rates = rates.unwrap_or_else(|| program.usual_rates(&USUAL_RATES));
        let memory_mib = self.memory.as_ref().map(|Mibs(mibs)| mibs.clone());
        let sizes = self.partition_size.as_ref().map(|Counts(sizes)| sizes.clone());
        let mut grid = Grid {
            workloads,
            placements: Vec::new(),
            memory_mib: memory_mib.unwrap_or_else(|| vec![DEFAULT_MEMORY_MIB]),
            partition_sizes: sizes.unwrap_or_else(|| vec![default_partition_size(job)]),
            sampling_rates: rates,
            repeat: self.repeat.unwrap_or(if self.precision.is_some() { MOST_REPEATS } else { 1 }),
        };
        if let Some(Program { has_limited_memory, .. }) = &mut job.program {
            *has_limited_memory = self.memory.is_some();
            self.totals.check_for_program()?;
            program.check_bound(job, &grid.sampling_rates)?;
            grid.placements = program.placements(job, executors, cores)?;
            if self.memory.is_none() {
                grid.memory_mib = vec![usual_memory_mib(&grid.placements)];
            }
            return Ok(grid);
        }
        let executors = executors.map_or_else(|| default_executors(job), <[u32]>::to_vec);
        let cores = cores.unwrap_or(&USUAL_CORES);
        let splits = self.totals.splits(&executors, cores, job.workload.mode)?;
        grid.placements = splits.into_iter().map(Into::into).collect();
        for workload in &grid.workloads {
            check_sizes(&job.with(workload.clone()), &executors, &grid.partition_sizes)?;
        }
        Ok(grid)
    }

    /// Returns the requested confidence half-width, as a share of the median.
    pub fn precision(&self) -> Option<f64> {
        self.precision
    }

    /// Returns whether the user limits the memory.
    pub fn bounds_memory(&self) -> bool {
        self.memory.is_some()
    }
}

/// Default numbers of executors, at most one for each GPU.
fn default_executors(job: &Job) -> Vec<u32> {
    let most = job.device.most_executors().unwrap_or(u32::MAX);
    [1, 2].into_iter().filter(|executors| *executors <= most).collect()
}
