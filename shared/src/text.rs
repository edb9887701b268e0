//! Text input of a workload, in place of images.

use serde::{Deserialize, Serialize};

use crate::Workload;

/// Name of the workload field that holds a [`TextInput`].
const FIELD: &str = "text";

/// Text input of a workload, its field `text`. The workload's `image_px` is then [`NO_IMAGE_PX`],
/// and `images` counts texts.
///
/// ```
/// # use foreglow_shared::{NO_IMAGE_PX, TextInput, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"text_cnn","mode":"inference","image_px":1,"images":18828,"epochs":1,
///         "batch_size":128,"text":{"words":500,"vector_dims":200,"vocabulary":5000,
///         "vectors":"glove.6B.200d.txt"}}"#,
/// )?;
/// assert_eq!(workload.image_px, NO_IMAGE_PX);
/// assert_eq!(workload.describe_data(), "18828 texts of 500 words");
/// let text = workload.text().unwrap();
/// workload.set_text(&TextInput { words: 100, ..text });
/// assert_eq!(workload.extra["text"]["words"], 100);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextInput {
    /// Words of each text that the CNN reads.
    pub words: u32,
    /// Dimensions of a word vector.
    pub vector_dims: u32,
    /// Size of the vocabulary; rarer words are ignored. `None` for generated texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u32>,
    /// Path of the file with the word vectors (its name in samples of earlier versions); `None` for
    /// generated texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
}

/// The `image_px` of a workload that has no images.
pub const NO_IMAGE_PX: u32 = 1;

impl Workload {
    /// Returns the text input; `None` if the inputs are images.
    pub fn text(&self) -> Option<TextInput> {
        TextInput::deserialize(self.extra.get(FIELD)?).ok()
    }

    /// Sets the text input.
    pub fn set_text(&mut self, text: &TextInput) {
        let value = serde_json::to_value(text).expect("a text input holds only numbers and strings");
        self.image_px = NO_IMAGE_PX;
        self.extra.insert(FIELD.to_owned(), value);
    }

    /// Returns the plural noun for the inputs: `texts` or `images`.
    pub fn noun(&self) -> &'static str {
        if self.text().is_some() { "texts" } else { "images" }
    }

    /// Returns the size of an input and its unit: the side of an image in `px`, or the length of a
    /// text in `words`.
    pub fn input_size(&self) -> (u32, &'static str) {
        self.text().map_or((self.image_px, "px"), |text| (text.words, "words"))
    }

    /// Describes the data: `2000 images of 32 px`, `18828 texts of 500 words`.
    pub fn describe_data(&self) -> String {
        let (size, unit) = self.input_size();
        format!("{} {} of {size} {unit}", self.images, self.noun())
    }
}
