"""The wheel as it is packed: complete, small, and importable from where it is unpacked."""
import base64
import hashlib
import importlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import weft

PYTHON = pathlib.Path(__file__).resolve().parents[2]
BYTES_MAX = 20_000_000


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(PYTHON / "packaging"))
        cls.addClassCleanup(sys.path.pop, 0)
        cls.backend = importlib.import_module("weft_build")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        files = cls.backend.package_files(pathlib.Path(weft.__file__).parent, folder.name)
        cls.path = cls.folder / cls.backend.pack(files, folder.name)

    def test_is_small(self):
        self.assertLess(self.path.stat().st_size, BYTES_MAX)

    def test_lists_every_file_with_its_digest(self):
        with zipfile.ZipFile(self.path) as file:
            stem = f"weft-{weft.__version__}.dist-info"
            record = file.read(f"{stem}/RECORD").decode().splitlines()
            listed = {}
            for line in record:
                name, digest, size = line.rsplit(",", 2)
                listed[name] = (digest, size)
            self.assertEqual(set(listed), set(file.namelist()))
            for name, (digest, size) in listed.items():
                if name.endswith("RECORD"):
                    continue
                data = file.read(name)
                want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                self.assertEqual((digest, size), (f"sha256={want}", str(len(data))), name)
            self.assertIn(f"Tag: {self.backend.tag()}", file.read(f"{stem}/WHEEL").decode())
            self.assertIn("Requires-Dist: numpy", file.read(f"{stem}/METADATA").decode())
            self.assertIn(f"{stem}/licenses/LICENSE", listed)

    def test_is_the_same_bytes_again(self):
        again = self.folder / "again"
        again.mkdir()
        files = self.backend.package_files(pathlib.Path(weft.__file__).parent, again)
        name = self.backend.pack(files, again)
        self.assertEqual((again / name).read_bytes(), self.path.read_bytes())

    def test_unpacked_it_is_the_package_and_numpy_waits(self):
        unpacked = self.folder / "unpacked"
        with zipfile.ZipFile(self.path) as file:
            file.extractall(unpacked)
        code = ("import sys, weft; assert 'numpy' not in sys.modules; "
                "import weft.nn, weft.optim, weft.array_api, weft.swarm; "
                "print(weft.__file__, weft.ones(3).sum().item())")
        ran = subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True,
                             text=True, env={**os.environ, "PYTHONPATH": str(unpacked)})
        self.assertEqual(ran.stdout.split(), [str(unpacked / "weft" / "__init__.py"), "3.0"],
                         ran.stderr)

    def test_a_missing_module_is_named(self):
        with self.assertRaisesRegex(RuntimeError, "_core"):
            self.backend.package_files(self.folder / "nowhere", self.folder)

    @unittest.skipUnless((PYTHON.parents[1] / ".git").exists(), "this is no clone")
    def test_the_source_archive_has_what_git_has(self):
        name = self.backend.build_sdist(self.folder)
        with tarfile.open(self.folder / name) as file:
            names = file.getnames()
        stem = f"weft-{weft.__version__}/"
        wanted = {"pyproject.toml", "PKG-INFO", "CMakeLists.txt", "bindings/python/native/core/module.cpp"}
        self.assertEqual({stem + each for each in wanted} - set(names), set())


if __name__ == "__main__":
    unittest.main()
