"""The types that the package declares: every name is there, and mypy agrees where it is installed."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PYTHON = pathlib.Path(__file__).resolve().parents[2]


class Types(unittest.TestCase):
    def test_the_types_have_every_name(self):
        done = subprocess.run([sys.executable, PYTHON / "tools" / "make_types.py", "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(shutil.which("mypy") is None, "mypy is not installed")
    def test_mypy(self):
        with tempfile.TemporaryDirectory() as cache:
            program = pathlib.Path(cache) / "program.py"
            program.write_text("import weft\n"
                               "from weft.vision import transforms\n"
                               "x: weft.Tensor = weft.ones(2, 3) @ weft.zeros(3, 2)\n"
                               "size: int = x.numel()\n"
                               "flip = transforms.RandomHorizontalFlip(0.3)\n"
                               "y: weft.Tensor = transforms.functional.normalize(x, [0], [1])\n"
                               "bad: str = x.numel()\n")
            examples = PYTHON / "examples"
            done = subprocess.run(
                ["mypy", "--cache-dir", cache, examples / "cnn.py",
                 *sorted((examples / "ported").glob("*.py")), program],
                capture_output=True, text=True, check=False,
                env={**os.environ, "MYPYPATH": str(PYTHON)})
        wrong = [line for line in done.stdout.splitlines() if ": error:" in line]
        self.assertEqual(len(wrong), 1, done.stdout)
        self.assertIn("program.py:7", wrong[0])


class Importing(unittest.TestCase):
    def test_numpy_is_not_read_before_it_is_needed(self):
        program = ("import sys, weft; assert 'numpy' not in sys.modules; weft.ones(2).numpy(); "
                   "assert 'numpy' in sys.modules")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_modules_of_processes_are_not_read_before_they_are_needed(self):
        program = ("import sys, weft; read = [name for name in ('multiprocessing', 'subprocess', "
                   "'typing', 'secrets') if name in sys.modules]; assert not read, read; "
                   "assert weft.utils.data.get_worker_info() is None")
        done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True,
                              text=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_public_function_is_documented(self):
        import weft
        missing = [name for name in dir(weft) if not name.startswith("_")
                   and callable(getattr(weft, name)) and not getattr(weft, name).__doc__]
        missing += [f"Tensor.{name}" for name in dir(weft.Tensor) if not name.startswith("_")
                    and not getattr(weft.Tensor, name).__doc__]
        self.assertEqual(missing, [])
