//! Progress in lines of text: bars, counters and rates.

use std::borrow::Cow;

use memchr::memmem;

use crate::reading::{Epoch, Reading, Source, hash};
use crate::scan::{Fraction, fractions, number_at, number_of_word, spaces, spoken_fraction, word_before, words};

/// Letters of a label that identify a bar.
const LABEL_LETTERS: usize = 48;

/// Reads a line of a bar or of a log.
pub(crate) fn read(line: &[u8]) -> Option<Reading> {
    // Downloads count bytes.
    if !line.iter().any(u8::is_ascii_digit) || memmem::find(line, b"B/s").is_some() {
        return None;
    }
    let (rank, start) = rank(line);
    let line = &line[start..];
    let found: Vec<Fraction> = fractions(line).chain(spoken_fraction(line)).take(8).collect();
    let is_epoch = |fraction: &Fraction| {
        let is_first = found.len() > 1 && found[0] == *fraction;
        // `[0/25][10/782]`.
        let is_outer = spaces(line) == fraction.start || line[fraction.end..].starts_with(b"][");
        is_first && is_outer || is_epoch_word(word_before(line, fraction.start))
    };
    let epoch = found.iter().find(|fraction| is_epoch(fraction));
    // Lightning's bar on a terminal shows the numbers of this epoch and of the last one, from 0.
    let is_last = f64::from(u8::from(memmem::find(line, "•".as_bytes()).is_some()));
    let epoch = epoch.map(|fraction| Epoch { number: fraction.step, of: fraction.of.map(|of| of + is_last) });
    let epoch = epoch.or_else(|| epoch_number(line));
    let of = |fraction: &Fraction| fraction.of.unwrap_or(f64::INFINITY);
    let bar = found.iter().filter(|fraction| !is_epoch(fraction)).max_by(|one, other| of(one).total_cmp(&of(other)));
    match bar {
        Some(bar) => Some(of_bar(line, bar, epoch, rank)),
        None => of_counter(line, epoch, rank).or_else(|| of_epoch(epoch?, rank)).or_else(|| of_rate(line, rank)),
    }
}

fn of_bar(line: &[u8], bar: &Fraction, epoch: Option<Epoch>, rank: u64) -> Reading {
    let label = &line[..bar.start];
    let key = hash(rank, label_letters(label));
    let key = hash(key, bar.of.unwrap_or(0.0).to_bits().to_le_bytes());
    // A bar over epochs has the word in its label, but no number there: `Epochs:  33%|`.
    let counts_epochs = epoch.is_none() && words(label, "epoch").next().is_some();
    let (source, unit) = match counts_epochs {
        true => (Source::Epochs, "epochs".into()),
        false => (Source::Steps, unit(line, bar)),
    };
    Reading { of: bar.of, epoch, ..Reading::new(source, key, bar.step, unit) }
}

/// Returns the words before a bar, without those of one letter, which may belong to numbers.
fn label_letters(label: &[u8]) -> impl Iterator<Item = u8> {
    let words = label.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| word.len() > 1);
    words.flat_map(|word| word.iter().copied().chain([b' '])).take(LABEL_LETTERS)
}

/// Returns the unit of a bar: tqdm's, that of PyTorch's examples, or steps.
fn unit(line: &[u8], bar: &Fraction) -> Cow<'static, str> {
    if words(&line[..bar.start], "train").next().is_some_and(|(_, end)| line[end..].starts_with(b" Epoch")) {
        return "images".into();
    }
    // The rate of a bar follows its number at once. `img/s: 166` is that of another count.
    let rest = &line[bar.end..];
    let is_of_bar = |rate: &Rate<'_>| {
        let before = rate.letters.start.checked_sub(1).map(|place| rest[place]);
        before.is_some_and(|byte| byte.is_ascii_digit() || byte == b'?')
    };
    let Some(rate) = rate(rest).filter(is_of_bar) else { return "steps".into() };
    match rate.unit {
        "it" | "batch" | "batches" | "step" | "steps" | "" => "steps".into(),
        "img" | "imgs" | "image" | "images" => "images".into(),
        "ex" | "example" | "examples" | "sample" | "samples" => "samples".into(),
        "tok" | "token" | "tokens" => "tokens".into(),
        other => other.to_owned().into(),
    }
}

/// A rate in a line, such as `44.5it/s` or `2.06s/it`.
struct Rate<'a> {
    unit: &'a str,
    /// Positions of its first letter and after its last one.
    letters: std::ops::Range<usize>,
    /// Whether it is units per second, and not seconds per unit.
    is_per_second: bool,
}

/// Returns the first rate in a line.
fn rate(line: &[u8]) -> Option<Rate<'_>> {
    memchr::memchr_iter(b'/', line).find_map(|slash| {
        let start = slash - line[..slash].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let end = slash + 1 + line[slash + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (unit, is_per_second) = match (&line[start..slash], &line[slash + 1..end]) {
            (unit, b"s" | b"sec" | b"second") => (unit, true),
            (b"s" | b"ms" | b"us", unit) => (unit, false),
            _ => return None,
        };
        let unit = std::str::from_utf8(unit).ok().filter(|unit| unit.len() <= 20)?;
        Some(Rate { unit, letters: start..end, is_per_second })
    })
}

/// Parts before a word that counts work, such as `global_step`. With any other part, or in the
/// plural, it is the name of a setting, such as `max_iters = 5000`, `--save-step 500` or
/// `Scheduled epochs: 40`.
const PARTS_OF_COUNTERS: [&[u8]; 9] =
    [b"", b"global_", b"current_", b"cur_", b"train_", b"training_", b"optimizer_", b"mini-", b"micro-"];

