"""Tests of the predictor with the installed wheel, in an environment that has pandas.

    python python/tests/test_predictor.py
"""

import doctest
import itertools
import json
import subprocess
import unittest
from pathlib import Path

import foreglow
import foreglow.predictor
import pandas
from foreglow.__main__ import program

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "bench/paper/samples/resnet50.jsonl"
EXAMPLES = ROOT / "web/assets/example.jsonl"


def command(*words):
    """Returns the JSON of a command."""
    answer = subprocess.run([program(), *map(str, words), "--format", "json"], stdout=subprocess.PIPE, check=True)
    return json.loads(answer.stdout)


class TestSamples(unittest.TestCase):
    def test_fifty_questions_have_the_digits_of_the_command_line(self):
        jobs = [(STUDY, None), *((EXAMPLES, number) for number in (1, 2, 3, 4))]
        asked = list(itertools.product((1, 2, 5, 16, 40), (1, 3)))
        for file, context in jobs:
            predictor = foreglow.Predictor.fit(file, context=context)
            table = pandas.DataFrame(asked, columns=["executors", "cores_per_executor"])
            found = predictor.predict(table)
            job = ["--context", context] if context else []
            for row, (executors, cores) in enumerate(asked):
                expected = command("predict", file, *job, "--executors", executors, "--cores", cores)
                interval = expected["interval"]
                self.assertEqual(found.secs[row], expected["completion_time_secs"])
                self.assertEqual((found.lower_secs[row], found.upper_secs[row]), (interval["lower_secs"], interval["upper_secs"]))

    def test_a_file_its_samples_and_their_frame_are_one(self):
        lines = [json.loads(line) for line in STUDY.read_text().splitlines()]
        question = {"executors": 7, "cores_per_executor": 2, "sampling_rate": 0.5}
        found = [foreglow.Predictor.fit(runs).predict(**question) for runs in (STUDY, lines, pandas.json_normalize(lines))]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_the_plan_is_that_of_the_command_line(self):
        plan = foreglow.plan(STUDY, deadline="30m", cores=[1, 2])
        self.assertEqual(plan.document, command("plan", STUDY, "--deadline", "30m", "--cores", "1,2"))
        self.assertEqual(len(plan.frame()), len(plan.candidates))
        self.assertIsNone(foreglow.plan(STUDY, deadline="1s").recommended)
        self.assertEqual(foreglow.plan("resnet50", images=10**6).document, command("plan", "resnet50", "--images", 10**6))

    def test_what_is_wrong_is_one_sentence(self):
        for asked, sentence in (
            (lambda: foreglow.Predictor.fit(EXAMPLES), "there are several jobs; choose one with context=N or model=NAME"),
            (lambda: foreglow.Predictor.fit(STUDY, model="vgg16"), "no job has this model"),
            (lambda: foreglow.Predictor.fit([{"schema": 1}]), "line 1"),
            (lambda: foreglow.plan(STUDY, deadline="soon"), "--deadline"),
            (lambda: foreglow.Predictor.fit(STUDY).predict(executors=1), "there is no column cores_per_executor"),
            (lambda: foreglow.Predictor.fit(STUDY).predict(executors=1, cores_per_executor=0.5), "whole number from 1"),
            (lambda: foreglow.Predictor.fit(STUDY).predict(executors="two", cores_per_executor=1), "executors"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                asked()
        with self.assertRaises(FileNotFoundError):
            foreglow.Predictor.fit("missing.jsonl")


class TestTable(unittest.TestCase):
    def test_any_form_of_a_table_gives_the_same(self):
        rows = [{"nodes": nodes, "kind": kind, "secs": work / nodes + 5} for nodes in (1, 2, 4, 8) for kind, work in (("a", 100), ("b", 250))]
        frame = pandas.DataFrame(rows)
        columns = {name: list(frame[name]) for name in frame}
        found = [foreglow.Predictor.fit(runs, target="secs", workers="nodes").predict(nodes=6, kind="b") for runs in (rows, frame, columns)]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertAlmostEqual(found[0].secs, 250 / 6 + 5, delta=5)
        self.assertTrue(found[0].lower_secs < found[0].secs < found[0].upper_secs)

    def test_a_frame_of_questions_keeps_its_index(self):
        runs = pandas.DataFrame({"nodes": [1, 2, 3, 4], "secs": [120.0, 60, 40, 30]})
        found = foreglow.Predictor.fit(runs, target="secs", workers=["nodes"]).predict(pandas.DataFrame({"nodes": [5, 6]}, index=["x", "y"]))
        self.assertEqual(list(found.index), ["x", "y"])
        self.assertAlmostEqual(found.secs["y"], 20, delta=1)

    def test_what_is_wrong_is_one_sentence(self):
        runs = {"nodes": [1, 2], "secs": [2, 1]}
        for options, sentence in (
            ({"target": "time"}, "there is no column time; there are nodes, secs"),
            ({"target": "secs", "work": ["rows"]}, "rows has a meaning"),
            ({"work": ["nodes"]}, "give target="),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                foreglow.Predictor.fit(runs, **options)
        with self.assertRaisesRegex(TypeError, "no argument worker;"):
            foreglow.Predictor.fit(runs, target="secs", worker=["nodes"])
        with self.assertRaisesRegex(ValueError, "row 2 has the time"):
            foreglow.Predictor.fit({"nodes": [1, 2], "secs": [2, 0]}, target="secs")

    def test_examples(self):
        self.assertEqual(doctest.testmod(foreglow.predictor).failed, 0)


if __name__ == "__main__":
    unittest.main()
