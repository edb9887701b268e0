//! Generator of synthetic texts and their word vectors. As in real texts, most words are frequent
//! and uninformative (Zipf's law), a few belong to the text's class, and the vectors of words of
//! one class are similar.

use foreglow_architectures::USUAL_VECTOR_DIMS;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

/// Number of classes, as many as the classifiers have; text i belongs to class i modulo this.
pub const CLASSES: u64 = 20;
/// Dimensions of a word vector.
pub const DIMS: usize = USUAL_VECTOR_DIMS;

/// Words that occur in texts of every class; the words of each class follow them.
const GENERAL: u64 = 4000;
const WORDS_OF_A_CLASS: u64 = 40;
/// Share of a text's words that belong to its class.
const TOPICAL: f64 = 0.2;
/// The most frequent words, which are not in the vocabulary, as with real texts.
const COMMONEST: u64 = 10;
/// Fewest and most words of a text. About a third are not in the vocabulary, so at least 500
/// remain. No text is therefore padded with zeros, over which a recurrent layer would forget it.
const LENGTH: (f64, f64) = (800.0, 1200.0);

/// Returns a text, which its number determines.
pub fn draw(index: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(index);
    let mut unit = || random.random::<f64>();
    let frequencies: Vec<f64> = (1..=GENERAL)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        })
        .collect();
    let all = frequencies.last().copied().unwrap_or(1.0);
    let own = GENERAL + index % CLASSES * WORDS_OF_A_CLASS;
    let length = (LENGTH.0 + (LENGTH.1 - LENGTH.0) * unit()) as u64;
    let mut text = Vec::new();
    for place in 1..=length {
        let number = if unit() < TOPICAL {
            own + (unit() * WORDS_OF_A_CLASS as f64) as u64
        } else {
            let at = unit() * all;
            frequencies.partition_point(|sum| *sum < at) as u64
        };
        text.extend(word(number));
        text.push(if place % 12 == 0 { b'\n' } else { b' ' });
    }
    text
}

/// Returns the words of the vocabulary with their vectors.
pub fn vocabulary() -> impl Iterator<Item = (Vec<u8>, Vec<f32>)> {
    let numbers = |seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        (0..DIMS).map(move |_| random.random::<f32>() - 0.5)
    };
    let words = GENERAL + CLASSES * WORDS_OF_A_CLASS;
    (COMMONEST..words).map(move |number| {
        let own = numbers(number);
        let vector = match number.checked_sub(GENERAL) {
            None => own.collect(),
            // The seeds of the classes follow those of the words.
            Some(place) => own.zip(numbers(words + place / WORDS_OF_A_CLASS)).map(|(own, class)| own + class).collect(),
        };
        (word(number), vector)
    })
}

/// Returns the word with this number, of two syllables.
fn word(number: u64) -> Vec<u8> {
    const CONSONANTS: &[u8; 21] = b"bcdfghjklmnpqrstvwxyz";
    const VOWELS: &[u8; 5] = b"aeiou";
    let syllable = |number: u64| [CONSONANTS[(number / 5 % 21) as usize], VOWELS[(number % 5) as usize]];
    [syllable(number / 105), syllable(number % 105)].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{Embedding, words::Words};
    use super::*;

    #[test]
    fn a_text_depends_only_on_its_number() {
        assert_eq!(draw(17), draw(17));
        assert_ne!(draw(17), draw(37), "two texts of one class differ");
    }

    #[test]
    fn words_are_distinct_and_500_of_each_text_are_in_the_vocabulary() {
        let all: BTreeSet<Vec<u8>> = (0..GENERAL + CLASSES * WORDS_OF_A_CLASS).map(word).collect();
        assert_eq!(all.len() as u64, GENERAL + CLASSES * WORDS_OF_A_CLASS);
        let embedding = Embedding::drawn();
        for index in 0..40 {
            let text = draw(index);
            let words = Words::of(&text);
            let counting = words.iter().filter(|word| embedding.vector(word).is_some()).count();
            assert!(counting >= 500, "text {index} has {counting} words in the vocabulary");
            assert!(words.iter().all(|word| all.contains(word)));
        }
    }
}
