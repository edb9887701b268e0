//! Price sheets: any text is rejected or read into a sheet that prices a job and can be written.
#![no_main]

use foreglow_shared::{CoreSplit, PriceSheet, Resources};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(sheet) = PriceSheet::from_json(text) else { return };
    let written = serde_json::to_string(&sheet).expect("a sheet holds only texts and finite numbers");
    assert_eq!(PriceSheet::from_json(&written).as_ref(), Ok(&sheet));
    let resources = Resources {
        split: CoreSplit::even(4, 8),
        memory_per_executor_mib: 2048,
        accelerated: false,
        shared_accelerators: None,
    };
    for accelerated in [false, true] {
        let resources = Resources { accelerated, ..resources };
        let costs = [1.0, 3600.0, 1e6].map(|secs| sheet.cost(resources, secs));
        // Sums that are not finite give no cost.
        let costs: Vec<f64> = costs.into_iter().flatten().collect();
        assert!(costs.iter().all(|cost| *cost >= 0.0) && costs.is_sorted(), "{costs:?}");
        assert!(costs.is_empty() || sheet.covers(accelerated), "{costs:?}");
    }
});
