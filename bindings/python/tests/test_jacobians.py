"""jacrev(), jacfwd(), hessian(), vjp(), jvp() and linearize() of weft.func: against closed forms, a
loop over rows, and PyTorch's functorch; structures, texts of errors, random numbers, history."""
import unittest

import numpy as np

import weft
from weft import func, nn
from weft.nn import functional as F
from oracle import array, assert_close, needs_torch, torch

try:
    import functorch
except ImportError:
    functorch = None

A, B, ROWS = (array(*shape, seed=seed, dtype=np.float64) for seed, shape in enumerate(
    ((3,), (3,), (4, 3))))
BOTH = (func.jacrev, func.jacfwd)


def converted(library, value):
    """Arrays in lists and dicts as tensors of a library."""
    if isinstance(value, dict):
        return {key: converted(library, each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(converted(library, each) for each in value)
    return library.tensor(value)


def plain(value):
    """Tensors in tuples, lists and dicts as (type, values), whatever the library."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(plain(each) for each in value)
    return str(value.dtype).split(".")[-1], value.detach().numpy()


def assert_same(got, want):
    """Equal structures, types and shapes, close values."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), (got.keys(), want.keys())
        for key in want:
            assert_same(got[key], want[key])
    elif isinstance(want, list) or (isinstance(want, tuple) and not isinstance(want[0], str)):
        assert type(got) is type(want) and len(got) == len(want), (type(got), type(want))
        for one, other in zip(got, want):
            assert_same(one, other)
    else:
        assert got[0] == want[0], (got[0], want[0])
        assert_close(got[1], want[1], 1e-9, 1e-10)


def _tree(T, a, b):
    return {"sum": (a * b["k"]).sum(), "rest": [a * a, T.sin(b["k"])[:, None] * a]}


def _history(T, take):
    """The gradients of what is made of derivatives."""
    def run(x):
        x = x.requires_grad_()
        take(lambda a: T.outer(a, a).sin())(x).square().sum().backward()
        return x.grad
    return run


# Functions of the library T, of its module F of such functions, and of the maker jacrev or jacfwd.
CASES = {
    "first": (lambda T, F, m: m(lambda a, b: _tree(T, a, b)), A, {"k": B}),
    "second": (lambda T, F, m: m(lambda a, b: _tree(T, a, b), 1), A, {"k": B}),
    "two": (lambda T, F, m: m(lambda a, b: _tree(T, a, b), (1, 0)), A, {"k": B}),
    "one_in_a_tuple": (lambda T, F, m: m(lambda a, b: _tree(T, a, b), (0,)), A, {"k": B}),
    "aux": (lambda T, F, m: m(lambda a: (T.sin(a), (a * 2, a)), has_aux=True), A),
    "no_rows": (lambda T, F, m: m(lambda a: a[:0]), A),
    "no_columns": (lambda T, F, m: m(lambda a: T.cat([a, a])), A[:0]),
    "constant": (lambda T, F, m: m(lambda a: T.ones(4, dtype=T.float64)), A),
    "tall": (lambda T, F, m: m(lambda a: T.outer(a, T.ones(9, dtype=T.float64)).sin()), A),
    "wide": (lambda T, F, m: m(lambda a: a.sin().sum(1)), ROWS),
    "within_vmap": (lambda T, F, m: F.vmap(m(lambda a: T.outer(a, a).sin())), ROWS),
    "within_itself": (lambda T, F, m: m(m(lambda a: T.outer(a, a).sin())), A),
    "values_decide": (lambda T, F, m: m(
        lambda a: T.sin(a) if bool((a > 9).any()) else T.cos(a)), A),
    "history": (lambda T, F, m: _history(T, m), A),
    "within_grad": (lambda T, F, m: F.grad(
        lambda x: m(lambda a: T.outer(a, a).sin())(x).square().sum()), A),
}
PRODUCTS = {
    "vjp": (lambda T, F: lambda a: F.vjp(
        lambda t: {"a": t * t, "b": (t.sin(),)}, a)[1]({"a": a, "b": (a,)}), A),
    "vjp_of_two": (lambda T, F: lambda a, b: F.vjp(lambda t, u: t * u["k"], a, b)[1](a),
                   A, {"k": B}),
    "vjp_aux": (lambda T, F: lambda a: F.vjp(lambda t: (t * t, t), a, has_aux=True)[2], A),
    "vjp_within_vmap": (lambda T, F: lambda a, v: F.vmap(F.vjp(lambda t: t.sin(), a)[1])(v),
                        A, ROWS),
    "jvp": (lambda T, F: lambda a, b: F.jvp(lambda p, q: {"a": p["k"] * q}, (b, a), (b, a)),
            A, {"k": B}),
    "jvp_aux": (lambda T, F: lambda a: F.jvp(lambda t: (t.sin(), t * 2), (a,), (a,), has_aux=True),
                A),
    "jvp_within_vmap": (lambda T, F: lambda a, v: F.vmap(
        lambda w: F.jvp(lambda t: t.sin().cumsum(0), (a,), (w,)))(v), A, ROWS),
    "hessian_of_two": (lambda T, F: F.hessian(lambda a, b: (a * b["k"].sin()).prod(), (0, 1)),
                       A, {"k": B}),
    "hessian_of_a_vector": (lambda T, F: F.hessian(lambda a: T.outer(a, a.sin())), A),
    "hessian_within_vmap": (lambda T, F: F.vmap(F.hessian(lambda a: a.prod())), ROWS),
}


class Jacobians(unittest.TestCase):
    def test_closed_forms(self):
        x, m = weft.tensor(A), weft.tensor(ROWS)
        for take in BOTH:
            assert_close(take(weft.sin)(x), np.diag(np.cos(A)), 1e-12, 1e-12)
            assert_close(take(lambda t: m @ t)(x), ROWS, 1e-12, 1e-12)
            assert_close(take(lambda t: t @ x)(m), np.einsum("ij,k->ijk", np.eye(4), A), 1e-12)
            assert_close(take(lambda t: (t * t).sum())(x), 2 * A, 1e-12)
        want = np.prod(A) / np.outer(A, A) * (1 - np.eye(3))
        assert_close(func.hessian(weft.prod)(x), want, 1e-12, 1e-12)

    def test_columns_and_rows_are_those_of_the_loop(self):
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 12), nn.Softmax(-1))
        x = weft.tensor(array(4))
        want = func.jacrev(model, chunk_size=1)(x)
        self.assertEqual(tuple(want.shape), (12, 4))
        for got in (func.jacrev(model)(x), func.jacfwd(model)(x),
                    func.jacrev(model, chunk_size=5)(x), func.jacfwd(model, chunk_size=3)(x),
                    weft.autograd.functional.jacobian(model, x)):
            assert_close(got, want, 1e-5, 1e-6)

    def test_no_more_rows_at_once_than_chunk_size(self):
        seen = []

        def function(t):
            seen.append(weft._core.ones_like(t)._value.shape[0] if hasattr(t, "_value") else 0)
            return t.sin()

        func.jacrev(function, chunk_size=2)(weft.ones(5))
        self.assertEqual(seen, [0, 2, 2, 1])

    def test_one_run_for_all_rows(self):
        calls = []

        def function(t):
            calls.append(1)
            return t.sin()

        for take in BOTH:
            calls.clear()
            take(function)(weft.ones(50))
            self.assertEqual(len(calls), 2)

    def test_an_operation_without_a_rule_goes_by_rows(self):
        def function(t):
            loss = F.ctc_loss(t.log_softmax(-1), weft.tensor([[1, 2]]), (4,), (2,), reduction="sum")
            return weft.cat([loss.reshape(1), t[:, 0, 0].sin(), weft.tensor(t.tolist()).sum().view(1)])

        x = weft.tensor(array(4, 1, 3))
        for take in BOTH:
            got = take(function)(x)
            assert_close(got[0], func.grad(lambda t: function(t)[0])(x), 1e-5, 1e-6)
            assert_close(got[1:5].sum(0)[:, 0, 0], np.cos(x[:, 0, 0].numpy()), 1e-5, 1e-6)
            self.assertEqual(got[5].abs().sum().item(), 0.0)

    def test_random_numbers_are_those_of_the_output(self):
        def function(t):
            mask = F.dropout(weft.ones(20), 0.5)
            return t * mask, mask

        x = weft.ones(20)
        for take in (func.jacrev, lambda f, **k: func.jacfwd(f, randomness="same", **k)):
            weft.manual_seed(5)
            slopes, mask = take(function, has_aux=True)(x)
            after = weft.rand(2)
            assert_close(slopes, np.diag(mask.numpy()))
            self.assertTrue(0 < mask.sum().item() < 40)
            weft.manual_seed(5)
            self.assertTrue(function(x)[1].equal(mask) and weft.rand(2).equal(after))
        with self.assertRaisesRegex(weft.InvalidArgumentError, "randomness='same'"):
            func.jacfwd(lambda t: function(t)[0])(x)
        spread = func.jacfwd(lambda t: weft.cat([function(t)[0] * t.sum()] * 3),
                             randomness="different")(x)
        self.assertGreater(len({tuple(column.tolist()) for column in (spread != 0).T}), 2)

    def test_refusals(self):
        x = weft.ones(3)
        for call, text in (
                (lambda: func.jacrev(weft.sin, 1)(x), "argnums of 1 arguments by position, got 1"),
                (lambda: func.jacrev(weft.sin, ())(x), r"at least one argument, got \(\)"),
                (lambda: func.jacfwd(lambda t: 3)(x), "gives tensors.*got int"),
                (lambda: func.jacrev(lambda t: ())(x), r"at least one tensor, got \(\)"),
                (lambda: func.jacrev(lambda t: t > 0)(x), "floating type, got weft.bool.*aux"),
                (lambda: func.jacfwd(weft.sin)(x.long()), r"weft.int64: convert it with \.float"),
                (lambda: func.jacrev(weft.sin, has_aux=True)(x), r"\(output, aux\).*got Tensor"),
                (lambda: func.jacrev(weft.sin, chunk_size=0), "chunk_size.*got 0"),
                (lambda: func.jacfwd(weft.sin, randomness="some"), "'different'.*got 'some'"),
                (lambda: func.vjp(weft.sin, x)[1](weft.ones(2)), r"cotangents of shape \[3\], got"),
                (lambda: func.vjp(lambda t: (t, t), x)[1](x), "a tensor beside tuple of 2"),
                (lambda: func.jvp(weft.sin, (x,), (x, x)), "tuple of 2 beside tuple of 1"),
                (lambda: func.jvp(weft.sin, (x,), (weft.ones(2),)), r"tangents of shape \[3\]"),
                (lambda: func.linearize(weft.sin), "at least one argument")):
            with self.assertRaisesRegex(weft.InvalidArgumentError, text):
                call()
        for call, text in ((lambda: func.jvp(weft.sin, x, x), "'primals' must be a tuple"),
                           (lambda: func.jacrev(weft.sin, 0.5)(x), "'argnums' must be int"),
                           (lambda: func.vjp(weft.sin, x)[1](3.0), "got float")):
            with self.assertRaisesRegex(TypeError, text):
                call()

    def test_linearize(self):
        def function(a, b):
            return {"y": (a.sin() * b["k"]).cumsum(0)}

        a, b = weft.tensor(A), {"k": weft.tensor(B)}
        output, along = func.linearize(function, a, b)
        assert_close(output["y"], function(a, b)["y"], 1e-12)
        for seed in (1, 2):
            ways = weft.tensor(array(3, seed=seed, dtype=np.float64)), b
            assert_close(along(*ways)["y"], func.jvp(function, (a, b), ways)[1]["y"], 1e-12, 1e-12)
        zeros = {"k": weft.zeros(3, 3, dtype=weft.float64)}
        got = func.vmap(along)(weft.eye(3, dtype=weft.float64), zeros)["y"]
        assert_close(got.T, func.jacrev(function)(a, b)["y"], 1e-12, 1e-12)
        self.assertFalse(output["y"].requires_grad or got.requires_grad)

    def test_history_of_what_the_function_finds_elsewhere(self):
        """Gradients of gradients for the parameters of a model: a penalty on slopes."""
        x, w = weft.tensor(ROWS), weft.tensor(A, requires_grad=True)
        function = lambda t: (t * t * w).sum()  # noqa: E731
        for take in (func.grad(function), func.jacrev(function), func.jacfwd(function),
                     lambda t: func.vjp(function, t)[1](weft.ones((), dtype=t.dtype))[0],
                     func.jacrev(lambda t: t.square() * w)):
            w.grad = None
            take(x[0]).sum().backward()
            assert_close(w.grad, 2 * ROWS[0], 1e-12)
            with weft.no_grad():
                self.assertFalse(take(x[0]).requires_grad)
        w.grad = None
        func.vmap(func.grad(function))(x).sum().backward()
        assert_close(w.grad, 2 * ROWS.sum(0), 1e-12)
        change = func.jvp(lambda t: t.sin() * w, (x[0],), (x[1],))[1]
        assert_close(weft.autograd.grad(change.sum(), w)[0], np.cos(ROWS[0]) * ROWS[1], 1e-12)
        self.assertFalse(func.grad(lambda t: (t * t * w.detach()).sum())(x).requires_grad)

    def test_operations_without_a_second_derivative(self):
        model = nn.Linear(3, 3)

        def loss(t):
            return F.ctc_loss(model(t).log_softmax(-1), weft.tensor([[1, 2]]), (4,), (2,))

        x = weft.tensor(array(4, 1, 3))
        want = weft.autograd.grad(loss(x.requires_grad_()), x)[0]
        got = func.grad(loss)(x.detach())
        assert_close(got, want)
        self.assertFalse(got.requires_grad)

    @needs_torch
    @unittest.skipIf(functorch is None, "functorch is not installed")
    def test_results_are_functorchs(self):
        for name, (make, *arrays) in CASES.items():
            for take in ("jacrev", "jacfwd"):
                with self.subTest(name, take=take):
                    got, want = (plain(make(T, module, getattr(module, take))(
                        *converted(T, arrays))) for T, module in ((weft, func), (torch, functorch)))
                    assert_same(got, want)
        for name, (make, *arrays) in PRODUCTS.items():
            with self.subTest(name):
                got, want = (plain(make(T, module)(*converted(T, arrays)))
                             for T, module in ((weft, func), (torch, functorch)))
                assert_same(got, want)

    def test_rows_at_once_are_rows_one_by_one(self):
        """The cases again, where there is no PyTorch: a loop over rows as the oracle."""
        def one_by_one(function, *args, **settings):
            return func.jacrev(function, *args, chunk_size=1, **settings)

        for name, (make, *arrays) in CASES.items():
            want = plain(make(weft, func, one_by_one)(*converted(weft, arrays)))
            for take in BOTH:
                with self.subTest(name, take=take.__name__):
                    assert_same(plain(make(weft, func, take)(*converted(weft, arrays))), want)


if __name__ == "__main__":
    unittest.main()
