//! Output of a CNN.

/// Predicted classes and the loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// The class of each image.
    pub classes: Vec<i64>,
    /// The mean loss of the images, if requested.
    pub loss: Option<f32>,
}
