//! What the user gives, and the reading of a file.

use foreglow_import::{Given, Import, Input, import};

#[allow(dead_code, reason = "training runs are described otherwise")]
/// Returns the description of an inference job, with further values.
pub fn given(more: &[(&str, &str)]) -> Given {
    let mut given = Given::default();
    let job = [
        ("model", "resnet18"),
        ("mode", "inference"),
        ("image_px", "64"),
        ("images", "20000"),
        ("batch_size", "32"),
        ("partition_size", "64"),
    ];
    job.iter().chain(more).for_each(|(name, value)| given.labels.set(name, *value));
    given.sampling_rates = vec![0.1];
    given
}

/// Returns the samples of a file and remarks, or the error.
pub fn read(text: impl AsRef<[u8]>, given: &Given) -> Result<Import, String> {
    import(Input::from_bytes(text.as_ref()), given).map_err(|error| error.to_string())
}
