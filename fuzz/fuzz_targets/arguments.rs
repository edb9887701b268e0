//! Values of options, and settings after a link: any text is rejected, or gives values in their
//! documented ranges.
#![no_main]

use foreglow_console::grammar::{self, Channels, Counts, Mibs, Rates};
use foreglow_console::link_suffix::LinkSuffix;
use foreglow_shared::{MOST_CORES, MOST_EXECUTORS, MOST_MEMORY_MIB, format_duration};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    counts(text);
    sizes(text);
    let _ = LinkSuffix::of(text);
});

fn counts(text: &str) {
    if let Ok(count) = grammar::large_count(text) {
        assert!(count > 0);
        assert_eq!(grammar::large_count(&count.to_string()), Ok(count));
    }
    for (read, most) in [
        (grammar::counts as fn(&str) -> Result<Counts, String>, u32::MAX),
        (grammar::executors, MOST_EXECUTORS),
        (grammar::cores, MOST_CORES),
    ] {
        let Ok(Counts(counts)) = read(text) else { continue };
        assert!(!counts.is_empty() && counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
        assert!(counts[0] > 0 && counts.last().is_some_and(|largest| *largest <= most), "{counts:?}");
        let written: Vec<String> = counts.iter().map(u32::to_string).collect();
        assert_eq!(read(&written.join(",")), Ok(Counts(counts)));
    }
}

/// Times, sizes, shares and amounts.
fn sizes(text: &str) {
    if let Ok(secs) = grammar::duration_secs(text) {
        assert!(secs.is_finite() && secs > 0.0, "{secs}");
        assert!(!format_duration(secs).is_empty());
    }
    if let Ok(money) = grammar::money(text) {
        assert!(money.is_finite() && money > 0.0, "{money}");
    }
    let is_share = |share: f64| share > 0.0 && share <= 1.0;
    for read in [grammar::rate, grammar::share, grammar::core_share, grammar::probability, grammar::accuracy] {
        assert!(read(text).map_or(true, is_share), "{text}");
    }
    if let Ok(Rates(rates)) = grammar::rates(text) {
        assert!(rates.iter().copied().all(is_share), "{rates:?}");
    }
    if let Ok(Mibs(sizes)) = grammar::mibs(text) {
        assert!(sizes.iter().all(|mib| (1..=MOST_MEMORY_MIB).contains(mib)), "{sizes:?}");
    }
    if let Ok(Channels(numbers)) = grammar::deviations(text) {
        assert!(matches!(numbers.len(), 1 | 3) && numbers.iter().all(|number| *number > 0.0), "{numbers:?}");
    }
    let _ = (grammar::classes(text), grammar::machine_type(text), grammar::channels(text), grammar::number(text));
}
