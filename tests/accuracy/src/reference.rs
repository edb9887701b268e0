//! The gate: no error may exceed the committed reference by more than a twentieth.

use std::path::Path;

use anyhow::Context as _;

use crate::figures::Figures;
use crate::protocol::Set;

/// Factor by which a figure may exceed the reference.
const ALLOWED: f64 = 1.05;
/// Percentage points by which any figure may exceed the reference, because a twentieth of a figure
/// near 0 is too little.
const ALLOWED_POINTS: f64 = 0.05;

/// The compared figures of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The data set.
    pub set: String,
    /// The protocol, with the change to its runs.
    pub protocol: String,
    /// Mean absolute percentage error.
    pub mape_percent: Option<f64>,
    /// Mean interval score, percent of the measured time.
    pub interval_score_percent: Option<f64>,
}

impl Reference {
    /// Returns the figures of a row.
    pub fn of(row: &Figures) -> Self {
        Self {
            set: row.set.to_owned(),
            protocol: format!("{}{}", row.protocol, row.slowed.suffix()),
            mape_percent: row.mape_percent,
            interval_score_percent: row.interval_score_percent,
        }
    }
}

/// Reads a reference.
///
/// # Errors
/// The file cannot be read.
pub fn read(file: &Path) -> anyhow::Result<Vec<Reference>> {
    let mut reader = csv::Reader::from_path(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let mut references = Vec::new();
    for record in reader.records() {
        let record = record?;
        let cell = |place: usize| record.get(place).unwrap_or_default();
        let figure = |place: usize| match cell(place) {
            "" => Ok(None),
            text => text.parse().map(Some).with_context(|| format!("{}: {text:?} is no number", file.display())),
        };
        references.push(Reference {
            set: cell(0).to_owned(),
            protocol: cell(1).to_owned(),
            mape_percent: figure(2)?,
            interval_score_percent: figure(3)?,
        });
    }
    Ok(references)
}

/// Writes a reference.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &Path, references: &[Reference]) -> anyhow::Result<()> {
    let unwritable = || format!("{} cannot be written", file.display());
    let mut writer = csv::Writer::from_path(file).with_context(unwritable)?;
    writer.write_record(["set", "protocol", "mape_percent", "interval_score_percent"])?;
    for Reference { set, protocol, mape_percent, interval_score_percent } in references {
        let figure = |figure: &Option<f64>| figure.map_or_else(String::new, |figure| format!("{figure:.3}"));
        writer.write_record([set, protocol, &figure(mape_percent), &figure(interval_score_percent)])?;
    }
    writer.flush().with_context(unwritable)
}

/// Returns one sentence for each figure that is worse than the reference, missing, or new. Rows of
/// `skipped` data sets may be missing.
pub fn regressions(references: &[Reference], measured: &[Reference], skipped: &[Set]) -> Vec<String> {
    let mut sentences = Vec::new();
    for new in measured {
        let title = format!("{}: {}", new.set, new.protocol);
        let Some(old) = references.iter().find(|old| (&old.set, &old.protocol) == (&new.set, &new.protocol)) else {
            sentences.push(format!("{title} has no reference; run make accuracy-reference"));
            continue;
        };
        let figures = [
            ("MAPE", old.mape_percent, new.mape_percent),
            ("interval score", old.interval_score_percent, new.interval_score_percent),
        ];
        for (name, old, new) in figures {
            match (old, new) {
                (Some(old), Some(new)) if new > (old * ALLOWED).max(old + ALLOWED_POINTS) => {
                    sentences.push(format!("{title}: the {name} is {new:.2} %, the reference {old:.2} %"));
                }
                (Some(old), None) => {
                    sentences.push(format!("{title}: there is no {name}, the reference has {old:.2} %"))
                }
                _ => {}
            }
        }
    }
    for old in references {
        let is_skipped = skipped.iter().any(|set| set.name == old.set);
        if !is_skipped && !measured.iter().any(|new| (&old.set, &old.protocol) == (&new.set, &new.protocol)) {
            sentences.push(format!("{}: {} is in the reference and was not measured", old.set, old.protocol));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Source;

    fn reference(protocol: &str, mape_percent: f64, interval_score_percent: f64) -> Reference {
        Reference {
            set: "a set".into(),
            protocol: protocol.into(),
            mape_percent: Some(mape_percent),
            interval_score_percent: Some(interval_score_percent),
        }
    }

    #[test]
    fn a_figure_may_get_worse_by_a_twentieth_and_no_more() {
        let old = [reference("one", 10.0, 40.0)];
        let found = |mape, score| regressions(&old, &[reference("one", mape, score)], &[]);
        assert_eq!(found(10.49, 41.9), Vec::<String>::new());
        assert_eq!(found(1.0, 4.0), Vec::<String>::new());
        assert_eq!(found(10.51, 40.0), ["a set: one: the MAPE is 10.51 %, the reference 10.00 %"]);
        assert_eq!(found(10.0, 42.1), ["a set: one: the interval score is 42.10 %, the reference 40.00 %"]);
    }

    #[test]
    fn a_figure_near_zero_may_get_worse_by_a_rounding() {
        assert!(regressions(&[reference("one", 0.0, 16.0)], &[reference("one", 0.04, 16.0)], &[]).is_empty());
    }

    #[test]
    fn rows_that_come_and_go_are_named() {
        let (one, two) = (reference("one", 1.0, 1.0), reference("two", 1.0, 1.0));
        let found = regressions(std::slice::from_ref(&one), std::slice::from_ref(&two), &[]);
        assert_eq!(found.len(), 2, "{found:?}");
        let skipped = Set { name: "a set", is_development: true, source: Source::Shared };
        assert!(regressions(std::slice::from_ref(&one), &[], &[skipped]).is_empty());
        let gone = Reference { mape_percent: None, ..one.clone() };
        assert_eq!(regressions(&[one], &[gone], &[]), ["a set: one: there is no MAPE, the reference has 1.00 %"]);
    }

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        let file = std::env::temp_dir().join(format!("foreglow-reference-{}.csv", std::process::id()));
        let written = [reference("n ≤ 8 → 12, 10 % of the runs slowed", 1.25, 4.5)];
        write(&file, &written).unwrap();
        assert_eq!(read(&file).unwrap(), written);
        std::fs::remove_file(&file).unwrap();
    }
}
