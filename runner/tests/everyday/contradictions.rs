//! Samples that contradict each other, or the options of `foreglow import`.

use crate::foreglow::{self, Foreglow};

#[test]
fn two_samples_with_one_id_and_other_values_are_named() {
    let home = Foreglow::new();
    let other = foreglow::line(1).replace("2.5,", "4.5,");
    let second = foreglow::line(2).replace("0.1,\"outcome", "0.2,\"outcome");
    let one = home.write("one.jsonl", &format!("{}\n{second}\n", foreglow::line(1)));
    let two = home.write("two.jsonl", &format!("{other}\n"));
    let both = home.write("both.jsonl", &format!("{}\n{second}\n{other}\n", foreglow::line(1)));
    let said = format!(
        "the sample {} occurs again with other values (completion_time_secs, 4.5 instead of 2.5), and only the first is used",
        foreglow::id(1)
    );
    let ask = |command: &[&str], files: &[&str]| home.run(&[command, files].concat());
    for command in [&["plan"][..], &["predict", "-E", "1", "-C", "1"]] {
        for files in [&[one.as_str(), two.as_str()][..], &[both.as_str()]] {
            let answer = ask(command, files);
            assert!(answer.stderr.contains(&said), "{answer:?}");
        }
        assert_eq!(ask(command, &[&one, &one]).stderr, ask(command, &[&one]).stderr);
    }
    let imported = home.run(&["import", &both, "--output", &home.path("out.jsonl")]);
    assert_eq!(imported.code, 2, "{imported:?}");
    assert!(imported.stderr.contains("completion_time_secs, 4.5 instead of 2.5"), "{imported:?}");
}

#[test]
fn a_sample_that_an_option_of_import_contradicts_is_refused() {
    let home = Foreglow::new();
    let file = home.write("one.jsonl", &foreglow::line(1));
    let import = |more: &[&str]| home.run(&[&["import", &file, "--output", &home.path("out.jsonl")], more].concat());
    for (flag, value, has) in [
        ("--model", "resnet18", "\"lenet5\" for model"),
        ("--mode", "training", "\"inference\" for mode"),
        ("--images", "999", "\"1000\" for images"),
        ("--batch-size", "16", "\"8\" for batch_size"),
        ("--memory", "2g", "\"1024\" for memory_per_executor_mib"),
        ("--sampling-rate", "0.5", "\"0.1\" for sampling_rate"),
        ("--cpu", "B", "\"A\" for cpu"),
        ("--engine", "spark", "\"local\" for engine"),
        ("--data-name", "mnist", "no value for data"),
    ] {
        let answer = import(&[flag, value]);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{flag}: {answer:?}");
        let said = format!("the sample {} has {has}, but {flag} says ", foreglow::id(1));
        assert!(answer.stderr.contains(&said) && answer.stderr.contains(&format!("omit {flag}")), "{answer:?}");
    }
    let same =
        ["--model", "lenet5", "--images", "1000", "--sampling-rate", "10%", "--memory", "1g", "--engine", "local"];
    assert_eq!(import(&same).code, 0);
}
