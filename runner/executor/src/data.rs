//! Data of an executor's job, loaded once and shared by its threads.

use std::sync::Arc;

use anyhow::Context as _;
use burn::tensor::Device;
use foreglow_architectures::{Colour, Input, Shape};
use foreglow_cnn::Network;
use foreglow_data::images::{ChannelOrder, Normalisation};
use foreglow_data::{Decoder, Sample, images, texts};
use foreglow_protocol::Assignment;
use foreglow_shared::Resizing;

use super::loader::Loader;

/// Items for the CNN, with their decoding.
pub struct Data {
    /// The items in processing order.
    pub sample: Sample,
    /// The items that validate the CNN during training.
    pub validation: Option<Sample>,
    form: Form,
    /// Whether the CNN runs on the CPU.
    is_native: bool,
}

enum Form {
    Images { colour: Colour, px: u32, normalisation: Normalisation, resizing: Resizing },
    Texts { embedding: Arc<texts::Embedding>, words: usize },
}

impl Data {
    /// Opens the items, and for texts their word vectors.
    ///
    /// # Errors
    /// There are too few items, or the CNN does not accept them.
    pub fn open(job: &Assignment, network: &Network) -> anyhow::Result<Self> {
        let mut sample = job.source.sample(job.images, job.sampling_rate, job.seed)?;
        let validation = job.training.as_ref().map_or(0, |training| training.validation_images(sample.len()));
        let validation = match validation {
            0 => None,
            images => Some(Sample::new(job.source.open()?, sample.split_off(images))),
        };
        let embedding = job.source.embedding()?;
        let (name, noun) = (network.name(), job.source.noun());
        let form = match (network.input()?, embedding) {
            (Input::Images { colour, .. }, None) => {
                let usual = || Normalisation::usual(colour, ChannelOrder::default());
                let normalisation = job.normalisation.clone().unwrap_or_else(usual);
                let channels = colour.channels();
                anyhow::ensure!(
                    [&normalisation.mean, &normalisation.std].iter().all(|numbers| numbers.len() == channels),
                    "the normalisation of the job is not for {channels} channels"
                );
                Form::Images { colour, px: job.image_px, normalisation, resizing: job.resizing }
            }
            (Input::Texts { .. }, Some(embedding)) => {
                let words = job.words.context("the job does not have the number of words per text")? as usize;
                Form::Texts { embedding: Arc::new(embedding), words }
            }
            _ => anyhow::bail!("{name} cannot take {noun}"),
        };
        Ok(Self { sample, validation, form, is_native: job.place.is_native() })
    }

    /// Returns channels, height and width of an item in the CNN's input.
    pub fn shape(&self) -> Shape {
        match &self.form {
            Form::Images { colour, px, .. } => colour.shape(*px),
            Form::Texts { embedding, words } => [1, *words, embedding.dims()],
        }
    }

    /// Returns a decoder; each thread needs its own.
    pub fn decoder(&self) -> Decoder {
        match &self.form {
            Form::Images { colour, px, normalisation, resizing } => {
                let decoder = images::Decoder::with(*colour, *px, normalisation, *resizing);
                if self.is_native { Decoder::Image(decoder) } else { Decoder::ImageBytes(decoder) }
            }
            Form::Texts { embedding, words } => Decoder::Text(texts::Decoder::new(Arc::clone(embedding), *words)),
        }
    }

    /// Returns the loader that copies decoded items to a device without autodiff.
    pub fn loader(&self, device: &Device) -> Loader {
        let scales = match &self.form {
            Form::Images { normalisation, .. } if !self.is_native => Some(normalisation.scales()),
            Form::Images { .. } | Form::Texts { .. } => None,
        };
        Loader::new(device.clone(), self.shape(), scales)
    }
}
