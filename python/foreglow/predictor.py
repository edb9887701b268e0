"""The predictor and the plan of Foreglow, for notebooks and scripts.

::

    import foreglow

    predictor = foreglow.Predictor.fit("samples.jsonl")
    predictor.predict(executors=4, cores_per_executor=2)

    plan = foreglow.plan("samples.jsonl", deadline="30m")
    plan.recommended, plan.frame()

The numbers are those of the command line, digit by digit. pandas is needed only where a data frame is
asked for.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple, Optional

from .__main__ import program

try:
    from ._native import FittedPredictor
except ImportError as error:
    raise ImportError(
        "the predictor is not in this installation of foreglow; install the wheel with: pip install --force-reinstall foreglow"
    ) from error

#: Options of :meth:`Predictor.fit` that give the meaning of numeric columns.
MEANINGS = ("work", "workers", "cores", "replicas")


class Prediction(NamedTuple):
    """A predicted completion time.

    :ivar secs: seconds; ``None`` if the runs do not determine the time, which the warnings explain.
    :ivar lower_secs: lower end of the interval with a nominal probability of 90 %, seconds; ``None`` if the
        runs are too few for it.
    :ivar upper_secs: its upper end.
    :ivar warnings: sentences.
    """

    secs: Optional[float]
    lower_secs: Optional[float]
    upper_secs: Optional[float]
    warnings: list


class Predictor:
    """A predictor that was fitted to runs; :meth:`fit` makes one.

    >>> runs = {"nodes": [1, 2, 3, 4], "secs": [120, 60, 40, 30]}
    >>> predictor = Predictor.fit(runs, target="secs", workers=["nodes"])
    >>> 19 < predictor.predict(nodes=6).secs < 21
    True
    """

    def __init__(self, fitted, columns):
        self._fitted = fitted
        self._columns = columns

    @classmethod
    def fit(cls, runs, target=None, *, model=None, context=None, features=None, censored=None, **meanings):
        """Fits runs.

        :param runs: without ``target``, timing samples of one job: the path of a file (JSON Lines or CSV), a
            list of samples as dictionaries, or a data frame with the columns of such a CSV. With
            ``target``, any table of runs: a data frame, a dictionary of columns or a list of dictionaries.
        :param target: the column with the time of each run, seconds.
        :param model: the model of the job, if the samples have several.
        :param context: the number of the job, as ``foreglow`` lists them, if the samples have several.
        :param features: the columns that the time may depend on, by default all others.
        :param censored: the column that is true where the time is only a lower bound.
        :param meanings: names of numeric columns of which the meaning is known: ``work`` (images, a share
            of the data), ``workers`` (machines, processes), ``cores`` (of one machine) and ``replicas``
            (GPUs that average gradients).
        :raises ValueError: the runs cannot be fitted; the message says what to do.
        """
        if target is None:
            if features or censored or meanings:
                raise ValueError("features, censored and the meanings of columns are for a table of runs; give target= as well")
            return cls(FittedPredictor.from_samples(_content(runs), model, context), None)
        unknown = set(meanings) - set(MEANINGS)
        if unknown:
            raise TypeError(f"fit() has no argument {sorted(unknown)[0]}; columns are {', '.join(MEANINGS)}")
        table = _columns(runs)
        names = list(features or (name for name in table if name not in (target, censored)))
        for name in [target, *names, *([censored] if censored else [])]:
            if name not in table:
                raise ValueError(f"there is no column {name}; there are {', '.join(map(str, table))}")
        known = [(name, meaning) for meaning, named in meanings.items() for name in ([named] if isinstance(named, str) else named)]
        for name, _ in known:
            if name not in names:
                raise ValueError(f"the column {name} has a meaning and is not among the features; add it to features")
        bounds = [bool(value) for value in table[censored]] if censored else [False] * len(table[target])
        secs = [float(value) for value in table[target]]
        return cls(FittedPredictor.from_table(_cells(table, names), secs, bounds, known), names)

    @property
    def warnings(self):
        """What the runs themselves say against the predictions, as sentences."""
        return self._fitted.warnings

    def predict(self, questions=None, /, **question):
        """Predicts the time of whole jobs.

        A question about timing samples has ``executors``, ``cores_per_executor`` and, unless it is 1,
        ``sampling_rate``; one about a table has its features.

        :param questions: a data frame, a dictionary of columns, or a list of dictionaries.
        :param question: in place of it, a single question.
        :returns: for a data frame, one with the columns ``secs``, ``lower_secs``, ``upper_secs`` and
            ``warnings`` and the same index; for a single question a :class:`Prediction`, else a list.
        :raises ValueError: a question lacks a value or has an invalid one.
        """
        if (questions is None) == (not question):
            raise TypeError("predict() takes a table of questions, or the values of one question by name")
        table = {name: [value] for name, value in question.items()} if questions is None else _columns(questions)
        names = [name for name in table if self._columns is None or name in self._columns]
        if not names:
            raise ValueError("the questions have none of the columns of the runs")
        answers = [Prediction(*row) for row in self._fitted.predict(_cells(table, names))]
        if questions is None:
            return answers[0]
        if _is_frame(questions):
            return type(questions)(answers, columns=Prediction._fields, index=questions.index)
        return answers


class Plan:
    """The answer of ``foreglow plan``.

    :ivar document: the answer as a dictionary; docs/answers.md lists its fields.
    """

    def __init__(self, document):
        self.document = document

    @property
    def recommended(self):
        """The recommended candidate, a dictionary; ``None`` if none meets the limits."""
        return self.document["recommended"]

    @property
    def candidates(self):
        """All candidates, a list of dictionaries."""
        return self.document["candidates"]

    def frame(self):
        """Returns the candidates as a data frame.

        :raises ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("a data frame needs pandas; install it with: pip install pandas, or use candidates") from error
        return pandas.json_normalize(self.candidates)


