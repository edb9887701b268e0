//! Invalid arguments and files: one sentence, and an exit code other than 0.

use crate::foreglow::{Foreglow, SAMPLES};

/// Arguments, and a part of the sentence that says what is wrong.
const INVALID: [(&[&str], &str); 57] = [
    (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
    (&["plan", "--dealine", "3m"], "unexpected argument '--dealine' found; a similar argument exists: '--deadline'"),
    (&["plan", SAMPLES, "--deadline", "5x"], "write a time above 0, such as 90s"),
    (&["plan", SAMPLES, "--deadline", "-5m"], "a value begins with -5; give a value above 0"),
    (&["plan", SAMPLES, "--deadline", "0"], "write a time above 0"),
    (&["plan", SAMPLES, "--deadline"], "a value is required for '--deadline <TIME>'"),
    (&["plan", SAMPLES, "--with-startup"], "--deadline <TIME>"),
    (&["plan", SAMPLES, "--budget=-1"], "write an amount of money above 0"),
    (&["plan", SAMPLES, "--budget", "five"], "write an amount of money above 0"),
    (&["plan", SAMPLES, "--probability", "100%"], "write a probability between 0 and 1"),
    (&["plan", SAMPLES, "-E", "4-2"], "write numbers of 1 or more"),
    (&["plan", SAMPLES, "-E", "1,,2"], "write numbers of 1 or more"),
    (&["plan", SAMPLES, "-C", "0"], "write numbers of 1 or more"),
    (&["plan", SAMPLES, "--memory", "3x"], "write a size from 1 MiB"),
    (&["plan", SAMPLES, "--model", "lenet5", "--prices", "none.json"], "there is no file none.json"),
    (&["plan", SAMPLES, "--model", "lenet5", "--prices", SAMPLES], "it is not a price sheet"),
    (
        &["plan", SAMPLES, "--format", "xml"],
        "invalid value 'xml' for '--format <FORMAT>' [possible values: table, json, csv]",
    ),
    (&["plan", SAMPLES, "--store", "x"], "cannot be used with '--store <FILE|URL>'"),
    (&["plan", SAMPLES, "--context", "0"], "write a whole number, 1 or more"),
    (&["plan", "/"], "/ is a folder; give a file"),
    (&["plan", "/dev/null"], "there are no samples in it"),
    (
        &["predict", SAMPLES],
        "the following required arguments were not provided: --executors <E> <--cores <C>|--total-cores <T>>",
    ),
    (&["predict", SAMPLES, "-E", "1-2", "-C", "1"], "this command takes one number"),
    (&["predict", SAMPLES, "-E", "1", "-C", "1", "--sampling-rate", "200%"], "write a share of the images"),
    (&["run", "--model", "nosuch"], "there is no CNN nosuch; choose one of"),
    (&["run", "--images", "0"], "write a whole number, 1 or more"),
    (&["run", "--data", "/no/such/folder"], "does not exist; give an existing folder"),
    (&["run", "--model", "lenet5", "--image-px", "64"], "leave --image-px out: it takes 32 px"),
    (&["run", "--classes", "1"], "write a number from 2 to 100000, or own"),
    (&["plan", "resnet5O"], "no network of this name; similar networks are resnet50"),
    (&["plan", "jobs.jsonl"], "there is no file jobs.jsonl; check its name"),
    (&["run", "--weights", "none.safetensors"], "none.safetensors; check its name"),
    (&["run", "--weights", SAMPLES], "is not a complete safetensors file"),
    (&["run", "--checkpoint", "a"], "--checkpoint is for training; add --mode training"),
    (&["run", "--validation", "10%"], "--validation is for training; add --mode training"),
    (&["run", "--mode", "training", "--save-weights", "/no/such/folder/w"], "--save-weights cannot write /no/such"),
    (&["run", "--epochs", "3"], "--epochs is for training; add --mode training"),
    (&["run", "--mode", "training", "--learning-rate", "much"], "write a number, such as 0.1"),
    (&["run", "--mode", "training", "--momentum", "2"], "give a number from 0 to below 1"),
    (&["run", "--device", "tpu"], "there is no device tpu"),
    (&["run", "--model", "lenet5", "--output", "/no/such/folder/x"], "cannot be written"),
    (
        &["calibrate", "--output", "/no/such/folder/x", "--without", "foo"],
        "--without foo: calibrate does not run it, but resnet20_cifar, mobilenet_v2, resnet18",
    ),
    (&["collect", "--precision", "0"], "write a share between 0 and 1"),
    (&["collect", "--engine", "flink"], "[possible values: local, spark]"),
    (&["collect", "--upload", "nonsense"], "is not an address"),
    (&["import", "none.log"], "there is no file none.log"),
    (&["simulate", SAMPLES], "it is not a Spark event log"),
    (&["samples", "show", "zzzz", SAMPLES], "no sample has the id zzzz"),
    (&["samples", "remove", "0001", "--from", "none"], "there is no file none"),
    (&["evaluate", "--input", SAMPLES], "--target <COLUMN>"),
    (&["serve", "--listen", "nonsense"], "give an IP address and a port"),
    (&["upload", "--to", "nonsense"], "is not an address"),
    (&["upload", "--all", "--to", "127.0.0.1:1"], "holds no samples to send"),
    (&["link", "--open", "garbage"], "it is not a Foreglow link"),
    (&["link", SAMPLES, "--planner", "not a url"], "is not an address"),
    (&["pack", "/no/such/folder", "out"], "does not exist"),
    (&["read-test", "--threads", "0"], "write a whole number, 1 or more"),
];

#[test]
fn a_table_of_another_program_is_sent_to_the_commands_that_read_it() {
    let home = Foreglow::new();
    let table = home.write("sort.tsv", "machine\tgross_runtime\nm4.large\t12\n");
    for command in ["plan", "import"] {
        let answer = home.run(&[command, &table]);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
        let sentence = "the column schema is missing; a CSV of samples has columns such as configuration.executors, \
                        and any other table is for `foreglow evaluate --input` or for the planner";
        assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    }
}

#[test]
fn an_argument_that_cannot_be_used_is_refused_in_one_sentence() {
    let home = Foreglow::new();
    for (arguments, sentence) in INVALID {
        let answer = home.run(arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{arguments:?}: {}", answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 1, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.starts_with("foreglow: "), "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(sentence), "{arguments:?}: {}", answer.stderr);
    }
}

#[test]
fn prices_without_bound_are_refused() {
    let home = Foreglow::new();
    let sheet = r#"{"name":"far","date":"2026-11-01","currency":"USD","core_hour":1e308}"#;
    let prices = home.write("prices.json", sheet);
    let answer = home.run(&["plan", SAMPLES, "--model", "lenet5", "--prices", &prices]);
    assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{answer:?}");
    assert!(
        answer.stderr.contains("core_hour is 1")
            && answer.stderr.contains("a price is 0 or a number from 1e-12 to 1e12")
    );
}
