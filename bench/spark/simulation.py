"""How near `foreglow simulate` is on other executors and cores than those of the log, against real runs there.

    make bench-simulation

A standalone cluster on the loopback address whose worker believes in eight cores. The tasks sleep instead of computing: a machine of
two cores then runs eight of them at once, as a cluster would. The same application runs on every configuration, and every one of its
event logs is asked for every other configuration. The peer divides the log's time evenly by the slots. Writes
target/bench/simulation.json.
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
CONFIGURATIONS = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (4, 2)]
# The runs of bench/spark/foreglow/Sleep.java.
FORMS = ["one stage of 48 uneven tasks", "24 tasks, a shuffle, 8 tasks of which one is long", "4 jobs of 12 tasks, the driver between them"]


def make_logs(folder):
    """The event log of each configuration."""
    jar, logs = compiled(folder, "Sleep.java"), {}
    with Cluster(folder, cores=8, memory="8g") as cluster:
        for executors, cores in CONFIGURATIONS:
            own = folder / f"{executors}x{cores}"
            own.mkdir()
            cluster.submit("Sleep", jar, [
                f"spark.executor.cores={cores}", f"spark.cores.max={executors * cores}", "spark.executor.memory=512m",
                "spark.eventLog.enabled=true", f"spark.eventLog.dir=file://{own}", "spark.eventLog.compress=false",
                "spark.eventLog.rolling.enabled=false",
            ], str(executors))
            logs[executors, cores] = next(path for path in own.iterdir() if not path.name.startswith("."))
            print(f"{executors} x {cores} has run", file=sys.stderr)
    return logs


def simulate(log, run):
    """What the log says it took, and what it would have taken on each configuration, seconds."""
    most = [max(counts) for counts in zip(*CONFIGURATIONS)]
    command = [FOREGLOW, "simulate", log, "--run", str(run), "--executors", f"1-{most[0]}", "--cores", f"1-{most[1]}", "--format", "json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    simulated = {
        (candidate["executors"], candidate["cores_per_executor"]): candidate["simulated"]["completion_time_secs"]
        for candidate in answer["candidates"]
    }
    return answer["measured_secs"], simulated


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        logs = make_logs(Path(folder))
        for run, form in enumerate(FORMS, 1):
            asked = {configuration: simulate(log, run) for configuration, log in logs.items()}
            own, other, evenly = [], [], []
            print(f"\n{form}\nlog of      measured   off by, simulated on " + "".join(f"{e} x {c:<6}" for e, c in CONFIGURATIONS))
            for log, (measured, simulated) in asked.items():
                off = {there: (simulated[there] / asked[there][0] - 1) * 100 for there in CONFIGURATIONS}
                print(f"{log[0]} x {log[1]}    {measured:8.2f} s" + " " * 23 + "".join(f"{off[there]:+7.1f} % " for there in CONFIGURATIONS))
                for there in CONFIGURATIONS:
                    (own if there == log else other).append(abs(off[there]))
                    if there != log:
                        divided = measured * log[0] * log[1] / (there[0] * there[1])
                        evenly.append(abs(divided / asked[there][0] - 1) * 100)
            for name, errors in (("median", statistics.median), ("largest", max)):
                ours, peer = errors(other), errors(evenly)
                print(f"{name} error on other configurations: {ours:.2f} %, divided by the slots {peer:.2f} %; on its own {errors(own):.2f} %")
                rows.append(dict(name=f"simulation of other configurations, {form}: {name} error", unit="%", ours=ours,
                                 peer_name="the log's time divided by the slots", peer=peer, ratio=peer / max(ours, 0.01)))
    target = ROOT / "target/bench/simulation.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
