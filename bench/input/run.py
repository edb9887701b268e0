"""From a folder of JPEG files to normalised tensors: Foreglow against PyTorch's DataLoader.

    make bench-input

Both decode, resize the shorter side with an antialiased bilinear filter, crop the centre, normalise
with ImageNet's statistics, and produce batches, with the same number of workers. The files are in
the page cache. Both alternate within each round, so that a temporary load slows both; the medians
over the rounds are compared. Starting processes (Python's workers, Foreglow's program) is not
timed. Writes target/bench/input.json.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
FOLDER = ROOT / "target/bench"
WORKERS = int(os.environ.get("WORKERS", os.cpu_count()))
ROUNDS = int(os.environ.get("ROUNDS", 5))
BATCH = 32
BATCHES = 24
IMAGES = BATCH * BATCHES
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def drawn():
    """Generates Foreglow's synthetic JPEG files of 128 px and returns their paths."""
    cache = FOLDER / "input-cache"
    subprocess.run(
        [FOREGLOW, "read-test", "--without-cnn", "--cache-dir", cache, "--repeat", "1", "--cache", "on", "--format", "json"],
        check=True, stdout=subprocess.DEVNULL)
    return sorted(cache.rglob("*.jpg"))


def photos(small):
    """Creates files of ImageNet's typical size, 500 × 375 px and about 100 KB, by enlarging the
    synthetic images and adding noise.
    """
    folder = FOLDER / "input-photos"
    random = np.random.default_rng(0)
    for number, path in enumerate(small[:IMAGES]):
        to = folder / path.parent.name / path.name
        if to.exists():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.asarray(Image.open(path).resize((500, 375), Image.Resampling.BICUBIC), dtype=np.float32)
        noisy = pixels + random.normal(0, 6, pixels.shape)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(to, quality=90)
    return folder


class Files(Dataset):
    def __init__(self, folder, px, is_pillow):
        self.paths = [str(path) for path in sorted(folder.rglob("*.jpg"))[:IMAGES]]
        self.is_pillow = is_pillow
        self.px = px
        self.finish = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        path = self.paths[number]
        if self.is_pillow:
            image = Image.open(path).convert("RGB")
            image = v2.functional.center_crop(v2.functional.resize(image, [self.px]), [self.px])
            return self.finish(v2.functional.pil_to_tensor(image))
        image = decode_jpeg(read_file(path), mode=ImageReadMode.RGB)
        image = v2.functional.resize(image, [self.px], antialias=True)
        return self.finish(v2.functional.center_crop(image, [self.px]))


def loader(folder, px, is_pillow):
    torch.set_num_threads(1)
    data = Files(folder, px, is_pillow)
    batches = DataLoader(data, batch_size=BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True)

    def epoch():
        start, images = time.perf_counter(), 0
        for batch in batches:
            images += batch.shape[0]
        return images / (time.perf_counter() - start)

    epoch()
    return epoch


def foreglow(folder, px):
    arguments = [FOREGLOW, "read-test", folder, "--without-cnn", "--cache", "on", "--threads", str(WORKERS),
                 "--batch-size", str(BATCH), "--batches", str(BATCHES), "--repeat", "1", "--image-px", str(px),
                 "--format", "json"]

    def epoch():
        answer = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(answer.stdout)["inputs"][0]["images_per_sec"]

    epoch()
    return epoch


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    small = drawn()
    sets = [("128 px JPEG files to 64 px", small[0].parents[1], 64), ("500 × 375 px JPEG files to 224 px", photos(small), 224)]
    pillow = "Pillow-SIMD" if "post" in PIL.__version__ else "Pillow"
    peers = [(f"DataLoader, torchvision {torchvision.__version__} decode_jpeg", False),
             (f"DataLoader, {pillow} {PIL.__version__}", True)]
    entries = []
    for name, folder, px in sets:
        ours = foreglow(folder, px)
        theirs = [(peer, loader(folder, px, is_pillow)) for peer, is_pillow in peers]
        rates = {"ours": []} | {peer: [] for peer, _ in theirs}
        for _ in range(ROUNDS):
            rates["ours"].append(ours())
            for peer, epoch in theirs:
                rates[peer].append(epoch())
        medians = {who: statistics.median(values) for who, values in rates.items()}
        for peer, _ in theirs:
            ratio = medians["ours"] / medians[peer]
            entries.append({"name": f"{name}, {WORKERS} workers", "unit": "images/s", "ours": round(medians["ours"], 1),
                            "peer_name": peer, "peer": round(medians[peer], 1), "ratio": round(ratio, 3)})
            print(f"{entries[-1]}  rounds: {[round(v) for v in rates['ours']]} against {[round(v) for v in rates[peer]]}",
                  file=sys.stderr)
    (FOLDER / "input.json").write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
