"""Layers beside PyTorch's: values, gradients, names in the state, what repr() shows."""
import unittest

import numpy as np

import weft
from oracle import array, assert_close, load_into_torch, needs_torch, torch
from weft import nn

# The layer, as a call in the namespace nn -> the shape of its input.
LAYERS = {
    "Conv1d(3, 6, 3, stride=2, padding=1, dilation=2)": (2, 3, 12),
    "Conv1d(4, 4, 3, groups=2, bias=False)": (2, 4, 9),
    "Conv1d(2, 3, 4, padding='same')": (2, 2, 9),
    "Conv1d(2, 3, 3, padding=2, padding_mode='circular')": (2, 2, 9),
    "Conv2d(2, 3, 3, padding=1, padding_mode='reflect')": (2, 2, 6, 6),
    "Conv2d(2, 3, (3, 5), padding=(1, 2), padding_mode='replicate', groups=1)": (2, 2, 6, 7),
    "Conv2d(2, 4, 3, stride=2, dilation=2, groups=2, bias=False)": (2, 9, 9),
    "Conv2d(2, 2, 4, padding='same', dilation=3)": (1, 2, 9, 9),
    "ConvTranspose1d(3, 4, 4, stride=2, padding=1, output_padding=1)": (2, 3, 6),
    "ConvTranspose2d(4, 6, 4, 2, 1, bias=False)": (2, 4, 5, 5),
    "ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2, dilation=2)": (2, 4, 5, 5),
    "ConvTranspose3d(2, 3, (2, 3, 1), stride=(2, 1, 2), padding=(1, 1, 0))": (2, 2, 3, 4, 2),
    "ConvTranspose3d(4, 4, 2, 3, groups=2, bias=False, output_padding=2)": (1, 4, 2, 2, 3),
    "ConvTranspose3d(2, 2, 3, 2, 2, dilation=2, output_padding=(1, 0, 1))": (2, 3, 3, 4),
    "BatchNorm1d(3)": (4, 3, 5),
    "BatchNorm2d(3, affine=False, momentum=None)": (4, 3, 5, 5),
    "InstanceNorm1d(3, affine=True)": (2, 3, 7),
    "InstanceNorm2d(3)": (2, 3, 5, 6),
    "InstanceNorm2d(3, affine=True, track_running_stats=True)": (2, 3, 5, 6),
    "InstanceNorm3d(3, affine=True)": (2, 3, 2, 3, 4),
    "InstanceNorm3d(2, track_running_stats=True)": (2, 2, 2, 3, 4),
    "LayerNorm(5, elementwise_affine=False)": (2, 5),
    "GroupNorm(2, 4, affine=False)": (2, 4, 3),
    "LocalResponseNorm(3)": (2, 6, 4, 4),
    "LocalResponseNorm(2, alpha=0.1, beta=0.5, k=2.0)": (2, 5, 4),
    "MaxPool1d(3, 2, 1)": (2, 3, 9),
    "MaxPool1d(2, dilation=2)": (2, 3, 9),
    "MaxPool2d(2, dilation=2, stride=1)": (2, 3, 7, 7),
    "MaxPool2d((2, 3), ceil_mode=True)": (2, 3, 7, 7),
    "AvgPool1d(3, 2, 1)": (2, 3, 9),
    "AvgPool1d(3, count_include_pad=False, padding=1)": (2, 3, 9),
    "AvgPool2d(2, divisor_override=3)": (2, 3, 8, 8),
    "AvgPool2d(3, 2, 1, count_include_pad=False)": (3, 8, 8),
    "LPPool2d(2.0, 2)": (2, 3, 8, 8),
    "LPPool2d(1, (2, 3), stride=1)": (2, 3, 5, 6),
    "LPPool1d(2, 3, stride=2)": (2, 3, 9),
    "LPPool1d(4, 2, ceil_mode=True)": (2, 3, 9),
    "AdaptiveAvgPool1d(3)": (2, 3, 8),
    "AdaptiveAvgPool2d((None, 3))": (2, 3, 5, 8),
    "AdaptiveMaxPool1d(3)": (2, 3, 8),
    "AdaptiveMaxPool2d((2, 3))": (2, 3, 8, 8),
    "ReflectionPad1d((2, 1))": (2, 3, 8),
    "ReflectionPad2d(2)": (2, 3, 8, 8),
    "ReplicationPad1d(2)": (2, 3, 8),
    "ReplicationPad2d((1, 0, 2, 3))": (2, 3, 8, 8),
    "ZeroPad2d((1, 0, 2, 3))": (2, 3, 8, 8),
    "ConstantPad1d(2, 3.5)": (2, 3, 8),
    "ConstantPad2d((0, 1, 2, 0), -1.0)": (2, 3, 4, 4),
    "Upsample(scale_factor=2)": (2, 3, 4, 5),
    "Upsample(size=(7, 9), mode='bilinear')": (2, 3, 4, 5),
    "Upsample(scale_factor=2, mode='linear', align_corners=True)": (2, 3, 6),
    "UpsamplingBilinear2d(scale_factor=2)": (2, 3, 4, 5),
    "Upsample(scale_factor=(2, 1, 3))": (2, 2, 2, 3, 2),
    "Upsample(size=(5, 4, 3), mode='trilinear')": (2, 2, 3, 2, 4),
    "Upsample(scale_factor=2, mode='trilinear', align_corners=True)": (1, 2, 3, 2, 2),
    "Upsample(size=(2, 3, 2), mode='area')": (2, 2, 4, 3, 5),
    "PixelShuffle(2)": (2, 8, 3, 4),
    "PixelUnshuffle(2)": (2, 2, 6, 4),
    "Unfold(3, dilation=2, padding=1, stride=2)": (2, 2, 8, 9),
    "Unfold((2, 3))": (2, 2, 4, 5),
    "Fold((8, 8), 2, stride=2)": (2, 12, 16),
    "Fold((7, 9), (3, 2), padding=1, stride=2, dilation=2)": (2, 12, 15),
    "Flatten(2)": (2, 3, 4, 5),
    "Unflatten(1, (2, 3))": (2, 6, 4),
    "Softmax2d()": (2, 3, 4, 5),
    "ELU(0.7)": (3, 4), "CELU(alpha=0.7)": (3, 4), "SELU()": (3, 4), "GELU('tanh')": (3, 4),
    "LeakyReLU(0.3)": (3, 4), "ReLU6()": (3, 4), "Hardtanh(-0.5, 0.7)": (3, 4),
    "Hardsigmoid()": (3, 4), "Hardswish()": (3, 4), "Mish()": (3, 4), "SiLU(inplace=True)": (3, 4),
    "Softplus(beta=2, threshold=3)": (3, 4), "Softsign()": (3, 4), "LogSigmoid()": (3, 4),
    "Tanhshrink()": (3, 4), "Softshrink(0.4)": (3, 4), "Hardshrink(0.4)": (3, 4),
    "Threshold(0.2, 7.0)": (3, 4), "GLU(0)": (4, 3), "PReLU()": (3, 4), "PReLU(4, 0.1)": (3, 4, 2),
    "Softmin(dim=1)": (3, 4), "RReLU()": (3, 4), "Dropout2d(0.0)": (2, 3, 4, 4),
}
# Not seen in training: a slope is drawn there.
RANDOM = {"RReLU()"}


