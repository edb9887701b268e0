//! `--upload` of the commands that measure.

use foreglow_collector::address::url;
use foreglow_collector::upload::Background;
use foreglow_console::progress::Progress;
use foreglow_shared::Sample;

/// Argument for the collector to send samples to.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct UploadArgs {
    /// Collector to send each sample to as well, such as 127.0.0.1:8787
    #[arg(long, value_name = "URL", value_parser = url, help_heading = "Output")]
    upload: Option<String>,
}

/// Upload of the samples of one command, if the user wants it.
pub struct Upload(Option<Background>);

impl UploadArgs {
    /// Returns whether samples are sent to a collector.
    pub fn is_given(&self) -> bool {
        self.upload.is_some()
    }

    /// Starts the upload.
    ///
    /// # Errors
    /// As for [`Background::start`].
    pub fn start(&self) -> anyhow::Result<Upload> {
        self.upload.as_deref().map(Background::start).transpose().map(Upload)
    }
}

impl Upload {
    /// Sends a sample in the background. A failure does not stop the measurement, because the
    /// sample is saved locally.
    pub fn send(&mut self, sample: &Sample, progress: &Progress) {
        if let Some(Err(error)) = self.0.as_mut().map(|background| background.send(sample)) {
            progress.line(&format!("warning: {error:#}"));
        }
    }

    /// Waits a few seconds for the last samples, and reports the result.
    pub fn finish(self) {
        if let Some(background) = self.0 {
            background.finish();
        }
    }
}
