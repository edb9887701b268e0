//! Samples encoded for the store.

use std::sync::Arc;

use foreglow_shared::{Context, Sample};

/// A sample with all columns of the store. Encoding takes most of the processor time of a write and
/// needs no store, so the collector encodes outside the writing thread.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub(super) id: String,
    pub(super) mode: &'static str,
    pub(super) started_at_us: i64,
    pub(super) secs: Option<f64>,
    pub(super) line: String,
    pub(super) run: RunKey,
    /// Name of the token that sent it.
    pub(super) sender: Option<Arc<str>>,
}

/// Key that samples of equal runs share. Texts are JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RunKey {
    pub(super) model: String,
    pub(super) workload: String,
    pub(super) configuration: String,
    /// Bits of the sampling rate, which is never negative.
    pub(super) sampling_rate_bits: u64,
    pub(super) engine: &'static str,
    pub(super) outcome: &'static str,
    pub(super) host: String,
}

impl Encoded {
    /// Encodes a sample.
    ///
    /// # Errors
    /// The sample has no JSON.
    pub fn new(sample: &Sample) -> Result<Self, serde_json::Error> {
        let (id, line) = (sample.id.to_string(), serde_json::to_string(sample)?);
        Ok(Self {
            mode: sample.workload.mode.as_str(),
            started_at_us: sample.started_at.as_microsecond(),
            secs: sample.completion_time_secs,
            run: RunKey::of(sample)?,
            id,
            line,
            sender: None,
        })
    }

    /// Returns the sample with the name of the token that sent it.
    #[must_use]
    pub fn sent_by(self, sender: Option<Arc<str>>) -> Self {
        Self { sender, ..self }
    }

    /// Returns the memory that the sample takes, bytes.
    pub fn size_bytes(&self) -> usize {
        size_of::<Self>() + self.id.len() + self.line.len() + self.run.size_bytes()
    }

    /// Returns the id of the sample.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl RunKey {
    pub(super) fn of(sample: &Sample) -> Result<Self, serde_json::Error> {
        Ok(Self {
            model: sample.workload.model.clone(),
            workload: serde_json::to_string(&sample.workload)?,
            configuration: serde_json::to_string(&sample.configuration)?,
            sampling_rate_bits: sample.sampling_rate.to_bits(),
            engine: sample.engine.as_str(),
            outcome: sample.outcome.as_str(),
            host: serde_json::to_string(&sample.host)?,
        })
    }

    /// Returns the context that the runs share with the other runs of their job.
    pub(super) fn context(&self) -> Result<Context, serde_json::Error> {
        let configuration = serde_json::from_str(&self.configuration)?;
        let engine = serde_json::from_value(self.engine.into())?;
        let host = serde_json::from_str(&self.host)?;
        Ok(Context::new(serde_json::from_str(&self.workload)?, &configuration, engine, &host))
    }

    /// Returns the size of its texts, bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.model.len() + self.workload.len() + self.configuration.len() + self.host.len()
    }

    pub(super) fn sampling_rate(&self) -> f64 {
        f64::from_bits(self.sampling_rate_bits)
    }
}
