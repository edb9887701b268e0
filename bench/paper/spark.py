"""Measures a smaller grid of the published study on Spark: `make sweep-paper-spark`.

    python3 bench/paper/spark.py FOLDER [CNN…]

Each configuration has a standalone cluster of its own on the loopback address, with a worker for
each executor. A worker is a small machine: its control group has a CPU quota of SHARE of a processor
for each core, and its executors inherit the group. 1 to 4 executors of 1 and 2 cores, 8
configurations; the images and CNNs are those of run.py, one image per task. The whole jobs of some
configurations also run on the local engine with the same quota.

Several configurations are measured at the same time, together on at most SLOTS cores, as run.py
does. Each has its file FOLDER/CNN/E-C.jsonl, and the same command continues an interrupted sweep.
Then samples/spark/CNN.jsonl beside this script has all samples of a CNN, and
samples/spark/local/CNN.jsonl those of the local engine. Spark does not know of the quota, so that
the script adds it to the kept samples (`host.core_share`).
"""

import itertools
import json
import math
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import run

sys.path.append(str(run.ROOT / "bench/spark"))
from cluster import Cluster

SAMPLES = run.SAMPLES / "spark"
SHARE = 0.2
SLOTS = int(os.environ.get("SLOTS", 8))
IMAGES = int(os.environ.get("IMAGES", 1600))
# Executors and cores per executor, the longest runs first.
GRID = sorted(((executors, cores) for executors in range(1, 5) for cores in (1, 2)), key=math.prod)
# Configurations whose whole job also runs on the local engine.
LOCAL = [(1, 1), (2, 2), (4, 2)]
# Configurations whose whole job is repeated on both engines, for the noise.
REPEATED = [(2, 2), (4, 2)]
MEMORY = "768m"
# Only the quick compiler, and one thread for garbage collection: the JVM's threads count in the
# quota.
JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
# As in runner/engine/src/cpu_quota.rs: the period, the kernel's smallest quota, and the weight.
PERIOD_MICROS = 10_000
SMALLEST_QUOTA_MICROS = 1_000
WEIGHT = 64


def group_parents():
    """Returns version and folder of the control groups whose children can have CPU quotas: this
    process's own group and its parent."""
    found = []
    mounts = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for number, controllers, path in (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()):
        if number != "0" and "cpu" not in controllers.split(","):
            continue
        for mount, system in mounts:
            root, folder = mount.split()[3:5]
            kind, _, options = system.split()[:3]
            version = {"cgroup": 1, "cgroup2": 2}.get(kind)
            if version != (2 if number == "0" else 1) or (version == 1 and "cpu" not in options.split(",")) or not Path(path).is_relative_to(root):
                continue
            own = Path(folder) / Path(path).relative_to(root)
            for group in (own, own.parent):
                if (group / "cgroup.procs").exists() and (version == 1 or "cpu" in (group / "cgroup.subtree_control").read_text().split()):
                    found.append((version, group))
    return sorted(found, reverse=True)


class Group:
    """A control group with a high CPU weight, so that other programs get what the cluster leaves."""

    numbers = itertools.count()

    def __init__(self):
        for self.version, parent in group_parents():
            self.folder = parent / f"foreglow-{os.getpid()}-{next(self.numbers)}"
            with suppress(OSError):
                self.folder.mkdir()
                name, usual = ("cpu.weight", 100) if self.version == 2 else ("cpu.shares", 1024)
                (self.folder / name).write_text(str(usual * WEIGHT))
                return
        raise SystemExit("this user may not create control groups with a CPU quota; the guide's section on slow cores says what they need")

    def before(self):
        """Words before a command that start it in this group."""
        return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.folder)]

    def limit(self, processors):
        period = max(PERIOD_MICROS, math.ceil(SMALLEST_QUOTA_MICROS / processors))
        quota = round(processors * period)
        if self.version == 2:
            (self.folder / "cpu.max").write_text(f"{quota} {period}")
        else:
            (self.folder / "cpu.cfs_period_us").write_text(str(period))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota))

    def remove(self):
        """Ends what still runs in the group, such as an executor of a killed worker."""
        for _ in range(100):
            for process in (self.folder / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.1)


