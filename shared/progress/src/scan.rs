//! Numbers, words and fractions in a line.

use memchr::{memchr_iter, memmem};

/// A number of units done, of a total: `450/1000`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fraction {
    /// Position of its first byte.
    pub start: usize,
    /// Position after its last byte.
    pub end: usize,
    pub step: f64,
    /// `None` for an unknown total, `450/?`.
    pub of: Option<f64>,
}

/// Returns the fractions of a line: two numbers with a slash, which are not part of a path, a date
/// or a rate.
pub(crate) fn fractions(line: &[u8]) -> impl Iterator<Item = Fraction> {
    memchr_iter(b'/', line).filter_map(|slash| fraction(line, slash, slash + 1))
}

/// Returns the first fraction with words, `450 of 1000`.
pub(crate) fn spoken_fraction(line: &[u8]) -> Option<Fraction> {
    memmem::find_iter(line, b" of ").find_map(|word| fraction(line, word, word + 4))
}

fn fraction(line: &[u8], left: usize, right: usize) -> Option<Fraction> {
    let end = left - line[..left].iter().rev().take_while(|byte| **byte == b' ').count();
    let (step, start) = number_before(line, end)?;
    let right = right + spaces(&line[right..]);
    let (of, end) = match line.get(right) {
        Some(b'?') => (None, right + 1),
        _ => number_at(line, right).map(|(of, end)| (Some(of), end))?,
    };
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'\\' | b'_');
    let is_cut_off = |byte: &u8| is_inner(byte) || *byte == b'.';
    let starts_freely = start == 0 || !is_cut_off(&line[start - 1]);
    let ends_freely = line.get(end).is_none_or(|byte| !is_inner(byte));
    (starts_freely && ends_freely && of.is_none_or(|of| of > 0.0 && step <= of)).then_some(Fraction {
        start,
        end,
        step,
        of,
    })
}

pub(crate) fn spaces(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Returns the number that starts here, with separators of thousands and the units of tqdm, and
/// the position after it.
pub(crate) fn number_at(line: &[u8], start: usize) -> Option<(f64, usize)> {
    let rest = line.get(start..)?;
    let is_part = |(place, byte): &(usize, &u8)| match byte {
        b'0'..=b'9' => true,
        b'.' => rest.get(place + 1).is_some_and(u8::is_ascii_digit),
        b',' => {
            rest.get(place + 1..place + 4).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
                && !rest.get(place + 4).is_some_and(u8::is_ascii_digit)
        }
        _ => false,
    };
    let length = rest.iter().enumerate().take_while(is_part).count();
    let mut end = start + length;
    let mut value = parse(&rest[..length])?;
    let is_unit_last = !rest.get(length + 1).is_some_and(u8::is_ascii_alphanumeric);
    if let Some(factor) = rest.get(length).and_then(factor).filter(|_| is_unit_last) {
        value *= factor;
        end += 1;
    }
    Some((value, end))
}

/// Returns the number that ends before `end`, and the position of its first byte.
fn number_before(line: &[u8], end: usize) -> Option<(f64, usize)> {
    let (factor, digits_end) = match line[..end].last().and_then(factor) {
        Some(factor) => (factor, end - 1),
        None => (1.0, end),
    };
    let is_part = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
    let length = line[..digits_end].iter().rev().take_while(is_part).count();
    let start = digits_end - length;
    Some((parse(&line[start..digits_end])? * factor, start))
}

fn factor(byte: &u8) -> Option<f64> {
    match byte {
        b'k' | b'K' => Some(1e3),
        b'M' => Some(1e6),
        b'G' => Some(1e9),
        _ => None,
    }
}

fn parse(digits: &[u8]) -> Option<f64> {
    if digits.len() > 24 || !digits.first()?.is_ascii_digit() {
        return None;
    }
    // Most numbers are short integers.
    if digits.len() < 16 && digits.iter().all(u8::is_ascii_digit) {
        return Some(digits.iter().fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0')) as f64);
    }
    let text: String = digits.iter().filter(|byte| **byte != b',').map(|byte| char::from(*byte)).collect();
    text.parse().ok()
}

/// Returns the word before a position, over brackets, colons and spaces.
pub(crate) fn word_before(line: &[u8], end: usize) -> &[u8] {
    let is_gap = |byte: &&u8| matches!(byte, b' ' | b'\t' | b':' | b'=' | b'[' | b'(' | b'#');
    let end = end - line[..end].iter().rev().take_while(is_gap).count();
    let letters = line[..end].iter().rev().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'_').count();
    &line[end - letters..end]
}

/// Returns the position after a word that starts with `stem`, and that of its first letter, for
/// each such word; `stem` is in lower case.
pub(crate) fn words<'a>(line: &'a [u8], stem: &'static str) -> impl Iterator<Item = (usize, usize)> + 'a {
    // The second letter finds a word with or without a capital letter.
    let tail = &stem.as_bytes()[1..];
    memmem::find_iter(line, tail).filter_map(move |place| {
        let start = place.checked_sub(1)?;
        let is_stem = line[start].eq_ignore_ascii_case(&stem.as_bytes()[0]);
        let is_start = start == 0 || !line[start - 1].is_ascii_alphabetic();
        let end = place + line[place..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        (is_stem && is_start).then_some((start, end))
    })
}

/// Returns the number that a word introduces, `step=10`, `Epoch: [0]` or `iter 100:`, and the
/// position after it.
pub(crate) fn number_of_word(line: &[u8], word_end: usize) -> Option<(f64, usize)> {
    let is_gap = |byte: &&u8| matches!(byte, b' ' | b'\t' | b':' | b'=' | b'[' | b'(' | b'#' | b'\'' | b'"');
    let start = word_end + line[word_end..].iter().take_while(is_gap).count();
    let (value, end) = number_at(line, start)?;
    // A number with a unit is not a count: `time per step: 12ms`, `Epoch:  33%`.
    let has_unit = line.get(end).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'%');
    (!has_unit).then_some((value, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> Vec<(f64, Option<f64>)> {
        fractions(line.as_bytes()).map(|fraction| (fraction.step, fraction.of)).collect()
    }

    #[test]
    fn fractions_are_counts_and_neither_paths_nor_dates_nor_rates() {
        assert_eq!(all("Epoch 1/3  [  10/5,005]"), [(1.0, Some(3.0)), (10.0, Some(5005.0))]);
        assert_eq!(all("100/  500000 | 1.20k/60.0k [ 3/?"), [(100.0, Some(5e5)), (1200.0, Some(6e4)), (3.0, None)]);
        assert_eq!(all("2024/01/02 /data/1/2/x a1/2 3/4b 5/0 9/8 7ms/step 44/s 1.5/s"), []);
        assert_eq!(spoken_fraction(b"step 3 of 10").map(|fraction| fraction.of), Some(Some(10.0)));
    }

    #[test]
    fn a_word_introduces_a_count_but_not_a_duration_or_a_share() {
        let number = |line: &'static str, stem| {
            words(line.as_bytes(), stem).find_map(|(_, end)| number_of_word(line.as_bytes(), end)).map(|found| found.0)
        };
        assert_eq!(number("Epoch: [7]  [1/9]", "epoch"), Some(7.0));
        assert_eq!(number("[INFO] step=10, skipped=0", "step"), Some(10.0));
        assert_eq!(number("Iteration 30: loss", "iter"), Some(30.0));
        assert_eq!(number("Epochs:  33%|###  |", "epoch"), None);
        assert_eq!(number("time per step: 12ms", "step"), None);
    }
}
