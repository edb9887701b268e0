//! What the page shows of a plan.

use foreglow_model::{Accuracy, Interval, Setting, TrainedSetting};
use foreglow_shared::{CostUnit, Observation, WhatIf, distinct};
use serde::{Deserialize, Serialize};

use crate::data::machine_choice::Selection;

/// The plan of a question: all configurations, and the outstanding ones as indices of `rows`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanView {
    /// Currency of all prices.
    pub currency: String,
    /// A large number of inputs whose cost is shown as well; `None` if it does not follow from that
    /// of the job.
    pub cost_unit: Option<CostUnit>,
    /// Number of configurations that were compared; if there are very many, `rows` has only the
    /// outstanding ones.
    pub compared: usize,
    /// Machine types, batch sizes, averaging intervals and partition sizes.
    pub arms: Vec<ArmView>,
    /// The configurations.
    pub rows: Vec<Row>,
    /// The recommended configuration.
    pub recommended: Option<usize>,
    /// The fastest one, regardless of the limits.
    pub fastest: Option<usize>,
    /// The one that most likely meets the limits, if none meets them with the required probability.
    pub likeliest: Option<usize>,
    /// The next faster one on the Pareto front.
    pub next_faster: Option<usize>,
    /// The next cheaper one on the Pareto front.
    pub next_cheaper: Option<usize>,
    /// The Pareto front of time and cost, ascending by time.
    pub front: Vec<usize>,
    /// The best of each machine type, the cheapest first.
    pub best_per_machine: Vec<usize>,
    /// Why the recommended configuration is recommended, or why no configuration is.
    pub verdict: String,
    /// The source of the prices of the recommended configuration, or why its cost is unknown.
    pub prices: String,
    /// Why the cost is unknown; `None` if it is known.
    pub cost_unknown: Option<String>,
    /// Warnings about the recommended configuration.
    pub warnings: Vec<String>,
    /// The recommended configuration as `spark-submit` arguments, if Spark runs the job.
    pub spark_submit: Option<String>,
    /// The machine types to choose from.
    pub types: Vec<TypePrice>,
    /// Names of the machine types of the catalog that were not measured.
    pub unmeasured: Vec<String>,
    /// The training settings whose accuracy was measured, the most accurate first.
    pub trained: Vec<TrainedSetting>,
    /// Why the accuracy is unknown, if there is a minimum or it was measured on too few images.
    pub accuracy_unknown: Option<String>,
    /// Configurations that cannot be recommended, with the reasons; one sentence each.
    pub omitted: Vec<String>,
    /// What a plan without samples says about its basis; `None` with samples.
    pub public: Option<PublicView>,
}

/// The basis of a plan without samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublicView {
    /// The basis, in a sentence.
    pub basis: String,
    /// How sure the recommended machine type costs less than the next ones, in a sentence.
    pub order: Option<String>,
    /// What contradicts the user's own speeds; one sentence each.
    pub notes: Vec<String>,
    /// The command that gives the same answer, up to the limits.
    pub command: String,
}

/// The choices besides executors and cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmView {
    /// Name of the machine type, or a description of the hardware.
    pub machine: String,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Mini-batches between two averages; `None` unless the job trains.
    pub average_every: Option<u32>,
    /// Images of one task.
    pub partition_size: u32,
    /// The runs from which the times are predicted, if not only those of the arm.
    pub borrowed_from: Option<String>,
    /// The hardware of a machine type that was not measured.
    pub hardware: Option<Hardware>,
}

/// The hardware of a machine type of the catalog, and the next step there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hardware {
    /// `8 × A100`.
    pub gpus: String,
    /// Provider and region: `aws us-east-1`.
    pub place: String,
    /// Memory that a step needs on a GPU: `11 of 40 GiB`.
    pub memory: String,
    /// The command that measures the job there.
    pub command: String,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Index of its [`ArmView`].
    pub arm: usize,
    /// Executors and their cores.
    pub counts: WhatIf,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// `3 × c5.xlarge, 2 executors of 2 cores each`; `2 × 4` if there is only one machine type and
    /// the catalog lacks it.
    pub name: String,
    /// Predicted time of the whole job, seconds.
    pub secs: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Cost of the predicted time.
    pub cost: Option<f64>,
    /// The quantity that ranks the configurations: the cost, or executor-hours without prices.
    pub objective: Option<f64>,
    /// Probability of meeting the limits.
    pub success_probability: Option<f64>,
    /// Whether all limits are met with the requested probability.
    pub is_feasible: bool,
    /// What distinguishes the configuration: `recommended`, `too late`.
    pub remark: String,
    /// Why it cannot be recommended.
    pub exclusion: Option<String>,
    /// The measured accuracy of the trained CNN; `None` if it was not measured.
    pub accuracy: Option<Accuracy>,
}

