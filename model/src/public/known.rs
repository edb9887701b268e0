//! Speeds that the user knows.

use std::fmt;
use std::str::FromStr;

use foreglow_shared::number;

/// A speed of the job's network that the user knows.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnSpeed {
    /// Name of the GPU.
    pub gpu: String,
    /// Number of GPUs of the run.
    pub gpus: u32,
    /// Images per second on all of them.
    pub images_per_sec: f64,
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
        is_valid.then(|| Self { gpu: gpu.trim().to_owned(), gpus, images_per_sec }).ok_or_else(wrong)
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
        let speed = |gpu: &str, gpus, images_per_sec| OwnSpeed { gpu: gpu.into(), gpus, images_per_sec };
        for (text, expected) in [
            ("RTX 3090=812/s", speed("RTX 3090", 1, 812.0)),
            ("8xA100 = 9500 images/s", speed("A100", 8, 9500.0)),
            ("8 x A100=9500", speed("A100", 8, 9500.0)),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()));
            assert_eq!(expected.to_string().parse(), Ok(expected));
        }
        for wrong in ["812", "RTX 3090=", "RTX 3090=fast", "=812/s", "L4=-1/s", "0xL4=5/s", "L4=inf"] {
            assert!(wrong.parse::<OwnSpeed>().is_err(), "{wrong}");
        }
    }
}
