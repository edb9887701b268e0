//! Sorting that is compiled once for all types and comparisons. `slice::sort_by`, and `collect`
//! into a set or a map, compile a sort for each of them, about 6 KB of machine code; they are for
//! code whose speed depends on sorting.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts stably, like `slice::sort_by`.
///
/// ```
/// let mut names = ["Foreglow", "is", "a", "planner"];
/// foreglow_shared::sort_by(&mut names, |a, b| a.len().cmp(&b.len()));
/// assert_eq!(names, ["a", "is", "planner", "Foreglow"]);
/// ```
pub fn sort_by<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let places = sorted(items.len(), &|a, b| order(&items[a], &items[b]));
    arrange(items, places);
}

/// Sorts stably, like `slice::sort`.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts stably, like `slice::sort_by_cached_key`.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    let keys: Vec<K> = items.iter().map(key).collect();
    arrange(items, sorted(items.len(), &|a, b| keys[a].cmp(&keys[b])));
}

/// Collects a set by single insertions.
pub fn set_of<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// Collects a map by single insertions; of equal keys, the last one counts.
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

/// Moves the item at `places[i]` to place i, for each i.
fn arrange<T>(items: &mut [T], mut places: Vec<usize>) {
    // Cycle by cycle; a place that holds its own index is done.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorting_equals_the_standard_library(items in prop::collection::vec((0..9_u8, any::<u16>()), 0..200)) {
            let sorted_by_theirs = |sort: fn(&mut Vec<(u8, u16)>)| {
                let mut items = items.clone();
                sort(&mut items);
                items
            };
            let mut ours = items.clone();
            sort_by(&mut ours, |a, b| b.0.cmp(&a.0));
            prop_assert_eq!(ours, sorted_by_theirs(|items| items.sort_by_key(|item| std::cmp::Reverse(item.0))));
            let mut ours = items.clone();
            sort_by_key(&mut ours, |item| item.0);
            prop_assert_eq!(ours, sorted_by_theirs(|items| items.sort_by_key(|item| item.0)));
            let mut ours = items.clone();
            sort(&mut ours);
            prop_assert_eq!(ours, sorted_by_theirs(|items| items.sort()));
            prop_assert_eq!(set_of(items.iter()), items.iter().collect());
            prop_assert_eq!(map_of(items.iter().copied()), items.iter().copied().collect());
        }
    }
}
