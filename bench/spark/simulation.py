"""Accuracy of `foreglow simulate` on configurations other than the log's, against real runs there.

    make bench-simulation

A standalone cluster on the loopback address whose worker offers eight cores. The tasks sleep
instead of computing. The same application runs on every configuration, and each of its event logs
is simulated on every other configuration. The peer scales the log's time by the number of slots.

Spark's own work per task takes processor time, and the simulation models the scheduling of tasks
but not contention between them. Configurations with a processor per slot are therefore reported
apart from the others, and each run's slow-down of its tasks is printed. Writes
target/bench/simulation.json. Takes about four minutes.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from cluster import ROOT, Cluster, compiled

FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
PROCESSORS = len(os.sched_getaffinity(0))
CONFIGURATIONS = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (4, 2)]
# The runs of bench/spark/foreglow/Sleep.java.
FORMS = ["one stage of 48 uneven tasks", "24 tasks, a shuffle, 8 tasks of which one is long", "4 jobs of 12 tasks, the driver between them"]
# Fewer JVM threads beside the tasks, which need processors to start and end.
QUIET_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def make_logs(folder):
    """Returns the path of each configuration's event log."""
    jar, logs = compiled(folder, "Sleep.java"), {}
    with Cluster(folder, cores=8, memory="8g") as cluster:
        for executors, cores in CONFIGURATIONS:
            own = folder / f"{executors}x{cores}"
            own.mkdir()
            cluster.submit("Sleep", jar, [
                f"spark.executor.cores={cores}", f"spark.cores.max={executors * cores}", "spark.executor.memory=512m",
                f"spark.executor.extraJavaOptions={QUIET_JAVA}", f"spark.driver.extraJavaOptions={QUIET_JAVA}",
                "spark.eventLog.enabled=true", f"spark.eventLog.dir=file://{own}", "spark.eventLog.compress=false",
                "spark.eventLog.rolling.enabled=false",
            ], str(executors))
            logs[executors, cores] = next(path for path in own.iterdir() if not path.name.startswith("."))
            print(f"{executors} x {cores} has run", file=sys.stderr)
    return logs


def task_times(log):
    """Task times in milliseconds: a list per run, ordered by stage and task."""
    runs, of_stage = {}, {}
    for line in log.open():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            run = event["Properties"].get("spark.foreglow.run")
            if run:
                runs.setdefault(run, {})
                of_stage.update(dict.fromkeys(event["Stage IDs"], run))
        elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in of_stage:
            info = event["Task Info"]
            runs[of_stage[event["Stage ID"]]][event["Stage ID"], info["Index"]] = info["Finish Time"] - info["Launch Time"]
    return [[times[key] for key in sorted(times)] for times in runs.values()]


def simulate(log, run):
    """Measured seconds of a log, and simulated seconds on each configuration."""
    most = [max(counts) for counts in zip(*CONFIGURATIONS)]
    command = [FOREGLOW, "simulate", log, "--run", str(run), "--executors", f"1-{most[0]}", "--cores", f"1-{most[1]}", "--format", "json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    simulated = {
        (candidate["executors"], candidate["cores_per_executor"]): candidate["simulated"]["completion_time_secs"]
        for candidate in answer["candidates"]
    }
    return answer["measured_secs"], simulated


def slots(configuration):
    return configuration[0] * configuration[1]


def compare(form, asked, longer):
    """Prints the errors of a form and returns the figures of each group of configurations."""
    print(f"\n{form}\nlog of   tasks longer by   measured   off by, simulated on " + "".join(f"{e} x {c:<6}" for e, c in CONFIGURATIONS))
    errors = {}
    for log, (measured, simulated) in asked.items():
        off = {there: (simulated[there] / asked[there][0] - 1) * 100 for there in CONFIGURATIONS}
        print(f"{log[0]} x {log[1]} {longer[log]:15.1f} % {measured:8.2f} s" + " " * 23 + "".join(f"{off[there]:+7.1f} % " for there in CONFIGURATIONS))
        for there in CONFIGURATIONS:
            crowded = max(slots(log), slots(there)) > PROCESSORS
            divided = (measured * slots(log) / slots(there) / asked[there][0] - 1) * 100
            group = "its own" if there == log else "more slots than processors" if crowded else "a processor for each slot"
            errors.setdefault(group, []).append((abs(off[there]), abs(divided)))
    rows = []
    for group, of_group in errors.items():
        ours, peers = zip(*of_group)
        print(f"{group}: {len(of_group)} answers, median error {statistics.median(ours):.2f} % (divided by the slots "
              f"{statistics.median(peers):.2f} %), largest {max(ours):.2f} % ({max(peers):.2f} %)")
        if group == "its own":
            continue
        for name, error in (("median", statistics.median), ("largest", max)):
            rows.append(dict(name=f"simulation of other configurations, {group}, {form}: {name} error", unit="%", ours=error(ours),
                             peer_name="the log's time divided by the slots", peer=error(peers), ratio=error(peers) / max(error(ours), 0.01)))
    return rows


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        logs = make_logs(Path(folder))
        took = {configuration: task_times(log) for configuration, log in logs.items()}
        for run, form in enumerate(FORMS):
            # The shortest time of each task over all configurations.
            least = sum(map(min, zip(*(times[run] for times in took.values()))))
            longer = {configuration: (sum(times[run]) / least - 1) * 100 for configuration, times in took.items()}
            rows += compare(form, {configuration: simulate(log, run + 1) for configuration, log in logs.items()}, longer)
    target = ROOT / "target/bench/simulation.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
