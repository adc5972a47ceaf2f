"""Functions and methods by the same calls in Weft and PyTorch: values, types and gradients."""
import unittest

import numpy as np

import weft
from oracle import array, assert_close, assert_equal, needs_torch, torch

# What is called with (library, x [3, 4], y [3, 4], i [3, 4] of 0..2); differentiable.
SMOOTH = {
    "functions of one": lambda w, x, y, i: sum(
        getattr(x, name)() for name in ("exp", "sin", "cos", "tanh", "sigmoid", "square", "erf",
                                        "expm1", "relu", "abs", "neg")),
    "functions of positive": lambda w, x, y, i: sum(
        getattr(x.abs() + 1, name)() for name in ("log", "sqrt", "rsqrt", "log1p", "log2",
                                                  "reciprocal")),
    "weft.exp(x)": lambda w, x, y, i: w.exp(x) + w.relu(x) + w.tanh(y),
    "add, alpha": lambda w, x, y, i: w.add(x, y, alpha=2) - x.sub(y, alpha=0.5),
    "mul, div, pow": lambda w, x, y, i: x.mul(y).div(y.abs() + 1) + (x.abs() + 1).pow(y),
    "maximum": lambda w, x, y, i: w.maximum(x, y) * w.minimum(x, y) + w.atan2(x, y),
    "clamp": lambda w, x, y, i: x.clamp(-0.5, 0.5) + w.clamp(y, min=0),
    "where": lambda w, x, y, i: w.where(x > 0, x, y) + w.where(x > 0, 1.0, y),
    "masked_fill": lambda w, x, y, i: x.masked_fill(y > 0, -2.0),
    "masked_select": lambda w, x, y, i: x.masked_select(y > 0),
    "sum": lambda w, x, y, i: x.sum(0) + x.sum((0, 1)) + w.sum(y, dim=0) + x.sum(0, keepdim=True),
    "mean, var, std": lambda w, x, y, i: x.mean(1) + x.var(1) + x.std(1, unbiased=False) + y.mean(),
    "prod, logsumexp": lambda w, x, y, i: x.prod(1) + x.logsumexp(1) + x.norm() + y.norm(dim=1),
    "amax": lambda w, x, y, i: x.amax(1) + x.amin(1),
    "max along": lambda w, x, y, i: x.max(1)[0] + y.min(dim=1)[0] + x.max(),
    "sort": lambda w, x, y, i: x.sort(1)[0] * y + x.topk(2, 1)[0].sum() + x.median(1)[0].sum(),
    "cumsum": lambda w, x, y, i: x.cumsum(1) + w.cumprod(y, dim=0),
    "matmul": lambda w, x, y, i: w.matmul(x, y.t()) + x.mm(y.T) + x @ y.transpose(0, 1),
    "einsum": lambda w, x, y, i: w.einsum("ij,kj->ik", x, y) + w.einsum("ij->i", x),
    "dot, outer": lambda w, x, y, i: x[0].dot(y[0]) + w.outer(x[0], y[1]),
    "bmm": lambda w, x, y, i: w.bmm(x.unsqueeze(0), y.t().unsqueeze(0)),
    "softmax": lambda w, x, y, i: x.softmax(-1) * y + w.log_softmax(x, 0),
    "reshape": lambda w, x, y, i: x.reshape(2, 6) + y.view(6, 2).t() + x.reshape((2, -1)),
    "flatten": lambda w, x, y, i: x.flatten() + w.flatten(y[None], 1),
    "permute": lambda w, x, y, i: x.permute(1, 0) @ w.permute(y, (0, 1)),
    "squeeze": lambda w, x, y, i: x.unsqueeze(1).squeeze() + w.squeeze(y[None], 0),
    "expand": lambda w, x, y, i: x[0].expand(3, 4) + x[:, :1].expand(-1, 4) + y[:1].expand_as(x),
    "cat": lambda w, x, y, i: w.cat([x, y], 1) * 2 + w.cat((y, x), dim=1),
    "stack": lambda w, x, y, i: w.stack([x, y]) + w.stack((x, y), dim=0),
    "split": lambda w, x, y, i: x.split(2, 1)[1] + w.split(y, [1, 3], 1)[0] + x.chunk(2, 1)[0],
    "unbind": lambda w, x, y, i: x.unbind(0)[1] * y.unbind()[2],
    "repeat": lambda w, x, y, i: x.repeat(2, 1) + x.repeat_interleave(2, 0),
    "roll, flip": lambda w, x, y, i: x.roll(1, 0) + w.flip(y, (0, 1)) + x.movedim(0, 1).t(),
    "triu": lambda w, x, y, i: x.triu() + y.tril(-1) + x.diagonal().sum() + w.diag(y[0]).sum(),
    "gather": lambda w, x, y, i: x.gather(0, i) + w.gather(y, 1, i),
    "scatter": lambda w, x, y, i: x.scatter_add(0, i, y),
    "index_select": lambda w, x, y, i: x.index_select(0, i[0]) + y.index_add(0, i[0, :3], x)[:1],
    "indexing": lambda w, x, y, i: x[i[0], 1:] * y[1:3][:, None].sum() + x[..., 0].sum(),
    "narrow, unfold": lambda w, x, y, i: x.narrow(1, 1, 2) + y.unfold(1, 3, 1).sum(-1),
    "copies": lambda w, x, y, i: x.t().contiguous() + y.clone().T + x.to(w.float64).to(w.float32).T,
}
# Results that take no gradient.
PLAIN = {
    "argmax": lambda w, x, y, i: x.argmax() + x.argmax(1) + w.argmin(y, dim=1),
    "max indices": lambda w, x, y, i: x.max(1)[1] + x.sort(1, descending=True)[1][:, 0],
    "logic": lambda w, x, y, i: (x > 0).any(1) & w.all(y < 9) | w.logical_not(x[:, 0]),
    "tests": lambda w, x, y, i: w.isnan(x / 0 * 0) | w.isinf(x / 0) | ~w.isfinite(y),
    "rounding": lambda w, x, y, i: x.floor() + x.ceil() * 2 + w.round(y) + y.trunc() + x.sign(),
    "whole": lambda w, x, y, i: i * 2 + i // 2 - i % 2 + i.sum() + i.cumsum(1),
    "count": lambda w, x, y, i: w.bincount(i.flatten()) + i.count_nonzero(),
    "nonzero": lambda w, x, y, i: w.nonzero(x > 0),
    "unique": lambda w, x, y, i: w.unique(i),
    "one_hot": lambda w, x, y, i: w.nn.functional.one_hot(i, 3),
    "searchsorted": lambda w, x, y, i: w.searchsorted(x[0].sort()[0], y),
    "meshgrid": lambda w, x, y, i: w.meshgrid(x[0], y[:, 0], indexing="ij")[1],
    "arange": lambda w, x, y, i: w.arange(1, 7, 2) + w.zeros(3, dtype=w.int64),
    "like": lambda w, x, y, i: w.zeros_like(x) + w.ones_like(i) + w.full_like(x, 2.5),
    "isclose": lambda w, x, y, i: w.isclose(x, x + 1e-7) & (x == x),
}


