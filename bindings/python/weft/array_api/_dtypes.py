"""Types of elements, their kinds and what two of them make, as the standard's tables say."""
import weft

bool = weft.bool
int8, int32, int64, uint8 = weft.int8, weft.int32, weft.int64, weft.uint8
float32, float64 = weft.float32, weft.float64

SIGNED = (int8, int32, int64)
UNSIGNED = (uint8,)
INTEGRAL = SIGNED + UNSIGNED
REAL = (float32, float64)
NUMERIC = INTEGRAL + REAL
ALL = (bool,) + NUMERIC
KINDS = {"bool": (bool,), "signed integer": SIGNED, "unsigned integer": UNSIGNED,
         "integral": INTEGRAL, "real floating": REAL, "complex floating": (),
         "numeric": NUMERIC}
BITS = {bool: 8, int8: 8, uint8: 8, int32: 32, int64: 64, float32: 32, float64: 64}
DEFAULTS = {"real floating": float32, "integral": int64, "indexing": int64}


def kind_of(dtype):
    """0: bool, 1: whole numbers, 2: floating point. TypeError for what is no type here."""
    if dtype is bool:
        return 0
    if dtype in INTEGRAL:
        return 1
    if dtype in REAL:
        return 2
    raise TypeError(f"expected one of the types of weft.array_api, got {dtype!r}")


def promote(a, b):
    """The type that holds values of both; TypeError where the standard has none, or Weft."""
    if a == b:
        kind_of(a)
        return a
    if kind_of(a) != kind_of(b):
        raise TypeError(f"{a!r} and {b!r} are of different kinds: use astype()")
    wide, narrow = (a, b) if BITS[a] >= BITS[b] else (b, a)
    if BITS[wide] == BITS[narrow]:
        raise TypeError(f"{a!r} and {b!r} make int16, which Weft does not have: use astype()")
    return wide


def scalar_dtype(value, dtype):
    """`dtype` where a Python number goes with an array of that type; else TypeError."""
    kind = 0 if value is True or value is False else 1 if isinstance(value, int) else 2
    if not isinstance(value, (int, float)):
        raise TypeError(f"expected an array or a number, got {type(value).__name__}")
    if kind > kind_of(dtype) or (kind == 0) != (dtype is bool):
        raise TypeError(f"a {type(value).__name__} does not go with an array of {dtype!r}")
    return dtype


def default_dtype(value):
    """The type of an array of such Python numbers."""
    if value is True or value is False:
        return bool
    if isinstance(value, int):
        return DEFAULTS["integral"]
    if isinstance(value, float):
        return DEFAULTS["real floating"]
    raise TypeError(f"expected a number, got {type(value).__name__}")
