//! Records of a run in its sample besides the time: phases, resource use, and the data for
//! repeating it.

use foreglow_protocol::{Assignment, BrokenImage, Phases};
use foreglow_shared::Sample;
use serde_json::{Map, Value, json};

use super::executor_pool::MemoryBound;
use super::watch::Usage;

/// Field of a sample with its broken images, and the limit on the listed ones.
const BROKEN: &str = "broken_images";
const NAMED_BROKEN: usize = 10;

/// Progress and resource use of a run.
#[derive(Default)]
pub struct RunStats {
    /// Images that went through the CNN.
    pub images_done: u64,
    /// Images of the sample that could not be used.
    pub broken: Vec<BrokenImage>,
    /// Images that could not be used to evaluate the CNN.
    broken_held_out: Vec<BrokenImage>,
    executors: Vec<ExecutorTotals>,
}

/// Progress and resource use of an executor.
struct ExecutorTotals {
    processors: Vec<u32>,
    bound: Option<MemoryBound>,
    partitions: u64,
    images: u64,
    phases: Phases,
    usage: Usage,
}

impl RunStats {
    /// Records the started executors with their assignments and memory limits.
    pub fn start(&mut self, assignments: &[Assignment], bounds: impl Iterator<Item = Option<MemoryBound>>) {
        let totals = |(assignment, bound): (&Assignment, Option<MemoryBound>)| ExecutorTotals {
            processors: assignment.processors.clone(),
            bound,
            partitions: 0,
            images: 0,
            phases: Phases::default(),
            usage: Usage::default(),
        };
        self.executors = assignments.iter().zip(bounds).map(totals).collect();
    }

    /// Records a finished partition.
    pub fn done(&mut self, executor: usize, images: u64, phases: Phases) {
        self.executors[executor].partitions += 1;
        self.learned(executor, images, phases);
    }

    /// Records images used for training.
    pub fn learned(&mut self, executor: usize, images: u64, phases: Phases) {
        let totals = &mut self.executors[executor];
        totals.images += images;
        totals.phases += phases;
        self.images_done += images;
    }

    /// Records images that could not be used to evaluate the CNN, once although every epoch may
    /// meet them again. They do not end the run, which has learned by then.
    pub fn skip_held_out(&mut self, broken: Vec<BrokenImage>) {
        for image in broken {
            if self.broken_held_out.iter().all(|known| known.name != image.name) {
                self.broken_held_out.push(image);
            }
        }
    }

    /// Records the resource use of the executors.
    pub fn use_of(&mut self, usages: &[Usage]) {
        for (totals, usage) in self.executors.iter_mut().zip(usages) {
            totals.usage = *usage;
        }
    }

    /// Returns the largest resident memory of an executor, MiB.
    pub fn peak_memory_mib(&self) -> Option<u64> {
        self.executors.iter().filter_map(|totals| totals.usage.peak_memory_mib).max()
    }

    /// Returns the fields of the sample.
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        describe_broken(&self.broken, &self.broken_held_out, &mut fields);
        if self.images_done > 0 {
            let mut phases = Phases::default();
            self.executors.iter().for_each(|totals| phases += totals.phases);
            fields.insert("phases".into(), json!(phases.rounded()));
        }
        if !self.executors.is_empty() {
            fields.insert("executors".into(), self.executors.iter().map(ExecutorTotals::to_json).collect());
        }
        fields
    }
}

impl ExecutorTotals {
    fn to_json(&self) -> Value {
        json!({
            "processors": self.processors,
            "memory_bound": self.bound,
            "peak_memory_mib": self.usage.peak_memory_mib,
            "partitions": self.partitions,
            "images": self.images,
            "phases": self.phases.rounded(),
        })
    }
}

/// Checks that a run used at least one of its items: otherwise its time is not that of the job.
///
/// # Errors
/// All items are broken.
pub fn check_work(images_done: u64, broken: &[BrokenImage], noun: &str) -> Result<(), String> {
    match broken.first() {
        Some(BrokenImage { name, why }) if images_done == 0 => Err(format!(
            "broken {noun}: all {} of the sample, so the run did no work; the first is {name} ({why})",
            broken.len()
        )),
        _ => Ok(()),
    }
}

/// Returns a sentence about the broken images that a run skipped; `None` if there were none.
pub fn broken_images(sample: &Sample) -> Option<String> {
    let broken = sample.extra.get(BROKEN)?;
    let first = broken.get("first")?.get(0)?.as_str()?;
    let noun = sample.workload.noun();
    Some(format!("broken {noun} skipped: {}; the first is {first}", broken.get("count")?))
}

/// Adds the broken images of the sample, and then those to evaluate the CNN on, to the fields of a
/// sample. One that is among both, because the CNN is evaluated on what it learns, counts once.
pub fn describe_broken(broken: &[BrokenImage], held_out: &[BrokenImage], fields: &mut Map<String, Value>) {
    let is_new = |image: &&BrokenImage| broken.iter().all(|known| known.name != image.name);
    let all: Vec<&BrokenImage> = broken.iter().chain(held_out.iter().filter(is_new)).collect();
    if !all.is_empty() {
        let named = all.iter().take(NAMED_BROKEN);
        let named: Vec<String> = named.map(|BrokenImage { name, why }| format!("{name} ({why})")).collect();
        fields.insert(BROKEN.into(), json!({ "count": all.len(), "first": named }));
    }
}
