"""A state as bytes: nested dicts and lists of arrays, numbers and words, read without trust.

What members send to a newcomer comes from other machines, so no pickle is involved: the bytes are
a JSON tree, in which an array stands as its type, shape and place, and the arrays' memory after it.

    state   = "WSS1"  u32 tree_bytes  tree  zeros up to a multiple of 64  memory
    tree    = null | true | false | number | string | [tree, ...] | node
    node    = {"map": [[key, tree], ...]}        key: a string or a whole number
            | {"tuple": [tree, ...]}
            | {"array": [dtype, [length, ...], offset_bytes], "torch": true | false}

Numbers are little-endian. Failures: ValueError that says where the bytes are wrong, TypeError for
a value that has no place in a state.
"""
import json
import math
import struct

MAGIC = b"WSS1"
TREE_BYTES_MAX = 1 << 26
DEPTH_MAX = 32
AXES_MAX = 32
LENGTH_MAX = 1 << 48
ALIGNMENT = 64
DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64",
          "bfloat16")


def is_torch(value):
    """Whether `value` is a PyTorch tensor; does not import torch."""
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def as_numpy(value):
    """The array of a NumPy-like or PyTorch value, sharing its memory where that is the host's.
    bfloat16 comes as int16."""
    import numpy
    if is_torch(value):
        import torch
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            value = value.view(torch.int16)
        return value.numpy()
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return value.detach().numpy()
    return numpy.asarray(value)


def dtype_name(value):
    return str(value.dtype).rsplit(".", 1)[-1]


def encode(tree):
    """The bytes of `tree`."""
    chunks, end = [], 0

    def node(value, depth):
        nonlocal end
        if depth > DEPTH_MAX:
            raise TypeError(f"state: nested deeper than {DEPTH_MAX}")
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, dict):
            return {"map": [[key_of(key), node(item, depth + 1)] for key, item in value.items()]}
        if isinstance(value, (list, tuple)):
            items = [node(item, depth + 1) for item in value]
            return {"tuple": items} if isinstance(value, tuple) else items
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            return array(value)
        raise TypeError(f"state: expected arrays, numbers and words, got {type(value).__name__}")

    def array(value):
        nonlocal end
        if dtype_name(value) not in DTYPES:
            raise TypeError(f"state: arrays of {dtype_name(value)} have no place in it")
        memory = as_numpy(value).tobytes()
        offset = -(-end // ALIGNMENT) * ALIGNMENT
        chunks.append(bytes(offset - end))
        chunks.append(memory)
        end = offset + len(memory)
        return {"array": [dtype_name(value), [int(length) for length in value.shape], offset],
                "torch": is_torch(value)}

    text = json.dumps(node(tree, 0), separators=(",", ":")).encode()
    if len(text) > TREE_BYTES_MAX:
        raise TypeError(f"state: its tree takes {len(text)} bytes of at most {TREE_BYTES_MAX}")
    head = MAGIC + struct.pack("<I", len(text)) + text
    return b"".join([head, bytes(-len(head) % ALIGNMENT), *chunks])


def key_of(key):
    if isinstance(key, bool) or not isinstance(key, (str, int)):
        raise TypeError(f"state: expected keys that are words or whole numbers, got {key!r}")
    return key


def decode(data):
    """The tree of `data`, whose arrays are copies: NumPy's, or PyTorch's where they were and torch
    is there."""
    if len(data) < 8 or data[:4] != MAGIC:
        raise ValueError("state: it does not begin as one")
    (length,) = struct.unpack_from("<I", data, 4)
    if length > min(TREE_BYTES_MAX, len(data) - 8):
        raise ValueError(f"state: a tree of {length} bytes in {len(data)}")
    begin = -(-(8 + length) // ALIGNMENT) * ALIGNMENT
    try:
        tree = json.loads(data[8:8 + length].decode())
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"state: its tree is no JSON: {error}") from None
    return _Reader(memoryview(data)[begin:]).value(tree, 0)


class _Reader:
    def __init__(self, memory):
        self.memory = memory

    def value(self, node, depth):
        if depth > 2 * DEPTH_MAX:
            raise ValueError("state: nested too deep")
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.value(item, depth + 1) for item in node]
        if "float" in node and len(node) == 1 and isinstance(node["float"], str):
            return self.number(node["float"])
        if "tuple" in node and len(node) == 1 and isinstance(node["tuple"], list):
            return tuple(self.value(item, depth + 1) for item in node["tuple"])
        if "map" in node and len(node) == 1 and isinstance(node["map"], list):
            return dict(self.entry(entry, depth + 1) for entry in node["map"])
        if set(node) == {"array", "torch"}:
            return self.array(node["array"], node["torch"])
        raise ValueError(f"state: a node of {sorted(node)[:4]}")

    def number(self, text):
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            raise ValueError("state: a number that is none") from None

    def entry(self, entry, depth):
        if not isinstance(entry, list) or len(entry) != 2:
            raise ValueError("state: an entry of a map without key or value")
        key, item = entry
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise ValueError("state: a key that is neither word nor whole number")
        return key, self.value(item, depth)

    def array(self, place, torch_wanted):
        import numpy
        if not (isinstance(place, list) and len(place) == 3):
            raise ValueError("state: an array without type, shape and place")
        dtype, shape, offset = place
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ValueError(f"state: an array of the type {str(dtype)[:20]!r}")
        if not isinstance(shape, list) or len(shape) > AXES_MAX:
            raise ValueError(f"state: an array with more than {AXES_MAX} axes")
        if not all(type(length) is int and 0 <= length < LENGTH_MAX for length in [*shape, offset]):
            raise ValueError("state: an array with a length or place that is none")
        stored = numpy.dtype("int16" if dtype == "bfloat16" else dtype)
        count = math.prod(shape)
        size = count * stored.itemsize
        if offset % ALIGNMENT or size > len(self.memory) - offset:
            raise ValueError(f"state: an array of {size} bytes at {offset} of {len(self.memory)}")
        values = numpy.frombuffer(self.memory, stored, count, offset).reshape(shape).copy()
        if dtype == "bool" and (values.view("uint8") > 1).any():
            raise ValueError("state: a truth value that is neither 0 nor 1")
        return _to_torch(values, dtype) if torch_wanted is True else values


def _to_torch(values, dtype):
    try:
        import torch
    except ImportError:
        return values
    tensor = torch.from_numpy(values)
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor
