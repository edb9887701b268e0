//! `kubectl get job -o json`: one Job, or a list of them, or objects of operators (`operators`).

use foreglow_shared::{Outcome, Timestamp};
use serde_json::Value;

use super::{BYTES_PER_MIB, Finished, OWN_RUN, Records, mebibytes, operators, quantity, refused};
use crate::{Given, Import, ImportError, Importer, Input};

/// Label of Kubernetes' Jobs that run `foreglow collect`, with its value.
pub const KUBERNETES_LABEL: (&str, &str) = ("app.kubernetes.io/name", "foreglow");

const MACHINE: &str = "node.kubernetes.io/instance-type";
/// Labels of nodes with the name of their GPU.
const GPU_NAMES: [&str; 2] = ["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator"];

/// Records of Kubernetes.
pub struct Kubernetes;

impl Importer for Kubernetes {
    fn sniff(&self, start: &str) -> bool {
        is_object(start) || is_other_form(start)
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let bytes = input.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        if !is_object(text.trim_start()) {
            return Err(refused(
                "it is the output of kubectl in another form; write it as JSON, with `kubectl get job -o json`",
            ));
        }
        records(&text)?.samples(given)
    }
}

/// Whether a text begins as a JSON object of Kubernetes.
fn is_object(start: &str) -> bool {
    let key = start.strip_prefix('{').and_then(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    let has_kind = || start.contains("\"kind\"") || start.contains("\"apiVersion\"");
    matches!(key, Some("apiVersion" | "kind" | "items" | "metadata" | "spec" | "status")) && has_kind()
}

/// Whether a text is YAML, a table or a description of `kubectl`.
fn is_other_form(start: &str) -> bool {
    let mut lines = start.lines();
    let is_yaml = start.lines().take(3).any(|line| line.starts_with("apiVersion:"));
    let first = lines.next().unwrap_or_default();
    let is_table = first.starts_with("NAME") && first.contains(" COMPLETIONS ");
    let is_description = first.starts_with("Name:") && lines.next().is_some_and(|line| line.starts_with("Namespace:"));
    is_yaml || is_table || is_description
}

/// Returns the finished jobs, and the reasons why others are omitted. A file may have several
/// objects, one after the other.
fn records(text: &str) -> Result<Records, ImportError> {
    let mut records = Records::default();
    for object in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let object = object.map_err(|error| refused(format!("it is not JSON: {error}")))?;
        let of_list =
            object["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
        let items = object["items"].as_array().map_or_else(|| vec![&object], |items| items.iter().collect());
        for item in items {
            let kind = item["kind"].as_str().or(of_list).unwrap_or("object without a kind");
            let job = if kind == "Job" { Some(Ok(item.clone())) } else { operators::as_job(kind, item) };
            match job {
                Some(Ok(job)) => records.push(&job),
                Some(Err(reason)) => records.notes.push(format!("{} {reason}", name(item))),
                None => {
                    records.notes.push(format!("{} is a {kind}, and only {} has a time", name(item), operators::KINDS));
                }
            }
        }
    }
    Ok(records)
}

impl Records {
    fn push(&mut self, job: &Value) {
        match finished(job) {
            Ok((job, notes)) => {
                self.notes.extend(notes.into_iter().map(|note| format!("{}: {note}", job.name)));
                self.jobs.push(job);
            }
            Err(reason) => self.notes.push(format!("{} {reason}", name(job))),
        }
    }
}

/// Returns the bytes of a unit: `G` is decimal and `Gi` binary.
fn unit_bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => BYTES_PER_MIB,
        "Gi" => 1024.0 * BYTES_PER_MIB,
        "Ti" => 1024.0 * 1024.0 * BYTES_PER_MIB,
        _ => return None,
    })
}

/// Returns a number of processors: `2`, `2000m`.
fn processors(text: &str) -> Option<f64> {
    let (value, unit) = quantity(text)?;
    let count = match unit {
        "" => value,
        "m" => value / 1000.0,
        _ => return None,
    };
    (count > 0.0).then_some(count)
}

