"""What it costs to measure, to follow and to import a program.

    make bench-program-cost

1. A program of a fixed amount of work, about a minute, that prints about 1,000 lines of progress a second, alone
   and under `foreglow run`, in turn: its own clock, and the processor time of Foreglow without the program's.
2. A program that prints 1 GB: the peak memory of Foreglow.
3. `sleep 1` and a Python program under `foreglow run` and under hyperfine (if it is installed), in turn: the
   means, and the shortest times, because the program differs from run to run by 10 %. Foreglow's clock includes
   the start of the process, as hyperfine's does.
4. `foreglow watch` on a log that grows by 20 lines a second for a minute: its processor time.
5. `foreglow import` of a log and of TensorBoard's events of 1 GB: time and peak memory.

Writes target/bench/program-cost.json.
"""

import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
# The processor on which `foreglow run --cores 1` starts a program: alone, it is held there as well.
HELD = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
ROUNDS = int(os.environ.get("ROUNDS", 3))
FOLDER = Path(tempfile.mkdtemp(prefix="foreglow-cost-"))
GIGABYTE = 10**9

# A fixed amount of work, so that its time shows what slows it; a line for each millisecond of it.
LINES = 60_000
WORK = """
import sys, time
start = time.monotonic()
lines, loops = int(sys.argv[2]), int(sys.argv[3])
x = 1
for step in range(1, lines + 1):
    for _ in range(loops):
        x = x * 3 % 1000003
    print('step %d/%d loss %d' % (step, lines, x), flush=True)
open(sys.argv[1], 'w').write(str(time.monotonic() - start))
"""
LOUD = "import sys\nline = 'x' * 99 + '\\n'\nfor step in range(10_000_000):\n    sys.stdout.write(line)\n"


