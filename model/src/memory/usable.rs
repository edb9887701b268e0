//! The usable share of a memory bound, learned from batches that fitted and that did not.

/// Result of a search for the largest batch: the largest need that fitted a bound, and the next
/// one, which did not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    /// Computed need of the largest batch that fitted, as a share of the bound; 0 if none did.
    pub fitted: f64,
    /// Computed need of the next larger batch, which did not fit; infinite if no larger one was
    /// tried.
    pub failed: f64,
}

/// Share of a bound that the computed need of a batch may reach. The computation leaves out the
/// rest: the driver's context, work space of kernels, fragmentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsableMemory {
    /// A batch with at most this need almost always fits.
    pub surely: f64,
    /// Best separation between batches that fitted and batches that did not.
    pub expected: f64,
    /// A batch with a larger need rarely fits.
    pub at_most: f64,
}

impl UsableMemory {
    /// Learns the shares. `risk` is the share of the brackets in which an answer by `surely` may
    /// name a batch that did not fit, and one by `at_most` too small a batch.
    ///
    /// The quantiles are empirical, without a fitted distribution: a few networks need far more
    /// than computed, and a fitted spread would make every answer pessimistic. `None` if no batch
    /// failed or none fitted.
    pub fn fit(brackets: &[Bracket], risk: f64) -> Option<Self> {
        let is_usable = |bracket: &&Bracket| bracket.fitted >= 0.0 && bracket.failed > bracket.fitted;
        let brackets: Vec<&Bracket> = brackets.iter().filter(is_usable).collect();
        let sorted = |of: fn(&Bracket) -> f64| {
            let mut values: Vec<f64> = brackets.iter().map(|bracket| of(bracket)).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let (failed, fitted) = (sorted(|bracket| bracket.failed), sorted(|bracket| bracket.fitted));
        let allowed = (risk * brackets.len() as f64).max(0.0) as usize;
        let first = failed.get(allowed).copied().filter(|share| share.is_finite())?;
        let last = fitted.iter().rev().nth(allowed).copied().filter(|share| *share > 0.0)?;
        let wrong = |share: f64| {
            failed.partition_point(|failed| *failed <= share) + fitted.len()
                - fitted.partition_point(|fitted| *fitted <= share)
        };
        // All shares between two neighbouring ends of brackets separate equally well.
        let mut ends: Vec<f64> = failed.iter().chain(&fitted).copied().filter(|end| end.is_finite()).collect();
        ends.sort_unstable_by(f64::total_cmp);
        let middles = ends.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
        let expected = middles.min_by_key(|middle| wrong(*middle))?;
        // Just below the first failure beyond the allowed risk.
        let surely = (first * (1.0 - f64::EPSILON)).min(expected);
        Some(Self { surely, expected, at_most: last.max(expected) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brackets() -> Vec<Bracket> {
        // Needs of 0.60 to 0.88 fitted, and four thirds of them did not.
        let bracket = |place: u32| {
            let fitted = 0.68 + 0.002 * f64::from(place);
            Bracket { fitted, failed: fitted * 4.0 / 3.0 }
        };
        (0..100).map(bracket).collect()
    }

    #[test]
    fn the_share_lies_between_what_fitted_and_what_did_not() {
        let usable = UsableMemory::fit(&brackets(), 0.0).unwrap();
        // The largest that fitted is 0.878, the smallest that did not 0.907.
        assert!((0.878..0.907).contains(&usable.expected), "{usable:?}");
        assert!(usable.surely <= usable.expected && usable.expected <= usable.at_most, "{usable:?}");
    }

    #[test]
    fn few_networks_that_need_more_than_computed_do_not_move_the_share() {
        let mut brackets = brackets();
        brackets.push(Bracket { fitted: 0.4, failed: 0.55 });
        let cautious = UsableMemory::fit(&brackets, 0.0).unwrap();
        assert!(cautious.surely < 0.55, "{cautious:?}");
        let usable = UsableMemory::fit(&brackets, 0.01).unwrap();
        assert!((0.87..0.907).contains(&usable.surely), "{usable:?}");
    }

    #[test]
    fn without_a_failure_or_a_success_nothing_is_known() {
        assert_eq!(UsableMemory::fit(&[], 0.01), None);
        assert_eq!(UsableMemory::fit(&[Bracket { fitted: 0.5, failed: f64::INFINITY }], 0.01), None);
        assert_eq!(UsableMemory::fit(&[Bracket { fitted: 0.0, failed: 0.5 }], 0.01), None);
    }
}
