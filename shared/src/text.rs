//! What a workload of texts says where one of images says the side of an image.

use serde::{Deserialize, Serialize};

use crate::Workload;

/// The workload's field of a [`TextInput`].
const FIELD: &str = "text";

/// The texts of a workload: its field `text`. The workload's `image_px` is [`NO_IMAGE_PX`] then, and its `images` are texts.
///
/// ```
/// # use foreglow_shared::{NO_IMAGE_PX, TextInput, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"text_cnn","mode":"inference","image_px":1,"images":18828,"epochs":1,"batch_size":128,
///         "text":{"words":500,"vector_dims":200,"vocabulary":5000,"vectors":"glove.6B.200d.txt"}}"#,
/// )?;
/// assert_eq!((workload.image_px, workload.describe_data().as_str()), (NO_IMAGE_PX, "18828 texts of 500 words"));
/// let text = workload.text().unwrap();
/// workload.set_text(&TextInput { words: 100, ..text });
/// assert_eq!(workload.extra["text"]["words"], 100);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextInput {
    /// Words of each text that the CNN sees.
    pub words: u32,
    /// Numbers of each word's vector.
    pub vector_dims: u32,
    /// Place in the order of frequency of the last word that counts; `None` of texts that Foreglow drew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u32>,
    /// Path of the file of the vectors, or of an earlier version's sample its name; `None` of texts that Foreglow drew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
}

/// The `image_px` of a workload that has no images.
pub const NO_IMAGE_PX: u32 = 1;

impl Workload {
    /// Its texts; `None` where it has images.
    pub fn text(&self) -> Option<TextInput> {
        TextInput::deserialize(self.extra.get(FIELD)?).ok()
    }

    /// Says what texts it has.
    pub fn set_text(&mut self, text: &TextInput) {
        let value = serde_json::to_value(text).expect("a text input holds only numbers and strings");
        self.image_px = NO_IMAGE_PX;
        self.extra.insert(FIELD.to_owned(), value);
    }

    /// What its `images` are, as a word for many of them.
    pub fn noun(&self) -> &'static str {
        if self.text().is_some() { "texts" } else { "images" }
    }

    /// How large each of them is, and in what: the side of an image in pixels, or the words of a text.
    pub fn input_size(&self) -> (u32, &'static str) {
        self.text().map_or((self.image_px, "px"), |text| (text.words, "words"))
    }

    /// `2000 images of 32 px`, `18828 texts of 500 words`.
    pub fn describe_data(&self) -> String {
        let (size, unit) = self.input_size();
        format!("{} {} of {size} {unit}", self.images, self.noun())
    }
}
