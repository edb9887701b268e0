//! Foreglow's terms as types, for the data exchanged between its parts and with users.
//!
//! A timing [`Sample`] describes one run. A [`Context`] holds the properties that samples must have
//! in common to be comparable. An [`Observation`] is the part of a sample that the predictor sees,
//! and a [`Job`] holds all observations of one context. A [`PriceSheet`] turns time into money. A
//! [`View`] is a page that can be shared as a link.
//!
//! This crate must not read files, clocks, the network or sources of randomness, so that the same
//! input gives the same bytes on every machine and in the browser.

mod accuracy;
mod collect_command;
mod command_template;
mod confusion;
mod context;
mod cost_unit;
mod csv;
mod curve;
mod duration;
mod edit_distance;
mod encoding;
mod estimate;
mod exceeded_memory;
mod file_kind;
mod fingerprint;
mod foreign;
mod format;
mod job;
mod job_group;
mod jsonl;
mod kept_plan;
mod labels;
mod limits;
mod link;
mod link_setting;
mod machine;
mod measured_jobs;
mod moment;
mod monitor;
mod names;
mod number_format;
mod numbers;
mod preset;
mod price;
mod question;
mod rate;
mod read;
mod resizing;
mod sample;
mod short_link;
mod slot_times;
mod sorting;
mod spark_submit;
mod split;
mod table;
mod text;
mod unreadable;
mod workload;

pub use crate::accuracy::TrainedAccuracy;
pub use crate::collect_command::{collect_command, shell_word};
pub use crate::command_template::{CommandTemplate, Placeholder, ProgramRun, TemplateError};
pub use crate::confusion::{ClassQuality, Confusion};
pub use crate::context::Context;
pub use crate::cost_unit::CostUnit;
pub use crate::csv::{CsvColumns, write_csv};
pub use crate::curve::{Curve, MOST_CURVE_POINTS};
pub use crate::duration::{compact_duration, parse_duration};
pub use crate::edit_distance::edit_distance;
pub use crate::encoding::decode;
pub use crate::estimate::Estimate;
pub use crate::exceeded_memory::ExceededMemory;
pub use crate::file_kind::NotText;
pub use crate::fingerprint::Fingerprint;
pub use crate::foreign::{Extent, Field, FieldSource, Mapping, MappingError, TimeUnit};
pub use crate::format::{
    format_count, format_duration, format_integer, format_money, format_percent, format_price, format_probability,
    format_rate, printable,
};
pub use crate::job::{IncompleteOutcome, IncompleteRun, Job, Observation, PeakMemory, group_by_context};
pub use crate::job_group::{Hardware, JobDefinition, JobGroup, group_by_definition, group_jobs, measured_choices};
pub use crate::jsonl::{parse_line, write_jsonl};
pub use crate::kept_plan::{KeptPlan, PlannedTime};
pub use crate::labels::{LABELS, Label, LabelError, Labels, WORKLOAD_LABELS};
pub use crate::limits::{
    ACCURACIES, CORE_SHARES, DEADLINE_SECS, MONEY, MOST_CANDIDATES, MOST_CORES, MOST_EXECUTORS, MOST_MEMORY_MIB,
    PROBABILITIES, RUN_SECS, SAMPLING_RATES, STARTUP_SECS,
};
pub use crate::link::{FRAGMENT_PREFIX, LeftOut, LinkError, MOST_JOBS_IN_LINK, MOST_RUNS_IN_LINK, SHORT_PREFIX, View};
pub use crate::link_setting::{Devices, InvalidSetting, LinkSetting, LinkSettings, decoded, encoded};
pub use crate::machine::{Accelerators, BillingTerms, Catalog, CatalogError, MachineType, OWN, SYSTEM_MIB};
pub use crate::measured_jobs::{list_jobs, measured_jobs};
pub use crate::moment::day;
pub use crate::monitor::{AcceleratorMoment, MonitorError, MonitoredRun, ResourceUse, is_monitor, read_monitor};
pub use crate::number_format::NumberFormat;
pub use crate::numbers::{count, number, share_of_percent};
pub use crate::preset::{Preset, has_words, presets};
pub use crate::price::{PriceError, PriceSheet, Resources};
pub use crate::question::{DEFAULT_PROBABILITY, Question, WhatIf};
pub use crate::rate::Rate;
pub use crate::read::{ReadError, SampleFormat, read_json_lines, read_repeated_samples, read_samples, read_unless_cut};
pub use crate::resizing::{Fit, Interpolation, Resizing};
pub use crate::sample::{Accelerator, Configuration, Engine, Host, Outcome, SCHEMA, Sample, SampleError, UNKNOWN_SIZE};
pub use crate::short_link::ShortLink;
pub use crate::slot_times::{LoggedRun, MOST_SLOT_COUNTS, SlotTimes};
pub use crate::sorting::{distinct, sort_by, sort_by_cached_key};
pub use crate::spark_submit::{
    LABEL_PREFIX, LEAST_SPARK_MEMORY_MIB, spark_application_properties, spark_properties, spark_submit_arguments,
};
pub use crate::split::{CoreSplit, SplitError};
pub use crate::table::{Table, TableError, TableRow, unambiguous_number};
pub use crate::text::{NO_IMAGE_PX, TextInput};
pub use crate::workload::{APPLICATION_UNITS, DataSet, Mode, NetworkFile, Workload};

pub use jiff::{Timestamp, civil::Date};
pub use uuid::Uuid;
