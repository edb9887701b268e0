//! Input of a job: images or texts, their sizes, and the preprocessing of images.

use std::path::Path;

use foreglow_architectures::{Colour, Input, USUAL_VECTOR_DIMS};
use foreglow_console::grammar::Channels;
use foreglow_data::images::{ChannelOrder, Normalisation, PixelRange};
use foreglow_data::texts::{self, Words};
use foreglow_data::{Drawing, Format, Kind, Source, identity};
use foreglow_exit::unusable;
use foreglow_shared::{DataSet, Resizing, TextInput};

use super::{WorkloadArgs, listed};

/// Default mini-batch size for inference.
const DEFAULT_BATCH_SIZE: u32 = 8;
/// Default number of images with generated data.
const DEFAULT_IMAGES: u64 = 3200;
const LARGEST_JOB: u64 = 1 << 32;
/// Default frequency rank of the last word in the vocabulary, that of BigDL.
const DEFAULT_VOCABULARY: u32 = 5000;

impl WorkloadArgs {
    /// Returns the normalisation of the images; `None` for the default one.
    pub(super) fn normalisation(&self, name: &str, input: &Input) -> anyhow::Result<Option<Normalisation>> {
        let Input::Images { colour, .. } = input else { return Ok(None) };
        let (order, range) = (self.channel_order.unwrap_or_default(), self.pixel_range.unwrap_or_default());
        if order == ChannelOrder::Bgr && *colour == Colour::Grey {
            return Err(unusable(format!("--channel-order bgr is for colour images, and {name} takes grey ones")));
        }
        let channels = colour.channels();
        let of = |option, given: &Option<Channels>| match given.as_ref().map(|Channels(numbers)| numbers.as_slice()) {
            None => Ok(None),
            Some([one]) => Ok(Some(vec![*one; channels])),
            Some(numbers) if numbers.len() == channels => Ok(Some(numbers.to_vec())),
            Some(numbers) => {
                let given = numbers.len();
                Err(unusable(format!("{option} has {given} numbers, and {name} takes grey images; give one number")))
            }
        };
        let usual = Normalisation::usual(*colour, ChannelOrder::default());
        let normalisation = match (of("--mean", &self.mean)?, of("--std", &self.std)?) {
            (Some(mean), Some(std)) => Normalisation { mean, std, pixel_range: range, channel_order: order },
            _ if range == PixelRange::Bytes => {
                return Err(unusable(
                    "--pixel-range 255 needs --mean and --std in these units; --mean 0 --std 1 passes the bytes on",
                ));
            }
            _ => Normalisation::usual(*colour, order),
        };
        Ok(Some(normalisation).filter(|normalisation| *normalisation != usual))
    }

    /// Returns the resizing of images to each of the sizes.
    pub(super) fn resizing(&self, sizes: &[(u32, u32)]) -> anyhow::Result<Resizing> {
        let largest = sizes.iter().map(|(px, _)| *px).max().unwrap_or(0);
        match self.resize_px {
            Some(px) if px < largest => Err(unusable(format!(
                "--resize-px is {px}, and no image of {largest} px can be cut out of it; give {largest} or more"
            ))),
            resize_px => Ok(Resizing {
                fit: self.resize.unwrap_or_default(),
                resize_px,
                interpolation: self.interpolation.unwrap_or_default(),
            }),
        }
    }

