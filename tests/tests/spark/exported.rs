//! The planned configuration as arguments of `spark-submit`.

use std::path::Path;
use std::process::Command;

use foreglow_tests::{Cluster, foreglow, java_options, spark_home, workspace_dir};
use serde_json::Value;

/// An application that waits for its executors and prints its configuration.
const APPLICATION: &str = "\
import time
from pyspark.sql import SparkSession
context = SparkSession.builder.getOrCreate().sparkContext
configuration = context.getConf()
executors, until = 0, time.time() + 60
while executors < int(configuration.get('spark.executor.instances')) and time.time() < until:
    time.sleep(0.2)
    # The driver is listed with the executors.
    executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1
# The default parallelism is at least 2, regardless of the cores.
cores = context._jsc.sc().schedulerBackend().totalCoreCount()
memory = configuration.get('spark.executor.memory')
print(f'{executors} executors, {cores} cores, {memory}')
context.stop()
";

/// Runs `spark-submit $(foreglow export spark-submit PLAN) app.py` on the cluster.
pub fn spark_submit_takes_what_is_exported(cluster: &Cluster, home: &Path, plan: &Value) -> anyhow::Result<()> {
    let (file, application) = (home.join("plan.json"), home.join("app.py"));
    std::fs::write(&file, plan.to_string())?;
    std::fs::write(&application, APPLICATION)?;
    let line = r#""$SPARK_HOME/bin/spark-submit" --master "$MASTER" --conf spark.ui.enabled=false \
        $("$FOREGLOW" export spark-submit "$PLAN") "$APPLICATION""#;
    let output = Command::new("sh")
        .args(["-c", line])
        .env("SPARK_HOME", spark_home()?)
        .env("SPARK_LOCAL_IP", "127.0.0.1")
        .env("SPARK_SUBMIT_OPTS", java_options())
        .env("PYSPARK_PYTHON", workspace_dir().join("target/pyspark/bin/python3"))
        .env("MASTER", &cluster.master)
        .env("FOREGLOW", foreglow()?)
        .env("PLAN", &file)
        .env("APPLICATION", &application)
        .output()?;
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let number = |name: &str| plan["recommended"][name].as_u64().unwrap();
    let executors = number("executors");
    let (cores, memory) = (executors * number("cores_per_executor"), number("memory_per_executor_mib"));
    assert_eq!(said.trim(), format!("{executors} executors, {cores} cores, {memory}m"), "{errors}");
    Ok(())
}
