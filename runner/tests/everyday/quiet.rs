//! `--quiet`: only the answer and errors.

use crate::foreglow::{Foreglow, SAMPLES, Serving, id, line};

#[test]
fn quiet_leaves_the_answer_and_errors_alone() {
    let home = Foreglow::new();
    let busy = r#""warnings":[{"kind":"busy_machine","other_processors":1.0,"free_processors":0}],"engine""#;
    let disturbed = home.write("disturbed.jsonl", &(line(1).replace(r#""engine""#, busy) + "\n"));
    let samples = std::fs::read_to_string(SAMPLES).unwrap();
    let cut = home.write("cut.jsonl", &format!("{samples}{{\"schema\":1,\"id\":\"0189"));
    let removable = home.write("removable.jsonl", &(line(1) + "\n" + &line(2) + "\n"));
    let output = home.path("imported.jsonl");
    let first = id(1);
    let cases: [&[&str]; 7] = [
        &["samples", "show", &first, &disturbed],
        &["predict", &cut, "--model", "lenet5", "-E", "1", "-C", "2"],
        &["import", SAMPLES, "--output", &output],
        &["link", SAMPLES, "--model", "lenet5"],
        &["plan", SAMPLES, "--model", "lenet5", "--deadline", "1h", "--with-startup"],
        &["samples", "remove", &first, "--from", &removable],
        &["devices"],
    ];
    for arguments in cases {
        let answer = home.run(&[arguments, &["--quiet"]].concat());
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{arguments:?}");
    }
    let loud = home.run(&["samples", "show", &first, &disturbed]);
    assert!(loud.stderr.starts_with("warning: "), "{}", loud.stderr);
}

#[test]
fn quiet_uploads_say_nothing_and_errors_are_still_printed() {
    let home = Foreglow::new();
    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let sent = home.run(&["upload", SAMPLES, "--to", &server.url, "--quiet"]);
    assert_eq!((sent.code, sent.stderr.as_str()), (0, ""));
    let refused = home.run(&["--quiet", "plan", "nothing.jsonl"]);
    assert!(refused.code == 2 && refused.stderr.starts_with("foreglow: there is no file"), "{}", refused.stderr);
}
