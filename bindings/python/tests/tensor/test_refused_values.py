"""What once gave a value that PyTorch does not give, or none at all, without a word: it is refused,
or PyTorch's value now. Numbers are PyTorch 1.13's, or stand in a closed form beside them."""
import math
import unittest
import warnings

import numpy as np

import weft
from weft import nn
from weft.nn import functional as F
from weft.utils.data import default_collate
from oracle import assert_close, assert_equal, needs_torch


class DivisionByZero(unittest.TestCase):
    INTEGERS = ("int64", "int32", "int8", "uint8")

    def test_of_integers_is_refused(self):
        for name in self.INTEGERS:
            dtype = getattr(weft, name)
            x, y = weft.tensor([4, 5], dtype=dtype), weft.tensor([2, 0], dtype=dtype)
            for call in (lambda: x // y, lambda: x % y, lambda: x // 0, lambda: x % 0,
                         lambda: 7 // y, lambda: 7 % y, lambda: x // False,
                         lambda: weft.floor_divide(x, y), lambda: x.remainder(y)):
                with self.assertRaisesRegex(ZeroDivisionError, "got 0 at element"):
                    call()
            with self.assertRaises(weft.DivisionByZeroError) as caught:
                x % y.reshape(1, 2)
            for kind in (weft.InvalidArgumentError, ValueError, RuntimeError):
                self.assertIsInstance(caught.exception, kind)
            self.assertEqual(x.shape, (2,))

    def test_of_the_array_apis_integers_is_refused(self):
        from weft import array_api as xp
        for name in ("floor_divide", "remainder"):
            with self.assertRaises(ZeroDivisionError):
                getattr(xp, name)(xp.asarray([1]), xp.asarray([0]))

    def test_of_nothing_is_nothing(self):
        none = weft.zeros(0, dtype=weft.int64)
        self.assertEqual((none // weft.tensor([0])).shape, (0,))
        self.assertEqual((none % 0).shape, (0,))

    def test_of_floats_gives_infinities(self):
        x = weft.tensor([1.0, -1.0, 0.0])
        assert_equal(x // 0.0, np.array([math.inf, -math.inf, math.nan], np.float32))
        self.assertTrue(bool(weft.isnan(x % 0.0).all()))

    def test_the_least_integer_by_minus_one_wraps_around(self):
        for name in self.INTEGERS[:3]:
            least = -2 ** (8 * getattr(weft, name).itemsize - 1)
            x = weft.tensor([least], dtype=getattr(weft, name))
            self.assertEqual((x // -1).tolist(), [least])
            self.assertEqual((x % -1).tolist(), [0])

    def test_shifts_beyond_the_width_leave_the_sign(self):
        from weft import array_api as xp
        x = xp.asarray([5, -5, 2**63 - 1, -2**63])
        for places, want in ((1, [2, -3, 2**62 - 1, -2**62]), (62, [0, -1, 1, -2]),
                             (63, [0, -1, 0, -1]), (70, [0, -1, 0, -1])):
            got = xp.bitwise_right_shift(x, xp.asarray([places]))
            self.assertEqual([int(got[i]) for i in range(4)], want)


class Probabilities(unittest.TestCase):
    def test_outside_0_to_1_are_refused(self):
        target = weft.ones(2)
        for wrong in (1.5, -0.1, math.nan, math.inf):
            for dtype in (weft.float32, weft.float64, weft.bfloat16):
                x = weft.tensor([0.5, wrong], dtype=dtype)
                with self.assertRaisesRegex(ValueError, r"probabilities in \[0, 1\]"):
                    F.binary_cross_entropy(x, target.to(dtype))
                with self.assertRaisesRegex(ValueError, r"probabilities in \[0, 1\]"):
                    weft.bernoulli(x)
        for wrong in (1 + 1e-12, -1e-300):
            with self.assertRaises(ValueError):
                F.binary_cross_entropy(weft.tensor([wrong], dtype=weft.float64), weft.ones(1))
        assert_equal(F.binary_cross_entropy(weft.tensor([0.0, 1.0]), weft.tensor([1.0, 0.0])),
                     np.float32(100))
        assert_equal(F.binary_cross_entropy(weft.tensor([0.0, 1.0]), weft.tensor([0.0, 1.0])),
                     np.float32(0))


class Layers(unittest.TestCase):
    def test_settings_that_cannot_work_are_refused_at_construction(self):
        for make, says in ((lambda: nn.Dropout(1.5), r"p in \[0, 1\], got 1.5"),
                           (lambda: nn.Dropout(-0.1), r"p in \[0, 1\]"),
                           (lambda: nn.Dropout(math.nan), r"p in \[0, 1\]"),
                           (lambda: nn.Conv2d(3, 8, 3, groups=2), "in_channels divisible by"),
                           (lambda: nn.Conv2d(4, 3, 3, groups=2), "out_channels divisible by"),
                           (lambda: nn.Conv2d(4, 4, 3, groups=0), "groups of at least 1"),
                           (lambda: nn.GroupNorm(2, 3), "num_channels divisible by")):
            with self.assertRaisesRegex(ValueError, says):
                make()

    def test_batch_norm_takes_the_axes_of_its_name(self):
        for layer, right, wrong in ((nn.BatchNorm2d(3), [(4, 3, 2, 2)], [(4, 3), (4, 3, 2)]),
                                    (nn.BatchNorm1d(3), [(4, 3), (4, 3, 2)], [(4, 3, 2, 2)])):
            for shape in right:
                self.assertEqual(tuple(layer(weft.randn(*shape)).shape), shape)
            before = layer.num_batches_tracked.item()
            for shape in wrong:
                with self.assertRaisesRegex(ValueError, "axes, got shape"):
                    layer(weft.randn(*shape))
            self.assertEqual(layer.num_batches_tracked.item(), before)

    def test_batch_norm_without_momentum_has_the_mean_of_all_batches(self):
        layer = nn.BatchNorm1d(1, momentum=None)
        batches = [[1.0, 3.0], [5.0, 9.0], [0.0, 1.0]]
        for batch in batches:
            layer(weft.tensor(batch).reshape(2, 1))
        assert_close(layer.running_mean, [np.mean([np.mean(b) for b in batches])])
        assert_close(layer.running_var, [np.mean([np.var(b, ddof=1) for b in batches])])
        mean = layer.running_mean.clone()
        layer.eval()(weft.ones(2, 1))
        assert_equal(layer.running_mean, mean)


class Softmax(unittest.TestCase):
    def test_without_dim_follows_pytorchs_old_rule_and_warns(self):
        for ndim, dim in ((1, 0), (2, 1), (3, 0), (4, 1)):
            x = weft.randn(*range(2, 2 + ndim))
            for without, within in (
                    (lambda: F.softmax(x), lambda: F.softmax(x, dim)),
                    (lambda: F.log_softmax(x), lambda: F.log_softmax(x, dim)),
                    (lambda: nn.Softmax()(x), lambda: nn.Softmax(dim)(x)),
                    (lambda: nn.LogSoftmax()(x), lambda: nn.LogSoftmax(dim)(x))):
                with self.assertWarnsRegex(UserWarning, f"write dim={dim}") as caught:
                    got = without()
                self.assertEqual(caught.filename, __file__)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    assert_equal(got, within())


class Indexes(unittest.TestCase):
    X = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    MASK = [True, False, True, True, False]
    KEYS = [np.s_[0, ..., [1, 2]], np.s_[0, :, [1, 2]], np.s_[:, 0, :, [0, 1, 1]],
            np.s_[0, None, [0, 1, 1]], np.s_[:, [0, 1, 1], None, 0], np.s_[0, :, :, MASK],
            np.s_[[0, 1], :, 0], np.s_[-1, [0, 2], :, -2], np.s_[:, [1], ..., 3]]

    @staticmethod
    def picked(x, key):
        """What PyTorch picks: whole numbers first, each of which takes its axis away."""
        first = tuple(slice(None) if isinstance(each, list) else each for each in key)
        rest = tuple(each if isinstance(each, list) else slice(None) for each in key
                     if not isinstance(each, int) and each is not Ellipsis)
        if Ellipsis in key:  # it stands for the axes before what follows it
            after = [each for each in key[key.index(Ellipsis) + 1:] if not isinstance(each, int)]
            before = [each for each in key[:key.index(Ellipsis)] if not isinstance(each, int)]
            rest = (*before, Ellipsis, *after)
        return x[first][rest]

    def test_a_whole_number_takes_its_axis_away_first(self):
        self.assertEqual(tuple(weft.zeros(2, 3, 4)[0, ..., [1, 2]].shape), (3, 2))
        for key in self.KEYS:
            want = self.picked(self.X, key)
            x = weft.tensor(self.X, requires_grad=True)
            y = x[key]
            assert_equal(y, want)
            y.sum().backward()
            counts = np.zeros_like(self.X)
            np.add.at(counts.reshape(-1), self.picked(np.arange(120).reshape(self.X.shape), key), 1)
            assert_equal(x.grad, counts)
            written = weft.tensor(self.X)
            written[key] = weft.tensor(-want)
            assert_equal(weft.tensor(self.X) - written, self.X * 2 * (counts > 0))

    def test_a_tensor_without_axes_is_a_whole_number(self):
        x = weft.tensor(self.X)
        for zero in (weft.tensor(0), np.int64(0), np.uint8(0), np.array(0)):
            assert_equal(x[zero, :, [0, 1, 1]], self.X[0][:, [0, 1, 1]])
        with self.assertRaises(IndexError):
            x[weft.tensor(2)]

    def test_bytes_could_mean_places_or_a_mask(self):
        for wrong in (weft.tensor([1, 0], dtype=weft.uint8), np.array([1, 0], np.uint8),
                      weft.tensor(1, dtype=weft.uint8)):
            with self.assertRaisesRegex(IndexError, r"\.long\(\) or \.bool\(\)"):
                weft.ones(2)[wrong]

    @needs_torch
    def test_pytorch_agrees(self):
        import torch
        for key in self.KEYS:
            assert_equal(weft.tensor(self.X)[key], torch.tensor(self.X)[key])


class Values(unittest.TestCase):
    def test_pythons_floats_keep_their_bits_in_a_batch(self):
        batch = default_collate([(0.1, 1, True), (0.2, 2, False)])
        self.assertEqual([each.dtype for each in batch], [weft.float64, weft.int64, weft.bool])
        self.assertEqual(batch[0].tolist(), [0.1, 0.2])

    def test_equal_medians_share_the_gradient(self):
        for data, want in (([1.0, 1, 2], [0.5, 0.5, 0]), ([3.0, 1, 2], [0, 0, 1]),
                           ([math.nan, 1, math.nan], [0.5, 0, 0.5]), ([[2.0, 2], [2, 7]],
                                                                      [[1 / 3, 1 / 3], [1 / 3, 0]])):
            x = weft.tensor(data, requires_grad=True)
            x.median().backward()
            assert_close(x.grad, np.array(want))
        x = weft.tensor([1.0, 1.0, 2.0], requires_grad=True)
        slope, = weft.autograd.grad((x * x).median(), x, create_graph=True)
        slope.sum().backward()
        assert_close(x.grad, np.array([1.0, 1.0, 0.0]))

    def test_roots_as_powers_are_roots(self):
        x = [-math.inf, -0.0, 4.0, -1.0]
        for dtype in (weft.float32, weft.float64, weft.bfloat16):
            for root in (lambda y: y ** 0.5, lambda y: y.pow(0.5), lambda y: weft.pow(y, 0.5)):
                y = weft.tensor(x, dtype=dtype, requires_grad=True)
                self.assertEqual(repr(root(y).tolist()), "[nan, -0.0, 2.0, nan]")
                root(y).sum().backward()
                self.assertEqual(repr(y.grad.tolist()), "[nan, -inf, 0.25, nan]")
            y = weft.tensor(x, dtype=dtype)
            self.assertEqual(repr((y ** -0.5).tolist()), "[nan, -inf, 0.5, nan]")

    def test_no_number_is_no_bound(self):
        x = weft.tensor([1.0, math.nan])
        self.assertEqual(x.clamp(0, 1)[0].item(), 1)
        for bounds in ((0.0, math.nan), (math.nan, None)):
            with self.assertRaisesRegex(ValueError, "bounds that are numbers"):
                x.clamp(*bounds)

    def test_arguments_that_pytorch_takes_are_taken(self):
        x = weft.ones(2, requires_grad=True)
        got, = weft.autograd.grad((x * 3).sum(), x, only_inputs=True)
        self.assertEqual(got.tolist(), [3, 3])
        with self.assertRaisesRegex(ValueError, "only_inputs=True"):
            weft.autograd.grad((x * 3).sum(), x, only_inputs=False)


class Sizes(unittest.TestCase):
    """Numbers that ask for more than there is are refused at once, not worked at."""

    def test_dimensions_of_mvlgamma(self):
        x = weft.tensor([3.0, 4.0], requires_grad=True)
        for p in (2**40, 2**62, 2**70):
            with self.subTest(p), self.assertRaises((ValueError, MemoryError, OverflowError)):
                weft.mvlgamma(x, p)
        for p in (0, -1, 2.5, True):
            with self.subTest(p), self.assertRaisesRegex(ValueError, "whole number p >= 1"):
                weft.mvlgamma(x, p)
        closed = math.lgamma(3.0) + math.lgamma(2.5) + 0.5 * math.log(math.pi)
        self.assertAlmostEqual(weft.mvlgamma(x, 2)[0].item(), closed, places=5)

    def test_numbers_of_repeat_interleave(self):
        x = weft.tensor([3.0, 4.0])
        for count in (2**40, 2**62):
            with self.subTest(count), self.assertRaises((ValueError, MemoryError, OverflowError)):
                x.repeat_interleave(weft.tensor([count, count]))
        self.assertEqual(x.repeat_interleave(weft.tensor([2, 1])).tolist(), [3, 3, 4])
        self.assertEqual(x.repeat_interleave(weft.tensor([0, 0])).tolist(), [])


class SecondDerivatives(unittest.TestCase):
    def test_through_convolution_batch_norm_relu_and_max_pool(self):
        """The penalty's derivative for a weight, against differences in float64."""
        def penalty(first, dtype):
            weft.manual_seed(4)
            model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Flatten(), nn.Linear(12, 1))
            model.to(dtype)
            x = weft.randn(4, 2, 6, 6).to(dtype).requires_grad_()
            weight = model[0].weight
            with weft.no_grad():
                weight.view(-1)[0] += first
            slope, = weft.autograd.grad(model(x).sum(), x, create_graph=True)
            return (slope * slope).sum(), weight

        value, weight = penalty(0.0, weft.float64)
        slope = weft.autograd.grad(value, weight)[0].reshape(-1)[0].item()
        step = 1e-6
        differs = (penalty(step, weft.float64)[0] - penalty(-step, weft.float64)[0]).item()
        self.assertNotEqual(slope, 0)
        self.assertAlmostEqual(slope / (differs / (2 * step)), 1, places=5)
        single, weight = penalty(0.0, weft.float32)
        got = weft.autograd.grad(single, weight)[0].reshape(-1)[0].item()
        self.assertAlmostEqual(got / slope, 1, places=3)


if __name__ == "__main__":
    unittest.main()
