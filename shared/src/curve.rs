//! Progress of one run over time.

use serde::{Deserialize, Serialize};

/// Maximum number of points of a [`Curve`].
pub const MOST_CURVE_POINTS: usize = 512;
/// Maximum work of a curve: counts up to here are exact as `f64`.
const MOST_WORK: f64 = 9e15;

/// The work that a run had done, over time: what a program reported while it ran.
///
/// ```
/// use foreglow_shared::Curve;
///
/// let curve: Curve = serde_json::from_str(
///     r#"{"unit":"steps","of":100.0,"points":[[3.5,1.0],[4.0,2.0]]}"#,
/// )?;
/// assert_eq!(curve.last(), Some((4.0, 2.0)));
/// assert!(curve.is_valid());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Plural noun for the units of work, such as `steps`, `images` or `epochs`.
    pub unit: String,
    /// Units of the whole job, if the program reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<f64>,
    /// Units of one epoch, if the program counts them again in each epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_epoch: Option<f64>,
    /// Seconds since the start of the program, and units done by then; both ascending, at most
    /// [`MOST_CURVE_POINTS`].
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// Returns the last point: seconds and units done.
    pub fn last(&self) -> Option<(f64, f64)> {
        self.points.last().copied()
    }

    /// Returns the time before the first unit of work, seconds: the first report, less the time
    /// that its work takes at the mean pace of the others. `None` without two reports.
    ///
    /// ```
    /// use foreglow_shared::Curve;
    ///
    /// // 10 steps a second from the second 3 on, reported every 5 steps.
    /// let points = vec![(3.5, 5.0), (4.0, 10.0), (4.5, 15.0)];
    /// let curve = Curve { unit: "steps".into(), of: None, per_epoch: None, points };
    /// assert!((curve.startup_secs().unwrap() - 3.0).abs() < 1e-9);
    /// ```
    pub fn startup_secs(&self) -> Option<f64> {
        let (&(first, done), &(last, all)) = (self.points.first()?, self.points.last()?);
        let pace = (last - first) / (all - done);
        (pace.is_finite() && last > first).then(|| (first - done * pace).max(0.0))
    }

    /// Returns the units of the whole job: those reported, or those of `epochs` epochs.
    pub fn whole(&self, epochs: Option<u32>) -> Option<f64> {
        self.of.or_else(|| match (self.unit.as_str(), self.per_epoch, epochs) {
            (_, Some(units), Some(epochs)) => Some(units * f64::from(epochs)),
            ("epochs", None, Some(epochs)) => Some(f64::from(epochs)),
            _ => None,
        })
    }

    /// Whether all values are finite and in range, and the points ascend.
    pub fn is_valid(&self) -> bool {
        let in_range = |units: f64| (0.0..=MOST_WORK).contains(&units);
        let is_count = |units: Option<f64>| units.is_none_or(|units| units > 0.0 && in_range(units));
        !self.unit.trim().is_empty()
            && self.unit.len() <= 100
            && is_count(self.of)
            && is_count(self.per_epoch)
            && self.points.len() <= MOST_CURVE_POINTS
            && self.points.iter().all(|(secs, done)| (0.0..=1e9).contains(secs) && in_range(*done))
            && self.points.is_sorted_by(|before, after| before.0 <= after.0 && before.1 < after.1)
    }
}