def inputs():
    x, y = array(3, 4), array(3, 4, seed=1)
    i = np.random.default_rng(2).integers(0, 3, (3, 4))
    return x, y, i


@needs_torch
class AgainstTorch(unittest.TestCase):
    def test_values_types_and_gradients(self):
        for name, function in SMOOTH.items():
            with self.subTest(name):
                results = []
                for library in (weft, torch):
                    x, y, i = (library.tensor(a) for a in inputs())
                    x.requires_grad_()
                    y.requires_grad_()
                    z = function(library, x, y, i)
                    (z * library.arange(z.numel()).reshape(z.shape)).sum().backward()
                    results.append((z, x.grad, y.grad))
                (z, *grads), (want, *wanted) = results
                assert_close(z, want, 2e-5, 1e-5)
                for got, expected in zip(grads, wanted):
                    self.assertEqual(got is None, expected is None)
                    if got is not None:
                        assert_close(got, expected, 2e-4, 2e-4)

    def test_values_without_gradients(self):
        for name, function in PLAIN.items():
            with self.subTest(name):
                got, want = (function(library, *(library.tensor(a) for a in inputs()))
                             for library in (weft, torch))
                assert_equal(got, want)

    def test_scatter_and_put(self):
        for library in (weft, torch):
            x = library.zeros(3, 3)
            x.scatter_(1, library.tensor([[0], [2], [1]]), 1.0)
            self.assertEqual(x.tolist(), [[1, 0, 0], [0, 0, 1], [0, 1, 0]])