def made(text, namespace):
    return eval(text, dict(vars(namespace)))


@needs_torch
class Layers(unittest.TestCase):
    def test_values_gradients_and_state(self):
        for text, shape in LAYERS.items():
            with self.subTest(text):
                weft.manual_seed(1)
                ours, theirs = made(text, nn), made(text, torch.nn)
                load_into_torch(theirs, ours)
                a = array(*shape)
                x = weft.tensor(a, requires_grad=True)
                t = torch.tensor(a, requires_grad=True)
                for training in (False,) if text in RANDOM else (True, False):
                    y, z = ours.train(training)(x * 1), theirs.train(training)(t * 1)
                    assert_close(y, z, 1e-4, 1e-5)
                    (y * y).sum().backward()
                    (z * z).sum().backward()
                assert_close(x.grad, t.grad, 1e-3, 1e-3)
                for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters()):
                    assert_close(p.grad, q.grad, 1e-3, 1e-3)
                self.assertEqual(list(ours.state_dict()), list(theirs.state_dict()), text)
                for name, value in theirs.state_dict().items():
                    assert_close(ours.state_dict()[name], value, 1e-4, 1e-5)

    def test_what_is_shown(self):
        more = ["Linear(2, 3, bias=False)", "Embedding(5, 3, padding_idx=0, max_norm=1.0)",
                "EmbeddingBag(5, 3, mode='sum')", "LSTM(3, 4, num_layers=2, batch_first=True)",
                "GRU(3, 4, bidirectional=True, dropout=0.5, num_layers=2)", "RNN(3, 4)",
                "LSTMCell(3, 4)", "Dropout(0.2)", "AlphaDropout()", "Bilinear(2, 3, 4)",
                "Sequential(Conv2d(1, 2, 3), ReLU(inplace=True))", "CosineSimilarity()",
                "ModuleList([Linear(2, 2), ReLU()])", "ModuleDict({'a': Linear(2, 2)})",
                "CrossEntropyLoss()", "MSELoss()", "Identity()", "LogSoftmax(dim=1)",
                "MaxPool2d(2)", "BatchNorm2d(4)", "MaxUnpool1d(2)", "MaxUnpool3d((1, 2, 3), 2)",
                "MaxUnpool2d(2, padding=1)", "FeatureAlphaDropout(0.3)", "NLLLoss2d()",
                "LazyInstanceNorm2d(affine=True)", "LazyConvTranspose3d(2, 3)",
                "LSTM(3, 4, proj_size=2)", "AdaptiveMaxPool3d(2, return_indices=True)",
                "AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10])"]
        for text in [*LAYERS, *more]:
            with self.subTest(text):
                self.assertEqual(repr(made(text, nn)), repr(made(text, torch.nn)))

    def test_places_of_maxima_lead_back(self):
        settings = {1: ("(3, stride=2, padding=1)", "(2, dilation=2)", "(2, ceil_mode=True)"),
                    2: ("(2)", "(3, 2, 1)", "((2, 3), dilation=(1, 2), stride=1)",
                        "((3, 2), ceil_mode=True)"),
                    3: ("(2)", "((1, 2, 3), 2, (0, 1, 1))", "(2, dilation=2, stride=1)",
                        "((2, 3, 2), ceil_mode=True)")}
        for axes, forms in settings.items():
            a = array(2, 3, *(5, 6, 8)[-axes:])
            for form in forms:
                with self.subTest(axes=axes, form=form):
                    self.check_places(f"MaxPool{axes}d{form[:-1]}, return_indices=True)",
                                      None if "dilation" in form else f"MaxUnpool{axes}d{form}",
                                      a)
            for size in (2, (3, 2, 4)[-axes:]):
                with self.subTest(axes=axes, size=size):
                    self.check_places(f"AdaptiveMaxPool{axes}d({size}, return_indices=True)", None, a)

    def check_places(self, pool, back, a):
        for given in (a, a[0], a.round()):
            x, t = weft.tensor(given, requires_grad=True), torch.tensor(given, requires_grad=True)
            got, places = made(pool, nn)(x)
            want, theirs = made(pool, torch.nn)(t)
            assert_close(got, want)
            np.testing.assert_array_equal(places.numpy(), theirs.numpy())
            if back:
                back = back.replace(", ceil_mode=True", "")
                size = list(given.shape) if given.ndim == a.ndim else list(
                    given.shape[2 - a.ndim:])
                got = made(back, nn)(got, places, output_size=size)
                want = made(back, torch.nn)(want, theirs, output_size=size)
                assert_close(got, want)
            (got * got).sum().backward()
            (want * want).sum().backward()
            assert_close(x.grad, t.grad)

    def test_an_output_size_of_a_transpose(self):
        ours, theirs = (n.ConvTranspose2d(2, 3, 3, stride=2, padding=1) for n in (nn, torch.nn))
        load_into_torch(theirs, ours)
        a = array(1, 2, 5, 5)
        assert_close(ours(weft.tensor(a), output_size=(10, 9)),
                     theirs(torch.tensor(a), output_size=(10, 9)), 1e-4, 1e-5)
        with self.assertRaisesRegex(ValueError, "output_size"):
            ours(weft.tensor(a), output_size=(12, 9))

    def test_bags(self):
        table, weights = array(7, 3), array(6)
        numbers, offsets = np.array([1, 2, 4, 5, 4, 3]), np.array([0, 2, 2])
        for mode in ("sum", "mean", "max"):
            for given in ((numbers, offsets), (numbers.reshape(2, 3),)):
                ours, theirs = (n.EmbeddingBag(7, 3, mode=mode) for n in (nn, torch.nn))
                for module, namespace in ((ours, weft), (theirs, torch)):
                    module.load_state_dict({"weight": namespace.tensor(table)})
                got = ours(*map(weft.tensor, given))
                want = theirs(*map(torch.tensor, given))
                assert_close(got, want)
                (got * got).sum().backward()
                (want * want).sum().backward()
                assert_close(ours.weight.grad, theirs.weight.grad)
        got = nn.functional.embedding_bag(
            weft.tensor(numbers), weft.tensor(table), weft.tensor(offsets), mode="sum",
            per_sample_weights=weft.tensor(weights), padding_idx=4)
        want = torch.nn.functional.embedding_bag(
            torch.tensor(numbers), torch.tensor(table), torch.tensor(offsets), mode="sum",
            per_sample_weights=torch.tensor(weights), padding_idx=4)
        assert_close(got, want)

    def test_rows_of_a_largest_norm(self):
        table = array(5, 3) * 3
        ours = nn.Embedding.from_pretrained(weft.tensor(table), freeze=False, max_norm=1.5)
        theirs = torch.nn.Embedding.from_pretrained(torch.tensor(table), freeze=False, max_norm=1.5)
        numbers = np.array([[1, 3], [3, 0]])
        assert_close(ours(weft.tensor(numbers)), theirs(torch.tensor(numbers)))
        assert_close(ours.weight, theirs.weight)
        self.assertFalse(nn.Embedding.from_pretrained(weft.tensor(table)).weight.requires_grad)

    def test_grids(self):
        theta, image = array(2, 2, 3), array(2, 3, 5, 6)
        for align in (True, False):
            grid = nn.functional.affine_grid(weft.tensor(theta), (2, 3, 4, 5), align_corners=align)
            other = torch.nn.functional.affine_grid(torch.tensor(theta), (2, 3, 4, 5),
                                                    align_corners=align)
            assert_close(grid, other, 1e-4, 1e-5)
            for mode in ("bilinear", "nearest"):
                for padding in ("zeros", "border"):
                    settings = {"mode": mode, "padding_mode": padding, "align_corners": align}
                    x, g = weft.tensor(image, requires_grad=True), grid.detach().requires_grad_()
                    t, h = (torch.tensor(image, requires_grad=True),
                            torch.tensor(grid.numpy(), requires_grad=True))
                    y = nn.functional.grid_sample(x, g, **settings)
                    z = torch.nn.functional.grid_sample(t, h, **settings)
                    assert_close(y, z, 1e-4, 1e-5)
                    (y * y).sum().backward()
                    (z * z).sum().backward()
                    assert_close(x.grad, t.grad, 1e-3, 1e-4)
                    if mode == "bilinear":
                        assert_close(g.grad, h.grad, 1e-3, 1e-3)


