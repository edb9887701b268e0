import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy

images = numpy.random.rand(1200, 28, 28, 1).astype("float32")
labels = numpy.random.randint(0, 10, 1200)
model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
verbose = int(sys.argv[1])
model.fit(images, labels, batch_size=16, epochs=3, validation_split=0.1, verbose=verbose)