/// A machine type and its price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypePrice {
    /// Name of the machine type.
    pub machine: String,
    /// Whether its executors hold an accelerator.
    pub is_accelerated: bool,
    /// Price per hour of a whole machine; `None` if the catalog lacks it.
    pub hourly_price: Option<f64>,
}

/// The configuration of the what-if.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIfView {
    /// The configuration, with its machine type and sizes.
    pub selection: Selection,
    /// Whether it is the recommended one because the user chose none.
    pub is_neutral: bool,
    /// Its time and cost, or why there is no answer.
    pub outcome: Result<Row, String>,
    /// Reasons to trust the time less.
    pub warnings: Vec<String>,
    /// Whether it meets the deadline, in a sentence; `None` without a deadline or a choice.
    pub verdict: Option<Verdict>,
    /// Times by executors with the cores of the what-if, ascending.
    pub by_executors: Vec<(u32, f64)>,
    /// Times by cores with the executors of the what-if, ascending.
    pub by_cores: Vec<(u32, f64)>,
    /// Intervals of some points of `by_executors`.
    pub band: Vec<LinePoint>,
    /// Times by sampling rate.
    pub by_rate: Vec<(f64, f64)>,
}

/// A point of a line with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinePoint {
    /// Number of executors.
    pub executors: u32,
    /// Predicted completion time, seconds.
    pub secs: f64,
    /// Lower and upper end of its interval, seconds.
    pub interval_secs: Option<(f64, f64)>,
}

/// Whether a configuration meets the deadline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether its time does.
    pub is_met: bool,
    /// The sentence.
    pub text: String,
}

/// The data of the charts about the machine type of the what-if.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChartView {
    /// Index of the arm.
    pub arm: usize,
    /// Its configurations, thinned to a drawable number.
    pub grid: Grid,
    /// Its completed runs.
    pub runs: Vec<RunView>,
    /// The settings that were held out.
    pub held_out: Vec<HeldOutRun>,
}

/// Predictions over executors and cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Numbers of executors, ascending.
    pub executors: Vec<u32>,
    /// Numbers of cores, ascending.
    pub cores: Vec<u32>,
    /// By executors and then cores; `None` where the time is unknown.
    pub cells: Vec<Vec<Option<Cell>>>,
    /// Times with 1 executor by cores, seconds, the base of speed-ups.
    pub one_executor: Vec<Option<f64>>,
    /// Times with 1 core by executors, seconds.
    pub one_core: Vec<Option<f64>>,
}

/// One configuration of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Predicted time, seconds.
    pub secs: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Cost; `None` if no price is known.
    pub cost: Option<f64>,
    /// Probability of meeting the deadline; `None` without one.
    pub chance: Option<f64>,
}

/// The fields of a run, whose form in a link has no binary encoding.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Observation")]
struct RunFields {
    executors: u32,
    cores_per_executor: u32,
    total_cores: Option<u32>,
    memory_per_executor_mib: u32,
    partition_size: u32,
    sampling_rate: f64,
    completion_time_secs: f64,
    startup_secs: Option<f64>,
    disturbed: bool,
    log_error: f64,
}

/// A completed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// The run.
    #[serde(with = "RunFields")]
    pub run: Observation,
    /// The whole-job time implied by the run, seconds: the measured time if the run had every
    /// image, else the measured time × predicted(whole job) ÷ predicted(same sampling rate). Its
    /// distance from the line is therefore the predictor's relative error at the run's own sampling
    /// rate.
    pub whole_job_secs: Option<f64>,
    /// Predicted time at its own sampling rate, seconds.
    pub predicted_secs: Option<f64>,
}

/// A setting that was held out, with its measured and predicted time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutRun {
    /// The setting.
    pub setting: Setting,
    /// Median of the measured times, seconds.
    pub measured_secs: f64,
    /// Time predicted without it, seconds.
    pub predicted_secs: f64,
}

