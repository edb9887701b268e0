//! Parsers for the numbers, lists, times, sizes and addresses of all flags.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use foreglow_shared::{
    ACCURACIES, DEADLINE_SECS, MONEY, MOST_CANDIDATES, MOST_CORES, MOST_EXECUTORS, MOST_MEMORY_MIB, MachineType,
    PROBABILITIES, SAMPLING_RATES, parse_duration, share_of_percent,
};

/// Maximum number of cores of all executors.
const MOST_TOTAL_CORES: u32 = 1_000_000;

/// Distinct counts in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(pub Vec<u32>);

/// Distinct sampling rates in the order in which they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates(pub Vec<f64>);

/// Numbers of an image's channels: one for all, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Channels(pub Vec<f32>);

/// Distinct memory sizes in MiB, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mibs(pub Vec<u32>);

/// Parses a count: `1`, `200`.
pub fn count(text: &str) -> Result<u32, String> {
    whole(text).and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0).ok_or_else(wrong_count)
}

/// Parses a count that may exceed 32 bits: `1281167`, `10M`.
pub fn large_count(text: &str) -> Result<u64, String> {
    let wrong = || "write a whole number, 1 or more, such as 50000 or 10M".to_owned();
    foreglow_shared::count(text).filter(|count| *count > 0).ok_or_else(wrong)
}

/// Parses a number that may be 0, such as a seed.
pub fn whole_number(text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| "write a whole number, 0 or more".to_owned())
}

/// Parses the name of a machine type.
pub fn machine_type(text: &str) -> Result<String, String> {
    let name = text.trim();
    let wrong = || "write the name of a machine type, such as c5.xlarge".to_owned();
    MachineType::is_name(name).then(|| name.to_owned()).ok_or_else(wrong)
}

/// Parses an index into a list, counted from 1.
pub fn place(text: &str) -> Result<usize, String> {
    count(text).map(|place| place as usize)
}

fn wrong_count() -> String {
    "write a whole number, 1 or more".to_owned()
}

/// Parses digits, which underscores and apostrophes may group.
fn whole(text: &str) -> Option<u64> {
    let digits: String = text.trim().chars().filter(|letter| !matches!(letter, '_' | '\'')).collect();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Parses a list of counts: `1-8`, `1,2,4`, `1-4,8`.
pub fn counts(text: &str) -> Result<Counts, String> {
    let wrong = |_| "write numbers of 1 or more, such as 1-8 or 1,2,4".to_owned();
    let mut counts = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (count(first).map_err(wrong)?, count(last).map_err(wrong)?),
            None => (count(part).map_err(wrong)?, count(part).map_err(wrong)?),
        };
        if first > last {
            return Err(wrong(String::new()));
        }
        // One number above the limit suffices to refuse a range of up to 4 billion.
        counts.extend((first..=last).take(MOST_CANDIDATES + 1));
        if counts.len() > MOST_CANDIDATES {
            return Err(format!("name at most {MOST_CANDIDATES} numbers"));
        }
    }
    Ok(Counts(counts.into_iter().collect()))
}

/// Parses numbers of executors.
pub fn executors(text: &str) -> Result<Counts, String> {
    counts(text).and_then(|counts| at_most(counts, MOST_EXECUTORS, "executors"))
}

/// Parses numbers of cores per executor.
pub fn cores(text: &str) -> Result<Counts, String> {
    counts(text).and_then(|counts| at_most(counts, MOST_CORES, "cores per executor"))
}

/// Parses one number of executors.
pub fn one_executors(text: &str) -> Result<u32, String> {
    one(&executors(text)?)
}

/// Parses one number of cores per executor.
pub fn one_cores(text: &str) -> Result<u32, String> {
    one(&cores(text)?)
}

/// Parses total numbers of cores.
pub fn total_cores(text: &str) -> Result<Counts, String> {
    counts(text).and_then(|counts| at_most(counts, MOST_TOTAL_CORES, "cores"))
}

/// Parses one total number of cores.
pub fn one_total_cores(text: &str) -> Result<u32, String> {
    one(&total_cores(text)?)
}

fn at_most(counts: Counts, most: u32, what: &str) -> Result<Counts, String> {
    match counts.0.last() {
        Some(largest) if *largest > most => Err(format!("{largest} {what} are too many; write at most {most}")),
        _ => Ok(counts),
    }
}

fn one(counts: &Counts) -> Result<u32, String> {
    match counts.0.as_slice() {
        [count] => Ok(*count),
        _ => Err("this command takes one number".to_owned()),
    }
}

