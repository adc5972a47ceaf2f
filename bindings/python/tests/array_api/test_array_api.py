"""weft.array_api beside NumPy: making, moving, choosing, ordering and summing arrays."""
import itertools
import math
import unittest

import numpy

import weft
import weft.array_api as xp
from test_array_api_elements import FLOATS, INTEGERS, TYPES, to_numpy

RANDOM = numpy.random.default_rng(5)


def numbers(*shape, dtype="float64"):
    if dtype == "bool":
        return RANDOM.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        return RANDOM.integers(0 if dtype == "uint8" else -9, 10, shape).astype(dtype)
    return RANDOM.standard_normal(shape).astype(dtype)


class Case(unittest.TestCase):
    def same(self, got, want, exact=True):
        """`got`, an array or several, is `want`, NumPy's."""
        if isinstance(want, (list, tuple)):
            self.assertEqual(len(got), len(want))
            for one, other in zip(got, want):
                self.same(one, other, exact)
            return
        want = numpy.asarray(want)
        got = to_numpy(got)
        self.assertEqual(got.dtype, want.dtype)
        self.assertEqual(got.shape, want.shape)
        if exact:
            numpy.testing.assert_array_equal(got, want)
        else:
            tolerance = 2e-5 if want.dtype == numpy.float32 else 1e-12
            numpy.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


