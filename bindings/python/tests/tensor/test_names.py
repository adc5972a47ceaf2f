"""What PyTorch's programs call beside operations: shapes with numel(), results with names, types of
tensors, hooks, factorizations, settings; against NumPy and closed forms."""
import copy
import pickle
import unittest

import numpy as np

import weft
from oracle import array, assert_close


class Shapes(unittest.TestCase):
    def test_a_shape_is_a_tuple_that_counts(self):
        shape = weft.ones(2, 3, 4).shape
        self.assertEqual((shape, shape.numel(), shape[1:].numel()), ((2, 3, 4), 24, 12))
        self.assertEqual((type(shape + (5,)), type(shape[:2]), type(shape * 2), type(shape[0])),
                         (weft.Size, weft.Size, weft.Size, int))
        self.assertEqual(weft.Size([]).numel(), 1)
        self.assertEqual(pickle.loads(pickle.dumps(shape)), shape)
        self.assertEqual(copy.deepcopy(shape), shape)
        with self.assertRaises(OverflowError):
            weft.Size([2 ** 40, 2 ** 40]).numel()
        self.assertEqual({shape: 1}[(2, 3, 4)], 1)

    def test_results_have_names(self):
        x = weft.tensor([[3.0, 1.0], [2.0, 5.0]])
        for name, found in (("max", x.max(1)), ("sort", x.sort(1)), ("topk", x.topk(1)),
                            ("median", x.median(1)), ("kthvalue", x.kthvalue(1)),
                            ("mode", x.mode(1)), ("cummax", x.cummax(1))):
            values, indices = found
            self.assertTrue(values is found.values and indices is found.indices, name)
            self.assertIn(f"return_types.{name}(\nvalues=tensor(", repr(found))
            self.assertTrue(x.gather(1, indices.reshape(2, -1)).equal(values.reshape(2, -1)))


class Makers(unittest.TestCase):
    def test_devices(self):
        for call in (lambda d: weft.zeros(2, device=d), lambda d: weft.randn(2, device=d),
                     lambda d: weft.tensor([1], device=d), lambda d: weft.arange(3, device=d),
                     lambda d: weft.ones(1).new_zeros(2, device=d),
                     lambda d: weft.randn_like(weft.ones(2), device=d)):
            for here in ("cpu", weft.device("cpu"), None):
                self.assertIsInstance(call(here), weft.Tensor)
            with self.assertRaisesRegex(ValueError, "expected 'cpu'.*cuda"):
                call("cuda")
        with self.assertRaisesRegex(ValueError, "gpu"):
            weft.device("gpu")

    def test_out_takes_the_result(self):
        x, out = weft.ones(2, 3), weft.empty(2, 3)
        self.assertIs(weft.add(x, 1, out=out), out)
        self.assertIs(weft.exp(x, out=out), out)
        assert_close(out, np.full((2, 3), np.e, np.float32))
        values, places = weft.empty(2), weft.empty(2, dtype=weft.int64)
        weft.max(x, 1, out=(values, places))
        self.assertEqual(values.tolist(), [1, 1])
        with self.assertRaisesRegex(ValueError, "holds weft.float32"):
            weft.add(x, 1, out=weft.empty(2, 3, dtype=weft.int64))
        with self.assertRaisesRegex(ValueError, "no grad"):
            weft.add(x.requires_grad_(), 1, out=out)

    def test_words_of_numpy(self):
        x = weft.from_numpy(array(3, 4))
        self.assertTrue(x.sum(axis=0, keepdims=True).equal(x.sum(0, True)))
        with self.assertRaisesRegex(TypeError, "keyword"):
            x.sum(axis=0, dim=1)

    def test_the_default_type(self):
        try:
            weft.set_default_dtype(weft.float64)
            self.assertIs((weft.arange(3) / 2 * 1.5 + weft.rand(3)).dtype, weft.float64)
        finally:
            weft.set_default_dtype(weft.float32)
        with self.assertRaisesRegex(TypeError, "floating"):
            weft.set_default_dtype(weft.int64)

    def test_halves_are_pickled(self):
        for kind in (weft.float16, weft.bfloat16, weft.bool, weft.int8):
            x = weft.tensor([[1.5, 0.0, -2.0]]).to(kind)
            back = pickle.loads(pickle.dumps(x))
            self.assertTrue(back.dtype is kind and back.equal(x), kind)


