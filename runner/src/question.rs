//! The user's question: deadline, budget, candidate configurations, memory and prices.

use std::path::{Path, PathBuf};

use foreglow_shared::{DEFAULT_PROBABILITY, Job, PriceSheet, Question};

use crate::ask::{name, read_bytes};
use crate::exit::unusable;

/// Longest list of counts; longer lists are probably typing errors.
const MAX_COUNTS: usize = 10_000;

/// Question to the predictor.
#[derive(Clone, Debug, clap::Args)]
pub struct QuestionArgs {
    /// Deadline: 90s, 5m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    pub deadline: Option<f64>,

    /// Budget, in the currency of the prices: 5, 0.25
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    pub budget: Option<f64>,

    /// Required probability of meeting the deadline and the budget: 0.9 or 90%
    #[arg(long, value_name = "P", default_value_t = DEFAULT_PROBABILITY, value_parser = probability, allow_negative_numbers = true)]
    pub probability: f64,

    /// Candidate numbers of executors: 1-8 or 1,2,4 [default: 1 to the largest measured]
    #[arg(long, value_name = "LIST", value_parser = counts)]
    pub executors: Option<Counts>,

    /// Candidate numbers of cores per executor: 1-8 or 1,2,4 [default: 1 to the largest measured]
    #[arg(long, value_name = "LIST", value_parser = counts)]
    pub cores: Option<Counts>,

    #[command(flatten)]
    pub bill: Bill,
}

/// What a configuration is charged for.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Bill {
    /// Memory per executor in MiB, for the price [default: the largest measured]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub memory: Option<u32>,

    /// Price sheet, JSON [default: a published list price for the job's hardware, named in the answer]
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
}

/// Distinct counts in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(pub Vec<u32>);

impl QuestionArgs {
    /// The question about a job.
    ///
    /// # Errors
    /// The price sheet cannot be read.
    pub fn about(&self, job: &Job) -> anyhow::Result<Question> {
        let mut question = self.bill.about(job)?;
        question.deadline_secs = self.deadline;
        question.budget = self.budget;
        question.probability = self.probability;
        if let Some(Counts(executors)) = &self.executors {
            question.executors.clone_from(executors);
        }
        if let Some(Counts(cores)) = &self.cores {
            question.cores_per_executor.clone_from(cores);
        }
        Ok(question)
    }
}

impl Bill {
    /// Returns the default question with this memory and these prices.
    ///
    /// # Errors
    /// The price sheet cannot be read.
    pub fn about(&self, job: &Job) -> anyhow::Result<Question> {
        let mut question = Question::about_job(job);
        question.memory_per_executor_mib = self.memory.unwrap_or(question.memory_per_executor_mib);
        if let Some(file) = &self.prices {
            question.prices = read_prices(file)?;
        }
        Ok(question)
    }
}

/// Reads and checks a price sheet.
///
/// # Errors
/// The file cannot be read, or is not a valid price sheet.
pub fn read_prices(file: &Path) -> anyhow::Result<PriceSheet> {
    let bytes = read_bytes(file)?;
    let text = String::from_utf8_lossy(&bytes);
    PriceSheet::from_json(&text).map_err(|error| unusable(format!("{}: {error}", name(file))))
}

/// Parses a duration: `90`, `90s`, `5m`, `1h30m`.
pub fn duration_secs(text: &str) -> Result<f64, String> {
    let secs = match text.trim().parse::<f64>() {
        Ok(secs) => Some(secs),
        Err(_) => text.parse::<jiff::SignedDuration>().ok().map(|duration| duration.as_secs_f64()),
    };
    secs.filter(|secs| secs.is_finite() && *secs > 0.0)
        .ok_or_else(|| "write a time above 0, such as 90s, 5m or 1h30m".to_owned())
}

/// Parses an amount of money.
pub fn money(text: &str) -> Result<f64, String> {
    let money = text.trim().parse::<f64>().ok().filter(|money| money.is_finite() && *money > 0.0);
    money.ok_or_else(|| "write an amount of money above 0, such as 5 or 0.25".to_owned())
}

/// Parses a probability: `0.9` or `90%`.
fn probability(text: &str) -> Result<f64, String> {
    share(text).map_err(|_| "write a probability between 0 and 1, such as 0.9 or 90%".to_owned())
}

/// Parses a fraction: `0.02` or `2%`.
pub fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "write a share between 0 and 1, such as 0.02 or 2%".to_owned())
}

/// Parses a list of counts: `1-8`, `1,2,4`, `1-4,8`.
pub fn counts(text: &str) -> Result<Counts, String> {
    let wrong = || "write numbers of 1 or more, such as 1-8 or 1,2,4".to_owned();
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(wrong);
    let mut counts = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return Err(wrong());
        }
        if (last - first) as usize >= MAX_COUNTS || counts.len() >= MAX_COUNTS {
            return Err(format!("name at most {MAX_COUNTS} numbers"));
        }
        counts.extend(first..=last);
    }
    Ok(Counts(counts.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        let times = [("90", 90.0), ("90s", 90.0), ("5m", 300.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("250ms", 0.25)];
        for (text, secs) in times {
            assert_eq!(duration_secs(text), Ok(secs), "{text}");
        }
        for text in ["", "0", "-5s", "soon", "NaN", "inf", "1e400"] {
            assert!(duration_secs(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_probability_is_a_fraction_or_a_percentage() {
        assert_eq!((probability("0.9"), probability("90%"), probability(" 97.5 %")), (Ok(0.9), Ok(0.9), Ok(0.975)));
        for text in ["", "0", "1", "100%", "90", "-0.1", "NaN", "sure"] {
            assert!(probability(text).is_err(), "{text}");
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
    fn lists_of_counts_are_parsed() {
        assert_eq!(counts("1-4,8, 2"), Ok(Counts(vec![1, 2, 3, 4, 8])));
        for text in ["", "0", "4-1", "a", "1-", "1,,2", "-1", "1-4294967295"] {
            assert!(counts(text).is_err(), "{text}");
        }
    }
}