/// A configuration of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridCell {
    /// Executors and cores.
    pub counts: WhatIf,
    /// Its prediction.
    pub cell: Cell,
}

impl PlanView {
    /// Returns a row by its index.
    pub fn row(&self, place: Option<usize>) -> Option<&Row> {
        self.rows.get(place?)
    }

    /// Returns the machine type and the sizes of a row, as far as there are several.
    pub fn selection(&self, row: &Row) -> Selection {
        self.selection_on(row.arm, row.counts)
    }

    /// Returns executors and cores on an arm, with its machine type and sizes as far as there are
    /// several.
    pub fn selection_on(&self, arm: usize, counts: WhatIf) -> Selection {
        let mut selection = Selection { counts, ..Selection::default() };
        if let Some(own) = self.arms.get(arm) {
            let pick = &mut selection.pick;
            pick.machine = (self.types.len() > 1).then(|| own.machine.clone());
            pick.batch_size = (self.batch_sizes().len() > 1).then_some(own.batch_size);
            pick.partition_size = (self.partition_sizes().len() > 1).then_some(own.partition_size);
        }
        selection
    }

    /// Returns the batch sizes to choose from, ascending.
    pub fn batch_sizes(&self) -> Vec<u32> {
        self.distinct(|arm| arm.batch_size)
    }

    /// Returns the partition sizes to choose from, ascending.
    pub fn partition_sizes(&self) -> Vec<u32> {
        self.distinct(|arm| arm.partition_size)
    }

    fn distinct(&self, size: fn(&ArmView) -> u32) -> Vec<u32> {
        distinct(self.arms.iter().map(size))
    }

    /// Returns the unit in which lists compare the costs, if that is not the job.
    pub fn compared_unit(&self) -> Option<&CostUnit> {
        self.cost_unit.as_ref().filter(|unit| unit.is_needed())
    }

    /// Returns a cost in the unit in which lists compare the costs.
    pub fn compared_cost(&self, of_job: f64) -> f64 {
        self.compared_unit().map_or(of_job, |unit| unit.cost(of_job))
    }

    /// Whether several machine types, sizes or averaging intervals are compared.
    pub fn compares(&self) -> bool {
        self.types.len() > 1 || self.arms.len() > 1
    }

    /// Whether the rows are all configurations that were compared.
    pub fn lists_all(&self) -> bool {
        self.compared == self.rows.len()
    }

    /// Returns the row of a selection, if it is listed.
    pub fn find(&self, selection: &Selection) -> Option<&Row> {
        self.rows.iter().find(|row| self.selection(row) == *selection)
    }
}

impl ChartView {
    /// Returns the predicted time of a measured setting, seconds.
    pub fn predicted_secs(&self, setting: Setting) -> Option<f64> {
        self.runs.iter().find(|run| Setting::of(&run.run) == setting)?.predicted_secs
    }
}

impl Grid {
    /// Returns every configuration with a known time, by executors and then cores.
    pub fn known(&self) -> impl Iterator<Item = GridCell> {
        self.executors.iter().zip(&self.cells).flat_map(|(executors, cells)| {
            self.cores.iter().zip(cells).filter_map(|(cores, cell)| {
                let counts = WhatIf { executors: *executors, cores_per_executor: *cores };
                Some(GridCell { counts, cell: (*cell)? })
            })
        })
    }

    /// Returns the cell of a configuration.
    pub fn get(&self, counts: WhatIf) -> Option<Cell> {
        let row = self.executors.binary_search(&counts.executors).ok()?;
        let column = self.cores.binary_search(&counts.cores_per_executor).ok()?;
        *self.cells.get(row)?.get(column)?
    }

    /// Returns the times by executors with this number of cores, which the grid has.
    pub fn by_executors(&self, cores: u32) -> Vec<(u32, f64)> {
        let at = |executors: &u32| {
            Some((*executors, self.get(WhatIf { executors: *executors, cores_per_executor: cores })?.secs))
        };
        self.executors.iter().filter_map(at).collect()
    }

    /// Returns the times by cores with this number of executors, which the grid has.
    pub fn by_cores(&self, executors: u32) -> Vec<(u32, f64)> {
        let at = |cores: &u32| Some((*cores, self.get(WhatIf { executors, cores_per_executor: *cores })?.secs));
        self.cores.iter().filter_map(at).collect()
    }
}
