"""Lightning's Trainer on random data, with its own bar and its CSV logger."""

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(64, 1)

    def training_step(self, batch, _):
        loss = ((self.line(batch[0]) - batch[1]) ** 2).mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", ((self.line(batch[0]) - batch[1]) ** 2).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def loader(count):
    return DataLoader(TensorDataset(torch.rand(count, 64), torch.rand(count, 1)), batch_size=4)


trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", logger=CSVLogger("lightning"), log_every_n_steps=10)
trainer.fit(Line(), loader(240), loader(40))
