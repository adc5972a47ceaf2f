"""weft.func: derivatives as functions of functions, against closed forms and PyTorch's autograd; and
autocast: types, gradients, and values within the rounding of bfloat16."""
import unittest

import numpy as np

import weft
from weft import func, nn
from weft.nn import functional as F
from oracle import array, assert_close, needs_torch


class Grad(unittest.TestCase):
    X = array(3, dtype=np.float64)

    def test_slopes_of_one_value(self):
        x = weft.tensor(self.X)
        slopes = func.grad(lambda t: (t ** 3).sum())(x)
        assert_close(slopes, 3 * self.X ** 2, 1e-12, 1e-12)
        self.assertFalse(slopes.requires_grad or x.requires_grad)
        slopes, value = func.grad_and_value(lambda t: (t ** 3).sum())(x)
        self.assertAlmostEqual(value.item(), float((self.X ** 3).sum()), 12)
        self.assertFalse(value.requires_grad)

    def test_slopes_of_slopes(self):
        cube = lambda t: t ** 4  # noqa: E731
        x = weft.tensor(1.5, dtype=weft.float64)
        for order, want in ((1, 4 * 1.5 ** 3), (2, 12 * 1.5 ** 2), (3, 24 * 1.5), (4, 24.0)):
            function = cube
            for _ in range(order):
                function = func.grad(function)
            self.assertAlmostEqual(function(x).item(), want, 10)

    def test_an_inner_slope_is_seen_by_the_outer_one(self):
        """d/dx of x * d/dy (x y^2) at y = 3, which is x * 2 x y."""
        def outer(x):
            return x * func.grad(lambda y: x * y * y)(weft.tensor(3.0))
        self.assertAlmostEqual(func.grad(outer)(weft.tensor(2.0)).item(), 4 * 2.0 * 3.0, 5)

    def test_places_trees_and_what_comes_beside(self):
        a, b = weft.tensor(2.0), weft.tensor(3.0)
        product = lambda p, q: p * p * q  # noqa: E731
        self.assertEqual([each.item() for each in func.grad(product, (0, 1))(a, b)], [12.0, 4.0])
        self.assertEqual(func.grad(product, 1)(a, b).item(), 4.0)
        self.assertEqual(func.grad(product, -1)(a, b).item(), 4.0)
        tree = {"p": a, "rest": [b, (a,)]}
        slopes = func.grad(lambda t: t["p"] * t["rest"][0])(tree)
        self.assertEqual((slopes["p"].item(), slopes["rest"][0].item(), slopes["rest"][1][0].item()),
                         (3.0, 2.0, 0.0))
        slope, aux = func.grad(lambda t: (t * t, "beside"), has_aux=True)(a)
        self.assertEqual((slope.item(), aux), (4.0, "beside"))

    def test_history_of_what_requires_grad_goes_on(self):
        x = weft.tensor(2.0, requires_grad=True)
        func.grad(lambda t: t ** 3)(x).backward()
        self.assertAlmostEqual(x.grad.item(), 12.0, 5)

    def test_refusals(self):
        for call, text in ((lambda: func.grad(lambda t: t)(weft.ones(2)), r"one value, got \[2\]"),
                           (lambda: func.grad(lambda t: 3.0)(weft.ones(2)), "got float"),
                           (lambda: func.grad(weft.sum)(weft.ones(2).long()), r"\.float\(\)"),
                           (lambda: func.grad(weft.sum, 1)(weft.ones(2)), "argnums")):
            with self.assertRaisesRegex(weft.InvalidArgumentError, text):
                call()

    def test_modules_with_other_values(self):
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        x, own = weft.randn(4, 3), model[0].weight
        values = {name: value.detach() * 2 for name, value in model.named_parameters()}
        want = model[1](F.linear(x, values["0.weight"], values["0.bias"])) * 2
        got = func.functional_call(model, {**values, "1.bias": model[1].bias}, (x,))
        assert_close(got, want, 1e-4, 1e-4)
        self.assertIs(model[0].weight, own)
        slopes = func.grad(lambda v: func.functional_call(model, v, x).square().sum())(values)
        self.assertEqual({name: tuple(slope.shape) for name, slope in slopes.items()},
                         {name: tuple(value.shape) for name, value in values.items()})
        with self.assertRaisesRegex(weft.InvalidArgumentError, "'0.nothing'"):
            func.functional_call(model, {"0.weight": own, "0.nothing": own}, (x,))
        self.assertIs(model[0].weight, own)

    @needs_torch
    def test_whole_derivatives_are_pytorchs(self):
        import torch

        def function(t):
            return (t.sin() * t[:1]).cumsum(0)
        x, theirs = weft.tensor(self.X), torch.tensor(self.X)
        F_ = torch.autograd.functional
        assert_close(func.jacrev(function)(x), F_.jacobian(function, theirs), 1e-10, 1e-10)
        assert_close(func.hessian(lambda t: function(t).sum())(x),
                     F_.hessian(lambda t: function(t).sum(), theirs), 1e-10, 1e-10)
        v = array(3, seed=1, dtype=np.float64)
        output, back = func.vjp(function, x)
        want = F_.vjp(function, theirs, torch.tensor(v))
        assert_close(output, want[0], 1e-10, 1e-10)
        assert_close(back(weft.tensor(v))[0], want[1], 1e-10, 1e-10)
        for got, each in zip(func.jvp(function, (x,), (weft.tensor(v),)),
                             F_.jvp(function, theirs, torch.tensor(v))):
            assert_close(got, each, 1e-10, 1e-10)


