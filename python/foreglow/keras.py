"""Callback for Keras 3::

    import foreglow.keras
    model.fit(x, y, epochs=10, callbacks=[foreglow.keras.ProgressCallback()])
"""

import keras

from foreglow import Progress

__all__ = ["ProgressCallback"]


class ProgressCallback(keras.callbacks.Callback):
    """Reports the steps of ``fit``."""

    def on_train_begin(self, logs=None):
        steps, epochs = self.params.get("steps"), self.params.get("epochs")
        # Keras counts the mini-batches of all devices.
        self._progress = Progress(steps * epochs if steps and epochs else None)

    def on_train_batch_end(self, batch, logs=None):
        self._progress.report(self._progress.done + 1)

    def on_train_end(self, logs=None):
        self._progress.flush()
