# A small training with Keras, whose argument is the number of steps.
import sys

import keras
import numpy

steps = int(sys.argv[1])
x = numpy.random.default_rng(0).random((steps * 32, 64), dtype=numpy.float32)
layers = [keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(1)]
model = keras.Sequential(layers)
model.compile(optimizer="adam", loss="mse")
model.fit(x, x.mean(axis=1), batch_size=32)
