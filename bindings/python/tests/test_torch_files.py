"""weft.load() of what torch.save() wrote: values against PyTorch's, and files that are damaged."""
import io
import pathlib
import random
import struct
import tempfile
import unittest
import zipfile

import numpy as np

import weft
from oracle import assert_equal, needs_torch, torch


def archive(code, parts=(), compress=zipfile.ZIP_STORED):
    """A file as torch.save() makes them, of that pickle and those storages."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compress) as made:
        made.writestr("archive/data.pkl", code)
        for name, content in parts:
            made.writestr(f"archive/data/{name}", content)
    return file.getvalue()


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def numbers(*values):
    return b"(" + b"".join(b"J" + struct.pack("<i", value) for value in values) + b"t"


def of_tensor(size=(2, 3), stride=(3, 1), offset=0, kind="FloatStorage", count=6, name="0"):
    """The pickle of one tensor, written by hand."""
    storage = (b"(" + text("storage") + b"ctorch\n" + kind.encode() + b"\n" + text(name)
               + text("cpu") + b"J" + struct.pack("<i", count) + b"tQ")
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"J"
            + struct.pack("<i", offset) + numbers(*size) + numbers(*stride)
            + b"\x89ccollections\nOrderedDict\n)RtR.")


SIX = np.arange(6, dtype=np.float32).tobytes()


class Files(unittest.TestCase):
    def load(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.pt"
            path.write_bytes(content)
            return weft.load(path)

    def refused(self, content, says):
        with self.assertRaisesRegex(weft.CorruptError, says):
            self.load(content)

    def test_a_tensor_by_hand(self):
        found = self.load(archive(of_tensor(), [("0", SIX)]))
        assert_equal(found, np.arange(6, dtype=np.float32).reshape(2, 3))
        turned = self.load(archive(of_tensor((3, 2), (1, 3)), [("0", SIX)]))
        assert_equal(turned, np.arange(6, dtype=np.float32).reshape(2, 3).T)
        late = self.load(archive(of_tensor((2,), (1,), 4), [("0", SIX)]))
        self.assertEqual(late.tolist(), [4, 5])

    def test_tensors_beyond_their_storage(self):
        for size, stride, offset in (((2, 3), (3, 1), 1), ((7,), (1,), 0), ((2,), (6,), 0),
                                     ((10 ** 9,), (0,), 0), ((2,), (1,), -1), ((-1,), (1,), 0),
                                     ((2, 3), (3,), 0), ((2,) * 9, (0,) * 9, 0)):
            self.refused(archive(of_tensor(size, stride, offset), [("0", SIX)]), "torch.save")

    def test_storages_that_are_not_what_they_claim(self):
        self.refused(archive(of_tensor(count=7), [("0", SIX)]), "7 elements of 4 bytes")
        self.refused(archive(of_tensor(), []), "missing")
        self.refused(archive(of_tensor(), [("0", SIX)], zipfile.ZIP_DEFLATED), "not compressed")
        self.refused(archive(of_tensor(kind="ComplexFloatStorage"), [("0", SIX)]),
                     "ComplexFloatStorage")
        self.refused(archive(of_tensor(kind="BoolStorage"), [("0", b"\x02" * 6)]), "truths")

    def test_no_code_is_run(self):
        for code, says in ((b"\x80\x02cos\nsystem\n(" + text("true") + b"tR.", r"os\.system"),
                           (b"\x80\x02cbuiltins\neval\n(" + text("1") + b"tR.", "builtins.eval"),
                           (b"\x80\x02(ios\nsystem\n" + text("x") + b"o.", "not known"),
                           (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", r"os\.system"),
                           (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", "does not fit"),
                           (b"\x80\x02K\x01)R.", "call of a known function"),
                           (b"\x80\x02}}K\x01s.", "as keys"), (b"\x80\x02h\x05.", "does not have"),
                           (b"\x80\x02X\xff\xff\xff\xffab.", "too early"), (b".", "nothing"),
                           (b"\x80\x02r\xff\xff\xff\xff.", "nothing")):
            self.refused(archive(code), says)

    def test_damaged_files_are_refused_or_read(self):
        content = archive(of_tensor(), [("0", SIX)])
        draws, refused = random.Random(1), 0
        for _ in range(1500):
            damaged = bytearray(content)
            if draws.random() < 0.3:
                del damaged[draws.randrange(len(damaged)):]
            for _ in range(draws.randrange(1, 4)):
                if damaged:
                    damaged[draws.randrange(len(damaged))] = draws.randrange(256)
            try:
                self.load(bytes(damaged))
            except weft.CorruptError:
                refused += 1
        self.assertGreater(refused, 500)
        code = of_tensor()
        for _ in range(3000):
            damaged = bytearray(code)
            for _ in range(draws.randrange(1, 5)):
                damaged[draws.randrange(len(damaged))] = draws.randrange(256)
            try:
                self.load(archive(bytes(damaged), [("0", SIX)]))
            except weft.CorruptError:
                refused += 1
        self.assertGreater(refused, 2000)

    @needs_torch
    def test_what_pytorch_saves(self):
        layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        optimizer = torch.optim.Adam(layer.parameters())
        layer(torch.randn(5, 3)).sum().backward()
        optimizer.step()
        base = torch.arange(12.)
        kinds = {str(kind): torch.ones(3).to(kind) for kind in (
            torch.float64, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8,
            torch.bool)}
        given = {"model": layer.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3,
                 "loss": 0.25, "names": ["a", ("b", None, True)], "turned": base.view(3, 4).t(),
                 "part": base[2:7:2], "kinds": kinds, "large": 2 ** 70, "empty": torch.zeros(0, 2),
                 "parameter": layer[0].weight, "none": torch.tensor(7)}
        file = io.BytesIO()
        torch.save(given, file)
        found = self.load(file.getvalue())
        self.assertEqual((found["epoch"], found["loss"], found["names"], found["large"]),
                         (3, 0.25, ["a", ("b", None, True)], 2 ** 70))
        for name, value in given["model"].items():
            assert_equal(found["model"][name], value)
        for name, value in kinds.items():
            assert_equal(found["kinds"][name], value)
        for name in ("turned", "part", "empty", "parameter", "none"):
            assert_equal(found[name], given[name])
        self.assertEqual(found["optimizer"]["param_groups"], given["optimizer"]["param_groups"])
        file.seek(0)
        assert_equal(weft.load(file)["model"]["0.weight"], layer[0].weight)
        file = io.BytesIO()
        torch.save({"half": torch.tensor([1.5, -2.0]).bfloat16(), "short": torch.tensor(
            [-3, 300], dtype=torch.int16)}, file)
        found = self.load(file.getvalue())
        self.assertEqual((found["half"].dtype, found["half"].tolist()),
                         (weft.bfloat16, [1.5, -2.0]))
        self.assertEqual((found["short"].dtype, found["short"].tolist()), (weft.int32, [-3, 300]))
        file = io.BytesIO()
        torch.save(layer, file)
        self.refused(file.getvalue(), "Sequential, where tensors.*state_dict")

    def test_open_files(self):
        file = io.BytesIO()
        weft.save({"a": weft.ones(2), "n": [1, "x"]}, file)
        file.seek(0)
        found = weft.load(file)
        self.assertEqual((found["a"].tolist(), found["n"]), ([1, 1], [1, "x"]))


if __name__ == "__main__":
    unittest.main()
