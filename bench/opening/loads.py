"""Loads of the served page in fresh browser profiles, and those that stay blank.

    make bench-loads

Each load starts headless Chromium with a new profile, opens the page and waits for its answer; then
it opens the page in the same tab again, which the service worker now serves, and an example. The
page comes from Python's file server, and from `foreglow serve`. A load without an answer within
20 s prints its requests, their failures and the console. Writes target/bench/loads.json.

The environment variables LOADS (per server), PLANNER (folder) and FOREGLOW override the defaults.
"""

import functools
import http.server
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
PLANNER = Path(os.environ.get("PLANNER", ROOT / "target/planner"))
LOADS = int(os.environ.get("LOADS", 20))
PATIENCE_SECS = 20
# The button of an example is drawn after the answer, and before the mark that the page is complete.
ANSWERED = "['recommended-time', 'complete'].every((id) => document.querySelector(`[data-testid=${id}]`))"
OF_EXAMPLE = ANSWERED + " && !document.querySelector('[data-view=unmeasured]')"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]


class Browser:
    """Chromium with a fresh profile, driven over a pair of pipes."""

    def __init__(self, folder):
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()

        def pipes():
            # Chromium reads descriptor 3 and writes 4; both may be taken by the pipes themselves.
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        command = ["chromium", *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
                                        preexec_fn=pipes, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.kept, self.number, self.events, self.session = b"", 0, [], None
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.ask("Target.attachToTarget", {"targetId": page["targetId"], "flatten": True})["sessionId"]
        for domain in ["Network", "Page", "Runtime", "Log"]:
            self.ask(f"{domain}.enable")

    def messages(self, secs):
        """Yields the messages that arrive within a time."""
        end = time.monotonic() + secs
        while (left := end - time.monotonic()) > 0:
            while b"\0" in self.kept:
                message, self.kept = self.kept.split(b"\0", 1)
                yield json.loads(message)
            if select.select([self.of], [], [], left)[0]:
                part = os.read(self.of, 1 << 16)
                if not part:
                    raise SystemExit("loads: Chromium ended")
                self.kept += part

    def ask(self, method, params=None):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params or {}}
        os.write(self.to, json.dumps(request | ({"sessionId": self.session} if self.session else {})).encode() + b"\0")
        for message in self.messages(30):
            if message.get("id") == self.number:
                if "error" in message:
                    raise SystemExit(f"loads: {method}: {message['error']}")
                return message["result"]
            self.events.append(message)
        raise SystemExit(f"loads: no answer to {method} within 30 s")

    def script(self, text):
        return self.ask("Runtime.evaluate", {"expression": text}).get("result", {}).get("value")

    def answers(self, act, answered):
        """Acts, and returns the seconds until the page answers; None if it does not."""
        self.events, start = [], time.monotonic()
        act()
        while time.monotonic() - start < PATIENCE_SECS:
            if self.script(answered):
                return time.monotonic() - start
            time.sleep(0.05)
        return None

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to)
        os.close(self.of)


def told(events):
    """Describes the events of a load, one line each."""
    for event in events:
        what, params = event.get("method"), event.get("params", {})
        if what == "Network.requestWillBeSent":
            yield f"  requested {params['request']['url'][:120]}"
        elif what == "Network.responseReceived":
            answer = params["response"]
            of = [name for name in ["fromDiskCache", "fromServiceWorker"] if answer.get(name)]
            yield f"  answered  {answer['status']} {answer['url'][:120]} {' '.join(of)}"
        elif what == "Network.loadingFailed":
            yield f"  failed    {params.get('errorText')} {params.get('type')}"
        elif what in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            yield f"  console   {json.dumps(params)[:400]}"


def load(address, name):
    """Loads the page in a fresh profile; returns the seconds to each answer."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        example = "document.querySelector('[data-testid=example]').click()"
        steps = {"first": (lambda: browser.ask("Page.navigate", {"url": address}), ANSWERED),
                 "again": (lambda: browser.ask("Page.reload"), ANSWERED),
                 "example": (lambda: browser.script(example), OF_EXAMPLE)}
        secs = {}
        try:
            for step, (act, answered) in steps.items():
                secs[step] = browser.answers(act, answered)
                if secs[step] is None:
                    # Shows what the page tells its reader by now.
                    text = browser.script("document.body?.innerText")
                    print(f"{name}, {step}: blank\n" + "\n".join(told(browser.events)) + f"\n  text {text!r}", flush=True)
        finally:
            browser.close()
    return secs


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def served():
    """Starts `foreglow serve`; returns its process and address."""
    home = tempfile.mkdtemp()
    process = subprocess.Popen([FOREGLOW, "serve", "--listen", "127.0.0.1:0"], env={**os.environ, "HOME": home, "XDG_DATA_HOME": home},
                               cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+\S*", line):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, found[0].rstrip(".,/") + "/"
    raise SystemExit("loads: foreglow serve printed no address")


def main():
    handler = functools.partial(Quiet, directory=PLANNER)
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    process, address = served()
    addresses = {"python3 -m http.server": f"http://127.0.0.1:{host.server_port}/", "foreglow serve": address}
    entries = []
    try:
        for name, address in addresses.items():
            loads = [load(address, f"{name}, load {number}") for number in range(LOADS)]
            blank = sum(secs is None for load in loads for secs in load.values())
            longest = max((secs for load in loads for secs in load.values() if secs), default=0)
            print(f"{name}: {blank} of {3 * LOADS} pages blank, the slowest answer after {longest:.1f} s", flush=True)
            entries.append({"name": f"blank pages of {3 * LOADS}, {name}", "unit": "pages", "ours": blank,
                            "peer_name": "limit", "peer": 0, "ratio": 0 if blank else 1})
    finally:
        process.terminate()
        host.shutdown()
    folder = ROOT / "target/bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "loads.json").write_text(json.dumps(entries, indent=1))


if __name__ == "__main__":
    main()
