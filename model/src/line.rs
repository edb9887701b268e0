//! Simple linear regression.

/// The line y ≈ intercept + slope · x, by ordinary least squares, with Pearson's correlation
/// coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Slope, in units of y per unit of x.
    pub slope: f64,
    /// Intercept, in units of y.
    pub intercept: f64,
    /// Correlation coefficient, from −1 to 1; its square is the share of y's variance that x
    /// explains.
    pub r: f64,
}

/// Fits the line through the points `(x, y)`; `None` if all x or all y are equal.
///
/// ```
/// let line = foreglow_model::line_through(&[(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
/// assert_eq!((line.slope, line.intercept, line.r), (2.0, 1.0, 1.0));
/// ```
#[must_use]
pub fn line_through(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    if !(xx > 0.0 && yy > 0.0) {
        return None;
    }
    let slope = xy / xx;
    let r = (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0);
    Some(Line { slope, intercept: mean_y - slope * mean_x, r })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anscombe's first data set (The American Statistician 27:17, 1973): y = 3.00 + 0.500 x, r =
    /// 0.816.
    #[test]
    fn a_published_regression_is_reproduced() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<_> = x.into_iter().zip(y).collect();
        let line = line_through(&points).unwrap();
        assert!((line.slope - 0.5001).abs() < 1e-4 && (line.intercept - 3.0001).abs() < 1e-4, "{line:?}");
        assert!((line.r - 0.8164).abs() < 1e-4, "{line:?}");
    }

    #[test]
    fn without_variation_there_is_no_line() {
        assert_eq!(line_through(&[]), None);
        assert_eq!(line_through(&[(1.0, 2.0)]), None);
        assert_eq!(line_through(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(line_through(&[(1.0, 2.0), (2.0, 2.0)]), None);
    }

    #[test]
    fn a_falling_line_has_a_negative_coefficient() {
        assert_eq!(line_through(&[(0.0, 1.0), (1.0, 0.0)]).unwrap().r, -1.0);
    }
}
