"""Accuracy of `foreglow plan LOG…`: ordinary applications on other configurations and more data.

    make bench-plan-logs

Runs applications.py on a local cluster of executor processes, several nights on each configuration
with each amount of data. Each log alone, and the logs of several nights together, then predict the
other runs. Writes the logs to target/plan-logs (reused if they are there) and prints each answer from
one log, the errors, and how often the 90 % intervals hold. Takes about ten minutes.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from cluster import ROOT, spark_home

FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
LOGS = Path(os.environ.get("PLAN_LOGS", ROOT / "target/plan-logs"))
APPLICATIONS = ["group_by", "join", "word_count"]
CONFIGURATIONS = [(1, 1), (2, 1), (1, 2)]
MILLIONS = ["2", "4"]
NIGHTS = 2


def submit(application, millions, executors, cores, log=None):
    quiet = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    conf = [
        f"spark.executor.cores={cores}", "spark.executor.memory=700m", "spark.driver.memory=700m", "spark.ui.enabled=false",
        "spark.sql.shuffle.partitions=16", "spark.sql.files.maxPartitionBytes=4m", "spark.sql.files.openCostInBytes=1m",
        f"spark.executor.extraJavaOptions={quiet}", f"spark.driver.extraJavaOptions={quiet}",
    ]
    if log:
        conf += ["spark.eventLog.enabled=true", f"spark.eventLog.dir=file://{log}", "spark.eventLog.rolling.enabled=false",
                 "spark.eventLog.compress=true", "spark.eventLog.logStageExecutorMetrics=true"]
    arguments = [word for line in conf for word in ("--conf", line)]
    command = [spark_home() / "bin/spark-submit", "--master", f"local-cluster[{executors},{cores},1100]", *arguments,
               ROOT / "bench/spark/applications.py", application, LOGS / "data", millions]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
    with (LOGS / "spark.log").open("w") as output:
        subprocess.run(command, check=True, env=environment, stdout=output, stderr=output)


def make_logs():
    for millions in MILLIONS:
        if not (LOGS / "data" / millions).exists():
            submit("generate", millions, 1, 2)
    for night in range(NIGHTS):
        for application in APPLICATIONS:
            for millions in MILLIONS:
                for executors, cores in CONFIGURATIONS:
                    own = LOGS / application / f"{executors}x{cores}-{millions}m-{night}"
                    if own.exists() and any(own.iterdir()):
                        continue
                    own.mkdir(parents=True, exist_ok=True)
                    submit(application, millions, executors, cores, own)
                    print(own, file=sys.stderr)


def logs_of(application):
    """Returns the log of each night, configuration and amount."""
    found = {}
    for folder in sorted((LOGS / application).iterdir()):
        configuration, millions, night = folder.name.split("-")
        log = next((path for path in folder.iterdir() if not path.name.startswith(".")), None)
        if log and not log.name.endswith(".inprogress"):
            found[tuple(map(int, configuration.split("x"))), millions.removesuffix("m"), night] = log
    return found


def plan(logs, configuration, images=None):
    command = [FOREGLOW, "plan", *logs, "--executors", str(configuration[0]), "--cores", str(configuration[1]), "--format", "json"]
    command += ["--images", str(images)] if images else []
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer["job"]["images"], answer["candidates"][0], answer["event_logs"]["runs"]


def simulated(log):
    command = [FOREGLOW, "simulate", log, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def tell_task_times():
    """Prints how long all tasks take on the other configurations, and how far the simulation of a log's own is off."""
    ratios, off = {configuration: [] for configuration in CONFIGURATIONS[1:]}, []
    for application in filter(lambda application: (LOGS / application).exists(), APPLICATIONS):
        runs = {key: simulated(log) for key, log in logs_of(application).items()}
        off += [abs(run["simulated_secs"] / run["measured_secs"] - 1) * 100 for run in runs.values()]
        for (configuration, *rest), run in runs.items():
            if configuration in ratios and ((1, 1), *rest) in runs:
                ratios[configuration].append(run["work_secs"] / runs[(1, 1), *rest]["work_secs"])
    for (executors, cores), found in ratios.items():
        if found:
            print(f"all tasks on {executors}x{cores} take {statistics.median(found):.2f} times ({min(found):.2f} to {max(found):.2f}) "
                  f"as long as on 1x1, in {len(found)} pairs of runs")
    print(f"simulated on its own configuration, a log is {statistics.median(off):.1f} % off (at most {max(off):.1f} %)")


def evaluate():
    """Prints the errors and the coverage of three kinds of questions."""
    kinds = {"one log, another configuration of the same night": [], "one log, twice the data, same configuration and night": [],
             "all logs of the other configurations": []}
    another, twice, together = kinds.values()
    for application in filter(lambda application: (LOGS / application).exists(), APPLICATIONS):
        logs = logs_of(application)
        known = {key: plan([log], key[0]) for key, log in logs.items()}
        secs = {key: runs[0]["completion_time_secs"] for key, (_, _, runs) in known.items()}
        amount = {key: images for key, (images, _, _) in known.items()}
        for key in logs:
            configuration, millions, night = key
            for other in logs:
                if other[1:] == key[1:] and other != key:
                    answer = plan([logs[other]], configuration)[1]
                    another.append((answer, secs[key]))
                    from_, to = ("x".join(map(str, size)) for size in (other[0], configuration))
                    print(f"{application}, {millions} million rows, night {night}: {from_} ({secs[other]:.2f} s) -> {to}: "
                          f"{answer['completion_time_secs']:.2f} s, measured {secs[key]:.2f} s")
                if (other[0], other[2]) == (configuration, night) and float(other[1]) * 2 == float(millions):
                    twice.append((plan([logs[other]], configuration, amount[key])[1], secs[key]))
            others = [log for other, log in logs.items() if other[0] != configuration]
            together.append((plan(others, configuration, amount[key])[1], secs[key]))
    rows = []
    for kind, answers in kinds.items():
        errors = [abs(row["completion_time_secs"] / secs - 1) * 100 for row, secs in answers]
        held = sum(row["interval"]["lower_secs"] <= secs <= row["interval"]["upper_secs"] for row, secs in answers)
        print(f"{kind}: {len(errors)} answers, median error {statistics.median(errors):.1f} %, largest {max(errors):.0f} %, "
              f"{100 * held / len(errors):.0f} % of the intervals hold")
        rows.append(dict(name=f"plan from event logs, {kind}: median error", unit="%", ours=statistics.median(errors)))
        rows.append(dict(name=f"plan from event logs, {kind}: intervals that hold", unit="%", ours=100 * held / len(errors)))
    tell_task_times()
    target = ROOT / "target/bench/plan-logs.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    LOGS.mkdir(parents=True, exist_ok=True)
    make_logs()
    evaluate()