def run(command, **options):
    """Runs a command; returns its wall-clock time, its processor time without children, and its peak memory in MiB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command} failed")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def own_seconds(process):
    """Returns the processor time of a process without its children, while it runs."""
    stat = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def measured(command):
    return [FOREGLOW, "run", "--cores", "1", "--output", FOLDER / "samples.jsonl", "--", *command]


def cost_of_lines():
    own = FOLDER / "secs"

    def program(lines, loops):
        return [sys.executable, "-c", WORK, own, str(lines), str(loops)]

    def time_alone(command):
        with open(os.devnull, "w") as nothing:
            subprocess.run([*HELD, *command], stdout=nothing, check=True)
        return float(own.read_text())

    # As many loops as take a millisecond here.
    command = program(LINES, round(10_000 * 5 / time_alone(program(5_000, 10_000))))
    alone, under, shares = [], [], []
    for _ in range(ROUNDS):
        alone.append(time_alone(command))
        process = subprocess.Popen(measured(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        used = 0.0
        while process.poll() is None:
            used = own_seconds(process) or used
            time.sleep(0.05)
        under.append(float(own.read_text()))
        shares.append(used / under[-1])
    ratios = [b / a for a, b in zip(alone, under)]
    lines = LINES / statistics.median(alone)
    print(f"{lines:.0f} lines a second: alone {statistics.median(alone):.3f} s, measured {statistics.median(under):.3f} s, "
          f"ratio {statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f}); "
          f"processor time of Foreglow {statistics.median(shares) * 100:.2f} % of the program's time")
    name = "a program of 1,000 lines a second"
    return [
        dict(name=f"{name}: its own time, measured over alone", unit="", ours=statistics.median(ratios)),
        dict(name=f"{name}: processor time of Foreglow, share", unit="%", ours=statistics.median(shares) * 100),
    ]


def memory_of_output():
    secs, _, mib = run(measured([sys.executable, "-c", LOUD]))
    print(f"1 GB of output: {secs:.1f} s, peak {mib:.0f} MiB")
    return dict(name="peak memory while a program prints 1 GB", unit="MiB", ours=mib)


def against_hyperfine():
    if shutil.which("hyperfine") is None:
        print("hyperfine is not installed", file=sys.stderr)
        return []
    rows = []
    python = [sys.executable, "-c", "sum(x * x for x in range(10_000_000))"]
    for name, command, rounds in [("sleep 1", ["sleep", "1"], ROUNDS * 3), ("a Python program", python, ROUNDS * 30)]:
        ours, theirs = [], []
        for _ in range(rounds):
            (FOLDER / "samples.jsonl").unlink(missing_ok=True)
            run(measured(command))
            ours.append(json.loads((FOLDER / "samples.jsonl").read_text().splitlines()[-1])["completion_time_secs"])
            report = FOLDER / "hyperfine.json"
            line = " ".join(f"'{word}'" for word in command)
            subprocess.run([*HELD, "hyperfine", "-N", "--runs", "1", "--export-json", report, line], check=True, capture_output=True)
            theirs.append(json.loads(report.read_text())["results"][0]["mean"])
        means, shortest = statistics.mean(ours) / statistics.mean(theirs), min(ours) / min(theirs)
        print(f"{name}: Foreglow {statistics.mean(ours):.4f} s, hyperfine {statistics.mean(theirs):.4f} s, "
              f"ratio of means {means:.4f}, of the shortest {shortest:.4f}")
        rows += [dict(name=f"{name}: mean over hyperfine's", unit="", ours=means), dict(name=f"{name}: shortest time over hyperfine's", unit="", ours=shortest)]
    return rows


def cost_of_watching():
    log = FOLDER / "train.log"
    log.write_text("step 1/100000\n")
    watch = subprocess.Popen([FOREGLOW, "watch", log], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with log.open("a") as file:
        for step in range(2, 1202):
            file.write(f"step {step}/100000 loss 0.5\n")
            file.flush()
            time.sleep(0.05)
    secs = own_seconds(watch)
    watch.terminate()
    watch.wait()
    print(f"watch: {secs:.2f} s of a processor in 60 s, {secs / 60 * 100:.2f} %")
    return dict(name="foreglow watch: share of a processor", unit="%", ours=secs / 60 * 100)


def masked_crc(data):
    table = [0] * 256
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table[value] = crc
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def events(path):
    """Writes 1 GB of TensorBoard's events: scalars of 2,000 steps, and an image of half a megabyte after each."""
    def record(body):
        length = struct.pack("<Q", len(body))
        return length + struct.pack("<I", masked_crc(length)) + body + struct.pack("<I", masked_crc(body))

    def event(step, summary):
        body = b"\x09" + struct.pack("<d", 1.7e9 + step * 0.5) + b"\x10" + varint(step)
        return record(body + b"\x2a" + varint(len(summary)) + summary)

    scalar = b"\x0a\x04loss" + b"\x15" + struct.pack("<f", 0.5)
    loss = b"\x0a" + varint(len(scalar)) + scalar
    tag = b"\x0a\x05image" + b"\x22" + varint(500_000) + b"\x00" * 500_000
    picture = event(1, b"\x0a" + varint(len(tag)) + tag)
    with path.open("wb") as file:
        file.write(record(b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"))
        for step in range(1, 2001):
            file.write(event(step, loss))
            file.write(picture)


def cost_of_import():
    rows = []
    log, board = FOLDER / "big.log", FOLDER / "events.out.tfevents.1700000000.host"
    with log.open("w") as file:
        for step in range(1, 10_000_001):
            file.write(f"2026-11-28 {step // 360000 % 24:02}:{step // 6000 % 60:02}:{step // 100 % 60:02},{step % 100 * 10:03} INFO train: step {step}/20000000 loss 0.12345 lr 0.001 and some more words\n")
    events(board)
    for name, path in [("a log", log), ("TensorBoard's events", board)]:
        size = path.stat().st_size / GIGABYTE
        (FOLDER / "imported.jsonl").unlink(missing_ok=True)
        secs, _, mib = run([FOREGLOW, "import", path, "--model", "mlp", "--steps", "20000000", "--output", FOLDER / "imported.jsonl"])
        print(f"import of {name} of {size:.2f} GB: {secs:.1f} s, peak {mib:.0f} MiB")
        rows += [dict(name=f"import of {name} of 1 GB: time", unit="s", ours=secs / size), dict(name=f"import of {name} of 1 GB: memory", unit="MiB", ours=mib)]
    return rows


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["lines", "memory", "hyperfine", "watch", "import"]
    parts = dict(lines=cost_of_lines, memory=memory_of_output, hyperfine=against_hyperfine, watch=cost_of_watching, **{"import": cost_of_import})
    rows = []
    for name in wanted:
        found = parts[name]()
        rows += found if isinstance(found, list) else [found]
    shutil.rmtree(FOLDER)
    target = ROOT / "target/bench/program-cost.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=1))
