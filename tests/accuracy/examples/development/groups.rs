//! The development groups: the questions for choosing the constants of the intervals. No protocol
//! of `make accuracy` uses them.

use foreglow_model::{Setting, draw};

use crate::public::{Named, Public};
use crate::simulated::{Plan, Random, SimulatedJob};
use crate::table::Table;

/// Runs to fit and other runs to predict.
pub struct Group {
    /// Source of the runs; all sources have the same weight.
    pub source: &'static str,
    pub fit: Table,
    pub asked: Table,
}

/// Maximum number of tested runs of a group.
const MOST_ASKED: usize = 60;
/// Number of simulated jobs.
const JOBS: u64 = 150;
const NODES: &str = "instance_count";

/// A split of a table by a column: the condition on the fitted rows, and the condition on the
/// tested rows.
type Cut = (&'static str, fn(f64) -> bool, fn(f64) -> bool);

/// Splits of C3O: more nodes, fewer nodes.
const C3O_CUTS: [Cut; 4] = [
    (NODES, |n| n <= 6.0, |n| n == 8.0),
    (NODES, |n| n <= 8.0, |n| n == 10.0),
    (NODES, |n| n >= 8.0, |n| n <= 6.0),
    (NODES, |n| n >= 6.0, |n| n < 6.0),
];
/// Splits of a virtual machine type of TrimTuner: more samples or machines, fewer samples.
const TRIMTUNER_CUTS: [Cut; 5] = [
    ("train_samples", |x| x <= 6e3, |x| x == 15e3),
    ("train_samples", |x| x <= 6e3, |x| x == 30e3),
    ("train_samples", |x| x <= 15e3, |x| x == 30e3),
    ("train_samples", |x| x >= 15e3, |x| x <= 6e3),
    ("n_vms", |x| x <= 12.0, |x| (16.0..=32.0).contains(&x)),
];
/// Splits of a GPU of PROFET, all CNNs together.
const GPU_CUTS: [Cut; 5] = [
    ("batchsize", |x| x <= 32.0, |x| x == 128.0),
    ("batchsize", |x| x <= 128.0, |x| x == 256.0),
    ("batchsize", |x| x >= 64.0, |x| x <= 32.0),
    ("pixels", |x| x <= 224.0, |x| x == 256.0),
    ("pixels", |x| x >= 64.0, |x| x == 32.0),
];
/// Splits of one CNN on one GPU.
const PAIR_CUTS: [Cut; 4] = [
    ("batchsize", |x| x <= 32.0, |x| x >= 64.0),
    ("batchsize", |x| x <= 64.0, |x| x >= 128.0),
    ("batchsize", |x| x <= 128.0, |x| x == 256.0),
    ("pixels", |x| x <= 128.0, |x| x >= 224.0),
];
/// Fitted node counts of Bell; counts up to twice the largest are tested.
const BELL_FITTED: [&[f64]; 7] = [
    &[4.0, 8.0, 16.0],
    &[8.0, 12.0, 16.0],
    &[4.0, 8.0, 16.0, 32.0],
    &[4.0, 8.0, 12.0, 16.0, 20.0],
    &[4.0, 12.0, 20.0, 28.0, 36.0],
    &[4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0],
    &[4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 36.0, 40.0, 44.0],
];

/// Returns every group, in a fixed order.
pub fn groups(public: &Public) -> Vec<Group> {
    let mut groups = Groups(Vec::new());
    for Named { table, .. } in &public.c3o {
        [4, 5, 8, 10, 15, 20, 30, 60, 120].iter().for_each(|rows| groups.random("C3O", table, *rows, 3));
        C3O_CUTS.iter().for_each(|cut| groups.cut("C3O", table, cut));
        let sizes = table.levels("data_size_MB");
        let (sizes_of, middle) = (table.numbers("data_size_MB"), sizes[sizes.len() / 2]);
        groups.split("C3O", table, |row| sizes_of[row] <= middle, |row| sizes_of[row] > middle);
    }
    for Named { table, .. } in &public.bell {
        [4, 6, 8, 10, 12].iter().for_each(|rows| groups.random("Bell", table, *rows, 3));
        let nodes = table.numbers("Nodes");
        for fitted in BELL_FITTED {
            let most = 2.0 * fitted[fitted.len() - 1];
            let is_fitted = |row: usize| fitted.contains(&nodes[row]);
            groups.split("Bell", table, is_fitted, |row| !is_fitted(row) && nodes[row] <= most);
        }
    }
    let trimtuner = &public.trimtuner;
    [80, 150, 280].iter().for_each(|rows| groups.random("TrimTuner", trimtuner, *rows, 2));
    for (_, rows) in trimtuner.contexts(&["vm"]) {
        let Some(machine) = trimtuner.select(&rows) else { continue };
        TRIMTUNER_CUTS.iter().for_each(|cut| groups.cut("TrimTuner", &machine, cut));
    }
    for (_, rows) in trimtuner.contexts(&["vm", "sync"]) {
        let Some(context) = trimtuner.select(&rows) else { continue };
        [4, 5, 6, 8, 10, 12, 15, 20, 30].iter().for_each(|rows| groups.random("TrimTuner", &context, *rows, 2));
    }
    let profet = &public.profet;
    [120, 200, 280].iter().for_each(|rows| groups.random("PROFET", profet, *rows, 2));
    for (_, rows) in profet.contexts(&["instance_name"]) {
        let Some(gpu) = profet.select(&rows) else { continue };
        GPU_CUTS.iter().for_each(|cut| groups.cut("PROFET", &gpu, cut));
    }
    for (number, (_, rows)) in profet.contexts(&["instance_name", "model"]).into_iter().enumerate() {
        let Some(pair) = profet.select(&rows) else { continue };
        // Two sizes for each pair, so that all pairs together cover every size.
        let sizes = [4, 5, 6, 8, 10, 12, 15, 20];
        [0, 3].iter().for_each(|step| groups.random("PROFET", &pair, sizes[(number + step) % sizes.len()], 1));
        if number % 2 == 0 {
            PAIR_CUTS.iter().for_each(|cut| groups.cut("PROFET", &pair, cut));
        }
    }
    (0..JOBS).for_each(|number| groups.simulated(number));
    groups.0
}

struct Groups(Vec<Group>);

impl Groups {
    /// Adds groups of randomly drawn rows that are tested on other random rows.
    fn random(&mut self, source: &'static str, table: &Table, rows: usize, times: u64) {
        if table.len() < rows + 3 {
            return;
        }
        for time in 0..times {
            // A different seed for each group.
            let order = draw(table.len(), rows + MOST_ASKED, 1_000 * self.0.len() as u64 + time);
            self.push(source, table.select(&order[..rows]), table.select(&order[rows..]));
        }
    }

    fn cut(&mut self, source: &'static str, table: &Table, (column, fit, asked): &Cut) {
        let values = table.numbers(column);
        self.split(source, table, |row| fit(values[row]), |row| asked(values[row]));
    }

    fn split(
        &mut self,
        source: &'static str,
        table: &Table,
        fit: impl Fn(usize) -> bool,
        asked: impl Fn(usize) -> bool,
    ) {
        self.push(source, table.keep(fit), table.keep(asked));
    }

    fn push(&mut self, source: &'static str, fit: Option<Table>, asked: Option<Table>) {
        if let (Some(fit), Some(asked)) = (fit, asked)
            && fit.len() > 2
        {
            self.0.push(Group { source, fit, asked });
        }
    }

    fn simulated(&mut self, number: u64) {
        // A different seed than in the model's own test of simulated jobs.
        let mut random = Random((number << 32) | 5);
        let job = SimulatedJob::draw(number % 4, &mut random);
        let Plan { samples, asked } = Plan::draw(&mut random);
        let mut table = |settings: &[Setting]| {
            let secs = settings.iter().map(|setting| job.measured(*setting, &mut random)).collect();
            Table::of_settings(settings, secs)
        };
        let (fit, asked) = (table(&samples), table(&asked));
        self.push("simulated jobs", fit, asked);
    }
}
