//! GloVe text files (nlp.stanford.edu/projects/glove): one line per word, with the word and its
//! vector separated by spaces.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use foreglow_exit::{open_data, unusable};

/// Valid dimensions of a vector. A first line with a single number is the header of a word2vec
/// file: words and dimensions.
const DIMS: std::ops::RangeInclusive<usize> = 2..=4096;
/// Limit on the length of the first line.
const LONGEST_LINE: u64 = 1 << 20;

/// Returns the dimensions of the vectors in a file, from its first line.
///
/// # Errors
/// The file cannot be read, or its first line is not in GloVe's format.
pub fn dims(path: &Path) -> anyhow::Result<usize> {
    let mut line = Vec::new();
    open(path)
        .and_then(|file| file.take(LONGEST_LINE).read_until(b'\n', &mut line))
        .map_err(|error| unreadable(path, &error))?;
    let dims = numbers_of(line.trim_ascii_end());
    if DIMS.contains(&dims) {
        return Ok(dims);
    }
    Err(unusable(format!(
        "{}, line 1: {dims} numbers follow the word; name a GloVe file with --vectors: a word and its numbers per \
        line, separated by spaces, without a header",
        path.display()
    )))
}

/// Calls `tell` with the index and vector of each of these words that is in the file.
///
/// # Errors
/// A line is malformed; the message names it.
pub fn read(
    path: &Path,
    dims: usize,
    words: &HashMap<Vec<u8>, u32>,
    mut tell: impl FnMut(u32, &[f32]),
) -> anyhow::Result<()> {
    let mut file = open(path).map_err(|error| unreadable(path, &error))?;
    let (mut line, mut vector) = (Vec::new(), Vec::with_capacity(dims));
    for number in 1_u64.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(|error| unreadable(path, &error))? == 0 {
            break;
        }
        let line = line.trim_ascii_end();
        let found = numbers_of(line);
        let malformed = |why: String| unusable(format!("{}, line {number}: {why}", path.display()));
        if found < dims {
            return Err(malformed(format!(
                "{found} numbers follow the word, and {dims} in line 1; is the file complete?"
            )));
        }
        // Words with a space are ignored, because no text contains them.
        let mut cells = line.split(|byte| *byte == b' ');
        let place = cells.next().filter(|_| found == dims).and_then(|word| words.get(word));
        let Some(place) = place else { continue };
        vector.clear();
        for cell in cells {
            let value = std::str::from_utf8(cell).ok().and_then(|cell| cell.parse::<f32>().ok());
            let value = value.filter(|value| value.is_finite());
            vector
                .push(value.ok_or_else(|| malformed(format!("{:?} is not a number", String::from_utf8_lossy(cell))))?);
        }
        tell(*place, &vector);
    }
    Ok(())
}

fn open(path: &Path) -> std::io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(1 << 20, open_data(path)?))
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    unusable(format!("the word vectors {} cannot be read: {error}; name a GloVe file with --vectors", path.display()))
}

fn numbers_of(line: &[u8]) -> usize {
    line.iter().filter(|byte| **byte == b' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    fn vectors(text: &str, words: &[&str]) -> anyhow::Result<Vec<(u32, Vec<f32>)>> {
        let file = file(text);
        let words = words.iter().zip(0..).map(|(word, place)| (word.as_bytes().to_vec(), place)).collect();
        let mut found = Vec::new();
        read(file.path(), dims(file.path())?, &words, |place, vector| found.push((place, vector.to_vec())))?;
        Ok(found)
    }

    #[test]
    fn the_vectors_of_known_words_are_found_and_the_others_skipped() {
        let text = "the 0.1 -2 3e-1\n. . . 9 9 9\nspace 1 2 3\r\nunknown x y z\nmoon -1 0.5 0\n";
        let found = vectors(text, &["moon", "space"]).unwrap();
        assert_eq!(found, [(1, vec![1.0, 2.0, 3.0]), (0, vec![-1.0, 0.5, 0.0])]);
        assert!(vectors(text, &["sun"]).unwrap().is_empty());
    }

    #[test]
    fn a_malformed_line_is_reported_by_number() {
        let said = |text: &str| vectors(text, &["moon"]).unwrap_err().to_string();
        let short = said("the 1 2 3\nmoon 1 2\n");
        assert!(short.contains("line 2: 2 numbers follow the word, and 3 in line 1; is the file complete?"), "{short}");
        let cut = said("the 1 2 3\nmoon 1 2 3\nsp");
        assert!(cut.contains("line 3: 0 numbers follow"), "{cut}");
        let words = said("the 1 2 3\nmoon 1 two 3\n");
        assert!(words.contains("line 2: \"two\" is not a number"), "{words}");
        assert!(said("the 1 2\nmoon 1 NaN\n").contains("\"NaN\" is not a number"));
        for head in ["400000 200\nthe 1 2\n", "", "\n\n", "\0\0"] {
            let head = said(head);
            assert!(head.contains("line 1:") && head.contains("name a GloVe file with --vectors"), "{head}");
        }
        let missing = dims(Path::new("/no/such/glove.txt")).unwrap_err().to_string();
        assert!(missing.contains("/no/such/glove.txt cannot be read"), "{missing}");
    }

    #[cfg(unix)]
    #[test]
    fn an_endless_device_has_no_vectors() {
        let error = dims(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("it is a pipe or a device"), "{error}");
    }
}
