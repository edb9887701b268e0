//! Catalogs of machine types: any text is rejected or read into machines with prices above 0.
#![no_main]

use foreglow_shared::Catalog;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(catalog) = Catalog::read(text, "aws", None) else { return };
    assert!(!catalog.machines.is_empty());
    for machine in &catalog.machines {
        assert!(machine.hourly_price.is_finite() && machine.hourly_price > 0.0);
        assert!(machine.spot_price.is_none_or(|price| price.is_finite() && price > 0.0));
        assert!(machine.processors > 0);
        assert!(machine.accelerators.as_ref().is_none_or(|accelerators| accelerators.count > 0));
    }
});
