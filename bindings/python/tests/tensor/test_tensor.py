"""Making tensors, their facts, operators, indexing and errors; NumPy says what is right."""
import unittest

import numpy as np

import weft
from oracle import array, assert_close, assert_equal, needs_torch, torch


class Making(unittest.TestCase):
    def test_of_numbers_and_lists(self):
        self.assertIs(weft.tensor(3).dtype, weft.int64)
        self.assertIs(weft.tensor(3.0).dtype, weft.float32)
        self.assertIs(weft.tensor(True).dtype, weft.bool)
        self.assertIs(weft.tensor([1, 2.5]).dtype, weft.float32)
        self.assertIs(weft.tensor([]).dtype, weft.float32)
        assert_equal(weft.tensor([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
        assert_equal(weft.tensor([2**53 + 1]), np.array([2**53 + 1]))
        assert_equal(weft.tensor([np.float32(1.5), 2]), np.array([1.5, 2], np.float32))
        assert_equal(weft.tensor([weft.ones(2), weft.zeros(2)]),
                     np.array([[1, 1], [0, 0]], np.float32))
        assert_equal(weft.tensor([1.9, -1.9], dtype=weft.int32), np.array([1, -1], np.int32))

    def test_ragged_deep_and_strange_lists_are_refused(self):
        deep = 1.0
        for _ in range(9):
            deep = [deep]
        for bad in ([[1], [1, 2]], [1, [2]], [[1], 2], deep):
            with self.assertRaises(ValueError):
                weft.tensor(bad)
        endless = []
        endless.append(endless)
        with self.assertRaises(ValueError):
            weft.tensor(endless)
        for bad in (None, "text", [None], object(), [1, "2"]):
            with self.assertRaises(TypeError):
                weft.tensor(bad)
        with self.assertRaises(OverflowError):
            weft.tensor(2**70)

    def test_filled_and_counted(self):
        assert_equal(weft.zeros(2, 3), np.zeros((2, 3), np.float32))
        assert_equal(weft.ones((2, 3), dtype=weft.int32), np.ones((2, 3), np.int32))
        assert_equal(weft.full((2,), 7), np.array([7, 7]))
        assert_equal(weft.arange(5), np.arange(5))
        assert_equal(weft.arange(1, 2, 0.25), np.arange(1, 2, 0.25, np.float32))
        assert_equal(weft.arange(5, 0, -2), np.arange(5, 0, -2))
        assert_close(weft.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype=np.float32))
        assert_equal(weft.eye(2, 3), np.eye(2, 3, dtype=np.float32))
        with self.assertRaises(ValueError):
            weft.zeros(-1)
        with self.assertRaises(TypeError):
            weft.zeros("3")
        with self.assertRaises((ValueError, MemoryError)):
            weft.zeros(2**62, 2**62)

    def test_seeds_give_the_same_numbers(self):
        weft.manual_seed(5)
        a = weft.randn(100).numpy().copy()
        weft.manual_seed(5)
        assert_equal(weft.randn(100), a)
        g = weft.Generator(5)
        assert_equal(weft.randn(100, generator=g), a)
        state = g.get_state()
        b = weft.rand(7, generator=g).tolist()
        g.set_state(state)
        self.assertEqual(weft.rand(7, generator=g).tolist(), b)
        big = weft.randn(100000, generator=g)
        self.assertLess(abs(big.mean().item()), 0.02)
        self.assertLess(abs(big.std().item() - 1), 0.02)
        whole = weft.randint(-3, 4, (1000,), generator=g)
        self.assertEqual(sorted(set(whole.tolist())), [-3, -2, -1, 0, 1, 2, 3])
        self.assertEqual(sorted(weft.randperm(50, generator=g).tolist()), list(range(50)))


class Facts(unittest.TestCase):
    def test_shape_type_and_text(self):
        x = weft.zeros(2, 3, dtype=weft.float64)
        self.assertEqual((x.shape, x.ndim, x.numel(), x.size(), x.size(-1), len(x)),
                         ((2, 3), 2, 6, (2, 3), 3, 2))
        self.assertEqual(x.stride(), (3, 1))
        self.assertEqual(x.T.stride(), (1, 3))
        self.assertTrue(x.is_contiguous() and not x.T.is_contiguous())
        self.assertEqual(x.element_size(), 8)
        self.assertEqual(repr(weft.tensor([1.5, 2])), "tensor([1.5000, 2.0000])")
        self.assertEqual(repr(weft.tensor([1], dtype=weft.int32)),
                         "tensor([1], dtype=weft.int32)")
        self.assertEqual(repr(weft.float32), "weft.float32")
        self.assertEqual(str(x.device), "cpu")

    def test_numbers_out_of_tensors(self):
        self.assertEqual(weft.tensor(3).item(), 3)
        self.assertIs(weft.tensor([True]).item(), True)
        self.assertEqual(float(weft.tensor(2.5)), 2.5)
        self.assertEqual(int(weft.tensor(2**60 + 1)), 2**60 + 1)
        self.assertEqual(list(range(5))[weft.tensor(2)], 2)
        self.assertEqual(weft.arange(4).reshape(2, 2).tolist(), [[0, 1], [2, 3]])
        self.assertTrue(weft.tensor(1.0))
        for bad in (lambda: weft.ones(2).item(), lambda: bool(weft.ones(2))):
            with self.assertRaises(ValueError):
                bad()
        with self.assertRaises(TypeError):
            [1, 2][weft.tensor(1.0)]
        with self.assertRaises(TypeError):
            len(weft.tensor(1))

    def test_devices_and_types(self):
        x = weft.ones(2)
        self.assertIs(x.to("cpu"), x)
        self.assertIs(x.to(weft.device("cpu"), weft.float64).dtype, weft.float64)
        self.assertIs(x.long().dtype, weft.int64)
        with self.assertRaisesRegex(ValueError, "cpu"):
            x.to("cuda")
        with self.assertRaises(AttributeError):
            x.no_such_thing


class Operators(unittest.TestCase):
    def test_against_numpy(self):
        a, b = array(3, 4), np.abs(array(4, seed=1)) + 0.5
        x, y = weft.from_numpy(a), weft.from_numpy(b)
        for name, f in {"+": lambda p, q: p + q, "-": lambda p, q: p - q,
                        "*": lambda p, q: p * q, "/": lambda p, q: p / q,
                        "//": lambda p, q: p // q, "%": lambda p, q: p % q}.items():
            with self.subTest(op=name):
                assert_close(f(x, y), f(a, b))
                assert_close(f(x, 2), f(a, np.float32(2)))
                assert_close(f(2.5, y), f(np.float32(2.5), b))
        assert_close(y ** 2, b ** 2)
        assert_close(2 ** x, 2 ** a)
        assert_close(x @ x.T, a @ a.T)
        assert_close(-x, -a)
        assert_close(abs(x), abs(a))
        for name, f in {"<": lambda p, q: p < q, "<=": lambda p, q: p <= q,
                        ">": lambda p, q: p > q, ">=": lambda p, q: p >= q,
                        "==": lambda p, q: p == q, "!=": lambda p, q: p != q}.items():
            with self.subTest(op=name):
                assert_equal(f(x, y), f(a, b))
                assert_equal(f(x, 0), f(a, 0))
                assert_equal(f(0, x), f(0, a))
        m, n = a > 0, a < 0.5
        p, q = weft.from_numpy(m), weft.from_numpy(n)
        assert_equal(p & q, m & n)
        assert_equal(p | q, m | n)
        assert_equal(p ^ q, m ^ n)
        assert_equal(~p, ~m)

    @needs_torch
    def test_types_of_numbers_are_torchs(self):
        numbers = [2, 2.0, 2.5, True, np.float64(1.5), np.int64(3)]
        for name in ("float32", "float64", "int64", "int32", "uint8", "bool", "bfloat16"):
            x, t = (lib.ones(3, dtype=getattr(lib, name)) for lib in (weft, torch))
            for number in numbers:
                for op in (lambda p, q: p + q, lambda p, q: p * q, lambda p, q: q * p,
                           lambda p, q: p / q):
                    with self.subTest(dtype=name, number=number):
                        got, want = op(x, number), op(t, number)
                        self.assertEqual(got.dtype.name, str(want.dtype)[6:])
                        self.assertEqual(got.tolist(), want.tolist())

    def test_large_whole_numbers_stay_exact(self):
        x = weft.tensor([0, 1])
        self.assertEqual((x + (2**62 + 1)).tolist(), [2**62 + 1, 2**62 + 2])
        with self.assertRaises(OverflowError):
            x + 2**70

    def test_in_place_writes_the_same_memory(self):
        x = weft.ones(4)
        view, before = x[1:3], x.data_ptr()
        x += 1
        x *= weft.tensor([1.0, 2, 3, 4])
        x -= 1
        x /= 2
        self.assertEqual(x.data_ptr(), before)
        assert_equal(x, np.array([0.5, 1.5, 2.5, 3.5], np.float32))
        assert_equal(view, np.array([1.5, 2.5], np.float32))
        self.assertIs(x.zero_(), x)
        self.assertEqual(x.fill_(2).clamp_(max=1).tolist(), [1, 1, 1, 1])
        with self.assertRaises(ValueError):
            weft.ones(2, requires_grad=True).add_(1)

    def test_wrong_operands_are_type_errors(self):
        x = weft.ones(2)
        for bad in (None, "1", [1, 2], object()):
            for op in (lambda: x + bad, lambda: bad * x, lambda: x @ bad, lambda: x < bad):
                with self.assertRaises(TypeError):
                    op()
        self.assertEqual((x == 1).tolist(), [True, True])
        with self.assertRaises(TypeError):
            weft.ones(3) & weft.ones(3)
        with self.assertRaisesRegex(ValueError, "broadcast|shape"):
            x + weft.ones(3)
        with self.assertRaises(weft.Error):
            x @ weft.ones(3)


class Indexing(unittest.TestCase):
    KEYS = [0, -1, (1, 2), slice(1, 3), slice(None, None, 2), (slice(None), 1), (Ellipsis, 0),
            (0, Ellipsis), (None, 1), (slice(None), None, 2), (1, None, Ellipsis, slice(1, 2)),
            [0, 2], (slice(None), [1, 1, 0]), ([0, 1], [2, 3]), (0, [1, 2]), ([0, 1], 1),
            ([0, 1], slice(None), [1, 2]), (None, [1, 0]), slice(5, 1), (), Ellipsis,
            ([[0, 1], [2, 0]],), (slice(None), slice(0, 3), 4)]

    def test_reads_as_numpy_does(self):
        a = array(3, 4, 5)
        x = weft.from_numpy(a)
        for key in self.KEYS:
            with self.subTest(key=key):
                assert_equal(x[key], a[key])
        for mask in (a > 0, a[:, 0, 0] > -9, a[:, :, 0] > 0):
            assert_equal(x[weft.from_numpy(mask)], a[mask])
            assert_equal(x[mask], a[mask])
        index = np.array([2, 0])
        assert_equal(x[weft.from_numpy(index), :, 1], a[index, :, 1])
        assert_equal(x[::-1], a[::-1])
        assert_equal(x[np.int64(1)], a[1])

    def test_views_share_memory(self):
        x = weft.zeros(3, 4)
        row = x[1]
        row += 5
        self.assertEqual(x.tolist()[1], [5, 5, 5, 5])

    def test_writes_as_numpy_does(self):
        for key in self.KEYS:
            with self.subTest(key=key):
                a = array(3, 4, 5)
                x = weft.tensor(a)
                a[key] = 7.0
                x[key] = 7.0
                assert_equal(x, a)
                new = array(*a[key].shape, seed=3)
                a[key] = new
                x[key] = weft.from_numpy(new)
                if key not in (([0, 1], slice(None), [1, 2]),):
                    assert_equal(x, a)
        a = array(3, 4)
        x = weft.tensor(a)
        x[x > 0] = 0
        a[a > 0] = 0
        assert_equal(x, a)
        x[1] = [1, 2, 3, 4]
        self.assertEqual(x[1].tolist(), [1, 2, 3, 4])

    def test_writes_with_history_carry_gradients(self):
        x = weft.ones(3, requires_grad=True)
        v = weft.tensor(5.0, requires_grad=True)
        y = x * 2
        y[1] = v * 3
        (y * weft.tensor([1.0, 10, 100])).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 0, 200])
        self.assertEqual(v.grad.item(), 30)
        with self.assertRaisesRegex(RuntimeError, "no_grad"):
            x[0] = 1
        with weft.no_grad():
            x[0] = 4
        self.assertEqual(x[0].item(), 4)

    def test_errors(self):
        x = weft.zeros(2, 3)
        for key in (2, -3, (0, 3), (0, 0, 0), [5], (Ellipsis, Ellipsis), weft.tensor([0.5])):
            with self.subTest(key=key), self.assertRaises((IndexError, ValueError)):
                x[key]
        for key in (2, (0, 0, 0)):
            with self.assertRaises(IndexError):
                x[key]
        for key in ("a", 1.0, object()):
            with self.assertRaises((TypeError, IndexError)):
                x[key]
        with self.assertRaises(TypeError):
            x[0] = None
        with self.assertRaises(TypeError):
            del x[0]
        with self.assertRaises(ValueError):
            x[0] = weft.ones(2)
        with self.assertRaises(ValueError):
            x[slice(None, None, 0)]
        with self.assertRaises((IndexError, OverflowError)):
            x[2**80]

    def test_rows_one_after_another(self):
        self.assertEqual([row.tolist() for row in weft.arange(4).reshape(2, 2)], [[0, 1], [2, 3]])
        with self.assertRaises(TypeError):
            iter(weft.tensor(1))
