"""weft.onnx: what was exported gives the same outputs again, and files of PyTorch give PyTorch's."""
import os
import pathlib
import tempfile
import unittest

import numpy as np

import weft
from damage import read_damaged
from oracle import assert_close
from weft import nn
from weft.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Residual(nn.Module):
    """Writes in place, as image models do."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.more = nn.Conv2d(6, 6, 3, padding=1, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(6, 4)

    def forward(self, x):
        x = self.relu(self.norm(self.conv(x)))
        y = self.more(x)
        y += x
        y *= 0.5
        return self.head(F.adaptive_avg_pool2d(self.relu(y), 1).flatten(1))


class CausalBlock(nn.Module):
    """Attention written out, with a mask and places made in forward()."""

    def __init__(self, width=8, heads=2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, width), nn.Embedding(6, width)
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, 11)

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.tokens(tokens) + self.places(weft.arange(length))
        q, k, v = (part.reshape(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm(x)).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        later = weft.ones(length, length).triu(1) == 1
        shares = scores.masked_fill(later, -float("inf")).softmax(-1)
        return self.out((shares @ v).transpose(1, 2).reshape(batch, length, -1))


class WithToken(nn.Module):
    """A learned first token for each row, and two outputs by name."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(weft.randn(1, 1, 5))
        self.mix = nn.Linear(5, 5)

    def forward(self, x, scale):
        x = weft.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        y = self.mix(x).tanh() * scale[:, None, None]
        return {"first": y[:, 0], "largest": y[:, 1:].amax(1)}


class Recurrent(nn.Module):
    def __init__(self, kind, **settings):
        super().__init__()
        self.body = kind(4, 6, batch_first=True, **settings)
        self.head = nn.Linear(6 * (2 if settings.get("bidirectional") else 1), 3)

    def forward(self, x):
        y, _ = self.body(x)
        return self.head(y[:, -1])


class Choosing(nn.Module):
    def forward(self, x):
        limit = weft.zeros_like(x) + 0.25
        y = weft.where(x > limit, x, -x / 2)
        a, b = y.split([1, 2], 1)
        return (a * b).sum(1).clamp(-1, 1) + (x != 0).float().mean(1) - x[:, 0].square()


def mlp():
    return nn.Sequential(nn.Linear(7, 5), nn.GELU(), nn.Dropout(0.5), nn.Linear(5, 2),
                         nn.LogSoftmax(-1))


MODELS = {
    "mlp": (mlp, [(1, 7)]),
    "residual": (Residual, [(2, 3, 8, 8)]),
    "causal": (CausalBlock, [lambda: weft.arange(12).reshape(2, 6) % 11]),
    "named": (WithToken, [(2, 3, 5), (2,)]),
    "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2), [(1, 5, 4)]),
    "gru": (lambda: Recurrent(nn.GRU, bidirectional=True), [(1, 5, 4)]),
    "rnn": (lambda: Recurrent(nn.RNN, nonlinearity="relu"), [(1, 5, 4)]),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), [(1, 4, 8)]),
    "choosing": (Choosing, [(2, 3)]),
    "zoo": (lambda: weft.models.create("lenet"), [(1, 1, 28, 28)]),
    "function": (lambda: lambda x: [x.relu(), {"b": (x.exp(), None)}], [(2, 3)]),
}


def shaken(model):
    """Biases and norms that are not 0 and 1, so that mixed-up ones are seen."""
    if isinstance(model, nn.Module):
        with weft.no_grad():
            for value in model.parameters():
                value.add_(0.1 * weft.rand(*value.shape))
    return model


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "model.onnx")
        weft.manual_seed(1)


