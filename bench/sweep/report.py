"""Turns the sweep's samples into the planner's example and the tables of docs/accuracy.md.

    python3 bench/sweep/report.py FOLDER

Writes FOLDER/example.jsonl and FOLDER/tables.md from each job's samples NAME.jsonl and from
NAME.json, the output of `foreglow evaluate`. The example keeps only what the planner reads and five
digits of each time, which halves its compressed size.
"""

import json
import math
import statistics
import sys
from pathlib import Path

JOBS = {
    "resnet18-inference": "ResNet-18, inference",
    "mobilenet_v2-inference": "MobileNet-v2, inference",
    "resnet18-training": "ResNet-18, training",
    "mobilenet_v2-training": "MobileNet-v2, training",
}
KEPT = ["schema", "id", "workload", "configuration", "sampling_rate", "outcome", "completion_time_secs", "startup_secs", "engine",
        "runner_version", "host", "started_at", "peak_memory_mib"]
PREDICTORS = {"foreglow": "`foreglow`", "linear-scaling": "linear scaling", "ernest": "Ernest"}
# The goal for the error of whole-job predictions, as a multiple of the noise.
GOAL = 1.5


def digits(number, count):
    return float(f"{number:.{count}g}")


def brief(sample):
    """Formats a sample for the example."""
    kept = {name: sample[name] for name in KEPT if name in sample}
    kept["completion_time_secs"] = digits(kept["completion_time_secs"], 5)
    kept["startup_secs"] = digits(kept["startup_secs"], 3)
    kept["started_at"] = kept["started_at"][:19] + "Z"
    return json.dumps(kept, separators=(",", ":"))


def of_whole_jobs(samples):
    """Times of the whole job on each configuration, seconds."""
    times = {}
    for sample in samples:
        if sample["sampling_rate"] == 1:
            configuration = sample["configuration"]
            times.setdefault((configuration["executors"], configuration["cores_per_executor"]), []).append(sample["completion_time_secs"])
    return times


def noise(times):
    """Root mean square of the configurations' coefficients of variation, percent."""
    shares = [statistics.stdev(secs) / statistics.mean(secs) for secs in times.values()]
    return 100 * math.sqrt(statistics.mean(share * share for share in shares))


def percent(number, digits=1):
    return "unknown" if number is None else f"{number:.{digits}f} %".replace("-", "−")


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main():
    folder = Path(sys.argv[1])
    example, errors, scenarios = [], [], {}
    for name, title in JOBS.items():
        samples = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        failed = [sample["id"] for sample in samples if sample["outcome"] != "completed"]
        if failed:
            raise SystemExit(f"{name}: {len(failed)} samples did not complete; run the sweep again")
        example += map(brief, samples)
        answer = json.loads((folder / f"{name}.json").read_text())
        scenarios[title] = {row["scenario"]: row for row in answer["scenarios"]}
        mape = {row["name"]: row["mape_percent"] for row in answer["predictors"]}
        times = of_whole_jobs(samples)
        spread = noise(times)
        of_rivals = [percent(mape[rival]) for rival in list(PREDICTORS)[1:]]
        errors.append([title, str(len(samples)), f"{statistics.median(times[1, 1]):.1f} s", percent(spread), percent(GOAL * spread),
                       f"**{percent(mape['foreglow'])}**", percent(scenarios[title]["4-2"]["mape_percent"]), *of_rivals])
    (folder / "example.jsonl").write_text("\n".join(example) + "\n")
    columns = ["job", "runs", "whole job on one core", "noise", "goal", "`foreglow`", "scenario 4-2", *list(PREDICTORS.values())[1:]]
    tables = [table(columns, errors)]
    columns = ["scenario", *(f"{title}: accuracy, T" for title in scenarios)]
    rows = []
    for scenario in next(iter(scenarios.values())):
        of_jobs = [rows_of[scenario] for rows_of in scenarios.values()]
        rows.append([scenario, *(f"{percent(row['accuracy_percent'], 2)}, {row['total_secs']:.1f} s" for row in of_jobs)])
    tables.append(table(columns, rows))
    (folder / "tables.md").write_text("\n".join(tables))
    print((folder / "tables.md").read_text())


if __name__ == "__main__":
    main()
