//! What is fitted and what is tested on each public data set, as arguments of `foreglow evaluate`.

/// A protocol: its figure is the mean over its parts.
pub struct Protocol {
    /// The data set.
    pub set: &'static str,
    /// What is asked.
    pub name: String,
    /// Arguments of `foreglow evaluate`, the file relative to the data folder.
    pub parts: Vec<Vec<String>>,
}

/// A job of C3O: its file, the commonest machine type and its own features.
const C3O: [(&str, &str, [&str; 3]); 5] = [
    ("grep", "m4.2xlarge", ["p_occurrence", "", ""]),
    ("kmeans", "r4.2xlarge", ["features", "observations", "k"]),
    ("pagerank", "r4.2xlarge", ["pages", "links", "convergence_criterion"]),
    ("sgd", "r4.2xlarge", ["features", "observations", "iterations"]),
    ("sort", "c4.2xlarge", ["line_length", "lines", ""]),
];
/// The job of C3O that ran on three machine types.
const SORT: [&str; 3] = ["c4.2xlarge", "m4.2xlarge", "r4.2xlarge"];
/// Jobs of C3O whose times at two nodes are outliers (too little memory).
const TIGHT: [&str; 2] = ["kmeans", "sgd"];
const BELL: [&str; 6] =
    ["grep.spark", "kmeans.flink", "pagerank.spark", "sgd.spark", "tpchq10.flink", "wordcount.flink"];

/// How a table is split where only some of its runs, drawn at random, are known.
const FEW_SPLITS: [&str; 3] = ["--random-splits", "20", "--fit-settings"];

/// Every protocol.
pub fn protocols() -> Vec<Protocol> {
    let random = |splits: &[&str]| {
        let part = |(job, machine, features): &(&str, &str, [&str; 3])| {
            let only: &[&str] = if TIGHT.contains(job) { &["--only", "instance_count>2"] } else { &[] };
            [c3o(job, machine, features), words(only), words(splits)].concat()
        };
        C3O.iter().map(part).collect()
    };
    let mut protocols = vec![Protocol {
        set: "C3O",
        name: "random 90/10, 100 splits".into(),
        parts: random(&["--random-splits", "100"]),
    }];
    for fitted in ["6", "12", "24"] {
        let parts = random(&[&FEW_SPLITS[..], &[fitted]].concat());
        protocols.push(Protocol { set: "C3O", name: format!("{fitted} random runs"), parts });
    }
    for largest in ["8", "10"] {
        let fit_on = format!("instance_count<={largest}");
        let split = ["--only", "instance_count>2", "--fit-on", &fit_on, "--test-on", "instance_count=12"];
        let machines = |job: &str, machine: &'static str| match job {
            "sort" => SORT.to_vec(),
            _ => vec![machine],
        };
        let parts = C3O.iter().flat_map(|(job, machine, features)| {
            machines(job, machine).into_iter().map(move |machine| c3o(job, machine, features))
        });
        let parts = parts.map(|part| [part, words(&split)].concat()).collect();
        protocols.push(Protocol { set: "C3O", name: format!("n ≤ {largest} → 12"), parts });
    }
    let trimtuner = |split: &[&str]| {
        let table = [
            "--input",
            "trimtuner_rnn/samples.csv",
            "--target",
            "time_s",
            "--censored",
            "censored_600s",
            "--feature",
            "n_vms",
            "--feature",
            "batch",
            "--feature",
            "train_samples",
            "--feature",
            "vm",
            "--feature",
            "sync",
            "--machines",
            "n_vms",
            "--data-size",
            "train_samples",
            "--batch-size",
            "batch",
        ];
        vec![words(&[&table[..], split].concat())]
    };
    protocols.push(Protocol {
        set: "TrimTuner RNN",
        name: "≤ 15k samples → 60k".into(),
        parts: trimtuner(&["--fit-on", "train_samples<=15000", "--test-on", "train_samples=60000"]),
    });
    protocols.push(Protocol {
        set: "TrimTuner RNN",
        name: "40 random runs".into(),
        parts: trimtuner(&[&FEW_SPLITS[..], &["40"]].concat()),
    });
    let few = [&FEW_SPLITS[..], &["60"]].concat();
    let profet: [(&str, &[&str]); 4] = [
        ("60 random runs", &few),
        ("batch ≤ 64 → 256", &["--fit-on", "batchsize<=64", "--test-on", "batchsize=256"]),
        ("pixels ≤ 128 → ≥ 224", &["--fit-on", "pixels<=128", "--test-on", "pixels>=224"]),
        ("unseen GPU-and-model pair", &["--leave-out", "instance_name", "--leave-out", "model"]),
    ];
    for (name, split) in profet {
        let table = words(&[
            "--input",
            "profet/samples.csv",
            "--target",
            "batch_latency_s",
            "--feature",
            "pixels",
            "--feature",
            "batchsize",
            "--feature",
            "instance_name",
            "--feature",
            "model",
            "--batch-size",
            "batchsize",
            "--term",
            "batchsize",
            "--term",
            "batchsize*pixels*pixels",
        ]);
        protocols.push(Protocol { set: "PROFET", name: name.into(), parts: vec![[table, words(split)].concat()] });
    }
    let bell = |split: &[&str]| {
        let part = |job: &&str| {
            let file = format!("bell/{job}.csv");
            let table = ["--input", &file, "--target", "Runtime", "--feature", "Nodes", "--machines", "Nodes"];
            words(&[&table[..], split].concat())
        };
        BELL.iter().map(part).collect()
    };
    let others = ["Nodes!=4", "Nodes!=8", "Nodes!=16", "Nodes!=28"].map(|condition| ["--test-on", condition]).concat();
    for (name, repeats) in [("n ∈ {4, 8, 16, 28} → other 11", "median"), ("the same, each repeat tested", "each")] {
        let parts = bell(&[&others[..], &["--repeats", repeats]].concat());
        protocols.push(Protocol { set: "Bell", name: name.into(), parts });
    }
    let parts = bell(&[&FEW_SPLITS[..], &["5"]].concat());
    protocols.push(Protocol { set: "Bell", name: "5 random node counts".into(), parts });
    protocols
}

fn c3o(job: &str, machine: &str, features: &[&str]) -> Vec<String> {
    let (file, machine) = (format!("c3o/{job}.tsv"), format!("machine_type={machine}"));
    let own = features.iter().filter(|feature| !feature.is_empty()).flat_map(|feature| ["--feature", feature]);
    let table = ["--input", &file, "--target", "gross_runtime", "--only", &machine];
    let roles = ["--machines", "instance_count", "--data-size", "data_size_MB"];
    let features = ["--feature", "instance_count", "--feature", "data_size_MB"];
    words(&table.into_iter().chain(features).chain(own).chain(roles).collect::<Vec<_>>())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
