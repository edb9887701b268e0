//! The end-to-end linear regression.
//!
//! Source: "Performance Prediction of GPU-based Deep Learning Applications", §3: a linear
//! regression of the execution time of the whole network on batch size and number of iterations,
//! "specialized for the particular CNN and deployment", with one model for training and one for
//! inference.

use foreglow_numeric::Cholesky;

use crate::rival::context::contexts;
use crate::rival::{Rival, RivalError, Roles, Term};
use crate::{Dataset, Features};

/// t = β₀ + β₁·batch + β₂·iterations by least squares, for each deployment: runs that agree in
/// every other feature, so that training and inference are separate if a feature distinguishes
/// them. If only one of the two roles is named, the other is assumed constant within a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndToEnd;

impl Rival for EndToEnd {
    fn name(&self) -> &'static str {
        "end-to-end"
    }

    fn answer(&self, fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        let terms: Vec<&Term> = roles.batch_size.iter().chain(&roles.iterations).collect();
        if terms.is_empty() {
            return Err(RivalError::Role { role: "batch size", option: "--batch-size" });
        }
        let values =
            |features: &Features| terms.iter().map(|term| term.values(features)).collect::<Result<Vec<_>, _>>();
        let (known, unknown) = (values(fit.features())?, values(asked)?);
        let modelled: Vec<&str> = terms.iter().flat_map(|term| term.columns()).collect();
        let mut answers = vec![None; asked.rows()];
        for context in contexts(fit.features(), asked, &modelled).into_iter().filter(|context| !context.fit.is_empty())
        {
            let line = Line::fit(&known, fit.secs(), &context.fit);
            for row in context.asked {
                answers[row] = Some(line.at(&unknown, row));
            }
        }
        Ok(answers)
    }
}

/// The line y = mean + Σ slopeⱼ·(xⱼ − centreⱼ); a constant column has slope 0.
struct Line {
    centres: Vec<f64>,
    slopes: Vec<f64>,
    mean: f64,
}

impl Line {
    fn fit(columns: &[Vec<f64>], secs: &[f64], rows: &[usize]) -> Self {
        let mean = |values: &[f64]| rows.iter().map(|row| values[*row]).sum::<f64>() / rows.len() as f64;
        let centres: Vec<f64> = columns.iter().map(|column| mean(column)).collect();
        let centre = mean(secs);
        let dot = |a: &[f64], a0: f64, b: &[f64], b0: f64| {
            rows.iter().map(|row| (a[*row] - a0) * (b[*row] - b0)).sum::<f64>()
        };
        let with = |a: usize, values: &[f64], middle: f64| dot(&columns[a], centres[a], values, middle);
        let each = 0..columns.len();
        let matrix: Vec<Vec<f64>> =
            each.clone().map(|a| each.clone().map(|b| with(a, &columns[b], centres[b])).collect()).collect();
        let rhs: Vec<f64> = each.map(|a| with(a, secs, centre)).collect();
        Self { slopes: Cholesky::of_semidefinite(&matrix).solve(&rhs), centres, mean: centre }
    }

    fn at(&self, columns: &[Vec<f64>], row: usize) -> f64 {
        let terms = columns.iter().zip(&self.centres).zip(&self.slopes);
        self.mean + terms.map(|((column, centre), slope)| slope * (column[row] - centre)).sum::<f64>()
    }
}
