"""What helps to find a mistake: the first NaN, parameters that do not learn, words of messages."""
import io
import math
import pathlib
import tempfile
import unittest
import warnings

import numpy as np

import weft
from weft import nn
from weft.nn import functional as F
from oracle import needs_torch


def line_of(text):
    """FILE:LINE of the one line of this file with `# text`."""
    lines = pathlib.Path(__file__).read_text().splitlines()
    at, = [i + 1 for i, line in enumerate(lines) if line.endswith("# " + text)]
    return f"{__file__}:{at} in "


class Anomalies(unittest.TestCase):
    def test_the_forward_that_makes_one_is_named(self):
        x = weft.tensor([1.0, 0.0], requires_grad=True)
        with weft.autograd.detect_anomaly(), self.assertRaises(weft.AnomalyError) as caught:
            y = x * 2
            y.log()  # the forward
        text = str(caught.exception)
        for part in ('the forward of "log"', "element 1 is -inf", "all finite", "weft.float32",
                     line_of("the forward")):
            self.assertIn(part, text)
        self.assertIsInstance(caught.exception, RuntimeError)

    def test_the_backward_that_makes_one_tells_its_forward(self):
        x = weft.tensor([4.0, 0.0], requires_grad=True)

        def loss():
            root = x.sqrt()  # the root
            return (root * 2).sum()

        with weft.autograd.detect_anomaly():
            made = loss()
            with self.assertRaises(weft.AnomalyError) as caught:
                made.backward()
        text = str(caught.exception)
        for part in ('the backward of "sqrt"', "element 1 is inf", line_of("the root") + "loss"):
            self.assertIn(part, text)
        made = loss()
        with self.assertRaisesRegex(weft.AnomalyError, 'the backward of "sqrt"[^;]*$'):
            with weft.autograd.detect_anomaly():
                made.backward()

    def test_the_line_is_the_programs_and_not_a_layers(self):
        class Root(nn.Module):
            def forward(self, x):
                return F.normalize(x, eps=0.0)  # the layer

        model = nn.Sequential(nn.Linear(2, 2, bias=False), Root())
        with weft.autograd.detect_anomaly(), self.assertRaises(weft.AnomalyError) as caught:
            model(weft.zeros(1, 2))
        self.assertIn(line_of("the layer") + "forward", str(caught.exception))

    def test_masks_are_no_anomaly_and_what_comes_of_rows_of_them_is(self):
        scores = weft.zeros(2, 3, requires_grad=True)
        mask = weft.tensor([[False, True, True], [False, False, True]])
        query = weft.randn(1, 2, 3, 4)
        with weft.autograd.detect_anomaly():
            weights = F.softmax(scores.masked_fill(mask, -math.inf), -1)
            weights.sum().backward()
            F.softmax(scores.detach() + weft.tensor([0.0, -math.inf, 0.0]), -1)
            F.scaled_dot_product_attention(query, query, query, is_causal=True)
            with self.assertRaisesRegex(weft.AnomalyError, "is -?nan"):
                weft.tensor([-math.inf]) + weft.tensor([math.inf])

    def test_what_is_written_in_place_is_looked_at(self):
        with weft.autograd.detect_anomaly():
            x = weft.ones(2, requires_grad=True) * 1
            with self.assertRaisesRegex(weft.AnomalyError, "_\" gave"):
                x.mul_(weft.tensor([1.0, 3e38])).mul_(weft.tensor([1.0, 3e38]))

    def test_it_is_on_where_it_was_asked_for(self):
        enabled = weft.autograd.is_anomaly_enabled
        self.assertFalse(enabled())
        with weft.autograd.detect_anomaly():
            self.assertTrue(enabled())
            with weft.autograd.set_detect_anomaly(False):
                self.assertFalse(enabled())
            self.assertTrue(enabled())
        self.assertFalse(enabled())
        mode = weft.autograd.detect_anomaly()
        self.assertFalse(enabled())
        weft.autograd.set_detect_anomaly(True, check_infinity=False)
        try:
            weft.tensor([0.0]).log()
            with self.assertRaisesRegex(weft.AnomalyError, "is -?nan"):
                weft.tensor([-1.0]).log()
            with self.assertRaises(KeyError), mode:
                raise KeyError
            self.assertTrue(enabled())
        finally:
            weft.autograd.set_detect_anomaly(False)
        self.assertFalse(enabled())
        weft.tensor([-1.0]).log()
        with weft.autograd.detect_anomaly(check_nan=False):
            weft.tensor([-1.0]).log()


class Gradients(unittest.TestCase):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 2)
            self.dead, self.frozen = nn.Linear(2, 1), nn.Linear(2, 2)
            for parameter in self.frozen.parameters():
                parameter.requires_grad_(False)

        def forward(self, x):
            return self.used(self.frozen(x)).sum() + F.relu(self.dead(x) - 1e6).sum()

    def test_parameters_that_do_not_learn_are_named(self):
        model = self.Model()
        model(weft.randn(3, 2)).backward()
        with self.assertWarnsRegex(UserWarning, "unused.weight: no gradient") as caught:
            found = weft.check_gradients(model)
        self.assertEqual(caught.filename, __file__)
        self.assertEqual(list(found), ["unused.weight", "unused.bias", "dead.weight", "dead.bias"])
        self.assertIn("zeros", found["dead.bias"])
        for name in ("unused", "dead"):
            for parameter in getattr(model, name).parameters():
                parameter.grad = weft.ones(*parameter.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(weft.check_gradients(model), {})
        for wrong in (math.nan, math.inf):
            model.dead.bias.grad = weft.tensor([wrong])
            with self.assertWarns(UserWarning):
                self.assertIn("not finite", weft.check_gradients(model)["dead.bias"])


class Words(unittest.TestCase):
    def refused(self, call):
        with self.assertRaises(weft.InvalidArgumentError) as caught:
            call()
        text = str(caught.exception)
        for word in ("keep_graph", "NoGrad", "concat", "f32", "i64", "i32"):
            self.assertNotRegex(text, rf"(?<![.\w]){word}\b")
        return text

    def test_are_those_of_the_program(self):
        x = weft.ones(2, requires_grad=True)
        used = (x * x).sum()
        used.backward()
        self.assertIn("retain_graph=True", self.refused(used.backward))
        for write in (lambda: x.add_(1), lambda: x.mul_(x), lambda: x.zero_()):
            self.assertIn("within weft.no_grad()", self.refused(write))
        self.assertIn("weft.no_grad()", self.refused(weft.ones(1).backward))
        self.assertIn("[cat]", self.refused(lambda: weft.cat([weft.ones(2, 2), weft.ones(3, 3)])))
        self.assertIn("[view]", self.refused(lambda: weft.ones(2, 3).view(4)))
        self.assertIn("[reshape]", self.refused(lambda: weft.ones(2, 3).reshape(4)))
        self.assertIn("weft.int64 tokens, got weft.float32",
                      self.refused(lambda: F.embedding(weft.ones(2), weft.ones(3, 2))))
        with self.assertRaisesRegex(TypeError, "got weft.float32"):
            weft.ones(1) & weft.ones(1)
        with self.assertRaisesRegex(IndexError, "got weft.float64"):
            x[weft.ones(1, dtype=weft.float64)]
        true = weft.tensor([True])
        self.assertTrue(self.refused(lambda: true - true).startswith("[sub]"))


class Calls(unittest.TestCase):
    def test_that_do_not_fit_name_the_argument(self):
        x, array = weft.ones(2, 3), np.ones((2, 2), np.float32)
        for call, says in (
                (lambda: F.linear(array, x), r"linear\(\): argument 'input' must be weft.Tensor, got "
                                             r"numpy.ndarray: make .* weft.from_numpy\(\)"),
                (lambda: nn.Linear(2, 2)(array), "argument 'input' must be weft.Tensor"),
                (lambda: weft.ones(2, dtype="float32"), "'dtype' .* got str: write weft.float32"),
                (lambda: weft.zeros(2, colour=1), "unexpected keyword argument 'colour': it takes "
                                                  "dtype, requires_grad"),
                (lambda: x.argmax(axes=0), "'axes': did you mean 'dim'"),
                (lambda: x.triu(0, 1), r"triu\(\) takes at most 1 .* \(diagonal\), got 2"),
                (lambda: x.clamp(min="a"), "'min' must be weft.Tensor or float or None, got str"),
                (lambda: weft.cat(x), r"'tensors' must be List\[weft.Tensor\], got weft"),
                (lambda: weft.cat([x, 1]), r"'tensors' must be List\[weft.Tensor\], got list"),
                (lambda: x.expand_as(), "misses the argument 'other'"),
                (lambda: F.cross_entropy(x), "misses the argument 'target'")):
            with self.assertRaisesRegex(TypeError, says) as caught:
                call()
            self.assertNotIn("incompatible", str(caught.exception))
            self.assertNotIn("Invoked", str(caught.exception))

    def test_errors_of_the_programs_own_functions_stay(self):
        def broken(x):
            raise TypeError("f(): incompatible function arguments")

        with self.assertRaisesRegex(TypeError, r"^f\(\): incompatible function arguments$"):
            weft.autograd.checkpoint(broken, weft.ones(1, requires_grad=True))


class OtherFiles(unittest.TestCase):
    STATE = {"weight": [[1.0, 2.0]]}

    def path(self, content):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "model.pt"
        path.write_bytes(content)
        return path

    def test_a_pickle_is_named_and_how_to_convert_it(self):
        for begin in (b"\x80\x02\x8a", b"\x80\x04\x95"):
            with self.assertRaisesRegex(weft.CorruptError, r"before PyTorch 1\.6.*torch\.save\("):
                weft.load(self.path(begin + bytes(100)))
        with self.assertRaisesRegex(weft.CorruptError, "torch.save.*table of parts"):
            weft.load(self.path(b"PK\x03\x04" + bytes(100)))
        for other in (b"", b"\x80", b"PK", bytes(100)):
            with self.assertRaises(weft.CorruptError) as caught:
                weft.load(self.path(other))
            self.assertNotIn("torch", str(caught.exception))
        with self.assertRaises(weft.UnavailableError):
            weft.load("/there/is/no/such/file.pt")

    def test_the_advice_works(self):
        path = self.path(b"")
        weft.save({"weight": weft.tensor([[1.0, 2.0]])}, path)
        for weights_only in (True, False):
            self.assertEqual(weft.load(path, weights_only=weights_only)["weight"].tolist(),
                             [[1.0, 2.0]])

    @needs_torch
    def test_real_files_of_pytorch(self):
        import torch
        file = io.BytesIO()
        torch.save({"weight": torch.ones(1)}, file, _use_new_zipfile_serialization=False)
        with self.assertRaisesRegex(weft.CorruptError, "before PyTorch 1.6"):
            weft.load(self.path(file.getvalue()))


if __name__ == "__main__":
    unittest.main()