class Making(Case):
    def test_filled_arrays_and_their_types(self):
        for dtype in TYPES:
            kind = getattr(xp, dtype)
            self.same(xp.zeros((2, 3), dtype=kind), numpy.zeros((2, 3), dtype))
            self.same(xp.ones(4, dtype=kind), numpy.ones(4, dtype))
            self.same(xp.full((2, 0), 1, dtype=kind), numpy.full((2, 0), 1, dtype))
            like = xp.asarray(numbers(3, 2, dtype=dtype))
            self.same(xp.zeros_like(like), numpy.zeros((3, 2), dtype))
            self.same(xp.ones_like(like), numpy.ones((3, 2), dtype))
            self.same(xp.full_like(like, 1), numpy.full((3, 2), 1, dtype))
            self.assertEqual(xp.empty_like(like).shape, (3, 2))
            self.same(xp.eye(3, 4, k=-1, dtype=kind), numpy.eye(3, 4, -1, dtype))
        self.assertEqual(xp.zeros(()).dtype, xp.float32)
        self.assertEqual(xp.empty((2, 3)).shape, (2, 3))
        self.assertEqual([xp.full((), value).dtype for value in (True, 1, 1.0)],
                         [xp.bool, xp.int64, xp.float32])

    def test_ranges(self):
        for start, stop, step in ((0, 7, 1), (5, -4, -2), (2, 2, 1), (3, 9, 4), (9, 3, 1)):
            self.same(xp.arange(start, stop, step), numpy.arange(start, stop, step))
            self.same(xp.arange(start, stop, step / 2, dtype=xp.float64),
                      numpy.arange(start, stop, step / 2), exact=False)
        self.same(xp.arange(4), numpy.arange(4))
        self.same(xp.arange(3.5), numpy.arange(3.5, dtype="float32"))
        self.assertRaises(ValueError, xp.arange, 1, 2, 0)
        for count, endpoint in itertools.product((0, 1, 2, 7), (True, False)):
            self.same(xp.linspace(-1, 3, count, endpoint=endpoint, dtype=xp.float64),
                      numpy.linspace(-1, 3, count, endpoint=endpoint), exact=False)
        self.assertEqual(to_numpy(xp.linspace(0.1, 0.7, 6, dtype=xp.float64))[-1], 0.7)
        self.assertRaises(TypeError, xp.linspace, 0, 1, 3, dtype=xp.int32)

    def test_asarray_takes_numbers_lists_and_other_arrays(self):
        for given, want in ((True, numpy.array(True)), (3, numpy.array(3)),
                            (2.5, numpy.float32(2.5)),
                            ([[1, 2], [3, 4]], numpy.array([[1, 2], [3, 4]])),
                            ([1, 2.5], numpy.array([1, 2.5], "float32")),
                            ([True, False], numpy.array([True, False])),
                            ([], numpy.zeros(0, "float32"))):
            self.same(xp.asarray(given), want)
        self.same(xp.asarray([xp.asarray(1), xp.asarray(2)]), numpy.array([1, 2]))
        self.same(xp.asarray([1, 2], dtype=xp.float64), numpy.array([1.0, 2.0]))
        memory = numpy.arange(4.0)
        shared, copied = xp.asarray(memory), xp.asarray(memory, copy=True)
        memory[0] = 9
        self.assertEqual([float(shared[0]), float(copied[0])], [9, 0])
        self.same(xp.from_dlpack(memory), memory)
        self.assertFalse(to_numpy(xp.from_dlpack(memory, copy=True)) is memory)
        x = xp.asarray(memory)
        self.assertEqual(to_numpy(xp.asarray(x)).ctypes.data, memory.ctypes.data)
        self.assertNotEqual(to_numpy(xp.asarray(x, copy=True)).ctypes.data, memory.ctypes.data)
        for wrong in (None, 1j, "word", object(), [1, "a"], numpy.zeros(2, complex)):
            self.assertRaises((TypeError, ValueError), xp.asarray, wrong)
        self.assertRaises(ValueError, xp.asarray, [1], copy=False)
        self.assertRaises(ValueError, xp.asarray, 1, device="moon")
        self.assertRaises(TypeError, xp.from_dlpack, [1])

    def test_types_are_asked_about_and_changed(self):
        for dtype in INTEGERS:
            ours, theirs = xp.iinfo(getattr(xp, dtype)), numpy.iinfo(dtype)
            self.assertEqual((ours.bits, ours.min, ours.max), (theirs.bits, theirs.min, theirs.max))
            self.assertTrue(xp.isdtype(ours.dtype, "integral"))
        for dtype in FLOATS:
            ours, theirs = xp.finfo(getattr(xp, dtype)), numpy.finfo(dtype)
            self.assertEqual([ours.bits, ours.eps, ours.max, ours.min, ours.smallest_normal],
                             [theirs.bits, theirs.eps, theirs.max, theirs.min, theirs.tiny])
            self.assertTrue(xp.isdtype(ours.dtype, ("bool", "real floating")))
        self.assertFalse(xp.isdtype(xp.uint8, "signed integer"))
        self.assertTrue(xp.isdtype(xp.uint8, ("unsigned integer",)))
        self.assertTrue(xp.isdtype(xp.bool, xp.bool))
        self.assertRaises(ValueError, xp.isdtype, xp.bool, "word")
        for source, target in itertools.product(TYPES, TYPES):
            values = numbers(5, dtype=source)
            if source != "bool":
                values = numpy.abs(values)
            self.same(xp.astype(xp.asarray(values), getattr(xp, target)), values.astype(target))
        x = xp.asarray([1, 2])
        self.assertIs(xp.astype(x, xp.int64, copy=False), x)
        self.assertIsNot(xp.astype(x, xp.int64), x)
        self.assertFalse(xp.can_cast(xp.float64, xp.float32))
        self.assertTrue(xp.can_cast(xp.asarray([1], dtype=xp.int8), xp.int64))
        self.assertRaises(TypeError, xp.result_type, xp.int8, xp.float32)
        self.assertRaises(TypeError, xp.zeros, 2, dtype=weft.float16)

    def test_grids_and_triangles(self):
        vectors = [numbers(2), numbers(3), numbers(4)]
        for indexing, count in itertools.product(("xy", "ij"), (1, 2, 3)):
            self.same(xp.meshgrid(*map(xp.asarray, vectors[:count]), indexing=indexing),
                      numpy.meshgrid(*vectors[:count], indexing=indexing))
        self.assertRaises(ValueError, xp.meshgrid, xp.ones(2), indexing="z")
        for k in (-2, 0, 1):
            x = numbers(2, 3, 4)
            self.same(xp.tril(xp.asarray(x), k=k), numpy.tril(x, k))
            self.same(xp.triu(xp.asarray(x), k=k), numpy.triu(x, k))
        self.assertRaises(ValueError, xp.tril, xp.ones(3))

    def test_the_namespace_says_what_it_is(self):
        info = xp.__array_namespace_info__()
        self.assertEqual(xp.__array_api_version__, "2023.12")
        self.assertIs(xp.ones(1).__array_namespace__(api_version="2023.12"), xp)
        self.assertRaises(ValueError, xp.ones(1).__array_namespace__, api_version="1999.01")
        self.assertEqual(info.devices(), ["cpu"])
        self.assertEqual(info.default_device(), xp.ones(1).device)
        self.assertEqual(info.default_dtypes()["real floating"], xp.ones(1).dtype)
        self.assertEqual(set(info.dtypes()), set(TYPES))
        self.assertEqual(set(info.dtypes(kind=("bool", "real floating"))), {"bool", *FLOATS})
        self.assertTrue(info.capabilities()["boolean indexing"])
        self.assertEqual([xp.pi, xp.e, xp.inf, xp.newaxis], [math.pi, math.e, math.inf, None])
        self.assertTrue(math.isnan(xp.nan))