/// Parses a sampling rate: `0.1`, `10%`, `1`.
pub fn rate(text: &str) -> Result<f64, String> {
    fraction(text)
        .filter(|rate| SAMPLING_RATES.contains(rate))
        .ok_or_else(|| "write a share of the images above 0 and at most 1, such as 0.1 or 10%".to_owned())
}

/// Parses a list of sampling rates: `0.01,0.1`, `1%,10%`.
pub fn rates(text: &str) -> Result<Rates, String> {
    list(text, rate).map(Rates)
}

/// Parses a share of a whole: `0.02`, `2%`.
pub fn share(text: &str) -> Result<f64, String> {
    fraction(text)
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "write a share between 0 and 1, such as 0.02 or 2%".to_owned())
}

/// Number of classes of a built-in CNN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// That of its publication.
    Own,
    /// The user's.
    Count(u32),
}

/// Limit on the number of classes; larger numbers would run out of memory.
const MOST_CLASSES: u32 = 100_000;

/// Parses a number of classes: `10`, `own`.
pub fn classes(text: &str) -> Result<Classes, String> {
    if text == "own" {
        return Ok(Classes::Own);
    }
    let number = count(text).ok().filter(|classes| (2..=MOST_CLASSES).contains(classes));
    number.map(Classes::Count).ok_or_else(|| format!("write a number from 2 to {MOST_CLASSES}, or own"))
}

/// Parses a share of a processor: `0.05`, `5%`, `1`. The kernel's smallest quota is 1 %.
pub fn core_share(text: &str) -> Result<f64, String> {
    fraction(text)
        .filter(|share| (0.01..=1.0).contains(share))
        .ok_or_else(|| "write a share of a processor from 1% to 100%, such as 5% or 0.05".to_owned())
}

/// Parses a probability: `0.9`, `90%`.
pub fn probability(text: &str) -> Result<f64, String> {
    fraction(text)
        .filter(|share| PROBABILITIES.contains(share))
        .ok_or_else(|| "write a probability between 0 and 1, such as 0.9 or 90%".to_owned())
}

/// Parses a minimum accuracy: `0.97`, `97%`.
pub fn accuracy(text: &str) -> Result<f64, String> {
    let accuracy = fraction(text).filter(|share| ACCURACIES.contains(share));
    accuracy.ok_or_else(|| "write an accuracy above 0 and at most 1, such as 0.97 or 97%".to_owned())
}

fn fraction(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse().ok().map(share_of_percent),
        None => text.trim().parse().ok(),
    }
}

/// Parses the numbers of an image's channels: `0.5`, `0.485,0.456,0.406`.
pub fn channels(text: &str) -> Result<Channels, String> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    numbers
        .filter(|numbers| matches!(numbers.len(), 1 | 3) && numbers.iter().all(|number| number.is_finite()))
        .map(Channels)
        .ok_or_else(|| "write one number, or one for each of three channels, such as 0.485,0.456,0.406".to_owned())
}

/// Parses the standard deviations of an image's channels.
pub fn deviations(text: &str) -> Result<Channels, String> {
    let above_0 = |Channels(numbers): &Channels| numbers.iter().all(|number| *number >= f32::MIN_POSITIVE);
    let wrong = || "standard deviations are above 0; write them such as 0.229,0.224,0.225".to_owned();
    channels(text).and_then(|numbers| Some(numbers).filter(above_0).ok_or_else(wrong))
}

/// Parses a time: `90`, `90s`, `5m`, `1h30m`, `2d`, `1d12h`.
pub fn duration_secs(text: &str) -> Result<f64, String> {
    parse_duration(text)
        .filter(|secs| DEADLINE_SECS.contains(secs))
        .ok_or_else(|| "write a time above 0, such as 90s, 5m, 1h30m or 2d".to_owned())
}

/// Parses a number, whose range the command checks.
pub fn number(text: &str) -> Result<f64, String> {
    text.trim().parse::<f64>().map_err(|_| "write a number, such as 0.1".to_owned())
}

/// Parses a size, 1 or more.
pub fn size(text: &str) -> Result<NonZeroUsize, String> {
    count(text).and_then(|count| NonZeroUsize::new(count as usize).ok_or_else(wrong_count))
}

/// Parses an amount of money: `5`, `0.25`.
pub fn money(text: &str) -> Result<f64, String> {
    let money = text.trim().parse::<f64>().ok().filter(|money| MONEY.contains(money));
    money.ok_or_else(|| "write an amount of money above 0, such as 5 or 0.25".to_owned())
}

