//! Number formats, and the two ways to compile kernels: SPIR-V, and WGSL where the driver lacks
//! what Burn's SPIR-V kernels need.

use foreglow_shared::{Context, NumberFormat, Outcome};
use foreglow_tests::GpuRig;

use crate::measured;

#[test]
fn a_cnn_runs_in_16_bit_floats_with_spirv_and_with_wgsl_as_a_job_of_its_own() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let full = measured(&rig, home.path(), "");
    assert_eq!((full.outcome, full.workload.extra.get("dtype")), (Outcome::Completed, None));
    for rig in [rig.clone(), rig.and("FOREGLOW_RIG_WITHOUT", "spirv")] {
        let half = measured(&rig, home.path(), "--dtype f16");
        assert_eq!((half.outcome, half.workload.number_format()), (Outcome::Completed, NumberFormat::F16));
        assert_ne!(Context::of(&half), Context::of(&full), "times in different formats are not comparable");
        assert!(Context::of(&half).title().contains(", f16"), "{}", Context::of(&half).title());
    }
    Ok(())
}
