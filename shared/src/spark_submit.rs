//! Spark properties of a configuration.

use crate::{CoreSplit, Resources};

/// Prefix of Foreglow's own Spark properties, set for the application (`--conf`) or for one job (as
/// a local property).
pub const LABEL_PREFIX: &str = "spark.foreglow.";

/// Least memory with which an executor of Spark starts, MiB: one and a half times the 300 MiB that
/// it reserves (`UnifiedMemoryManager` of Spark 3.5).
pub const LEAST_SPARK_MEMORY_MIB: u32 = 450;

/// Returns the Spark properties that give an application exactly these executors, each with C
/// cores, on every cluster manager. A standalone master derives E from `spark.cores.max`, YARN and
/// Kubernetes read `spark.executor.instances`, and each ignores the other property. All executors
/// of a Spark application have the same number of cores, so Spark has no uneven splits.
///
/// An executor has one accelerator, which its tasks share.
///
/// Source: "Configuration", "Spark Standalone Mode" and "Custom Resource Scheduling" in the
/// documentation of Spark 3.5.
///
/// ```
/// # use foreglow_shared::{CoreSplit, Resources, spark_properties};
/// let resources = Resources {
///     split: CoreSplit::even(3, 2),
///     memory_per_executor_mib: 2048,
///     accelerated: false,
///     shared_accelerators: None,
/// };
/// let properties = spark_properties(resources);
/// assert!(properties.contains(&("spark.cores.max", "6".to_owned())));
/// assert!(properties.contains(&("spark.executor.instances", "3".to_owned())));
/// ```
pub fn spark_properties(resources: Resources) -> Vec<(&'static str, String)> {
    let Resources { split, memory_per_executor_mib, accelerated, .. } = resources;
    let CoreSplit { executors, cores_per_executor, .. } = split;
    let mut properties = vec![
        ("spark.dynamicAllocation.enabled", "false".to_owned()),
        ("spark.executor.instances", executors.to_string()),
        ("spark.cores.max", (u64::from(executors) * u64::from(cores_per_executor)).to_string()),
        ("spark.executor.cores", cores_per_executor.to_string()),
        ("spark.executor.memory", format!("{memory_per_executor_mib}m")),
    ];
    if accelerated {
        properties.push(("spark.executor.resource.gpu.amount", "1".to_owned()));
        properties.push(("spark.task.resource.gpu.amount", share(cores_per_executor)));
    }
    properties
}

/// Returns the properties with which a user starts an application: with at least the memory with
/// which an executor starts.
pub fn spark_application_properties(resources: Resources) -> Vec<(&'static str, String)> {
    let memory_per_executor_mib = resources.memory_per_executor_mib.max(LEAST_SPARK_MEMORY_MIB);
    spark_properties(Resources { memory_per_executor_mib, ..resources })
}

/// Returns [`spark_application_properties`] as arguments of `spark-submit`.
///
/// ```
/// # use foreglow_shared::{CoreSplit, Resources, spark_submit_arguments};
/// let resources = Resources {
///     split: CoreSplit::even(3, 2),
///     memory_per_executor_mib: 2048,
///     accelerated: false,
///     shared_accelerators: None,
/// };
/// assert_eq!(
///     spark_submit_arguments(resources),
///     "--conf spark.dynamicAllocation.enabled=false --conf spark.executor.instances=3 \
///      --conf spark.cores.max=6 --conf spark.executor.cores=2 --conf spark.executor.memory=2048m"
/// );
/// ```
pub fn spark_submit_arguments(resources: Resources) -> String {
    let argument = |(key, value): (&str, String)| format!("--conf {key}={value}");
    spark_application_properties(resources).into_iter().map(argument).collect::<Vec<_>>().join(" ")
}

/// Returns the share of an accelerator per task, rounded down: the cores already limit the number
/// of tasks, and rounding up would admit too few.
fn share(tasks: u32) -> String {
    match 1_000_000 / tasks.max(1) {
        1_000_000 => "1".to_owned(),
        millionths => format!("0.{millionths:06}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_core_of_an_executor_gets_a_share_of_its_accelerator() {
        assert_eq!([1, 2, 3, 4, 8].map(share), ["1", "0.5", "0.333333", "0.25", "0.125"]);
        for cores in 1..=256 {
            let share: f64 = share(cores).parse().unwrap();
            assert!((1.0 / share).floor() >= f64::from(cores), "{cores}");
        }
    }
}