class Hooks(unittest.TestCase):
    def test_a_hook_sees_and_replaces_the_gradient(self):
        x, seen = weft.ones(2, requires_grad=True), []
        handle = x.register_hook(lambda g: seen.append(g.tolist()))
        y = x * 3
        y.register_hook(lambda g: g * 10)
        y.sum().backward()
        self.assertEqual((seen, x.grad.tolist()), ([[30.0, 30.0]], [30.0, 30.0]))
        handle.remove()
        handle.remove()
        (x * 1).sum().backward()
        self.assertEqual(len(seen), 1)

    def test_errors_of_a_hook_end_the_backward(self):
        x = weft.ones(2, requires_grad=True)
        x.register_hook(lambda g: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            (x * 2).sum().backward()
        with self.assertRaisesRegex(TypeError, "function"):
            x.register_hook(3)
        with self.assertRaisesRegex(ValueError, "requires a gradient"):
            weft.ones(2).register_hook(print)


class Factorizations(unittest.TestCase):
    def test_against_numpy(self):
        for m, n in ((1, 1), (4, 4), (5, 3), (3, 5)):
            a = array(2, m, n, dtype=np.float64, seed=m)
            x, linalg = weft.from_numpy(a), weft.linalg
            u, s, vh = linalg.svd(x, False)
            assert_close(s, np.linalg.svd(a, compute_uv=False), 1e-10, 1e-10)
            assert_close((u * s.unsqueeze(-2)) @ vh, a, 1e-10, 1e-10)
            full_u, _, full_vh = linalg.svd(x)
            for each in (full_u, full_vh):
                assert_close(each @ each.mT, np.broadcast_to(np.eye(each.shape[-1]), each.shape),
                             1e-9, 1e-9)
            for mode in ("reduced", "complete"):
                for got, want in zip(linalg.qr(x, mode), zip(*(
                        np.linalg.qr(each, mode) for each in a))):
                    assert_close(got, np.stack(want), 1e-9, 1e-9)
            assert_close(linalg.pinv(x), np.linalg.pinv(a), 1e-9, 1e-9)
            self.assertEqual(linalg.matrix_rank(x).tolist(), np.linalg.matrix_rank(a).tolist())
        a = array(3, 4, 4, dtype=np.float64)
        x, b = weft.from_numpy(a), array(3, 4, 2, dtype=np.float64, seed=1)
        assert_close(x.inverse(), np.linalg.inv(a), 1e-9, 1e-9)
        assert_close(x.det(), np.linalg.det(a), 1e-9, 1e-9)
        assert_close(weft.linalg.solve(x, weft.from_numpy(b)), np.linalg.solve(a, b), 1e-9, 1e-9)
        assert_close(weft.linalg.eigvalsh(x @ x.mT), np.linalg.eigvalsh(a @ a.swapaxes(1, 2)),
                     1e-9, 1e-9)
        values, vectors = weft.linalg.eigh(x @ x.mT)
        assert_close(vectors * values.unsqueeze(-2), x @ x.mT @ vectors, 1e-9, 1e-9)
        assert_close(weft.linalg.cholesky(x @ x.mT), np.linalg.cholesky(
            a @ a.swapaxes(1, 2)), 1e-9, 1e-9)

    def test_gradients_are_those_of_differences(self):
        a = weft.from_numpy(array(3, 3, dtype=np.float64)).requires_grad_()
        b = weft.from_numpy(array(3, 2, dtype=np.float64, seed=1)).requires_grad_()

        def positive(x):
            return x @ x.t() + weft.eye(3, dtype=weft.float64)

        linalg = weft.linalg
        for call in (linalg.inv, linalg.det, lambda x: linalg.slogdet(x)[1], linalg.svdvals,
                     lambda x: linalg.cholesky(positive(x)),
                     lambda x: linalg.eigvalsh(positive(x)),
                     lambda x: linalg.eigh(positive(x))[1].square(),
                     lambda x: linalg.inv(linalg.inv(x)), weft.matrix_exp,
                     lambda x: linalg.lu(x)[1], lambda x: linalg.lu(x)[2].sin(),
                     lambda x: linalg.solve_triangular(positive(x), b.detach(), upper=True),
                     lambda x: linalg.lu_solve(*linalg.lu_factor(x), b.detach())):
            self.assertTrue(weft.autograd.gradcheck(call, (a,)))
        self.assertTrue(weft.autograd.gradcheck(linalg.solve, (a, b)))
        self.assertTrue(weft.autograd.gradgradcheck(linalg.inv, (a,)))

    def test_what_has_no_answer_is_refused(self):
        for call in (lambda: weft.linalg.inv(weft.zeros(2, 2)), lambda: weft.linalg.inv(
                weft.ones(2, 3)), lambda: weft.linalg.cholesky(-weft.eye(2)),
                     lambda: weft.linalg.svd(weft.ones(2, 2, requires_grad=True)),
                     lambda: weft.linalg.det(weft.ones(2, 2, dtype=weft.int64))):
            with self.assertRaises(weft.InvalidArgumentError):
                call()


class Functions(unittest.TestCase):
    def test_slopes_of_special_functions(self):
        x = weft.tensor([0.3, 0.7, 0.9], dtype=weft.float64, requires_grad=True)
        for name in ("tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "atanh", "log10",
                     "erfc", "erfinv", "lgamma", "digamma", "i0", "sinc", "logit"):
            self.assertTrue(weft.autograd.gradcheck(getattr(weft, name), (x,)), name)
        for name in ("tan", "asin", "sinh", "erfinv", "lgamma", "sinc"):
            self.assertTrue(weft.autograd.gradgradcheck(getattr(weft, name), (x,)), name)
        special = weft.special
        for call in (special.i1, special.i0e, special.i1e, special.erfcx,
                     lambda t: special.i1e(t * 80), lambda t: special.erfcx(t * 40),
                     lambda t: weft.polygamma(2, t), lambda t: weft.polygamma(4, t + 1),
                     lambda t: weft.igamma(x.detach(), t), lambda t: weft.igammac(x.detach() * 9, t),
                     lambda t: weft.frexp(t * 5)[0], lambda t: weft.cumulative_trapezoid(t * t)):
            self.assertTrue(weft.autograd.gradcheck(call, (x,)))
        self.assertTrue(weft.autograd.gradcheck(lambda t: weft.acosh(t + 1), (x,)))
        y = (x.detach() * 2 + 0.1).requires_grad_()  # away from the jumps of fmod
        for name in ("fmod", "hypot", "logaddexp", "xlogy", "lerp"):
            more = (0.3,) if name == "lerp" else ()
            self.assertTrue(weft.autograd.gradcheck(
                lambda a, b: getattr(weft, name)(a, b, *more), (y, x)), name)

    def test_values_of_special_functions(self):
        # Abramowitz and Stegun: gamma'(1), gamma'(1/2), trigamma(1) = pi^2 / 6.
        x = weft.tensor([1.0, 0.5, -0.5], dtype=weft.float64)
        assert_close(x.digamma(), [-0.5772156649015329, -1.9635100260214235, 0.03648997397857652],
                     1e-13, 1e-13)
        self.assertAlmostEqual(weft.polygamma(1, x[:1]).item(), np.pi ** 2 / 6, 11)
        y = weft.linspace(-0.999999, 0.999999, 101, dtype=weft.float64)
        assert_close(y.erfinv().erf(), y, 1e-14, 1e-14)
        self.assertEqual(weft.erfinv(weft.tensor([1.0, -1.0])).tolist(), [np.inf, -np.inf])

    def test_shares_and_sums_against_closed_forms(self):
        x = weft.tensor([1e-3, 0.5, 2.0, 7.5, 40.0], dtype=weft.float64)
        one, half = weft.ones_like(x), weft.full_like(x, 0.5)
        assert_close(weft.igamma(one, x), -np.expm1(-x.numpy()), 1e-13, 1e-300)
        assert_close(weft.igammac(one, x), np.exp(-x.numpy()), 1e-13, 1e-300)
        assert_close(weft.igamma(half, x), x.sqrt().erf(), 1e-13, 1e-300)
        assert_close(weft.igammac(half, x), x.sqrt().erfc(), 1e-12, 1e-300)
        assert_close(weft.igamma(x * 30, x * 30) + weft.igammac(x * 30, x * 30), one, 1e-13)
        zeta = weft.special.zeta(weft.tensor([2.0, 4.0, 2.0], dtype=weft.float64),
                                 weft.tensor([1.0, 1.0, 0.5], dtype=weft.float64))
        assert_close(zeta, [np.pi ** 2 / 6, np.pi ** 4 / 90, np.pi ** 2 / 2], 1e-14)
        assert_close(weft.polygamma(3, x[2:3] / 2), [np.pi ** 4 / 15], 1e-13)
        for at in (24.9, 25.1):  # the two formulas of erfcx, and of i0e, meet
            before, behind = weft.special.erfcx(weft.tensor([at, at + 1e-9], dtype=weft.float64))
            self.assertAlmostEqual(before.item(), behind.item(), 11)
        assert_close(weft.special.i0e(weft.tensor([49.999999, 50.000001], dtype=weft.float64)),
                     [0.0565616266] * 2, 1e-6)

    def test_neighbours_and_parts_against_numpy(self):
        for kind in (np.float32, np.float64):
            a, b = array(40, dtype=kind), array(40, seed=1, dtype=kind)
            a[:4], b[:3] = (0, -0.0, np.inf, 1e-45), (1, -1, 0)
            got = weft.nextafter(weft.tensor(a), weft.tensor(b)).numpy()
            np.testing.assert_array_equal(got, np.nextafter(a, b))
            mantissa, exponent = weft.frexp(weft.tensor(a[3:]))
            for one, other in zip((mantissa, exponent), np.frexp(a[3:])):
                np.testing.assert_array_equal(one.numpy(), other)

    def test_bits_against_numpy(self):
        a, b = (np.random.default_rng(i).integers(-100, 100, 50) for i in (1, 2))
        for kind in ("int64", "int32", "int8", "uint8"):
            one, other = a.astype(kind), b.astype(kind)
            x, y = weft.from_numpy(one), weft.from_numpy(other)
            for got, want in ((x & y, one & other), (x | y, one | other), (x ^ y, one ^ other),
                              (~x, ~one), (x >> 2, one >> 2)):
                np.testing.assert_array_equal(got.numpy(), want)
        self.assertEqual((weft.tensor([1, -1]) << 70).tolist(), [0, 0])
        self.assertEqual((weft.tensor([1, -1]) >> 70).tolist(), [0, -1])

    def test_arithmetic_with_arrays_keeps_gradients(self):
        x, a = weft.ones(3, requires_grad=True), np.arange(3, dtype=np.float32)
        for y in (x * a, a * x):
            x.grad = None
            y.sum().backward()
            self.assertEqual(x.grad.tolist(), [0, 1, 2])
        self.assertIsInstance(np.sin(x.detach()), weft.Tensor)


if __name__ == "__main__":
    unittest.main()
