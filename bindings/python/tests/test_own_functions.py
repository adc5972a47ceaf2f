"""autograd.Function with several outputs, beside PyTorch where it is installed, and closed forms."""
import unittest

import numpy as np

import weft
from oracle import assert_close, torch


def make(T):
    """The functions under test, written once for both libraries."""

    class Parts(T.autograd.Function):
        """Several outputs, one that takes no gradient, whole numbers, and text."""

        seen = []

        @staticmethod
        def forward(ctx, x, factor, y, materialize=True):
            order = T.argsort(x.reshape(-1))
            steps = x.round()
            product = x * y
            ctx.mark_non_differentiable(order, steps)
            ctx.set_materialize_grads(materialize)
            ctx.save_for_backward(x, y, product)
            ctx.factor = factor
            return x * factor, order, product, steps, "text"

        @staticmethod
        def backward(ctx, scaled, order, product, steps, text):
            Parts.seen.append([None if each is None else float(each.sum())
                               for each in (scaled, order, product, steps)] + [text])
            x, y, _ = ctx.saved_tensors
            dx = dy = None
            if scaled is not None:
                dx = scaled * ctx.factor
            if product is not None:
                dx = product * y if dx is None else dx + product * y
                dy = product * x
            return dx, None, dy, None

    class Roots(T.autograd.Function):
        """Its backward is of the outputs, so that second derivatives need their histories."""

        @staticmethod
        def forward(ctx, x):
            root = x.sqrt()
            inverse = 1 / root
            ctx.save_for_backward(root, inverse)
            return root, inverse

        @staticmethod
        def backward(ctx, d_root, d_inverse):
            root, inverse = ctx.saved_tensors
            return d_root * inverse / 2 - d_inverse * inverse ** 3 / 2

    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone(), x.clone()

        @staticmethod
        def backward(ctx, a, b):
            return a + 10 * b

    return Parts, Roots, Twice


def runs(T):
    """{case: numbers} of one library."""
    Parts, Roots, Twice = make(T)
    draw = np.random.RandomState(0)
    given = draw.uniform(0.5, 2.0, (2, 3, 4))
    found = {}

    def leaf(i):
        return T.from_numpy(given[i].copy()).requires_grad_()

    for case, materialize in (("both", True), ("first", True), ("second", True), ("both", False),
                              ("first", False), ("second", False)):
        Parts.seen.clear()
        x, y = leaf(0), leaf(1)
        scaled, order, product, steps, text = Parts.apply(x, 3.0, y, materialize)
        found[case, materialize, "kinds"] = [scaled.requires_grad, order.requires_grad,
                                            product.requires_grad, steps.requires_grad, text]
        total = {"both": lambda: (scaled * scaled).sum() + product.sum(),
                 "first": lambda: (scaled * scaled).sum(), "second": product.sum}[case]()
        total.backward()
        found[case, materialize] = [x.grad, y.grad]
        found[case, materialize, "seen"] = list(Parts.seen)
    x = leaf(0)
    root, inverse = Roots.apply(x)
    (first,) = T.autograd.grad((root * root * inverse).sum(), x, create_graph=True)
    (second,) = T.autograd.grad((first * first).sum(), x)
    found["second derivatives"] = [first, second]
    x = leaf(0)
    a, b = Twice.apply(x * 1)
    (a + b).sum().backward()
    found["equal outputs"] = [x.grad]
    x = leaf(0)
    a, b = Twice.apply(x * 1)
    a.sum().backward(retain_graph=True)
    b.sum().backward()
    found["two passes"] = [x.grad]
    with T.no_grad():
        found["no history"] = [each.requires_grad for each in Twice.apply(leaf(1))]
    found["no input takes a gradient"] = [
        each.requires_grad for each in Twice.apply(T.ones(2))]
    return found


