//! Price sheets and limits on prices in a plan over machine types.

use serde_json::Value;

use super::foreglow::{Answer, Foreglow};
use super::{GRID, json, line, plan, samples};

const SHEET: &str = r#"{"name":"our cluster","date":"2026-11-01","currency":"EUR","core_hour":0.03,"gib_hour":0.004}"#;

/// Plans or advises on the samples with the machine types renamed.
fn ask(home: &Foreglow, command: &str, names: &[(&str, &str)], arguments: &[&str]) -> Answer {
    let text = names.iter().fold(samples(), |text, (from, to)| text.replace(from, to));
    let file = home.write("renamed.jsonl", &text);
    home.run(&[&[command, &file, "--images", "40000", "--format", "json"], arguments].concat())
}

#[test]
fn a_price_sheet_is_for_machines_outside_the_catalog_in_every_currency() {
    let home = Foreglow::new();
    for currency in ["EUR", "USD"] {
        let prices = home.write("prices.json", &SHEET.replace("EUR", currency));
        let racks = [("c5.xlarge", "rack-a"), ("m5.xlarge", "rack-b"), ("c5.2xlarge", "rack-c")];
        let answer = ask(&home, "plan", &racks, &["--prices", &prices]);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer:?}");
        let answer = json(&answer);
        let best = &answer["recommended"];
        assert_eq!((answer["currency"].as_str(), best["machines"].is_null()), (Some(currency), true), "{best}");
        let (executors, cores) = (best["executors"].as_f64().unwrap(), best["cores_per_executor"].as_f64().unwrap());
        let hourly = executors * (cores * 0.03 + 0.004);
        assert!((best["hourly_cost"].as_f64().unwrap() / hourly - 1.0).abs() < 1e-9, "{best}");

        // The catalog has all of them: the sheet prices nothing, and a note says so.
        for command in ["plan", "advise"] {
            let answer = ask(&home, command, &[], &["--prices", &prices]);
            let note = "The prices our cluster are not used: price sheets apply to machines outside the catalog";
            assert!(answer.code == 0 && answer.stderr.contains(note), "{command}: {answer:?}");
            let without = ask(&home, command, &[], &[]);
            assert_eq!(answer.stdout, without.stdout, "{command}");
            assert_eq!(without.stderr, "", "{command}");
        }
        let named = ask(&home, "plan", &racks[1..], &["--prices", &prices, "--machines", "c5.xlarge"]);
        assert!(named.stderr.contains("are not used"), "{named:?}");
    }
    // Some are in the catalog: costs in two currencies cannot be compared.
    let (eur, usd) = (home.write("eur.json", SHEET), home.write("usd.json", &SHEET.replace("EUR", "USD")));
    let refused = ask(&home, "plan", &[("m5.xlarge", "rack-b")], &["--prices", &eur]);
    assert!(refused.code == 2 && refused.stderr.contains("prices are in USD and in EUR"), "{refused:?}");
    let mixed = json(&ask(&home, "plan", &[("m5.xlarge", "rack-b")], &["--prices", &usd]));
    let rows = mixed["best_per_machine"].as_array().unwrap();
    let lists: Vec<_> = rows.iter().map(|row| (row["machine"] == "rack-b", row["price_list"].is_string())).collect();
    assert!(lists.len() == 3 && lists.iter().all(|(is_rack, has_list)| is_rack == has_list), "{mixed}");
    let own = home.write("own.csv", "name,processors,memory_gib,hourly_price,currency\nc5.xlarge,4,8,0.17,USD\n");
    assert_eq!(plan(&home, &["--prices", &eur, "--catalog", &own]).code, 2);
}

/// The runs of one machine type that is in no catalog, with a GPU and with CPUs.
fn with_gpu_and_cpu(home: &Foreglow, gpu: &str) -> String {
    let run = |(number, run): (usize, &(u32, u32, f64)), gpu: Option<&str>| {
        let machine = if gpu.is_some() { "gpus" } else { "cpus" };
        let line = line(number as u32, machine, *run, if gpu.is_some() { 10.0 } else { 1.0 });
        gpu.map_or_else(
            || line.clone(),
            |gpu| line.replace("\"accelerator\":null", &format!("\"accelerator\":\"{gpu}\"")),
        )
    };
    let on_gpu = GRID.iter().enumerate().map(|(place, of)| run((place, of), Some(gpu)));
    let on_cpu = GRID.iter().enumerate().map(|(place, of)| run((place + GRID.len(), of), None));
    home.write("devices.jsonl", &(on_gpu.chain(on_cpu).collect::<Vec<_>>().join("\n") + "\n"))
}

#[test]
fn each_device_is_priced_by_its_own_published_list_and_own_prices_by_theirs() {
    let home = Foreglow::new();
    let file = with_gpu_and_cpu(&home, "NVIDIA A10G");
    let answer = json(&home.run(&["plan", &file, "--format", "json"]));
    let lists = |answer: &Value| {
        let rows = answer["best_per_machine"].as_array().unwrap().iter();
        let mut rows: Vec<String> = rows
            .map(|row| format!("{}: {}", row["machine"].as_str().unwrap(), row["price_list"].as_str().unwrap()))
            .collect();
        rows.sort();
        rows
    };
    let listed = lists(&answer);
    assert!(
        listed[0].starts_with("cpus: AWS Fargate") && listed[1].starts_with("gpus: AWS EC2 g5.xlarge"),
        "{listed:?}"
    );
    let table = home.run(&["plan", &file]).stdout;
    assert!(table.contains("\n  cpus: AWS Fargate Linux/x86 us-east-1, on demand, 2026-06-17\n"), "{table}");
    let sheet = home.write("own.json", r#"{"name":"mine","date":"2026-01-31","currency":"USD","executor_hour":2}"#);
    let own = json(&home.run(&["plan", &file, "--prices", &sheet, "--format", "json"]));
    assert_eq!(lists(&own), ["cpus: mine", "gpus: mine"]);
}

#[test]
fn a_limit_on_the_price_per_hour_has_no_probability() {
    let answer = plan(&Foreglow::new(), &["--deadline", "10m", "--max-hourly-cost", "2"]);
    let sentence = "The cheapest configuration on machines for at most USD 2.00 an hour that is done within 10 min \
                    with a probability of at least 90 %:";
    assert!(answer.stdout.contains(sentence), "{}", answer.stdout);
}
