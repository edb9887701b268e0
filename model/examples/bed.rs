use foreglow_model::*;
use foreglow_shared::*;
use std::collections::BTreeMap;
struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }
    fn u(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    fn n(&mut self) -> f64 {
        (0..12).map(|_| self.u()).sum::<f64>() - 6.0
    }
}
fn answers(fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Answer>, String> {
    let p = bed_fit(fit, roles)?;
    Ok(p.predict(asked)
        .map_err(|e| e.to_string())?
        .into_iter()
        .map(|p| Answer {
            secs: p.completion_time_secs,
            interval: p.interval.map(|i| (i.lower_secs, i.upper_secs)),
            is_beyond: false,
        })
        .collect())
}
fn bed_fit(fit: &Dataset, roles: &Roles) -> Result<Ensemble, String> {
    Ensemble::fit_known(fit, &roles.meanings()).map_err(|e| e.to_string())
}
fn report(name: &str, trials: Vec<(Trial, Roles)>, rivals: bool) {
    let mut rows: Vec<(String, Vec<Outcome>, Vec<f64>)> = vec![];
    let n = trials.len();
    let own: Vec<Vec<Outcome>> = {
        let t = &trials;
        let mut out = vec![];
        std::thread::scope(|s| {
            let h: Vec<_> = (0..2)
                .map(|k| {
                    s.spawn(move || {
                        (k..n)
                            .step_by(2)
                            .map(|i| t[i].0.outcomes(|f, a| answers(f, a, &t[i].1)).unwrap())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            for x in h {
                out.extend(x.join().unwrap())
            }
        });
        out
    };
    let per: Vec<f64> = own.iter().filter_map(|o| score(o).mape_percent).collect();
    rows.push(("foreglow".into(), own.concat(), per));
    if rivals {
        for r in RIVALS {
            let mut o = vec![];
            let mut per = vec![];
            for (t, ro) in &trials {
                if let Ok(x) = t.rival(*r, ro) {
                    per.extend(score(&x).mape_percent);
                    o.extend(x);
                }
            }
            if !o.is_empty() {
                rows.push((r.name().into(), o, per));
            }
        }
    }
    let f = &rows[0].1;
    let w: Vec<f64> =
        f.iter().filter_map(|o| o.answer.interval.map(|(l, u)| (u - l) / o.answer.secs.unwrap())).collect();
    let held = f
        .iter()
        .filter(|o| o.answer.interval.is_some_and(|(l, u)| l <= o.measured_secs && o.measured_secs <= u))
        .count();
    print!(
        "{name:34} fg {:7.2} (p90 {:.1}) cov {:.0}% w {:.2} |",
        rows[0].2.iter().sum::<f64>() / n as f64,
        {
            let mut p = rows[0].2.clone();
            p.sort_by(f64::total_cmp);
            p[p.len() * 9 / 10]
        },
        100.0 * held as f64 / f.len() as f64,
        w.iter().sum::<f64>() / w.len() as f64
    );
    let mut rest: Vec<(f64, &str)> = rows[1..]
        .iter()
        .filter(|r| r.2.len() == n)
        .map(|r| (r.2.iter().sum::<f64>() / n as f64, r.0.as_str()))
        .collect();
    rest.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (m, r) in rest.iter().take(4) {
        print!(" {r} {m:.2}");
    }
    println!();
}
fn main() {
    let mode = std::env::args().nth(1).unwrap_or("all".into());
    let rivals = std::env::args().nth(2).is_some();
    if mode == "own" || mode == "all" {
        let text = std::fs::read_to_string("web/assets/example.jsonl").unwrap();
        let mut jobs: BTreeMap<String, Vec<Observation>> = BTreeMap::new();
        for l in text.lines() {
            let v: serde_json::Value = serde_json::from_str(l).unwrap();
            let c = &v["configuration"];
            let o: Observation = serde_json::from_value(serde_json::json!([
                c["executors"],
                c["cores_per_executor"],
                c["memory_per_executor_mib"],
                c["partition_size"],
                v["sampling_rate"],
                v["completion_time_secs"],
                null
            ]))
            .unwrap();
            jobs.entry(format!("{} {}", v["workload"]["model"], v["workload"]["mode"])).or_default().push(o);
        }
        for (j, obs) in &jobs {
            let trials = (0..50)
                .map(|d| {
                    let mut r = Rng(d * 7919 + 1);
                    let mut cells: BTreeMap<(u32, u32, u64), Vec<Observation>> = BTreeMap::new();
                    for o in obs {
                        cells
                            .entry((o.executors, o.cores_per_executor, o.sampling_rate.to_bits()))
                            .or_default()
                            .push(*o);
                    }
                    let mut kept = vec![];
                    for ((_, _, _), c) in cells {
                        if c[0].sampling_rate < 1.0 {
                            kept.push(c[(r.u() * c.len() as f64) as usize]);
                        } else {
                            kept.extend(c);
                        }
                    }
                    sample_trial(&kept).unwrap()
                })
                .collect();
            report(j, trials, rivals);
        }
    }
    if mode == "slow" || mode == "all" {
        for f in [1.0, 1.2, 1.5, 2.0, 3.0, 10.0] {
            let mut o = vec![];
            for e in [1, 2, 4] {
                for c in [1, 2, 4] {
                    for sr in [0.01, 0.03, 0.1, 1.0] {
                        o.push((e, c, sr, 300.0 * sr / (e * c) as f64 + 0.2));
                    }
                }
            }
            o.push((2, 2, 0.3, (300.0 * 0.3 / 4.0 + 0.2) * f));
            report(&format!("one slow x{f}"), vec![tr(&o)], rivals);
        }
    }
    if mode == "sim" || mode == "all" {
        for (name, law) in LAWS {
            for cont in [0.0, 0.1] {
                for full in [false, true] {
                    let trials = (0..40)
                        .map(|d| {
                            let mut r = Rng(d * 104729 + 17);
                            let serial = [0.02, 0.1, 0.3][(d % 3) as usize];
                            let mut o = vec![];
                            for e in [1u32, 2, 4] {
                                for c in [1u32, 2, 4] {
                                    for sr in if full { vec![1.0] } else { vec![0.01, 0.03, 0.1, 1.0] } {
                                        let t = law(e as f64, c as f64, sr, serial) * (0.03 * r.n()).exp();
                                        o.push((e, c, sr, t));
                                    }
                                }
                            }
                            let fit: Vec<usize> = if full {
                                (0..9).filter(|i| [0, 2, 4, 6, 8, 5].contains(i)).collect()
                            } else {
                                (0..o.len()).filter(|i| o[*i].2 < 1.0).collect()
                            };
                            let k = ((fit.len() as f64 * cont).round()) as usize;
                            let mut picked = vec![];
                            while picked.len() < k {
                                let i = fit[(r.u() * fit.len() as f64) as usize];
                                if !picked.contains(&i) {
                                    picked.push(i);
                                }
                            }
                            for i in picked {
                                o[i].3 *= 1.3 + 1.7 * r.u();
                            }
                            if full {
                                let f: Vec<_> = fit.iter().map(|i| o[*i]).collect();
                                let t: Vec<_> = (0..9)
                                    .filter(|i| !fit.contains(i))
                                    .map(|i| {
                                        let (e, c, s, _) = o[i];
                                        (e, c, s, law(e as f64, c as f64, s, serial))
                                    })
                                    .collect();
                                tr2(&f, &t)
                            } else {
                                let f: Vec<_> = fit.iter().map(|i| o[*i]).collect();
                                let t: Vec<_> = o
                                    .iter()
                                    .filter(|x| x.2 == 1.0)
                                    .map(|(e, c, s, _)| (*e, *c, *s, law(*e as f64, *c as f64, *s, serial)))
                                    .collect();
                                tr2(&f, &t)
                            }
                        })
                        .collect();
                    report(&format!("sim {name} cont {cont} full {full}"), trials, rivals);
                }
            }
        }
    }
}
const LAWS: [(&str, fn(f64, f64, f64, f64) -> f64); 3] = [
    ("amdahl", |e, c, s, f| 200.0 * s * (f + (1.0 - f) / (e * c)) + 0.2),
    ("comm", |e, c, s, f| 0.3 + 200.0 * s * (1.0 / (e * c) + 0.1 * f) + 200.0 * s * 0.02 * e.ln() * f * 5.0),
    ("eff", |e, c, s, f| 0.1 + 200.0 * s / (e.powf(0.95 - f / 2.0) * c.powf(0.85))),
];
type R = (u32, u32, f64, f64);
fn ds(o: &[R]) -> Dataset {
    let col = |n: &str, f: fn(&R) -> f64| Column::numeric(n, o.iter().map(f).collect(), None);
    let f = Features::new(vec![
        col("executors", |r| r.0 as f64),
        col("cores_per_executor", |r| r.1 as f64),
        col("sampling_rate", |r| r.2),
    ])
    .unwrap();
    Dataset::new(f, o.iter().map(|r| r.3).collect(), vec![false; o.len()]).unwrap()
}
fn tr2(f: &[R], t: &[R]) -> (Trial, Roles) {
    let roles = Roles {
        machines: Some("executors*cores_per_executor".parse().unwrap()),
        data_size: Some(Term::new("sampling_rate")),
        iterations: Some(Term::new("sampling_rate")),
        ..Roles::default()
    };
    (Trial::new(&ds(f), &ds(t), Repeats::Each), roles)
}
fn tr(o: &[R]) -> (Trial, Roles) {
    let (a, b): (Vec<R>, Vec<R>) = o.iter().partition(|r| r.2 < 1.0);
    tr2(&a, &b)
}