class SeveralOutputs(unittest.TestCase):
    def test_closed_forms(self):
        found = runs(weft)
        draw = np.random.RandomState(0)
        x, y = draw.uniform(0.5, 2.0, (2, 3, 4))
        self.assertEqual(found["both", True, "kinds"], [True, False, True, False, "text"])
        assert_close(found["both", True][0].numpy(), 18 * x + y, 1e-12)
        assert_close(found["both", True][1].numpy(), x, 1e-12)
        self.assertEqual(found["first", False, "seen"][0][1:], [None, None, None, None])
        self.assertEqual(found["first", True, "seen"][0][1:], [0.0, 0.0, 0.0, None])
        self.assertIsNone(found["first", False][1])
        # root^2 inverse is the root again.
        assert_close(found["second derivatives"][0].detach().numpy(), 0.5 / np.sqrt(x), 1e-12)
        assert_close(found["second derivatives"][1].numpy(), -0.25 / x ** 2, 1e-12)
        assert_close(found["equal outputs"][0].numpy(), np.full_like(x, 11.0), 1e-12)
        assert_close(found["two passes"][0].numpy(), np.full_like(x, 11.0), 1e-12)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_pytorch(self):
        mine, theirs = runs(weft), runs(torch)
        self.assertEqual(list(mine), list(theirs))
        for case, wanted in theirs.items():
            with self.subTest(case=case):
                for a, b in zip(mine[case], wanted):
                    if hasattr(b, "detach"):
                        assert_close(a.detach().numpy(), b.detach().numpy(), 1e-10)
                    elif isinstance(b, list):
                        for one, other in zip(a, b):
                            if isinstance(other, float):
                                self.assertAlmostEqual(one, other, places=9)
                            else:
                                self.assertEqual(one, other)
                    else:
                        self.assertEqual(a, b)

    def test_within_vmap(self):
        _, Roots, Twice = make(weft)
        x = weft.rand(5, 3, dtype=weft.float64) + 0.5

        def slopes(row):
            def total(value):
                root, inverse = Roots.apply(value)
                return (root * root * inverse).sum() + (2 * inverse).sum()

            return weft.func.grad(total)(row)

        got = weft.func.vmap(slopes)(x)
        wanted = weft.stack([slopes(row) for row in x])
        assert_close(got.numpy(), wanted.numpy(), 1e-12)

    def test_outputs_without_a_gradient_within_vmap(self):
        class Two(weft.autograd.Function):
            @staticmethod
            def forward(ctx, x, materialize):
                ctx.save_for_backward(x)
                ctx.set_materialize_grads(materialize)
                return 3 * x, x * x

            @staticmethod
            def backward(ctx, first, second):
                x, = ctx.saved_tensors
                parts = [each * slope for each, slope in ((first, 3.0), (second, 2 * x))
                         if each is not None]
                return sum(parts[1:], parts[0]), None

        x = weft.rand(5, 3, dtype=weft.float64)
        for materialize in (True, False):
            for part, wanted in ((0, 18 * x), (1, 4 * x ** 3)):
                got = weft.func.vmap(weft.func.grad(
                    lambda row: (Two.apply(row, materialize)[part] ** 2).sum()))(x)  # noqa: B023
                assert_close(got.numpy(), wanted.numpy(), 1e-12)

    def test_numerical_derivatives(self):
        _, Roots, _ = make(weft)
        x = (weft.rand(4, dtype=weft.float64) + 0.5).requires_grad_()
        self.assertTrue(weft.autograd.gradcheck(Roots.apply, (x,)))

    def test_views_and_inputs_as_outputs(self):
        class Pass(weft.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x, y.reshape(-1), x

            @staticmethod
            def backward(ctx, a, b, c):
                return a + 2 * c, 5 * b.reshape(2, 2)

        x, y = weft.ones(3, requires_grad=True), weft.ones(2, 2, requires_grad=True)
        a, b, c = Pass.apply(x * 1, y * 1)
        (a.sum() + b.sum() + c.sum()).backward()
        self.assertEqual(x.grad.tolist(), [3, 3, 3])
        self.assertEqual(y.grad.tolist(), [[5, 5], [5, 5]])

    def test_what_is_refused(self):
        class Bad(weft.autograd.Function):
            given = None

            @staticmethod
            def forward(ctx, x):
                return Bad.given

            @staticmethod
            def backward(ctx, *gradients):
                return gradients

        x = weft.ones(2, requires_grad=True)
        for Bad.given in (3, "x", (3, "x"), [x, x], None):
            with self.assertRaisesRegex(TypeError, "must give a tensor, or a tuple with one"):
                Bad.apply(x)
        Bad.given = (x * 2, x * 3)
        a, b = Bad.apply(x)
        with self.assertRaisesRegex(weft.InvalidArgumentError, "1 gradients .*got 2"):
            (a + b).sum().backward()
        with self.assertRaisesRegex(TypeError, "mark_non_differentiable"):
            weft.autograd.FunctionContext(()).mark_non_differentiable(3)


if __name__ == "__main__":
    unittest.main()
