"""Writes the tables of Scout, CherryPick and TrimTuner's CNN from clones of two repositories.

    git clone https://github.com/marialcasimiro/Lynceus-ICDCS
    git clone https://github.com/pedrogbmendes/TrimTuner
    python clouds.py Lynceus-ICDCS TrimTuner FOLDER

FOLDER then has scout/runs.csv (Hsu et al., 2018: 18 jobs of Hadoop and Spark, up to 69 clusters each),
cherrypick/runs.csv (Alipourfard et al., NSDI 2017: five jobs) and trimtuner_cnn/samples.csv, whose
columns are those of the recurrent network's table. `largest` says whether a cluster is the largest
of its job and machine type, `share` how large it is compared to that one.
"""

import csv
import json
import sys
from pathlib import Path

VCPUS = {"large": 2, "xlarge": 4, "2xlarge": 8}
TRIMTUNER_VCPUS = {"t2.small": 1, "t2.medium": 2, "t2.xlarge": 4, "t2.2xlarge": 8}
# Training was stopped after ten minutes.
LIMIT_SECS = 600
CLUSTERS = ["job", "vm", "family", "vcpu", "nodes", "time_s", "largest", "share"]


def scout(root):
    """Yields a row for each run that ended."""
    for path in sorted((root / "data/scout/osr_multiple_nodes_original").glob("*/*/report.json")):
        report = json.loads(path.read_text())
        if not report["completed"]:
            continue
        nodes, vm = path.parent.name.split("_")[:2]
        yield path.parts[-3], vm, int(nodes), float(report["elapsed_time"])


def cherrypick(root):
    """Yields a row for each run."""
    for path in sorted((root / "data/cherrypick").glob("CP_*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                yield row["exp_name"], row["vm_name"], int(row["num_machines"]), float(row["time"])


def write_clusters(path, runs):
    """Writes runs with the size of their cluster beside the largest of its job and machine type."""
    runs = list(runs)
    if not runs:
        sys.exit(f"clouds.py: no run for {path} found; is the first folder a clone of Lynceus-ICDCS?")
    most = {}
    for job, vm, nodes, _ in runs:
        most[job, vm] = max(nodes, most.get((job, vm), 0))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(CLUSTERS)
        for job, vm, nodes, secs in runs:
            family, size = vm.split(".")
            share = nodes / most[job, vm]
            table.writerow([job, vm, family, VCPUS[size], nodes, secs, "yes" if share == 1 else "no", round(share, 4)])


def write_trimtuner(path, source):
    """Writes the settings of the CNN under the names of the recurrent network's table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with source.open(newline="", encoding="utf-8-sig") as read, path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow("vm vcpu n_vms batch sync learning_rate train_samples time_s censored_600s".split())
        for row in csv.DictReader(read):
            vm, secs = row["vm_flavor"], float(row["training_time"])
            table.writerow(
                [vm, TRIMTUNER_VCPUS[vm], row["n_workers"], row["batch_size"], row["synchronism"]]
                + [row["learning_rate"], row["training_set_size"], secs, int(secs >= LIMIT_SECS)]
            )


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: clouds.py LYNCEUS-ICDCS TRIMTUNER FOLDER, the first two being clones")
    lynceus, trimtuner, out = (Path(argument) for argument in sys.argv[1:])
    cnn = trimtuner / "tests/files/cnn.csv"
    if not cnn.is_file():
        sys.exit(f"clouds.py: {cnn} does not exist; is the second folder a clone of TrimTuner?")
    write_clusters(out / "scout/runs.csv", scout(lynceus))
    write_clusters(out / "cherrypick/runs.csv", cherrypick(lynceus))
    write_trimtuner(out / "trimtuner_cnn/samples.csv", cnn)


if __name__ == "__main__":
    main()
