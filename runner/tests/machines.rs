//! Machine types on the command line: the catalog, and one plan over several of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "machines/candidates.rs"]
mod candidates;
mod foreglow;
#[path = "machines/links.rs"]
mod links;
#[path = "machines/prices.rs"]
mod prices;

use foreglow::{Answer, Foreglow};
use serde_json::Value;

/// A run of a job with 20,000 images on a machine type: executors, cores, sampling rate.
fn line(number: u32, machine: &str, (executors, cores, rate): (u32, u32, f64), speed: f64) -> String {
    let threads = f64::from(executors * cores);
    let secs = 0.5 + 400.0 / speed * rate / threads;
    format!(
        r#"{{"schema":1,"id":"{}","workload":{{"model":"resnet18","mode":"inference","image_px":64,"images":20000,"epochs":1,"batch_size":8}},"configuration":{{"executors":{executors},"cores_per_executor":{cores},"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null}},"sampling_rate":{rate},"outcome":"completed","completion_time_secs":{secs},"startup_secs":2.0,"engine":"local","runner_version":"0.1.0","host":{{"cpu":"Some CPU","machine":"{machine}","processors":4,"adapter":null}},"started_at":"2026-11-21T10:00:00Z"}}"#,
        foreglow::id(number)
    )
}

const GRID: [(u32, u32, f64); 8] =
    [(1, 1, 0.01), (1, 1, 0.1), (2, 1, 0.01), (2, 1, 0.1), (1, 2, 0.01), (1, 2, 0.1), (2, 2, 0.01), (2, 2, 0.1)];

/// c5.xlarge and m5.xlarge with eight runs each, c5.2xlarge, which is faster, with two.
fn samples() -> String {
    let mut lines: Vec<String> = Vec::new();
    for (machine, speed, runs) in [("c5.xlarge", 1.0, 8), ("m5.xlarge", 0.9, 8), ("c5.2xlarge", 1.1, 2)] {
        for run in &GRID[..runs] {
            lines.push(line(lines.len() as u32, machine, *run, speed));
        }
    }
    lines.join("\n") + "\n"
}

/// Compares standard output with a golden file.
fn golden(name: &str, answer: &Answer) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, answer.stdout));
}

