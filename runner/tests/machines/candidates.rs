//! The next run of any table of candidates.

use super::foreglow::{Answer, Foreglow};
use super::json;

/// Candidates of two machine types, and a run of the first.
const CANDIDATES: &str = "type,machines,price_per_hour\nsmall,1,0.5\nsmall,2,1.5\nfast,1,2.5\n";
const RUN: &str = "type,machines,secs\nsmall,1,2000.5\n";

fn advise(home: &Foreglow, candidates: &str, runs: &str) -> Answer {
    let (candidates, runs) = (home.write("candidates", candidates), home.write("runs", runs));
    home.run(&["advise", "--candidates", &candidates, "--input", &runs, "--workers", "machines"])
}

#[test]
fn candidates_and_runs_are_read_in_every_table_format() {
    let home = Foreglow::new();
    let expected = advise(&home, CANDIDATES, RUN);
    assert_eq!(expected.code, 0, "{}", expected.stderr);
    let tabs = |text: &str| text.replace(',', "\t");
    let semicolons = |text: &str| text.replace(',', ";").replace('.', ",");
    let blank = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n\r\n"));
    let json = "{\"type\":\"small\",\"machines\":1,\"secs\":2000.5}\n".to_owned();
    for (candidates, runs) in [
        (tabs(CANDIDATES), semicolons(RUN)),
        (semicolons(CANDIDATES), tabs(RUN)),
        (blank(CANDIDATES), blank(RUN)),
        (CANDIDATES.to_owned(), json),
    ] {
        let answer = advise(&home, &candidates, &runs);
        assert_eq!((answer.code, &answer.stdout), (0, &expected.stdout), "{runs}: {}", answer.stderr);
    }
}

