"""Hugging Face's Trainer, with evaluations, on random data."""

import torch
from transformers import Trainer, TrainingArguments


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(64, 1)

    def forward(self, x, labels=None):
        logits = self.line(x)
        return {"loss": ((logits - labels) ** 2).mean(), "logits": logits}


def rows(count):
    return [{"x": torch.rand(64), "labels": torch.rand(1)} for _ in range(count)]


arguments = TrainingArguments(
    "trainer",
    num_train_epochs=3,
    per_device_train_batch_size=4,
    logging_steps=10,
    eval_strategy="epoch",
    save_strategy="epoch",
    report_to=["tensorboard"],
    use_cpu=True,
    dataloader_pin_memory=False,
)
trainer = Trainer(model=Line(), args=arguments, train_dataset=rows(160), eval_dataset=rows(40))
result = trainer.train()
trainer.save_metrics("train", result.metrics)  # Also writes all_results.json.
trainer.save_state()
