"""Saving, loading, datasets and loaders; files between Weft and PyTorch through NumPy."""
import json
import os
import struct
import tempfile
import unittest

import numpy as np

import weft
from damage import read_damaged
from oracle import assert_close, assert_equal, needs_torch, torch
from weft.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split


def read_safetensors(path):
    """The format by its documentation, with NumPy alone."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    types = {"F32": np.float32, "I64": np.int64}
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(
        entry["shape"]) for name, entry in header.items() if name != "__metadata__"}


def write_safetensors(path, arrays):
    header, data = {}, b""
    for name, a in arrays.items():
        kind = {"float32": "F32", "int64": "I64"}[a.dtype.name]
        header[name] = {"dtype": kind, "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def network(n):
    return n.Sequential(n.Conv2d(1, 4, 3), n.BatchNorm2d(4), n.ReLU(), n.Flatten(),
                        n.Linear(4 * 36, 3))


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "x.safetensors")

    def tearDown(self):
        self.folder.cleanup()

    def test_a_state_dict_is_a_plain_safetensors_file(self):
        state = network(weft.nn).state_dict()
        weft.save(state, self.path)
        found = read_safetensors(self.path)
        self.assertEqual(set(found), set(state))
        for name, value in state.items():
            assert_equal(found[name], value)

    @needs_torch
    def test_a_model_trained_in_weft_has_the_same_logits_in_torch(self):
        weft.manual_seed(0)
        ours, x = network(weft.nn), weft.randn(16, 1, 8, 8)
        optimizer = weft.optim.Adam(ours.parameters(), lr=0.01)
        for _ in range(10):
            loss = weft.nn.functional.cross_entropy(ours(x), weft.arange(16) % 3)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        weft.save(ours.state_dict(), self.path)
        theirs = network(torch.nn)
        theirs.load_state_dict({name: torch.from_numpy(a.copy())
                                for name, a in read_safetensors(self.path).items()})
        assert_close(ours.eval()(x), theirs.eval()(torch.from_numpy(x.numpy())), 0, 1e-5)

    @needs_torch
    def test_a_model_trained_in_torch_has_the_same_logits_in_weft(self):
        torch.manual_seed(0)
        theirs, t = network(torch.nn), torch.randn(16, 1, 8, 8)
        optimizer = torch.optim.Adam(theirs.parameters(), lr=0.01)
        for _ in range(10):
            loss = torch.nn.functional.cross_entropy(theirs(t), torch.arange(16) % 3)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        write_safetensors(self.path, {n: v.numpy() for n, v in theirs.state_dict().items()})
        ours = network(weft.nn)
        ours.load_state_dict(weft.load(self.path))
        assert_close(ours.eval()(weft.from_numpy(t.numpy())), theirs.eval()(t), 0, 1e-5)

    def test_trees_come_back(self):
        tree = {"model": {"w": weft.ones(2, 2)}, "epoch": 3, "rate": 0.1, "none": None,
                "list": [1, (2, "three"), weft.arange(3)], 5: True, "inf": float("inf"),
                "empty": weft.zeros(0, 3), "half": weft.ones(2, dtype=weft.bfloat16)}
        weft.save(tree, self.path)
        found = weft.load(self.path)
        self.assertEqual(list(found), list(tree))
        self.assertEqual(found["list"][1], (2, "three"))
        self.assertEqual((found["epoch"], found["rate"], found["none"], found[5], found["inf"]),
                         (3, 0.1, None, True, float("inf")))
        self.assertEqual(found["list"][2].tolist(), [0, 1, 2])
        self.assertEqual(found["empty"].shape, (0, 3))
        self.assertIs(found["half"].dtype, weft.bfloat16)
        with self.assertRaises(TypeError):
            weft.save({"x": object()}, self.path)

    def test_damaged_files_are_refused_wherever_the_damage_is(self):
        weft.save({"a": weft.arange(4), "n": {"b": 2.5}}, self.path)
        refused = read_damaged(
            self, self.path, lambda: weft.load(self.path), says=str(self.path),
            cut_errors=weft.CorruptError, errors=(weft.CorruptError, weft.InvalidArgumentError),
            copies=2000)
        self.assertGreater(refused, 500)

    def test_digests_are_checked_and_written_for_what_is_written(self):
        weft._core._save(self.path, [("a", weft.arange(4))], {"header_sha256": "", "step": "7"})
        tensors, metadata = weft._core._load(self.path)
        self.assertEqual(metadata["step"], "7")
        self.assertEqual((len(metadata["header_sha256"]), len(metadata["xxh3_128/a"])), (64, 32))
        with open(self.path, "rb") as file:
            good = file.read()
        for place in range(len(good)):
            bad = bytearray(good)
            bad[place] ^= 0x40
            with open(self.path, "wb") as file:
                file.write(bad)
            with self.subTest(place), self.assertRaises(weft.CorruptError):
                weft._core._load(self.path)
        # Another value with the old file's metadata is no damage.
        weft._core._save(self.path, [("a", tensors[0][1] + 1)], metadata)
        self.assertEqual(weft._core._load(self.path)[0][0][1].tolist(), [1, 2, 3, 4])

    def test_hostile_descriptions_are_refused(self):
        for tree in ("[", "3", '{"list": 3}', '{"tensor": "x"}', '{"dict": [[1]]}', '{"value": []}',
                     '{"dict": [[{"list": []}, {"value": 1}]]}', '{"tensor": []}',
                     '{"value": "x", "type": "float"}', '{"list": [' * 100000 + "]}" * 100000,
                     '{"list": [' * 100 + "]}" * 100):
            weft._core._save(self.path, [], {"weft.tree": tree})
            with self.subTest(tree[:30]), self.assertRaises(weft.CorruptError):
                weft.load(self.path)

    def test_missing_files(self):
        with self.assertRaises(weft.Error):
            weft.load(os.path.join(self.folder.name, "nothing"))
        with self.assertRaises(weft.Error):
            weft.save({}, os.path.join(self.folder.name, "no", "folder"))


class Loading(unittest.TestCase):
    def test_batches_in_order_and_shuffled(self):
        data = TensorDataset(weft.arange(10).reshape(10, 1), weft.arange(10))
        loader = DataLoader(data, 4)
        self.assertEqual([y.tolist() for _, y in loader], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        self.assertEqual((len(loader), len(DataLoader(data, 4, drop_last=True))), (3, 2))
        orders = []
        for seed in (1, 1, 2):
            loader = DataLoader(data, 3, shuffle=True, generator=weft.Generator(seed))
            passes = [[v for _, y in loader for v in y.tolist()] for _ in range(2)]
            self.assertEqual(sorted(passes[0]), list(range(10)))
            self.assertNotEqual(*passes)
            orders.append(passes)
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_datasets_of_ones_own(self):
        class Squares(Dataset):
            def __getitem__(self, index):
                return {"x": weft.full((2,), float(index)), "y": index * index, "name": str(index)}

            def __len__(self):
                return 5

        batches = list(DataLoader(Squares(), 2))
        self.assertEqual(batches[1]["x"].tolist(), [[2, 2], [3, 3]])
        self.assertEqual(batches[1]["y"].tolist(), [4, 9])
        self.assertEqual(batches[2]["name"], ["4"])
        self.assertEqual(len(Subset(Squares(), [1, 3])), 2)
        parts = random_split(Squares(), [3, 2], weft.Generator(0))
        self.assertEqual(sorted(parts[0].indices + parts[1].indices), [0, 1, 2, 3, 4])

    def test_refusals(self):
        data = TensorDataset(weft.arange(3))
        for bad in (lambda: DataLoader(data, 0), lambda: DataLoader(data, num_workers=-1),
                    lambda: TensorDataset(weft.ones(2), weft.ones(3)),
                    lambda: random_split(data, [1, 1])):
            with self.assertRaises(ValueError):
                bad()

    def test_known_datasets(self):
        values = weft.datasets.load("synthetic")
        self.assertEqual(values["images"].shape[1:], (1, 28, 28))
        self.assertIs(values["images"].dtype, weft.uint8)
        with self.assertRaises(weft.InvalidArgumentError):
            weft.datasets.load("no such data")
        try:
            clothes = weft.datasets.FashionMNIST(train=False)
        except weft.UnavailableError as missing:
            self.skipTest(str(missing))
        images, labels = next(iter(DataLoader(clothes, 4)))
        self.assertEqual((images.shape, labels.tolist()), ((4, 1, 28, 28), [9, 2, 1, 1]))
        self.assertEqual(images.max().item() <= 1.0, True)


class Comparing(unittest.TestCase):
    def test_assert_close(self):
        close = weft.testing.assert_close
        close(weft.ones(3), weft.ones(3) + 1e-7)
        close({"a": [weft.ones(1)]}, {"a": [weft.ones(1)]})
        close(weft.tensor(float("nan")), weft.tensor(float("nan")), equal_nan=True)
        for got, want in ((weft.ones(3), weft.ones(3) + 1e-3), (weft.ones(3), weft.ones(2)),
                          (weft.ones(3), weft.ones(3, dtype=weft.float64)),
                          (weft.tensor(float("nan")), weft.tensor(float("nan"))),
                          ([weft.ones(1)], [weft.ones(1), weft.ones(1)])):
            with self.assertRaises(AssertionError):
                close(got, want)
        with self.assertRaisesRegex(AssertionError, r"1 of 4 .*\(1, 0\)"):
            close(weft.tensor([[1.0, 2], [3, 4]]), weft.tensor([[1.0, 2], [3.5, 4]]))
