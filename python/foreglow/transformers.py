"""Callback for the Trainer of Hugging Face::

    import foreglow.transformers
    Trainer(..., callbacks=[foreglow.transformers.ProgressCallback()])
"""

from transformers import TrainerCallback

from foreglow import Progress

__all__ = ["ProgressCallback"]


class ProgressCallback(TrainerCallback):
    """Reports the optimiser's steps of ``train``."""

    def on_train_begin(self, args, state, control, **kwargs):
        self._progress = Progress(state.max_steps if state.max_steps > 0 else None)

    def on_step_end(self, args, state, control, **kwargs):
        self._progress.report(state.global_step)

    def on_train_end(self, args, state, control, **kwargs):
        self._progress.flush()
