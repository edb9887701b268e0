//! Whether the GPUs of a machine type can run a job.

use foreglow_public::{Gpu, Gpus, Precision};
use foreglow_shared::{Accelerators, MachineType, format_integer};

use super::Refusal;
use crate::{BatchMemory, Estimate};

/// Bytes in a GiB.
const BYTES_PER_GIB: f64 = 1_073_741_824.0;
/// Bytes in a MiB.
const BYTES_PER_MIB: f64 = 1_048_576.0;

/// A step of a job on one GPU.
#[derive(Clone, Copy)]
pub(super) struct GpuStep<'a> {
    /// Number format.
    pub(super) precision: Precision,
    /// Images.
    pub(super) batch_size: u32,
    /// Memory that a batch needs.
    pub(super) memory: &'a BatchMemory,
}

impl GpuStep<'_> {
    /// Returns the index of the GPU of a machine type that can run the step, and why the batch may
    /// not fit it.
    ///
    /// # Errors
    /// The machine type has no GPU, or one that is unknown, lacks the number format or cannot hold
    /// the batch.
    pub(super) fn place(self, gpus: &Gpus, machine: &MachineType) -> Result<(usize, Option<String>), Refusal> {
        let accelerators = machine.accelerators.as_ref().ok_or(Refusal::NoGpu)?;
        let gpu = gpus.place(&accelerators.name, accelerators.memory_mib)?;
        if !gpus.all()[gpu].has(self.precision) {
            return Err(Refusal::NoFormat(self.precision.name()));
        }
        let doubt = doubt(self.memory, self.batch_size, memory_gib(&gpus.all()[gpu], accelerators))?;
        Ok((gpu, doubt))
    }
}

/// Returns the memory of a GPU of a machine type, GiB: that of its data sheet, or of the catalog if
/// that is less, because drivers reserve a part.
fn memory_gib(gpu: &Gpu, accelerators: &Accelerators) -> f64 {
    let of_catalog = accelerators.memory_mib.map(|mib| f64::from(mib) * BYTES_PER_MIB / BYTES_PER_GIB);
    of_catalog.filter(|gib| *gib > 0.0).map_or(gpu.memory_gib, |gib| gib.min(gpu.memory_gib))
}

/// Returns why a batch may not fit a GPU; `None` if it certainly fits.
///
/// # Errors
/// The batch is larger than the largest one that can fit.
fn doubt(memory: &BatchMemory, batch_size: u32, gib: f64) -> Result<Option<String>, Refusal> {
    let largest = memory.largest_batch(gib * BYTES_PER_GIB);
    let Estimate { lower, expected, upper } = memory.bytes(batch_size.into()).times(1.0 / BYTES_PER_GIB);
    if u64::from(batch_size) > largest.at_most {
        let at_most = largest.at_most;
        return Err(Refusal::Memory { batch_size, needed_gib: expected, gib, at_most });
    }
    let is_sure = u64::from(batch_size) <= largest.surely;
    Ok((!is_sure).then(|| {
        let surely = match largest.surely {
            0 => "no batch certainly fits".to_owned(),
            batch => format!("a batch of {} certainly fits", format_integer(batch)),
        };
        format!(
            "a batch of {batch_size} may not fit its GPUs of {gib:.0} GiB, because it needs {lower:.0} to {upper:.0} \
             GiB; {surely}"
        )
    }))
}

#[cfg(test)]
mod tests {
    use foreglow_public::{BuiltInNetwork, Precision};
    use foreglow_shared::Mode;

    use super::*;

    #[test]
    fn a_batch_fits_may_not_fit_or_is_refused() {
        let networks = BuiltInNetwork::all();
        let resnet50 = networks.iter().find(|network| network.costs.name == "resnet50").unwrap();
        let memory = BatchMemory::on_gpu(&resnet50.memory, Mode::Training, Precision::Mixed);
        let largest = memory.largest_batch(16.0 * BYTES_PER_GIB);
        let said = |batch: u64| doubt(&memory, batch as u32, 16.0);
        assert_eq!(said(largest.surely).unwrap(), None);
        let maybe = said(largest.surely + 1).unwrap().unwrap();
        assert!(maybe.contains(&format!("a batch of {} certainly fits", largest.surely)), "{maybe}");
        assert!(said(largest.at_most).is_ok_and(|doubt| doubt.is_some()));
        let refused = said(largest.at_most + 1).unwrap_err().to_string();
        assert!(refused.contains(&format!("no batch above {} fits", largest.at_most)), "{refused}");
    }
}
