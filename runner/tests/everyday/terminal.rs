//! Answers on terminals of several widths, compared with golden files.

use crate::foreglow::{Foreglow, SAMPLES};

#[test]
fn answers_fit_terminals_of_60_80_and_120_columns() {
    let home = Foreglow::new();
    for (name, arguments) in [
        ("plan", &["plan", SAMPLES, "--model", "lenet5", "--deadline", "15s"][..]),
        ("predict", &["predict", SAMPLES, "--model", "lenet5", "--executors", "16", "--cores", "4"]),
        ("scaling", &["scaling", SAMPLES, "--model", "lenet5"]),
        ("advise", &["advise", SAMPLES, "--model", "lenet5", "--deadline", "15s"]),
        ("samples", &["samples", "list", SAMPLES]),
        ("machines", &["machines"]),
        ("unmeasured", &["plan", "resnet50", "--images", "1000000", "--gpus", "T4,L4", "--deadline", "2h"]),
        ("layers", &["models", "lenet5"]),
        ("memory", &["models", "lenet5", "--memory", "512m"]),
        ("no-file", &["plan", "no-such-file.jsonl"]),
    ] {
        let mut text = String::new();
        for width in [60, 80, 120] {
            let shown = home.on_terminal(width, arguments);
            let is_command = |line: &str| line.trim_start().starts_with("foreglow ");
            for line in shown.lines().filter(|line| !is_command(line)) {
                assert!(line.chars().count() <= usize::from(width), "{width} columns: {line:?}");
            }
            text.push_str(&format!("--- {width} columns\n{shown}"));
        }
        let place = env!("CARGO_MANIFEST_DIR");
        assert!(!text.contains(place), "{name}: a path of one machine in its golden file");
        let mut settings = insta::Settings::clone_current();
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("terminal-{name}"), text));
    }
}