class Arrays(Case):
    def test_attributes_and_conversions(self):
        x = xp.asarray(numbers(2, 3))
        self.assertEqual((x.shape, x.ndim, x.size, x.device, x.dtype),
                         ((2, 3), 2, 6, "cpu", xp.float64))
        self.same(x.T, to_numpy(x).T)
        self.same(xp.ones((2, 3, 4)).mT, numpy.ones((2, 4, 3), "float32"))
        self.assertRaises(ValueError, lambda: xp.ones(3).T)
        self.assertRaises(ValueError, lambda: xp.ones(3).mT)
        self.assertEqual((int(xp.asarray(3.7)), float(xp.asarray(3)), bool(xp.asarray(0)),
                          complex(xp.asarray(2.0))), (3, 3.0, False, 2 + 0j))
        self.assertEqual([10, 20, 30][xp.asarray(2)], 30)
        for call in (lambda: int(x), lambda: bool(x), lambda: [1, 2][xp.asarray(1.0)],
                     lambda: hash(x), lambda: len(xp.asarray(1))):
            self.assertRaises(TypeError, call)
        self.assertIs(x.to_device("cpu"), x)
        self.assertRaises(ValueError, x.to_device, "moon")
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        self.assertRaises(ValueError, x.__dlpack__, stream=1)
        self.assertIn("dltensor", repr(x.__dlpack__(max_version=(1, 0), copy=True)))
        self.assertIn("float64", repr(x))

    def test_places_are_read_as_numpy_reads_them(self):
        x = numbers(4, 5, 3)
        for key in ((0, 1, 2), (-1, -5, slice(None)), (slice(1, 3), 0, slice(None, None, 2)),
                    (slice(None, None, -1), slice(4, 0, -2), 0), (..., 1), (0, ...), (...,),
                    (slice(None), None, 1, ...), (None, ..., None), (slice(3, 1), ..., 0),
                    (slice(-3, -1), slice(-1, -9, -1), slice(0, 99))):
            with self.subTest(key):
                self.same(xp.asarray(x)[key], x[key])
        mask = x > 0
        self.same(xp.asarray(x)[xp.asarray(mask)], x[mask])
        self.same(xp.asarray(x)[xp.asarray(mask[..., 0])], x[mask[..., 0]])
        self.same(xp.asarray(x)[xp.asarray(1), ...], x[1])
        self.same(xp.asarray(7)[()], numpy.array(7))
        for key in (5, (0, 0, 0, 0), (..., ...), 1.5, "a", (0, 0), (True, ...), [0, 1], (4, 0, 0),
                    (-5, 0, 0)):
            with self.subTest(key), self.assertRaises((IndexError, TypeError)):
                xp.asarray(x)[key]

    def test_places_are_written_as_numpy_writes_them(self):
        for key, value in (((0, ...), 1.0), ((slice(None), 1, 2), numbers(4)),
                           ((..., slice(None, None, 2)), numbers(4, 5, 2)), ((0, 0, 0), 5),
                           ((slice(1, 3), ...), numbers(5, 3))):
            x = numbers(4, 5, 3)
            y = xp.asarray(x, copy=True)
            y[key] = value if numpy.isscalar(value) else xp.asarray(value)
            x[key] = value
            self.same(y, x)
        x = numbers(6)
        y = xp.asarray(x, copy=True)
        y[y > 0] = 0.0
        x[x > 0] = 0
        self.same(y, x)
        whole = xp.asarray([1, 2])
        for value in (1.5, True, xp.asarray([1.0, 2.0]), None):
            with self.subTest(value), self.assertRaises(TypeError):
                whole[...] = value


