"""An offline run of Weights & Biases, with its history as its server exports it.

    python wandb_run.py   # writes wandb-summary.json, wandb_history.jsonl and wandb_history.csv
"""

import csv
import glob
import json
import os
import struct
import time

import wandb
from wandb.proto import wandb_internal_pb2

os.environ["WANDB_SILENT"] = "true"
run = wandb.init(mode="offline", project="mlp", settings=wandb.Settings(x_disable_stats=True, x_disable_meta=True))
for step in range(30):
    time.sleep(0.05)
    loss = float("nan") if step == 20 else 1.0 / (step + 1)
    run.log({"train/loss": loss, "lr": 0.1})
folder = os.path.dirname(run.dir)
run.finish()
wandb.teardown()


def records(data):
    """Yields the records of a file of a run, which has the format of LevelDB's log."""
    place, parts = 7, b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield wandb_internal_pb2.Record.FromString(parts)
            parts = b""


# The server keeps the rows of the history and the last values of all, which its export and its
# file `wandb-summary.json` have; the file of an offline run has them, too.
rows, summary = [], {}
with open(glob.glob(f"{folder}/*.wandb")[0], "rb") as file:
    for record in records(file.read()):
        items = [*record.history.item, *record.summary.update]
        values = {tuple(item.nested_key) or (item.key,): json.loads(item.value_json) for item in items}
        if record.WhichOneof("record_type") == "history":
            rows.append({"/".join(key): value for key, value in values.items()})
        for (*above, key), value in values.items() if record.WhichOneof("record_type") == "summary" else ():
            (summary.setdefault(above[0], {}) if above else summary)[key] = value
with open("wandb-summary.json", "w") as file:
    json.dump(summary, file)
with open("wandb_history.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
with open("wandb_history.csv", "w", newline="") as file:
    table = csv.DictWriter(file, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
