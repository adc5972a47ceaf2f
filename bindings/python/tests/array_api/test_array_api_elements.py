"""weft.array_api's functions of elements beside NumPy's: every type, special values, promotion."""
import itertools
import math
import unittest

import numpy

import weft.array_api as xp

INTEGERS = ("int8", "int32", "int64", "uint8")
FLOATS = ("float32", "float64")
TYPES = ("bool",) + INTEGERS + FLOATS
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.5, 1e-8, -1e-8, 20.5, -20.5, 1e4, -1e4,
           math.inf, -math.inf, math.nan, 1e-30, 7.0, -7.0, 0.999, -0.999, 3e10]
WHOLE = [0, 1, 2, 3, 5, 100, 127]

# Name in the standard: (name in NumPy, types).
UNARY = {
    "abs": ("abs", INTEGERS + FLOATS), "acos": ("arccos", FLOATS), "acosh": ("arccosh", FLOATS),
    "asin": ("arcsin", FLOATS), "asinh": ("arcsinh", FLOATS), "atan": ("arctan", FLOATS),
    "atanh": ("arctanh", FLOATS), "bitwise_invert": ("invert", ("bool",) + INTEGERS),
    "ceil": ("ceil", INTEGERS + FLOATS), "cos": ("cos", FLOATS), "cosh": ("cosh", FLOATS),
    "exp": ("exp", FLOATS), "expm1": ("expm1", FLOATS), "floor": ("floor", INTEGERS + FLOATS),
    "isfinite": ("isfinite", INTEGERS + FLOATS), "isinf": ("isinf", INTEGERS + FLOATS),
    "isnan": ("isnan", INTEGERS + FLOATS), "log": ("log", FLOATS), "log1p": ("log1p", FLOATS),
    "log2": ("log2", FLOATS), "log10": ("log10", FLOATS), "logical_not": ("logical_not", ("bool",)),
    "negative": ("negative", INTEGERS + FLOATS), "positive": ("positive", INTEGERS + FLOATS),
    "round": ("round", INTEGERS + FLOATS), "sign": ("sign", INTEGERS + FLOATS),
    "signbit": ("signbit", FLOATS), "sin": ("sin", FLOATS), "sinh": ("sinh", FLOATS),
    "sqrt": ("sqrt", FLOATS), "square": ("square", INTEGERS + FLOATS), "tan": ("tan", FLOATS),
    "tanh": ("tanh", FLOATS), "trunc": ("trunc", INTEGERS + FLOATS),
}
BINARY = {
    "add": ("add", INTEGERS + FLOATS), "atan2": ("arctan2", FLOATS),
    "bitwise_and": ("bitwise_and", ("bool",)), "bitwise_or": ("bitwise_or", ("bool",)),
    "bitwise_xor": ("bitwise_xor", ("bool",)), "copysign": ("copysign", FLOATS),
    "bitwise_left_shift": ("left_shift", INTEGERS), "divide": ("divide", FLOATS),
    "bitwise_right_shift": ("right_shift", INTEGERS), "equal": ("equal", TYPES),
    "floor_divide": ("floor_divide", INTEGERS + FLOATS), "greater": ("greater", INTEGERS + FLOATS),
    "greater_equal": ("greater_equal", INTEGERS + FLOATS), "hypot": ("hypot", FLOATS),
    "less": ("less", INTEGERS + FLOATS), "less_equal": ("less_equal", INTEGERS + FLOATS),
    "logaddexp": ("logaddexp", FLOATS), "logical_and": ("logical_and", ("bool",)),
    "logical_or": ("logical_or", ("bool",)), "logical_xor": ("logical_xor", ("bool",)),
    "maximum": ("maximum", INTEGERS + FLOATS), "minimum": ("minimum", INTEGERS + FLOATS),
    "multiply": ("multiply", INTEGERS + FLOATS), "not_equal": ("not_equal", TYPES),
    "pow": ("power", INTEGERS + FLOATS), "remainder": ("remainder", INTEGERS + FLOATS),
    "subtract": ("subtract", INTEGERS + FLOATS),
}
OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide",
             "%": "remainder", "**": "pow", "&": "bitwise_and", "|": "bitwise_or",
             "^": "bitwise_xor", "<<": "bitwise_left_shift", ">>": "bitwise_right_shift",
             "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater",
             ">=": "greater_equal"}


