//! Arguments of `spark-submit` for a configuration.

use std::path::Path;

use foreglow_shared::{Configuration, LABEL_PREFIX, Resources, WORKLOAD_LABELS, spark_properties};
use serde_json::Value;

use super::master::Master;
use super::rounds;
use crate::Job;

/// Main class in the driver's jar.
const DRIVER: &str = "foreglow.Driver";
const GPU_OF_TASK: &str = "spark.task.resource.gpu.amount";
/// Labels that only the user can set, because neither Spark nor its log has the CPU model of the
/// workers.
pub const OF_MACHINES: [&str; 2] = ["spark.foreglow.cpu", "spark.foreglow.adapter"];

/// Settings common to all applications of a sweep.
#[derive(Clone, Debug)]
pub struct Submission<'a> {
    /// Master of the cluster.
    pub master: &'a Master,
    /// Properties set by the user.
    pub properties: &'a [(String, String)],
    /// Jar of the driver.
    pub jar: &'a Path,
    /// Folder of the event logs.
    pub event_logs: &'a Path,
    /// Binary that Spark ships to the workers; `None` if they have it.
    pub shipped: Option<&'a Path>,
    /// Path of the binary on the workers, if they have it.
    pub program: Option<&'a Path>,
}

impl Submission<'_> {
    /// Returns the arguments, with those of the driver last.
    pub fn arguments(&self, job: &Job, configuration: &Configuration) -> Vec<String> {
        let name = format!("foreglow {}", job.workload.model);
        let fixed =
            ["--master", &self.master.to_string(), "--deploy-mode", "client", "--name", &name, "--class", DRIVER];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
        let mut add = |key: &str, value: &str| arguments.extend(["--conf".to_owned(), format!("{key}={value}")]);
        // The last value of a property takes precedence.
        add("spark.executor.memoryOverhead", &format!("{}m", configuration.memory_per_executor_mib));
        for (key, value) in rounds::properties(job, configuration) {
            add(key, &value);
        }
        for (key, value) in self.properties {
            add(key, value);
        }
        for (key, value) in self.own_properties(job, configuration) {
            add(&key, &value);
        }
        let program = self.program.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        arguments.extend([self.jar.display().to_string(), configuration.executors.to_string(), program]);
        arguments
    }

    /// Returns the properties reserved for Foreglow.
    fn own_properties(&self, job: &Job, configuration: &Configuration) -> Vec<(String, String)> {
        let mut properties = spark_properties(Resources::from_configuration(configuration));
        // A training executor has a single task, which uses all its cores.
        let task_cpus = if job.training.is_some() { configuration.cores_per_executor } else { 1 };
        if let Some((_, share)) = properties.iter_mut().find(|(key, _)| *key == GPU_OF_TASK && job.training.is_some()) {
            *share = "1".to_owned();
        }
        if job.training.is_some() {
            // A failed round cannot be repeated, because the optimiser state is lost with the
            // process.
            properties.push(("spark.task.maxFailures", "1".to_owned()));
        }
        properties.extend([
            ("spark.task.cpus", task_cpus.to_string()),
            ("spark.speculation", "false".to_owned()),
            ("spark.eventLog.enabled", "true".to_owned()),
            ("spark.eventLog.dir", format!("file://{}", self.event_logs.display())),
            ("spark.eventLog.compress", "false".to_owned()),
            ("spark.eventLog.rolling.enabled", "false".to_owned()),
        ]);
        if let Some(shipped) = self.shipped {
            properties.push(("spark.files", format!("file://{}", shipped.display())));
        }
        let properties = properties.into_iter().map(|(key, value)| (key.to_owned(), value));
        let label = |(name, value)| (format!("{LABEL_PREFIX}{name}"), value);
        properties.chain(labels(job, configuration).into_iter().map(label)).collect()
    }

    /// Returns the first of the user's properties that is reserved for Foreglow.
    pub fn taken(&self, job: &Job, configuration: &Configuration) -> Option<&str> {
        let own = self.own_properties(job, configuration);
        let is_label = |key: &str| key.starts_with(LABEL_PREFIX) && !OF_MACHINES.contains(&key);
        let is_own = |key: &str| own.iter().any(|(name, _)| name == key) || is_label(key);
        self.properties.iter().map(|(key, _)| key.as_str()).find(|key| is_own(key))
    }
}

