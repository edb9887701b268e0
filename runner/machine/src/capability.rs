//! Capabilities of an adapter: number formats, and the limits for Burn's kernels.

use foreglow_exit::unusable;
use foreglow_shared::NumberFormat;

use crate::device::{Adapter, Limits};

/// Minimum limits of an adapter, those of WebGPU, for which kernels are compiled.
const LEAST: Limits =
    Limits { buffer_mib: 128, binding_mib: 128, workgroup_invocations: 256, workgroup_memory_kib: 16 };

impl Adapter {
    /// Returns why Burn's kernels cannot run on the adapter.
    pub fn shortcoming(&self) -> Option<String> {
        let limits = self.limits.as_ref()?;
        let needed = [
            (
                "invocations per workgroup",
                u64::from(limits.workgroup_invocations),
                u64::from(LEAST.workgroup_invocations),
            ),
            ("KiB of workgroup memory", u64::from(limits.workgroup_memory_kib), u64::from(LEAST.workgroup_memory_kib)),
            ("MiB per buffer", limits.buffer_mib.min(limits.binding_mib), LEAST.buffer_mib),
        ];
        let (what, has, least) = needed.into_iter().find(|(_, has, least)| has < least)?;
        Some(format!("{} allows {has} {what}, and the kernels of the CNNs need {least}; use --device cpu", self.name))
    }

    /// Checks that the adapter computes in a number format.
    ///
    /// # Errors
    /// It does not; the message lists its formats.
    pub fn check_number_format(&self, format: NumberFormat) -> anyhow::Result<()> {
        if self.number_formats.contains(&format) {
            return Ok(());
        }
        let names: Vec<&str> = self.number_formats.iter().map(|format| format.as_str()).collect();
        Err(unusable(format!("--dtype {format} is not supported by {}; choose {}", self.name, names.join(" or "))))
    }
}
