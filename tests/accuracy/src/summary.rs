//! The figures of a run as one table on standard output.

use std::fmt::Write as _;

use crate::contestant::FOREGLOW;
use crate::figures::Figures;

/// Renders one line for each protocol, clean and slowed: the default predictor and the best rival.
pub fn summary(rows: &[Figures]) -> String {
    let mut text = String::from(
        "| set: protocol | foreglow MAPE | ÷ clean | in 90 % | width | interval score | fit | best rival | its MAPE | its ÷ clean |\n\
         |---|---:|---:|---:|---:|---:|---:|---|---:|---:|\n",
    );
    for own in rows.iter().filter(|row| row.predictor == FOREGLOW) {
        text.push_str(&line(own, rows));
    }
    text
}

/// Renders the line of a protocol.
pub fn line(own: &Figures, rows: &[Figures]) -> String {
    let number =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"));
    let rival = best_rival(own, rows);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "| {}: {}{} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        own.set,
        own.protocol,
        own.slowed.suffix(),
        number(own.mape_percent, 2),
        number(own.ratio_to_clean(), 2),
        number(own.coverage_percent(), 1),
        number(own.width_percent, 0),
        number(own.interval_score_percent, 0),
        own.fit_secs.map_or_else(|| "–".into(), |secs| format!("{:.0} ms", 1e3 * secs)),
        rival.map_or("–", |rival| rival.predictor),
        number(rival.and_then(|rival| rival.mape_percent), 2),
        number(rival.and_then(Figures::ratio_to_clean), 2),
    );
    text
}

/// Returns the rival with the smallest error among those that predict every run that the default
/// predictor does.
pub fn best_rival<'a>(own: &Figures, rows: &'a [Figures]) -> Option<&'a Figures> {
    rows.iter()
        .filter(|row| row.predictor != FOREGLOW && row.set == own.set && row.protocol == own.protocol)
        .filter(|row| row.slowed == own.slowed && row.mape_percent.is_some() && row.unknown <= own.unknown)
        .min_by(|a, b| a.mape_percent.unwrap_or(f64::INFINITY).total_cmp(&b.mape_percent.unwrap_or(f64::INFINITY)))
}