/// Returns the labels of the job in the event log. The sampling rate and the sample's ID are
/// properties of each job of the application.
fn labels(job: &Job, configuration: &Configuration) -> Vec<(&'static str, String)> {
    let workload = &job.workload;
    let mut labels = vec![
        ("model", workload.model.clone()),
        ("mode", workload.mode.as_str().to_owned()),
        ("images", workload.images.to_string()),
        ("image_px", workload.image_px.to_string()),
        ("batch_size", workload.batch_size.to_string()),
        ("partition_size", configuration.partition_size.to_string()),
        ("epochs", workload.epochs.to_string()),
        ("seed", job.seed.to_string()),
        ("executors", configuration.executors.to_string()),
        ("cores_per_executor", configuration.cores_per_executor.to_string()),
        ("runner_version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let fields = serde_json::to_value(workload).unwrap_or_default();
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    labels.extend(WORKLOAD_LABELS.iter().filter_map(|name| Some((*name, words(fields.get(name)?)))));
    labels
}

#[cfg(test)]
mod tests {
    use foreglow_shared::Mode;

    use foreglow_shared::CoreSplit;

    use super::*;
    use crate::TrainingJob;
    use foreglow_data::Kind;
    use foreglow_machine::device::{DeviceChoice, on_cluster};
    use foreglow_protocol::{Optimizer, Schedule, Training};

    fn job(wish: &DeviceChoice) -> Job {
        Job {
            workload: Job::workload("resnet50", 224, 200_000, 32),
            source: Kind::Folder.at("/data/photos"),
            device: on_cluster(wish).unwrap(),
            seed: 7,
            timeout: None,
            broken_limit: None,
            monitor: None,
            core_share: None,
            machine_type: None,
            weights: None,
            normalisation: None,
            training: None,
            program: None,
        }
    }

    /// Spark averages the parameters and Adam's moments every 20 mini-batches.
    fn training() -> Job {
        let mut job = job(&DeviceChoice::Cpu);
        job.workload.mode = Mode::Training;
        job.workload.epochs = 4;
        let settings = Training {
            optimizer: Optimizer::Adam,
            learning_rate: 0.001,
            schedule: Schedule::Constant,
            epochs: 4,
            executors: 1,
            average_every: 20,
            average_optimizer_state: true,
            share_size: 8,
            validation: None,
            listen: None,
        };
        job.workload.optimizer = Some("adam".into());
        job.workload.average_every = Some(20);
        job.training = Some(TrainingJob {
            settings,
            held_out: None,
            checkpoint: None,
            save_weights: None,
            parameters: |_| Some(25_557_032),
        });
        job
    }

    fn arguments(master: &str, job: &Job, properties: &[(String, String)]) -> String {
        let is_there = master == "yarn";
        let submission = Submission {
            master: &master.parse().unwrap(),
            properties,
            jar: Path::new("/tmp/x/foreglow-spark.jar"),
            event_logs: Path::new("/tmp/x/event-logs"),
            shipped: (!is_there).then_some(Path::new("/usr/bin/foreglow")),
            program: is_there.then_some(Path::new("/opt/foreglow")),
        };
        let arguments = submission.arguments(job, &job.configuration(CoreSplit::even(3, 4), 4096, 40)).join("\n");
        arguments.replace("--conf\n", "--conf ").replace(concat!("=", env!("CARGO_PKG_VERSION")), "=VERSION")
    }

    fn property(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn the_arguments_of_each_kind_of_cluster_are_golden() {
        insta::assert_snapshot!("standalone", arguments("spark://10.0.0.1:7077", &job(&DeviceChoice::Cpu), &[]));
        let queue = [property("spark.yarn.queue", "research"), property("spark.executor.memoryOverhead", "6g")];
        insta::assert_snapshot!("yarn", arguments("yarn", &job(&DeviceChoice::Cpu), &queue));
        let image = [property("spark.kubernetes.container.image", "spark:3.5.9")];
        insta::assert_snapshot!(
            "kubernetes-gpu",
            arguments("k8s://https://10.0.0.1:6443", &job(&DeviceChoice::Gpu), &image)
        );
        let own = [property("spark.driver.memory", "6g"), property("spark.foreglow.cpu", "Some CPU")];
        insta::assert_snapshot!("training", arguments("spark://10.0.0.1:7077", &training(), &own));
    }
}
