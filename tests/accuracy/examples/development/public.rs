//! The public tables that docs/accuracy.md describes.

use std::path::Path;

use crate::table::{Columns, Table};

/// A table with its name.
pub struct Named {
    pub name: String,
    pub table: Table,
}

/// A job of C3O: its file, its machine types, and its features other than the machines and the size
/// of the data.
const C3O: [(&str, &[&str], &[&str]); 5] = [
    ("grep", &["m4.2xlarge"], &["p_occurrence"]),
    ("kmeans", &["r4.2xlarge"], &["features", "observations", "k"]),
    ("pagerank", &["r4.2xlarge"], &["pages", "links", "convergence_criterion"]),
    ("sgd", &["r4.2xlarge"], &["features", "observations", "iterations"]),
    ("sort", &["c4.2xlarge", "m4.2xlarge", "r4.2xlarge"], &["line_length", "lines"]),
];
const BELL: [&str; 6] =
    ["grep.spark", "kmeans.flink", "pagerank.spark", "sgd.spark", "tpchq10.flink", "wordcount.flink"];

/// The public data sets.
pub struct Public {
    /// One table for each job and machine type; runs on more than two nodes.
    pub c3o: Vec<Named>,
    /// `sort` on its three machine types together.
    pub c3o_sort: Table,
    /// One table for each job.
    pub bell: Vec<Named>,
    /// Runs that were not stopped.
    pub trimtuner: Table,
    pub profet: Table,
}

impl Public {
    /// Reads all tables.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(data: &Path) -> anyhow::Result<Self> {
        let mut c3o = Vec::new();
        for (job, machines, own) in C3O {
            let numeric = [&["instance_count", "data_size_MB"], own].concat();
            let columns = Columns { secs: "gross_runtime", stopped: None, numeric: &numeric, category: &[] };
            for machine in machines {
                let keep =
                    |cell: &dyn Fn(&str) -> String| cell("machine_type") == *machine && cell("instance_count") != "2";
                let table = Table::read(&data.join(format!("c3o/{job}.tsv")), &columns, keep)?;
                c3o.push(Named { name: format!("{job} {machine}"), table });
            }
        }
        let numeric = ["instance_count", "data_size_MB", "line_length", "lines"];
        let sort = Columns { secs: "gross_runtime", stopped: None, numeric: &numeric, category: &["machine_type"] };
        let nodes = Columns { secs: "Runtime", stopped: None, numeric: &["Nodes"], category: &[] };
        let bell = BELL.map(|job| {
            let table = Table::read(&data.join(format!("bell/{job}.csv")), &nodes, |_| true)?;
            anyhow::Ok(Named { name: job.to_owned(), table })
        });
        let trimtuner = Columns {
            secs: "time_s",
            stopped: Some("censored_600s"),
            numeric: &["n_vms", "batch", "train_samples"],
            category: &["vm", "sync"],
        };
        let profet = Columns {
            secs: "batch_latency_s",
            stopped: None,
            numeric: &["pixels", "batchsize"],
            category: &["instance_name", "model"],
        };
        Ok(Self {
            c3o,
            c3o_sort: Table::read(&data.join("c3o/sort.tsv"), &sort, |_| true)?,
            bell: bell.into_iter().collect::<anyhow::Result<_>>()?,
            trimtuner: Table::read(&data.join("trimtuner_rnn/samples.csv"), &trimtuner, |_| true)?,
            profet: Table::read(&data.join("profet/samples.csv"), &profet, |_| true)?,
        })
    }
}
