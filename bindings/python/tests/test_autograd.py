"""Gradients: modes, graphs, operations written in Python, threads."""
import gc
import sys
import threading
import unittest
import weakref

import numpy as np

import weft
from oracle import array, assert_close


class Cube(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * 3.0 * x * x * ctx.factor, None


class Exp(weft.autograd.Function):
    """Saves its own output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


class Graphs(unittest.TestCase):
    def test_modes_nest_and_decorate(self):
        x = weft.ones(2, requires_grad=True)
        with weft.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with weft.enable_grad():
                self.assertTrue((x * 2).requires_grad)
            self.assertFalse(weft.is_grad_enabled())
        self.assertTrue(weft.is_grad_enabled())

        @weft.no_grad()
        def one(t):
            return t * 2

        @weft.no_grad
        def two(t):
            return t * 2

        self.assertFalse(one(x).requires_grad or two(x).requires_grad)
        try:
            with weft.no_grad():
                raise KeyError
        except KeyError:
            pass
        self.assertTrue(weft.is_grad_enabled())
        with weft.set_grad_enabled(False):
            self.assertFalse((x * 2).requires_grad)

    def test_accumulate_zero_and_give(self):
        x = weft.tensor([1.0, 2.0], requires_grad=True)
        self.assertIsNone(x.grad)
        (x * x).sum().backward()
        (x * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [5, 7])
        x.grad.zero_()
        self.assertEqual(x.grad.tolist(), [0, 0])
        x.grad = weft.tensor([1.0, 1.0])
        (x * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [4, 4])
        x.grad = None
        self.assertIsNone(x.grad)
        (x * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [3, 3])
        with self.assertRaises(ValueError):
            x.grad = weft.ones(3)
        with self.assertRaises(TypeError):
            x.grad = 3

    def test_leaves_and_histories(self):
        x = weft.ones(2, requires_grad=True)
        y = x * 2
        self.assertTrue(x.is_leaf and not y.is_leaf and y.detach().is_leaf)
        self.assertEqual(y.detach().data_ptr(), y.data_ptr())
        y.retain_grad()
        (y * y).sum().backward()
        self.assertEqual(y.grad.tolist(), [4, 4])
        with self.assertRaises(ValueError):
            y.requires_grad_(False)
        with self.assertRaises(RuntimeError):
            (x * x).sum().backward() or (x.sum() * 0).backward() or weft.ones(1).backward()
        with self.assertRaises(ValueError):
            (x * 2).backward()
        (x * 2).backward(weft.tensor([1.0, 5.0]))

    def test_used_graphs_and_changed_values_are_refused(self):
        x = weft.ones(2, requires_grad=True)
        loss = (x * x).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        with self.assertRaises(RuntimeError):
            loss.backward()
        y = x * 1
        z = (y * y).sum()
        y += 1
        with self.assertRaises(RuntimeError):
            z.backward()

    def test_second_gradients(self):
        x = weft.tensor([1.0, 2.0], requires_grad=True)
        g, = weft.autograd.grad((x ** 3).sum(), x, create_graph=True)
        h, = weft.autograd.grad(g.sum(), x)
        self.assertEqual(h.tolist(), [6, 12])
        self.assertIsNone(x.grad)
        with self.assertRaises(ValueError):
            weft.autograd.grad(g.detach().sum(), x)
        unused = weft.ones(1, requires_grad=True)
        self.assertEqual(weft.autograd.grad(x.sum(), [unused], allow_unused=True), (None,))

    def test_checkpoint_gives_the_same_gradients(self):
        x = weft.from_numpy(array(3, 3)).requires_grad_()
        function = lambda t: (t @ t).tanh()  # noqa: E731
        function(x).sum().backward()
        want = x.grad.numpy().copy()
        x.grad = None
        weft.autograd.checkpoint(function, x).sum().backward()
        assert_close(x.grad, want)


class Functions(unittest.TestCase):
    def test_gradients_first_and_second(self):
        x = weft.tensor([1.0, 2.0], requires_grad=True)
        y = Cube.apply(x, 2.0)
        self.assertEqual(y.tolist(), [2, 16])
        g, = weft.autograd.grad(y.sum(), x, create_graph=True)
        self.assertEqual(g.tolist(), [6, 24])
        self.assertEqual(weft.autograd.grad(g.sum(), x)[0].tolist(), [12, 24])
        e = Exp.apply(x)
        g, = weft.autograd.grad(e.sum(), x, create_graph=True)
        assert_close(weft.autograd.grad(g.sum(), x)[0], np.exp([1.0, 2.0]).astype(np.float32))

    def test_graphs_free_what_they_keep(self):
        class Token:
            pass

        class Keeps(weft.autograd.Function):
            @staticmethod
            def forward(ctx, x, token):
                ctx.token = token
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2, None

        x = weft.ones(2, requires_grad=True)
        token = Token()
        gone = weakref.ref(token)
        y = Keeps.apply(x, token)
        del token
        gc.collect()
        self.assertIsNotNone(gone())
        y.sum().backward()
        del y
        gc.collect()
        self.assertIsNone(gone())

    def test_exceptions_come_through_backward(self):
        class Fails(weft.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                raise KeyError("from backward")

        x = weft.ones(2, requires_grad=True)
        with self.assertRaisesRegex(KeyError, "from backward"):
            Fails.apply(x).sum().backward()

    def test_wrong_backwards_are_refused(self):
        def function(result):
            class Wrong(weft.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 1

                @staticmethod
                def backward(ctx, grad):
                    return result

            return Wrong

        x = weft.ones(2, requires_grad=True)
        for result, error in ((3, TypeError), (weft.ones(3), ValueError),
                              ((None, None), ValueError), ("text", (TypeError, ValueError))):
            with self.subTest(result=result), self.assertRaises(error):
                function(result).apply(x).sum().backward()
        function(None).apply(x).sum().backward()
        self.assertIsNone(x.grad)

        class NoTensor(weft.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 3

        with self.assertRaises(TypeError):
            NoTensor.apply(x)


class Threads(unittest.TestCase):
    def test_a_long_call_lets_other_threads_run(self):
        x, gate, ran = weft.randn(700, 700), threading.Lock(), []
        gate.acquire()

        def work():
            with gate:
                ran.append(True)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(100.0)  # threads change places only where the lock is given up
        try:
            gate.release()
            for _ in range(500):
                x @ x
                if ran:
                    break
            seen = bool(ran)
        finally:
            sys.setswitchinterval(interval)
            thread.join(60)
        self.assertTrue(seen)

    def test_backwards_with_functions_of_python_on_several_threads(self):
        results = [None] * 4

        def work(number):
            x = weft.full((2000,), float(number + 1), requires_grad=True)
            for _ in range(20):
                x.grad = None
                Cube.apply(x * 1.0, 1.0).sum().backward()
            results[number] = x.grad[0].item()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(results, [3, 12, 27, 48])

    def test_modes_belong_to_a_thread(self):
        seen = []
        with weft.no_grad():
            thread = threading.Thread(target=lambda: seen.append(weft.is_grad_enabled()))
            thread.start()
            thread.join()
        self.assertEqual(seen, [True])


class Checkpoints(unittest.TestCase):
    """weft.utils.checkpoint."""

    def setUp(self):
        weft.manual_seed(1)
        self.layers = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.Tanh(), weft.nn.Dropout(0.5),
                                         weft.nn.Linear(8, 3))
        self.x = weft.randn(5, 4, requires_grad=True)

    def gradients(self, forward):
        weft.manual_seed(7)
        self.layers.zero_grad()
        self.x.grad = None
        result = forward()
        (result * result).sum().backward()
        return [result.detach(), self.x.grad.clone(),
                *(p.grad.clone() for p in self.layers.parameters())]

    def test_values_and_gradients_are_those_without_one(self):
        plain = self.gradients(lambda: 2 * self.layers(self.x))
        runs = []

        def block(factor, x, text, scale=1):
            runs.append(text)
            return factor * scale * self.layers(x)

        checkpoint = weft.utils.checkpoint.checkpoint
        got = self.gradients(lambda: checkpoint(block, 1, self.x, "text", use_reentrant=False,
                                                scale=2))
        self.assertEqual(runs, ["text", "text"])
        for segments in (1, 2, 3, 4):
            several = self.gradients(lambda: 2 * weft.utils.checkpoint.checkpoint_sequential(
                self.layers, segments, self.x))  # noqa: B023
            for each in (got, several):
                self.assertTrue(all(a.equal(b) for a, b in zip(plain, each)))

    def test_what_is_refused(self):
        with self.assertRaisesRegex(weft.InvalidArgumentError, "one tensor, got tuple.*weft.cat"):
            weft.utils.checkpoint.checkpoint(lambda x: (x, x), self.x)
        for segments in (0, 5):
            with self.assertRaisesRegex(weft.InvalidArgumentError, f"1 to 4 segments, got {segments}"):
                weft.utils.checkpoint.checkpoint_sequential(self.layers, segments, self.x)
