"""Longest task of the page's main thread while a link is opened and fitted.

    make bench-opening

Each round starts headless Chromium, opens a link until its answer and all charts are complete, and
reads the trace, which has the thread time and the wall time of every task. Wall time includes
waiting for a processor and the browser's start-up. The runs are the built-in example's. The links
ask about as many configurations as were measured, about as many as are listed, and about far more;
the large ones both for a machine with two processors and for a cluster, where every configuration
is predicted individually. In addition, a file of 4,032 runs, too many for a link, is opened on an
empty page. All of these alternate. Writes target/bench/opening.json.

The environment variables ROUNDS and DRIVER override the defaults.
"""

import functools
import http.server
import json
import math
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
DRIVER = os.environ.get("DRIVER", "chromedriver")
ROUNDS = int(os.environ.get("ROUNDS", 3))
EXAMPLE = ROOT / "web/assets/example.jsonl"
# Number of the example's job (`--context`).
CONTEXT = 3
# How often the large file repeats each run of the job, with times that vary by a few percent.
REPEATS = 42
SIZES = {"4,096": ["--executors", "1-64", "--cores", "1-64"], "102,400": ["--executors", "1-512", "--cores", "1-200"]}
LIMIT_MS = 50.0
PATIENCE_SECS = 30
CATEGORIES = "toplevel,v8.wasm,disabled-by-default-v8.wasm.detailed"
# Test ids of the answer and of the panel that is drawn last.
COMPLETE = "return ['recommended-time', 'complete'].every((id) => document.querySelector(`[data-testid=${id}]`))"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def on_a_cluster(folder):
    """Writes the example's runs as if they came from a cluster."""
    lines = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    path = Path(folder) / "cluster.jsonl"
    path.write_text("".join(json.dumps({**line, "engine": "spark"}) + "\n" for line in lines))
    return path


def many_runs(folder):
    """Writes a file with many repeats of the job's runs."""
    lines = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    job = [line for line in lines if line["workload"] == lines[0]["workload"]]
    runs = []
    for repeat, run in ((repeat, run) for repeat in range(REPEATS) for run in job):
        number = len(runs)
        secs = run["completion_time_secs"] * (1 + 0.03 * math.sin(number * 12.9898))
        runs.append({**run, "id": f"01a20246-0000-7000-8000-{number:012x}", "completion_time_secs": secs, "engine": "spark"})
    path = Path(folder) / "many.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    return path


def fragment(samples, choice):
    """Returns the fragment of the link that `foreglow link` creates."""
    link = [FOREGLOW, "link", samples, "--context", CONTEXT, "--deadline", "20s", *choice]
    answer = subprocess.run(list(map(str, link)), check=True, capture_output=True, text=True)
    return re.search(r"#v1\S*", answer.stdout)[0]


class Driver:
    """A traced browser, driven by chromedriver."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.at = f"http://127.0.0.1:{free.getsockname()[1]}"
        self.process = subprocess.Popen([DRIVER, f"--port={self.at.rsplit(':')[-1]}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"],
                   "perfLoggingPrefs": {"enableNetwork": False, "enablePage": False, "traceCategories": CATEGORIES}}
        wait(lambda: self.ask("status"), "chromedriver")
        capabilities = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"performance": "ALL"}}}
        self.at += "/session/" + self.ask("session", {"capabilities": capabilities})["sessionId"]

    def ask(self, what, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.at}/{what}", data, {"content-type": "application/json"})) as answer:
            return json.load(answer)["value"]

    def close(self):
        urllib.request.urlopen(urllib.request.Request(self.at, method="DELETE")).close()
        self.process.terminate()

    def events(self):
        """Returns the trace events collected so far."""
        messages = [json.loads(entry["message"])["message"] for entry in self.ask("se/log", {"type": "performance"})]
        return [message["params"] for message in messages if message["method"] == "Tracing.dataCollected"]

    def script(self, text):
        return self.ask("execute/sync", {"script": text, "args": []})


def wait(is_there, what):
    """Polls until `is_there()` is true."""
    for _ in range(10 * PATIENCE_SECS):
        try:
            if is_there():
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    raise SystemExit(f"opening: no {what} within {PATIENCE_SECS} s")


def tasks(address, file=None):
    """Thread time and wall time in milliseconds of each task of the page's main thread, until the
    page at an address is complete, or a file that is opened there.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        driver = Driver(folder)
        try:
            driver.ask("url", {"url": address})
            if file:
                wait(lambda: driver.script("return !!document.querySelector('input[type=file]')"), "place for a file")
                field = driver.ask("element", {"using": "css selector", "value": "input[type=file]"})
                driver.ask(f"element/{next(iter(field.values()))}/value", {"text": str(file)})
            wait(lambda: driver.script(COMPLETE), "complete page")
            events = driver.events()
        finally:
            driver.close()
    threads = {(event["pid"], event["tid"]) for event in events
               if event["name"] == "thread_name" and event["args"].get("name") == "CrRendererMain"}
    on_main = [event for event in events if (event["pid"], event["tid"]) in threads]
    # Only the planner's process has wasm events; Chromium's own pages have none.
    page = {event["pid"] for event in on_main if "wasm" in event["name"]}
    found = [(event.get("tdur", 0) / 1000, event["dur"] / 1000) for event in on_main
             if event["pid"] in page and event["ph"] == "X" and event["name"].endswith("RunTask")]
    if not found:
        raise SystemExit("opening: the trace has no task of the page; is this a Chromium that writes one?")
    return found


def main():
    handler = functools.partial(Quiet, directory=ROOT / "target/planner")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory() as folder:
            many = many_runs(folder)
            places = {"a machine": EXAMPLE, "a cluster": on_a_cluster(folder)}
            pages = {"of 4 configurations of a machine": fragment(EXAMPLE, [])}
            for size, choice in SIZES.items():
                pages |= {f"of {size} configurations of {place}": fragment(samples, choice) for place, samples in places.items()}
            at = f"http://127.0.0.1:{host.server_port}/"
            starts = {name: (at + page, None) for name, page in pages.items()} | {"of 4,032 runs, from a file": (at, many)}
            rounds = {name: [] for name in starts}
            for _ in range(ROUNDS):
                for name, start in starts.items():
                    seen = tasks(*start)
                    rounds[name].append((max(task[0] for task in seen), max(task[1] for task in seen)))
        host.shutdown()
    entries = []
    for name, longest in rounds.items():
        ours = max(thread for thread, _ in longest)
        entries.append({"name": f"longest task while a page {name} is opened and fitted, thread time", "unit": "ms", "ours": ours,
                        "peer_name": "limit", "peer": LIMIT_MS, "ratio": LIMIT_MS / ours})
        each = ", ".join(f"{thread:.0f} ms of the thread ({clock:.0f} by the clock)" for thread, clock in longest)
        print(f"longest task of each start, a page {name}: {each}")
    folder = ROOT / "target/bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "opening.json").write_text(json.dumps(entries, indent=1))


main()
