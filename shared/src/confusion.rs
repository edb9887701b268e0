//! Classification quality of a CNN: confusion matrix, precision, recall and F1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Confusion matrix: images by true and predicted class. Serialised as rows of true class,
/// predicted class and count, without rows of count 0.
///
/// ```
/// # use foreglow_shared::Confusion;
/// let mut confusion = Confusion::default();
/// for (truth, predicted) in [(0, 0), (0, 0), (0, 1), (1, 1)] {
///     confusion.add(truth, predicted);
/// }
/// assert_eq!(serde_json::to_string(&confusion)?, "[[0,0,2],[0,1,1],[1,1,1]]");
/// let classes = confusion.classes();
/// assert_eq!((classes[0].precision, classes[0].recall), (1.0, 2.0 / 3.0));
/// assert_eq!((classes[1].precision, classes[1].recall), (0.5, 1.0));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u32, u32, u64)>", into = "Vec<(u32, u32, u64)>")]
pub struct Confusion(BTreeMap<(u32, u32), u64>);

/// Quality of the classification of one class. A share of 0 images is 0, as in scikit-learn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassQuality {
    /// Number of the class.
    pub class: u32,
    /// Images of the class.
    pub images: u64,
    /// Share of the images predicted as this class that belong to it.
    pub precision: f64,
    /// Share of the images of this class that are predicted as it.
    pub recall: f64,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
}

impl Confusion {
    /// Counts an image.
    pub fn add(&mut self, truth: u32, predicted: u32) {
        *self.0.entry((truth, predicted)).or_default() += 1;
    }

    /// Adds the counts of another matrix.
    pub fn merge(&mut self, other: &Self) {
        for (place, count) in &other.0 {
            *self.0.entry(*place).or_default() += count;
        }
    }

    /// Whether no image is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of images of a class that are predicted as another, or as itself.
    pub fn count(&self, truth: u32, predicted: u32) -> u64 {
        self.0.get(&(truth, predicted)).copied().unwrap_or(0)
    }

    /// Returns the quality of each class that is the true or the predicted class of an image.
    pub fn classes(&self) -> Vec<ClassQuality> {
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for ((truth, predicted), count) in &self.0 {
            sums.entry(*truth).or_default().0 += count;
            sums.entry(*predicted).or_default().1 += count;
        }
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let quality = |(class, (images, predicted)): (u32, (u64, u64))| {
            let correct = self.count(class, class);
            let (precision, recall) = (share(correct, predicted), share(correct, images));
            // 2PR ÷ (P + R), in counts.
            ClassQuality { class, images, precision, recall, f1: share(2 * correct, images + predicted) }
        };
        sums.into_iter().map(quality).collect()
    }

    /// Returns the means of precision, recall and F1 over the classes, each with the same weight;
    /// `None` without images.
    pub fn macro_average(&self) -> Option<[f64; 3]> {
        let classes = self.classes();
        let mean = |of: fn(&ClassQuality) -> f64| classes.iter().map(of).sum::<f64>() / classes.len() as f64;
        (!classes.is_empty()).then(|| [mean(|it| it.precision), mean(|it| it.recall), mean(|it| it.f1)])
    }
}

impl From<Vec<(u32, u32, u64)>> for Confusion {
    fn from(rows: Vec<(u32, u32, u64)>) -> Self {
        Self(rows.into_iter().map(|(truth, predicted, count)| ((truth, predicted), count)).collect())
    }
}

impl From<Confusion> for Vec<(u32, u32, u64)> {
    fn from(confusion: Confusion) -> Self {
        confusion.0.into_iter().map(|((truth, predicted), count)| (truth, predicted, count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scikit-learn's `precision_recall_fscore_support` of the labels [0, 0, 1, 1, 1, 2] and the
    /// predictions [0, 1, 1, 1, 3, 1] with `zero_division=0`.
    #[test]
    fn precision_recall_and_f1_are_those_of_scikit_learn() {
        let mut confusion = Confusion::default();
        for (truth, predicted) in [(0, 0), (0, 1), (1, 1), (1, 1), (1, 3), (2, 1)] {
            confusion.add(truth, predicted);
        }
        let classes = confusion.classes();
        let near = |found: [f64; 3], expected: [f64; 3]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} and {expected:?}");
        };
        let of = |class: usize| [classes[class].precision, classes[class].recall, classes[class].f1];
        near(of(0), [1.0, 0.5, 2.0 / 3.0]);
        near(of(1), [0.5, 2.0 / 3.0, 4.0 / 7.0]);
        near(of(2), [0.0; 3]);
        near(of(3), [0.0; 3]);
        assert_eq!(classes.iter().map(|it| it.images).collect::<Vec<_>>(), [2, 3, 1, 0]);
        near(confusion.macro_average().unwrap(), [0.375, 7.0 / 24.0, 13.0 / 42.0]);
        assert_eq!(Confusion::default().macro_average(), None);
    }

    #[test]
    fn matrices_of_parts_add_up_and_survive_their_json() {
        let (mut whole, mut part) = (Confusion::default(), Confusion::default());
        whole.add(1, 2);
        part.add(1, 2);
        part.add(0, 0);
        whole.merge(&part);
        assert_eq!((whole.count(1, 2), whole.count(0, 0), whole.count(2, 1)), (2, 1, 0));
        let json = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Confusion>(&json).unwrap(), whole);
    }
}
