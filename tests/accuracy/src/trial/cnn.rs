//! CNNs that were never run: runs of other CNNs to fit, with the costs of each.

use foreglow_model::{
    Answer, Column, CostedRun, Dataset, Features, GraphCosts, Outcome, Repeats, Rival, Roles, UnseenCnn,
};

use crate::chance::Chance;
use crate::slowed::{Slowed, slow};
use crate::trial::TableTrial;

/// One family of CNNs that is left out on one device.
#[derive(Clone)]
pub struct CnnTrial {
    /// Fitted runs.
    pub fit: Vec<CostedRun>,
    /// Tested runs.
    pub test: Vec<CostedRun>,
}

impl CnnTrial {
    /// Returns the same split with slow runs among the fitted ones.
    pub fn slowed(&self, slowed: Slowed, chance: &mut Chance) -> Self {
        let mut trial = self.clone();
        let mut secs: Vec<f64> = trial.fit.iter().map(|run| run.secs_per_image).collect();
        let groups: Vec<usize> = (0..secs.len()).collect();
        slow(slowed, &mut secs, &groups, &vec![1.0; groups.len()], chance);
        trial.fit.iter_mut().zip(secs).for_each(|(run, secs)| run.secs_per_image = secs);
        trial
    }

    /// Returns the answers of the default predictor.
    ///
    /// # Errors
    /// The predictor cannot be fitted.
    pub fn foreglow(&self) -> Result<Vec<Outcome>, String> {
        let predictor = UnseenCnn::fit(&self.fit).ok_or("there is no run of another CNN")?;
        let outcome = |run: &CostedRun| {
            let prediction = predictor.predict(&run.costs, run.batch_size);
            let answer = prediction.map_or_else(Answer::default, |prediction| Answer::of(&prediction, false));
            Outcome { measured_secs: run.secs_per_image, answer }
        };
        Ok(self.test.iter().map(outcome).collect())
    }

    /// Returns the answers of a rival, which gets the sums over all kinds of layers.
    ///
    /// # Errors
    /// The rival does not support these runs.
    pub fn rival(&self, rival: &dyn Rival) -> Result<Vec<Outcome>, String> {
        let table = || -> anyhow::Result<TableTrial> {
            let (fit, test) = (table(&self.fit)?, table(&self.test)?);
            Ok(TableTrial { fit, test, repeats: Repeats::Each, roles: Roles::default() })
        };
        table().map_err(|error| error.to_string())?.rival(rival)
    }
}

fn table(runs: &[CostedRun]) -> anyhow::Result<Dataset> {
    let column =
        |name: &str, of: &dyn Fn(&CostedRun) -> f64| Column::numeric(name, runs.iter().map(of).collect(), None);
    let cost = |name: &'static str| {
        move |run: &CostedRun| {
            let values = GraphCosts::NAMES.iter().zip(run.costs.values());
            values.filter(|(of, _)| **of == name).map(|(_, value)| value.max(1.0)).sum::<f64>()
        }
    };
    let features = Features::new(vec![
        column("multiply_accumulates", &|run| run.costs.multiply_accumulates().max(1.0)),
        column("numbers", &|run| run.costs.numbers().max(1.0)),
        column("weights", &cost("weights")),
        column("launches", &cost("launches")),
        column("input", &cost("input")),
        column("batch_size", &|run| run.batch_size),
    ])?;
    let secs = runs.iter().map(|run| run.secs_per_image).collect();
    Ok(Dataset::new(features, secs, vec![false; runs.len()])?)
}
