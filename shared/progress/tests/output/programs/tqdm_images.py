import time

from tqdm import tqdm

with tqdm(total=20_000, unit="img", unit_scale=True) as bar:
    for _ in range(100):
        time.sleep(0.02)
        bar.update(200)
for _ in tqdm(iter(range(50))):
    time.sleep(0.001)
