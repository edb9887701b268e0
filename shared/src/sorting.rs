//! Sorting with one compiled sort for all types.
//!
//! The standard library compiles a sort of 2 to 6 KB for each type and order. Here only the
//! exchange of elements is compiled for each type, which keeps the page small.

use std::cmp::Ordering;

/// Sorts items; equal ones keep their order. For short lists: each comparison is a call.
///
/// ```
/// use foreglow_shared::sort_by;
///
/// let mut names = ["b2", "a", "b1"];
/// sort_by(&mut names, |one, other| one[..1].cmp(&other[..1]));
/// assert_eq!(names, ["a", "b2", "b1"]);
/// ```
pub fn sort_by<T>(items: &mut [T], mut order: impl FnMut(&T, &T) -> Ordering) {
    let sorted = places(items.len(), &mut |one, other| order(&items[one], &items[other]));
    arrange(items, sorted);
}

/// Like [`sort_by`], by a key that is computed once for each item.
pub fn sort_by_cached_key<T, K: Ord>(items: &mut [T], key: impl FnMut(&T) -> K) {
    let keys: Vec<K> = items.iter().map(key).collect();
    let sorted = places(items.len(), &mut |one, other| keys[one].cmp(&keys[other]));
    arrange(items, sorted);
}

/// Returns the different ones of these items, ascending: a small set.
///
/// ```
/// assert_eq!(foreglow_shared::distinct([3, 1, 3]), [1, 3]);
/// ```
pub fn distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    sort_by(&mut items, Ord::cmp);
    items.dedup();
    items
}

/// Returns the places of the items in sorted order.
fn places(count: usize, order: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| order(*one, *other));
    places
}

/// Moves the item at `places[i]` to `i`, for each `i`.
fn arrange<T>(items: &mut [T], mut places: Vec<usize>) {
    for start in 0..places.len() {
        // Each place that was filled is set to itself, so that every cycle is followed once.
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{distinct, sort_by, sort_by_cached_key};

    proptest! {
        #[test]
        fn the_order_is_that_of_the_standard_sort(items in prop::collection::vec((0_u8..6, any::<u8>()), 0..40)) {
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let (mut one, mut other) = (items.clone(), items);
            sort_by(&mut one, |a, b| a.0.cmp(&b.0));
            sort_by_cached_key(&mut other, |item| item.0);
            prop_assert_eq!(&one, &expected);
            prop_assert_eq!(&other, &expected);
            let set: BTreeSet<(u8, u8)> = one.iter().copied().collect();
            prop_assert_eq!(distinct(one), Vec::from_iter(set));
        }
    }
}
