//! Splits a text into words.

/// Runs of ASCII letters, in lower case; every other character separates words, as in
/// `re.sub("[^a-zA-Z]", " ", text)`. The encoding of the text therefore does not matter, because
/// bytes beyond ASCII are always separators.
pub struct Words {
    small: Vec<u8>,
}

impl Words {
    /// Takes the words of a text.
    pub fn of(text: &[u8]) -> Self {
        Self { small: text.to_ascii_lowercase() }
    }

    /// Iterates over the words in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.small.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty())
    }
}

/// Returns whether the bytes are a text. Text files contain no zero byte; nearly all other files
/// do.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[u8]) -> Vec<String> {
        Words::of(text).iter().map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
    }

    #[test]
    fn words_are_runs_of_letters_in_lower_case() {
        assert_eq!(
            words(b"From: Keith@cco (Keith A.)\n>> It's 1993!"),
            ["from", "keith", "cco", "keith", "a", "it", "s"]
        );
        assert_eq!(words("naïve".as_bytes()), ["na", "ve"]);
        assert_eq!(words(b"na\xefve"), ["na", "ve"], "Latin-1 separates words where UTF-8 does");
        assert!(words(b" 12 - 3\n").is_empty() && words(b"").is_empty());
    }
}
