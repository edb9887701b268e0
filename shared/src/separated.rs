//! Delimiters, decimal commas and line numbers of CSV files: cells separated by commas, semicolons
//! or tabs.

/// Supported delimiters.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// Returns the delimiter that occurs most often in the first line, outside quotes.
pub(crate) fn delimiter(text: &str) -> u8 {
    let mut counts = [0; DELIMITERS.len()];
    let mut quoted = false;
    for byte in text.bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if !quoted => {
                if let Some(place) = DELIMITERS.iter().position(|delimiter| *delimiter == byte) {
                    counts[place] += 1;
                }
            }
            _ => {}
        }
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    let place = counts.iter().position(|count| *count == most).unwrap_or(0);
    DELIMITERS[place]
}

/// Returns the line, from 1, on which a record of `text` begins.
///
/// `position` is the reader's position at the end of the previous record. It is before the line
/// feed of a CRLF and before blank lines.
pub(crate) fn line_of(text: &str, position: Option<&csv::Position>) -> u64 {
    let Some(position) = position else { return 1 };
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let skipped = text.as_bytes().get(start..).unwrap_or_default();
    let skipped = skipped.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    position.line() + skipped.filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the error of a record without its position; [`line_of`] gives the line.
pub(crate) fn fault(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells, the header has {expected_len}")
        }
        _ => "it cannot be read".to_owned(),
    }
}

/// Rewrites a number with a decimal comma to use a point: `12,5`, `1.234,5`.
///
/// Returns `None` if the text is not such a number, or if the comma may separate thousands: `1,234`
/// in a file delimited by commas or tabs. Programs that write decimal commas use semicolons as
/// delimiters.
pub fn with_point(text: &str, delimiter: u8) -> Option<String> {
    let (whole, decimals) = text.split_once(',')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mantissa = decimals.split(['e', 'E']).next().unwrap_or_default();
    if !digits(mantissa) {
        return None;
    }
    let mut thousands = whole.split('.');
    let first = thousands.next().filter(|first| digits(first))?;
    let groups: Vec<&str> = thousands.collect();
    if !groups.iter().all(|group| group.len() == 3 && digits(group)) {
        return None;
    }
    let ambiguous = delimiter != b';' && groups.is_empty() && mantissa.len() == 3 && first.len() <= 3 && first != "0";
    (!ambiguous).then(|| format!("{sign}{first}{}.{decimals}", groups.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_the_most_frequent_one_in_the_header() {
        assert_eq!(delimiter("a,b,c\n1;2;3;4;5"), b',');
        assert_eq!(delimiter("a;b;\"c,d,e,f\"\n"), b';');
        assert_eq!(delimiter("a\tb\n"), b'\t');
        assert_eq!(delimiter("alone"), b',');
    }

    #[test]
    fn a_decimal_comma_is_read_unless_it_is_ambiguous() {
        assert_eq!(with_point("12,5", b';').as_deref(), Some("12.5"));
        assert_eq!(with_point("-0,001", b',').as_deref(), Some("-0.001"));
        assert_eq!(with_point("1.234,5", b';').as_deref(), Some("1234.5"));
        assert_eq!(with_point("1,5e-3", b';').as_deref(), Some("1.5e-3"));
        assert_eq!(with_point("1,234", b';').as_deref(), Some("1.234"));
        assert_eq!(with_point("1,2345", b'\t').as_deref(), Some("1.2345"));
        assert_eq!(with_point("0,125", b'\t').as_deref(), Some("0.125"));
        for text in ["1,234", "12", "a,b", ",5", "1,", "1.2,5", "1,2,3"] {
            for delimiter in [b',', b'\t'] {
                assert_eq!(with_point(text, delimiter), None, "{text}");
            }
        }
    }

    #[test]
    fn a_record_begins_after_the_line_end_before_it_and_after_blank_lines() {
        for end in ["\n", "\r\n"] {
            let text = ["a,b", "1,2", "", "", "\"x\ny\",3", "4,5"].join(end);
            let records = csv::Reader::from_reader(text.as_bytes()).into_records();
            let lines: Vec<u64> = records.map(|record| line_of(&text, record.unwrap().position())).collect();
            assert_eq!(lines, [2, 5, 7], "{end:?}");
        }
    }
}
