//! Protocol between an executor and its driver: one JSON object per line, over standard input and
//! output.
//!
//! The first line to the executor is the [`Assignment`]. The executor answers `{"ready":…}` once
//! its CNN is warm. Each further line is a partition, answered by `{"done":…}` or `{"failed":…}` in
//! any order; at most `threads` partitions are in progress at a time. At the end of the input the
//! executor says `{"ended":…}` and exits.
//!
//! Training differs. An executor that needs peers says `{"listening":…}` before it is ready; once
//! all do, `{"peers":…}` tells each its rank and the addresses of all, and it answers
//! `{"joined":…}`. `{"train":…}` is answered by a `{"learned":…}` for each partition and one
//! `{"trained":…}`; `{"evaluate":…}` and `{"validate":…}` by `{"evaluated":…}`;
//! `{"save_weights":…}` by `{"saved_weights":…}`. The input must stay open until then: closing it
//! cancels the work, and the executor exits at once.

mod mini_batch;
mod training;

use std::path::PathBuf;

use foreglow_data::Source;
use foreglow_data::images::Normalisation;
use foreglow_machine::device::DeviceId;
use foreglow_shared::{Confusion, NetworkFile, NumberFormat, Resizing};
use serde::{Deserialize, Serialize};

pub use self::mini_batch::mini_batches;
pub use self::training::{DataSharding, Optimizer, Schedule, Training};

/// Job of an executor, sent before its first partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Name of the CNN.
    pub model: String,
    /// File of the network, at the same path on the executor's machine; `None` for a built-in CNN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkFile>,
    /// Number of classes of a built-in CNN; `None` for its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<u32>,
    /// File with the weights of a built-in CNN, at the same path on the executor's machine; `None`
    /// to draw them from the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<PathBuf>,
    /// Side of the square input, pixels; unused for texts.
    pub image_px: u32,
    /// Words per text; `None` for images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<u32>,
    /// Normalisation of the images; `None` for the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalisation: Option<Normalisation>,
    /// Resizing of the images.
    #[serde(default)]
    pub resizing: Resizing,
    /// Images per mini-batch.
    pub batch_size: u32,
    /// Images per partition. Together with the batch size it determines the mini-batch sizes to
    /// warm up.
    pub partition_size: u32,
    /// Partitions in progress at the same time, C.
    pub threads: u32,
    /// Memory limit of the process, MiB; `None` if the system already enforces one or there is
    /// none.
    pub memory_mib: Option<u32>,
    /// Processors to pin the process to, by the system's numbers; empty for no pinning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<u32>,
    /// Device that runs the CNN.
    pub place: DeviceId,
    /// Location of the images.
    pub source: Source,
    /// Images of the whole job.
    pub images: u64,
    /// Share of them that this run processes.
    pub sampling_rate: f64,
    /// Number format in which the CNN computes.
    #[serde(default)]
    pub number_format: NumberFormat,
    /// Seed of the sample and of the weights.
    pub seed: u64,
    /// Name of the GPU that a cluster has assigned to the executor, which finds it itself.
    #[serde(skip)]
    pub assigned: Option<String>,
    /// Training settings; `None` for inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
}

/// A line to the executor, after the assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A partition to process.
    Partition(Partition),
    /// Training: the executors to connect to.
    Peers {
        /// Rank of this executor.
        rank: u32,
        /// Addresses of all executors, `host:port`, by rank.
        addresses: Vec<String>,
        /// Shared secret, without spaces, that peers present when they connect.
        token: String,
    },
    /// Training: steps to train.
    Train(Round),
    /// Training: images to evaluate the CNN on.
    Evaluate(Evaluation),
    /// Training: evaluates the CNN on this executor's share of the validation images.
    Validate {
        /// Rank of this executor.
        rank: u32,
    },
    /// Training: saves the weights of a built-in CNN.
    SaveWeights {
        /// The file, safetensors.
        path: PathBuf,
    },
}

/// Steps to train. With connected executors a whole run is one round. Without connections a driver
/// can give each executor rounds of K steps and pass the files that they save to all of them in the
/// next round: the files are averaged on loading, with bit-identical results. Alternatively the
/// driver averages them itself and passes on the result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Rank of this executor.
    pub rank: u32,
    /// First step, counted over all epochs.
    #[serde(default)]
    pub first_step: u64,
    /// Number of steps; `None` trains to the end of the last epoch.
    #[serde(default)]
    pub steps: Option<u64>,
    /// Files that the executors saved after the previous round, by rank. If empty, a round from
    /// step 0 starts with the weights of the seed, and any other round continues with the
    /// executor's current parameters.
    #[serde(default)]
    pub load: Vec<PathBuf>,
    /// File in which to save the parameters after the round.
    #[serde(default)]
    pub save: Option<PathBuf>,
    /// Whether this executor has the same rank in every round, so that it keeps its own optimiser
    /// state. The saved files then hold only the averaged numbers, and the loaded file is the
    /// average.
    #[serde(default)]
    pub resident: bool,
}

