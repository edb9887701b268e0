"""Ultralytics trains an untrained detector on random images."""

import pathlib

import numpy
from PIL import Image
from ultralytics import YOLO

for part, count in (("train", 40), ("val", 8)):
    for kind in ("images", "labels"):
        pathlib.Path("boxes", kind, part).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.fromarray(numpy.random.randint(0, 255, (64, 64, 3), "uint8")).save(f"boxes/images/{part}/{number}.jpg")
        pathlib.Path(f"boxes/labels/{part}/{number}.txt").write_text("0 0.5 0.5 0.4 0.4\n")
path = pathlib.Path("boxes").absolute()
pathlib.Path("boxes.yaml").write_text(f"path: {path}\ntrain: images/train\nval: images/val\nnames:\n  0: box\n")
model = YOLO("yolo11n.yaml")
model.train(data="boxes.yaml", epochs=3, imgsz=32, batch=4, device="cpu", plots=False, workers=0, project="yolo", amp=False)
