//! The planned configuration as Spark applications take it.

use foreglow_shared::{Resources, spark_application_properties, spark_submit_arguments};
use serde_json::json;

/// A form of the executors of a Spark application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparkForm<'a> {
    /// Arguments of `spark-submit`, on one line.
    Submit,
    /// Lines of `spark-defaults.conf`.
    Defaults,
    /// Patch of a `SparkApplication` of Kubernetes' Spark operator, YAML.
    Application,
    /// Step of Amazon EMR that runs this application with its arguments, JSON.
    EmrStep(&'a [String]),
}

impl SparkForm<'_> {
    /// Returns the text for executors with these resources; `name` is that of the job.
    pub fn text(self, resources: Resources, name: &str) -> String {
        let properties = || spark_application_properties(resources).into_iter();
        match self {
            Self::Submit => format!("{}\n", spark_submit_arguments(resources)),
            Self::Defaults => properties().map(|(key, value)| format!("{key} {value}\n")).collect(),
            Self::Application => patch(resources),
            Self::EmrStep(application) => {
                let set = properties().flat_map(|(key, value)| ["--conf".to_owned(), format!("{key}={value}")]);
                let arguments: Vec<String> = set.chain(application.iter().cloned()).collect();
                // The form of `aws emr add-steps --steps file://…` (AWS CLI, "add-steps").
                let step = json!({ "Type": "Spark", "Name": name, "ActionOnFailure": "CONTINUE", "Args": arguments });
                format!("{:#}\n", json!([step]))
            }
        }
    }
}

/// Returns a merge patch (Kubeflow's Spark operator, API v1beta2: `ExecutorSpec`). Its fields take
/// precedence over the properties of Spark, and a share of a GPU has no field.
fn patch(resources: Resources) -> String {
    let value = |key: &str| {
        let mut properties = spark_application_properties(resources).into_iter();
        properties.find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    let of_executor =
        |field: &str, key: &str| value(key).map_or_else(String::new, |value| format!("    {field}: {value}\n"));
    let mut text = "# kubectl patch sparkapplication NAME --type merge --patch-file FILE\nspec:\n".to_owned();
    text += "  dynamicAllocation:\n    enabled: false\n  executor:\n";
    text += &of_executor("instances", "spark.executor.instances");
    text += &of_executor("cores", "spark.executor.cores");
    text += &of_executor("memory", "spark.executor.memory");
    if let Some(share) = value("spark.task.resource.gpu.amount") {
        text += "    gpu:\n      name: nvidia.com/gpu\n      quantity: 1\n";
        text += &format!("  sparkConf:\n    spark.task.resource.gpu.amount: \"{share}\"\n");
    }
    text
}
