//! Finds Spark and Java on this machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use foreglow_exit::unusable;

/// Prints the folder of the Python package.
const PYSPARK: &str = "import os, pyspark; print(os.path.dirname(pyspark.__file__))";

/// Returns Spark's folder, which holds `bin/spark-submit` and `jars`: the requested one,
/// `SPARK_HOME`, that of `spark-submit` on the path, or that of the Python package pyspark.
///
/// # Errors
/// Spark or Java is missing.
pub fn find(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let home = match asked {
        Some(home) => is_spark(home).then(|| home.to_owned()).ok_or_else(|| {
            unusable(format!(
                "{} has no bin/spark-submit and no jars; give Spark's own folder with --spark-home",
                home.display()
            ))
        })?,
        None => search().ok_or_else(|| {
            unusable(
                "Apache Spark is not installed: pip install pyspark, or unpack Spark and set SPARK_HOME or \
                --spark-home",
            )
        })?,
    };
    check_java()?;
    Ok(home)
}

fn search() -> Option<PathBuf> {
    let set = std::env::var_os("SPARK_HOME").map(PathBuf::from).filter(|home| is_spark(home));
    set.or_else(|| {
        let submit = on_path("spark-submit")?.canonicalize().ok()?;
        let bin = submit.parent()?;
        let home = bin.parent().filter(|home| is_spark(home)).map(Path::to_owned);
        home.or_else(|| of_python(bin.join("python3").as_os_str()))
    })
    .or_else(|| of_python(OsStr::new("python3")))
}

fn is_spark(home: &Path) -> bool {
    home.join("bin/spark-submit").is_file() && home.join("jars").is_dir()
}

fn of_python(python: &OsStr) -> Option<PathBuf> {
    let output = Command::new(python).args(["-c", PYSPARK]).stdin(Stdio::null()).output().ok()?;
    let home = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    is_spark(&home).then_some(home)
}

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Checks the Java that Spark's scripts use.
fn check_java() -> anyhow::Result<()> {
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let java = home.map_or_else(|| PathBuf::from("java"), |home| Path::new(&home).join("bin/java"));
    let runs = Command::new(&java).arg("-version").stdin(Stdio::null()).output().is_ok_and(|out| out.status.success());
    if runs {
        return Ok(());
    }
    Err(unusable(format!(
        "Java is missing ({} does not run): Spark needs a Java runtime, such as Debian's openjdk-17-jre-headless; install one, or \
         set JAVA_HOME",
        java.display()
    )))
}
