"""What vmap() does with its arguments and results, random numbers, and what it refuses."""
import threading
import unittest

import numpy as np

import weft
from weft import func, nn
from weft.nn import functional as F
from oracle import array, assert_close, assert_equal

vmap = func.vmap
ERROR = weft.InvalidArgumentError


class Arguments(unittest.TestCase):
    X, Y = weft.tensor(array(4, 3)), weft.tensor(array(4, 3, seed=1))

    def test_axes_of_arguments_and_results(self):
        for in_dim, out_dim in ((0, 0), (1, 0), (-1, 1), (0, -1), (-2, -2)):
            got = vmap(lambda a: a * 2, in_dim, out_dim)(self.X)
            want = self.X * 2 if in_dim in (0, -2) else (self.X * 2).t()
            assert_equal(got, want.t() if out_dim in (1, -1) else want)

    def test_trees(self):
        def function(tree, number, shared):
            return {"sum": tree["a"] + tree["b"][0], "rest": [tree["b"][1] * number, (shared,)]}

        tree = {"a": self.X, "b": (self.Y.t(), self.X[0])}
        got = vmap(function, ({"a": 0, "b": (1, None)}, None, None),
                   {"sum": 1, "rest": [0, (None,)]})(tree, 3, self.X)
        assert_equal(got["sum"], (self.X + self.Y).t())
        assert_equal(got["rest"][0], (self.X[0] * 3).expand(4, 3))
        self.assertIs(got["rest"][1][0], self.X)
        whole = vmap(function, (0, None, None))({"a": self.X, "b": (self.Y, self.X)}, 2, 1 + self.X)
        assert_equal(whole["sum"], self.X + self.Y)
        assert_equal(whole["rest"][1][0], (1 + self.X).expand(4, 4, 3))

    def test_keywords_are_shared(self):
        got = vmap(lambda a, scale: a * scale.sum())(self.X, scale=self.Y)
        assert_close(got, self.X * self.Y.sum())

    def test_named_results(self):
        found = vmap(lambda a: a.max(0))(self.X)
        self.assertEqual(type(found), type(self.X.max(1)))
        assert_equal(found.indices, self.X.max(1).indices)

    def test_nested_samples_of_both(self):
        table = vmap(vmap(lambda a, b: (a - b).norm(), (None, 0)), (0, None))(self.X, self.Y)
        assert_close(table, weft.cdist(self.X, self.Y), 1e-5, 1e-6)
        deep = vmap(vmap(vmap(lambda a, b, c: a + b * c, (0, None, None)), (None, 0, None)),
                    (None, None, 0))(weft.arange(2), weft.arange(3), weft.arange(4))
        want = weft.arange(2) + (weft.arange(4)[:, None] * weft.arange(3)).unsqueeze(-1)
        assert_equal(deep, want)

    def test_chunks(self):
        def function(a, b):
            self.sizes.append(a._level.size)
            return a * b, b

        for chunk, sizes in ((1, [1] * 4), (3, [3, 1]), (4, [4]), (9, [4])):
            self.sizes = []
            got = vmap(function, (0, None), (1, 0), chunk_size=chunk)(self.X, self.Y)
            self.assertEqual(self.sizes, sizes)
            assert_equal(got[0], (self.X[:, None] * self.Y).movedim(0, 1))
            assert_equal(got[1], self.Y.expand(4, 4, 3))

    def test_facts_of_one_sample(self):
        def function(a):
            self.assertEqual((tuple(a.shape), a.ndim, a.numel(), len(a), a.dtype, a.size(-1)),
                             ((3,), 1, 3, 3, weft.float32, 3))
            self.assertIsInstance(a, weft.Tensor)
            self.assertTrue(weft.is_tensor(a) and a.is_floating_point())
            self.assertEqual(str(a.device), "cpu")
            self.assertEqual((tuple(a.unsqueeze(0).stride()), a.grad), ((3, 1), None))
            self.assertIn("4 samples", repr(a))
            return a

        assert_equal(vmap(function)(self.X), self.X)

    def test_levels_end_with_errors(self):
        with self.assertRaises(ZeroDivisionError):
            vmap(lambda a: 1 / 0)(self.X)
        assert_equal(vmap(lambda a: a + weft.rand(3) * 0, randomness="same")(self.X), self.X)
        weft.rand(3)  # outside of vmap() it asks nothing

    def test_threads(self):
        """Beside others within vmap(), and beside one that draws random numbers outside of it."""
        found, drawn = {}, []

        def work(number):
            for _ in range(20):
                found[number] = vmap(lambda a: (a * number).cumsum(0))(self.X)

        def draw():
            drawn.extend(F.dropout(weft.ones(20000)) + weft.rand(20000) for _ in range(50))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        threads.append(threading.Thread(target=draw))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, got in found.items():
            assert_close(got, (self.X * number).cumsum(1))
        self.assertEqual((len(found), len(drawn)), (4, 50))