class WithoutAnOracle(unittest.TestCase):
    def test_dropout_of_channels_drops_whole_ones(self):
        weft.manual_seed(0)
        for layer, shape in ((nn.Dropout1d(0.5), (40, 30, 4)), (nn.Dropout2d(0.5), (40, 30, 2, 2))):
            y = layer(weft.ones(*shape)).flatten(2)
            self.assertTrue(((y == 0).all(-1) | (y == 2).all(-1)).all().item())
            self.assertAlmostEqual((y == 0).float().mean().item(), 0.5, delta=0.06)

    def test_alpha_dropout_keeps_mean_and_variance(self):
        weft.manual_seed(0)
        y = nn.AlphaDropout(0.3)(weft.randn(100000))
        self.assertAlmostEqual(y.mean().item(), 0.0, delta=0.02)
        self.assertAlmostEqual(y.std().item(), 1.0, delta=0.02)

    def test_gumbel_softmax(self):
        weft.manual_seed(0)
        logits = weft.tensor([[0.0, 1.0, 2.0]]).expand(20000, 3)
        drawn = nn.functional.gumbel_softmax(logits, hard=True)
        self.assertTrue((drawn.sum(1) - 1).abs().max().item() < 1e-6)
        np.testing.assert_allclose(drawn.mean(0).numpy(), logits[0].softmax(0).numpy(), atol=0.02)

    def test_refusals(self):
        for call, text in (
                (lambda: nn.Conv2d(3, 8, 3, groups=2), "groups=2"),
                (lambda: nn.Conv2d(3, 8, 3, padding_mode="mirror"), "mirror"),
                (lambda: nn.LSTM(3, 4, proj_size=4), "proj_size below hidden_size=4.*got 4"),
                (lambda: nn.GRU(3, 4, proj_size=2), "of an LSTM, or 0, got 2"),
                (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, [4, 9]), r"at most 8.*\[4, 9\]"),
                (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, []), r"cutoffs.*got \[\]"),
                (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, [2, 4]), "in_features of at least 16"),
                (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 9, [4])(
                    weft.ones(1, 8), weft.tensor([9])), r"targets in \[0, 9\).*from 9 to 9"),
                (lambda: nn.functional.max_unpool2d(
                    weft.ones(1, 1, 2, 2), weft.zeros(1, 1, 2, 2, dtype=weft.int64), 2,
                    output_size=(6, 4)), r"from \[4, 4\] by less than the stride.*got \[6, 4\]"),
                (lambda: nn.functional.max_unpool1d(
                    weft.ones(1, 1, 2), weft.zeros(1, 1, 3, dtype=weft.int64), 2),
                 r"\[1, 1, 2\] and \[1, 1, 3\]"),
                (lambda: nn.ConvTranspose3d(1, 1, 2, output_padding=1)(weft.ones(1, 1, 2, 2, 2)),
                 "output_padding below"),
                (lambda: nn.ConvTranspose3d(2, 1, 2)(weft.ones(1, 1, 2, 2, 2)), "conv_transpose3d"),
                (lambda: nn.functional.adaptive_max_pool2d(weft.ones(1, 2, 2), 0, True),
                 "output_size of at least 1"),
                (lambda: nn.Embedding(3, 4, padding_idx=3), "padding_idx"),
                (lambda: nn.MultiheadAttention(5, 2), "heads"),
                (lambda: nn.functional.interpolate(weft.ones(1, 1, 3, 3), scale_factor=1.5),
                 "scale_factor"),
                (lambda: nn.functional.pad(weft.ones(1, 3), (4, 0), "circular"), "circular")):
            with self.assertRaisesRegex(ValueError, text):
                call()
        for call, text in ((lambda: nn.ELU(beta=1), "beta"), (lambda: nn.MaxPool2d(), "kernel_size"),
                           (lambda: nn.Softplus(1, 2, 3), "at most 2")):
            with self.assertRaisesRegex(TypeError, text):
                call()

    def test_a_sparse_embedding_says_that_it_is_dense(self):
        with self.assertWarnsRegex(UserWarning, "dense"):
            nn.Embedding(3, 2, sparse=True)
