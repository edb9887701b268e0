"""Tests of the module; those of a library's callback need the library.

    PYTHONPATH=python python python/tests/test_progress.py
"""

import doctest
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import foreglow

FOLDER = Path(__file__).resolve().parents[1]


def reports(code, **variables):
    """Runs a program and returns what it reported."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "progress"
        variables = {"FOREGLOW_PROGRESS": str(file), "PYTHONPATH": str(FOLDER), **variables}
        subprocess.run([sys.executable, "-c", code], env={**os.environ, **variables}, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        return [json.loads(line)["foreglow"] for line in file.read_text().splitlines()] if file.exists() else []


def needs(library):
    return unittest.skipUnless(importlib.util.find_spec(library), f"{library} is not installed")


class TestProgram(unittest.TestCase):
    def said(self, content):
        """Returns what the module says about a program with this content."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "foreglow"
            program.write_bytes(content)
            program.chmod(0o755)
            code = f"from foreglow import __main__ as main; main.program = lambda: {str(program)!r}; main.main()"
            run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(FOLDER)}, stderr=subprocess.PIPE)
            self.assertEqual(run.returncode, 1)
            return run.stderr.decode()

    @unittest.skipIf(os.name == "nt", "Windows starts a program in another way")
    def test_a_program_that_cannot_run_here_is_one_sentence(self):
        self.assertRegex(self.said(b"#!/missing/loader\n"), r"^foreglow: .* needs the GNU C library, .*\n$")
        self.assertRegex(self.said(b"\x7fELF of another processor"), r"^foreglow: .* cannot run here \(Exec format error\); .*\n$")

    def test_a_frame_without_pandas_says_what_to_install(self):
        native = mock.Mock()
        with mock.patch.dict(sys.modules, {"foreglow._native": native, "pandas": None}):
            from foreglow.predictor import Plan

            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                Plan({"candidates": []}).frame()


class TestTrack(unittest.TestCase):
    def test_each_batch_is_reported_with_the_units_of_the_job(self):
        found = reports("import foreglow; foreglow.INTERVAL = 0; list(foreglow.track([1, 2], images=64, epochs=3))")
        self.assertEqual(found[0], {"done": 64, "of": 384, "unit": "images"})
        self.assertEqual(found[-1]["done"], 128)

    def test_epochs_continue(self):
        found = reports("import foreglow\nfor epoch in range(3): list(foreglow.track(range(5), epochs=3))")
        self.assertEqual(found[-1], {"done": 15, "of": 15, "unit": "steps"})

    def test_a_loop_that_is_left_early_reports_what_it_did(self):
        found = reports("import foreglow\nfor at in foreglow.track(range(100)):\n  if at == 7: break")
        self.assertEqual(found[-1], {"done": 7, "unit": "steps"})

    def test_reports_are_far_fewer_than_batches(self):
        found = reports("import foreglow; list(foreglow.track(range(200000)))")
        self.assertLess(len(found), 200)
        self.assertEqual(found[-1]["done"], 200000)

    def test_the_first_of_several_processes_reports_for_all(self):
        code = "import foreglow; list(foreglow.track(range(4), images=8, epochs=1))"
        self.assertEqual(reports(code, RANK="0", WORLD_SIZE="2")[-1], {"done": 64, "of": 64, "unit": "images"})
        self.assertEqual(reports(code, RANK="1", WORLD_SIZE="2"), [])
        self.assertEqual(reports(code, SLURM_PROCID="3", SLURM_NTASKS="4"), [])

    def test_nothing_is_reported_without_foreglow(self):
        code = "import os; os.environ.pop('FOREGLOW_PROGRESS'); import foreglow; list(foreglow.track(range(3)))"
        self.assertEqual(reports(code), [])

    def test_a_closed_output_does_not_end_the_program(self):
        code = "import os, foreglow; p = foreglow.Progress(); os.close(1); p.report(1); p.report(2)"
        self.assertEqual(reports(code, FOREGLOW_PROGRESS="-"), [])

    def test_a_job_of_no_units_is_refused(self):
        with self.assertRaisesRegex(ValueError, "of is 0; give the units of the whole job"):
            foreglow.Progress(of=0)

    def test_examples(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("FOREGLOW_PROGRESS", None)
            self.assertEqual(doctest.testmod(foreglow).failed, 0)


class TestCallbacks(unittest.TestCase):
    @needs("keras")
    def test_keras(self):
        found = reports(
            "import numpy, keras, foreglow.keras\n"
            "model = keras.Sequential([keras.layers.Dense(1)])\n"
            "model.compile(loss='mse')\n"
            "x = numpy.zeros((100, 3))\n"
            "model.fit(x, x[:, :1], batch_size=10, epochs=2, verbose=0, callbacks=[foreglow.keras.ProgressCallback()])"
        )
        self.assertEqual(found[-1], {"done": 20, "of": 20, "unit": "steps"})

    @needs("transformers")
    @needs("torch")
    def test_transformers(self):
        found = reports(
            "import torch, transformers, foreglow.transformers\n"
            "class Model(torch.nn.Module):\n"
            "    def __init__(self): super().__init__(); self.layer = torch.nn.Linear(3, 1)\n"
            "    def forward(self, x): return {'loss': self.layer(x).mean()}\n"
            "args = transformers.TrainingArguments('out', max_steps=12, per_device_train_batch_size=5, report_to='none', use_cpu=True, save_strategy='no')\n"
            "data = [{'x': torch.zeros(3)}] * 40\n"
            "transformers.Trainer(Model(), args, train_dataset=data, callbacks=[foreglow.transformers.ProgressCallback()]).train()",
            USE_TF="0",
        )
        self.assertEqual(found[-1], {"done": 12, "of": 12, "unit": "steps"})

    @needs("lightning")
    def test_lightning(self):
        found = reports(
            "import torch, lightning, foreglow.lightning\n"
            "class Model(lightning.LightningModule):\n"
            "    def __init__(self): super().__init__(); self.layer = torch.nn.Linear(3, 1)\n"
            "    def training_step(self, batch, index): return self.layer(batch).mean()\n"
            "    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.1)\n"
            "loader = torch.utils.data.DataLoader(torch.zeros(40, 3), batch_size=5)\n"
            "callbacks = [foreglow.lightning.ProgressCallback()]\n"
            "lightning.Trainer(max_epochs=2, accelerator='cpu', logger=False, callbacks=callbacks, enable_checkpointing=False).fit(Model(), loader)"
        )
        self.assertEqual(found[-1], {"done": 16, "of": 16, "unit": "steps"})


if __name__ == "__main__":
    unittest.main()
