//! Error measures of predictions.

/// Why an error measure is undefined.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// The lists are empty.
    #[error("there is nothing to compare; give at least one measured time")]
    Empty,
    /// The lists differ in length.
    #[error("there are {actual} measured and {predicted} predicted times; give one prediction for each measured time")]
    Length {
        /// Number of measured times.
        actual: usize,
        /// Number of predicted times.
        predicted: usize,
    },
    /// A measured time is not above 0, so that no relative error exists.
    #[error("a measured time is {0} s; it must be a number of seconds above 0")]
    Actual(f64),
    /// A prediction is not finite.
    #[error("a predicted time is {0} s; leave out unknown predictions, and report how many there are")]
    Predicted(f64),
}

/// Returns the mean absolute percentage error, 100/N · Σ|t − t̂|/t, in percent (the paper, §5.5).
/// Accuracy is 100 − MAPE.
///
/// `actual` and `predicted` are completion times in the same unit and order.
///
/// # Errors
/// [`MetricError`]: the lists are empty or differ in length, a measured time is not above 0, or a
/// prediction is not finite.
///
/// ```
/// assert_eq!(foreglow_numeric::mape(&[100.0, 200.0], &[90.0, 200.0]), Ok(5.0));
/// ```
pub fn mape(actual: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
    if actual.len() != predicted.len() {
        return Err(MetricError::Length { actual: actual.len(), predicted: predicted.len() });
    }
    if actual.is_empty() {
        return Err(MetricError::Empty);
    }
    if let Some(time) = actual.iter().find(|time| !(time.is_finite() && **time > 0.0)) {
        return Err(MetricError::Actual(*time));
    }
    if let Some(time) = predicted.iter().find(|time| !time.is_finite()) {
        return Err(MetricError::Predicted(*time));
    }
    // Sums in ascending order, so that the order of the rows does not change the result.
    let mut errors: Vec<f64> = actual.iter().zip(predicted).map(|(t, p)| (t - p).abs() / t).collect();
    errors.sort_unstable_by(f64::total_cmp);
    Ok(100.0 * errors.iter().sum::<f64>() / actual.len() as f64)
}
