//! Parses numbers written by users and other tools.

/// Parses a finite decimal number; `None` if the text is not one.
///
/// Accepts the finite numbers that `str::parse::<f64>` accepts. It goes through the JSON parser,
/// which the page links anyway: the float parser of the standard library would add 2.5 % to the
/// page.
///
/// ```
/// assert_eq!(foreglow_shared::number("+.5"), Some(0.5));
/// assert_eq!(foreglow_shared::number("1,5"), None);
/// ```
pub fn number(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    // JSON requires a digit on both sides of the point and forbids leading zeros.
    let (mantissa, exponent) = digits.find(['e', 'E']).map_or((digits, ""), |place| digits.split_at(place));
    let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + decimals.len() == 0 || !is_digits(whole) || !is_digits(decimals) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    serde_json::from_str(&format!("{sign}{whole}.{decimals}0{exponent}")).ok()
}

/// Parses a whole number as users write it: digits, which spaces, underscores, apostrophes and, in
/// groups of three, commas may separate, or thousands, millions and billions as `k`, `M` and `G`.
///
/// ```
/// # use foreglow_shared::count;
/// assert_eq!([count("1,281,167"), count("1_000")], [Some(1_281_167), Some(1_000)]);
/// assert_eq!([count("10M"), count("1.28k")], [Some(10_000_000), Some(1_280)]);
/// assert_eq!([count("1,5"), count("1.2345k"), count("-1")], [None; 3]);
/// ```
pub fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let places = match text.chars().last()? {
        'k' | 'K' => 3,
        'M' => 6,
        'G' => 9,
        _ => 0,
    };
    let number = if places > 0 { &text[..text.len() - 1] } else { text };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let mut groups = whole.split(',');
    let first = groups.next().filter(|first| !first.trim().is_empty())?;
    let groups: Vec<&str> = groups.collect();
    let is_grouped = groups.iter().all(|group| group.len() == 3) && (groups.is_empty() || first.len() <= 3);
    if !is_grouped || decimals.len() > places {
        return None;
    }
    let written = [&[first], groups.as_slice()].concat().concat() + &format!("{decimals:0<places$}");
    let digits: String =
        written.chars().filter(|letter| !matches!(letter, '_' | '\'') && !letter.is_whitespace()).collect();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Returns the share of a percentage. Moves the decimal point, because a division would give
/// 0.0012000000000000001 for 0.12.
///
/// ```
/// assert_eq!(foreglow_shared::share_of_percent(0.12), 0.0012);
/// ```
pub fn share_of_percent(percent: f64) -> f64 {
    number(&format!("{percent}e-2")).unwrap_or(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    #[test]
    fn text_that_is_not_a_finite_number_is_rejected() {
        for text in
            ["", "-", ".", "e5", "1e", "inf", "NaN", "1 2", "1,5", "0x10", "1e999", "--1", "+-1", "1.2.3", "1e5.5"]
        {
            assert_eq!(number(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_number_is_parsed_like_the_standard_library_does(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assert_eq!(number(&value.to_string()), Some(value).filter(|value| value.is_finite()));
            prop_assert_eq!(number(&format!("{value:e}")), Some(value).filter(|value| value.is_finite()));
        }

        #[test]
        fn every_text_of_digits_is_parsed_like_the_standard_library_does(text in "[+-]?0{0,2}[0-9]{0,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?") {
            prop_assert_eq!(number(&text), parsed(&text));
        }
    }
}
