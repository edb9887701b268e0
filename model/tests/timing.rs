use foreglow_model::*;
use foreglow_shared::*;
use std::ops::ControlFlow;
#[test]
fn timing() {
    let mut obs = Vec::new();
    for line in include_str!("../../bench/scenario-grid/samples.csv").lines().skip(1) {
        let n: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
        obs.push(Observation {
            executors: n[0] as u32,
            cores_per_executor: n[1] as u32,
            memory_per_executor_mib: 1,
            partition_size: 1,
            sampling_rate: n[2],
            completion_time_secs: n[3],
            startup_secs: None,
        });
    }
    let context: Context = serde_json::from_str(r#"{"workload":{"model":"resnet18","mode":"inference","image_px":32,"images":2000,"epochs":1,"batch_size":8},"engine":"spark","host":{}}"#).unwrap();
    let cpu = || {
        let s = std::fs::read_to_string("/proc/self/stat").unwrap();
        let f: Vec<&str> = s.split(' ').collect();
        (f[13].parse::<f64>().unwrap() + f[14].parse::<f64>().unwrap()) / 100.0
    };
    for sc in Scenario::ALL {
        let t = cpu();
        let w = std::time::Instant::now();
        let mut last = w.elapsed().as_secs_f64();
        let mut steps = Vec::new();
        let row = scenario_row(sc, &context, &obs, Grid::Published, &mut cpu.clone(), &mut |d, _| {
            let n = w.elapsed().as_secs_f64();
            steps.push((d, n - last));
            last = n;
            ControlFlow::Continue(())
        })
        .unwrap();
        println!(
            "{} cpu {:.2} (t2 {:.2}) wall {:.2} mape {:?} {:?}",
            sc.label(),
            cpu() - t,
            row.t2_secs,
            w.elapsed().as_secs_f64(),
            row.mape_percent,
            row.reason
        );
        for c in &row.choices {
            println!("   {} {} {:.4e}", c.place, c.technique, c.loo_mse);
        }
        if sc == Scenario::FourTwo {
            let per = steps.len() / 4;
            for (i, s) in steps.iter().enumerate() {
                print!("{}{:.0}", if i % per == 0 { "\n" } else { " " }, s.1 * 1000.0);
            }
            println!();
        }
    }
}