def plan(runs, **options):
    """Finds the cheapest configuration that meets a deadline.

    :param runs: timing samples as in :meth:`Predictor.fit`, or a path of anything else that
        ``foreglow plan`` reads, or the name of a network without samples.
    :param options: the options of ``foreglow plan``, with ``_`` for ``-``: ``deadline="30m"``,
        ``budget=5``, ``cores=[1, 2, 4]``, ``public=True``.
    :returns: a :class:`Plan`.
    :raises ValueError: the question or the runs are invalid; the message says what to do.
    """
    words = [word for name, value in options.items() for word in _option(name, value)]
    with tempfile.TemporaryDirectory(prefix="foreglow-") as folder:
        if not isinstance(runs, (str, os.PathLike)):
            content = _content(runs)
            runs = os.path.join(folder, "samples")
            with open(runs, "wb") as file:
                file.write(content)
        command = [program(), "plan", *words, "--format", "json", "--", os.fspath(runs)]
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    # Without a recommended configuration there is an answer, too.
    if answer.stdout.strip():
        return Plan(json.loads(answer.stdout))
    raise ValueError(answer.stderr.decode(errors="replace").strip())


def _option(name, value):
    """Returns the words of an option of the command line."""
    word = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [word]
    values = value if isinstance(value, (list, tuple)) else [value]
    return [f"{word}={','.join(map(str, values))}"]


def _is_frame(table):
    """Whether a table is a data frame of pandas, which is not imported for this."""
    return all(hasattr(table, name) for name in ("columns", "index", "to_csv"))


def _content(samples):
    """Returns the content of a file of samples."""
    if isinstance(samples, (str, os.PathLike)):
        with open(samples, "rb") as file:
            return file.read()
    if _is_frame(samples):
        return samples.to_csv(index=False).encode()
    return "\n".join(json.dumps(sample) for sample in samples).encode()


def _columns(table):
    """Returns the columns of a table by name."""
    if _is_frame(table):
        return {name: table[name].tolist() for name in table.columns}
    if isinstance(table, Mapping):
        return {name: list(values) for name, values in table.items()}
    rows = list(table)
    names = list(dict.fromkeys(name for row in rows for name in row))
    try:
        return {name: [row[name] for row in rows] for name in names}
    except KeyError as error:
        raise ValueError(f"a row has no {error.args[0]}; give each row a value") from None


def _cells(table, names):
    """Returns columns as numbers or as names."""

    def cells(values):
        is_number = all(isinstance(value, Real) for value in values)
        return [float(value) for value in values] if is_number else [str(value) for value in values]

    return [(str(name), cells(table[name])) for name in names]