def to_numpy(x):
    return numpy.from_dlpack(x) if x.dtype != xp.bool else x._tensor.numpy()


def values(dtype):
    if dtype == "bool":
        return numpy.array([False, True, True])
    if dtype in INTEGERS:
        signed = [-number for number in WHOLE] if dtype != "uint8" else [200, 255]
        return numpy.array(WHOLE + signed, dtype)
    return numpy.array(SPECIAL, dtype)


class Elements(unittest.TestCase):
    def compare(self, got, want, name):
        got = to_numpy(got)
        self.assertEqual(got.dtype, want.dtype, name)
        self.assertEqual(got.shape, want.shape, name)
        if want.dtype.kind != "f":
            numpy.testing.assert_array_equal(got, want, name)
            return
        tolerance = 4e-6 if want.dtype == numpy.float32 else 4e-15
        numpy.testing.assert_allclose(got, want, rtol=tolerance, atol=0, err_msg=name)
        zeros = want == 0
        numpy.testing.assert_array_equal(numpy.signbit(got[zeros]), numpy.signbit(want[zeros]),
                                         f"{name}: the signs of zeros")

    def test_of_one_array_are_numpys_at_special_values_too(self):
        for name, (other, types) in UNARY.items():
            for dtype in types:
                with self.subTest(name, dtype=dtype), numpy.errstate(all="ignore"):
                    x = values(dtype)
                    want = getattr(numpy, other)(x)
                    if name in ("ceil", "floor", "trunc"):
                        want = want.astype(dtype)
                    self.compare(getattr(xp, name)(xp.asarray(x)), want, name)

    def test_of_two_arrays_are_numpys_at_special_values_too(self):
        for name, (other, types) in BINARY.items():
            for dtype in types:
                with self.subTest(name, dtype=dtype), numpy.errstate(all="ignore"):
                    x, y = values(dtype)[:, None], values(dtype)[None, :]
                    if dtype in INTEGERS and name in ("floor_divide", "remainder"):
                        y = y[y != 0][None, :]
                    if name in ("pow", "bitwise_left_shift", "bitwise_right_shift") \
                            and dtype in INTEGERS:
                        y = numpy.array([[0, 1, 2, 3]], dtype)
                    self.compare(getattr(xp, name)(xp.asarray(x), xp.asarray(y)),
                                 getattr(numpy, other)(x, y), name)

    def test_operators_are_the_functions_on_arrays_and_numbers(self):
        for sign, name in OPERATORS.items():
            dtype = ("bool" if sign in "&|^" else "int32" if sign in ("<<", ">>") else "float64")
            x, y = xp.asarray(values(dtype)[2:4]), xp.asarray(values(dtype)[2:3])
            number = True if dtype == "bool" else 2 if dtype == "int32" else 2.0
            function = getattr(xp, name)
            with self.subTest(sign):
                for left, right in ((x, y), (x, number), (number, x)):
                    got = eval(f"left {sign} right", {"left": left, "right": right})
                    self.assertTrue(xp.all(function(left, right) == got))
                changed = x
                changed = eval(f"x {sign} y", {"x": changed, "y": y})
                self.assertIsInstance(changed, xp.Array)
        x = xp.asarray([1, -2])
        self.assertEqual([(-x).shape, (+x).shape, abs(x).shape, (~x).shape], [(2,)] * 4)
        self.assertEqual((~x)._tensor.tolist(), [-2, 1])

    def test_types_promote_as_the_tables_say(self):
        order = {"int8": 8, "int32": 32, "int64": 64}
        for a, b in itertools.product(TYPES, TYPES):
            x, y = xp.ones(2, dtype=getattr(xp, a)), xp.ones(2, dtype=getattr(xp, b))
            with self.subTest(f"{a} {b}"):
                if a == b:
                    want = a
                elif a in order and b in order:
                    want = max(a, b, key=order.get)
                elif {a, b} <= {"uint8", "int32", "int64"}:
                    want = a if b == "uint8" else b
                elif {a, b} == set(FLOATS):
                    want = "float64"
                else:
                    want = None
                if want is None:
                    for call in (lambda: x + y, lambda: x == y, lambda: xp.result_type(x, y),
                                 lambda: xp.concat([x, y]), lambda: xp.where(x == x, x, y)):
                        self.assertRaises(TypeError, call)
                    continue
                self.assertEqual(xp.result_type(x, y).name, want)
                self.assertEqual((x == y).dtype, xp.bool)
                self.assertEqual(xp.concat([x, y]).dtype.name, want)
                self.assertEqual(xp.can_cast(x.dtype, getattr(xp, want)), True)
                if want != "bool":
                    self.assertEqual((x + y).dtype.name, want)

    def test_numbers_of_python_take_the_arrays_type_or_are_refused(self):
        for dtype, number, allowed in (("int8", 1, True), ("float32", 1, True),
                                       ("float32", 1.5, True), ("bool", True, True),
                                       ("int8", 1.5, False), ("int32", True, False),
                                       ("bool", 1, False), ("float64", True, False),
                                       ("float32", 1j, False), ("float32", "1", False),
                                       ("float32", None, False)):
            x = xp.ones(2, dtype=getattr(xp, dtype))
            with self.subTest(f"{dtype} {number!r}"):
                if not allowed:
                    self.assertRaises(TypeError, xp.multiply, x, number)
                    self.assertRaises(TypeError, lambda: x + number)
                elif dtype == "bool":
                    self.assertEqual((x & number).dtype, xp.bool)
                else:
                    self.assertEqual((x + number).dtype, x.dtype)
                    self.assertEqual((number - x).dtype, x.dtype)

    def test_types_that_a_function_is_not_for_are_refused(self):
        for name, (_, types) in {**UNARY, **BINARY}.items():
            for dtype in set(TYPES) - set(types):
                if name in ("bitwise_and", "bitwise_or", "bitwise_xor") and dtype != "float32":
                    continue
                x = xp.ones(2, dtype=getattr(xp, dtype))
                arguments = (x,) if name in UNARY else (x, x)
                with self.subTest(name, dtype=dtype):
                    self.assertRaises(TypeError, getattr(xp, name), *arguments)

    def test_shapes_broadcast_or_are_refused(self):
        for a, b in [((), (3,)), ((2, 1), (3,)), ((0,), (1,)), ((4, 1, 2), (3, 1)),
                     ((1, 0), (5, 1)), ((2, 3), (2, 3))]:
            got = xp.ones(a) + xp.ones(b)
            self.assertEqual(got.shape, numpy.broadcast_shapes(a, b))
        for a, b in [((2,), (3,)), ((2, 3), (2,)), ((0,), (2,))]:
            self.assertRaises(ValueError, lambda: xp.ones(a) + xp.ones(b))

    def test_clip_keeps_to_bounds_that_are_numbers_or_arrays(self):
        for dtype in INTEGERS + FLOATS:
            x = values(dtype)
            for low, high in ((1, 5), (None, 3), (2, None), (None, None)):
                want = x if low is None and high is None else numpy.clip(x, low, high)
                self.compare(xp.clip(xp.asarray(x), low, high), want.astype(dtype), "clip")
        rows = numpy.arange(6.0).reshape(2, 3)
        low = numpy.array([1.0, 2.0, 3.0])
        self.compare(xp.clip(xp.asarray(rows), xp.asarray(low)), numpy.clip(rows, low, None),
                     "clip")
        self.assertRaises(TypeError, xp.clip, xp.ones(2, dtype=xp.int32), 0.5)


if __name__ == "__main__":
    unittest.main()
