"""Progress of a training program for Foreglow, in one line.

::

    import foreglow

    for batch in foreglow.track(loader, images=256, epochs=90):
        train(batch)

Foreglow times a program that it starts (``foreglow collect … -- python train.py``), and reads from its
progress what the whole job will take. :func:`track` reports the work of an iteration over mini-batches,
:class:`Progress` any other work. :mod:`foreglow.keras`, :mod:`foreglow.lightning` and
:mod:`foreglow.transformers` have callbacks. Each report is a line of JSON,
``{"foreglow":{"done":512,"of":5000,"unit":"images"}}``, in the file that the environment variable
``FOREGLOW_PROGRESS`` names; ``-`` is the standard output. Without the variable nothing is reported, so
that the calls may stay in the program.

Of several processes, as torchrun, mpirun and srun start them, the first reports for all. This part
needs only Python.

:class:`Predictor` and :func:`plan` predict times from runs, with the digits of the command line;
:mod:`foreglow.predictor` describes them.
"""

import json
import os
import sys
import time

__all__ = ["Plan", "Prediction", "Predictor", "Progress", "plan", "track"]
__version__ = "0.1.0"

#: Environment variable with the file of the reports.
VARIABLE = "FOREGLOW_PROGRESS"
#: Seconds between two reports. The first and the last are always made.
INTERVAL = 0.05
#: Variables with the rank of a process and the number of processes: torchrun, Open MPI, MPICH, Slurm.
RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def __getattr__(name):
    # Loaded when it is asked for, so that a training program that only reports its progress needs
    # no binary.
    if name in ("Plan", "Prediction", "Predictor", "plan"):
        from . import predictor

        return getattr(predictor, name)
    raise AttributeError(f"module 'foreglow' has no attribute {name!r}")


def _number(name):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return None


def _processes():
    """Returns the rank of this process and the number of processes of the job."""
    for rank, size in RANKS:
        found = _number(rank), _number(size)
        if None not in found and 0 <= found[0] < found[1]:
            return found
    return 0, 1


class Progress:
    """Reports how much of a job is done.

    :param of: units of the whole job in all processes. Without it Foreglow takes those of its command
        line (``--images`` × ``--epochs``, or ``--steps``).
    :param unit: name of a unit of work, such as ``images``, ``tokens`` or ``steps``.

    ``done`` counts the units of all processes.

    >>> progress = Progress(of=1000, unit="tokens")
    >>> progress.advance(10)
    >>> progress.done
    10
    """

    def __init__(self, of=None, unit="steps"):
        if of is not None and not of > 0:
            raise ValueError(f"of is {of}; give the units of the whole job, above 0, or leave it out")
        self.of = of
        self.unit = unit
        self.done = 0
        rank, self._processes = _processes()
        path = os.environ.get(VARIABLE) if rank == 0 else None
        # Each line is written at once, so that it survives the end of the process.
        self._file = sys.stdout if path == "-" else path and open(path, "a", encoding="utf-8", buffering=1)
        self._due = 0.0

    def advance(self, units=1):
        """Adds units that this process has done; the other processes are taken to do as many."""
        self.report(self.done + units * self._processes)

    def report(self, done):
        """Sets the units that all processes have done."""
        self.done = done
        if self._file:
            now = time.monotonic()
            if now >= self._due or done == self.of:
                self._due = now + INTERVAL
                self.flush()

    def flush(self):
        """Reports the last work, if a recent report left it out."""
        if not self._file:
            return
        line = {"done": self.done, "of": self.of, "unit": self.unit}
        text = json.dumps({"foreglow": {name: value for name, value in line.items() if value is not None}})
        try:
            # Not through the buffer of the standard output: if that is closed, Python would try to
            # write what it holds again at its end, and exit with 120.
            self._file.flush()
            os.write(self._file.fileno(), f"{text}\n".encode())
        except (OSError, ValueError):
            # A closed pipe or a full disk must not end a training.
            self._file = None


#: The progress of the iterations of this process, which continues from epoch to epoch.
_tracked = {}


def track(batches, images=None, *, epochs=None, of=None, unit=None):
    """Iterates over mini-batches and reports each as done when the next one is asked for.

    :param batches: an iterable. Its length, if it has one, and ``epochs`` are the whole job.
    :param images: units of a mini-batch in this process. Without it, mini-batches are counted.
    :param epochs: iterations of the whole job. The work of several iterations is added.
    :param of: units of the whole job in all processes, in place of the length and ``epochs``.
    :param unit: name of a unit, ``images`` if they are given, else ``steps``.

    >>> [number for number in track([1, 2, 3], images=64, epochs=2)]
    [1, 2, 3]
    """
    each = 1 if images is None else images
    unit = unit or ("steps" if images is None else "images")
    progress = _tracked.get(unit)
    if progress is None:
        progress = _tracked[unit] = Progress(of, unit)
        if of is None and epochs and hasattr(batches, "__len__"):
            progress.of = len(batches) * each * epochs * progress._processes or None
    try:
        for batch in batches:
            yield batch
            progress.advance(each)
    finally:
        progress.flush()
