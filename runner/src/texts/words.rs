//! The words of a text.

/// Runs of ASCII letters, in small letters: whatever is no letter parts words, as `re.sub("[^a-zA-Z]", " ", text)` does. So
/// the encoding of the text does not matter: a byte beyond ASCII parts words in all of them.
pub struct Words {
    small: Vec<u8>,
}

impl Words {
    /// Those of a text.
    pub fn of(text: &[u8]) -> Self {
        Self { small: text.to_ascii_lowercase() }
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.small.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty())
    }
}

/// Whether the bytes are a text: no text file has a byte 0, and nearly every other file has.
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
    fn words_are_runs_of_letters_in_small_letters() {
        assert_eq!(
            words(b"From: Keith@cco (Keith A.)\n>> It's 1993!"),
            ["from", "keith", "cco", "keith", "a", "it", "s"]
        );
        assert_eq!(words("naïve".as_bytes()), ["na", "ve"]);
        assert_eq!(words(b"na\xefve"), ["na", "ve"], "Latin-1 parts words where UTF-8 does");
        assert!(words(b" 12 - 3\n").is_empty() && words(b"").is_empty());
    }
}
