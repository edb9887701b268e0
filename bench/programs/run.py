"""Whole jobs of public training programs, predicted from at most a tenth of them.

    make bench-programs CLONES=FOLDER PYTHON=PATH REPEATS=7

CLONES has clones of the programs' repositories, PYTHON is an interpreter with their libraries
(`requirements.txt`). Each round of each program has, on one core: a run of 2.5 % and one of 7.5 % of
the work, a run that Foreglow stops after 10 % of its progress, and the whole job, in this order, so that
a change of the machine's load falls on all. The programs alternate. Times are those from the first step
to the end, with the start-up before it. "Ten times" is what a user has without Foreglow: the time of
the process that was stopped after 10 %, times ten.

Also written: the time left that `foreglow watch` gives at 10, 25 and 50 % of the output of each whole
job, beside the bar's own estimate (tqdm's: an average of the rates with a weight of 0.3 for the last).

Keeps the runs in target/bench/programs (or RESULTS): an interrupted bench continues there, and another
version of Foreglow predicts from the same runs. Prints the tables.
"""

import datetime
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
CLONES = Path(os.environ["CLONES"]).resolve()
PYTHON = os.environ["PYTHON"]
ROUNDS = int(os.environ.get("REPEATS", 7))
KEPT = Path(os.environ.get("RESULTS", ROOT / "target/bench/programs"))
INPUTS = CLONES.parent / "inputs"
OUTPUT = Path(tempfile.mkdtemp(prefix="foreglow-programs-"))
STAMP = Path(__file__).with_name("stamp.py")
# Files of a round.
SAMPLES, STOPPED, WHOLE, LOG, DONE = "samples.jsonl", "stopped.jsonl", "whole.jsonl", "whole.log", "done.json"


@dataclass
class Program:
    name: str
    folder: str
    words: list
    # Options of Foreglow for the size of the job; empty if the program has no argument for it.
    size: list = field(default_factory=list)
    env: dict = field(default_factory=dict)

    def command(self):
        return [sys.executable, str(STAMP), PYTHON, *self.words]


PROGRAMS = [
    Program("PyTorch examples, MNIST", "examples/mnist", ["main.py", "--epochs", "{epochs}", "--log-interval", "5"], ["--epochs", "40"]),
    Program(
        "PyTorch examples, ImageNet (SqueezeNet)",
        "examples/imagenet",
        ["main.py", "-a", "squeezenet1_1", "-j", "0", "-b", "8", "-p", "1", "--epochs", "{epochs}", str(INPUTS / "folders")],
        ["--epochs", "40"],
    ),
    Program(
        "PyTorch examples, word language model",
        "examples/word_language_model",
        ["main.py", "--data", str(INPUTS / "words"), "--epochs", "{epochs}", "--emsize", "64", "--nhid", "64", "--log-interval", "10"]
        + ["--save", str(OUTPUT / "words.pt")],
        ["--epochs", "40"],
    ),
    Program(
        "timm, MobileNet-v3",
        "pytorch-image-models",
        ["train.py", "--data-dir", str(INPUTS / "small-folders"), "--val-split", "val", "--model", "mobilenetv3_small_050"]
        + ["--img-size", "64", "--device", "cpu", "-b", "16", "--epochs", "{epochs}", "--workers", "1", "--log-interval", "1"]
        + ["--num-classes", "4", "--output", str(OUTPUT / "timm")],
        ["--epochs", "40"],
    ),
    Program(
        "Stanford Alpaca, Hugging Face's Trainer",
        "stanford_alpaca",
        ["train.py", "--model_name_or_path", str(INPUTS / "gpt2"), "--data_path", str(INPUTS / "gpt2/instructions.json")]
        + ["--output_dir", str(OUTPUT / "alpaca"), "--num_train_epochs", "10", "--max_steps", "{steps}", "--model_max_length", "128"]
        + ["--per_device_train_batch_size", "8", "--use_cpu", "True", "--save_strategy", "no", "--report_to", "none"],
        ["--steps", "600"],
        {"USE_TF": "0"},
    ),
    Program("Keras examples, functional model", "keras/examples", ["demo_functional.py"], [], {"KERAS_BACKEND": "tensorflow"}),
    Program(
        "nanoGPT",
        "nanoGPT",
        ["train.py", "config/train_shakespeare_char.py", "--device=cpu", "--compile=False", "--eval_iters=5", "--log_interval=10"]
        + ["--block_size=64", "--batch_size=8", "--n_layer=2", "--n_head=2", "--n_embd=64", "--dropout=0.0", "--max_iters={steps}"]
        + ["--lr_decay_iters=6000", f"--out_dir={OUTPUT / 'nanogpt'}"],
        ["--steps", "6000"],
    ),
]


