//! The job of a sample.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::names::names;
use crate::{CommandTemplate, Fit, Interpolation, NO_IMAGE_PX, NumberFormat, Resizing, TextInput};

/// The `data` of generated digits.
const DRAWN_DIGITS: &str = "digits";

/// Units of the work of an application of Spark: what it reads, or else its tasks.
pub const APPLICATION_UNITS: [&str; 3] = ["bytes", "rows", "tasks"];

/// A CNN job: the model and its data.
///
/// The optional fields are absent for the defaults, so that such jobs stay comparable with samples
/// of earlier versions. Their order is alphabetical, like that of the unknown fields of a
/// [`Context`](crate::Context), on which its fingerprint depends.
///
/// ```
/// # use foreglow_shared::{NumberFormat, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"vgg16","mode":"inference","image_px":32,"images":9,"epochs":1,"batch_size":8,
///         "classes":10,"layout":"nchw"}"#,
/// )?;
/// assert_eq!((workload.classes, workload.number_format()), (Some(10), NumberFormat::F32));
/// assert_eq!(workload.extra["layout"], "nchw");
/// workload.set_number_format(NumberFormat::F16);
/// assert_eq!(workload.dtype, Some(NumberFormat::F16));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the CNN, such as `resnet18`.
    pub model: String,
    /// Inference or training.
    pub mode: Mode,
    /// Side of the square input image, pixels; 1 if the inputs are texts ([`Workload::text`]).
    pub image_px: u32,
    /// Number of images, texts or other units of work of the whole job (sampling rate 1).
    pub images: u64,
    /// Passes over the images.
    pub epochs: u32,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Mini-batches between two averages of the executors; `None` unless the job trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_every: Option<u32>,
    /// Whether the state of the optimiser is averaged too; `None` unless the job trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_optimizer_state: Option<bool>,
    /// Number of classes that the user chose; `None` for the CNN's own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<u32>,
    /// The user's own program, which does the job; `None` for a CNN that Foreglow runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandTemplate>,
    /// Absolute path of the user's data, or their name in samples of earlier versions; `digits`
    /// without a fingerprint for generated digits; `None` for other generated data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Hash of the names and sizes of the files of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_fingerprint: Option<String>,
    /// Name of the format of the data, as in `--data-format`, or `texts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_format: Option<String>,
    /// Images or texts in the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_items: Option<u64>,
    /// Number format of weights and activations; `None` for 32-bit floats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<NumberFormat>,
    /// Interpolation between pixels; `None` for bilinear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<Interpolation>,
    /// Absolute path of the file of the network; `None` for a built-in CNN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Hash of the content of the network's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_fingerprint: Option<String>,
    /// Optimiser of a training job: `sgd`, `sgd_momentum`, `adam` or that of another tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<String>,
    /// Treatment of images that are not square; `None` for the centre square.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize: Option<Fit>,
    /// Side to which images are resized before the CNN's input is cut out, pixels; `None` for the
    /// size of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize_px: Option<u32>,
    /// Images that a thread of a training job takes at once, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_size: Option<u32>,
    /// Text input; `None` if the inputs are images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextInput>,
    /// Plural noun for the units of work that `images` counts, such as `steps`; `None` for images
    /// or texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Share of the sample's images that a training job leaves out to validate the CNN after each
    /// epoch, in (0, 1); `None` if it trains on all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Fields of later versions, kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Mode of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Forward passes only.
    Inference,
    /// Forward, backward and update.
    Training,
}

/// A data set on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// Absolute path.
    pub path: String,
    /// Name of its format, as in `--data-format`, or `texts`.
    pub format: String,
    /// Images or texts in it.
    pub items: u64,
    /// Hash of the names and sizes of its files.
    pub fingerprint: String,
}

/// A network in a file. The workload's `model` is then the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkFile {
    /// Absolute path.
    pub path: String,
    /// Hash of its content.
    pub fingerprint: String,
}

names!(Mode { Inference => "inference", Training => "training" }, |text| "write inference or training".to_owned());

impl Workload {
    /// Returns a workload of one epoch in batches of one image, without optional fields.
    pub fn new(model: impl Into<String>, mode: Mode, image_px: u32, images: u64) -> Self {
        Self {
            model: model.into(),
            mode,
            image_px,
            images,
            epochs: 1,
            batch_size: 1,
            average_every: None,
            average_optimizer_state: None,
            classes: None,
            command: None,
            data: None,
            data_fingerprint: None,
            data_format: None,
            data_items: None,
            dtype: None,
            interpolation: None,
            network: None,
            network_fingerprint: None,
            optimizer: None,
            resize: None,
            resize_px: None,
            share_size: None,
            text: None,
            unit: None,
            validation: None,
            extra: Map::new(),
        }
    }

    /// Sets the data set.
    pub fn set_data_set(&mut self, set: DataSet) {
        let DataSet { path, format, items, fingerprint } = set;
        (self.data, self.data_format) = (Some(path), Some(format));
        (self.data_items, self.data_fingerprint) = (Some(items), Some(fingerprint));
    }

    /// Marks the data as generated digits.
    pub fn set_drawn_digits(&mut self) {
        self.data = Some(DRAWN_DIGITS.to_owned());
    }

