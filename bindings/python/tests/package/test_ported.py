"""Whole scripts (examples/ported) in the usual form of PyTorch's: only imports differ, and losses
agree with PyTorch's, or with those that PyTorch 1.13 gave (recorded/ported.json)."""
import contextlib
import io
import pathlib
import re
import sys
import unittest
import warnings

import numpy as np

import records
from oracle import needs_torch

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ported"
STEPS = 50
# The lines of a script in which Weft's name stands.
IMPORT = re.compile(r"^(import weft(\.[\w.]+)? as \w+|from weft(\.[\w.]+)? import .*)$")


def scripts():
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "first_values")


def in_pytorch(text):
    """The script with PyTorch's imports."""
    return re.sub(r"^(import|from) weft( as torch)?\b", r"\1 torch", text, flags=re.MULTILINE)


def with_adam(text, dtype, eps):
    """The script wgan_gp with Adam in the place of SGD."""
    text = re.sub(r"\bSGD\b", "Adam", text)
    text = text.replace("lr=0.01, momentum=0.5", f"lr=1e-3, betas=(0.5, 0.9), eps={eps}")
    text = text.replace("(Generator(), 2)", f"(Generator(), 2).to(torch.{dtype})")
    text = text.replace("(Critic(), 3)", f"(Critic(), 3).to(torch.{dtype})")
    text = text.replace("size(0), 1)", f"size(0), 1, dtype=torch.{dtype})")
    return text.replace("np.float32", f"np.{dtype}")


def losses(name, text):
    names = {"__name__": name}
    sys.path.insert(0, str(FOLDER))
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, f"{name}.py", "exec"), names)
            return names["main"](STEPS)
    finally:
        sys.path.remove(str(FOLDER))


class Ported(unittest.TestCase):
    def test_only_imports_speak_of_weft(self):
        self.assertGreaterEqual(len(scripts()), 8)
        for name in scripts():
            lines = (FOLDER / f"{name}.py").read_text().splitlines()
            speaking = [line for line in lines if "weft" in line.lower()]
            self.assertEqual([line for line in speaking if not IMPORT.match(line)], [], name)
            self.assertIn("import weft as torch", speaking, name)

    def test_losses_are_those_that_were_recorded(self):
        recorded = records.read("ported")
        self.assertEqual(sorted(set(recorded) - {"torch"}), scripts())
        for name in scripts():
            with self.subTest(name):
                got = losses(name, (FOLDER / f"{name}.py").read_text())
                self.assertGreaterEqual(len(got), STEPS)
                np.testing.assert_allclose(got, recorded[name], rtol=1e-4, atol=1e-4)

    @needs_torch
    def test_what_was_recorded_is_what_pytorch_gives(self):
        recorded = records.read("ported")
        for name in scripts():
            with self.subTest(name):
                text = in_pytorch((FOLDER / f"{name}.py").read_text())
                self.assertNotIn("weft", text.lower())
                np.testing.assert_allclose(losses(name, text), recorded[name], rtol=1e-4,
                                           atol=1e-4)

    @needs_torch
    def test_adam_over_second_derivatives(self):
        """Some gradients of the critic are 0 but for rounding, which Adam scales to steps of lr
        unless eps is above it: in float32 losses agree with such an eps, in float64 with any."""
        text = (FOLDER / "wgan_gp.py").read_text()
        for dtype, eps, tolerance in (("float64", 1e-8, 1e-9), ("float64", 1e-3, 1e-12),
                                      ("float32", 1e-3, 1e-5)):
            with self.subTest(dtype, eps=eps):
                script = with_adam(text, dtype, eps)
                mine = losses("wgan_gp", script)
                theirs = losses("wgan_gp", in_pytorch(script))
                self.assertGreater(max(theirs) - min(theirs), 0.1)
                np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
