//! Packing of executors on machines of one type.
//!
//! An executor occupies C processors, its memory and, on GPUs, one accelerator. Of equal executors,
//! the number on a machine is the least of the three quotients, and the machines are filled one
//! after another.
//!
//! In an uneven split some executors have C processors and the others C − 1. A machine of N
//! processors with n executors has room for min(n, N − n·(C − 1)) executors of C processors, which
//! is concave in n. Spreading the executors evenly over the machines therefore leaves the most
//! room.

use foreglow_shared::{CoreSplit, MachineType, SYSTEM_MIB, format_count};
use serde::{Deserialize, Serialize};

/// Resources that an executor occupies.
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
        "{machine} has {}, and an executor takes {cores}; choose fewer cores or a larger machine",
        format_count(*.processors as usize, "processor")
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

/// Packs executors on the fewest machines of a type that hold them.
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

/// Packs the executors of a split; `size` is that of the executors with the most cores.
///
/// ```
/// # use foreglow_model::{ExecutorSize, pack_split};
/// # use foreglow_shared::{Catalog, CoreSplit};
/// let catalog = Catalog::built_in();
/// let size = ExecutorSize { cores: 3, memory_mib: 1024, holds_accelerator: false };
/// // 3+2+2+2 cores: a machine of 4 processors holds 3 or 2+2 of them.
/// let split = CoreSplit::of_total(4, 9).unwrap();
/// assert_eq!(pack_split(catalog.find("c5.xlarge").unwrap(), split, size).unwrap().machines, 3);
/// ```
///
/// # Errors
/// [`PackingError`]: an executor does not fit on a machine.
pub fn pack_split(machine: &MachineType, split: CoreSplit, size: ExecutorSize) -> Result<Packing, PackingError> {
    let executors = split.executors;
    let equal = pack(machine, executors, size)?;
    let fewest = split.fewest_cores();
    let smaller = pack(machine, executors, ExecutorSize { cores: fewest, ..size })?;
    let room = |executors: u32| u64::from(executors.min(machine.processors - executors * fewest));
    let is_enough = |machines: &u32| {
        let (each, with_one_more) = (executors / machines, executors % machines);
        let more = if with_one_more > 0 { u64::from(with_one_more) * room(each + 1) } else { 0 };
        more + u64::from(machines - with_one_more) * room(each) >= u64::from(split.larger_executors())
    };
    let machines = (smaller.machines..equal.machines).find(is_enough);
    let spread = |machines: u32| Packing { machines, executors_per_machine: executors.div_ceil(machines) };
    Ok(machines.map_or(equal, spread))
}