fn plan(home: &Foreglow, arguments: &[&str]) -> Answer {
    let file = home.write("samples.jsonl", &samples());
    home.run(&[&["plan", &file], arguments].concat())
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

#[test]
fn machine_types_are_listed_with_prices_and_filters() {
    let home = Foreglow::new();
    let all = json(&home.run(&["machines", "--format", "json"]));
    assert_eq!((all["schema"].as_u64(), all["currency"].as_str()), (Some(1), Some("USD")));
    assert_eq!(all["machines"].as_array().unwrap().len(), 83);
    let t4 = json(&home.run(&["machines", "--gpu", "t4", "--provider", "aws", "--format", "json"]));
    let machines = t4["machines"].as_array().unwrap();
    assert!(!machines.is_empty() && machines.iter().all(|machine| machine["accelerators"]["name"] == "T4"));
    let table = home.run(&["machines", "--provider", "aws", "--max-hourly-cost", "0.1"]).stdout;
    assert!(table.lines().any(|line| line.starts_with("c5.large") && line.contains("USD 0.085")), "{table}");
    assert!(!table.contains("c5.xlarge") && table.contains("may take it"), "{table}");
    let none = home.run(&["machines", "--gpu", "abacus"]);
    assert_eq!((none.code, none.stdout.as_str()), (2, ""));
}

#[test]
fn own_hardware_is_a_short_csv_and_what_is_listed_reads_back() {
    let home = Foreglow::new();
    let file = home.write("own.csv", "name,processors,memory_gib,hourly_price,currency\nrack,64,256,1.25,EUR\n");
    let listed = home.run(&["machines", "--catalog", &file, "--format", "csv"]);
    let again = home.write("again.csv", &listed.stdout);
    assert_eq!(home.run(&["machines", "--catalog", &again, "--format", "csv"]).stdout, listed.stdout);
    let folder = home.path("catalogs/v8/aws");
    std::fs::create_dir_all(&folder).unwrap();
    let header = "InstanceType,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone";
    let text = format!("{header}\nm5.large,2.0,8.0,0.096,0.0319,us-east-1,use1-az1\n");
    std::fs::write(format!("{folder}/vms.csv"), text).unwrap();
    let sky = json(&home.run(&["machines", "--catalog", &home.path("catalogs"), "--format", "json"]));
    assert_eq!(
        (sky["machines"][0]["name"].as_str(), sky["machines"][0]["provider"].as_str()),
        (Some("m5.large"), Some("aws"))
    );
}

#[test]
fn updated_machine_types_replace_the_built_in_ones_until_they_are_taken_back() {
    let home = Foreglow::new();
    let names = || {
        let machines = json(&home.run(&["machines", "--format", "json"]))["machines"].as_array().unwrap().clone();
        machines.into_iter().map(|machine| machine["name"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let built_in = names();
    let file = home.write("own.csv", "name,processors,memory_gib,hourly_price,currency\nrack,64,256,1.25,EUR\n");
    let updated = home.run(&["machines", "update", &file]);
    assert_eq!((updated.code, updated.stdout.starts_with("1 machine type with prices")), (0, true), "{updated:?}");
    assert_eq!(names(), ["rack"]);
    let plan = home.run(&["plan", &home.write("samples.jsonl", &samples()), "--machines", "p3.8xlarge"]);
    assert_eq!((plan.code, plan.stderr.contains("p3.8xlarge")), (2, true), "{plan:?}");
    let wrong = home.run(&["machines", "update", &home.write("wrong.csv", "a,b\n1,2\n")]);
    assert_eq!((wrong.code, names().len()), (2, 1), "{wrong:?}");
    home.write("data/machines.csv", "damaged");
    let damaged = home.run(&["machines"]);
    assert!(damaged.code == 2 && damaged.stderr.contains("`foreglow machines update`"), "{damaged:?}");
    assert_eq!(home.run(&["machines", "update", "--built-in"]).code, 0);
    assert_eq!(names(), built_in);
    assert_eq!(home.run(&["machines", "update"]).code, 2);
}

#[test]
fn unusable_catalogs_end_with_one_sentence_and_exit_code_2() {
    let home = Foreglow::new();
    for (text, words) in [
        (
            "name,processors,memory_gib,hourly_price,currency\na,4,16,0,USD\n",
            "a machine that costs nothing would always win",
        ),
        (
            "name,processors,memory_gib,hourly_price,currency\na,4,16,1,USD\nb,4,16,1,EUR\n",
            "prices are in USD and in EUR",
        ),
        ("name,processors\na,4\n", "the columns memory_gib, hourly_price, currency are missing"),
        ("", "it has no rows"),
    ] {
        let file = home.write("bad.csv", text);
        let answer = home.run(&["machines", "--catalog", &file]);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{text}");
        assert!(answer.stderr.contains(words) && answer.stderr.contains("bad.csv"), "{}", answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
    }
    let missing = home.run(&["machines", "--catalog", &home.path("none.csv")]);
    assert_eq!(missing.code, 2);
    let empty = home.path("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(home.run(&["machines", "--catalog", &empty]).stderr.contains("there is no catalog in"));
}

#[test]
fn a_plan_recommends_across_machine_types() {
    let home = Foreglow::new();
    let answer = plan(&home, &["--deadline", "10m", "--format", "json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let answer = json(&answer);
    let best = &answer["recommended"];
    assert_eq!((best["machine"].as_str(), best["machines"].as_u64()), (Some("c5.xlarge"), Some(1)), "{best}");
    // 0.17 an hour; seconds are rounded up, include two of start-up, and are at least 60.
    let secs = best["completion_time_secs"].as_f64().unwrap();
    let charged = (secs + 2.0).ceil().max(60.0) * 0.17 / 3600.0;
    assert!((best["cost"].as_f64().unwrap() - charged).abs() < 1e-9, "{best}");
    let machines: Vec<&str> =
        answer["best_per_machine"].as_array().unwrap().iter().map(|row| row["machine"].as_str().unwrap()).collect();
    assert_eq!(machines.len(), 3);
    assert!(["c5.xlarge", "m5.xlarge", "c5.2xlarge"].iter().all(|machine| machines.contains(machine)));
    let basis = |machine: &str| {
        let rows = answer["best_per_machine"].as_array().unwrap();
        rows.iter().find(|row| row["machine"] == machine).unwrap()["basis"].as_str().unwrap().to_owned()
    };
    assert_eq!((basis("c5.xlarge").as_str(), basis("c5.2xlarge").as_str()), ("own", "borrowed"));
}

#[test]
fn a_plan_over_machine_types_is_readable_as_a_table_and_as_csv() {
    let home = Foreglow::new();
    let table = plan(&home, &["--deadline", "10m"]).stdout;
    for words in
        ["resnet18 inference, 20000 images of 64 px\n", "RECOMMENDED", "1 × c5.xlarge, ", "Best of each machine type:"]
    {
        assert!(table.contains(words), "{words} is missing:\n{table}");
    }
    let csv = plan(&home, &["--format", "csv"]).stdout;
    assert!(csv.starts_with("machine,machines,executors,"), "{csv}");
    assert!(csv.lines().any(|line| line.contains(",true,own,")), "{csv}");
    let spot = plan(&home, &["--spot"]).stdout;
    assert!(spot.contains("may take the machines back at any time"), "{spot}");
}

/// ResNet-18 ran on two machine types, MobileNet-v2 on one of these and on a third.
#[test]
fn a_plan_offers_a_machine_type_on_which_only_another_cnn_ran() {
    let home = Foreglow::new();
    let mut lines: Vec<String> = samples().lines().map(str::to_owned).collect();
    for (first, machine, speed) in [(100, "c5.xlarge", 3.0), (200, "m5.2xlarge", 6.0)] {
        let runs = (first..).zip(GRID).map(|(number, run)| line(number, machine, run, speed));
        lines.extend(runs.map(|line| line.replace("resnet18", "mobilenet_v2")));
    }
    let file = home.write("several.jsonl", &(lines.join("\n") + "\n"));
    let answer = json(&home.run(&["plan", &file, "--model", "resnet18", "--deadline", "20m", "--format", "json"]));
    let rows = answer["best_per_machine"].as_array().unwrap();
    let row = rows.iter().find(|row| row["machine"] == "m5.2xlarge").unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(row["basis"], "other_cnns");
    let threads = row["executors"].as_f64().unwrap() * row["cores_per_executor"].as_f64().unwrap();
    let (secs, expected) = (row["completion_time_secs"].as_f64().unwrap(), 0.5 + 200.0 / threads);
    assert!((secs / expected - 1.0).abs() < 0.25, "{secs} for {expected}");
    let table = home.run(&["plan", &file, "--model", "resnet18", "--deadline", "20m"]).stdout;
    assert!(table.contains("other CNNs there"), "{table}");
}

#[test]
fn machine_types_limits_and_sizes_can_be_asked_for() {
    let home = Foreglow::new();
    let only = json(&plan(&home, &["--machines", "m5.xlarge,g5.xlarge", "--format", "json"]));
    assert_eq!(only["recommended"]["machine"], "m5.xlarge");
    assert_eq!(only["omitted"][0]["machine"], "g5.xlarge");
    let cheap = json(&plan(&home, &["--max-hourly-cost", "0.18", "--format", "json"]));
    assert_eq!(cheap["recommended"]["machine"], "c5.xlarge");
    let secs = |arguments: &[&str]| {
        let answer = plan(&home, &[&["--machines", "c5.xlarge", "--format", "json"], arguments].concat());
        json(&answer)["fastest"]["completion_time_secs"].as_f64().unwrap()
    };
    let ratio = secs(&["--images", "200000"]) / secs(&[]);
    assert!((8.5..11.0).contains(&ratio), "{ratio}");
    assert!((secs(&["--epochs", "10"]) / secs(&["--images", "200000"]) - 1.0).abs() < 1e-6);
    // More executors than one machine holds need several machines, which was not measured.
    let several = plan(&home, &["--machines", "c5.xlarge", "--executors", "8", "--cores", "2"]).stdout;
    assert!(several.contains("4 × c5.xlarge, 2 executors of 2 cores each"), "{several}");
    assert!(several.contains("which was not measured"), "{several}");
}

/// A run on a GPU of a machine type with this batch size.
fn on_gpu(number: u32, machine: &str, (name, mib): (&str, u32), batch_size: u32, run: (u32, u32, f64)) -> String {
    let gpu = format!(r#""adapter":"{name}","accelerators":[{{"name":"{name}","memory_mib":{mib}}}]"#);
    line(number, machine, run, 1.0)
        .replace(r#""adapter":null"#, &gpu)
        .replace(r#""accelerator":null"#, &format!(r#""accelerator":"{name}""#))
        .replace(r#""batch_size":8"#, &format!(r#""batch_size":{batch_size}"#))
}

#[test]
fn a_batch_that_no_run_completed_on_a_small_gpu_is_offered_on_the_large_one_alone() {
    let home = Foreglow::new();
    let (t4, a10g) = (("Tesla T4", 15_360), ("NVIDIA A10G", 23_028));
    let mut lines: Vec<String> = Vec::new();
    for (machine, gpu, batch) in [("g4dn.xlarge", t4, 8), ("g5.xlarge", a10g, 8), ("g5.xlarge", a10g, 64)] {
        let first = lines.len() as u32;
        lines.extend((first..).zip(GRID).map(|(number, run)| on_gpu(number, machine, gpu, batch, run)));
    }
    let failed = on_gpu(99, "g4dn.xlarge", t4, 64, (1, 1, 0.01));
    let (head, rest) = failed.split_once(r#""outcome":"completed","#).unwrap();
    let rest = rest.split_once(r#""startup_secs""#).unwrap().1;
    let why = r#""outcome":"out_of_memory","reason":"the memory of the GPU (Tesla T4) is not enough","startup_secs""#;
    let file = home.write("gpus.jsonl", &format!("{}\n{head}{why}{rest}\n", lines.join("\n")));
    for memory in ["1g", "8g"] {
        let arguments = ["plan", &file, "--batch-size", "64", "--memory", memory, "--format", "json"];
        let answer = home.run(&arguments);
        let json = json(&answer);
        assert_eq!(json["recommended"]["machine"], "g5.xlarge", "{answer:?}");
        assert_eq!(json["best_per_machine"].as_array().unwrap().len(), 1, "{answer:?}");
        let refused = json["omitted"].as_array().unwrap().iter().find(|left| left["machine"] == "g4dn.xlarge").unwrap();
        assert!(refused["reason"].as_str().unwrap().contains("smaller batch"), "{refused}");
    }
}

#[test]
fn what_no_machine_type_meets_is_said_with_exit_code_1() {
    let home = Foreglow::new();
    let late = plan(&home, &["--deadline", "1s"]);
    assert_eq!(late.code, 1);
    assert!(
        late.stderr.contains("no configuration is predicted to meet the deadline of 1.00 s: the fastest, "),
        "{}",
        late.stderr
    );
    let unknown = plan(&home, &["--machines", "c5.huge"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("there is no machine type c5.huge in the catalog"), "{}", unknown.stderr);
    let small = plan(&home, &["--memory", "64g"]);
    assert_eq!(small.code, 1);
    assert!(small.stderr.contains("an executor takes 65536 MiB"), "{}", small.stderr);
}

#[test]
fn one_context_is_answered_as_before() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &samples());
    let one = home.run(&["plan", &file, "--context", "1", "--format", "json"]);
    assert!(json(&one)["prices"]["name"].is_string(), "{one:?}");
    // With options of a comparison, the runs of this context alone are compared.
    for number in ["1", "2", "3"] {
        let title = json(&home.run(&["plan", &file, "--context", number, "--format", "json"]))["measured"][0].clone();
        let spot = json(&home.run(&["plan", &file, "--context", number, "--spot", "--format", "json"]));
        let rows = spot["best_per_machine"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["machine"]), (1, &title["machine"]), "{spot}");
        assert_eq!((&spot["limits"]["spot"], &spot["measured"].as_array().unwrap().len()), (&true.into(), &1));
    }
}

#[test]
fn the_number_of_a_job_counts_those_of_all_machine_types_with_a_machine_type_too() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &samples());
    let ask = |more: &[&str]| home.run(&[&["scaling", &file, "--machine", "m5.xlarge"], more].concat());
    let chosen = ask(&[]);
    assert_eq!((chosen.code, ask(&["--context", "3"]).stdout), (0, chosen.stdout));
    let other = ask(&["--context", "1"]);
    assert!(other.code == 2 && other.stderr.contains("no job in the samples matches your choice"), "{other:?}");
}

#[test]
fn the_next_run_is_proposed_over_machine_types_with_the_command_that_makes_it() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &samples());
    let ask = |more: &[&str]| home.run(&[&["advise", &file], more].concat());
    let new = ["--machines", "c5.xlarge,m5.xlarge,c7i.large"];
    let answer = ask(&[&new[..], &["--format", "json"]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let answer = json(&answer);
    assert_eq!((answer["schema"].as_u64(), answer["saves"].as_str()), (Some(1), Some("cost")));
    assert!(answer["recommended"].as_str().unwrap().contains("c5.xlarge"), "{answer}");
    let runs = answer["suggestions"].as_array().unwrap();
    let machines: Vec<&str> = runs.iter().map(|run| run["machine"].as_str().unwrap()).collect();
    assert!(machines.iter().all(|machine| ["c5.xlarge", "m5.xlarge", "c7i.large"].contains(machine)), "{machines:?}");
    // It costs half as much per hour for half of the processors, and may be faster.
    let first = &runs[0];
    assert_eq!((first["machine"].as_str(), first["is_new_machine"].as_bool()), (Some("c7i.large"), Some(true)));
    let command = first["command"].as_str().unwrap();
    assert!(command.starts_with("foreglow collect --model resnet18 "), "{command}");
    assert!(command.ends_with(" --machine c7i.large"), "{command}");
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--dry-run", "--format", "json"]).collect();
    let listed = home.run(&words);
    assert_eq!(listed.code, 0, "{command}: {}", listed.stderr);
    for field in ["recommended_secs", "recommended_cost", "expected_saving"] {
        assert!(answer[field].as_f64().unwrap() > 0.0, "{answer}");
    }
    for field in ["secs", "cost", "expected_saving", "memory_per_executor_mib", "batch_size", "partition_size"] {
        assert!(first[field].as_f64().unwrap() > 0.0, "{first}");
    }
    // A run costs at least the minimum bill.
    assert!(first["cost"].as_f64().unwrap() >= 0.08925 / 60.0 - 1e-9, "{first}");
    golden("advise-new-machines", &ask(&[&new[..], &["--output", "more.jsonl"]].concat()));
    let csv = ask(&[&new[..], &["--format", "csv"]].concat()).stdout;
    assert!(csv.starts_with("machine,is_new_machine,executors,"), "{csv}");
    assert_eq!(csv.lines().count(), runs.len() + 1);
    // Without any option, the measured machine types are used.
    let measured = json(&ask(&["--deadline", "10m", "--format", "json"]));
    assert_eq!(measured["limits"]["deadline_secs"], 600.0);
    golden("advise-measured-machines", &ask(&["--budget", "1", "--output", "more.jsonl"]));
    let one = ask(&["--context", "1", "--format", "json"]);
    assert!(json(&one)["suggestions"].is_array(), "{one:?}");
}

#[test]
fn machine_types_that_cannot_be_asked_about_are_refused_or_named() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &samples());
    let unknown = home.run(&["advise", &file, "--machines", "c5.huge"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (2, ""));
    assert!(unknown.stderr.contains("there is no machine type c5.huge in the catalog"), "{}", unknown.stderr);
    let alone = json(&home.run(&["advise", &file, "--context", "2", "--spot", "--format", "json"]));
    let machines = alone["suggestions"].as_array().unwrap().iter().map(|run| run["machine"].as_str().unwrap());
    assert!(machines.into_iter().all(|machine| machine == "c5.xlarge"), "{alone}");
    assert_eq!(alone["limits"]["spot"], true, "{alone}");
    let hopeless = home.run(&["advise", &file, "--deadline", "1s"]);
    assert_eq!(hopeless.code, 0, "{hopeless:?}");
    assert!(hopeless.stdout.contains("STOP: nothing meets the limits, and no run that could be made"), "{hopeless:?}");
    assert!(!hopeless.stdout.contains("foreglow collect"), "{hopeless:?}");
    let gpu = home.run(&["advise", &file, "--machines", "c5.xlarge,g4dn.xlarge"]);
    assert!(gpu.stdout.contains("g4dn.xlarge: it has GPUs, and the job never ran on a GPU"), "{gpu:?}");
}

#[test]
fn without_any_known_price_the_fastest_in_time_is_named_with_the_reason() {
    let home = Foreglow::new();
    let own = home.write("own.csv", "name,processors,memory_gib,hourly_price,currency\nrack,64,256,1.25,EUR\n");
    let answer = plan(&home, &["--catalog", &own, "--deadline", "3m"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stdout.contains("The fastest configuration that is done within 3 min"), "{}", answer.stdout);
    assert!(answer.stdout.contains("Cost unknown: no machine type has a known price"), "{}", answer.stdout);
    let late = plan(&home, &["--catalog", &own, "--deadline", "1s"]);
    assert!(late.stderr.contains("no configuration is predicted to meet the deadline"), "{}", late.stderr);
}

#[test]
fn the_likeliest_configuration_keeps_the_price_per_hour() {
    let home = Foreglow::new();
    let arguments = ["--deadline", "25s", "-E", "1-8", "-C", "1-4", "--format", "json"];
    let free = json(&plan(&home, &arguments));
    assert!(free["likeliest"]["hourly_cost"].as_f64().unwrap() > 0.5, "{}", free["likeliest"]);
    let bounded = json(&plan(&home, &[&arguments[..], &["--max-hourly-cost", "0.5"]].concat()));
    assert!(bounded["likeliest"]["hourly_cost"].as_f64().is_none_or(|cost| cost <= 0.5), "{}", bounded["likeliest"]);
    let none = plan(&home, &["--deadline", "3m", "--max-hourly-cost", "0.01"]);
    assert!(none.stderr.contains("the cheapest machines cost USD 0.17"), "{}", none.stderr);
}

#[test]
fn a_batch_size_that_was_not_measured_is_named_with_those_that_were() {
    let answer = plan(&Foreglow::new(), &["--batch-size", "16"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.stderr.contains("batch size 16: it was not measured, only 8"), "{}", answer.stderr);
}

/// One machine type with partitions of 8 images, and with quicker ones of 32.
#[test]
fn the_best_partition_size_is_named_and_another_one_can_be_asked_for() {
    let home = Foreglow::new();
    let sized = |(size, speed): (u32, f64)| {
        let runs = (100 * size..).zip(GRID).map(move |(number, run)| line(number, "c5.xlarge", run, speed));
        runs.map(move |line| line.replace("\"partition_size\":8", &format!("\"partition_size\":{size}")))
    };
    let lines: Vec<String> = [(8, 1.0), (32, 1.3)].into_iter().flat_map(sized).collect();
    let file = home.write("sizes.jsonl", &(lines.join("\n") + "\n"));
    let size = |arguments: &[&str]| {
        let answer = home.run(&[&["plan", &file, "--format", "json"], arguments].concat());
        json(&answer)["recommended"]["partition_size"].as_u64()
    };
    assert_eq!((size(&[]), size(&["--partition-size", "8"])), (Some(32), Some(8)));
    let table = home.run(&["plan", &file]).stdout;
    assert!(table.contains("partition size 32") && table.contains("  partition  "), "{table}");
}

/// resnet18 on c5.xlarge, and mobilenet_v2 there, on m5.2xlarge and on a machine with a GPU.
fn lent() -> String {
    let mut lines = Vec::new();
    let machines = [("resnet18", "c5.xlarge", 1.0), ("mobilenet_v2", "c5.xlarge", 2.0)];
    let others = [("mobilenet_v2", "m5.2xlarge", 4.0), ("mobilenet_v2", "g5.xlarge", 20.0)];
    for (model, machine, speed) in machines.into_iter().chain(others) {
        for run in &GRID {
            let mut line = line(lines.len() as u32, machine, *run, speed).replace("resnet18", model);
            if model == "resnet18" {
                line = line.replace("_mib\":1024", "_mib\":4096");
            }
            if machine == "g5.xlarge" {
                line = line.replace("\"accelerator\":null", "\"accelerator\":\"NVIDIA A10G\"");
            }
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_machine_type_that_only_other_cnns_ran_on_is_compared_with_the_sizes_of_the_job() {
    let home = Foreglow::new();
    let file = home.write("lent.jsonl", &lent());
    let answer = home.run(&["plan", &file, "--model", "resnet18", "--deadline", "20m", "--format", "json"]);
    let answer = json(&answer);
    let rows = answer["best_per_machine"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["machine"] == name).unwrap_or_else(|| panic!("{name}: {answer}"));
    assert_eq!(row("m5.2xlarge")["basis"], "other_cnns");
    assert_eq!(row("m5.2xlarge")["sizes_from"], "other_machines");
    let gpu = row("g5.xlarge");
    let sizes = (gpu["memory_per_executor_mib"].as_u64(), gpu["partition_size"].as_u64(), gpu["sizes_from"].as_str());
    assert_eq!(sizes, (Some(4096), Some(8), Some("other_devices")), "{gpu}");
    let table = home.run(&["plan", &file, "--model", "resnet18", "--deadline", "20m"]).stdout;
    assert!(
        table.contains("The memory and the partition size on g5.xlarge are those of the job's runs elsewhere"),
        "{table}"
    );
}

#[test]
fn one_job_on_several_machine_types_is_for_plan_and_not_for_predict() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &samples());
    let one = home.run(&["predict", &file, "-E", "1", "-C", "1"]);
    assert!(one.stderr.contains("the samples hold one job on several machine types"), "{}", one.stderr);
}

#[test]
fn nothing_to_compare_is_not_said_to_lack_a_price() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &samples());
    for asked in [["--machines", "c7i.large"], ["--batch-size", "32"]] {
        let answer = home.run(&[&["plan", &file], &asked[..]].concat());
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(answer.stdout.contains("No configuration can be compared, for the reasons below."), "{answer:?}");
        assert!(answer.stdout.contains("was not measured"), "{answer:?}");
    }
}

#[test]
fn samples_of_one_catalog_machine_say_how_to_plan_with_whole_machines_and_keep_its_name() {
    let home = Foreglow::new();
    let runs: Vec<String> = (0..).zip(GRID).map(|(number, run)| line(number, "c5.xlarge", run, 1.0)).collect();
    let file = home.write("one.jsonl", &(runs.join("\n") + "\n"));
    let answer = home.run(&["plan", &file]);
    assert!(answer.stderr.contains("`--machines c5.xlarge` charges whole machines"), "{answer:?}");
    assert!(!plan(&home, &["--deadline", "10m"]).stderr.contains("charges whole machines"));
    let few = home.write("few.jsonl", &(runs[..3].join("\n") + "\n"));
    let advice = home.run(&["advise", &few, "--deadline", "5m"]).stdout;
    assert!(advice.contains("foreglow collect") && advice.contains(" --machine c5.xlarge"), "{advice}");
}
