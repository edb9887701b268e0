//! Similarity of names, for suggestions in messages.

/// Returns the number of letters to insert, delete or replace (Levenshtein).
///
/// ```
/// # use foreglow_shared::edit_distance;
/// assert_eq!(edit_distance("h1oo", "h100"), 2);
/// assert_eq!(edit_distance("", "steps"), 5);
/// ```
pub fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, of_other) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *of_other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