/// Whether a resource is a GPU, a shared GPU or a part of one: `nvidia.com/gpu`,
/// `nvidia.com/gpu.shared`, `nvidia.com/mig-1g.5gb`, `gpu.intel.com/i915`.
fn is_gpu(resource: &str) -> bool {
    resource.split_once('/').is_some_and(|(vendor, name)| {
        vendor.starts_with("gpu.") || name.starts_with("mig-") || name == "gpu" || name.starts_with("gpu.")
    })
}

fn name(job: &Value) -> &str {
    job["metadata"]["name"].as_str().unwrap_or("a job")
}

/// Returns a quantity, which JSON has as a text or as a number.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned).or_else(|| value.as_number().map(ToString::to_string))
}

/// End of a job.
struct End {
    outcome: Outcome,
    reason: Option<String>,
    started_at: Timestamp,
    secs: f64,
}

fn end(status: &Value) -> Result<End, &'static str> {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let holds = |kind: &str| conditions.iter().find(|one| one["type"] == kind && one["status"] == "True");
    let (outcome, end, reason) = match (holds("Complete"), holds("Failed")) {
        (Some(_), _) => match status["failed"].as_u64().filter(|pods| *pods > 0) {
            // The time includes the lost work.
            Some(pods) => {
                let reason = format!("pods that failed and were started again: {pods} (status.failed)");
                (Outcome::Failed, &status["completionTime"], Some(reason))
            }
            None => (Outcome::Completed, &status["completionTime"], None),
        },
        (None, Some(failed)) => {
            let is_late = failed["reason"] == "DeadlineExceeded";
            let outcome = if is_late { Outcome::TimedOut } else { Outcome::Failed };
            let said = failed["message"].as_str().unwrap_or("without a message");
            (outcome, &failed["lastTransitionTime"], Some(format!("Kubernetes ended the job: {said}")))
        }
        (None, None) => return Err("has not ended"),
    };
    let time = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let started_at = time(&status["startTime"]).ok_or("has no start (status.startTime)")?;
    let secs = time(end).ok_or("has no end (status.completionTime)")?.duration_since(started_at).as_secs_f64();
    let secs = Some(secs).filter(|secs| *secs > 0.0).ok_or("has no duration")?;
    Ok(End { outcome, reason, started_at, secs })
}

/// Returns the number of pods that ran at the same time, and a remark if not all slots had a pod,
/// or some had several.
fn pods(spec: &Value) -> (u32, Option<String>) {
    let number = |field: &str| spec[field].as_u64().and_then(|count| u32::try_from(count).ok());
    let slots = number("parallelism").unwrap_or(1).max(1);
    match number("completions").unwrap_or(slots).max(1) {
        pods if pods < slots => (
            pods,
            Some(format!("only {pods} of its {slots} slots had a pod (completions {pods}, parallelism {slots})")),
        ),
        pods if pods > slots => {
            let note = format!(
                "its {pods} pods ran on {slots} slots one after the other (completions {pods}, parallelism {slots}), and \
                 {slots} executors are recorded"
            );
            (slots, Some(note))
        }
        _ => (slots, None),
    }
}

