//! Accuracy in a context with few own runs and many of other contexts: the default predictor on all
//! runs and only on the own runs, and the rivals on all runs.

use std::collections::BTreeMap;

use foreglow_model::{Dataset, Features, RIVALS, Rival, Roles, Term, draw};

use crate::intervals::holds;
use crate::public::{Named, Public};
use crate::table::Table;

/// Numbers of own runs that are fitted.
const OWN: [usize; 4] = [1, 2, 3, 5];
/// Maximum number of runs of other contexts, drawn at random.
const MOST_OTHERS: usize = 240;
/// Maximum number of contexts of a table, and of tested runs of each context.
const MOST_CONTEXTS: usize = 8;
const MOST_ASKED: usize = 60;
/// Rivals in the printed table.
const SHOWN: [&str; 4] = ["ernest", "ernest-relative", "log-additive", "gradient-boosting"];

/// A table with the columns that define a context.
pub struct Case {
    name: String,
    table: Table,
    contexts: Vec<&'static str>,
    roles: Roles,
}

/// One context with a given number of its own runs.
pub struct Trial<'a> {
    pub case: &'a Case,
    own: Table,
    others: Table,
    asked: Table,
    runs: usize,
}

/// Result of one predictor on one trial.
pub struct Finding {
    case: String,
    predictor: String,
    runs: usize,
    /// Mean absolute percentage error; `None` if a run cannot be predicted.
    mape_percent: Option<f64>,
    /// Numbers of tested runs inside their interval, and of tested runs with an interval.
    held: Option<(usize, usize)>,
}

/// Returns every table.
///
/// # Errors
/// A table cannot be built.
pub fn cases(public: &Public) -> anyhow::Result<Vec<Case>> {
    let machines = |name: &str| Roles { machines: Some(Term::new(name)), ..Roles::default() };
    let sized = |name: &str, size: &str| Roles { data_size: Some(Term::new(size)), ..machines(name) };
    let mut cases = Vec::new();
    // Each combination of a C3O job's parameters becomes one name, because a user's own jobs mostly
    // have only a name.
    for Named { name, table } in &public.c3o {
        let table = table.with_context("instance_count", "data and parameters")?;
        let contexts = vec!["data and parameters"];
        cases.push(Case { name: format!("C3O {name}"), table, contexts, roles: machines("instance_count") });
    }
    let sort = public.c3o_sort.clone();
    let roles = sized("instance_count", "data_size_MB");
    cases.push(Case { name: "C3O sort, machine types".into(), table: sort, contexts: vec!["machine_type"], roles });
    let jobs: Vec<(&str, &Table)> = public.bell.iter().map(|Named { name, table }| (name.as_str(), table)).collect();
    let bell = Table::joined("job", &jobs)?;
    cases.push(Case { name: "Bell, unlike jobs".into(), table: bell, contexts: vec!["job"], roles: machines("Nodes") });
    let roles = sized("n_vms", "train_samples");
    let table = public.trimtuner.clone();
    cases.push(Case { name: "TrimTuner".into(), table, contexts: vec!["vm", "sync"], roles });
    let contexts = vec!["instance_name", "model"];
    cases.push(Case { name: "PROFET".into(), table: public.profet.clone(), contexts, roles: Roles::default() });
    Ok(cases)
}

/// Returns the trials of a table.
pub fn trials(case: &Case) -> Vec<Trial<'_>> {
    let contexts = case.table.contexts(&case.contexts);
    let mut trials = Vec::new();
    for place in draw(contexts.len(), MOST_CONTEXTS, 1) {
        let rows = &contexts[place].1;
        let order: Vec<usize> = draw(rows.len(), rows.len(), 2).into_iter().map(|at| rows[at]).collect();
        // The tested runs do not depend on the number of fitted runs.
        let most = OWN.iter().rev().find(|own| **own + 2 <= order.len()).copied().unwrap_or(0);
        let asked: Vec<usize> = order[most..].iter().take(MOST_ASKED).copied().collect();
        let outside: Vec<usize> = (0..case.table.len()).filter(|row| !rows.contains(row)).collect();
        let others: Vec<usize> = draw(outside.len(), MOST_OTHERS, 3).into_iter().map(|at| outside[at]).collect();
        for runs in OWN.into_iter().filter(|own| *own <= most) {
            let tables = (case.table.select(&order[..runs]), case.table.select(&others), case.table.select(&asked));
            if let (Some(own), Some(others), Some(asked)) = tables {
                trials.push(Trial { case, own, others, asked, runs });
            }
        }
    }
    trials
}

