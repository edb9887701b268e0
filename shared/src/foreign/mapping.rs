//! Where a table of another tool says what.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Field;
use crate::Engine;

/// Where a field is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In this column, counted from 0.
    Column(usize),
    /// By the person: the same for every row.
    Fixed(String),
}

/// What a completion time is counted in.
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

/// What says how much of the job ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// A share of the images, above 0 and at most 1.
    #[default]
    Share,
    /// The same in percent.
    Percent,
    /// The images that were processed.
    Images,
}

/// Where every field is said, and in what units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// Where each field is said; one that is absent is not known yet.
    pub places: BTreeMap<Field, Place>,
    /// The unit of the completion time.
    pub time_unit: TimeUnit,
    /// What says how much ran.
    pub extent: Extent,
    /// What ran the executors.
    pub engine: Engine,
}

impl TimeUnit {
    /// Seconds of one.
    pub(super) fn secs(self) -> f64 {
        match self {
            Self::Secs => 1.0,
            Self::Millis => 1e-3,
            Self::Minutes => 60.0,
        }
    }
}

impl Mapping {
    /// What the names of the columns suggest. Each column is taken once, by the field whose name it has most surely.
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
                    places.insert(field, Place::Column(place));
                }
            }
        }
        let column = |field| match places.get(&field) {
            Some(Place::Column(place)) => headers.get(*place).map_or("", String::as_str),
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
                places.entry(field).or_insert_with(|| Place::Fixed(usual.to_owned()));
            }
        }
        Self { places, time_unit, extent, engine: Engine::Spark }
    }

    /// The fields of which nobody has said anything.
    pub fn missing(&self) -> Vec<Field> {
        let is_said = |field: &Field| match self.places.get(field) {
            Some(Place::Fixed(text)) => !text.trim().is_empty(),
            Some(Place::Column(_)) => true,
            None => false,
        };
        Field::ALL.into_iter().filter(|field| !is_said(field)).collect()
    }
}
