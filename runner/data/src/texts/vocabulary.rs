//! Selection of the vocabulary by word frequency.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use foreglow_exit::unusable;

use super::words::{Words, is_text};
use crate::set::DataSet;

/// Number of the most frequent words, such as "the", which carry no information and are omitted.
const COMMONEST: usize = 10;

/// Returns the words of a set of texts with frequency ranks 11 to `last`. Equally frequent words
/// are in alphabetical order, so that the result is the same on every machine. Unreadable texts are
/// skipped; the run that reads them reports the error.
///
/// # Errors
/// The vocabulary is empty.
pub fn vocabulary(texts: &dyn DataSet, last: u32, folder: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    for text in (0..texts.len()).filter_map(|number| texts.read(number).ok()).filter(|text| is_text(&text.bytes)) {
        for word in Words::of(&text.bytes).iter() {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(counts.insert(word.to_vec(), 1)),
            }
        }
    }
    let found = counts.len();
    let mut ranked: Vec<(Vec<u8>, u64)> = counts.into_iter().collect();
    ranked.sort_unstable_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    let words: Vec<_> = ranked.into_iter().take(last as usize).skip(COMMONEST).map(|(word, _)| word).collect();
    if words.is_empty() {
        let shown = folder.display();
        return Err(unusable(format!(
            "the texts of {shown} have {found} different words, of which the {COMMONEST} most frequent are left out; \
            no word of --vocabulary {last} is left"
        )));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&[u8]], last: u32) -> anyhow::Result<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        for (number, text) in texts.iter().enumerate() {
            std::fs::write(dir.path().join(number.to_string()), text).unwrap();
        }
        let words = vocabulary(&crate::texts::folder(dir.path()).unwrap(), last, dir.path())?;
        Ok(words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect())
    }

    #[test]
    fn words_are_ranked_by_frequency_without_the_ten_most_frequent() {
        let common = "a b c d e f g h i j ".repeat(5);
        let texts = [format!("{common} rare mid MID"), "mid often often. often Often; unique".into()];
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        assert_eq!(words(&texts, 5000).unwrap(), ["often", "mid", "rare", "unique"]);
        assert_eq!(words(&texts, 12).unwrap(), ["often", "mid"]);
        let with_binary = [&texts[..], &[b"often\0binary".as_slice()]].concat();
        assert_eq!(words(&with_binary, 5000).unwrap(), words(&texts, 5000).unwrap());
    }

    #[test]
    fn texts_with_too_few_words_are_rejected() {
        let error = words(&[b"only these five words here"], 5000).unwrap_err().to_string();
        assert!(error.contains("have 5 different words, of which the 10 most frequent are left out"), "{error}");
    }
}
