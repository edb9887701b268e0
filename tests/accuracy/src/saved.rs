//! Figures of an earlier run, read from its file.

use std::path::Path;

use anyhow::Context as _;
use foreglow_model::RIVALS;
use serde_json::Value;

use crate::bouts::SLOWED;
use crate::calibration::Calibration;
use crate::contestant::FOREGLOW;
use crate::covered::Covered;
use crate::figures::Figures;
use crate::protocol::Protocol;
use crate::slowed::Slowed;

/// Parses the rows of a file that [`Figures::json`] wrote, except those of other protocols.
///
/// # Errors
/// The file cannot be read.
pub fn read(file: &Path, protocols: &[Protocol]) -> anyhow::Result<Vec<Figures>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let values: Vec<Value> = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    Ok(values.iter().filter_map(|value| row(value, protocols)).collect())
}

fn row(value: &Value, protocols: &[Protocol]) -> Option<Figures> {
    let text = |name: &str| value[name].as_str();
    let figure = |name: &str| value[name].as_f64();
    let count = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok());
    let covered =
        |name: &str| Some(Covered { held: count(&value[name]["held"])?, tested: count(&value[name]["tested"])? });
    let kinds = || std::iter::once(Slowed::None).chain(SLOWED);
    let (protocol, slowed) = protocols
        .iter()
        .filter(|protocol| Some(protocol.set.name) == text("set"))
        .flat_map(|protocol| kinds().map(move |slowed| (protocol, slowed)))
        .find(|(protocol, slowed)| {
            Some(format!("{}{}", protocol.name, slowed.suffix()).as_str()) == text("protocol")
        })?;
    let mut predictors = std::iter::once(FOREGLOW).chain(RIVALS.iter().map(|rival| rival.name()));
    Some(Figures {
        set: protocol.set.name,
        is_development: protocol.set.is_development,
        protocol: protocol.name.clone(),
        slowed,
        predictor: predictors.find(|name| Some(*name) == text("predictor"))?,
        mape_percent: figure("mape_percent"),
        clean_mape_percent: figure("clean_mape_percent"),
        left_out_mape_percent: figure("left_out_mape_percent"),
        within: covered("within")?,
        beyond: covered("beyond")?,
        calibration: Calibration::read(&value["calibration"]),
        width_percent: figure("width_percent"),
        median_width_percent: figure("median_width_percent"),
        interval_score_percent: figure("interval_score_percent"),
        tested: count(&value["tested"])?,
        unknown: count(&value["unknown"])?,
        fit_secs: figure("fit_secs"),
        reason: text("reason").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::PartOutcomes;
    use crate::protocol::protocols;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let protocols = protocols();
        let protocol = &protocols[0];
        let part = PartOutcomes {
            outcomes: vec![],
            failed: 3,
            calibration: Calibration::default(),
            clean: vec![],
            secs: vec![0.5],
            reason: Some("why".into()),
        };
        let (set, name) = (protocol.set.name, protocol.name.clone());
        let written = Figures::new(set, name, Slowed::Settings(10), RIVALS[0].name(), &[part]).json();
        assert_eq!(row(&written, &protocols).map(|row| row.json()), Some(written));
    }
}