def foreglow(program, log, *arguments):
    """Runs Foreglow in the folder of a program and returns its answer."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2", "LOG": str(log), **program.env}
    answer = subprocess.run([FOREGLOW, *arguments], cwd=CLONES / program.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if answer.returncode not in (0, 1):
        sys.exit(f"{program.name}: {' '.join(map(str, arguments))}: {answer.stderr.decode()[-800:]}")
    return answer.stdout.decode()


def sample(path):
    return json.loads(Path(path).read_text().splitlines()[-1])


def total(sample):
    """Seconds of a run from the start of its process, with its start-up."""
    return sample["completion_time_secs"] + (sample.get("startup_secs") or 0.0)


def predicted(program, samples):
    """The time of the whole job, with its start-up, and the 90 % interval."""
    answer = json.loads(foreglow(program, "/dev/null", "predict", samples, "--executors", "1", "--cores", "1", "--format", "json"))
    interval = answer["interval"]
    startup = statistics.median(json.loads(line).get("startup_secs") or 0.0 for line in Path(samples).read_text().splitlines())
    if answer["completion_time_secs"] is None:
        return None
    return {
        "secs": answer["completion_time_secs"] + startup,
        "lower": interval and interval["lower_secs"] + startup,
        "upper": interval and interval["upper_secs"] + startup,
    }


def secs(text):
    """Seconds of a time such as `3 min 40.2 s`."""
    units = {"d": 86400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (d|h|min|ms|s)\b", text))


def shown(table):
    """The time of the whole job, with its start-up, and the 90 % interval, that `run` shows of a stopped run."""
    line = re.search(r"^whole job, here +(.+)$", table, re.M)
    found = line and re.fullmatch(r"(.+?) \((.+?) to (.+?)(?:,.*)?\)", line[1])
    return found and {"secs": secs(found[1]), "lower": secs(found[2]), "upper": secs(found[3])}


def stamps(log):
    """Times of the lines of a log, as seconds since 1970, and its lines."""
    lines = log.read_bytes().splitlines(keepends=True)
    return [datetime.datetime.fromisoformat(line[:23].decode()).timestamp() for line in lines], lines


def bar(points, of):
    """The time left of a bar of tqdm after the last of (seconds, units of work)."""
    smoothed = weight = 0.0
    for (before, done), (now, more) in zip(points, points[1:]):
        if more > done:
            rate = (now - before) / (more - done)
            smoothed, weight = 0.3 * rate + 0.7 * smoothed, 0.3 + 0.7 * weight
    return smoothed / weight * (of - points[-1][1]) if weight else None


def watched(program, whole, log):
    """The time left after 10, 25 and 50 % of the output of a whole job."""
    curve = whole.get("progress")
    if not curve:
        return []
    at, lines = stamps(log)
    # The stamps and the curve have different zeros: the time of the end is the same.
    start = at[-1] - total(whole)
    points = [(0.0, 0.0), *curve["points"]]
    last = points[-1][1]
    found = []
    for share in (0.1, 0.25, 0.5):
        seen = [point for point in points if point[1] <= share * last]
        now = start + seen[-1][0] + 0.02
        cut = OUTPUT / "cut.log"
        cut.write_bytes(b"".join(line for line, when in zip(lines, at) if when <= now))
        size = ["--of", str(last)]
        answer = json.loads(foreglow(program, "/dev/null", "watch", cut, "--once", "--format", "json", *size))
        left, interval = answer["left_secs"], answer["left_interval"]
        found.append(
            {
                "share": share,
                "left": at[-1] - now,
                "predicted": left,
                "lower": interval and interval["lower_secs"],
                "upper": interval and interval["upper_secs"],
                "bar": bar(seen, last),
            }
        )
    return found


def measure(program, folder):
    """Measures a program: its samples, a stopped run and the whole job."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    options = ["--cores", "1", *program.size]
    load = os.getloadavg()[0]
    if program.size:
        rates = ["--sampling-rate", "2.5%,7.5%"]
        foreglow(program, folder / "log", "collect", *options, *rates, "--output", folder / SAMPLES, "--", *program.command())
    foreglow(program, folder / "log", "run", *options, "--stop-after", "10%", "--output", folder / STOPPED, "--", *program.command())
    foreglow(program, folder / LOG, "run", *options, "--sampling-rate", "1", "--output", folder / WHOLE, "--", *program.command())
    (folder / DONE).write_text(json.dumps({"at": datetime.datetime.now().isoformat(timespec="seconds"), "load": [load, os.getloadavg()[0]]}))


