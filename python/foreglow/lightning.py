"""Callback for Lightning 2::

    import foreglow.lightning
    Trainer(callbacks=[foreglow.lightning.ProgressCallback()])
"""

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from foreglow import Progress

__all__ = ["ProgressCallback"]


class ProgressCallback(Callback):
    """Reports the mini-batches of ``fit``."""

    def on_train_start(self, trainer, module):
        batches, epochs, steps = trainer.num_training_batches, trainer.max_epochs, trainer.max_steps
        each = trainer.accumulate_grad_batches
        limits = [steps * each] if steps and steps > 0 else []
        # Both may be unlimited: -1 epochs, infinitely many mini-batches.
        if epochs and epochs > 0 and batches not in (0, float("inf")):
            limits.append(batches * epochs)
        self._progress = Progress(min(limits, default=None))
        # A resumed run has done some of them.
        self._progress.done = trainer.fit_loop.total_batch_idx + 1 if trainer.global_step else 0

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self._progress.report(self._progress.done + 1)

    def on_train_end(self, trainer, module):
        self._progress.flush()
