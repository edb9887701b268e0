//! Number formats.

use foreglow_shared::{Context, NumberFormat, Outcome};
use foreglow_tests::GpuRig;

use crate::measured;

#[test]
fn a_cnn_runs_in_16_bit_floats_as_a_job_of_its_own() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let half = measured(&rig, home.path(), "--dtype f16");
    assert_eq!((half.outcome, half.workload.number_format()), (Outcome::Completed, NumberFormat::F16));
    let mut full = half.clone();
    full.workload.set_number_format(NumberFormat::F32);
    assert_ne!(Context::of(&half), Context::of(&full), "times in different formats are not comparable");
    assert!(Context::of(&half).title().contains(", f16"), "{}", Context::of(&half).title());
    Ok(())
}