    /// Returns whether the data are generated digits.
    pub fn has_drawn_digits(&self) -> bool {
        self.data.as_deref() == Some(DRAWN_DIGITS) && self.data_fingerprint.is_none()
    }

    /// Returns the path of the user's data (the name of the folder in samples of earlier versions);
    /// `None` for generated data.
    pub fn data_path(&self) -> Option<&str> {
        self.data.as_deref().filter(|_| !self.has_drawn_digits())
    }

    /// Returns the number format in which the CNN computes.
    pub fn number_format(&self) -> NumberFormat {
        self.dtype.unwrap_or_default()
    }

    /// Sets the number format.
    pub fn set_number_format(&mut self, format: NumberFormat) {
        self.dtype = Some(format).filter(|format| *format != NumberFormat::default());
    }

    /// Returns the resizing of images.
    pub fn resizing(&self) -> Resizing {
        Resizing {
            fit: self.resize.unwrap_or_default(),
            resize_px: self.resize_px,
            interpolation: self.interpolation.unwrap_or_default(),
        }
    }

    /// Sets the resizing of images.
    pub fn set_resizing(&mut self, resizing: Resizing) {
        let Resizing { fit, resize_px, interpolation } = resizing;
        self.resize = Some(fit).filter(|fit| *fit != Fit::default());
        self.resize_px = resize_px;
        self.interpolation = Some(interpolation).filter(|it| *it != Interpolation::default());
    }

    /// Returns the file of the network; `None` for a built-in CNN.
    pub fn network_file(&self) -> Option<NetworkFile> {
        Some(NetworkFile { path: self.network.clone()?, fingerprint: self.network_fingerprint.clone()? })
    }

    /// Sets the file of the network; `None` for a built-in CNN.
    pub fn set_network_file(&mut self, file: Option<NetworkFile>) {
        (self.network, self.network_fingerprint) = file.map(|file| (file.path, file.fingerprint)).unzip();
    }

    /// Sets the text input, in place of images.
    pub fn set_text(&mut self, text: TextInput) {
        self.image_px = NO_IMAGE_PX;
        self.text = Some(text);
    }

    /// Returns the plural noun for the units of work: `images`, `texts` or
    /// [`unit`](Self::unit).
    pub fn noun(&self) -> &str {
        self.unit.as_deref().unwrap_or(if self.text.is_some() { "texts" } else { "images" })
    }

    /// Returns the size of an input and its unit: the side of an image in `px`, or the length of a
    /// text in `words`.
    pub fn input_size(&self) -> (u32, &'static str) {
        self.text.as_ref().map_or((self.image_px, "px"), |text| (text.words, "words"))
    }

    /// Describes the job: `resnet18 inference`, or `train.py` for the user's own program or
    /// application, which may do anything.
    pub fn describe_job(&self) -> String {
        match self.command {
            None if !self.is_application() => format!("{} {}", self.model, self.mode.as_str()),
            _ => self.model.clone(),
        }
    }

    /// Whether the job is a whole application of Spark, whose work is what it reads.
    pub fn is_application(&self) -> bool {
        self.unit.as_deref().is_some_and(|unit| APPLICATION_UNITS.contains(&unit))
    }

    /// Returns the images that the whole job processes, over all epochs.
    pub fn images_processed(&self) -> f64 {
        self.images as f64 * f64::from(self.epochs)
    }

    /// Describes the data: `2000 images of 32 px`, `18828 texts of 500 words`, `5000 steps`.
    pub fn describe_data(&self) -> String {
        let (size, unit) = self.input_size();
        let work = format!("{} {}", self.images, self.noun());
        if self.unit.is_some() { work } else { format!("{work} of {size} {unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_written_as_in_earlier_versions() {
        let text = r#"{"model":"lenet5","mode":"inference","image_px":32,"images":8,"epochs":1,"batch_size":8}"#;
        let mut workload: Workload = serde_json::from_str(text).unwrap();
        for fit in Fit::ALL {
            for (interpolation, resize_px) in Interpolation::ALL.into_iter().zip([None, Some(256)].into_iter().cycle())
            {
                let resizing = Resizing { fit, resize_px, interpolation };
                workload.set_resizing(resizing);
                assert_eq!(workload.resizing(), resizing);
            }
        }
        for format in NumberFormat::ALL {
            workload.set_number_format(format);
            assert_eq!(workload.number_format(), format);
        }
        workload.set_resizing(Resizing::default());
        workload.set_number_format(NumberFormat::F32);
        workload.set_network_file(Some(NetworkFile { path: "/nets/a.onnx".into(), fingerprint: "00".into() }));
        workload.set_network_file(None);
        assert_eq!(serde_json::to_string(&workload).unwrap(), text);
    }

    #[test]
    fn a_unit_of_work_takes_the_place_of_images() {
        let mut workload = Workload::new("trainer.py", Mode::Training, 1, 5000);
        assert_eq!(workload.describe_data(), "5000 images of 1 px");
        workload.unit = Some("steps".into());
        assert_eq!((workload.noun(), workload.describe_data().as_str()), ("steps", "5000 steps"));
    }
}