class AgainstNumPy(unittest.TestCase):
    """A part of the above for machines without PyTorch."""

    def test_some(self):
        a, b, i = inputs()
        x, y, k = (weft.from_numpy(v) for v in (a, b, i))
        assert_close(x.exp() + y.tanh(), np.exp(a) + np.tanh(b))
        assert_close(x.sum(0), a.sum(0))
        assert_close(x.var(1), a.var(1, ddof=1))
        assert_equal(x.max(1)[1], a.argmax(1))
        assert_close(x.max(1)[0], a.max(1))
        assert_close(x.softmax(1), np.exp(a) / np.exp(a).sum(1, keepdims=True))
        assert_close(weft.cat([x, y], 1), np.concatenate([a, b], 1))
        assert_close(weft.einsum("ij,kj->ik", x, y), a @ b.T)
        assert_close(x.gather(0, k), np.take_along_axis(a, i, 0))
        assert_equal(x.argsort(1), a.argsort(1))
        assert_close(x.clamp(-0.1, 0.2), a.clip(-0.1, 0.2))

    def test_equal_and_close(self):
        x = weft.ones(3)
        self.assertTrue(weft.equal(x, x.clone()))
        self.assertFalse(weft.equal(x, weft.ones(2)))
        self.assertFalse(weft.equal(x, x + 1e-6))
        self.assertTrue(x.allclose(x + 1e-6))


class Errors(unittest.TestCase):
    def test_none_is_a_type_error_everywhere(self):
        x = weft.ones(2, 2)
        functions = [name for name in dir(weft._core) if callable(getattr(weft._core, name))
                     and not isinstance(getattr(weft._core, name), type)]
        self.assertGreater(len(functions), 150)
        left_out = {"is_grad_enabled", "_model_names", "_dataset_names", "meshgrid", "einsum"}
        for name in functions:
            if name in left_out:
                continue
            function = getattr(weft._core, name)
            for arguments in ((None,), (x, None), (None, x), (None, None, None), (x, None, None)):
                with self.subTest(name=name, count=len(arguments)):
                    try:
                        function(*arguments)
                    except (TypeError, ValueError, IndexError):
                        pass  # said so; what takes None has returned

    def test_none_of_methods(self):
        x = weft.ones(2, 2)
        refused = set()
        for name in dir(weft.Tensor):
            if name.startswith("__"):
                continue
            method = getattr(x, name)
            if not callable(method):
                continue
            for arguments in ((None,), (None, None), (None, None, None)):
                with self.subTest(name=name, count=len(arguments)):
                    try:
                        method(*arguments)
                    except (TypeError, ValueError, IndexError, OSError):
                        refused.add(name)
        for name in ("add", "matmul", "reshape", "copy_"):
            self.assertIn(name, refused)
        self.assertGreater(len(refused), 150)

    def test_first_arguments_of_none(self):
        for call in (lambda: weft.exp(None), lambda: weft.matmul(None, None),
                     lambda: weft.conv2d(None, None), lambda: weft.cat([None]),
                     lambda: weft.cat(None), lambda: weft.where(None, 1.0, 2.0),
                     lambda: weft.Tensor.sum(None), lambda: weft.Tensor.backward(None)):
            with self.assertRaises(TypeError):
                call()

    def test_classes(self):
        self.assertTrue(issubclass(weft.InvalidArgumentError, (weft.Error)))
        for error, kind in ((weft.InvalidArgumentError, ValueError),
                            (weft.CorruptError, ValueError), (weft.TimeoutError, TimeoutError),
                            (weft.UnavailableError, ConnectionError), (weft.Error, RuntimeError)):
            self.assertTrue(issubclass(error, kind))
        with self.assertRaises(weft.InvalidArgumentError):
            weft.ones(2).sum(5)
        with self.assertRaises(weft.InvalidArgumentError):
            weft.ones(2, 3).reshape(4)
        with self.assertRaises(weft.InvalidArgumentError):
            weft.cat([])
