//! Price sheets and limits on prices in a plan over machine types.

use serde_json::Value;

use super::foreglow::Foreglow;
use super::{GRID, json, line, plan};

#[test]
fn prices_in_another_currency_than_the_built_in_catalog_are_used_alone() {
    let home = Foreglow::new();
    let sheet = r#"{"name":"our cluster","date":"2026-11-01","currency":"EUR","core_hour":0.03,"gib_hour":0.004}"#;
    let prices = home.write("prices.json", sheet);
    let answer = plan(&home, &["--prices", &prices, "--images", "40000", "--format", "json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let answer = json(&answer);
    let best = &answer["recommended"];
    assert_eq!((answer["currency"].as_str(), best["machines"].is_null()), (Some("EUR"), true), "{best}");
    let (executors, cores) = (best["executors"].as_f64().unwrap(), best["cores_per_executor"].as_f64().unwrap());
    let hourly = executors * (cores * 0.03 + 0.004);
    assert!((best["hourly_cost"].as_f64().unwrap() / hourly - 1.0).abs() < 1e-9, "{best}");
    let own = home.write("own.csv", "name,processors,memory_gib,hourly_price,currency\nc5.xlarge,4,8,0.17,USD\n");
    assert_eq!(plan(&home, &["--prices", &prices, "--catalog", &own]).code, 2);
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