class Autocast(unittest.TestCase):
    def outcome(self, call):
        with weft.autocast("cpu"):
            return call()

    def test_types_within_and_after(self):
        x, image = weft.ones(4, 4), weft.ones(1, 2, 6, 6)
        low, single = weft.bfloat16, weft.float32
        for call, want in (
                (lambda: x @ x, low), (lambda: weft.matmul(x, x), low), (lambda: x.mm(x), low),
                (lambda: weft.bmm(x[None], x[None]), low), (lambda: F.linear(x, x), low),
                (lambda: weft.einsum("ij,jk->ik", x, x), low),
                (lambda: nn.Conv2d(2, 3, 3)(image), low), (lambda: nn.Conv1d(4, 3, 3)(x), low),
                (lambda: nn.Conv3d(2, 3, 1)(image[:, :, None]), low),
                (lambda: F.scaled_dot_product_attention(x[None], x[None], x[None]), low),
                (lambda: x + x, single), (lambda: x.exp(), single), (lambda: x @ x + x, single),
                (lambda: nn.LayerNorm(4)(x @ x), single),
                (lambda: nn.BatchNorm1d(4)(x @ x), single),
                (lambda: nn.GroupNorm(2, 4)(x @ x), single),
                (lambda: nn.ConvTranspose2d(2, 3, 3)(nn.Conv2d(2, 2, 3)(image)), single),
                (lambda: nn.LSTM(4, 3)(x @ x)[0], single),
                (lambda: F.cross_entropy(x @ x, weft.zeros(4, dtype=weft.int64)), single),
                (lambda: x.double() @ x.double(), weft.float64)):
            self.assertIs(self.outcome(call).dtype, want)
        self.assertIs((x @ x).dtype, single)

    def test_switches(self):
        x = weft.ones(2, 2)
        with weft.autocast("cpu"):
            with weft.autocast("cpu", enabled=False):
                self.assertIs((x @ x).dtype, weft.float32)
            self.assertTrue(weft.is_autocast_cpu_enabled())
            self.assertIs((x @ x).dtype, weft.bfloat16)
        self.assertFalse(weft.is_autocast_cpu_enabled())
        with self.assertRaises(ZeroDivisionError), weft.autocast("cpu"):
            1 / 0
        self.assertIs((x @ x).dtype, weft.float32)
        again = weft.autocast("cpu")(lambda: (x @ x).dtype)
        self.assertEqual((again(), again()), (weft.bfloat16, weft.bfloat16))
        for settings in (("cuda",), ("cpu", weft.float16)):
            with self.assertWarnsRegex(UserWarning, "switched off"), weft.autocast(*settings):
                self.assertIs((x @ x).dtype, weft.float32)

    def test_gradients_are_single_and_close(self):
        """Of the rounding of bfloat16, 2^-8, a few times."""
        def losses(low):
            weft.manual_seed(1)
            model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                                  nn.Linear(64, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
            optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
            x, y = weft.randn(8, 1, 6, 6), weft.arange(8) % 3
            found = []
            for _ in range(10):
                with weft.autocast("cpu", enabled=low):
                    loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                self.assertTrue(all(p.grad.dtype is weft.float32 for p in model.parameters()))
                optimizer.step()
                found.append(loss.item())
            return found

        low, single = losses(True), losses(False)
        self.assertNotEqual(low, single)
        np.testing.assert_allclose(low, single, rtol=0.03, atol=0.02)
        self.assertLess(low[-1], low[0] * 0.7)

    @needs_torch
    def test_products_are_pytorchs(self):
        import torch
        a, b = array(8, 16), array(16, 4, seed=1)
        with weft.autocast("cpu"):
            got = weft.tensor(a) @ weft.tensor(b)
        with torch.autocast("cpu", torch.bfloat16):
            want = torch.tensor(a) @ torch.tensor(b)
        # Both round a sum of rounded operands once, in an order of their own.
        exact = np.matmul(*(weft.tensor(each).bfloat16().double().numpy() for each in (a, b)))
        np.testing.assert_allclose(got.float().numpy(), exact, rtol=2 ** -8, atol=1e-5)
        np.testing.assert_allclose(want.float().numpy(), exact, rtol=2 ** -7, atol=2 ** -5)


if __name__ == "__main__":
    unittest.main()
