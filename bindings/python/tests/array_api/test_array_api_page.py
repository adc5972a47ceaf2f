"""docs/array_api.md says what is there: every name of the standard, once, and the truth of it."""
import collections
import pathlib
import re
import unittest

import weft.array_api as xp

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[3] / "docs" / "array_api.md"
# The names of the standard 2023.12, in its order of sections.
STANDARD = """
e inf nan newaxis pi
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril
triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp
expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log
log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
multiply negative not_equal positive pow real remainder round sign signbit sin sinh square sqrt subtract tan
tanh trunc take __array_namespace_info__ matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll
squeeze stack tile unstack
argmax argmin nonzero searchsorted where unique_all unique_counts unique_inverse unique_values
argsort sort cumulative_sum max mean min prod std sum var all any
"""
ARRAY = """
dtype device mT ndim shape size T __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__
__dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__
__int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__
__pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device
"""
LINALG = """
cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""
FFT = """
fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
"""
ROW = re.compile(r"^\| `([\w.]+)` \| (\w+) \|(.*)\|$", re.MULTILINE)


def standard():
    """Every name, those of the extensions with theirs before them."""
    return (STANDARD.split() + ARRAY.split() + ["linalg." + name for name in LINALG.split()]
            + ["fft." + name for name in FFT.split()])


def present(name):
    """Whether the namespace has it."""
    if name in ARRAY.split():
        return hasattr(xp.Array, name)
    place, _, last = name.rpartition(".")
    return hasattr(getattr(xp, place, None) if place else xp, last)


class Page(unittest.TestCase):
    def setUp(self):
        self.rows = ROW.findall(PAGE.read_text())

    def test_has_every_name_of_the_standard_once(self):
        count = collections.Counter(name for name, _, _ in self.rows)
        self.assertEqual(count, collections.Counter(standard()))

    def test_tells_the_truth(self):
        for name, word, why in self.rows:
            with self.subTest(name):
                self.assertIn(word, ("yes", "partly", "no"))
                self.assertEqual(present(name), word != "no")
                self.assertEqual(bool(why.strip()), word != "yes")

    def test_promises_only_what_is_tested(self):
        tests = "".join((HERE / name).read_text()
                        for name in ("test_array_api.py", "test_array_api_elements.py"))
        for name, word, _ in self.rows:
            last = name.rpartition(".")[2]
            used = re.search(rf'\.{last}\b|"{last}"', tests)
            operator = re.fullmatch(r"__(?!array|dlpack)\w+__", last)  # through its sign
            with self.subTest(name):
                self.assertTrue(word == "no" or used or operator, "no test has it")

    def test_the_namespace_has_nothing_else(self):
        public = {name for name in vars(xp) if not name.startswith("_")}
        self.assertEqual(public - set(STANDARD.split()), {"Array", "linalg"})
        self.assertEqual({"linalg." + name for name in xp.linalg.__all__},
                         {name for name, word, _ in self.rows
                          if name.startswith("linalg.") and word != "no"})

    def test_its_sums_are_right(self):
        words = collections.Counter(word for _, word, _ in self.rows)
        self.assertIn(f"The standard has {len(self.rows)} names: {words['yes']} are supported, "
                      f"{words['partly']} partly, {words['no']} not.", PAGE.read_text().replace("\n", " "))


if __name__ == "__main__":
    unittest.main()
