//! Files that start a job on Slurm, Kubernetes, SkyPilot or Spark (`export`), and the records of
//! finished jobs as timing samples (`finished`).

pub mod export;
pub mod finished;
