//! Times of typical layers on a device, measured in a separate process like an executor's.

use std::io::{Read, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_cnn::{device, typical};
use foreglow_exit::{Interrupt, Interrupted, unusable};
use foreglow_machine::bounds;
use foreglow_machine::device::DeviceId;
use foreglow_model::{Calibration, TimedLayer};
use foreglow_shared::NumberFormat;
use serde::{Deserialize, Serialize};

use crate::costs::layer;

/// Number of rounds over all layers in a budget, so that a program that disturbs some rounds does
/// not determine the median time of a layer. The median is used instead of the minimum, because
/// runs of whole networks also share the machine's memory with other programs.
const ROUNDS: u32 = 6;
/// Limits on the rounds, and on the time for a layer in a round.
const MOST_ROUNDS: u32 = 20;
const LONGEST: Duration = Duration::from_millis(20);

/// Interval for checking whether the process has ended.
const LOOK: Duration = Duration::from_millis(20);

/// What to measure, on the standard input of `foreglow executor --layer-times`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// Device.
    pub place: DeviceId,
    /// Number format.
    #[serde(default)]
    pub number_format: NumberFormat,
    /// Processors to pin the process to; empty for no pinning.
    #[serde(default)]
    pub processors: Vec<u32>,
    /// Images in a mini-batch.
    pub batch_size: u32,
    /// Time for all layers, seconds.
    pub secs: f64,
}

impl Order {
    /// Measures in another process.
    ///
    /// # Errors
    /// The process does not start, fails, or is ended by a signal; the error includes its message.
    pub fn run(&self, interrupt: &Interrupt) -> anyhow::Result<Calibration> {
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        let mut child = Command::new(program)
            .args(["executor", "--layer-times"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("the process that times layers cannot be started")?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut input), Some(output), Some(errors)) = pipes else { anyhow::bail!("its pipes are missing") };
        let texts = [Box::new(output) as Box<dyn Read + Send>, Box::new(errors)].map(|mut from| {
            std::thread::spawn(move || {
                let mut text = String::new();
                from.read_to_string(&mut text).map(|_| text).unwrap_or_default()
            })
        });
        // Ignores the error, because a process that ended at once gives the reason on its standard
        // error.
        let _ = input.write_all(serde_json::to_string(self)?.as_bytes());
        drop(input);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if interrupt.is_raised() {
                // Fails if it has just ended.
                let _ = child.kill();
            }
            std::thread::sleep(LOOK);
        };
        if interrupt.is_raised() {
            return Err(Interrupted::default().into());
        }
        let [output, errors] = texts.map(|text| text.join().unwrap_or_default());
        if !status.success() {
            return Err(unusable(format!("the layers could not be timed: {}", errors.trim())));
        }
        serde_json::from_str(&output).context("the times of the layers could not be read")
    }

    /// Measures in this process.
    ///
    /// # Errors
    /// The device cannot be opened, or fails.
    pub fn measure(&self) -> anyhow::Result<Calibration> {
        bounds::pin(&self.processors)?;
        let device = device::open_in(self.place, self.number_format)?;
        let probes = typical();
        let start = Instant::now();
        let budget = Duration::try_from_secs_f64(self.secs).unwrap_or_default();
        let each = (budget / (ROUNDS * u32::try_from(probes.len()).unwrap_or(u32::MAX))).min(LONGEST);
        let mut times = vec![Vec::new(); probes.len()];
        for round in 1..=MOST_ROUNDS {
            for (probe, times) in probes.iter().zip(&mut times) {
                times.extend(probe.build(self.batch_size as usize, &device).secs(each, &device)?);
            }
            if start.elapsed() / round * (round + 1) > budget {
                break;
            }
        }
        let timed = probes.iter().zip(times).map(|(probe, mut times)| {
            times.sort_unstable_by(f64::total_cmp);
            TimedLayer { layer: layer(&probe.cost()), secs: times[(times.len() - 1) / 2] }
        });
        Ok(Calibration { batch_size: self.batch_size, layers: timed.collect() })
    }
}
