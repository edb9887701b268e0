//! The intervals between the points of a curve.

use foreglow_numeric::median;

/// Work between two points of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    /// Units done before.
    pub from: f64,
    /// Units.
    pub units: f64,
    /// Seconds.
    pub secs: f64,
}

impl Part {
    pub fn secs_per_unit(&self) -> f64 {
        self.secs / self.units
    }

    pub fn to(&self) -> f64 {
        self.from + self.units
    }
}

/// Returns the intervals between points, which ascend in both coordinates.
pub(crate) fn parts(points: &[(f64, f64)]) -> Vec<Part> {
    let part =
        |pair: &[(f64, f64)]| Part { from: pair[0].1, units: pair[1].1 - pair[0].1, secs: pair[1].0 - pair[0].0 };
    points.windows(2).map(part).collect()
}

/// Returns the median time of a unit.
pub(crate) fn typical_secs(parts: &[Part]) -> f64 {
    median(parts.iter().map(Part::secs_per_unit))
}

/// Divides work into equal blocks and returns the time per unit of each, interpolated between the
/// points.
pub(crate) fn blocks(parts: &[Part], count: usize) -> Vec<f64> {
    let units: f64 = parts.iter().map(|part| part.units).sum();
    let size = units / count as f64;
    let mut blocks = vec![0.0; count];
    let (mut block, mut room) = (0, size);
    for part in parts {
        let mut left = part.units;
        while left > room && block + 1 < count {
            blocks[block] += room * part.secs_per_unit();
            left -= room;
            (block, room) = (block + 1, size);
        }
        blocks[block] += left * part.secs_per_unit();
        room -= left;
    }
    blocks.iter().map(|secs| secs / size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_all_the_time_whatever_the_points() {
        let parts = parts(&[(0.0, 0.0), (3.0, 1.0), (4.0, 2.0), (16.0, 8.0)]);
        assert_eq!(blocks(&parts, 2), [2.0, 2.0]);
        assert_eq!(blocks(&parts, 8), [3.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(typical_secs(&parts), 2.0);
    }
}
