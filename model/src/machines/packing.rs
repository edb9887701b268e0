//! Packing of executors on machines of one type.
//!
//! An executor occupies C processors, its memory and, on GPUs, one accelerator. All executors of a
//! job are equal, so the number on a machine is the least of the three quotients, and the machines
//! are filled one after another.

use foreglow_shared::MachineType;
use serde::{Deserialize, Serialize};

/// Memory that the operating system and the runner keep for themselves on each machine, MiB.
pub const SYSTEM_MIB: u32 = 512;

/// What an executor occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorSize {
    /// Task threads of an executor, C.
    pub cores: u32,
    /// Memory of an executor, MiB.
    pub memory_mib: u32,
    /// Whether it holds an accelerator of its own.
    pub holds_accelerator: bool,
}

/// Executors on machines of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packing {
    /// Machines that the executors take.
    pub machines: u32,
    /// Executors of a full machine; the last machine may hold fewer.
    pub executors_per_machine: u32,
}

/// Why executors do not fit on a machine type. `Display` gives one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PackingError {
    /// An executor needs more processors than a machine has.
    #[error(
        "{machine} has {processors} processors, and an executor takes {cores}; choose fewer cores or a larger machine"
    )]
    TooFewProcessors {
        /// The machine type.
        machine: String,
        /// Its processors.
        processors: u32,
        /// Cores of an executor.
        cores: u32,
    },
    /// An executor needs more memory than a machine has.
    #[error(
        "{machine} has {memory_mib} MiB of memory, of which the system keeps {SYSTEM_MIB}, and an executor takes \
         {executor_mib} MiB; choose less memory or a larger machine"
    )]
    TooLittleMemory {
        /// The machine type.
        machine: String,
        /// Its memory, MiB.
        memory_mib: u32,
        /// Memory of an executor, MiB.
        executor_mib: u32,
    },
    /// Executors hold accelerators, and the machine type has none.
    #[error("the job runs on GPUs, and {machine} has none; choose a machine type with GPUs")]
    NoAccelerators {
        /// The machine type.
        machine: String,
    },
    /// There are no executors or no cores.
    #[error("there are {executors} executors of {cores} cores; give at least one of each")]
    Nothing {
        /// Executors.
        executors: u32,
        /// Cores of each.
        cores: u32,
    },
}

/// Packs executors on as few machines of a type as hold them.
///
/// ```
/// # use foreglow_model::{ExecutorSize, pack};
/// # use foreglow_shared::Catalog;
/// let catalog = Catalog::built_in();
/// let size = ExecutorSize { cores: 2, memory_mib: 2048, holds_accelerator: false };
/// let packing = pack(catalog.find("c5.xlarge").unwrap(), 5, size).unwrap();
/// assert_eq!((packing.machines, packing.executors_per_machine), (3, 2));
/// ```
///
/// # Errors
/// [`PackingError`]: not even one executor fits on a machine.
pub fn pack(machine: &MachineType, executors: u32, size: ExecutorSize) -> Result<Packing, PackingError> {
    let name = || machine.name.clone();
    if executors == 0 || size.cores == 0 {
        return Err(PackingError::Nothing { executors, cores: size.cores });
    }
    if size.holds_accelerator && machine.accelerator_count() == 0 {
        return Err(PackingError::NoAccelerators { machine: name() });
    }
    let by_cores = machine.processors / size.cores;
    if by_cores == 0 {
        let (processors, cores) = (machine.processors, size.cores);
        return Err(PackingError::TooFewProcessors { machine: name(), processors, cores });
    }
    let by_memory = machine.memory_mib.saturating_sub(SYSTEM_MIB) / size.memory_mib.max(1);
    if by_memory == 0 {
        let (memory_mib, executor_mib) = (machine.memory_mib, size.memory_mib);
        return Err(PackingError::TooLittleMemory { machine: name(), memory_mib, executor_mib });
    }
    let by_accelerators = if size.holds_accelerator { machine.accelerator_count() } else { u32::MAX };
    let executors_per_machine = by_cores.min(by_memory).min(by_accelerators);
    Ok(Packing { machines: executors.div_ceil(executors_per_machine), executors_per_machine })
}
