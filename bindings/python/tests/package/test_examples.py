"""The examples: the ports differ from the PyTorch scripts in imports alone, and learn the same."""
import difflib
import importlib.util
import pathlib
import unittest

import weft
from oracle import assert_close, needs_torch

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
OTHER_LINES_MAX = 5


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changed_lines(name):
    """The lines of the port that the PyTorch script does not have."""
    ours, theirs = ((EXAMPLES / f"{prefix}{name}.py").read_text().splitlines()
                    for prefix in ("", "torch_"))
    return [line[2:] for line in difflib.ndiff(theirs, ours) if line.startswith("+ ")]


class Ports(unittest.TestCase):
    def test_only_imports_and_few_other_lines_differ(self):
        for name in ("cnn", "char_gpt"):
            changed = changed_lines(name)
            imports = [line for line in changed if "import" in line]
            self.assertGreater(len(imports), 0)
            self.assertLessEqual(len(changed) - len(imports), OTHER_LINES_MAX)

    def test_they_learn(self):
        losses, accuracy, _ = example("cnn").train(64)
        self.assertLess(losses[-1], losses[0] / 2)
        self.assertGreater(accuracy, 0.8)
        losses, _ = example("char_gpt").train(60)
        self.assertLess(losses[-1], losses[0] / 4)

    @needs_torch
    def test_equal_weights_and_data_give_equal_loss_curves(self):
        weft.manual_seed(1)
        weights = {name: value.numpy() for name, value in example("cnn").Net().state_dict().items()}
        got, accuracy, model = example("cnn").train(24, weights)
        want, wanted_accuracy, reference = example("torch_cnn").train(24, weights)
        assert_close(got, want, 1e-4, 1e-4)
        self.assertAlmostEqual(accuracy, wanted_accuracy, delta=0.02)
        for name, value in reference.state_dict().items():
            assert_close(model.state_dict()[name], value, 1e-1, 2e-2)

    @needs_torch
    def test_the_same_of_the_gpt(self):
        module = example("char_gpt")
        weft.manual_seed(1)
        gpt = module.GPT(len(set(module.TEXT)))
        weights = {name: value.numpy() for name, value in gpt.state_dict().items()}
        got, _ = module.train(24, weights)
        want, _ = example("torch_char_gpt").train(24, weights)
        assert_close(got, want, 1e-4, 1e-4)
