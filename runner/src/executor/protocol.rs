//! What an executor and whatever drives it say to each other: one JSON object a line, over standard input and output.
//!
//! The first line in is the [`Assignment`]. The executor answers `{"ready":…}` once its CNN is warm. From then on each line in
//! hands it a partition, and each partition is answered by `{"done":…}` or `{"failed":…}`, in any order; no more than
//! `threads` partitions are worked on at a time. The end of the input ends the executor, which says `{"ended":…}`.

use serde::{Deserialize, Serialize};

use crate::device::Place;
use crate::images::Source;

/// What an executor has to do, known before its first partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Name of the CNN.
    pub model: String,
    /// Side of the square input, pixels.
    pub image_px: u32,
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
}

/// A line to the executor, after the job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A partition to work through.
    Partition(Partition),
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
}

impl std::ops::AddAssign for Phases {
    fn add_assign(&mut self, other: Self) {
        self.read_secs += other.read_secs;
        self.decode_secs += other.decode_secs;
        self.copy_secs += other.copy_secs;
        self.forward_secs += other.forward_secs;
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
        let phases = Phases { read_secs: 0.25, decode_secs: 0.5, copy_secs: 0.125, forward_secs: 1.0 };
        assert_eq!(json(&Report::Ready { images: 20 }), r#"{"ready":{"images":20}}"#);
        assert_eq!(
            json(&Report::Done { partition: 3, images: 8, broken: vec![], phases }),
            r#"{"done":{"partition":3,"images":8,"read_secs":0.25,"decode_secs":0.5,"copy_secs":0.125,"forward_secs":1.0}}"#
        );
        let broken = vec![BrokenImage { name: "a.jpg".into(), why: "no image".into() }];
        assert_eq!(
            json(&Report::Done { partition: 3, images: 7, broken, phases }),
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
}
