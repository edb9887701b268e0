//! Files that start a job on Slurm, Kubernetes, SkyPilot or Spark (`export`), and the records of
//! finished jobs as timing samples (`finished`).

pub mod export;
pub mod finished;

/// Prefix of the names of Slurm's jobs that run `foreglow collect`.
const SLURM_NAME: &str = "foreglow-";
/// Label of Kubernetes' Jobs that run `foreglow collect`, with its value.
const KUBERNETES_LABEL: (&str, &str) = ("app.kubernetes.io/name", "foreglow");
