//! What an executor and whatever drives it say to each other: one JSON object a line, over standard input and output.
//!
//! The first line in is the [`Assignment`]. The executor answers `{"ready":…}` once its CNN is warm. From then on each line in
//! hands it a partition, and each partition is answered by `{"done":…}` or `{"failed":…}`, in any order; no more than
//! `threads` partitions are worked on at a time. The end of the input ends the executor, which says `{"ended":…}`.
//!
//! Training goes otherwise. An executor that needs others says `{"listening":…}` before it is ready; once all do,
//! `{"peers":…}` tells each its rank and the addresses of all, and it answers `{"joined":…}`. `{"train":…}` is answered by
//! a `{"learned":…}` for each partition and one `{"trained":…}`; `{"evaluate":…}` by `{"evaluated":…}`. The input must stay
//! open that long: who closes it wants the result no more, and the executor ends at once.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::training::Training;
use crate::device::Place;
use crate::input::Source;

/// What an executor has to do, known before its first partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Name of the CNN.
    pub model: String,
    /// Side of the square input, pixels; means nothing where the source has texts.
    pub image_px: u32,
    /// Words of a text that the CNN sees; `None` where the source has images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<u32>,
    /// Images that go through the CNN at once.
    pub batch_size: u32,
    /// Images of a partition: with the batch size it tells the sizes of the mini-batches to warm up for.
    pub partition_size: u32,
    /// Partitions that are worked on at the same time, C.
    pub threads: u32,
    /// Upper bound on the memory of the process, MiB; `None` where the system holds it to one already, or leaves it free.
    pub memory_mib: Option<u32>,
    /// Processors that the process keeps to, by the system's numbers; none leaves it free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<u32>,
    /// Where the CNN runs.
    pub place: Place,
    /// Where the images lie.
    pub source: Source,
    /// Images of the whole job.
    pub images: u64,
    /// Share of them that this run processes.
    pub sampling_rate: f64,
    /// Decides which images are in the sample, and the weights.
    pub seed: u64,
    /// How the CNN is trained; `None` for inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
}

/// A line to the executor, after the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A partition to work through.
    Partition(Partition),
    /// Training: the executors to connect with.
    Peers {
        /// This executor's number among them.
        rank: u32,
        /// Where each of them listens, `host:port`, by rank.
        addresses: Vec<String>,
        /// What tells them from strangers: one word.
        token: String,
    },
    /// Training: a part of the steps.
    Train(Round),
    /// Training: images to judge the CNN by.
    Evaluate(Evaluation),
}

/// Steps to train. A whole run is one round among connected executors. Where executors are not connected, a driver can
/// give a round of K steps to each, and the files that they save to all of them in the next round: the average is then taken
/// as they are loaded, digit for digit the same. Or it takes the average itself, and gives that to all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// This executor's number.
    pub rank: u32,
    /// First step, counted over all epochs.
    #[serde(default)]
    pub first_step: u64,
    /// How many; `None` trains to the end of the last epoch.
    #[serde(default)]
    pub steps: Option<u64>,
    /// What the executors saved after the round before, by rank. Without it the first step begins with the weights of the
    /// seed, and another one with what this executor has.
    #[serde(default)]
    pub load: Vec<PathBuf>,
    /// Where to save the numbers after the round.
    #[serde(default)]
    pub save: Option<PathBuf>,
    /// Whether this executor has the same number in every round, and so goes on with its own optimiser: the files hold what is
    /// averaged and nothing else, and the one that it loads is the average.
    #[serde(default)]
    pub resident: bool,
}

/// Images that are not learned, to judge the CNN by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Where they lie.
    pub source: Source,
    /// The first one's number.
    pub first: u64,
    /// How many.
    pub images: u64,
}

impl Evaluation {
    /// An equal share of the images for each executor, by rank.
    pub fn shares(&self, executors: u32) -> impl Iterator<Item = Self> + '_ {
        let executors = u64::from(executors);
        let start = move |executor: u64| self.first + executor * self.images / executors;
        (0..executors).map(move |executor| {
            let (first, images) = (start(executor), start(executor + 1) - start(executor));
            Self { source: self.source.clone(), first, images }
        })
    }
}

/// How well a CNN did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// On so many images.
    pub images: u64,
    /// Sum of their cross-entropies, nats.
    pub loss_sum: f64,
    /// Images whose class it told.
    pub correct: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.images += other.images;
        self.loss_sum += other.loss_sum;
        self.correct += other.correct;
    }
}

/// A run of images of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Its number in the run.
    pub index: u64,
    /// Its first image, counted in the sample.
    pub first: u64,
    /// How many images it has.
    pub len: u64,
}