#[test]
fn tables_of_candidates_that_contradict_themselves_are_refused_with_the_line() {
    let home = Foreglow::new();
    let dos = |text: &str| text.replace('\n', "\r\n");
    for (candidates, runs, sentence) in [
        (
            CANDIDATES.replace("small,2,1.5", "\nsmall,1.0,0.7"),
            RUN.to_owned(),
            "candidates: lines 2 and 4 are the same configuration; keep one",
        ),
        (
            "type,price_per_hour,price_per_hour\nsmall,1,2\n".to_owned(),
            RUN.to_owned(),
            "candidates: two columns are named price_per_hour; rename or remove one of them",
        ),
        (CANDIDATES.to_owned(), RUN.replace("secs", "type"), "runs: two columns are named type;"),
        (CANDIDATES.to_owned(), RUN.replace("small", "\n\nhuge"), "runs: line 4 is no configuration of"),
        (CANDIDATES.to_owned(), dos(&RUN.replace("small", "\nhuge")), "runs: line 3 is no configuration of"),
        (CANDIDATES.to_owned(), RUN.replace("small", "huge").trim_end().to_owned(), "runs: line 2 is no"),
        (CANDIDATES.to_owned(), dos(&RUN.replace("small", "huge")).trim_end().to_owned(), "runs: line 2 is no"),
        (CANDIDATES.replace("2.5", "0"), RUN.to_owned(), "candidates: line 4: price_per_hour is \"0\""),
        (CANDIDATES.to_owned(), RUN.replace("2000.5", "1e300"), "secs is \"1e300\"; give a number from 1e-9 to 1e12"),
        (CANDIDATES.replace("2.5", "1e-10"), RUN.to_owned(), "price_per_hour is \"1e-10\"; give a number from 1e-9"),
        (CANDIDATES.replace(",1.5", ""), RUN.to_owned(), "candidates: line 3"),
    ] {
        let answer = advise(&home, &candidates, &runs);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{sentence}: {}", answer.stderr);
        assert!(answer.stderr.contains(sentence), "{sentence}: {}", answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
    }
}

#[test]
fn the_next_run_of_any_table_of_candidates_is_proposed_until_none_is_worth_it() {
    let home = Foreglow::new();
    let machines = [("small", 1.0, 1.0), ("fast", 2.6, 2.0)];
    let mut candidates = "type,machines,price_per_hour\n".to_owned();
    for (name, _, price) in machines {
        for count in [1, 2, 4, 8] {
            candidates += &format!("{name},{count},{}\n", price * f64::from(count));
        }
    }
    let candidates = home.write("candidates.csv", &candidates);
    let ask = |runs: &str, format: &str| {
        let runs = home.write("runs.csv", &format!("type,machines,secs\n{runs}"));
        let arguments = ["advise", "--candidates", &candidates, "--input", &runs, "--workers", "machines"];
        home.run(&[&arguments[..], &["--deadline", "30m", "--format", format]].concat())
    };
    let mut runs = "small,1,2000\n".to_owned();
    let mut made = 1;
    let last = loop {
        let answer = json(&ask(&runs, "json"));
        assert_eq!(answer["runs"], made);
        let next = &answer["next"];
        if answer["is_enough"] == true || next.is_null() {
            break answer;
        }
        let (name, count) = (next["type"].as_str().unwrap(), next["machines"].as_str().unwrap());
        let speed = machines.iter().find(|(machine, ..)| *machine == name).unwrap().1;
        let machines: f64 = count.parse().unwrap();
        runs += &format!("{name},{count},{}\n", 2000.0 / speed * (0.05 + 0.95 / machines));
        made += 1;
        assert!(made <= 8, "a configuration was proposed twice");
    };
    assert_eq!(last["best"]["type"], "fast", "{last}");
    let table = ask(&runs, "table").stdout;
    assert!(table.starts_with("Stop: ") && table.contains("best"), "{table}");
    let none = home.run(&["advise", "--candidates", &candidates, "--price", "cost"]);
    assert_eq!((none.code, none.stderr.contains("there is no column cost")), (2, true), "{}", none.stderr);
    // Published strategies can be replayed on the same table.
    for strategy in ["expected-improvement", "random"] {
        let runs = home.write("runs.csv", "type,machines,secs\nsmall,1,2000\nfast,8,130\nfast,1,770\n");
        let arguments = ["advise", "--candidates", &candidates, "--input", &runs, "--strategy", strategy];
        let next = json(&home.run(&[&arguments[..], &["--format", "json"]].concat()));
        assert!(next["next"].is_object(), "{next}");
        assert_eq!((next["expected_saving"].is_null(), next["best"].is_object()), (strategy == "random", true));
    }
    let unknown = ask("huge,1,100\n", "json");
    assert!(unknown.stderr.contains("line 2 is no configuration of"), "{}", unknown.stderr);
}

#[test]
fn a_table_whose_runs_all_missed_the_deadline_names_the_fastest_and_repeats_that_disagree() {
    let home = Foreglow::new();
    let candidates = home.write("candidates.csv", "type,price_per_hour\nsmall,1\nlarge,2\n");
    let runs = home.write("runs.csv", "type,secs\nsmall,2000\nsmall,900\nlarge,700\n");
    let ask = |deadline: &str, format: &str| {
        home.run(&["advise", "--candidates", &candidates, "--input", &runs, "--deadline", deadline, "--format", format])
    };
    let late = ask("10m", "table");
    assert_eq!(late.code, 1, "{late:?}");
    assert!(late.stderr.contains("the fastest, type large, took 11 min 40.0 s"), "{}", late.stderr);
    assert!(
        late.stdout.contains("fastest") && late.stdout.contains("2 samples with type small contradict"),
        "{late:?}"
    );
    // The median of the small one, 1,450 s, misses 20 minutes although one run met them.
    let in_time = ask("20m", "json");
    assert_eq!(in_time.code, 0, "{in_time:?}");
    let answer = json(&in_time);
    assert_eq!(
        (answer["best"]["type"].as_str(), answer["best_secs"].as_f64()),
        (Some("large"), Some(700.0)),
        "{answer}"
    );
    assert_eq!(answer["warnings"][0]["kind"], "repeats_contradict", "{answer}");
}

#[test]
fn an_option_about_samples_is_refused_beside_a_table_of_candidates() {
    let home = Foreglow::new();
    let candidates = home.write("candidates.csv", CANDIDATES);
    for option in [
        &["--budget", "5"][..],
        &["--probability", "0.9"],
        &["--deadline", "1h", "--with-startup"],
        &["-E", "2"],
        &["-C", "2"],
        &["--memory", "2g"],
        &["--prices", "prices.json"],
        &["--min-accuracy", "97%"],
        &["--output", "more.jsonl"],
    ] {
        let answer = home.run(&[&["advise", "--candidates", &candidates], option].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{option:?}: {answer:?}");
        assert!(answer.stderr.contains("cannot be used with"), "{option:?}: {answer:?}");
    }
}
