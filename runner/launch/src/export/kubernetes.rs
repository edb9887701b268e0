//! Jobs of Kubernetes, with the labels of Kueue.

use std::fmt::Write as _;

use super::{Needs, Site, Task, minutes, quoted};

/// Label by which Kueue finds the queue of a job.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Label that the clouds give their machines.
const MACHINE: &str = "node.kubernetes.io/instance-type";
/// Annotation that keeps the cluster's autoscaler from moving the pod.
const KEEP: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const GPU: &str = "nvidia.com/gpu";
const SECS_PER_MINUTE: u64 = 60;

pub(super) fn job(task: &Task, site: &Site) -> String {
    let mut text = format!("apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: {}-\n", task.name);
    if let Some(queue) = &site.queue {
        line(&mut text, 2, &format!("labels:\n    {QUEUE}: {}", quoted(queue)));
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
    if task.exclusive {
        line(&mut text, 6, "labels:\n        foreglow: measure");
    }
    line(&mut text, 4, "spec:\n      restartPolicy: Never");
    if task.exclusive {
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
    line(&mut text, 10, &format!("command: [\"/bin/sh\", \"-c\", {}]", quoted(&task.command)));
    if let Some(secret) = &site.token {
        line(&mut text, 10, "env:\n            - name: FOREGLOW_TOKEN\n              valueFrom:");
        line(&mut text, 16, &format!("secretKeyRef: {{ name: {}, key: token }}", quoted(secret)));
    }
    if let Some(needs) = task.needs {
        line(&mut text, 10, "resources:");
        // Equal requests and limits: the pod is in the class that is evicted last.
        for kind in ["requests", "limits"] {
            line(&mut text, 12, &format!("{kind}: {}", resources(needs)));
        }
    }
    text
}

fn resources(Needs { cores, memory_mib, gpus }: Needs) -> String {
    let gpus = if gpus > 0 { format!(", {GPU}: {gpus}") } else { String::new() };
    format!("{{ cpu: {cores}, memory: {memory_mib}Mi{gpus} }}")
}

fn line(text: &mut String, spaces: usize, content: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}{content}", " ".repeat(spaces));
}
