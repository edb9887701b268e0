"""A standalone cluster on the loopback address, and compilation of programs for it."""

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "target/spark/foreglow-spark.jar"


def spark_home():
    homes = ROOT.glob("target/pyspark/lib/python3*/site-packages/pyspark")
    return Path(os.environ.get("SPARK_HOME") or next(homes))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def compiled(folder, source):
    """Compiles a Java program of this folder against Foreglow's driver and returns its jar."""
    classes = folder / "classes"
    classes.mkdir()
    path = f"{spark_home()}/jars/*:{DRIVER}"
    subprocess.run(["javac", "-nowarn", "-cp", path, "-d", classes, ROOT / "bench/spark/foreglow" / source], check=True)
    jar = folder / "program.jar"
    subprocess.run(["jar", "--create", "--file", jar, "-C", classes, "."], check=True)
    return jar


class Cluster:
    """A master, and workers that offer `cores` cores each."""

    def __init__(self, folder, cores, memory="2g", workers=1, environment=None):
        self.home, self.workers = spark_home(), workers
        self.environment = os.environ | {"SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"} | (environment or {})
        port, ui = free_port(), free_port()
        self.master, self.ui = f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{ui}"
        self.log = (folder / "cluster.log").open("w")
        self.processes = []
        self.start("master.Master", "--port", port, "--webui-port", ui)
        for worker in range(workers):
            self.start("worker.Worker", "--cores", str(cores), "--memory", memory, "--webui-port", "0", "--work-dir",
                       folder / f"work-{worker}", self.master)
        self.wait()

    def start(self, name, *arguments, before=()):
        """Starts a daemon. `before` are words before the command."""
        command = [*before, self.home / "bin/spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *arguments]
        self.processes.append(subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log))

    def wait(self):
        for _ in range(600):
            with contextlib.suppress(OSError):
                state = json.load(urllib.request.urlopen(f"{self.ui}/json/"))
                if state["aliveworkers"] == self.workers and not state["activeapps"]:
                    return
            time.sleep(0.1)
        raise SystemExit("the cluster does not come up; run it again, and read what spark-class says")

    def submit(self, program, jar, properties, *arguments):
        """Runs a program once the cluster is idle, and returns its output."""
        self.wait()
        options = [word for property in properties for word in ("--conf", property)]
        command = [self.home / "bin/spark-submit", "--master", self.master, "--class", f"foreglow.{program}", "--jars", DRIVER,
                   "--conf", "spark.ui.enabled=false", *options, jar, *arguments]
        return subprocess.run(command, env=self.environment, check=True, stdout=subprocess.PIPE, stderr=self.log, text=True).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        self.log.close()