impl Trial<'_> {
    /// Measures every predictor.
    ///
    /// # Errors
    /// The default predictor cannot be fitted.
    pub fn find(&self) -> anyhow::Result<Vec<Finding>> {
        let both = self.own.and(&self.others)?;
        let mut findings = vec![
            self.foreglow("foreglow, own and others", &both)?,
            self.foreglow("foreglow, own runs alone", &self.own)?,
        ];
        let shown = RIVALS.iter().filter(|rival| SHOWN.contains(&rival.name()));
        findings.extend(shown.filter_map(|rival| self.rival(*rival, &both.0)));
        Ok(findings)
    }

    fn foreglow(&self, predictor: &str, fit: &Table) -> anyhow::Result<Finding> {
        let predictions = fit.fit()?.predict(self.asked.0.features())?;
        let times: Vec<Option<f64>> = predictions.iter().map(|prediction| prediction.completion_time_secs).collect();
        let held: Vec<bool> =
            predictions.iter().zip(self.asked.0.secs()).filter_map(|(p, secs)| holds(p, *secs)).collect();
        let held = (held.iter().filter(|held| **held).count(), held.len());
        Ok(Finding { held: Some(held), ..self.finding(predictor, &times) })
    }

    fn rival(&self, rival: &dyn Rival, fit: &Dataset) -> Option<Finding> {
        let asked: &Features = self.asked.0.features();
        let times = rival.answer(fit, asked, &self.case.roles).ok()?;
        Some(self.finding(&format!("{}, own and others", rival.name()), &times))
    }

    fn finding(&self, predictor: &str, times: &[Option<f64>]) -> Finding {
        let error = |(time, secs): (&Option<f64>, &f64)| time.map(|time| 100.0 * (time / secs - 1.0).abs());
        let errors: Option<Vec<f64>> = times.iter().zip(self.asked.0.secs()).map(error).collect();
        let mape_percent = errors.map(|errors| errors.iter().sum::<f64>() / errors.len() as f64);
        Finding {
            case: self.case.name.clone(),
            predictor: predictor.to_owned(),
            runs: self.runs,
            mape_percent,
            held: None,
        }
    }
}

/// Prints the MAPE by table, predictor and number of own runs: the mean over contexts, `–` if one
/// of them cannot be predicted. Next to it: the coverage of the 90 % intervals.
pub fn print(findings: &[Finding]) {
    let mut cells = BTreeMap::<(&str, &str), BTreeMap<usize, Vec<&Finding>>>::new();
    for finding in findings {
        let row = cells.entry((&finding.case, &finding.predictor)).or_default();
        row.entry(finding.runs).or_default().push(finding);
    }
    let heads: Vec<String> = OWN.iter().map(|own| format!("{own} own")).collect();
    println!("| table | predictor | {} |\n|---|---|{}", heads.join(" | "), "---|".repeat(OWN.len()));
    for ((case, predictor), row) in cells {
        let cells: Vec<String> =
            OWN.iter().map(|own| row.get(own).map_or_else(String::new, |cell| text(cell))).collect();
        println!("| {case} | {predictor} | {} |", cells.join(" | "));
    }
}

fn text(cell: &[&Finding]) -> String {
    let known: Option<Vec<f64>> = cell.iter().map(|finding| finding.mape_percent).collect();
    let Some(known) = known else { return "–".into() };
    let mape = known.iter().sum::<f64>() / known.len() as f64;
    let held = cell.iter().filter_map(|finding| finding.held);
    let (held, asked) = held.fold((0, 0), |sum, (held, asked)| (sum.0 + held, sum.1 + asked));
    let covered =
        if asked > 0 { format!(" ({:.0} % held)", 100.0 * held as f64 / asked as f64) } else { String::new() };
    format!("{mape:.1}{covered}")
}
