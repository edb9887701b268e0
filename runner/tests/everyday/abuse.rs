//! Input made to stop, to exhaust or to deceive a command.

use std::time::{Duration, Instant};

use super::foreglow::{Foreglow, SAMPLES, line};

/// Commands that answer from samples.
const ANSWERS: [&[&str]; 6] = [
    &["plan"],
    &["plan", "--deadline", "30m", "--budget", "5"],
    &["predict", "--executors", "3", "--cores", "2"],
    &["scaling"],
    &["advise", "--deadline", "30m"],
    &["link"],
];

/// The extremes of each number that a sample may have, and values of the usual size.
const EXTREMES: [(&str, &[&str]); 6] = [
    (r#""sampling_rate":0.1"#, &["1e-12", "1e-9", "0.1", "0.5", "1"]),
    (r#""completion_time_secs":2.5"#, &["1e-9", "1e-3", "2.5", "1e9"]),
    (r#""executors":1"#, &["1", "2", "10000"]),
    (r#""cores_per_executor":1"#, &["1", "3", "1000"]),
    (r#""memory_per_executor_mib":1024"#, &["1", "1024", "16777216"]),
    (r#""partition_size":8"#, &["1", "8", "4294967295"]),
];

/// A linear congruential generator (Knuth, MMIX).
struct Draws(u64);

impl Draws {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}

fn extreme_sample(number: u32, draws: &mut Draws) -> String {
    let sample = line(number);
    EXTREMES.iter().fold(sample, |sample, (field, values)| {
        assert!(sample.contains(field), "{field} is not in {sample}");
        let (name, _) = field.split_once(':').unwrap();
        sample.replace(field, &format!("{name}:{}", values[draws.below(values.len())]))
    })
}

/// Runs a command that must end soon. Returns its exit code and its output.
fn ends(home: &Foreglow, arguments: &[&str]) -> (i32, String) {
    let start = Instant::now();
    let answer = home.run_within(arguments, 1_000);
    assert!(start.elapsed() < Duration::from_secs(20), "{arguments:?} took {:?}", start.elapsed());
    (answer.code, answer.stdout + &answer.stderr)
}

#[test]
fn every_answer_from_the_most_extreme_samples_ends_and_has_finite_numbers() {
    let home = Foreglow::new();
    for seed in 0..12 {
        let mut draws = Draws(seed);
        let samples: String = (1..=12).map(|number| extreme_sample(number, &mut draws) + "\n").collect();
        let file = home.write("extreme.jsonl", &samples);
        for command in ANSWERS {
            for format in [&["--format", "json"][..], &[]] {
                let (code, text) = ends(&home, &[command, &[&file], format].concat());
                assert!((0..=2).contains(&code), "seed {seed}, {command:?}: {text}");
                let mut words = text.split(|c: char| !c.is_alphanumeric());
                assert!(!words.any(|word| matches!(word, "NaN" | "inf")), "seed {seed}, {command:?}: {text}");
            }
        }
    }
}

#[test]
fn a_number_outside_the_range_of_finite_answers_is_refused_by_name() {
    let home = Foreglow::new();
    for (field, value, named) in [
        (r#""sampling_rate":0.1"#, "5e-324", "sampling_rate is 5e-324"),
        (r#""completion_time_secs":2.5"#, "5e-324", "completion_time_secs is 5e-324"),
        (r#""completion_time_secs":2.5"#, "1.7e308", "completion_time_secs is 1.7e308"),
    ] {
        let (name, _) = field.split_once(':').unwrap();
        let samples = format!("{}\n{}\n", line(1), line(2).replace(field, &format!("{name}:{value}")));
        let file = home.write("extreme.jsonl", &samples);
        let (code, text) = ends(&home, &["plan", &file]);
        assert!(code == 2 && text.contains("line 2") && text.contains(named), "{text}");
    }
    for (option, value) in [
        ("--deadline", "5e-324"),
        ("--deadline", "1e300"),
        ("--budget", "5e-324"),
        ("--budget", "1e300"),
        ("--probability", "5e-324"),
        ("--min-accuracy", "5e-324"),
    ] {
        let (code, text) = ends(&home, &["plan", SAMPLES, option, value]);
        assert!(code == 2 && text.contains(option), "{option} {value}: {text}");
    }
}

#[test]
fn no_name_of_a_file_commands_the_terminal_in_any_format() {
    let home = Foreglow::new();
    let name = r#""X\u001b]0;owned\u0007\u009b31m\u202e""#;
    let sample = |number: u32| {
        let sample = line(number).replace(r#""accelerator":null"#, &format!(r#""accelerator":{name}"#));
        sample.replace(r#""cpu":"A""#, &format!(r#""cpu":{name},"machine":{name}"#)) + "\n"
    };
    let samples: String = (1..=6).map(sample).collect();
    assert!(samples.contains("owned"), "{samples}");
    let file = home.write("evil.jsonl", &samples);
    let sheet =
        format!(r#"{{"name":{name},"date":"2026-01-31","currency":"USD","core_hour":0.04,"accelerator_hour":0.5}}"#);
    let prices = home.write("prices.json", &sheet);
    let others: [&[&str]; 3] = [&["samples", "list"], &["samples", "show", "00000001"], &["plan", "--context", "1"]];
    for command in ANSWERS.iter().chain(&others) {
        for format in ["table", "json", "csv"] {
            for prices in [&["--prices", &prices][..], &[]] {
                let (_, text) = ends(&home, &[*command, &[&file, "--format", format][..], prices].concat());
                let commands = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}');
                assert!(!text.contains(commands), "{command:?} as {format}: {text:?}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_ends_a_command_with_a_message_and_no_cut_line() {
    let home = Foreglow::new();
    let file = home.path("samples.jsonl");
    let run = |limit: &str| {
        let mut command = std::process::Command::new("sh");
        let script = format!(
            "{limit} exec \"$0\" run --model lenet5 --images 100 --sampling-rate 1 --partition-size 50 \
             --batch-size 10 --device cpu --output \"$1\""
        );
        command.args(["-c", &script, env!("CARGO_BIN_EXE_foreglow"), &file]);
        command.env("FOREGLOW_DATA", home.path("data")).output().unwrap()
    };
    assert!(run("").status.success());
    let one = std::fs::read_to_string(&file).unwrap();
    let blocks = one.len().div_ceil(512) + 1;
    // Only a part of the next line fits.
    let before = format!("{one}{}", "\n".repeat(blocks * 512 - 100 - one.len()));
    std::fs::write(&file, &before).unwrap();
    let answer = run(&format!("ulimit -f {blocks};"));
    let told = String::from_utf8(answer.stderr).unwrap();
    assert_eq!(answer.status.code(), Some(1), "{told}");
    assert!(told.contains("could not be written; free some space") && told.contains("File too large"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_data_folder_whose_path_is_not_utf8_is_refused_in_one_sentence() {
    use std::os::unix::ffi::OsStrExt as _;
    let home = Foreglow::new();
    let folder = std::path::Path::new(&home.path("data")).join(std::ffi::OsStr::from_bytes(b"im\xffges"));
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..4 {
        std::fs::write(folder.join(format!("{number}.png")), PNG).unwrap();
    }
    let commands: [&[&str]; 3] = [
        &["run", "--model", "lenet5", "--sampling-rate", "1", "--device", "cpu", "--timeout", "5s", "--data"],
        &["collect", "--model", "lenet5", "--device", "cpu", "--timeout", "5s", "--data"],
        &["read-test", "--model", "lenet5", "--device", "cpu", "--batch-size", "1", "--batches", "1"],
    ];
    for arguments in commands {
        let mut command = home.command();
        let start = Instant::now();
        let answer = command.args(arguments).arg(&folder).output().unwrap();
        let told = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert_eq!(answer.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains("is not UTF-8; rename its folders"), "{arguments:?}: {told}");
        assert!(start.elapsed() < Duration::from_secs(20), "{arguments:?}");
    }
}

/// A grey image of one pixel.
#[cfg(target_os = "linux")]
const PNG: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 58, 126, 155,
    85, 0, 0, 0, 10, 73, 68, 65, 84, 120, 156, 99, 96, 0, 0, 0, 2, 0, 1, 72, 175, 164, 113, 0, 0, 0, 0, 73, 69, 78, 68,
    174, 66, 96, 130,
];

#[test]
fn a_file_or_a_link_with_thousands_of_machine_types_takes_little_time_and_memory() {
    let home = Foreglow::new();
    let sample = |number: u32| line(number).replace(r#""cpu":"A""#, &format!(r#""machine":"m{number}""#)) + "\n";
    let file = home.write("many.jsonl", &(1..=1_500).map(sample).collect::<String>());
    assert!(std::fs::metadata(&file).unwrap().len() < 1_000_000);
    for command in [&["plan"][..], &["advise"], &["link"]] {
        let start = Instant::now();
        let answer = home.run_within(&[command, &[&file]].concat(), 600);
        assert!(answer.code <= 2, "{command:?}: {}", answer.stderr);
        assert!(start.elapsed() < Duration::from_secs(5), "{command:?} took {:?}", start.elapsed());
    }
}

#[test]
fn a_file_of_a_megabyte_takes_less_than_300_mib_of_memory() {
    const MOST_KIB: u64 = 300 << 10;
    let home = Foreglow::new();
    let with = |number: u32, field: &str, other: String| line(number).replace(field, &other) + "\n";
    let of_types = |number: u32, types: u32, sizes: bool| {
        let partition_size = if sizes { number } else { 8 };
        let machine = format!(r#""machine":"m{}""#, number % types);
        let secs = format!(r#""completion_time_secs":{}"#, 1.0 + f64::from(number * 7919 % 97) / 10.0);
        let executors = format!(r#""executors":{}"#, [1, 2, 8, 40][(number / types) as usize % 4]);
        with(number, r#""cpu":"A""#, machine)
            .replace(r#""completion_time_secs":2.5"#, &secs)
            .replace(r#""executors":1"#, &executors)
            .replace(r#""partition_size":8"#, &format!(r#""partition_size":{partition_size}"#))
    };
    let lines: [(&str, &dyn Fn(u32) -> String); 3] = [
        ("CNNs", &|number| with(number, r#""model":"lenet5""#, format!(r#""model":"m{number}""#))),
        ("the most machine types", &|number| of_types(number, 500, false)),
        ("partition sizes", &|number| of_types(number, 400, true)),
    ];
    for (what, line) in lines {
        let text: String = (1..)
            .map(line)
            .scan(0, |bytes, line| {
                *bytes += line.len();
                (*bytes < 1_000_000).then_some(line)
            })
            .collect();
        let file = home.write("most.jsonl", &text);
        let (code, peak) = home.peak_kib(&["plan", &file]);
        assert!(matches!(code, Some(0..=2)), "{what}: {code:?}");
        assert!((1..MOST_KIB).contains(&peak), "{what}: {} MiB", peak >> 10);
    }
}
