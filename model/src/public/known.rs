//! Speeds that the user knows.

use std::fmt;
use std::str::FromStr;

use foreglow_shared::number;
use serde::Serialize;

/// A speed of the job's network that the user knows, or that own runs show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnSpeed {
    /// Name of the GPU.
    pub gpu: String,
    /// Memory of a GPU, MiB; `None` if unknown.
    #[serde(skip)]
    pub memory_mib: Option<u32>,
    /// Number of GPUs on all machines together.
    pub gpus: u32,
    /// Number of machines.
    pub machines: u32,
    /// Images of a step on one GPU; `None` for those of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u32>,
    /// Images per second on all GPUs.
    pub images_per_sec: f64,
    /// Standard deviation of the error of ln(images/s); 0 for a measured speed.
    pub log_deviation: f64,
}

impl OwnSpeed {
    /// Returns a measured speed on the GPUs of one machine, with the batch of the question.
    pub fn new(gpu: impl Into<String>, gpus: u32, images_per_sec: f64) -> Self {
        let (memory_mib, machines, batch_size, log_deviation) = (None, 1, None, 0.0);
        Self { gpu: gpu.into(), memory_mib, gpus, machines, batch_size, images_per_sec, log_deviation }
    }
}

/// Parses `RTX 3090=812/s` and `8xA100=9500/s`.
impl FromStr for OwnSpeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a GPU and its images per second, such as 'RTX 3090=812/s' or '8xA100=9500/s'".to_owned();
        let (gpu, speed) = text.split_once('=').ok_or_else(wrong)?;
        let speed = speed.trim().trim_end_matches("images/s").trim_end_matches("/s").trim();
        let images_per_sec = number(speed).ok_or_else(wrong)?;
        let counted = gpu.split_once(['x', '×']).and_then(|(count, gpu)| Some((count.trim().parse().ok()?, gpu)));
        let (gpus, gpu) = counted.unwrap_or((1, gpu));
        let is_valid = images_per_sec > 0.0 && gpus > 0 && !gpu.trim().is_empty();
        is_valid.then(|| Self::new(gpu.trim(), gpus, images_per_sec)).ok_or_else(wrong)
    }
}

/// Writes what [`OwnSpeed::from_str`] reads.
impl fmt::Display for OwnSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gpus {
            1 => write!(f, "{}={}/s", self.gpu, self.images_per_sec),
            count => write!(f, "{count}x{}={}/s", self.gpu, self.images_per_sec),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_speed_has_a_gpu_a_count_and_images_per_second() {
        for (text, expected) in [
            ("RTX 3090=812/s", OwnSpeed::new("RTX 3090", 1, 812.0)),
            ("8xA100 = 9500 images/s", OwnSpeed::new("A100", 8, 9500.0)),
            ("8 x A100=9500", OwnSpeed::new("A100", 8, 9500.0)),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()));
            assert_eq!(expected.to_string().parse(), Ok(expected));
        }
        for wrong in ["812", "RTX 3090=", "RTX 3090=fast", "=812/s", "L4=-1/s", "0xL4=5/s", "L4=inf"] {
            assert!(wrong.parse::<OwnSpeed>().is_err(), "{wrong}");
        }
    }
}
