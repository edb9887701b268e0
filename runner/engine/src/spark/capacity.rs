//! Capacity check of a standalone cluster through its master's web UI. Spark itself would run with
//! fewer executors, or wait forever.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Context as _;
use foreglow_shared::{CoreSplit, Resources};
use serde::Deserialize;

/// Timeout of the master's answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// State of the cluster from the master's `/json/`.
#[derive(Clone, Debug, Deserialize)]
pub struct Cluster {
    status: String,
    #[serde(default)]
    workers: Vec<Worker>,
}

#[derive(Clone, Debug, Deserialize)]
struct Worker {
    state: String,
    cores: u32,
    #[serde(rename = "coresfree")]
    cores_free: u32,
    #[serde(rename = "memory")]
    memory_mib: u64,
    #[serde(rename = "memoryfree")]
    memory_free_mib: u64,
    #[serde(default)]
    resources: Accelerators,
    #[serde(rename = "resourcesfree", default)]
    resources_free: Accelerators,
}

type Accelerators = BTreeMap<String, Addresses>;

#[derive(Clone, Debug, Deserialize)]
struct Addresses {
    #[serde(default)]
    addresses: Vec<String>,
}

/// The requested executors do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    resources: Resources,
    /// Executors that the whole cluster can hold.
    fit: u32,
    /// Executors that fit next to the running applications.
    fit_now: u32,
    workers: usize,
}

impl Cluster {
    /// Queries the master.
    ///
    /// # Errors
    /// The master does not answer, or the answer is not from the active master of a cluster.
    pub fn of(ui: &str) -> anyhow::Result<Self> {
        let url = format!("{}/json/", ui.trim_end_matches('/'));
        let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().new_agent();
        let text =
            agent.get(&url).call().and_then(|mut answer| answer.body_mut().read_to_string()).with_context(|| {
                format!(
                    "the Spark master does not answer at {url}; is it running? Give another address \
                    of its web UI with --master-ui, or none to skip the check"
                )
            })?;
        let cluster: Self = serde_json::from_str(&text).with_context(|| {
            format!("the server at {url} is not a Spark master; give the address of its web UI with --master-ui")
        })?;
        let status = &cluster.status;
        anyhow::ensure!(
            status == "ALIVE",
            "the Spark master at {url} is {status} and not the active master; give the active one"
        );
        Ok(cluster)
    }

    /// Checks whether these executors fit next to the running applications.
    ///
    /// # Errors
    /// They do not fit.
    pub fn check(&self, resources: Resources) -> Result<(), Shortage> {
        let alive = || self.workers.iter().filter(|worker| worker.state == "ALIVE");
        let fit_now = alive()
            .map(|worker| fit(resources, worker.cores_free, worker.memory_free_mib, &worker.resources_free))
            .fold(0, u32::saturating_add);
        if fit_now >= resources.split.executors {
            return Ok(());
        }
        let fit = alive()
            .map(|worker| fit(resources, worker.cores, worker.memory_mib, &worker.resources))
            .fold(0, u32::saturating_add);
        Err(Shortage { resources, fit, fit_now, workers: alive().count() })
    }
}

/// Returns the number of executors that fit on a worker.
fn fit(resources: Resources, cores: u32, memory_mib: u64, accelerators: &Accelerators) -> u32 {
    let by_cores = u64::from(cores / resources.split.cores_per_executor.max(1));
    let by_memory = memory_mib / u64::from(resources.memory_per_executor_mib.max(1));
    let by_accelerators = match resources.accelerated {
        true => accelerators.get("gpu").map_or(0, |gpus| gpus.addresses.len() as u64),
        false => u64::MAX,
    };
    u32::try_from(by_cores.min(by_memory).min(by_accelerators)).unwrap_or(u32::MAX)
}

impl Shortage {
    /// Whether the executors would fit on the cluster without other applications.
    pub fn may_pass(&self) -> bool {
        self.fit >= self.resources.split.executors
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { split, memory_per_executor_mib, accelerated, .. } = self.resources;
        let CoreSplit { executors, cores_per_executor, .. } = split;
        let gpu = if accelerated { ", a GPU" } else { "" };
        let (workers, fit, fit_now) = (self.workers, self.fit, self.fit_now);
        let asked =
            format!("{executors} executors of {cores_per_executor} cores{gpu} and {memory_per_executor_mib} MiB");
        match self.may_pass() {
            true => write!(
                f,
                "the Spark cluster is in use: it has room for {fit_now} of {asked} now; wait until the other \
                applications have ended"
            ),
            false => write!(
                f,
                "the Spark cluster is too small for {asked}: its {workers} workers have room for {fit}; request \
                fewer or smaller ones"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(workers: &str) -> Cluster {
        serde_json::from_str(&format!(r#"{{"status":"ALIVE","workers":[{workers}]}}"#)).unwrap()
    }

    const WORKER: &str = r#"{"state":"ALIVE","cores":6,"coresfree":6,"memory":4096,"memoryfree":4096,
        "resources":{"gpu":{"name":"gpu","addresses":["0","1"]}},"resourcesfree":{"gpu":{"name":"gpu","addresses":["0"]}}}"#;
    const BUSY: &str = r#"{"state":"ALIVE","cores":6,"coresfree":1,"memory":4096,"memoryfree":4096}"#;
    const DEAD: &str = r#"{"state":"DEAD","cores":60,"coresfree":60,"memory":40960,"memoryfree":40960}"#;

    fn asked(executors: u32, cores_per_executor: u32, memory_per_executor_mib: u32, accelerated: bool) -> Resources {
        let (split, shared_accelerators) = (CoreSplit::even(executors, cores_per_executor), None);
        Resources { split, memory_per_executor_mib, accelerated, shared_accelerators }
    }

    #[test]
    fn an_executor_does_not_span_workers() {
        let two = cluster(&format!("{WORKER},{WORKER},{DEAD}"));
        assert_eq!(two.check(asked(2, 4, 1024, false)), Ok(()));
        let shortage = two.check(asked(3, 4, 1024, false)).unwrap_err();
        assert_eq!((shortage.fit, shortage.fit_now, shortage.workers), (2, 2, 2), "12 cores, 6 a worker");
        assert_eq!(two.check(asked(3, 1, 3000, false)).unwrap_err().fit, 2, "memory");
    }

    #[test]
    fn a_busy_cluster_is_distinguished_from_a_small_one() {
        let one = cluster(&format!("{WORKER},{BUSY}"));
        assert!(one.check(asked(2, 4, 1024, false)).unwrap_err().may_pass());
        assert!(!one.check(asked(4, 4, 1024, false)).unwrap_err().may_pass());
        assert_eq!(one.check(asked(1, 1, 512, true)), Ok(()));
        let accelerators = one.check(asked(2, 1, 512, true)).unwrap_err();
        assert_eq!((accelerators.fit, accelerators.fit_now), (2, 1));
    }
}
