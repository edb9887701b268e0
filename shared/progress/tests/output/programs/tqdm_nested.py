import time

from tqdm import tqdm

time.sleep(0.5)
for epoch in tqdm(range(3), desc="Epochs"):
    for step in tqdm(range(40), desc="train", leave=False):
        time.sleep(0.03 if step else 0.3)
    for step in tqdm(range(5), desc="valid", leave=False):
        time.sleep(0.02)
