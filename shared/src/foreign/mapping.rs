//! Maps the columns of a foreign table to fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Field;
use crate::Engine;

/// Source of a field's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldSource {
    /// A column, counted from 0.
    Column(usize),
    /// A constant for every row, given by the user.
    Fixed(String),
}

/// Unit of the completion time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// Seconds.
    #[default]
    Secs,
    /// Milliseconds.
    Millis,
    /// Minutes.
    Minutes,
}

/// Unit of the processed part of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Share of the images, in (0, 1].
    #[default]
    Share,
    /// Percent of the images, in (0, 100].
    Percent,
    /// Number of processed images.
    Images,
}

/// Sources and units of all fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// Source of each field; unknown ones are absent.
    pub places: BTreeMap<Field, FieldSource>,
    /// The unit of the completion time.
    pub time_unit: TimeUnit,
    /// The unit of the processed part of the job.
    pub extent: Extent,
    /// The engine that ran the executors.
    pub engine: Engine,
}

impl TimeUnit {
    /// Length of the unit, seconds.
    pub(super) fn secs(self) -> f64 {
        match self {
            Self::Secs => 1.0,
            Self::Millis => 1e-3,
            Self::Minutes => 60.0,
        }
    }
}

impl Mapping {
    /// Guesses the mapping from the column names. Exact names are matched before names that contain
    /// a known one, and each column is used once.
    pub fn guess(headers: &[String]) -> Self {
        let plain = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
        let headers: Vec<String> = headers.iter().map(|header| plain(header)).collect();
        let mut places = BTreeMap::new();
        let mut taken = vec![false; headers.len()];
        let exact = |header: &str, name: &str| header == name;
        let holds = |header: &str, name: &str| header.contains(name);
        for fits in [exact as fn(&str, &str) -> bool, holds] {
            for field in Field::ALL.into_iter().filter(|field| !places.contains_key(field)).collect::<Vec<Field>>() {
                let found = field.names().iter().find_map(|name| {
                    headers.iter().enumerate().position(|(place, header)| !taken[place] && fits(header, name))
                });
                if let Some(place) = found {
                    taken[place] = true;
                    places.insert(field, FieldSource::Column(place));
                }
            }
        }
        let column = |field| match places.get(&field) {
            Some(FieldSource::Column(place)) => headers.get(*place).map_or("", String::as_str),
            _ => "",
        };
        let time = column(Field::CompletionTime);
        let time_unit = match () {
            () if time.ends_with("ms") || time.contains("milli") => TimeUnit::Millis,
            () if time.ends_with("min") || time.contains("minutes") => TimeUnit::Minutes,
            () => TimeUnit::Secs,
        };
        let extent = match column(Field::Extent) {
            "imagesprocessed" => Extent::Images,
            name if name.contains("percent") => Extent::Percent,
            _ => Extent::Share,
        };
        for field in Field::ALL {
            if let Some(usual) = field.usual() {
                places.entry(field).or_insert_with(|| FieldSource::Fixed(usual.to_owned()));
            }
        }
        Self { places, time_unit, extent, engine: Engine::Spark }
    }

    /// Returns the fields without a source.
    pub fn missing(&self) -> Vec<Field> {
        let is_said = |field: &Field| match self.places.get(field) {
            Some(FieldSource::Fixed(text)) => !text.trim().is_empty(),
            Some(FieldSource::Column(_)) => true,
            None => false,
        };
        Field::ALL.into_iter().filter(|field| !is_said(field)).collect()
    }
}