class Moving(Case):
    def test_shapes(self):
        x = numbers(2, 1, 3)
        y = xp.asarray(x)
        self.same(xp.broadcast_to(y, (4, 2, 5, 3)), numpy.broadcast_to(x, (4, 2, 5, 3)))
        self.same(xp.broadcast_arrays(y, xp.ones((5, 1), dtype=xp.float64)),
                  numpy.broadcast_arrays(x, numpy.ones((5, 1))))
        self.same(xp.expand_dims(y, axis=-1), numpy.expand_dims(x, -1))
        self.same(xp.squeeze(y, 1), numpy.squeeze(x, 1))
        self.same(xp.permute_dims(y, (2, 0, 1)), numpy.transpose(x, (2, 0, 1)))
        self.same(xp.moveaxis(y, 0, -1), numpy.moveaxis(x, 0, -1))
        self.same(xp.moveaxis(y, (0, 1), (2, 0)), numpy.moveaxis(x, (0, 1), (2, 0)))
        self.same(xp.reshape(y, (3, -1)), numpy.reshape(x, (3, -1)))
        self.same(xp.reshape(y.mT, (6,), copy=True), numpy.reshape(x.swapaxes(1, 2), 6))
        for call in (lambda: xp.broadcast_to(y, (2, 3)), lambda: xp.squeeze(y, 0),
                     lambda: xp.permute_dims(y, (0, 1)), lambda: xp.reshape(y, (4,)),
                     lambda: xp.reshape(xp.ones((2, 3)).T, (6,), copy=False),
                     lambda: xp.moveaxis(y, (0, 1), 0), lambda: xp.squeeze(y, (1, 1))):
            self.assertRaises(ValueError, call)
        self.assertRaises(IndexError, xp.expand_dims, y, axis=5)
        self.assertRaises(IndexError, xp.squeeze, y, 3)

    def test_joins(self):
        parts = [numbers(2, 3), numbers(4, 3)]
        ours = list(map(xp.asarray, parts))
        self.same(xp.concat(ours), numpy.concatenate(parts))
        self.same(xp.concat(ours, axis=None), numpy.concatenate(parts, axis=None))
        self.same(xp.concat([xp.ones(1, dtype=xp.int8), xp.ones(2, dtype=xp.int32)]),
                  numpy.ones(3, "int32"))
        self.same(xp.stack([ours[0], ours[0]], axis=-1), numpy.stack([parts[0]] * 2, -1))
        self.same(xp.unstack(ours[0], axis=1), list(parts[0].T))
        for axis in (None, 0, -1, (0, 1)):
            self.same(xp.flip(ours[0], axis=axis), numpy.flip(parts[0], axis))
        for shift, axis in ((1, None), (-2, 0), ((1, 2), (0, 1)), (1, (0, 1)), ((1, 1), (0, 0))):
            self.same(xp.roll(ours[0], shift, axis=axis), numpy.roll(parts[0], shift, axis))
        for repetitions in ((2,), (1, 3), (2, 1, 2), (0, 1), ()):
            self.same(xp.tile(ours[0], repetitions), numpy.tile(parts[0], repetitions))
        counts = numpy.array([2, 0, 1])
        self.same(xp.repeat(ours[0], 2), numpy.repeat(parts[0], 2))
        self.same(xp.repeat(ours[0], 3, axis=0), numpy.repeat(parts[0], 3, 0))
        self.same(xp.repeat(ours[0], xp.asarray(counts), axis=1), numpy.repeat(parts[0], counts, 1))
        self.assertRaises(ValueError, xp.repeat, ours[0], xp.asarray([1, 2]), axis=1)
        self.assertRaises(ValueError, xp.concat, [ours[0], xp.ones((2, 4), dtype=xp.float64)])

    def test_choices_and_searches(self):
        x = numbers(3, 4)
        y = xp.asarray(x)
        self.same(xp.take(y, xp.asarray([2, 0, -1]), axis=1), numpy.take(x, [2, 0, -1], 1))
        self.same(xp.take(xp.asarray([5, 6]), xp.asarray([1, 1])), numpy.array([6, 6]))
        self.assertRaises(ValueError, xp.take, y, xp.asarray([0]))
        self.assertRaises(TypeError, xp.take, y, xp.asarray([0.0]), axis=0)
        self.assertRaises((IndexError, ValueError), xp.take, y, xp.asarray([9]), axis=0)
        self.same(xp.nonzero(xp.asarray(x > 0)), numpy.nonzero(x > 0))
        self.assertRaises(ValueError, xp.nonzero, xp.asarray(1))
        self.same(xp.where(xp.asarray(x > 0), y, xp.asarray(0.0, dtype=xp.float64)),
                  numpy.where(x > 0, x, 0))
        self.assertRaises(TypeError, xp.where, xp.asarray([1]), y, y)
        row, sought = numpy.sort(numbers(9)), numbers(2, 3)
        for side in ("left", "right"):
            self.same(xp.searchsorted(xp.asarray(row), xp.asarray(sought), side=side),
                      numpy.searchsorted(row, sought, side))
        mixed = numpy.array([3.0, 1.0, 2.0])
        self.same(xp.searchsorted(xp.asarray(mixed), xp.asarray([1.5], dtype=xp.float64),
                                  sorter=xp.argsort(xp.asarray(mixed))), numpy.array([1]))
        for name, axis, keep in itertools.product(("argmax", "argmin"), (None, 0, -1),
                                                  (True, False)):
            for values in (x, numpy.array([[1, 3, 3], [0, 3, 0]]), numpy.array([[1, math.nan, 5]])):
                self.same(getattr(xp, name)(xp.asarray(values), axis=axis, keepdims=keep),
                          getattr(numpy, name)(values, axis=axis, keepdims=keep))

    def test_orders(self):
        for dtype, axis in itertools.product(INTEGERS + FLOATS, (0, -1)):
            x = numbers(4, 6, dtype=dtype)
            self.same(xp.sort(xp.asarray(x), axis=axis), numpy.sort(x, axis))
            self.same(xp.argsort(xp.asarray(x), axis=axis), numpy.argsort(x, axis, kind="stable"))
            down = numpy.flip(numpy.sort(x, axis), axis)
            self.same(xp.sort(xp.asarray(x), axis=axis, descending=True), down)
        ties = xp.asarray([2, 1, 2, 1, 2])
        self.same(xp.argsort(ties, descending=True), numpy.array([0, 2, 4, 1, 3]))

    def test_sets(self):
        for values in (numpy.array([3, 1, 3, 2, 1]), numpy.array([[True, False], [True, True]]),
                       numpy.array([2.5, -1.0, 2.5]), numpy.zeros(0),
                       numpy.array([[4], [4]], "int8")):
            want = numpy.unique(values, True, True, True)
            got = xp.unique_all(xp.asarray(values))
            self.same(got.values, want[0])
            self.same(got.indices, want[1])
            self.same(got.inverse_indices, want[2].reshape(values.shape))
            self.same(got.counts, want[3])
            self.same(xp.unique_values(xp.asarray(values)), want[0])
            self.same(xp.unique_counts(xp.asarray(values)).counts, want[3])
            self.same(xp.unique_inverse(xp.asarray(values)).inverse_indices,
                      want[2].reshape(values.shape))
        self.assertEqual(xp.unique_values(xp.asarray([math.nan, 1.0, math.nan])).shape, (3,))


