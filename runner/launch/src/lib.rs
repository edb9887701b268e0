//! Files that start a job on Slurm, Kubernetes, SkyPilot or Spark.

pub mod export;
