"""Generates samples.csv: the published grid of samples, with noise.

Up to 3 executors by 2, 4, 6 and 8 cores, at the sampling rates 0.01 and 0.1 (training) and 1
(test). The times are a start-up plus work proportional to the images, scaled by executors and
cores, with 2 % of noise.

Run in this folder with Python 3 and numpy: python make_samples.py
"""

import csv

import numpy as np

SEED = 20201340


def main():
    rng = np.random.default_rng(SEED)
    with open("samples.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["executors", "cores_per_executor", "sampling_rate", "completion_time_secs"])
        for e in (1, 2, 3):
            for c in (2, 4, 6, 8):
                for s in (0.01, 0.1, 1.0):
                    secs = (2 + 400 * s) * (0.1 + 0.9 / e) * (0.2 + 1.6 / c) * (1 + rng.normal(0, 0.02))
                    out.writerow([e, c, s, repr(float(secs))])


if __name__ == "__main__":
    main()