AXES = (None, 0, -1, (0, 2), (0, 1, 2), ())


class Reductions(Case):
    def test_sums_and_products(self):
        for name, dtype, axis, keep in itertools.product(("sum", "prod"), INTEGERS + FLOATS, AXES,
                                                         (True, False)):
            x = numbers(2, 3, 4, dtype=dtype)
            kind = "int64" if dtype in INTEGERS else dtype
            with self.subTest(name, dtype=dtype, axis=axis):
                self.same(getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keep),
                          getattr(numpy, name)(x, axis=axis, keepdims=keep, dtype=kind),
                          exact=dtype in INTEGERS)
        self.same(xp.sum(xp.asarray([1, 2]), dtype=xp.float32), numpy.float32(3))
        self.same(xp.sum(xp.zeros((0, 2))), numpy.float32(0))
        self.same(xp.prod(xp.zeros((0, 2)), axis=0), numpy.ones(2, "float32"))
        self.assertRaises(TypeError, xp.sum, xp.asarray([True]))
        self.assertRaises(IndexError, xp.sum, xp.ones(2), axis=1)
        self.assertRaises(ValueError, xp.sum, xp.ones((2, 2)), axis=(0, 0))

    def test_extremes_means_and_spreads(self):
        for dtype, axis, keep in itertools.product(INTEGERS + FLOATS, AXES, (True, False)):
            x = numbers(2, 3, 4, dtype=dtype)
            for name in ("max", "min") + (("mean", "std", "var") if dtype in FLOATS else ()):
                with self.subTest(name, dtype=dtype, axis=axis):
                    self.same(getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keep),
                              getattr(numpy, name)(x, axis=axis, keepdims=keep),
                              exact=name in ("max", "min"))
        x = numbers(5, 4)
        for correction in (0, 1, 1.5):
            want = ((x - x.mean(0)) ** 2).sum(0) / (5 - correction)
            self.same(xp.var(xp.asarray(x), axis=0, correction=correction), want, exact=False)
            self.same(xp.std(xp.asarray(x), axis=0, correction=correction), numpy.sqrt(want),
                      exact=False)
        self.assertTrue(math.isnan(float(xp.mean(xp.zeros(0)))))
        self.assertTrue(math.isnan(float(xp.max(xp.asarray([1.0, math.nan])))))
        self.assertRaises(ValueError, xp.max, xp.zeros(0))
        for name in ("mean", "std", "var"):
            self.assertRaises(TypeError, getattr(xp, name), xp.asarray([1, 2]))

    def test_running_sums(self):
        for dtype, axis in itertools.product(INTEGERS + FLOATS, (0, 1, -1)):
            x = numbers(3, 4, dtype=dtype)
            kind = "int64" if dtype in INTEGERS else dtype
            want = numpy.cumsum(x, axis, dtype=kind)
            self.same(xp.cumulative_sum(xp.asarray(x), axis=axis), want, exact=False)
            start = numpy.concatenate([numpy.zeros_like(want.take([0], axis)), want], axis)
            self.same(xp.cumulative_sum(xp.asarray(x), axis=axis, include_initial=True), start,
                      exact=False)
        self.same(xp.cumulative_sum(xp.asarray([1, 2])), numpy.array([1, 3]))
        self.assertRaises(ValueError, xp.cumulative_sum, xp.ones((2, 2)))

    def test_truths(self):
        for dtype, axis, keep in itertools.product(TYPES, AXES, (True, False)):
            x = numbers(2, 3, 4, dtype=dtype)
            for name in ("all", "any"):
                with self.subTest(name, dtype=dtype, axis=axis):
                    self.same(getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keep),
                              getattr(numpy, name)(x, axis=axis, keepdims=keep))
        self.same(xp.all(xp.asarray([math.nan])), numpy.array(True))
        self.same(xp.any(xp.zeros((0, 2)), axis=0), numpy.zeros(2, bool))


