"""What repeated runs of public Spark jobs say about noise and growth with the data.

    python3 bench/spark/priors.py FOLDER

FOLDER has the tables of C3O (c3o/*.tsv) and Bell (bell/*.csv); docs/accuracy.md describes them. The
constants of model/src/simulated_times.rs are chosen by these figures.
"""

import csv
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path

# Columns that follow from the amount of data.
SIZES = {"data_size_MB", "lines", "observations", "links", "pages"}


def rms(values):
    return math.sqrt(statistics.mean(value * value for value in values))


def noise(settings):
    """Prints the standard deviation of ln t over the repeats of a setting."""
    deviations = [statistics.stdev(map(math.log, times)) for times in settings.values() if len(times) > 2]
    print(f"  noise: median {statistics.median(deviations):.3f}, rms {rms(deviations):.3f} of {len(deviations)} settings")


def growth(amounts):
    """Prints the constant share of the time, and the deviation from a line between both ends."""
    shares, deviations = [], []
    for of_amount in amounts.values():
        (first, *_, last) = sizes = sorted(of_amount)
        time = {size: statistics.median(of_amount[size]) for size in sizes}
        shares.append((last / first - time[last] / time[first]) / (last / first - 1))
        middle = sizes[len(sizes) // 2]
        line = time[first] + (time[last] - time[first]) * (middle - first) / (last - first)
        deviations.append(math.log(time[middle] / line))
    print(f"  constant share: median {statistics.median(shares):.2f}, deviation {statistics.pstdev(shares):.2f}; "
          f"off the line: rms {rms(deviations):.3f} of {len(shares)} settings")


def main(folder):
    for table in sorted(folder.glob("c3o/*.tsv")):
        print(table.stem)
        settings, amounts = defaultdict(list), defaultdict(lambda: defaultdict(list))
        for row in csv.DictReader(table.open(), delimiter="\t"):
            secs = float(row.pop("gross_runtime"))
            settings[tuple(row.values())].append(secs)
            other = tuple(value for name, value in row.items() if name not in SIZES)
            amounts[other][float(row["data_size_MB"])].append(secs)
        noise(settings)
        growth({other: sizes for other, sizes in amounts.items() if max(sizes) > 1.3 * min(sizes)})
    for table in sorted(folder.glob("bell/*.csv")):
        print(table.stem)
        settings = defaultdict(list)
        for row in csv.DictReader(table.open()):
            settings[row["Nodes"]].append(float(row["Runtime"]))
        noise(settings)


main(Path(sys.argv[1]))
