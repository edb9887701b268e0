//! Which prices apply to a job: those of the catalog, and those of a price sheet for the machines
//! that the catalog lacks.

use foreglow_shared::{Catalog, JobGroup, PriceSheet, distinct};

/// Prices of machine types.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// Machine types with prices.
    pub catalog: Catalog,
    /// Prices for the machine types that the catalog lacks.
    pub sheet: Option<PriceSheet>,
    /// Whether the sheet prices all hardware, even if it is a published list.
    pub keeps_sheet: bool,
    /// What a user may not expect of these prices.
    pub note: Option<PricesNote>,
}

/// What a user may not expect of the prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PricesNote {
    /// A price sheet charges this machine type although the catalog has it.
    Charged(String),
    /// The given price sheet with this name prices nothing, because the catalog has all machine
    /// types.
    Unused(String),
}

impl Prices {
    /// Returns the prices of a job on the machine types `machines`, or on those that were measured
    /// if there are none. `given` are the user's own prices; `rents_machines`: the user asks for
    /// whole machines.
    pub fn of(
        group: &JobGroup,
        machines: &[String],
        (catalog, is_built_in): (Catalog, bool),
        given: Option<PriceSheet>,
        rents_machines: bool,
    ) -> Self {
        let mut names: Vec<String> = machines.to_vec();
        if names.is_empty() {
            let own = group.jobs.iter().filter(|job| !job.observations.is_empty());
            names.extend(own.chain(group.other_machines()).map(|job| job.context.machine_name()));
        }
        let names = distinct(names);
        // A job measured in a single context is charged by a sheet, unless the user asks for
        // machines.
        let measured = group.jobs.iter().filter(|job| !job.observations.is_empty()).count();
        let is_single = names.len() == 1 && measured <= 1 && !rents_machines;
        let is_known = |name: &String| catalog.find(name).is_ok();
        let Some(sheet) = given else {
            let usual = PriceSheet::example();
            if let ([name], true) = (names.as_slice(), is_single) {
                let note = is_known(name).then(|| PricesNote::Charged(name.clone()));
                let catalog = Catalog::empty(&usual.currency);
                return Self { catalog, sheet: Some(usual), keeps_sheet: false, note };
            }
            // If no machine type is in the catalog, all are priced by their cores and memory.
            let is_in_catalog = group.jobs.iter().any(|job| is_known(&job.context.machine_name()));
            let sheet = Some(usual).filter(|sheet| !is_in_catalog && sheet.currency == catalog.currency);
            return Self { catalog, sheet, keeps_sheet: false, note: None };
        };
        if names.iter().all(is_known) && !is_single {
            return Self { catalog, sheet: None, keeps_sheet: true, note: Some(PricesNote::Unused(sheet.name)) };
        }
        // The prices of the built-in catalog are in one currency, which matters only where they
        // apply.
        let is_unused = is_built_in && !names.iter().any(is_known) && sheet.currency != catalog.currency;
        let catalog = if is_unused || is_single { Catalog::empty(&sheet.currency) } else { catalog };
        Self { catalog, sheet: Some(sheet), keeps_sheet: true, note: None }
    }
}