/// A line from the executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The CNN is loaded and warm.
    Ready {
        /// Images in the sample, as this executor sees it.
        images: u64,
    },
    /// A partition is finished, the device idle again.
    Done {
        /// Its number.
        partition: u64,
        /// Images that went through the CNN.
        images: u64,
        /// Images of the partition that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        broken: Vec<BrokenImage>,
        /// Where its time went.
        #[serde(flatten)]
        phases: Phases,
        /// Most memory that the process has held so far, MiB, where the system says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak_memory_mib: Option<u64>,
    },
    /// Training: the port on which the executor waits for the others.
    Listening {
        /// The port.
        port: u16,
    },
    /// Training: all executors are connected.
    Joined {
        /// How many they are.
        executors: u32,
    },
    /// Training: a partition is learned.
    Learned {
        /// Its epoch.
        epoch: u64,
        /// How well the CNN did on its images while it learned them.
        #[serde(flatten)]
        tally: Tally,
        /// Images of the partition that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        broken: Vec<BrokenImage>,
        /// Where its time went.
        #[serde(flatten)]
        phases: Phases,
    },
    /// Training: the round is over, and the numbers are averaged or saved.
    Trained {
        /// Steps of the round.
        steps: u64,
        /// From the first of them to the end of the last, loading and saving not included, seconds.
        secs: f64,
        /// Most memory that the process has held so far, MiB, where the system says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak_memory_mib: Option<u64>,
    },
    /// Training: the answer to an evaluation.
    Evaluated {
        /// How well the CNN did.
        #[serde(flatten)]
        tally: Tally,
        /// Images that could not be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        broken: Vec<BrokenImage>,
    },
    /// A partition, or with none the start, could not be finished.
    Failed {
        /// Its number.
        partition: Option<u64>,
        /// A sentence for the person.
        reason: String,
    },
    /// The last line.
    Ended {
        /// Most memory that the process held, MiB, where the system says it.
        peak_memory_mib: Option<u64>,
    },
}

/// Where the time of an executor thread went, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Reading files.
    pub read_secs: f64,
    /// Decoding, resizing, normalising.
    pub decode_secs: f64,
    /// Handing the numbers to the device.
    #[serde(default)]
    pub copy_secs: f64,
    /// The CNN, and the answer back.
    pub forward_secs: f64,
    /// Training: gradients, and the optimiser's step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub backward_secs: f64,
    /// Training: exchanging and averaging the numbers of the executors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub average_secs: f64,
    /// Training: waiting until the slowest executor has come to the average.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wait_secs: f64,
}

fn is_zero(secs: &f64) -> bool {
    *secs == 0.0
}

impl Phases {
    /// To microseconds, as they stand in a sample.
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
    /// Its file, and its place in it.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another language speaks this too: a change here is a change of the protocol.
    #[test]
    fn the_lines_keep_their_form() {
        let json = |report: &Report| serde_json::to_string(report).unwrap();
        let phases =
            Phases { read_secs: 0.25, decode_secs: 0.5, copy_secs: 0.125, forward_secs: 1.0, ..Phases::default() };
        assert_eq!(json(&Report::Ready { images: 20 }), r#"{"ready":{"images":20}}"#);
        assert_eq!(
            json(&Report::Done { partition: 3, images: 8, broken: vec![], phases, peak_memory_mib: Some(70) }),
            r#"{"done":{"partition":3,"images":8,"read_secs":0.25,"decode_secs":0.5,"copy_secs":0.125,"forward_secs":1.0,"peak_memory_mib":70}}"#
        );
        let broken = vec![BrokenImage { name: "a.jpg".into(), why: "no image".into() }];
        assert_eq!(
            json(&Report::Done { partition: 3, images: 7, broken, phases, peak_memory_mib: None }),
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
    fn the_lines_of_training_keep_their_form() {
        let json = |report: &Report| serde_json::to_string(report).unwrap();
        assert_eq!(json(&Report::Listening { port: 4711 }), r#"{"listening":{"port":4711}}"#);
        assert_eq!(json(&Report::Joined { executors: 2 }), r#"{"joined":{"executors":2}}"#);
        assert_eq!(
            json(&Report::Trained { steps: 7, secs: 2.5, peak_memory_mib: Some(70) }),
            r#"{"trained":{"steps":7,"secs":2.5,"peak_memory_mib":70}}"#
        );
        let tally = Tally { images: 8, loss_sum: 2.5, correct: 6 };
        let phases = Phases { forward_secs: 1.0, backward_secs: 2.0, wait_secs: 0.5, ..Phases::default() };
        assert_eq!(
            json(&Report::Learned { epoch: 1, tally, broken: vec![], phases }),
            r#"{"learned":{"epoch":1,"images":8,"loss_sum":2.5,"correct":6,"read_secs":0.0,"decode_secs":0.0,"copy_secs":0.0,"forward_secs":1.0,"backward_secs":2.0,"wait_secs":0.5}}"#
        );
        assert_eq!(
            json(&Report::Evaluated { tally, broken: vec![] }),
            r#"{"evaluated":{"images":8,"loss_sum":2.5,"correct":6}}"#
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
