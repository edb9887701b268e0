//! Decodes text files: UTF-8 and UTF-16, with or without a byte order mark, and Windows-1252, which
//! some spreadsheets still write.

use crate::file_kind::NotText;

/// Characters 0x80 to 0x9f of Windows-1252; the other bytes are Latin-1. `\0` marks an undefined
/// byte.
const WINDOWS_1252: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// Decodes the bytes of a text file.
///
/// # Errors
/// The kind of file, or the position of the first byte that is a control character, undefined, or
/// half of a UTF-16 character.
pub fn decode(bytes: &[u8]) -> Result<String, NotText> {
    let text = characters(bytes).map_err(|place| NotText::recognise(bytes).unwrap_or(NotText::Byte(place)))?;
    match NotText::recognise_text(text.as_bytes()) {
        Some(kind) => Err(kind),
        None => Ok(text),
    }
}

fn characters(bytes: &[u8]) -> Result<String, usize> {
    let text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8_or_western(rest).map_err(|place| place + 3)?,
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes).map_err(|place| place + 2)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes).map_err(|place| place + 2)?,
        // Every supported format begins with an ASCII character, which has one zero byte in UTF-16.
        [1..=255, 0, 1..=255, 0, ..] => utf16(bytes, u16::from_le_bytes)?,
        [0, 1..=255, 0, 1..=255, ..] => utf16(bytes, u16::from_be_bytes)?,
        _ => utf8_or_western(bytes)?,
    };
    Ok(text)
}

fn utf8_or_western(bytes: &[u8]) -> Result<String, usize> {
    if let Some(place) = bytes.iter().position(|byte| is_control(u32::from(*byte))) {
        return Err(place);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => (0..).zip(bytes).map(|(place, byte)| western(*byte).ok_or(place)).collect(),
    }
}

fn western(byte: u8) -> Option<char> {
    let letter = match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    };
    (letter != '\0').then_some(letter)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, usize> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(bytes.len() - 1);
    }
    let letters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let mut text = String::with_capacity(pairs.len());
    for letter in letters {
        match letter {
            Ok(letter) if !is_control(letter.into()) => text.push(letter),
            _ => return Err(text.encode_utf16().count() * 2),
        }
    }
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// Whether the code is a control character other than white space.
fn is_control(code: u32) -> bool {
    code < 0x20 && !matches!(code, 0x09..=0x0d) || code == 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_decodes_to_the_same_string_from_every_encoding() {
        let text = "modèle;durée\nresnet18;12,5\n";
        let utf16 = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
        let western: Vec<u8> = text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
        let with = |mark: &[u8], bytes: Vec<u8>| [mark.to_vec(), bytes].concat();
        for bytes in [
            text.as_bytes().to_vec(),
            with(&[0xef, 0xbb, 0xbf], text.as_bytes().to_vec()),
            with(&[0xff, 0xfe], utf16(u16::to_le_bytes)),
            with(&[0xfe, 0xff], utf16(u16::to_be_bytes)),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            western,
        ] {
            assert_eq!(decode(&bytes).as_deref(), Ok(text));
        }
        assert_eq!(decode(b"\x80 12").as_deref(), Ok("€ 12"));
    }

    #[test]
    fn the_first_byte_that_is_not_text_is_reported() {
        assert_eq!(decode(&[0xff, 0xfe, b'a']), Err(NotText::Byte(2)), "UTF-16 that was cut");
        assert_eq!(decode(&[0xfe, 0xff, 0xd8, 0x00, 0x00, 0x41]), Err(NotText::Byte(2)), "half a character");
        assert_eq!(decode(b"a\x81"), Err(NotText::Byte(1)));
    }

    #[test]
    fn another_kind_of_file_is_named_and_a_text_that_begins_like_one_is_read() {
        let named = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
        assert_eq!(named(&[0xff, 0xd8, 0xff, 0xe0, 0x00]), "it is a JPEG image");
        assert!(named(b"PK\x03\x04").contains("an Excel workbook (save its sheet as CSV)"));
        assert_eq!(named(b"PAR1\x15\x04"), "it is a Parquet file");
        assert_eq!(named(b"<!doctype html>\n<html>"), "it is an HTML page");
        assert_eq!(named(b"\n <HTML lang=en><body>404</body></HTML>"), "it is an HTML page");
        assert_eq!(named(b"%PDF-1.4\n1 0 obj\n<< >>\nendobj\n"), "it is a PDF document");
        assert_eq!(named(b"PAR1 printable PAR1"), "it is a Parquet file");
        for text in ["PAR1,PAR2\n1,2\n", "<3 s for 100 images\n", "%PDF of the times\n", "PAR1"] {
            assert_eq!(decode(text.as_bytes()).as_deref(), Ok(text));
        }
    }
}