class SlowCluster(Cluster):
    """A master, and workers of `cores` slow cores. The quota begins after the workers' start."""

    def __init__(self, folder, executors, cores):
        self.groups = []
        try:
            super().__init__(folder, cores, workers=executors, environment=JAVA)
            for group in self.groups[1:]:
                group.limit(cores * SHARE)
        except BaseException:
            self.__exit__()
            raise

    def start(self, name, *arguments):
        self.groups.append(Group())
        super().start(name, *arguments, before=self.groups[-1].before())

    def drivers(self):
        """Words before a command that start it beside the master, without a quota."""
        return self.groups[0].before()

    def __exit__(self, *_):
        super().__exit__()
        for group in self.groups:
            group.remove()


def measure(folder, cnns, executors, cores):
    with tempfile.TemporaryDirectory() as own, SlowCluster(Path(own), executors, cores) as cluster:
        engine = ["--engine", "spark", "--master", cluster.master, "--master-ui", cluster.ui, "--spark-home", cluster.home,
                  "--worker-program", run.FOREGLOW, "--spark-conf", "spark.ui.enabled=false"]
        for cnn in cnns:
            # Two applications, so that the JVMs of the second are also cold.
            for rates, count in [("0.01,0.1", 3), ("1", whole_jobs(executors, cores))]:
                run.collect(cnn, folder / cnn / f"{executors}-{cores}.jsonl", *grid(executors, cores), "--sampling-rate", rates, "--repeat", str(count),
                            images=IMAGES, engine=engine, before=cluster.drivers(), environment=cluster.environment)


def measure_local(folder, cnn, executors, cores):
    run.collect(cnn, folder / "local" / f"{cnn}-{executors}-{cores}.jsonl", *grid(executors, cores), "--sampling-rate", "1",
                "--repeat", str(whole_jobs(executors, cores)), images=IMAGES, engine=["--core-share", f"{SHARE:.0%}"])


def whole_jobs(executors, cores):
    return 2 if (executors, cores) in REPEATED else 1


def grid(executors, cores):
    return ["--executors", str(executors), "--cores", str(cores), "--partition-size", "1", "--memory", MEMORY]


def add_share(path):
    samples = [json.loads(line) for line in path.read_text().splitlines()]
    for sample in samples:
        sample["host"]["core_share"] = SHARE
    path.write_text("".join(json.dumps(sample, separators=(",", ":"), ensure_ascii=False) + "\n" for sample in samples))


def main():
    folder, cnns = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(run.CNNS)
    jobs = [(executors * cores, lambda size=(executors, cores): measure(folder, cnns, *size)) for executors, cores in GRID]
    jobs += [(executors * cores, lambda cnn=cnn, size=(executors, cores): measure_local(folder, cnn, *size)) for executors, cores in LOCAL for cnn in cnns]
    try:
        # The images are generated once, before several processes read them.
        for cnn in cnns:
            run.collect(cnn, folder / "images" / f"{cnn}.jsonl", *grid(1, 1), "--sampling-rate", "0.01", images=IMAGES, engine=())
        run.measure_all(jobs, SLOTS)
        for cnn in cnns:
            run.keep_completed(cnn, [folder / cnn / f"{executors}-{cores}.jsonl" for executors, cores in GRID], SAMPLES / f"{cnn}.jsonl")
            add_share(SAMPLES / f"{cnn}.jsonl")
            run.keep_completed(cnn, [folder / "local" / f"{cnn}-{executors}-{cores}.jsonl" for executors, cores in LOCAL], SAMPLES / "local" / f"{cnn}.jsonl")
    except RuntimeError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