class Randomness(unittest.TestCase):
    X = weft.ones(64, 50)

    def draws(self):
        return {
            "rand": lambda a: weft.rand(50) + a * 0, "randn": lambda a: weft.randn(5, 10),
            "rand_like": weft.rand_like, "randint": lambda a: weft.randint(0, 1000, (50,)),
            "randperm": lambda a: weft.randperm(50), "dropout": F.dropout,
            "dropout of all": lambda a: F.dropout(weft.ones(50)) * a,
            "bernoulli": lambda a: weft.bernoulli(a / 2), "normal": lambda a: weft.normal(a, 1.0), "in place": lambda a: a.clone().uniform_(0, 1),
            "bernoulli of all": lambda a: weft.bernoulli(weft.full((50,), 0.5))}

    def test_different_and_same(self):
        for name, function in self.draws().items():
            with self.subTest(function=name):
                weft.manual_seed(1)
                different = vmap(function, randomness="different")(self.X).reshape(64, -1)
                same = vmap(function, randomness="same")(self.X).reshape(64, -1)
                self.assertFalse(bool((different[0] == different[1]).all()))
                self.assertTrue(bool((same == same[:1]).all()))
                self.assertFalse(bool((same == same[:, :1]).all()))
                with self.assertRaisesRegex(ERROR, "randomness='error'"):
                    vmap(function)(self.X)

    def test_nested(self):
        def pair(outer, inner):
            return vmap(vmap(lambda a: weft.rand(3) + a * 0, randomness=inner),
                        randomness=outer)(weft.zeros(2, 4))

        both = pair("different", "different")
        self.assertEqual(len(both.flatten().unique()), 24)
        inner = pair("same", "different")
        self.assertEqual(len(inner.flatten().unique()), 12)
        assert_equal(inner[0], inner[1])
        outer = pair("different", "same")
        self.assertEqual(len(outer.flatten().unique()), 6)
        assert_equal(outer[:, 0], outer[:, 3])

    def test_chunks_draw_as_the_whole_does(self):
        def draw(a):
            return F.dropout(a) + weft.rand(50)

        weft.manual_seed(4)
        same = vmap(draw, randomness="same", chunk_size=10)(self.X)
        self.assertTrue(bool((same == same[:1]).all()))
        different = vmap(draw, randomness="different", chunk_size=10)(self.X)
        self.assertFalse(bool((different[:10] == different[10:20]).any(1).all()))

    def test_masks_have_their_share_and_scale(self):
        weft.manual_seed(3)
        dropped = vmap(lambda a: F.dropout(a, 0.25), randomness="different")(self.X)
        self.assertAlmostEqual(float((dropped == 0).float().mean()), 0.25, 1)
        self.assertEqual(sorted(set(dropped.flatten().tolist())), [0.0, float(np.float32(4 / 3))])
        drawn = vmap(lambda p: weft.multinomial(p, 1000, True), randomness="different")(
            weft.tensor([[1.0, 0.0], [1.0, 3.0]]))
        self.assertEqual(drawn[0].sum().item(), 0)
        self.assertAlmostEqual(drawn[1].float().mean().item(), 0.75, 1)


