"""Input of the public training programs: generated images and texts in the forms that they read.

    python bench/programs/data.py CLONES FOLDER

Images are noise with a bright square whose place is the class. Texts are those of PyTorch's example of
a word language model. The language model of the Trainer's script is a GPT-2 with two small layers.
"""

import gzip
import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
from PIL import Image

random = np.random.default_rng(0)


def images(count, side, classes):
    """Grey images of `side` × `side` pixels and their classes."""
    labels = random.integers(0, classes, count).astype(np.uint8)
    pixels = random.integers(0, 64, (count, side, side), dtype=np.uint8)
    step = side // (classes + 1)
    for image, label in zip(pixels, labels):
        image[label * step : (label + 2) * step, side // 4 : side // 2] += 150
    return pixels, labels


def mnist(folder):
    """Files of MNIST for torchvision, 600 and 100 images."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 600), ("t10k", 100)):
        pixels, labels = images(count, 28, 10)
        for file, magic, shape, data in ((f"{name}-images-idx3-ubyte", 2051, (count, 28, 28), pixels), (f"{name}-labels-idx1-ubyte", 2049, (count,), labels)):
            content = struct.pack(f">I{len(shape)}I", magic, *shape) + data.tobytes()
            (folder / file).write_bytes(content)
            with gzip.open(folder / f"{file}.gz", "wb") as packed:
                packed.write(content)


def class_folders(folder, counts, side, classes):
    """Folders of classes with JPEGs, for training and validation."""
    for part, count in counts.items():
        pixels, labels = images(count, side, classes)
        for index, (image, label) in enumerate(zip(pixels, labels)):
            file = folder / part / f"class{label}" / f"{index}.jpeg"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).convert("RGB").save(file)


def language_model(folder, texts):
    """A small GPT-2, its tokenizer, and instructions of some words each."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2Tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train([str(texts)], vocab_size=2000, special_tokens=["<|endoftext|>"])
    tokenizer.save_model(str(folder))
    GPT2Tokenizer(str(folder / "vocab.json"), str(folder / "merges.txt")).save_pretrained(folder)
    GPT2LMHeadModel(GPT2Config(vocab_size=2000, n_positions=256, n_embd=128, n_layer=2, n_head=4)).save_pretrained(folder)
    words = texts.read_text().split()
    examples = [{"instruction": " ".join(words[at : at + 12]), "input": "", "output": " ".join(words[at + 12 : at + 60])} for at in range(0, 60 * 800, 60)]
    (folder / "instructions.json").write_text(json.dumps(examples))


def main():
    clones, folder = Path(sys.argv[1]), Path(sys.argv[2])
    texts = clones / "examples/word_language_model/data/wikitext-2"
    mnist(clones / "examples/data/MNIST/raw")
    class_folders(folder / "folders", {"train": 40, "val": 8}, 256, 4)
    class_folders(folder / "small-folders", {"train": 192, "val": 32}, 96, 4)
    words = folder / "words"
    words.mkdir(parents=True, exist_ok=True)
    for part, lines in (("train", 350), ("valid", 30), ("test", 30)):
        (words / f"{part}.txt").write_text("".join((texts / "valid.txt").read_text().splitlines(keepends=True)[:lines]))
    shutil.copy(texts / "test.txt", clones / "nanoGPT/data/shakespeare_char/input.txt")
    language_model(folder / "gpt2", texts / "test.txt")


if __name__ == "__main__":
    main()
