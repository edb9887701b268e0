//! Missing programs and servers.

use std::process::Command;

use foreglow_tests::{Answer, spark_home};

#[test]
fn missing_requirements_are_reported_before_anything_starts() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let spark = spark_home()?;
    let spark = spark.to_str().unwrap();
    let collect = |more: &[&str], clear: &[&str]| {
        let master = ["collect", "--engine", "spark", "--master", "spark://127.0.0.1:1", "--format", "json"];
        let mut command = Command::new(foreglow_tests::foreglow().unwrap());
        command.args([&master[..], more].concat()).current_dir(home.path());
        for name in clear {
            command.env(name, "/nowhere");
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let expected: [(&[&str], &[&str], &str); 5] = [
        (&["--spark-home", spark], &["PATH", "JAVA_HOME"], "Java is missing (/nowhere/bin/java does not run)"),
        (&[], &["PATH", "SPARK_HOME"], "Apache Spark is not installed: pip install pyspark"),
        (&["--spark-home", "/nowhere"], &[], "/nowhere has no bin/spark-submit and no jars"),
        (
            &["--spark-home", spark, "--master-ui", "http://127.0.0.1:1"],
            &[],
            "the Spark master does not answer at http://127.0.0.1:1/json/",
        ),
        (
            &["--spark-home", spark, "--spark-conf", "spark.cores.max=1", "--master-ui", "none"],
            &[],
            "spark.cores.max is set by Foreglow",
        ),
    ];
    for (arguments, clear, sentence) in expected {
        let (code, stderr) = collect(arguments, clear);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(sentence), "{stderr}");
    }
    for (master, sentence) in [
        ("local[4]", "a local master has no executors of its own"),
        ("spark://10.255.255.1:7077", "the generated images are on this machine only"),
    ] {
        let answer = Answer::of(home.path(), &["collect", "--engine", "spark", "--master", master])?;
        assert_eq!(answer.code, Some(2));
        assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    }
    Ok(())
}