class Refusals(unittest.TestCase):
    X = weft.tensor(array(4, 3))

    def refused(self, text, call, error=ERROR):
        with self.assertRaisesRegex(error, text):
            call()

    def test_arguments(self):
        x = self.X
        same = vmap(lambda *a: a[0])
        self.refused("4 as in the first, got 2", lambda: same(x, x[:2]))
        self.refused(r"in_dims in \[-2, 2\).*got 2", lambda: vmap(weft.sin, 2)(x))
        self.refused(r"in_dims in \[0, 0\)", lambda: same(weft.tensor(1.0)))
        self.refused("no tensors, got 0 for float", lambda: same(x, 2.0))
        self.refused("at least one tensor", lambda: vmap(lambda a: a, None)(x))
        self.refused("at least one tensor", lambda: same())
        self.refused("at least one sample", lambda: same(x[:0]))
        self.refused("form of what it belongs to, 2 parts", lambda: vmap(weft.add, (0,))(x, x))
        self.refused("a dict of 'a'", lambda: vmap(lambda t: t["a"], ({"b": 0},))({"a": x}))
        self.refused("in_dims as a whole number", lambda: vmap(weft.sin, "0")(x))
        self.refused("randomness 'error'", lambda: vmap(weft.sin, randomness="any"))
        self.refused("chunk_size", lambda: vmap(weft.sin, chunk_size=0))
        self.refused("must be a function", lambda: vmap(3), TypeError)

    def test_results(self):
        x = self.X
        self.refused("gives tensors, .*got float", lambda: vmap(lambda a: 1.0)(x), TypeError)
        self.refused("gives tensors, .*got NoneType", lambda: vmap(lambda a: (a, None))(x), TypeError)
        self.refused(r"out_dims in \[-2, 2\)", lambda: vmap(weft.sin, out_dims=2)(x))
        self.refused("out_dims=None only", lambda: vmap(weft.sin, out_dims=None)(x))
        self.refused("out_dims of the form", lambda: vmap(lambda a: (a, a), out_dims=(0,))(x))

    def test_values_do_not_decide(self):
        x = self.X
        for function in (
                lambda a: a if a.sum() > 0 else -a, lambda a: a * a.sum().item(),
                lambda a: weft.tensor(a.tolist()), lambda a: weft.tensor(a.numpy()),
                lambda a: a[int(a[0])], lambda a: a * float(a[0]), lambda a: a.sum() in [1, 2],
                lambda a: weft.tensor(weft.equal(a, a)), lambda a: a.repeat(a.argmax()),
                lambda a: weft.zeros(a.argmax()) + 1, lambda a: weft.tensor(np.asarray(a)),
                lambda a: weft.tensor(np.sin(a)), lambda a: weft.allclose(a, a)):
            with self.assertRaisesRegex((ERROR, NotImplementedError, TypeError),
                                        r"weft\.where|no batched rule|whole numbers|must be"):
                vmap(function)(x)

    def test_what_has_no_rule(self):
        x = self.X
        for function, name in (
                (lambda a: a.nonzero(), "nonzero"), (lambda a: a[a > 0], "getitem"),
                (lambda a: a.masked_select(a > 0), "masked_select"), (lambda a: a.unique(), "unique"),
                (lambda a: a.sum().backward(), "backward"), (lambda a: a[:a.argmax()], "getitem"),
                (lambda a: weft.tensor([a, a]), "tensor"), (lambda a: a.data_ptr(), "data_ptr"),
                (lambda a: a.storage_offset(), "storage_offset"),
                (lambda a: a.register_hook(abs), "register_hook"),
                (lambda a: weft.autograd.checkpoint(weft.sin, a), "checkpoint")):
            with self.assertRaisesRegex((NotImplementedError, ERROR), name):
                vmap(function)(x)

    def test_writes_into_what_samples_share(self):
        x, shared = self.X, weft.zeros(3)
        for function in (
                lambda a: shared.add_(a), lambda a: shared.copy_(a), lambda a: shared.fill_(a[0]),
                lambda a: shared.__iadd__(a), lambda a: shared.__setitem__(0, a[0]),
                lambda a: shared.clamp_(min=a), lambda a: weft.sin(a, out=shared),
                lambda a: weft.add(a, a, out=shared), 
                lambda a: shared.index_add_(0, a.argmax().unsqueeze(0), a[:1]),
                lambda a: shared.__setitem__(a.argmax(), 1.0)):
            with self.assertRaisesRegex(ERROR, "with one value per sample as the target"):
                vmap(function)(x)
        assert_equal(shared, weft.zeros(3))
        made = vmap(lambda a: weft.sin(a, out=weft.empty_like(a)))(x)
        assert_equal(made, x.sin())

    def test_parameters_and_statistics(self):
        self.refused(r"made outside of vmap\(\)", lambda: vmap(nn.Parameter)(self.X))
        norm = nn.BatchNorm1d(3)
        images = weft.ones(2, 4, 3)
        self.refused("track_running_stats=False", lambda: vmap(norm)(images))
        assert_close(vmap(norm.eval())(images), weft.stack([norm(each) for each in images]))
        self.refused("num_classes", lambda: vmap(weft.one_hot)(weft.zeros(2, 3).long()))

    def test_samples_do_not_leave(self):
        kept = []
        vmap(lambda a: kept.append(a) or a)(self.X)
        self.refused("vmap() that has ended".replace("(", r"\(").replace(")", r"\)"),
                     lambda: kept[0] + 1)
        with self.assertRaises(TypeError):
            weft.sin(kept[0])
        self.refused("has ended", lambda: vmap(lambda a: a + kept[0])(self.X))

        def outer(a):
            inner = []
            vmap(lambda b: inner.append(b) or b)(weft.ones(2, 3))
            return a + inner[0]

        self.refused("has ended", lambda: vmap(outer)(self.X))

    def test_calls_that_do_not_fit(self):
        x = self.X
        self.refused("axis in", lambda: vmap(lambda a: a.sum(1))(x))
        self.refused("axis in", lambda: vmap(lambda a: a.softmax(-2))(x))
        self.refused("has no attribute 'nothing'", lambda: vmap(lambda a: a.nothing)(x),
                     AttributeError)
        self.refused("sizes of 3 elements", lambda: vmap(lambda a: a.reshape(2, 2))(x))
        self.refused("two matrices", lambda: vmap(lambda a: weft.mm(a, a))(x))
        self.refused("too many indices", lambda: vmap(lambda a: a[0, 0])(x), IndexError)
        self.refused("index 3 is out of range", lambda: vmap(lambda a: a[3])(x), IndexError)
        self.refused("", lambda: vmap(lambda a: a + weft.ones(4))(x), weft.Error)


if __name__ == "__main__":
    unittest.main()
