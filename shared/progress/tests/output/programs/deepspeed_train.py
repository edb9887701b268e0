"""DeepSpeed on the processor, on random data; it reports every 5 steps.

Run it with the launcher of DeepSpeed or with RANK=0 WORLD_SIZE=1 LOCAL_RANK=0.
"""

import deepspeed
import torch

deepspeed.utils.logging.set_log_level_from_string("info")
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
configuration = {
    "train_micro_batch_size_per_gpu": 4,
    "steps_per_print": 5,
    "wall_clock_breakdown": False,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
}
data = torch.utils.data.TensorDataset(torch.rand(200, 64), torch.rand(200, 1))
engine, _, loader, _ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), training_data=data, config=configuration
)
for epoch in range(2):
    for inputs, targets in loader:
        loss = ((engine(inputs) - targets) ** 2).mean()
        engine.backward(loss)
        engine.step()
