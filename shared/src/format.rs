//! Formats numbers for users. The command line and the page share it, so that both show the same
//! digits.

/// Formats seconds: `0.347 s`, `12.35 s`, `4 min 05.2 s`, `3 h 04 min 12 s`. Whole minutes, such as
/// those of a deadline, have no seconds: `30 min`, `1 h 30 min`.
///
/// ```
/// # use foreglow_shared::format_duration;
/// assert_eq!(format_duration(0.3471), "0.347 s");
/// assert_eq!(format_duration(59.999), "1 min");
/// assert_eq!(format_duration(61.0), "1 min 01.0 s");
/// assert_eq!(format_duration(11052.0), "3 h 04 min 12 s");
/// assert_eq!((format_duration(1800.0), format_duration(7200.0)), ("30 min".into(), "2 h".into()));
/// assert_eq!(format_duration(3900.0), "1 h 05 min");
/// ```
pub fn format_duration(secs: f64) -> String {
    if !secs.is_finite() {
        return "unknown".into();
    }
    if secs < 1.0 {
        return format!("{secs:.3} s");
    }
    if (secs * 100.0).round() < 6_000.0 {
        return format!("{secs:.2} s");
    }
    // Whole minutes after rounding to what is shown.
    let tenths = (secs * 10.0).round();
    let secs = if tenths < 36_000.0 { tenths / 10.0 } else { secs.round() };
    if secs % 60.0 == 0.0 {
        let (hours, mins) = ((secs / 3600.0).floor(), secs / 60.0 % 60.0);
        return match (hours > 0.0, mins > 0.0) {
            (false, _) => format!("{mins} min"),
            (true, false) => format!("{hours} h"),
            (true, true) => format!("{hours} h {mins:02} min"),
        };
    }
    if tenths < 36_000.0 {
        let mins = (tenths / 600.0).floor();
        return format!("{mins} min {:04.1} s", (tenths - mins * 600.0) / 10.0);
    }
    let hours = (secs / 3600.0).floor();
    let mins = ((secs - hours * 3600.0) / 60.0).floor();
    format!("{hours} h {mins:02} min {:02} s", secs - hours * 3600.0 - mins * 60.0)
}

/// Formats a count with its noun: `1 sample`, `2 samples`.
///
/// ```
/// # use foreglow_shared::format_count;
/// assert_eq!(format_count(1, "sample"), "1 sample");
/// assert_eq!(format_count(0, "run"), "0 runs");
/// ```
pub fn format_count(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Formats an integer with separators: `11,689,512`.
///
/// ```
/// # use foreglow_shared::format_integer;
/// assert_eq!(format_integer(11_689_512), "11,689,512");
/// assert_eq!(format_integer(999), "999");
/// assert_eq!(format_integer(1000), "1,000");
/// ```
pub fn format_integer(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The least amount that has digits, a cent of most currencies.
pub(crate) const LEAST_MONEY: f64 = 0.01;

/// Formats a cost for users: as [`format_price`] does, and less than a cent as `< USD 0.01`.
///
/// ```
/// # use foreglow_shared::format_money;
/// assert_eq!(format_money(12.4, "USD"), "USD 12.40");
/// assert_eq!(format_money(0.000358, "USD"), "< USD 0.01");
/// assert_eq!(format_money(0.0, "EUR"), "EUR 0.00");
/// ```
pub fn format_money(amount: f64, currency: &str) -> String {
    match amount > 0.0 && amount < LEAST_MONEY {
        true => format!("< {currency} {LEAST_MONEY}"),
        false => format_price(amount, currency),
    }
}

/// Formats an amount with the digits that tell it from others, such as a price per hour or a limit:
/// two decimals from 1 upwards, four significant digits below: `USD 12.40`, `USD 0.001234`.
///
/// ```
/// # use foreglow_shared::format_price;
/// assert_eq!(format_price(12.4, "USD"), "USD 12.40");
/// assert_eq!(format_price(0.00123449, "EUR"), "EUR 0.001234");
/// ```
pub fn format_price(amount: f64, currency: &str) -> String {
    if !amount.is_finite() {
        return "unknown".into();
    }
    let mut decimals = 2;
    let mut scaled = amount.abs();
    while scaled > 0.0 && scaled < 1.0 && decimals < 12 {
        scaled *= 10.0;
        decimals += 1;
    }
    let decimals = if decimals > 2 { decimals + 1 } else { 2 };
    format!("{currency} {amount:.decimals$}")
}

/// Formats a percentage with two decimals: `99.80 %`.
pub fn format_percent(percent: f64) -> String {
    if percent.is_finite() { format!("{percent:.2} %") } else { "unknown".into() }
}

/// Formats a probability in whole percent, rounded down: `90 %`, `< 1 %`, `> 99 %`.
///
/// ```
/// # use foreglow_shared::format_probability;
/// assert_eq!(format_probability(0.8999), "89 %");
/// assert_eq!(format_probability(0.9), "90 %");
/// assert_eq!(format_probability(0.001), "< 1 %");
/// assert_eq!(format_probability(0.9999), "> 99 %");
/// ```
pub fn format_probability(probability: f64) -> String {
    match (probability * 100.0 + 1e-9).floor() {
        percent if percent < 1.0 => "< 1 %".into(),
        percent if percent > 99.0 || (percent == 99.0 && probability > 0.99) => "> 99 %".into(),
        percent => format!("{percent} %"),
    }
}

/// Formats a sampling rate as a percentage without trailing zeros: `1 %`, `12.5 %`, `100 %`.
pub fn format_rate(sampling_rate: f64) -> String {
    let percent = (sampling_rate * 1e8).round() / 1e6;
    format!("{percent} %")
}

/// Escapes characters that control a terminal, break a line, change the direction of the text, or
/// are invisible, as in a string of JSON.
///
/// ```
/// # use foreglow_shared::printable;
/// assert_eq!(printable("lenet5 \u{1b}[31m\n"), r"lenet5 \u001b[31m\n");
/// assert_eq!(printable("gpu\u{2028}\u{e0041}"), r"gpu\u2028\udb40\udc41");
/// assert_eq!(printable("Größe 90 %"), "Größe 90 %");
/// ```
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => printable.push_str("\\n"),
            '\r' => printable.push_str("\\r"),
            '\t' => printable.push_str("\\t"),
            _ if controls(letter) => {
                letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| printable.push_str(&format!("\\u{unit:04x}")));
            }
            _ => printable.push(letter),
        }
    }
    printable
}

/// Whether a character controls a terminal, breaks a line, changes the direction of the text, or is
/// invisible.
fn controls(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