/// Returns the container that does the work, and a remark if there are others: the only one, the
/// only one with a GPU, or the one with the most processors.
fn container(pod: &Value) -> Result<(&Value, Option<String>), String> {
    let containers = pod["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named = |container: &Value| container["name"].as_str().unwrap_or("without a name").to_owned();
    let with_gpu: Vec<&Value> = containers.iter().filter(|container| !gpus(container).is_empty()).collect();
    let cores = |container: &Value| {
        text(&container["resources"]["limits"]["cpu"]).and_then(|cpu| processors(&cpu)).unwrap_or(0.0)
    };
    let most = containers.iter().map(cores).fold(0.0, f64::max);
    let largest: Vec<&Value> = containers.iter().filter(|container| cores(container) >= most).collect();
    match (containers, with_gpu.as_slice(), largest.as_slice()) {
        ([], ..) => Err("has no container".to_owned()),
        ([only], ..) => Ok((only, None)),
        (_, [worker], _) | (_, [], [worker]) => {
            let note = format!(
                "of the {} containers of a pod, the resources are those of {}",
                containers.len(),
                named(worker)
            );
            Ok((worker, Some(note)))
        }
        _ => {
            let names: Vec<String> = containers.iter().map(named).collect();
            Err(format!("has several containers ({}), and which one does the work is unclear", names.join(", ")))
        }
    }
}

/// Returns the names of the GPUs that a container may use.
fn gpus(container: &Value) -> Vec<&str> {
    let limits = container["resources"]["limits"].as_object();
    limits.into_iter().flat_map(|limits| limits.keys()).map(String::as_str).filter(|name| is_gpu(name)).collect()
}

/// Returns the number of GPUs of a container, or of parts of GPUs; 0 if it shares them.
fn gpu_count(container: &Value, gpus: &[&str]) -> u32 {
    let limits = &container["resources"]["limits"];
    let own = gpus.iter().filter(|name| !name.ends_with("/gpu.shared"));
    own.filter_map(|name| text(&limits[*name])?.parse::<u32>().ok()).fold(0, u32::saturating_add)
}

fn finished(job: &Value) -> Result<(Finished, Vec<String>), String> {
    if job["metadata"]["labels"][KUBERNETES_LABEL.0] == KUBERNETES_LABEL.1 {
        return Err(OWN_RUN.to_owned());
    }
    let End { outcome, reason, started_at, secs } = end(&job["status"])?;
    let pod = &job["spec"]["template"]["spec"];
    let (container, of_container) = container(pod)?;
    let (executors, of_pods) = pods(&job["spec"]);
    let limits = &container["resources"]["limits"];
    let limit = text(&limits["cpu"]).ok_or(
        "sets no limit of processors (resources.limits.cpu): its pods may use all processors of their machines",
    )?;
    let cores = processors(&limit).filter(|cores| cores.fract() == 0.0 && *cores <= f64::from(u32::MAX));
    let cores = cores.ok_or_else(|| format!("has no whole number of processors (resources.limits.cpu is {limit})"))?;
    let gpus = gpus(container);
    let node = &pod["nodeSelector"];
    let finished = Finished {
        name: name(job).to_owned(),
        identity: format!("kubernetes {}", job["metadata"]["uid"]),
        outcome,
        reason,
        secs,
        started_at,
        executors,
        cores_per_executor: cores as u32,
        memory_per_executor_mib: text(&limits["memory"]).and_then(|memory| mebibytes(&memory, unit_bytes)),
        memory_field: "resources.limits.memory",
        gpus_per_executor: gpu_count(container, &gpus),
        // Several pods may be on one node.
        nodes: None,
        has_gpu: !gpus.is_empty(),
        gpu_type: GPU_NAMES.iter().find_map(|label| node[label].as_str()).map(str::to_owned),
        // Each pod has its own, or its part of one.
        shares_gpus: gpus.iter().any(|name| name.ends_with("/gpu.shared")),
        machine: node[MACHINE].as_str().map(str::to_owned),
    };
    Ok((finished, of_container.into_iter().chain(of_pods).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_gpus_and_parts_of_gpus_are_gpus() {
        let gpus = ["nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"];
        assert!(gpus.into_iter().all(is_gpu) && is_gpu("gpu.intel.com/i915"));
        assert!(!["cpu", "memory", "ephemeral-storage", "example.com/dongle"].into_iter().any(is_gpu));
    }

    #[test]
    fn quantities_of_memory_are_decimal_unless_their_unit_ends_in_i() {
        let mib = |text: &str| mebibytes(text, unit_bytes);
        assert_eq!(["4Gi", "512Mi", "1048576", "1048576Ki"].map(mib), [Some(4096), Some(512), Some(1), Some(1024)]);
        assert_eq!(["4G", "4096M", "4194304k"].map(mib), [Some(3814), Some(3906), Some(4000)]);
        assert_eq!(["", "x", "4Q", "4K", "-1G", "128e6m"].map(mib), [None; 6]);
    }

    #[test]
    fn thousandths_of_processors_are_processors() {
        let given = ["2", "2000m", "1500m", "0.5", "m", "", "-1", "2Gi"];
        assert_eq!(given.map(processors), [Some(2.0), Some(2.0), Some(1.5), Some(0.5), None, None, None, None]);
    }
}