/// Held-out images to evaluate the CNN on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Location of the images.
    pub source: Source,
    /// Number of the first image.
    pub first: u64,
    /// Number of images.
    pub images: u64,
}

impl Evaluation {
    /// Returns equal shares of the images for the executors, by rank.
    pub fn shares(&self, executors: u32) -> impl Iterator<Item = Self> + '_ {
        let executors = u64::from(executors);
        let start = move |executor: u64| self.first + executor * self.images / executors;
        (0..executors).map(move |executor| {
            let (first, images) = (start(executor), start(executor + 1) - start(executor));
            Self { source: self.source.clone(), first, images }
        })
    }
}

/// Accuracy and loss of a CNN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationTotals {
    /// Images evaluated.
    pub images: u64,
    /// Sum of the cross-entropies, nats.
    pub loss_sum: f64,
    /// Correctly classified images.
    pub correct: u64,
}

impl std::ops::AddAssign for EvaluationTotals {
    fn add_assign(&mut self, other: Self) {
        self.images += other.images;
        self.loss_sum += other.loss_sum;
        self.correct += other.correct;
    }
}

/// A range of images of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Index of the partition in the run.
    pub index: u64,
    /// Position of its first image in the sample.
    pub first: u64,
    /// Number of images.
    pub len: u64,
}

/// A line from the executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The CNN is loaded and warm.
    Ready {
        /// Number of images in the sample of this executor.
        images: u64,
    },
    /// A partition is finished, and the device is idle again.
    Done {
        /// Index of the partition.
        partition: u64,
        /// Images that went through the CNN.
        images: u64,
        /// Images of the partition that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        broken: Vec<BrokenImage>,
        /// Breakdown of its time.
        #[serde(flatten)]
        phases: Phases,
        /// Peak memory of the process so far, MiB, if the system reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak_memory_mib: Option<u64>,
        /// Name of the GPU that a cluster has assigned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accelerator: Option<String>,
    },
    /// Training: the port on which the executor waits for its peers.
    Listening {
        /// Port number.
        port: u16,
    },
    /// Training: all executors are connected.
    Joined {
        /// Number of executors.
        executors: u32,
    },
    /// Training: a partition is finished.
    Learned {
        /// Epoch of the partition.
        epoch: u64,
        /// Accuracy and loss on its images during training.
        #[serde(flatten)]
        tally: EvaluationTotals,
        /// Images of the partition that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        broken: Vec<BrokenImage>,
        /// Breakdown of its time.
        #[serde(flatten)]
        phases: Phases,
    },
    /// Training: the round is over, and the parameters are averaged or saved.
    Trained {
        /// Steps of the round.
        steps: u64,
        /// Seconds from the start of the first step to the end of the last, without loading and
        /// saving.
        secs: f64,
        /// Peak memory of the process so far, MiB, if the system reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak_memory_mib: Option<u64>,
        /// Name of the GPU that a cluster has assigned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accelerator: Option<String>,
    },
    /// Training: the answer to an evaluation.
    Evaluated {
        /// Accuracy and loss.
        #[serde(flatten)]
        tally: EvaluationTotals,
        /// Images that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        broken: Vec<BrokenImage>,
        /// Images by true and predicted class.
        #[serde(default, skip_serializing_if = "Confusion::is_empty")]
        confusion: Confusion,
    },
    /// Training: the weights are saved.
    SavedWeights {
        /// The file.
        path: PathBuf,
    },
    /// A partition failed, or the start if no partition is given.
    Failed {
        /// Index of the partition.
        partition: Option<u64>,
        /// Reason, as a sentence for the user.
        reason: String,
    },
    /// The last line.
    Ended {
        /// Peak memory of the process, MiB, if the system reports it.
        peak_memory_mib: Option<u64>,
    },
}

/// Breakdown of an executor thread's time, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Reading files.
    pub read_secs: f64,
    /// Decoding, resizing and normalising.
    pub decode_secs: f64,
    /// Copying the numbers to the device.
    #[serde(default)]
    pub copy_secs: f64,
    /// The forward pass, including reading back the answer.
    pub forward_secs: f64,
    /// Training: the backward pass and the optimiser's step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub backward_secs: f64,
    /// Training: exchanging and averaging the executors' numbers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub average_secs: f64,
    /// Training: waiting for the slowest executor before an average.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wait_secs: f64,
}

fn is_zero(secs: &f64) -> bool {
    *secs == 0.0
}

impl Phases {
    /// Rounds to microseconds, the resolution of samples.
    pub fn rounded(self) -> Self {
        let round = |secs: f64| (secs * 1e6).round() / 1e6;
        Self {
            read_secs: round(self.read_secs),
            decode_secs: round(self.decode_secs),
            copy_secs: round(self.copy_secs),
            forward_secs: round(self.forward_secs),
            backward_secs: round(self.backward_secs),
            average_secs: round(self.average_secs),
            wait_secs: round(self.wait_secs),
        }
    }
}

