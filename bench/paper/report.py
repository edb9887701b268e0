"""Writes docs/paper.md from the samples of `make sweep-paper`: `make paper`.

    python3 bench/paper/report.py SAMPLES DOCS

SAMPLES has CNN.jsonl, the study's grid, memory/CNN.jsonl, other memory limits and partition sizes,
uneven/CNN.jsonl, a total number of cores on each number of executors, and spark/CNN.jsonl, a smaller
grid on Spark, with the same whole jobs of the local engine in spark/local/CNN.jsonl. The times of
the scenarios and of the default predictor are those of `foreglow evaluate`. The published figures
are quoted from Myung and Yu, Electronics 9(9):1340, 2020.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bars
import spark

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
TITLES = {"inception_v4": "Inception-v4", "resnet50": "ResNet-50", "xception": "Xception"}
SCENARIOS = ["baseline", "1", "2", "3-1", "3-2", "4-1", "4-2"]
# Accuracy in percent of Inception-v4, ResNet-50 and Xception; one number where the study gives a
# mean.
PUBLISHED = {"baseline": [92.3, 92.2, 92.4], "1": [50, 51, 45], "2": [55, 51, 45], "3-1": ["> 98"], "3-2": ["> 99"],
             "4-1": [57.3, 57.1, 54.3], "4-2": ["99.8"]}
# Minimum, mean and maximum of the scaled completion time by sampling rate (its Table 2), executor
# memory (3) and partition size (4).
PUBLISHED_RATE = {0.01: {"inception_v4": (0.0102, 0.0104, 0.0106), "resnet50": (0.0105, 0.0107, 0.0109), "xception": (0.0104, 0.0108, 0.0110)},
                  0.1: {"inception_v4": (0.095, 0.098, 0.100), "resnet50": (0.097, 0.100, 0.101), "xception": (0.096, 0.097, 0.098)}}
PUBLISHED_MEMORY = {"inception_v4": (0.98, 0.99, 1), "resnet50": (0.95, 0.97, 1), "xception": (0.93, 0.97, 1)}
PUBLISHED_PARTITION = {"inception_v4": (0.99, 0.99, 1), "resnet50": (0.94, 0.97, 1), "xception": (0.98, 0.99, 1)}
# Scaled completion time by total cores (5a) and executors (5b), scaled task time by cores (6a) and
# executors (6b).
PUBLISHED_CORES = {"inception_v4": (1, 0.66, 0.52, 0.47), "resnet50": (1, 0.65, 0.51, 0.47), "xception": (1, 0.65, 0.48, 0.41)}
PUBLISHED_EXECUTORS = {"inception_v4": (1, 0.51, 0.34), "resnet50": (1, 0.50, 0.34), "xception": (1, 0.50, 0.33)}
PUBLISHED_TASK_CORES = {"inception_v4": (0.53, 0.70, 0.83, 1), "resnet50": (0.53, 0.68, 0.81, 1), "xception": (0.60, 0.78, 0.87, 1)}
PUBLISHED_TASK_EXECUTORS = {"inception_v4": (1, 0.99, 0.99), "resnet50": (0.99, 0.99, 1), "xception": (1, 0.99, 0.99)}
# Executors and cores per executor: the values here, and those of the study.
AXES = [((1, 2, 3, 4, 5, 6), (1, 2, 3)), ((1, 2, 3, 4), (2, 4, 6, 8))]
# The configurations of the small training set, chosen before the sweep: the corners of the grid and
# two inside.
SIX = {(1, 1), (1, 4), (6, 1), (6, 4), (3, 2), (2, 3)}


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def size(sample):
    return sample["configuration"]["executors"], sample["configuration"]["cores_per_executor"]


def means(samples, key):
    """The mean completion time by key, seconds."""
    groups = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample["completion_time_secs"])
    return {key: statistics.mean(secs) for key, secs in groups.items()}


def scaled(times, axis):
    """Scales times that differ in this place of their key alone by the largest of them; returns the
    scaled times by the value of that place."""
    groups = {}
    for key, secs in times.items():
        groups.setdefault(key[:axis] + key[axis + 1:], {})[key[axis]] = secs
    found = {}
    for group in groups.values():
        if len(group) > 1:
            for value, secs in group.items():
                found.setdefault(value, []).append(secs / max(group.values()))
    return found


def three(values, digits):
    return " / ".join(f"{value:.{digits}f}" for value in values)


def spread(values, digits):
    return three((min(values), statistics.mean(values), max(values)), digits)


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def percent(number, digits=1):
    return "unknown" if number is None else f"{number:.{digits}f} %".replace("-", "−")


def evaluate(samples, *scenarios):
    """The answer of `foreglow evaluate` on these samples; on all scenarios, unless some are named."""
    only = [part for name in scenarios for part in ("--scenario", name)]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("\n".join(map(json.dumps, samples)) + "\n")
        file.flush()
        answer = subprocess.run([FOREGLOW, "evaluate", file.name, "--format", "json", "--quiet", *only], check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def noise(samples):
    """The root mean square of the coefficients of variation of repeated runs, percent."""
    groups = {}
    for sample in samples:
        groups.setdefault((sample["workload"]["model"], size(sample)), []).append(sample["completion_time_secs"])
    shares = [statistics.stdev(secs) / statistics.mean(secs) for secs in groups.values() if len(secs) > 1]
    return 100 * statistics.mean(share**2 for share in shares) ** 0.5


def effects(grids):
    """The tables of how completion time depends on each feature."""
    rows = []
    for rate in (0.01, 0.1):
        row = [f"{rate:.0%}".replace("%", " %")]
        for cnn, samples in grids.items():
            times = means(samples, lambda sample: (*size(sample), sample["sampling_rate"]))
            row += [spread(scaled(times, 2)[rate], 4), three(PUBLISHED_RATE[rate][cnn], 4)]
        rows.append(row)
    yield "Completion time by sampling rate, scaled by that of the whole job on the same configuration: minimum / mean / maximum."
    yield table(["SR", *(f"{TITLES[cnn]}{whose}" for cnn in grids for whose in (", here", ", published"))], rows)

    whole = {cnn: [sample for sample in samples if sample["sampling_rate"] == 1] for cnn, samples in grids.items()}
    tasks = {cnn: [dict(sample, completion_time_secs=sample["task_secs"]) for sample in samples] for cnn, samples in whole.items()}
    for title, runs, axis, published in [
        ("Completion time of the whole job by cores per executor, scaled by the largest of those that differ in it alone, mean.", whole, 1, PUBLISHED_CORES),
        ("Completion time of the whole job by executors, scaled in the same way.", whole, 0, PUBLISHED_EXECUTORS),
        ("Time of one task by cores per executor, scaled in the same way.", tasks, 1, PUBLISHED_TASK_CORES),
        ("Time of one task by executors, scaled in the same way.", tasks, 0, PUBLISHED_TASK_EXECUTORS),
    ]:
        values, of = AXES[axis]
        rows = []
        for cnn, samples in runs.items():
            found = scaled(means(samples, size), axis)
            rows.append([TITLES[cnn], *(f"{statistics.mean(found[value]):.2f}" for value in values), *published[cnn]])
        yield title
        yield table(["CNN", *(f"{value}, here" for value in values), *(f"{value}, published" for value in of)], rows)


def memory(folder, cnns):
    """The tables of executor memory and partition size."""
    rows, limits = [], []
    for cnn in cnns:
        samples = read(folder / f"{cnn}.jsonl")
        where = lambda sample: (sample["configuration"]["memory_per_executor_mib"], sample["configuration"]["partition_size"])
        times = means([sample for sample in samples if sample["outcome"] == "completed"], where)
        by_memory = [share for shares in scaled(times, 0).values() for share in shares]
        by_partition = [share for shares in scaled(times, 1).values() for share in shares]
        rows.append([TITLES[cnn], spread(by_memory, 2), three(PUBLISHED_MEMORY[cnn], 2), spread(by_partition, 2), three(PUBLISHED_PARTITION[cnn], 2)])
        for partition in sorted({where(sample)[1] for sample in samples}):
            failed = [where(sample)[0] for sample in samples if sample["outcome"] == "out_of_memory" and where(sample)[1] == partition]
            ran = [mib for mib, size in times if size == partition]
            limits.append([TITLES[cnn], partition, max(failed, default="–"), min(ran)])
    yield "Completion time on 2 executors of 2 cores and 10 % of the images, scaled by the largest of those that differ in this feature alone: minimum / mean / maximum."
    yield table(["CNN", "by memory, here", "published", "by partition size, here", "published"], rows)
    yield "Executor memory: the largest that was too little, and the smallest that was enough."
    yield table(["CNN", "partition size", "out of memory at, MiB", "completed at, MiB"], limits)


def first_runs(samples):
    """The first run of each configuration and sampling rate, as many as the study made."""
    first = {}
    for sample in samples:
        first.setdefault((size(sample), sample["sampling_rate"]), sample)
    return list(first.values())


def by_scenario(answer):
    return {row["scenario"]: row for row in answer["scenarios"]}


def scenario_accuracy(answers):
    """The accuracy of each scenario, by CNN."""
    return [[TITLES[cnn], *(percent(by_scenario(answer)[name]["accuracy_percent"]) for name in SCENARIOS)] for cnn, answer in answers.items()]


TIME_COLUMNS = ["CNN", "baseline: t1, t2, T", "4-2: t1, t2, T", "T is cut by"]


def time_saved(title, found):
    base, last = found["baseline"], found["4-2"]
    cut = 100 * (1 - last["total_secs"] / base["total_secs"])
    return [title, *(f"{row['t1_secs'] / 60:.1f}, {row['t2_secs'] / 60:.2f}, {row['total_secs'] / 60:.1f}" for row in (base, last)), percent(cut, 0)]


def scenarios(answers, grids):
    """The tables of the seven scenarios."""
    rows, times, variants = scenario_accuracy(answers), [], []
    for cnn, answer in answers.items():
        found = by_scenario(answer)
        once = by_scenario(evaluate(first_runs(grids[cnn]), "baseline", "4-2"))
        times += [time_saved(TITLES[cnn], found), time_saved(f"{TITLES[cnn]}, one run of each", once)]
        variants.append([TITLES[cnn], *(percent(row["accuracy_percent"]) for row in (found["4-2"], once["4-2"]))])
    for place, cnn in enumerate(TITLES):
        if cnn in answers:
            rows.append([f"{TITLES[cnn]}, published", *(str(PUBLISHED[name][place % len(PUBLISHED[name])]) + " %" for name in SCENARIOS)])
    yield "Accuracy (100 % − MAPE) of the whole jobs. The study gives means over the three CNNs for 3-1, 3-2 and 4-2."
    yield table(["CNN", *SCENARIOS], rows)
    yield "![Accuracy of the seven scenarios](paper-scenarios.svg)\n"
    yield "Accuracy of scenario 4-2, fitted to all runs below the whole job, or to one of each configuration and sampling rate."
    yield table(["CNN", "all runs", "one of each"], variants)
    yield "Time to collect samples (t1), to tune and train (t2), and their sum T, minutes. Published: T is cut by 89 %."
    yield table(TIME_COLUMNS, times)


def plan(samples, *options):
    """The answer of `foreglow plan` on these samples."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("\n".join(map(json.dumps, samples)) + "\n")
        file.flush()
        answer = subprocess.run([FOREGLOW, "plan", file.name, *options, "--format", "json", "--quiet"], check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def held_out(samples):
    """MAPE and held intervals, percent, of the whole jobs on the 24 configurations, as `foreglow
    plan` predicts them from these samples."""
    fitted = [sample for sample in samples if sample["sampling_rate"] < 1]
    whole = means([sample for sample in samples if sample["sampling_rate"] == 1], size)
    answer = plan([sample for sample in fitted if size(sample) in SIX], "--executors", "1-6", "--cores", "1-4")
    errors, held = [], []
    for row in answer["candidates"]:
        secs = whole[row["executors"], row["cores_per_executor"]]
        errors.append(abs(row["completion_time_secs"] - secs) / secs)
        held.append(row["interval"]["lower_secs"] <= secs <= row["interval"]["upper_secs"])
    return 100 * statistics.mean(errors), 100 * statistics.mean(held)


def uneven(folder, grids):
    """The tables of a total number of cores on each number of executors, predicted from the runs
    below the whole job on equal executors."""
    for file in sorted(folder.glob("*.jsonl")):
        samples = read(file)
        whole = means(samples, lambda sample: sample["configuration"]["executors"])
        total = next(sample["configuration"]["total_cores"] for sample in samples if "total_cores" in sample["configuration"])
        equal = [sample for sample in grids[file.stem] if sample["sampling_rate"] < 1]
        swept = means([sample for sample in grids[file.stem] if sample["sampling_rate"] == 1], size)
        again = {(executors, total // executors): secs for executors, secs in whole.items() if total % executors == 0 and (executors, total // executors) in swept}
        drift = 100 * statistics.mean(secs / swept[at] - 1 for at, secs in again.items())
        rows, errors = [], []
        for row in plan(equal, "--executors", f"1-{max(whole)}", "--total-cores", str(total))["candidates"]:
            executors, secs, interval = row["executors"], row["completion_time_secs"], row["interval"]
            measured = whole[executors]
            least, more = divmod(total, executors)
            is_held = interval["lower_secs"] <= measured <= interval["upper_secs"]
            rows.append([executors, "+".join(map(str, [least + 1] * more + [least] * (executors - more))), f"{secs:.1f} s",
                         f"{interval['lower_secs']:.1f} to {interval['upper_secs']:.1f} s", f"{measured:.1f} s", percent(100 * (secs / measured - 1)),
                         "yes" if is_held else "no"])
            errors.append(abs(secs / measured - 1))
        yield (f"{TITLES[file.stem]}: the whole job on {total} cores, measured on {min(sample['started_at'] for sample in samples)[:10]} and predicted from the runs on "
               f"1 % and 10 % of the images on equal executors of at most 4 cores; MAPE {percent(100 * statistics.mean(errors))}. The jobs on {' and '.join(f'{e} × {c}' for e, c in again)} took "
               f"{percent(abs(drift))} {'less' if drift < 0 else 'more'} time than in the sweep that the prediction is from.")
        yield table(["executors", "cores of each", "predicted", "90 % interval", "measured", "error", "in the interval"], rows)


RIVAL_COLUMNS = ["CNN", "`foreglow`", "in its interval", "best rival", "linear scaling", "Ernest"]


def against_rivals(cnn, answer):
    """The default predictor's MAPE and held intervals, and the MAPE of its rivals."""
    mape = {row["name"]: row for row in answer["predictors"]}
    rivals = {name: row["mape_percent"] for name, row in mape.items() if name != "foreglow" and row["mape_percent"] is not None}
    best, ours = min(rivals, key=rivals.get), mape["foreglow"]
    return [TITLES[cnn], f"**{percent(ours['mape_percent'])}**", percent(ours["coverage_percent"], 0), f"{best}: {percent(rivals[best])}",
            percent(rivals.get("linear-scaling")), percent(rivals.get("ernest"))]


def predictors(grids, answers):
    """The tables of the default predictor and its rivals."""
    rows = []
    for cnn, samples in grids.items():
        few, few_held = held_out(samples)
        rows.append([*against_rivals(cnn, answers[cnn]), f"**{percent(few)}**", percent(few_held, 0)])
    yield ("MAPE of the whole jobs on all 24 configurations, from runs on 1 % and 10 % of the images on all 24, and on 6 of them "
           "(the corners, 3 × 2 and 2 × 3), and the share of the jobs in the 90 % interval.")
    yield table([*RIVAL_COLUMNS, "from 6: `foreglow`", "in its interval"], rows)


def on_spark(folder):
    """The section on the smaller grid on Spark."""
    grids = {cnn: read(folder / f"{cnn}.jsonl") for cnn in TITLES if (folder / f"{cnn}.jsonl").exists()}
    local = {cnn: read(folder / "local" / f"{cnn}.jsonl") for cnn in grids}
    answers = {cnn: evaluate(grid) for cnn, grid in grids.items()}
    every = [sample for grid in grids.values() for sample in grid]
    some = every[0]
    sizes = sorted({size(sample) for sample in every})
    most, threads = max(sizes), max(map(math.prod, sizes))
    share, images = some["host"]["core_share"], some["workload"]["images"]
    days = sorted({sample["started_at"][:10] for sample in every})
    yield ("A standalone cluster on the loopback address for each configuration (`make sweep-paper-spark`). Each executor has a worker of its own in a control group, whose CPU "
           f"quota is {100 * share:g} % of a processor for each core. The quota holds for the JVM of the executor too, and for its start. Master and driver have none.")
    yield table(["", "here"], [
        ["cores", f"1 to {threads} cores of {100 * share:g} % of a processor of {some['host']['cpu']}"],
        ["executors × cores per executor", f"1–{most[0]} × 1–{most[1]}: {len(sizes)} configurations"],
        ["images of the whole job, per task", f"{images:,} generated JPEG files, 1 per task"],
        ["executor memory", f"{some['configuration']['memory_per_executor_mib']} MiB for the JVM, and the same for the CNN's process"],
        ["sampling rates", "1 % and 10 % three times each in one application, 100 % in other applications, once, and twice on 2 × 2 and 4 × 2"],
        ["engine", f"Spark {some['spark']['version']} with Foreglow's executor, Java with `{spark.JAVA['JAVA_TOOL_OPTIONS']}`"],
    ])
    yield (f"Measured on {' and '.join(days)} on a machine of 2 processors, several configurations at a time on at most {threads} slow cores together "
           f"({threads * share:g} processors), while compilers and tests ran beside them with a lower weight.")
    rows = []
    for cnn, grid in grids.items():
        starts = [sample["startup_secs"] for sample in grid if "startup_secs" in sample]
        rows.append([TITLES[cnn], f"{grid[0]['workload']['image_px']} px", len(grid), f"{min(starts):.0f} to {max(starts):.0f} s",
                     *(percent(noise([one for one in grid if one["sampling_rate"] == rate])) for rate in (0.01, 0.1, 1))])
    yield table(["CNN", "image", "runs", "start-up", "noise at 1 %", "at 10 %", "at 100 %"], rows)
    yield "The noise is defined as above; at 100 % it is of 2 × 2 and 4 × 2 alone. Most of it is in the first runs of an application, and outside the CNN's program. A variant of the engine that was not kept repeated the untimed job before a run until its tasks got no faster, which did not shorten them."
    yield ("Thread time per image (completion time × threads ÷ images), and of that in the CNN's program, milliseconds, mean over the configurations. The rest is Spark's: "
           "the JVM of the executor, which uses the same quota, the scheduling of tasks, and threads without a task.")
    yield table(["CNN", *(f"{rate:g} %, {which} run" for rate in (1, 10) for which in ("first", "last")), "100 %, first run"],
                [[TITLES[cnn], *(thread_time(grid, rate, place) for rate, place in ((0.01, 0), (0.01, -1), (0.1, 0), (0.1, -1), (1, 0)))] for cnn, grid in grids.items()])
    whole = {cnn: means([sample for sample in grid if sample["sampling_rate"] == 1], size) for cnn, grid in grids.items()}
    yield "Completion time of the whole job by executors × cores, seconds."
    yield table(["CNN", *(f"{executors} × {cores}" for executors, cores in sizes)], [[TITLES[cnn], *(f"{times[at]:.1f}" for at in sizes)] for cnn, times in whole.items()])
    yield f"MAPE of the whole jobs on all {len(sizes)} configurations, from runs on 1 % and 10 % of the images on all {len(sizes)}, and the share of the jobs in the 90 % interval."
    yield table(RIVAL_COLUMNS, [against_rivals(cnn, answer) for cnn, answer in answers.items()])
    yield "The same from the first or the last run alone of each configuration and sampling rate."
    alone = {cnn: [against_rivals(cnn, evaluate(one_of_each(grid, place), "4-2"))[1:4] for place in (0, -1)] for cnn, grid in grids.items()}
    yield table(["CNN", "first: `foreglow`", "in its interval", "best rival", "last: `foreglow`", "in its interval", "best rival"],
                [[TITLES[cnn], *first, *last] for cnn, (first, last) in alone.items()])
    missing = [f"{TITLES[cnn]}, {row['scenario']}: {row['reason']}." for cnn, answer in answers.items() for row in answer["scenarios"] if row["accuracy_percent"] is None]
    yield " ".join(["Accuracy (100 % − MAPE) of the scenarios.", *missing])
    yield table(["CNN", *SCENARIOS], scenario_accuracy(answers))
    yield "Time to collect samples (t1), to tune and train (t2), and their sum T, minutes, from all runs and from the first of each configuration and sampling rate."
    once = {cnn: by_scenario(evaluate(first_runs(grid), "baseline", "4-2")) for cnn, grid in grids.items()}
    yield table(TIME_COLUMNS, [row for cnn, answer in answers.items() for row in (time_saved(TITLES[cnn], by_scenario(answer)), time_saved(f"{TITLES[cnn]}, one run of each", once[cnn]))])
    there = {cnn: means(samples, size) for cnn, samples in local.items()}
    compared = sorted(next(iter(there.values())))
    ratios = [whole[cnn][at] / times[at] for cnn, times in there.items() for at in compared]
    yield (f"Completion time of the whole job on Spark ÷ that on the local engine with `--core-share {100 * share:g}%`: {min(ratios):.2f} to {max(ratios):.2f}, mean "
           f"{statistics.mean(ratios):.2f}. The repeated jobs of the local engine have a noise of {percent(noise([sample for samples in local.values() for sample in samples]))}. The two "
           "engines did not run at the same time, so that the other programs slowed them differently.")
    yield table(["CNN", *(f"{executors} × {cores}" for executors, cores in compared)],
                [[TITLES[cnn], *(f"{whole[cnn][at]:.1f} s ÷ {times[at]:.1f} s = {whole[cnn][at] / times[at]:.2f}" for at in compared)] for cnn, times in there.items()])


def repeats(samples):
    """The runs of each configuration and sampling rate, by time."""
    runs = {}
    for sample in sorted(samples, key=lambda sample: sample["started_at"]):
        runs.setdefault((size(sample), sample["sampling_rate"]), []).append(sample)
    return runs


def one_of_each(samples, place):
    """The first (0) or last (-1) run of each configuration and sampling rate, and all whole jobs."""
    return [sample for (_, rate), runs in repeats(samples).items() for sample in (runs if rate == 1 else [runs[place]])]


def thread_time(samples, rate, place):
    """The thread time per image of the first (0) or last (-1) runs at this sampling rate, and the
    part of it in the CNN's program."""
    runs = [runs[place] for (_, of), runs in repeats(samples).items() if of == rate]
    total = statistics.mean(run["completion_time_secs"] * math.prod(size(run)) / run["images_processed"] for run in runs)
    return f"{1000 * total:.0f}, {1000 * statistics.mean(run['task_secs'] for run in runs):.0f}"


def main():
    samples, docs = Path(sys.argv[1]), Path(sys.argv[2])
    grids = {cnn: read(samples / f"{cnn}.jsonl") for cnn in TITLES if (samples / f"{cnn}.jsonl").exists()}
    answers = {cnn: evaluate(grid) for cnn, grid in grids.items()}
    some = next(iter(grids.values()))[0]
    rows = []
    for cnn, grid in grids.items():
        whole = [sample for sample in grid if sample["sampling_rate"] == 1]
        times = means(whole, size)
        rows.append([TITLES[cnn], f"{grid[0]['workload']['image_px']} px", len(grid), f"{times[1, 1] / 60:.1f} min", f"{times[6, 4] / 60:.2f} min",
                     *(percent(noise([sample for sample in grid if sample["sampling_rate"] == rate]), 2) for rate in (0.01, 0.1, 1))])
    parts = [
        "# The published study, repeated\n",
        "Myung and Yu, *Performance Prediction for Convolutional Neural Network on Spark Cluster*, Electronics 9(9):1340, 2020, ran three CNNs on 200,000 images with "
        "up to 24 cores of three machines. Here the same CNNs run on 24 [slow cores](guide.md#slow-cores), on fewer and smaller images, and a smaller grid of them [on Spark](#on-spark).\n",
        "```\nmake sweep-paper         # hours; an interrupted sweep continues\nmake sweep-paper-spark   # half an hour: Spark\nmake paper               # this page, from the samples in bench/paper/samples\n```\n",
        table(["", "study", "here"], [
            ["cores", "2 to 24 of Intel Core i7-6700, 3 machines", f"1 to 24 cores of {100 * some['host']['core_share']:g} % of a processor of {some['host']['cpu']}"],
            ["executors × cores per executor", "1–3 × 2–8 in steps of 2: 12 configurations", "1–6 × 1–4: 24 configurations"],
            ["images of the whole job", "200,000 of Yelp", f"{some['workload']['images']:,} generated JPEG files"],
            ["images per task", "20 to 100", "1; for memory and partition size 1, 4, 16"],
            ["executor memory", "2 to 14 GB", "2 GiB; for memory and partition size 64 MiB to 2 GiB"],
            ["sampling rates", "1 %, 10 %, 100 %", "the same; three runs of 1 %, two of 10 %, one of 100 % (three on 2 × 4, 4 × 4 and 6 × 4)"],
            ["engine", "Spark 2.3 with TensorFlow", "local, Burn on the processor"],
        ]),
        f"Measured on {min(sample['started_at'] for grid in grids.values() for sample in grid)[:10]} on a machine of 2 processors ({some['host']['cpu']}), several configurations at "
        "a time on at most 24 slow cores together (1.2 processors), and nothing else. Runs on 1 % and 10 % of the images that started in the first twelve minutes, beside "
        "other programs, were measured again at the end.\n",
        table(["CNN", "image", "runs", "whole job on 1 × 1", "on 6 × 4", "noise at 1 %", "at 10 %", "at 100 %"], rows),
        "The noise is the standard deviation of repeated runs ÷ their mean, as a root mean square over the configurations.\n",
        "## Accuracy\n", *predictors(grids, answers), *scenarios(answers, grids),
        "## Effect of each feature\n", *effects(grids),
    ]
    if (samples / "uneven").is_dir():
        parts += ["## Uneven splits of cores\n",
                  "The study's Table 7 divides a total number of cores as evenly as possible among the executors (`--total-cores`), so that some have one core more than "
                  "the others.\n", *uneven(samples / "uneven", grids)]
    if (samples / "memory").is_dir():
        parts += ["## Memory and partition size\n", *memory(samples / "memory", grids)]
    if (samples / "spark").is_dir():
        parts += ["## On Spark\n", *on_spark(samples / "spark")]
    (docs / "paper.md").write_text("\n".join(part if part.endswith("\n") else part + "\n" for part in parts))
    accuracy = {TITLES[cnn]: [next(row["accuracy_percent"] for row in answer["scenarios"] if row["scenario"] == name) for name in SCENARIOS] for cnn, answer in answers.items()}
    (docs / "paper-scenarios.svg").write_text(bars.chart(SCENARIOS, accuracy))


if __name__ == "__main__":
    main()
