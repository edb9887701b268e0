//! The costs of a network and their uses: its layers (`layers`), the memory of its batches on
//! processors (`batch_memory`, `largest_batch`) and on GPUs (`gpu_batches`), the times of typical
//! layers on a device (`layer_times`), jobs of a CNN that was never run (`never_run`), and jobs
//! without samples (`public`).

pub mod batch_memory;
mod costs;
pub mod gpu_batches;
pub mod largest_batch;
pub mod layer_times;
pub mod layers;
pub mod never_run;
pub mod public;