impl std::ops::AddAssign for Phases {
    fn add_assign(&mut self, other: Self) {
        self.read_secs += other.read_secs;
        self.decode_secs += other.decode_secs;
        self.copy_secs += other.copy_secs;
        self.forward_secs += other.forward_secs;
        self.backward_secs += other.backward_secs;
        self.average_secs += other.average_secs;
        self.wait_secs += other.wait_secs;
    }
}

/// An image that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenImage {
    /// Its file and position.
    pub name: String,
    /// Reason.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Java driver uses this protocol too, so both must change together.
    #[test]
    fn inference_lines_keep_their_format() {
        let json = |report: &Report| serde_json::to_string(report).unwrap();
        let phases =
            Phases { read_secs: 0.25, decode_secs: 0.5, copy_secs: 0.125, forward_secs: 1.0, ..Phases::default() };
        assert_eq!(json(&Report::Ready { images: 20 }), r#"{"ready":{"images":20}}"#);
        assert_eq!(
            json(&Report::Done {
                partition: 3,
                images: 8,
                broken: vec![],
                phases,
                peak_memory_mib: Some(70),
                accelerator: None,
            }),
            r#"{"done":{"partition":3,"images":8,"read_secs":0.25,"decode_secs":0.5,"copy_secs":0.125,"forward_secs":1.0,"peak_memory_mib":70}}"#
        );
        let broken = vec![BrokenImage { name: "a.jpg".into(), why: "no image".into() }];
        assert_eq!(
            json(&Report::Done { partition: 3, images: 7, broken, phases, peak_memory_mib: None, accelerator: None }),
            r#"{"done":{"partition":3,"images":7,"broken":[{"name":"a.jpg","why":"no image"}],"read_secs":0.25,"decode_secs":0.5,"copy_secs":0.125,"forward_secs":1.0}}"#
        );
        assert_eq!(
            json(&Report::Failed { partition: None, reason: "no".into() }),
            r#"{"failed":{"partition":null,"reason":"no"}}"#
        );
        assert_eq!(json(&Report::Ended { peak_memory_mib: Some(7) }), r#"{"ended":{"peak_memory_mib":7}}"#);
        assert_eq!(
            serde_json::from_str::<Order>(r#"{"partition":{"index":0,"first":0,"len":8}}"#).unwrap(),
            Order::Partition(Partition { index: 0, first: 0, len: 8 })
        );
    }

    #[test]
    fn training_lines_keep_their_format() {
        let json = |report: &Report| serde_json::to_string(report).unwrap();
        assert_eq!(json(&Report::Listening { port: 4711 }), r#"{"listening":{"port":4711}}"#);
        assert_eq!(json(&Report::Joined { executors: 2 }), r#"{"joined":{"executors":2}}"#);
        assert_eq!(
            json(&Report::Trained { steps: 7, secs: 2.5, peak_memory_mib: Some(70), accelerator: None }),
            r#"{"trained":{"steps":7,"secs":2.5,"peak_memory_mib":70}}"#
        );
        let tally = EvaluationTotals { images: 8, loss_sum: 2.5, correct: 6 };
        let phases = Phases { forward_secs: 1.0, backward_secs: 2.0, wait_secs: 0.5, ..Phases::default() };
        assert_eq!(
            json(&Report::Learned { epoch: 1, tally, broken: vec![], phases }),
            r#"{"learned":{"epoch":1,"images":8,"loss_sum":2.5,"correct":6,"read_secs":0.0,"decode_secs":0.0,"copy_secs":0.0,"forward_secs":1.0,"backward_secs":2.0,"wait_secs":0.5}}"#
        );
        assert_eq!(
            json(&Report::Evaluated { tally, broken: vec![], confusion: Confusion::default() }),
            r#"{"evaluated":{"images":8,"loss_sum":2.5,"correct":6}}"#
        );
        let confusion = Confusion::from(vec![(0, 1, 2), (1, 1, 6)]);
        assert_eq!(
            json(&Report::Evaluated { tally, broken: vec![], confusion }),
            r#"{"evaluated":{"images":8,"loss_sum":2.5,"correct":6,"confusion":[[0,1,2],[1,1,6]]}}"#
        );
        let order = |line: &str| serde_json::from_str::<Order>(line).unwrap();
        assert_eq!(
            order(r#"{"peers":{"rank":1,"addresses":["a:1","b:2"],"token":"x"}}"#),
            Order::Peers { rank: 1, addresses: vec!["a:1".into(), "b:2".into()], token: "x".into() }
        );
        assert_eq!(order(r#"{"train":{"rank":1}}"#), Order::Train(Round { rank: 1, ..Round::default() }));
        assert_eq!(
            order(r#"{"train":{"rank":0,"first_step":4,"steps":2,"load":["a","b"],"save":"c","resident":true}}"#),
            Order::Train(Round {
                rank: 0,
                first_step: 4,
                steps: Some(2),
                load: vec!["a".into(), "b".into()],
                save: Some("c".into()),
                resident: true,
            })
        );
    }
}
