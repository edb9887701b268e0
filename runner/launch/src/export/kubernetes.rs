//! Jobs of Kubernetes, with the labels of Kueue.

use std::fmt::{self, Write as _};

use foreglow_exit::unusable;
use foreglow_import::KUBERNETES_LABEL;

use super::{Needs, Share, Site, Task, minutes, quoted};

/// Label with the queue of a job for Kueue.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Label with the longest time of a job for Kueue, which then gives its resources to others.
const LIMIT: &str = "kueue.x-k8s.io/max-exec-time-seconds";
/// Label with the machine type, set by the clouds.
const MACHINE: &str = "node.kubernetes.io/instance-type";
/// Annotation that keeps the cluster's autoscaler from moving the pod.
const KEEP: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const GPU: &str = "nvidia.com/gpu";
/// Folder of the collector's certificate authorities in the container.
const AUTHORITIES: &str = "/etc/foreglow";
const SECS_PER_MINUTE: u64 = 60;
const MILLICORES: u32 = 1000;

/// Guaranteed resources of a pod's container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    millicores: u32,
    memory_mib: u32,
    gpus: u32,
}

pub(super) fn job(task: &Task, site: &Site) -> anyhow::Result<String> {
    if task.shared_gpus > 0 {
        return Err(unusable(
            "the executors of the plan share GPUs, and Kubernetes gives every pod its own; leave the command out, so \
             that one pod runs all executors, or plan with samples without --share-gpu",
        ));
    }
    let is_alone = task.share == Share::Machine;
    let mut text = format!("apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: {}-\n", task.name);
    let seconds = |secs: f64| minutes(secs) * SECS_PER_MINUTE;
    let queue = site.queue.as_ref().map(|queue| format!("{QUEUE}: {}", quoted(queue)));
    let limit = task.limit_secs.filter(|_| queue.is_some()).map(|secs| format!("{LIMIT}: \"{}\"", seconds(secs)));
    let mark = task.runs_foreglow.then(|| format!("{}: {}", KUBERNETES_LABEL.0, KUBERNETES_LABEL.1));
    if queue.is_some() || mark.is_some() {
        line(&mut text, 2, "labels:");
        mark.iter().chain(&queue).chain(&limit).for_each(|label| line(&mut text, 4, label));
    }
    line(&mut text, 0, "spec:");
    if site.queue.is_some() {
        // Kueue starts the job when there is capacity.
        line(&mut text, 2, "suspend: true");
    }
    line(&mut text, 2, &format!("parallelism: {}\n  completions: {}", task.processes, task.processes));
    if task.processes > 1 {
        line(&mut text, 2, "completionMode: Indexed");
    }
    line(&mut text, 2, "backoffLimit: 0");
    if let Some(secs) = task.limit_secs {
        line(&mut text, 2, &format!("activeDeadlineSeconds: {}", seconds(secs)));
    }
    line(&mut text, 2, &format!("template:\n    metadata:\n      annotations:\n        {KEEP}: \"false\""));
    if is_alone {
        line(&mut text, 6, "labels:\n        foreglow: measure");
    }
    line(&mut text, 4, "spec:\n      restartPolicy: Never");
    if is_alone {
        // Two measurements on one machine would slow each other down.
        line(&mut text, 6, "affinity:\n        podAntiAffinity:");
        line(&mut text, 10, "requiredDuringSchedulingIgnoredDuringExecution:");
        line(&mut text, 12, "- labelSelector: { matchLabels: { foreglow: measure } }");
        line(&mut text, 14, "topologyKey: kubernetes.io/hostname");
    }
    if let Some(machine) = &task.machine {
        line(&mut text, 6, &format!("nodeSelector:\n        {MACHINE}: {}", quoted(machine)));
    }
    line(&mut text, 6, &format!("containers:\n        - name: foreglow\n          image: {}", quoted(&site.image)));
    // Kubernetes replaces `$$` by `$`, and `$(NAME)` by a variable, before the shell sees them.
    let command = quoted(&task.command.replace('$', "$$"));
    line(&mut text, 10, &format!("command: [\"/bin/sh\", \"-c\", {command}]"));
    if site.token.is_some() || site.authorities.is_some() {
        line(&mut text, 10, "env:");
    }
    if let Some(secret) = &site.token {
        line(&mut text, 12, "- name: FOREGLOW_TOKEN\n              valueFrom:");
        line(&mut text, 16, &format!("secretKeyRef: {{ name: {}, key: token }}", quoted(secret)));
    }
    if site.authorities.is_some() {
        line(&mut text, 12, &format!("- name: FOREGLOW_CA\n              value: {AUTHORITIES}/ca.pem"));
        line(&mut text, 10, "volumeMounts:");
        line(&mut text, 12, &format!("- {{ name: authorities, mountPath: {AUTHORITIES}, readOnly: true }}"));
    }
    if let Some([requests, limits]) = resources(task) {
        line(&mut text, 10, "resources:");
        line(&mut text, 12, &format!("requests: {requests}\n            limits: {limits}"));
    }
    if let Some(authorities) = &site.authorities {
        line(&mut text, 6, "volumes:\n        - name: authorities");
        line(&mut text, 10, &format!("configMap: {{ name: {} }}", quoted(authorities)));
    }
    Ok(text)
}

