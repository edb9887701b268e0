//! `foreglow._native`, the extension module of the wheel.

use pyo3::prelude::pymodule;

#[pymodule]
#[pyo3(name = "_native")]
#[expect(clippy::needless_pass_by_value, reason = "arguments are converted to owned values")]
mod native {
    use foreglow_model::{Column, Meaning, Prediction};
    use foreglow_python::{FittedPredictor, PredictorError};
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;

    /// A predictor that was fitted to runs.
    #[pyclass(frozen, name = "FittedPredictor")]
    struct Fitted(FittedPredictor);

    /// Values of a column, one per row.
    #[derive(FromPyObject)]
    enum Cells {
        #[pyo3(transparent)]
        Numbers(Vec<f64>),
        #[pyo3(transparent)]
        Names(Vec<String>),
    }

    /// Time, ends of its interval, both in seconds, and warnings.
    type Row = (Option<f64>, Option<f64>, Option<f64>, Vec<String>);

    #[pymethods]
    impl Fitted {
        /// Fits the content of a file of samples.
        #[staticmethod]
        #[pyo3(signature = (content, model=None, context=None))]
        fn from_samples(
            py: Python<'_>,
            content: &[u8],
            model: Option<String>,
            context: Option<usize>,
        ) -> PyResult<Self> {
            py.detach(|| FittedPredictor::from_samples(content, model.as_deref(), context)).map(Self).map_err(refused)
        }

        /// Fits a table: columns by name, times in seconds, whether each is a lower bound, and the
        /// meanings of columns by name.
        #[staticmethod]
        fn from_table(
            py: Python<'_>,
            columns: Vec<(String, Cells)>,
            secs: Vec<f64>,
            censored: Vec<bool>,
            meanings: Vec<(String, String)>,
        ) -> PyResult<Self> {
            let columns = columns.into_iter().map(column).collect();
            let meanings = meanings.iter().map(|(name, word)| Ok((name.as_str(), meaning(word)?)));
            let known = meanings.collect::<PyResult<Vec<_>>>()?;
            py.detach(|| FittedPredictor::from_table(columns, secs, censored, &known)).map(Self).map_err(refused)
        }

        /// What the runs themselves say against the predictions.
        #[getter]
        fn warnings(&self) -> Vec<String> {
            self.0.warnings()
        }

        /// Predicts each row of questions.
        fn predict(&self, py: Python<'_>, columns: Vec<(String, Cells)>) -> PyResult<Vec<Row>> {
            let columns = columns.into_iter().map(column).collect();
            let predictions = py.detach(|| self.0.predict(columns)).map_err(refused)?;
            Ok(predictions.iter().map(row).collect())
        }
    }

    fn column((name, cells): (String, Cells)) -> Column {
        match cells {
            Cells::Numbers(values) => Column::numeric(name, values, None),
            Cells::Names(names) => Column::category(name, names),
        }
    }

    fn meaning(word: &str) -> PyResult<Meaning> {
        match word {
            "work" => Ok(Meaning::Work),
            "workers" => Ok(Meaning::Workers),
            "cores" => Ok(Meaning::Cores),
            "replicas" => Ok(Meaning::Replicas),
            _ => Err(PyValueError::new_err(format!("{word} is no meaning; give work, workers, cores or replicas"))),
        }
    }

    fn row(prediction: &Prediction) -> Row {
        let interval = prediction.interval.as_ref();
        let ends = (interval.map(|interval| interval.lower_secs), interval.map(|interval| interval.upper_secs));
        let warnings = prediction.warnings.iter().map(ToString::to_string).collect();
        (prediction.completion_time_secs, ends.0, ends.1, warnings)
    }

    fn refused(error: PredictorError) -> PyErr {
        PyValueError::new_err(error.to_string())
    }
}
