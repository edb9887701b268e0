//! What a CNN answers.

/// Predicted classes and the loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Grades {
    /// The class of each image.
    pub classes: Vec<i64>,
    /// The mean loss of the images, if it was asked for.
    pub loss: Option<f32>,
}
