//! Sorting that is instantiated once, for code that is not performance critical: every comparator
//! passed to `slice::sort_by` adds several KB of wasm to the page.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Sorts stably, like `slice::sort_by`.
///
/// ```
/// let mut names = ["Foreglow", "is", "a", "planner"];
/// foreglow_shared::sort_by(&mut names, |a, b| a.len().cmp(&b.len()));
/// assert_eq!(names, ["a", "is", "planner", "Foreglow"]);
/// ```
pub fn sort_by<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let mut places = sorted(items.len(), &|a, b| order(&items[a], &items[b]));
    // Applies the permutation cycle by cycle; a place that holds its own index is done.
    for start in 0..places.len() {
        let mut at = start;
        while places[at] != start {
            let next = places[at];
            items.swap(at, next);
            places[at] = at;
            at = next;
        }
        places[at] = at;
    }
}

/// Sorts stably, like `slice::sort`.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Collects a map by single insertions; `collect` would instantiate a sort for each type.
pub fn map_of<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// Returns the indices of the items in sorted order.
fn sorted(count: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|a, b| order(*a, *b));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorting_equals_the_standard_library(items in prop::collection::vec((0..9_u8, any::<u16>()), 0..200)) {
            let (mut ours, mut theirs) = (items.clone(), items.clone());
            sort_by(&mut ours, |a, b| b.0.cmp(&a.0));
            theirs.sort_by_key(|item| std::cmp::Reverse(item.0));
            prop_assert_eq!(ours, theirs);
            let (mut ours, mut theirs) = (items.clone(), items);
            sort(&mut ours);
            theirs.sort();
            prop_assert_eq!(ours, theirs);
        }
    }
}