/// Whether the word from `start` to `end` counts work.
fn is_counter(line: &[u8], (start, end): (usize, usize)) -> bool {
    let is_plural = line[start..end].ends_with(b"s");
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let part = &line[start - line[..start].iter().rev().take_while(is_part).count()..start];
    !is_plural && PARTS_OF_COUNTERS.iter().any(|known| part.eq_ignore_ascii_case(known))
}

/// Reads `iter 100:`, `global_step=10` or tqdm's `450it [00:10, 44.5it/s]`.
fn of_counter(line: &[u8], epoch: Option<Epoch>, rank: u64) -> Option<Reading> {
    let of_stem = |stem: &'static str| {
        let counters = words(line, stem).filter(|word| is_counter(line, *word));
        counters.filter_map(|(start, end)| Some((start, number_of_word(line, end)?.0)))
    };
    let is_global = |(start, _): &(usize, f64)| line[..*start].ends_with(b"global_");
    let named = of_stem("step").find(is_global);
    let named = named.or_else(|| ["iter", "step", "batch"].into_iter().find_map(|stem| of_stem(stem).next()));
    let (step, key) = match named {
        Some((start, step)) => (step, hash(rank, label_letters(&line[..start]))),
        None => {
            let bracket = memmem::find(line, b"it [")?;
            let digits =
                line[..bracket].iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
            (number_at(line, bracket - digits)?.0, hash(rank, label_letters(&line[..bracket - digits])))
        }
    };
    Some(Reading { epoch, ..Reading::new(Source::Steps, hash(key, [1]), step, "steps") })
}

fn of_epoch(epoch: Epoch, rank: u64) -> Option<Reading> {
    Some(Reading { of: epoch.of, ..Reading::new(Source::Epochs, hash(rank, [2]), epoch.number, "epochs") })
}

/// Reads `img/s: 512.3`, `images/sec: 812.3` or `812 img/s`; the step is the rate per second.
fn of_rate(line: &[u8], rank: u64) -> Option<Reading> {
    let Rate { unit, letters, .. } = rate(line).filter(|rate| rate.is_per_second)?;
    let is_image = ["im", "sample", "example"].iter().any(|stem| unit.starts_with(stem)) || unit.is_empty();
    let before = letters.start - line[..letters.start].iter().rev().take_while(|byte| **byte == b' ').count();
    let digits = line[..before].iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let rate = number_of_word(line, letters.end).or_else(|| number_at(line, before - digits))?.0;
    let unit = if is_image { "images" } else { "steps" };
    Some(Reading::new(Source::Rate, hash(rank, [3]), rate, unit))
}

/// Returns the size of all mini-batches of a step: `global batch size:   256 |`.
pub(crate) fn batch_size(line: &[u8]) -> Option<f64> {
    words(line, "batch").find_map(|(start, end)| {
        let is_size = matches!(line.get(end..end + 5), Some(b" size" | b"_size"));
        let is_part = word_before(line, start).starts_with(b"micro");
        (is_size && !is_part).then(|| number_of_word(line, end + 5))?.map(|(size, _)| size)
    })
}

fn is_epoch_word(word: &[u8]) -> bool {
    word.get(..5).is_some_and(|stem| stem.eq_ignore_ascii_case(b"epoch")) || word.eq_ignore_ascii_case(b"ep")
}

/// Returns the epoch of `Epoch: [0]`, `epoch=0/` or timm's `Train: 0 [`.
fn epoch_number(line: &[u8]) -> Option<Epoch> {
    let named = words(line, "epoch").filter(|word| is_counter(line, *word)).find_map(|(_, end)| {
        // MMEngine writes `Epoch(train)  [1][50/7330]`.
        let end = end + line[end..].strip_prefix(b"(train)").map_or(0, |_| 7);
        number_of_word(line, end)
    });
    let of_timm = || {
        let (_, end) = words(line, "train").next()?;
        let number = number_of_word(line, end)?;
        line[number.1..].starts_with(b" [").then_some(number)
    };
    let (number, _) = named.or_else(of_timm)?;
    Some(Epoch { number, of: None })
}

/// Returns the identity of the process that wrote a line, from the prefix of a launcher, and the
/// length of the prefix: `[rank1]:`, `[default1]:`, `[1,3]<stdout>:`, `1: ` or `(worker pid=7)`.
fn rank(line: &[u8]) -> (u64, usize) {
    let end = match line.first() {
        Some(b'[') => {
            let end = memmem::find(&line[..line.len().min(24)], b"]").filter(|end| *end > 1);
            let is_prefix = |end: &usize| {
                let inner = &line[1..*end];
                let digits = inner.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b',').count();
                let word = &inner[..inner.len() - digits];
                let has_name = matches!(word, b"rank" | b"default" | b"");
                digits > 0 && has_name && matches!(line.get(end + 1), Some(b':' | b'<'))
            };
            end.filter(is_prefix).and_then(|end| Some(end + memmem::find(&line[end..], b":")? + 1))
        }
        Some(b'0'..=b'9') => {
            let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (digits <= 4 && line[digits..].starts_with(b": ")).then_some(digits + 2)
        }
        Some(b'(') => memmem::find(&line[..line.len().min(80)], b")")
            .filter(|end| memmem::find(&line[..*end], b"pid=").is_some())
            .map(|end| end + 1),
        _ => None,
    };
    end.map_or((0, 0), |end| (hash(7, line[..end].iter().copied()), end))
}
