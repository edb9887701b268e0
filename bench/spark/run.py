"""What Foreglow adds to a Spark task: handing a partition to a warm executor, against the same job with a task that does nothing.

    make bench-spark

A standalone cluster on the loopback address, one executor of one core. The two jobs take turns in one application; the median
of the rounds counts. Writes target/bench/spark.json.
"""

import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = Path(os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")).resolve()
DRIVER = ROOT / "target/spark/foreglow-spark.jar"
TASKS = int(os.environ.get("TASKS", 1000))
ROUNDS = int(os.environ.get("ROUNDS", 15))
LIMIT_MS = 3.0


def spark_home():
    homes = ROOT.glob("target/pyspark/lib/python3*/site-packages/pyspark")
    return Path(os.environ.get("SPARK_HOME") or next(homes))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def wait_for_worker(ui):
    for _ in range(600):
        try:
            if json.load(urllib.request.urlopen(f"http://127.0.0.1:{ui}/json/"))["aliveworkers"] == 1:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit("the cluster does not come up; run it again, and read what spark-class says")


def measure(home, folder):
    """Milliseconds a task of each round: of the job that does nothing, and of the one through the executor."""
    classes = folder / "classes"
    classes.mkdir()
    source = ROOT / "bench/spark/foreglow/Overhead.java"
    subprocess.run(["javac", "-nowarn", "-cp", f"{home}/jars/*:{DRIVER}", "-d", classes, source], check=True)
    jar = folder / "overhead.jar"
    subprocess.run(["jar", "--create", "--file", jar, "-C", classes, "."], check=True)

    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    port, ui = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    start = [home / "bin/spark-class"]
    processes = []
    log = (folder / "cluster.log").open("w")
    try:
        for arguments in (
            ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", ui],
            ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "2g",
             "--webui-port", "0", "--work-dir", folder / "work", master],
        ):
            processes.append(subprocess.Popen(start + arguments, env=environment, stdout=log, stderr=log))
        wait_for_worker(ui)
        images = folder / "images"
        images.mkdir()
        # One pixel: the executor warms up with it, and no partition holds it.
        (images / "1.png").write_bytes(bytes.fromhex(
            "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ffff3f0005fe02fe0def46b8"
            "0000000049454e44ae426082"))
        assignment = {
            "model": "lenet5", "image_px": 32, "batch_size": 1, "partition_size": 1, "threads": 1, "memory_mib": 1024,
            "place": "cpu", "source": {"folder": str(images)}, "images": 1, "sampling_rate": 1.0, "seed": 0,
        }
        options = ["--conf", "spark.ui.enabled=false", "--conf", "spark.executor.cores=1", "--conf", "spark.cores.max=1"]
        answer = subprocess.run(
            [home / "bin/spark-submit", "--master", master, "--class", "foreglow.Overhead", "--jars", DRIVER, *options, jar,
             FOREGLOW, json.dumps(assignment), str(TASKS), str(ROUNDS)],
            env=environment, check=True, stdout=subprocess.PIPE, stderr=log, text=True)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    lines = [line.split() for line in answer.stdout.splitlines() if line.startswith("overhead ")]
    return [(float(nothing), float(through)) for _, nothing, through in lines]


def main():
    home = spark_home()
    with tempfile.TemporaryDirectory() as folder:
        rounds = measure(home, Path(folder))
    nothing = statistics.median(one for one, _ in rounds)
    through = statistics.median(one for _, one in rounds)
    added = through - nothing
    print(f"{len(rounds)} rounds of {TASKS} tasks, median: no-op {nothing:.2f} ms a task, through the executor {through:.2f} ms, added {added:.2f} ms")
    figures = [
        {"name": "spark task", "unit": "ms", "ours": through, "peer_name": "the same job with a task that does nothing",
         "peer": nothing, "ratio": nothing / through},
        {"name": "added to a spark task", "unit": "ms", "ours": added, "peer_name": "the limit", "peer": LIMIT_MS,
         "ratio": LIMIT_MS / max(added, 0.01)},
    ]
    target = ROOT / "target/bench/spark.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