def evaluated(program, number, folder):
    """Predicts the whole job from the runs of a part of it."""
    stopped, whole = sample(folder / STOPPED), sample(folder / WHOLE)
    table = foreglow(program, "/dev/null", "samples", "show", stopped["id"], folder / STOPPED)
    return {
        "program": program.name,
        "round": number,
        **json.loads((folder / DONE).read_text()),
        "samples": predicted(program, folder / SAMPLES) if program.size else None,
        "stopped": shown(table),
        "secs": total(whole),
        "ten_times": 10 * total(stopped),
        "left": watched(program, whole, folder / LOG),
    }


def summary(label, rows):
    """A row of the table: (measured, predicted) with intervals."""
    rows = [(measured, answer) for measured, answer in rows if answer]
    if not rows:
        return
    errors = [100 * abs(answer["secs"] / measured - 1) for measured, answer in rows]
    held = [answer["lower"] <= measured <= answer["upper"] for measured, answer in rows if answer.get("lower") is not None]
    share = f"{100 * sum(held) / len(held):.0f} % of {len(held)}" if held else "–"
    print(f"| {label} | {len(errors)} | {statistics.median(errors):.1f} | {statistics.mean(errors):.1f} | {share} |")


def tables(results):
    print("| time of the whole job | jobs | median error, % | mean, % | in the 90 % interval |\n|---|---:|---:|---:|---:|")
    samples = [(result["secs"], result.get("samples")) for result in results]
    for name in sorted({result["program"] for result in results}):
        own = [result for result in results if result["program"] == name]
        if any(result.get("samples") for result in own):
            summary(f"{name}: runs of 2.5 and 7.5 %", [(result["secs"], result.get("samples")) for result in own])
        summary(f"{name}: stopped at 10 %", [(result["secs"], result["stopped"]) for result in own])
    summary("all: runs of 2.5 and 7.5 %", samples)
    summary("all: stopped at 10 %", [(result["secs"], result["stopped"]) for result in results])
    summary("all: ten times the run of 10 %", [(result["secs"], {"secs": result["ten_times"]}) for result in results])
    print("\n| time left | jobs | median error, % | a bar's | in the 90 % interval |\n|---|---:|---:|---:|---:|")
    for share in (0.1, 0.25, 0.5):
        rows = [row for result in results for row in result["left"] if row["share"] == share and row["predicted"] and row["bar"]]
        if not rows:
            continue
        error = statistics.median(100 * abs(row["predicted"] / row["left"] - 1) for row in rows)
        of_bar = statistics.median(100 * abs(row["bar"] / row["left"] - 1) for row in rows)
        held = sum(row["lower"] <= row["left"] <= row["upper"] for row in rows if row["lower"] is not None)
        print(f"| at {share:.0%} | {len(rows)} | {error:.1f} | {of_bar:.1f} | {100 * held / len(rows):.0f} % |")


def changes(folders):
    """Prints how much the speed of whole jobs differs between their beginning and the rest."""
    print("\n| seen | change of the speed of the rest, root of the mean square, % |\n|---|---:|")
    for share in (0.1, 0.25, 0.5):
        squares = []
        for points in (sample(folder / WHOLE)["progress"]["points"] for folder in folders):
            last = points[-1][1]
            start, seen, end = (at(points, part * last) for part in (0.03, share, 1))
            squares.append(math.log((end - seen) / (1 - share) / ((seen - start) / (share - 0.03))) ** 2)
        print(f"| {share:.0%} | {100 * math.sqrt(statistics.mean(squares)):.1f} |")


def at(points, units):
    """The time at which a curve reached units of work, seconds."""
    for (before, done), (now, more) in zip(points, points[1:]):
        if more >= units:
            return before + (now - before) * (units - done) / (more - done)
    return points[-1][0]


def main():
    results, folders = [], {}
    for number in range(ROUNDS):
        for program in PROGRAMS:
            folder = KEPT / f"{number}-{re.sub('[^a-z0-9]+', '-', program.name.lower())}"
            if not (folder / DONE).exists():
                measure(program, folder)
            result = evaluated(program, number, folder)
            results.append(result)
            folders[program.name, number] = folder
            print(f"{program.name}: {result['secs']:.1f} s, {result['samples']}, {result['stopped']}", file=sys.stderr)
    (KEPT / "results.json").write_text(json.dumps(results))
    # The program itself is a load of 1.
    for title, is_meant in (("without other work", lambda load: load < 2), ("beside other work", lambda load: load >= 2)):
        group = [result for result in results if is_meant(max(result["load"]))]
        if group:
            print(f"\n{title}\n")
            tables(group)
            # The Keras example's pauses are no speed.
            sized = [result for result in group if result["samples"]]
            changes([folders[result["program"], result["round"]] for result in sized])


if __name__ == "__main__":
    main()