/// Returns the requests and the limits; `None` if the machine's resources are unknown.
fn resources(task: &Task) -> Option<[String; 2]> {
    let most = match task.share {
        Share::Each(needs) => needs,
        Share::Machine => task.capacity?,
    };
    let whole = Request::of(most);
    // Equal requests and limits give the pod the class that is evicted last. On a machine of a
    // given type, the pods must leave resources for its daemons.
    let least = if task.machine.is_some() { whole.at_most(room(task, most)) } else { whole };
    Some([least.to_string(), whole.to_string()])
}

/// Returns the guaranteed resources of each pod on a machine. Without an entry in the catalog, the
/// pods are assumed to fill the machine.
fn room(task: &Task, pod: Needs) -> Request {
    let pods = task.processes_per_machine.max(1);
    let filled =
        Needs { cores: pod.cores.saturating_mul(pods), memory_mib: pod.memory_mib.saturating_mul(pods), ..pod };
    let left = left_for_pods(task.capacity.unwrap_or(filled));
    Request { millicores: (left.millicores / pods).max(1), memory_mib: (left.memory_mib / pods).max(1), ..left }
}

/// Returns the resources of a machine that are available to pods. Kubernetes and its daemons
/// reserve the rest: up to a quarter of the memory on small machines.
fn left_for_pods(machine: Needs) -> Request {
    const DAEMONS_MIB: u32 = 512;
    let memory_mib = (machine.memory_mib - machine.memory_mib / 4).saturating_sub(DAEMONS_MIB).max(1);
    let millicores = machine.cores.saturating_sub(1).saturating_mul(MILLICORES).max(MILLICORES / 2);
    Request { millicores, memory_mib, gpus: machine.gpus }
}

impl Request {
    fn of(Needs { cores, memory_mib, gpus }: Needs) -> Self {
        Self { millicores: cores.saturating_mul(MILLICORES), memory_mib, gpus }
    }

    /// Limits processors and memory. GPUs are whole, and the daemons need none.
    fn at_most(self, room: Self) -> Self {
        let millicores = self.millicores.min(room.millicores);
        Self { millicores, memory_mib: self.memory_mib.min(room.memory_mib), ..self }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { millicores, memory_mib, gpus } = self;
        if millicores % MILLICORES == 0 {
            write!(f, "{{ cpu: {}", millicores / MILLICORES)?;
        } else {
            write!(f, "{{ cpu: {millicores}m")?;
        }
        write!(f, ", memory: {memory_mib}Mi")?;
        if *gpus > 0 {
            write!(f, ", {GPU}: {gpus}")?;
        }
        f.write_str(" }")
    }
}

fn line(text: &mut String, spaces: usize, content: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}{content}", " ".repeat(spaces));
}
