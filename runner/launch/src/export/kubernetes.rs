//! Jobs of Kubernetes, with the labels of Kueue.

use std::fmt::Write as _;

use super::{Needs, Share, Site, Task, minutes, quoted};
use crate::KUBERNETES_LABEL;

/// Label by which Kueue finds the queue of a job.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Label that the clouds give their machines.
const MACHINE: &str = "node.kubernetes.io/instance-type";
/// Annotation that keeps the cluster's autoscaler from moving the pod.
const KEEP: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const GPU: &str = "nvidia.com/gpu";
/// Folder of the collector's certificate authorities in the container.
const AUTHORITIES: &str = "/etc/foreglow";
const SECS_PER_MINUTE: u64 = 60;

pub(super) fn job(task: &Task, site: &Site) -> String {
    let is_alone = matches!(task.share, Share::Machine(_));
    let mut text = format!("apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: {}-\n", task.name);
    let queue = site.queue.as_ref().map(|queue| format!("{QUEUE}: {}", quoted(queue)));
    let mark = task.runs_foreglow.then(|| format!("{}: {}", KUBERNETES_LABEL.0, KUBERNETES_LABEL.1));
    if queue.is_some() || mark.is_some() {
        line(&mut text, 2, "labels:");
        mark.iter().chain(&queue).for_each(|label| line(&mut text, 4, label));
    }
    line(&mut text, 0, "spec:");
    if site.queue.is_some() {
        // Kueue starts the job when there is room.
        line(&mut text, 2, "suspend: true");
    }
    line(&mut text, 2, &format!("parallelism: {}\n  completions: {}", task.processes, task.processes));
    if task.processes > 1 {
        line(&mut text, 2, "completionMode: Indexed");
    }
    line(&mut text, 2, "backoffLimit: 0");
    if let Some(secs) = task.limit_secs {
        line(&mut text, 2, &format!("activeDeadlineSeconds: {}", minutes(secs) * SECS_PER_MINUTE));
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
    if let Some([requests, limits]) = resources(task.share) {
        line(&mut text, 10, "resources:");
        line(&mut text, 12, &format!("requests: {requests}\n            limits: {limits}"));
    }
    if let Some(authorities) = &site.authorities {
        line(&mut text, 6, "volumes:\n        - name: authorities");
        line(&mut text, 10, &format!("configMap: {{ name: {} }}", quoted(authorities)));
    }
    text
}

/// Returns the requests and the limits; `None` if the machine's resources are unknown.
fn resources(share: Share) -> Option<[String; 2]> {
    let (least, most) = match share {
        // Equal requests and limits: the pod is in the class that is evicted last.
        Share::Each(needs) => (needs, needs),
        Share::Machine(machine) => (left_for_pods(machine?), machine?),
    };
    let list = |Needs { cores, memory_mib, gpus }: Needs| {
        let gpus = if gpus > 0 { format!(", {GPU}: {gpus}") } else { String::new() };
        let cpu = if cores > 0 { cores.to_string() } else { "500m".to_owned() };
        format!("{{ cpu: {cpu}, memory: {memory_mib}Mi{gpus} }}")
    };
    Some([list(least), list(most)])
}

/// Returns what pods can be sure to get of a machine: Kubernetes and its daemons keep a part, of
/// the memory up to a quarter on small machines.
fn left_for_pods(machine: Needs) -> Needs {
    const DAEMONS_MIB: u32 = 512;
    let memory_mib = (machine.memory_mib - machine.memory_mib / 4).saturating_sub(DAEMONS_MIB).max(1);
    Needs { cores: machine.cores.saturating_sub(1), memory_mib, gpus: machine.gpus }
}

fn line(text: &mut String, spaces: usize, content: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}{content}", " ".repeat(spaces));
}
