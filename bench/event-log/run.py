"""Spark event logs: import speed, peak memory, and accuracy of the simulation.

    make bench-event-log

The logs are generated from the lines of the committed log of Spark 3.5.9 with other numbers: jobs
of 2,000 tasks. Each is imported with `foreglow import`. The rate is bytes by processor time, so
that it does not depend on other load; the program reads with one thread. The peer is a loop over
the lines with Python's json. Both alternate; the medians over the rounds are compared.

The simulation is compared with the measured times in the committed logs, on the configurations they
ran on. Writes target/bench/event-log.json.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
LOGS = ROOT / "shared/spark-log/tests/event-logs"
FOLDER = ROOT / "target/bench"
ROUNDS = int(os.environ.get("ROUNDS", 3))
TASKS = 2000
SIZES = {"10 MB": 10_000_000, "100 MB": 100_000_000, "1 GB": 1_000_000_000}
# Logs to simulate on their own configuration, with the number of the run if there are several.
SIMULATED = [("3.5-measured", 2), ("4.1-measured", 2), ("4.1-stages.zstd", 1), ("4.1-parallel.zstd", 1), ("4.1-short.zstd", 1)]


def template(line, *fields):
    """A %-template of a line, with placeholders for the numbers of these fields, in order."""
    line = line.replace(b"%", b"%%")
    for field in fields:
        line = re.sub(rf'("{field}":\[?)-?\d+'.encode(), rf"\1%({field})d".encode(), line)
    return line


def write_log(path, size):
    """Writes a log of about `size` bytes: the real log's header, then jobs of one stage whose tasks
    end in waves of four. Returns the number of jobs.
    """
    lines = (LOGS / "3.5-measured").read_bytes().splitlines(keepends=True)
    kind = lambda line: line[10 : line.index(b'"', 10)].decode().removeprefix("SparkListener")
    first = next(index for index, line in enumerate(lines) if kind(line) == "JobStart")
    # The executors registered after the submission of the first job.
    header, job = lines[:first] + [line for line in lines[first:] if kind(line) == "ExecutorAdded"], {}
    for line in lines[first:]:
        job[kind(line)] = line
    # Without the description, all jobs form one run instead of one sample each.
    start = job["JobStart"].replace(b'"spark.job.description":"foreglow measured",', b"")
    now = int(re.search(rb'"Submission Time":(\d+)', start)[1])
    stage = "Stage ID", "Stage IDs", "Number of Tasks", "Job ID", "Submission Time", "Completion Time"
    task = "Stage ID", "Task ID", "Index", "Partition ID", "Launch Time", "Finish Time"
    start = template(start, *stage)
    task_start, task_end = template(job["TaskStart"], *task[:-1]), template(job["TaskEnd"], *task)
    stage_end, job_end = template(job["StageCompleted"], *stage), template(job["JobEnd"], *stage)
    with open(path, "wb") as out:
        out.writelines(header)
        written, number = sum(map(len, header)), 0
        while written < size:
            end = now + (TASKS // 4 + 1) * 300
            of_stage = dict(zip(map(str.encode, stage), (number, number, TASKS, number, now, end)))
            parts = [start % of_stage]
            for index in range(TASKS):
                launch = now + index // 4 * 300
                numbers = number, number * TASKS + index, index, index, launch, launch + 250 + index % 50
                of_task = dict(zip(map(str.encode, task), numbers))
                parts += task_start % of_task, task_end % of_task
            parts += stage_end % of_stage, job_end % of_stage
            out.writelines(parts)
            written += sum(map(len, parts))
            now, number = end, number + 1
    return number


def measured(command):
    """Processor time in seconds and peak memory in MiB of a command that must succeed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command}: {error.decode()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def imported(log):
    with tempfile.TemporaryDirectory() as folder:
        return measured([FOREGLOW, "import", log, "--sampling-rate", "1", "--output", Path(folder) / "samples.jsonl"])


def with_python(log):
    loop = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
    return measured([sys.executable, "-c", loop, log])


def row(name, unit, ours, peer_name, peer, ratio):
    print(f"{name}: {ours:.4g} {unit}, {peer_name} {peer:.4g}", file=sys.stderr)
    return dict(name=name, unit=unit, ours=ours, peer_name=peer_name, peer=peer, ratio=ratio)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows, memory = [], {}
    path = FOLDER / "event-log"
    for name, size in SIZES.items():
        jobs = write_log(path, size)
        size = path.stat().st_size
        print(f"{name}: {jobs} jobs, {jobs * TASKS} tasks", file=sys.stderr)
        rounds = [imported(path) for _ in range(ROUNDS)]
        memory[name] = statistics.median(peak for _, peak in rounds)
        if name == "100 MB":
            with_both = [(imported(path)[0], with_python(path)[0]) for _ in range(ROUNDS)]
            ours, peer = (size / 1e6 / statistics.median(times) for times in zip(*with_both))
            rows.append(row("plain event log read, one core", "MB/s", ours, "Python's json, one core", peer, ours / peer))
        if name == "1 GB":
            ours = size / 1e6 / statistics.median(secs for secs, _ in rounds)
            rows.append(row("plain event log of 1 GB read, one core", "MB/s", ours, "the rate asked for", 200, ours / 200))
        path.unlink()
    smallest = memory["10 MB"]
    for name, peak in memory.items():
        rows.append(row(f"peak memory of importing {name}", "MiB", peak, "that of 10 MB", smallest, smallest / peak))
    for name, run in SIMULATED:
        command = [FOREGLOW, "simulate", LOGS / name, "--format", "json"]
        listed = subprocess.run(command, capture_output=True, text=True)
        if listed.returncode == 2:
            listed = subprocess.run([*command, "--run", str(run)], capture_output=True, text=True)
        answer = json.loads(listed.stdout)
        off = abs(answer["simulated_secs"] / answer["measured_secs"] - 1) * 100
        rows.append(row(f"simulation of {name} on its own configuration, off by", "%", off, "the bound", 5, 5 / max(off, 0.01)))
    (FOLDER / "event-log.json").write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
