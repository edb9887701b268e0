//! Sorting that is compiled once, for lists that are no inner loop's: each order that `slice::sort_by` is given is several
//! KB of the page, of which sorting was a tenth.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Sorts as `slice::sort_by` does: equal ones keep their order.
///
/// ```
/// let mut names = ["Foreglow", "is", "a", "planner"];
/// foreglow_shared::sort_by(&mut names, |a, b| a.len().cmp(&b.len()));
/// assert_eq!(names, ["a", "is", "planner", "Foreglow"]);
/// ```
pub fn sort_by<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let mut places = sorted(items.len(), &|a, b| order(&items[a], &items[b]));
    // Along each cycle of the permutation; a place that holds its own number is done.
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

/// Sorts as `slice::sort` does.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Collects a map, one entry after the other: `collect` sorts them first.
pub fn map_of<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// The places of a list's items in their order.
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
        fn what_is_sorted_is_as_the_standard_library_sorts_it(items in prop::collection::vec((0..9_u8, any::<u16>()), 0..200)) {
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