/// Parses a size of memory: MiB without a unit, or `512m`, `2g`, `2GiB`, `1.5g`.
pub fn mib(text: &str) -> Result<u32, String> {
    let text = text.trim().to_ascii_lowercase();
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "" | "m" | "mb" | "mib" => Some(1.0),
        "g" | "gb" | "gib" => Some(1024.0),
        "t" | "tb" | "tib" => Some(1024.0 * 1024.0),
        _ => None,
    };
    let mib = number.trim().parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    mib.filter(|mib| *mib >= 1.0 && *mib <= f64::from(MOST_MEMORY_MIB) && mib.fract() == 0.0)
        // A whole number in the range of u32.
        .map(|mib| mib as u32)
        .ok_or_else(|| format!("write a size from 1 MiB to {MOST_MEMORY_MIB} MiB, such as 2048, 512m or 2g"))
}

/// Parses a list of sizes of memory: `1g,2g`.
pub fn mibs(text: &str) -> Result<Mibs, String> {
    list(text, mib).map(Mibs)
}

fn list<T: PartialEq>(text: &str, parse: fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let mut values = Vec::new();
    for part in text.split(',') {
        let value = parse(part)?;
        if !values.contains(&value) {
            values.push(value);
        }
        if values.len() > MOST_CANDIDATES {
            return Err(format!("name at most {MOST_CANDIDATES} values"));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_is_a_share_or_a_percentage() {
        assert_eq!((probability("0.9"), probability("90%"), probability(" 97.5 %")), (Ok(0.9), Ok(0.9), Ok(0.975)));
        for text in ["", "0", "1", "100%", "90", "-0.1", "NaN", "sure"] {
            assert!(probability(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_sampling_rate_is_a_share_or_a_percentage_up_to_the_whole() {
        assert_eq!((rate("0.1"), rate("10%"), rate("100 %"), rate("1")), (Ok(0.1), Ok(0.1), Ok(1.0), Ok(1.0)));
        assert_eq!(rate("0.12%").map(|rate| rate.to_string()).as_deref(), Ok("0.0012"));
        assert_eq!(rates("1%,0.1,10%"), Ok(Rates(vec![0.01, 0.1])));
        for text in ["", "0", "1.1", "10", "110%", "-1%", "NaN", "0.1,"] {
            assert!(rates(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_budget_is_an_amount_of_money() {
        assert_eq!(money("0.25"), Ok(0.25));
        for text in ["", "0", "-5", "inf", "5 USD"] {
            assert!(money(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_read_as_users_list_them() {
        assert_eq!(counts("1-4,8, 2"), Ok(Counts(vec![1, 2, 3, 4, 8])));
        for text in ["", "0", "4-1", "a", "1-", "1,,2", "-1", "1-4294967295"] {
            assert!(counts(text).is_err(), "{text}");
        }
        assert_eq!(counts("1-10000,5").map(|counts| counts.0.len()), Ok(MOST_CANDIDATES));
        assert_eq!(counts("1-9999,10000-10001"), Err("name at most 10000 numbers".into()));
        assert_eq!(
            (count("1_000"), count("0"), count("-1"), count("4294967296")),
            (Ok(1000), Err(wrong_count()), Err(wrong_count()), Err(wrong_count()))
        );
        assert_eq!(
            (large_count("4294967296"), large_count("10M"), whole_number("0")),
            (Ok(1 << 32), Ok(10_000_000), Ok(0))
        );
        assert_eq!(cores("100000"), Err("100000 cores per executor are too many; write at most 1000".into()));
        assert_eq!((one_cores("4"), executors("10000").map(|counts| counts.0.len())), (Ok(4), Ok(1)));
        assert!(one_executors("1-4").is_err() && executors("10001").is_err());
    }

    #[test]
    fn memory_is_in_mib_or_has_a_unit() {
        for (text, expected) in
            [("2048", 2048), ("512m", 512), ("2g", 2048), ("2 GiB", 2048), ("1.5G", 1536), ("1tb", 1 << 20)]
        {
            assert_eq!(mib(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "-1", "g", "2x", "0.3", "1e30", "100000000000000g"] {
            assert!(mib(text).is_err(), "{text}");
        }
        assert_eq!(mibs("1g,2048,2g"), Ok(Mibs(vec![1024, 2048])));
    }
}
