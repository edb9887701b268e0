//! Text input of a workload, in place of images.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
/// let text = workload.text.clone().unwrap();
/// workload.set_text(TextInput { words: 100, ..text });
/// assert_eq!(workload.describe_data(), "18828 texts of 100 words");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextInput {
    /// Dimensions of a word vector.
    pub vector_dims: u32,
    /// Path of the file with the word vectors (its name in samples of earlier versions); `None` for
    /// generated texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
    /// Size of the vocabulary; rarer words are ignored. `None` for generated texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u32>,
    /// Words of each text that the CNN reads.
    pub words: u32,
    /// Fields of later versions, kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The `image_px` of a workload that has no images.
pub const NO_IMAGE_PX: u32 = 1;
