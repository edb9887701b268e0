//! Prices of devices that the catalog lacks, and of shared GPUs.

use foreglow_model::Space;
use foreglow_shared::{Accelerator, JobGroup, PriceSheet};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::two_types::{FAST, LIMITS, compare, group, job, secs, space};

/// The job on a CPU, an A10G and an H100, none of them in the catalog.
fn devices() -> JobGroup {
    let on = |(place, accelerator): (usize, Option<&str>)| {
        let mut job = job(&format!("mine-{place}"), FAST.grid(|| 0.0));
        job.context.accelerator = accelerator.map(str::to_owned);
        job
    };
    let accelerators = [None, Some("NVIDIA A10G"), Some("NVIDIA H100 80GB HBM3")];
    group(accelerators.into_iter().enumerate().map(on).collect())
}

#[test]
fn each_device_that_the_catalog_lacks_has_its_own_published_prices() {
    let names = |sheet: PriceSheet, keeps_sheet: bool| {
        let plan = compare(&devices(), &Space { sheet: Some(sheet), keeps_sheet, ..space() });
        let name = |arm: usize| plan.pricing(arm).sheet().map(|sheet| sheet.name.clone());
        (0..3).map(name).collect::<Vec<_>>()
    };
    let [cpu, a10g, h100] = [None, Some("NVIDIA A10G"), Some("NVIDIA H100 80GB HBM3")].map(PriceSheet::usual_for);
    let usual = [&cpu, &a10g, &h100].map(|sheet| Some(sheet.name.clone()));
    for first in [&cpu, &a10g, &h100] {
        assert_eq!(names(first.clone(), false), usual, "{}", first.name);
    }
    let own = PriceSheet { name: "mine".into(), ..a10g };
    assert_eq!(names(own, false), ["mine"; 3].map(|name| Some(name.to_owned())));
    // A published list that the user chose does not price other hardware than its own.
    assert_eq!(names(h100.clone(), true), [None, None, Some(h100.name)]);
}

#[test]
fn executors_that_share_a_gpu_share_its_price() {
    let mut job = job("mine", FAST.grid(|| 0.0));
    job.context.accelerator = Some("NVIDIA A10G".into());
    job.context.shares_accelerators = true;
    job.context.host.accelerators = vec![Accelerator { name: "NVIDIA A10G".into(), ..Accelerator::default() }];
    let sheet = Some(PriceSheet { minimum_secs: 0.0, ..PriceSheet::usual_for(Some("NVIDIA A10G")) });
    let plan = compare(&group(vec![job]), &Space { sheet, ..space() });
    let decision = plan.decide(&LIMITS).unwrap();
    let fastest = &decision.candidates[decision.fastest.unwrap()];
    assert_eq!(fastest.placement.executors, 2);
    assert_eq!(fastest.hourly_cost, Some(1.006), "of one machine");
    assert!((fastest.cost.unwrap() - 1.006 / 3600.0 * secs(fastest)).abs() < 1e-12);
}
