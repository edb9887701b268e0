//! Word vectors of the vocabulary.

use std::collections::HashMap;
use std::path::Path;

use foreglow_exit::unusable;

use super::{Words, drawn, folder, glove, vocabulary};

/// Maps each word of the vocabulary to a row of a table. Words without a vector share the first
/// row, which is zero, so that they keep their position in the text.
#[derive(Debug)]
pub struct Embedding {
    rows: HashMap<Vec<u8>, u32>,
    numbers: Vec<f32>,
    dims: usize,
}

impl Embedding {
    /// Builds the embedding for a folder of texts from all of them and the vector file.
    ///
    /// # Errors
    /// The vocabulary is empty, a line of the vector file is malformed, or no word has a vector.
    pub fn of(root: &Path, Words { vectors, vocabulary }: &Words) -> anyhow::Result<Self> {
        let words = vocabulary::vocabulary(&folder(root)?, *vocabulary, root)?;
        let dims = glove::dims(vectors)?;
        let places: HashMap<Vec<u8>, u32> = words.into_iter().zip(0..).collect();
        let mut found: Vec<Option<Vec<f32>>> = vec![None; places.len()];
        glove::read(vectors, dims, &places, |place, vector| found[place as usize] = Some(vector.to_vec()))?;
        if found.iter().all(Option::is_none) {
            let (count, vectors) = (places.len(), vectors.display());
            return Err(unusable(format!(
                "none of the {count} words of the vocabulary has a vector in {vectors}; check that its words are in \
                lower case and in the language of the texts"
            )));
        }
        let mut embedding = Self::empty(dims);
        for (word, place) in places {
            embedding.add(word, found[place as usize].as_deref());
        }
        Ok(embedding)
    }

    /// Returns the embedding of the generated texts.
    pub fn drawn() -> Self {
        let mut embedding = Self::empty(drawn::DIMS);
        for (word, vector) in drawn::vocabulary() {
            embedding.add(word, Some(&vector));
        }
        embedding
    }

    fn empty(dims: usize) -> Self {
        Self { rows: HashMap::new(), numbers: vec![0.0; dims], dims }
    }

    fn add(&mut self, word: Vec<u8>, vector: Option<&[f32]>) {
        let row = vector.map_or(0, |vector| {
            self.numbers.extend(vector);
            (self.numbers.len() / self.dims - 1) as u32
        });
        self.rows.insert(word, row);
    }

    /// Returns the dimensions of a word vector.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Returns the vector of a lower-case word, or `None` if the word is not in the vocabulary.
    pub fn vector(&self, word: &[u8]) -> Option<&[f32]> {
        let start = *self.rows.get(word)? as usize * self.dims;
        self.numbers.get(start..start + self.dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_a_vector_or_zeros_or_is_not_in_the_vocabulary() {
        let dir = tempfile::tempdir().unwrap();
        let (texts, vectors) = (dir.path().join("texts"), dir.path().join("glove.txt"));
        std::fs::create_dir(&texts).unwrap();
        std::fs::write(texts.join("1"), "a b c d e f g h i j ".repeat(3) + "moon moon odd rare").unwrap();
        std::fs::write(&vectors, "a 9 9\nmoon 1 2\nrare 3 4\n").unwrap();
        let embedding = |vocabulary| Embedding::of(&texts, &Words { vectors: vectors.clone(), vocabulary });
        let twelve = embedding(12).unwrap();
        assert_eq!(twelve.dims(), 2);
        assert_eq!(twelve.vector(b"moon"), Some(&[1.0, 2.0][..]));
        assert_eq!(twelve.vector(b"odd"), Some(&[0.0, 0.0][..]), "in the vocabulary, without a vector");
        assert_eq!(twelve.vector(b"rare"), None, "the 13th word is not in the vocabulary");
        assert_eq!(twelve.vector(b"a"), None, "the most frequent words are not in the vocabulary");
        std::fs::write(&vectors, "sun 1 2\n").unwrap();
        let error = embedding(5000).unwrap_err().to_string();
        assert!(error.contains("none of the 3 words of the vocabulary has a vector in"), "{error}");
    }
}
