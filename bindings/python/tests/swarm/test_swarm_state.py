"""weft.swarm.state: what a newcomer gets from strangers."""
import importlib.util
import json
import random
import struct
import unittest

import numpy

from weft.swarm import state


def equal(one, other):
    if hasattr(one, "dtype"):
        return (one.dtype == other.dtype and one.shape == other.shape
                and numpy.asarray(one).tobytes() == numpy.asarray(other).tobytes())
    if isinstance(one, dict):
        return list(one) == list(other) and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return (type(one) is type(other) and len(one) == len(other)
                and all(map(equal, one, other)))
    return type(one) is type(other) and (one == other or (one != one and other != other))


TREE = {"arrays": [numpy.arange(6, dtype=name).reshape(2, 3)
                   for name in ("int8", "uint8", "int16", "int32", "int64", "float16", "float32",
                                "float64")],
        "bool": numpy.array([True, False]), "none": None, "scalar": numpy.array(2.5),
        "empty": numpy.zeros((0, 4), numpy.float32),
        3: {"betas": (0.9, 0.999), "n": [1, -2, 1 << 70]},
        "floats": [0.1, float("inf"), float("nan"), -0.0], "flags": [True, False], "word": "ö"}


def with_tree(tree, memory=b""):
    text = json.dumps(tree).encode()
    head = state.MAGIC + struct.pack("<I", len(text)) + text
    return head + bytes(-len(head) % state.ALIGNMENT) + memory


class State(unittest.TestCase):
    def test_comes_back_as_it_was(self):
        self.assertTrue(equal(state.decode(state.encode(TREE)), TREE))
        self.assertTrue(equal(state.decode(state.encode(TREE["arrays"][6].T)),
                              TREE["arrays"][6].T.copy()))

    def test_arrays_are_copies_that_may_be_written(self):
        data = state.encode({"w": numpy.zeros(4, numpy.float32)})
        state.decode(data)["w"][:] = 1
        self.assertEqual(state.decode(data)["w"].tolist(), [0] * 4)

    def test_refuses_what_has_no_place_in_it(self):
        deep = []
        for _ in range(state.DEPTH_MAX + 2):
            deep = [deep]
        for wrong in (object(), {1.5: 1}, {True: 1}, {(1,): 1}, [lambda: 0], b"bytes", 1j, deep,
                      numpy.zeros(2, complex), numpy.array(["a"])):
            with self.subTest(repr(wrong)[:40]), self.assertRaises(TypeError):
                state.encode(wrong)

    def test_every_truncation_is_refused(self):
        data = state.encode({"w": numpy.arange(5, dtype=numpy.float32), "n": [1, 2.5]})
        for length in range(len(data)):
            with self.subTest(length), self.assertRaises(ValueError):
                state.decode(data[:length])

    def test_each_bound_is_held(self):
        good = {"array": ["float32", [2], 0], "torch": False}
        self.assertEqual(state.decode(with_tree(good, bytes(8))).tolist(), [0, 0])
        deep = "[" * 100000 + "]" * 100000
        nested = 0
        for _ in range(200):
            nested = [nested]
        for tree in ({"array": ["float32", [3], 0], "torch": False},
                     {"array": ["float32", [-1], 0], "torch": False},
                     {"array": ["float32", [2], 4], "torch": False},
                     {"array": ["float32", [2], -64], "torch": False},
                     {"array": ["float32", [2], 64], "torch": False},
                     {"array": ["float32", [1 << 62, 1 << 62], 0], "torch": False},
                     {"array": ["float32", [0, 1 << 62], 0], "torch": False},
                     {"array": ["float32", [True], 0], "torch": False},
                     {"array": ["float32", [1] * 33, 0], "torch": False},
                     {"array": ["object", [1], 0], "torch": False},
                     {"array": ["O", [1], 0], "torch": False}, {"array": "x", "torch": False},
                     {"array": [[], [1], 0], "torch": False}, {"array": ["float32", [2], 0]},
                     {}, {"other": 1}, {"map": [[1.5, 2]]}, {"map": [[True, 2]]}, {"map": [[1]]},
                     {"map": {"a": 1}}, {"float": "x"}, {"float": 1}, {"tuple": 3}, nested):
            with self.subTest(str(tree)[:60]), self.assertRaises(ValueError):
                state.decode(with_tree(tree, bytes(8)))
        for data in (with_tree(0)[:4] + struct.pack("<I", 1 << 31) + bytes(64), b"",
                     state.MAGIC + struct.pack("<I", len(deep)) + deep.encode(),
                     state.MAGIC + struct.pack("<I", 2) + b"\xff\xff"):
            with self.subTest(data[:20]), self.assertRaises(ValueError):
                state.decode(data)
        truths = {"array": ["bool", [2], 0], "torch": False}
        with self.assertRaises(ValueError):
            state.decode(with_tree(truths, b"\x01\x02"))

    def test_damaged_bytes_give_a_value_or_a_value_error(self):
        chance = random.Random(7)
        data = state.encode(TREE)
        refused = 0
        for _ in range(5000):
            damaged = bytearray(data)
            for _ in range(chance.choice((1, 1, 2, 8))):
                damaged[chance.randrange(len(data) // 2)] = chance.randrange(256)
            try:
                state.decode(bytes(damaged))
            except ValueError:
                refused += 1
        self.assertGreater(refused, 1000)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_tensors_of_pytorch_come_back_as_such(self):
        import torch
        tree = {"a": torch.arange(6.0).reshape(2, 3).t(), "b": torch.tensor([1.5, -2]).bfloat16(),
                "c": torch.tensor([True, False]), "d": torch.tensor(3), "e": torch.zeros(0, 2)}
        back = state.decode(state.encode(tree))
        for name, tensor in tree.items():
            self.assertEqual(back[name].dtype, tensor.dtype)
            self.assertTrue(torch.equal(back[name], tensor), name)


if __name__ == "__main__":
    unittest.main()