class Export(InFolder):
    def test_what_was_exported_gives_the_same_outputs(self):
        for name, (make, inputs) in MODELS.items():
            with self.subTest(name):
                model = shaken(make())
                examples = [each() if callable(each) else each for each in inputs]
                self.assertLess(weft.onnx.export(model, self.path, *examples), 1e-5)
                if isinstance(model, nn.Module):
                    self.assertTrue(model.training, "the mode is put back")
                    model.eval()
                program = weft.onnx.load(self.path)
                given = []
                for example in examples:
                    if isinstance(example, tuple):
                        given.append(weft.randn(7, *example[1:]))
                    else:
                        given.append(weft.randint(0, 11, (7, *example.shape[1:])))
                with weft.no_grad():
                    wanted = model(*(each.clone() for each in given))
                got = program.run({value.name: each
                                   for value, each in zip(program.inputs, given)})
                flat = weft.onnx._flat(wanted)
                self.assertEqual(len(got), len(flat))
                for one, other in zip(got.values(), flat):
                    self.assertEqual(one.shape, other.shape)
                    assert_close(one, other, 1e-5, 1e-5)

    def test_names_sizes_and_orders_of_arguments(self):
        model = WithToken().eval()
        weft.onnx.export(model, self.path, (2, 3, 5), (2,))
        program = weft.onnx.load(self.path)
        self.assertEqual(program.inputs, [("x", weft.float32, ("batch", 3, 5)),
                                          ("scale", weft.float32, ("batch",))])
        self.assertEqual([value.name for value in program.outputs], ["first", "largest"])
        self.assertEqual((program.opset, program.producer), (17, "weft"))
        x, scale = weft.randn(4, 3, 5), weft.rand(4)
        first, largest = program(x, scale=scale)
        assert_close(first, model(x, scale)["first"], 1e-5, 1e-6)
        self.assertEqual(largest.shape, (4, 5))
        # PyTorch's order, with its names of the names.
        weft.onnx.export(model, (x, scale), self.path, input_names=["a", "b"],
                         output_names=["c", "d"], batch=False)
        program = weft.onnx.load(self.path)
        self.assertEqual(repr(program), f"Program({self.path!r}: a [4, 3, 5], b [4] -> "
                                        "c [4, 5], d [4, 5])")
        assert_close(program.run({"a": x.numpy(), "b": scale})["c"], first, 1e-5, 1e-6)
        for wrong in (lambda: program(x), lambda: program(x, scale, a=x),
                      lambda: program(x, weft.rand(3)), lambda: program(x, scale, z=x)):
            with self.assertRaises(weft.InvalidArgumentError):
                wrong()

    def test_what_cannot_be_said_is_refused_and_nothing_is_written(self):
        class Deciding(nn.Module):
            def forward(self, x):
                return x * 2 if x.sum().item() > 0 else x * 3

        class Through(nn.Module):
            def forward(self, x):
                return weft.tensor(np.sin(x.numpy()))

        class Part(nn.Module):
            def forward(self, x):
                y = x * 1
                y[:, 0] = 0.0
                return y + 1

        class Noise(nn.Module):
            def forward(self, x):
                return x + weft.randn(1, 3)

        class Sides(nn.Module):
            def forward(self, x):
                return x.cumsum(1)

        up = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Upsample(scale_factor=2), nn.ReLU())
        example = weft.tensor([[1.0, -3.0, 4.0], [2.0, 2.0, -5.0]])
        for model, given, words in (
                (up, (1, 1, 6, 6), r"layer '1', Upsample.*export the parts"),
                (Deciding(), example, "by values"), (Through(), (2, 3), "Through.forward"),
                (Part(), (2, 3), "written in part"), (Noise(), (2, 3), "Noise.forward"),
                (Sides(), (2, 3), '"cumsum".*Sides'), (lambda x: x.cumsum(1), (2, 3), "function"),
                (lambda x: 3.0, (2, 3), "tensors"),
                (mlp(), (), "an example of each input")):
            with self.subTest(words):
                examples = [] if isinstance(given, tuple) and not given else [given]
                with self.assertRaisesRegex(weft.InvalidArgumentError, words):
                    weft.onnx.export(model, self.path, *examples)
                self.assertFalse(os.path.exists(self.path))
        with self.assertRaises(weft.InvalidArgumentError):  # the module's own error goes through
            weft.onnx.export(mlp(), self.path, (2, 8))
        with self.assertRaisesRegex(weft.InvalidArgumentError, "2 input_names|1 input_names"):
            weft.onnx.export(mlp(), self.path, (2, 7), input_names=["a", "b"])
        for wrong in (lambda: weft.onnx.export(mlp(), 3, (2, 7)),
                      lambda: weft.onnx.export(3, self.path, (2, 7)),
                      lambda: weft.onnx.export(mlp(), self.path, "x")):
            with self.assertRaises(TypeError):
                wrong()

    def test_an_error_of_forward_goes_through(self):
        class Mine(Exception):
            pass

        def raising(x):
            raise Mine("why")

        with self.assertRaisesRegex(Mine, "why"):
            weft.onnx.export(raising, self.path, (1, 2))

    def test_nothing_of_a_trace_remains(self):
        with self.assertRaises(weft.InvalidArgumentError):
            weft.onnx.export(lambda x: x.cumsum(1), self.path, (1, 2))
        x = weft.randn(3, requires_grad=True)
        (x[1:] * 2).sum().backward()
        self.assertEqual(x.grad.tolist(), [0, 2, 2])


class Load(InFolder):
    def test_models_of_pytorch_give_pytorchs_outputs(self):
        # tests/onnx/pytorch_models.py wrote them with PyTorch 1.13.
        folders = sorted((ROOT / "tests" / "onnx" / "pytorch").iterdir())
        self.assertEqual(len(folders), 3)
        for folder in folders:
            program = weft.onnx.load(folder / "model.onnx")
            self.assertIn("pytorch", program.producer)
            inputs = [self.values(folder / "test_data_set_0" / f"input_{i}.pb")
                      for i in range(len(program.inputs))]
            outputs = program(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            for i, output in enumerate(outputs):
                assert_close(output, self.values(folder / "test_data_set_0" / f"output_{i}.pb"),
                             1e-4, 1e-4)

    @staticmethod
    def values(path):
        """A TensorProto of float32 or int64 by its grammar: 1 sizes, 2 type, 9 bytes."""
        data, at, sizes, kind, raw = path.read_bytes(), 0, [], 0, b""

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value

        while at < len(data):
            key = varint()
            if key & 7 == 0:
                value = varint()
                if key >> 3 == 1:
                    sizes.append(value)
                elif key >> 3 == 2:
                    kind = value
            else:
                length = varint()
                if key >> 3 == 9:
                    raw = data[at:at + length]
                elif key >> 3 == 1:
                    end = at + length
                    while at < end:
                        sizes.append(varint())
                    at -= length
                at += length
        return weft.tensor(np.frombuffer(raw, {1: np.float32, 7: np.int64}[kind]).reshape(sizes))

    def test_damaged_files_are_refused_wherever_the_damage_is(self):
        weft.onnx.export(mlp(), self.path, (1, 7))
        errors = (weft.CorruptError, weft.InvalidArgumentError)
        refused = read_damaged(
            self, self.path, lambda: weft.onnx.load(self.path)(weft.randn(2, 7)), says="onnx",
            cut_errors=errors, errors=errors, step=7, copies=1500)
        self.assertGreater(refused, 300)
        with self.assertRaises(weft.UnavailableError):
            weft.onnx.load(self.path + ".missing")


if __name__ == "__main__":
    unittest.main()