    /// Rejects image options for a text classifier, and vice versa.
    pub(super) fn check_input(&self, name: &str, input: &Input) -> anyhow::Result<()> {
        let (takes, other, given) = match input {
            Input::Images { .. } => (
                "images",
                "texts",
                vec![
                    ("--words", self.words.is_some()),
                    ("--vectors", self.vectors.is_some()),
                    ("--vocabulary", self.vocabulary.is_some()),
                    ("--draw texts", self.draw == Some(Drawing::Texts)),
                ],
            ),
            Input::Texts { .. } => (
                "texts",
                "images",
                vec![
                    ("--image-px", self.image_px.is_some()),
                    ("--mean", self.mean.is_some()),
                    ("--pixel-range", self.pixel_range.is_some()),
                    ("--channel-order", self.channel_order.is_some()),
                    ("--resize", self.resize.is_some()),
                    ("--resize-px", self.resize_px.is_some()),
                    ("--interpolation", self.interpolation.is_some()),
                    ("--data-format", self.data_format != Format::Auto),
                    ("--draw photographs", self.draw == Some(Drawing::Photographs)),
                    ("--draw digits", self.draw == Some(Drawing::Digits)),
                ],
            ),
        };
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(unusable(format!("{option} is for {other}, and {name} takes {takes}; leave it out")))
            }
            None => Ok(()),
        }
    }

    /// Returns the distinct combinations of input size, pixels or words, and batch size.
    pub(super) fn sizes(&self, name: &str, input: &Input) -> anyhow::Result<Vec<(u32, u32)>> {
        let (option, given, usual, range, noun, unit) = match input {
            Input::Images { default_px, px, .. } => ("--image-px", &self.image_px, *default_px, px, "images", "px"),
            Input::Texts { default_words, words } => ("--words", &self.words, *default_words, words, "texts", "words"),
        };
        if given.is_none() && usual == 0 {
            return Err(unusable(format!("{name} leaves the size of its images open; give {option}")));
        }
        let sizes = if given.is_none() { vec![usual] } else { listed(given).to_vec() };
        if let Some(size) = sizes.iter().find(|size| !range.contains(size)) {
            let (smallest, largest) = (range.start(), range.end());
            let choose = match smallest == largest {
                true => format!("leave {option} out: it takes {smallest} {unit}"),
                false => format!("choose {option} from {smallest} to {largest}"),
            };
            return Err(unusable(format!("{name} cannot take {noun} of {size} {unit}; {choose}")));
        }
        let batch_sizes =
            if self.batch_size.is_none() { vec![DEFAULT_BATCH_SIZE] } else { listed(&self.batch_size).to_vec() };
        Ok(sizes.iter().flat_map(|px| batch_sizes.iter().map(move |size| (*px, *size))).collect())
    }

    /// Returns the source of the data, its identity if it is the user's, and the number of items of
    /// the job.
    pub(super) fn data(&self, input: &Input) -> anyhow::Result<(Source, Option<DataSet>, u64)> {
        let usual = match input {
            Input::Images { .. } => Drawing::Photographs,
            Input::Texts { .. } => Drawing::Texts,
        };
        let source = match &self.data {
            Some(path) => self.source(path)?,
            None => Source::drawn(self.draw.unwrap_or(usual), self.cache_dir.as_deref())?,
        };
        let set = identity(&source)?;
        let images = self.images.or(set.as_ref().map(|set| set.items)).unwrap_or(DEFAULT_IMAGES);
        if images == 0 || images > LARGEST_JOB {
            return Err(unusable(format!("--images is {images}; give a number from 1 to {LARGEST_JOB}")));
        }
        Ok((source, set, images))
    }

    /// Returns the user's data set at a path.
    ///
    /// # Errors
    /// There is no data set for the CNN, or the word vectors are missing.
    pub fn source(&self, path: &Path) -> anyhow::Result<Source> {
        let network = self.network()?;
        if let Input::Images { .. } = network.input()? {
            return self.data_format.source(path);
        }
        if !path.exists() {
            let shown = path.display();
            return Err(unusable(format!("{shown} does not exist; give an existing folder of texts with --data")));
        }
        let Some(vectors) = self.vectors.clone() else {
            let name = network.name();
            return Err(unusable(format!(
                "{name} needs word vectors; give a GloVe file, such as glove.6B.200d.txt, with --vectors"
            )));
        };
        let vocabulary = self.vocabulary.unwrap_or(DEFAULT_VOCABULARY);
        Ok(Kind::Texts(Words { vectors, vocabulary }).at(path))
    }

    /// Returns the text part of a workload with the number of words left open; `None` for images.
    pub(super) fn text(&self, source: &Source) -> anyhow::Result<Option<TextInput>> {
        let drawn = TextInput { vector_dims: USUAL_VECTOR_DIMS as u32, ..TextInput::default() };
        Ok(match &source.kind {
            Kind::DrawnTexts => Some(drawn),
            Kind::Texts(Words { vectors, vocabulary }) => Some(TextInput {
                vector_dims: u32::try_from(texts::dims(vectors)?).unwrap_or(u32::MAX),
                vocabulary: Some(*vocabulary),
                vectors: Some(absolute(vectors)),
                ..drawn
            }),
            _ => None,
        })
    }
}

fn absolute(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}
