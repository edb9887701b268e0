//! Converts a text to word vectors for a classifier.

use std::sync::Arc;

use super::Embedding;
use super::words::{Words, is_text};
use crate::set::{Item, ItemError, Layout};

/// Decodes the texts of one job.
pub struct Decoder {
    embedding: Arc<Embedding>,
    words: usize,
}

impl Decoder {
    /// Creates a decoder for `words` words per text.
    pub fn new(embedding: Arc<Embedding>, words: usize) -> Self {
        Self { embedding, words }
    }

    /// Returns the numbers per text.
    pub fn numbers(&self) -> usize {
        self.words * self.embedding.dims()
    }

    /// Appends the vectors of a text's first words in the vocabulary, padded with zeros.
    ///
    /// # Errors
    /// The item is not a text, or has no word in the vocabulary.
    pub fn decode(&self, text: &Item, numbers: &mut Vec<f32>) -> Result<(), ItemError> {
        if text.layout != Layout::Text || !is_text(&text.bytes) {
            return Err(ItemError("it is not a text".into()));
        }
        let (words, start) = (Words::of(&text.bytes), numbers.len());
        let vectors = words.iter().filter_map(|word| self.embedding.vector(word));
        vectors.take(self.words).for_each(|vector| numbers.extend(vector));
        if numbers.len() == start {
            return Err(ItemError("it has no word of the vocabulary".into()));
        }
        numbers.resize(start + self.numbers(), 0.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::drawn;
    use super::*;

    fn text(bytes: &[u8]) -> Item {
        Item { bytes: bytes.into(), layout: Layout::Text, label: None }
    }

    fn decoder(words: usize) -> Decoder {
        Decoder::new(Arc::new(Embedding::drawn()), words)
    }

    #[test]
    fn a_text_becomes_word_vectors_padded_with_zeros() {
        let known: Vec<(Vec<u8>, Vec<f32>)> = drawn::vocabulary().take(2).collect();
        let bytes = [b"1993: ", &known[1].0[..], b" (zzzzzz) ", &known[0].0.to_ascii_uppercase()].concat();
        for words in [1, 2, 4] {
            let mut numbers = vec![7.0];
            decoder(words).decode(&text(&bytes), &mut numbers).unwrap();
            let mut expected = [vec![7.0], known[1].1.clone(), known[0].1.clone()].concat();
            expected.resize(1 + words * drawn::DIMS, 0.0);
            assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn an_invalid_text_is_rejected_and_adds_no_numbers() {
        let mut numbers = Vec::new();
        let mut said = |item: &Item| decoder(3).decode(item, &mut numbers).unwrap_err().0;
        assert_eq!(said(&text(b"")), "it has no word of the vocabulary");
        assert_eq!(said(&text(b"qqqq 17")), "it has no word of the vocabulary");
        assert_eq!(said(&text(b"\x89PNG\r\n\x1a\n\0\0")), "it is not a text");
        assert_eq!(said(&Item { bytes: drawn::draw(1), layout: Layout::File, label: None }), "it is not a text");
        assert!(numbers.is_empty());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), words in 1_usize..5) {
            let mut numbers = Vec::new();
            let decoder = decoder(words);
            let is_decoded = decoder.decode(&text(&bytes), &mut numbers).is_ok();
            prop_assert_eq!(numbers.len(), if is_decoded { decoder.numbers() } else { 0 });
        }
    }
}