class Matrices(Case):
    def test_products(self):
        for a, b in (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)),
                     ((2, 3), (3,)),
                     ((4, 1, 2, 3), (5, 3, 2)), ((2, 0), (0, 3))):
            for dtype in FLOATS + ("int64", "int32"):
                x, y = numbers(*a, dtype=dtype), numbers(*b, dtype=dtype)
                with self.subTest(a, b=b, dtype=dtype):
                    self.same(xp.matmul(xp.asarray(x), xp.asarray(y)), numpy.matmul(x, y),
                              exact=False)
                    self.same(xp.asarray(x) @ xp.asarray(y), numpy.matmul(x, y), exact=False)
        self.assertRaises(ValueError, xp.matmul, xp.ones((2, 3)), xp.ones((2, 3)))
        self.assertRaises(ValueError, xp.matmul, xp.ones(()), xp.ones(2))
        self.assertRaises(TypeError, lambda: xp.ones((2, 2)) @ 2.0)
        x, y = numbers(2, 3, 4), numbers(4, 3, 5)
        self.same(xp.tensordot(xp.asarray(x), xp.asarray(y), axes=1),
                  numpy.tensordot(x, y, 1), exact=False)
        self.same(xp.tensordot(xp.asarray(x), xp.asarray(y), axes=((1, 2), (1, 0))),
                  numpy.tensordot(x, y, ((1, 2), (1, 0))), exact=False)
        self.same(xp.tensordot(xp.asarray(x), xp.asarray(x), axes=0), numpy.tensordot(x, x, 0),
                  exact=False)
        self.assertRaises(ValueError, xp.tensordot, xp.ones(2), xp.ones(3), axes=1)
        z = numbers(4)
        self.same(xp.vecdot(xp.asarray(x), xp.asarray(z)), (x * z).sum(-1), exact=False)
        self.same(xp.vecdot(xp.asarray(x), xp.asarray(x), axis=-2), (x * x).sum(-2), exact=False)
        self.assertRaises(ValueError, xp.vecdot, xp.ones(2), xp.ones(3))
        self.same(xp.matrix_transpose(xp.asarray(x)), x.swapaxes(1, 2))
        self.assertRaises(ValueError, xp.matrix_transpose, xp.ones(2))

    def test_the_extension_as_far_as_it_goes(self):
        linalg = xp.linalg
        x, y, square = numbers(3), numbers(4), numbers(2, 3, 3)
        self.same(linalg.outer(xp.asarray(x), xp.asarray(y)), numpy.outer(x, y))
        for offset in (-1, 0, 2):
            self.same(linalg.diagonal(xp.asarray(square), offset=offset),
                      numpy.diagonal(square, offset, -2, -1))
            self.same(linalg.trace(xp.asarray(square), offset=offset),
                      numpy.trace(square, offset, -2, -1), exact=False)
        rows = numbers(5, 3)
        self.same(linalg.cross(xp.asarray(rows), xp.asarray(x)), numpy.cross(rows, x), exact=False)
        self.same(linalg.cross(xp.asarray(rows.T), xp.asarray(rows[::-1].T), axis=0),
                  numpy.cross(rows.T, rows[::-1].T, axis=0), exact=False)
        for power in (0, 1, 2, 5):
            self.same(linalg.matrix_power(xp.asarray(square), power),
                      numpy.linalg.matrix_power(square, power), exact=False)
        for ord, axis, keep in itertools.product((0, 1, 2, 3, -1, math.inf, -math.inf),
                                                 (None, 0, -1), (True, False)):
            values = square.reshape(-1) if axis is None else square[0]
            self.same(linalg.vector_norm(xp.asarray(values), axis=axis, ord=ord, keepdims=keep),
                      numpy.linalg.norm(values, ord, axis, keep), exact=False)
        large = xp.asarray([3e30, 4e30], dtype=xp.float32)
        self.same(linalg.vector_norm(large), numpy.float32(5e30), exact=False)
        for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
            self.assertIs(getattr(linalg, name), getattr(xp, name))


if __name__ == "__main__":
    unittest.main()
