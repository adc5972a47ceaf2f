#!/usr/bin/env python3
"""Installs the package with pip into a new virtual environment and uses it there.

usage: bindings/python/packaging/check_pip.py [--build-dir DIR]
  --build-dir  a build tree with -DWEFT_PYTHON=ON to take the modules from; without it everything is
               compiled in build/wheel, which takes minutes

Needs python3-venv and python3-pip. Says how long it took and how long `import weft` takes; the last
line is "N passed, N failed". Not part of ./test: its parts are (tests/test_wheel.py).
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
USE = """
import sys, time
begin = time.perf_counter()
import weft
took = time.perf_counter() - begin
import numpy, weft.array_api, weft.nn, weft.swarm
x = weft.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0]
with weft.swarm.start(listen="127.0.0.1:0") as swarm:
    values = numpy.ones(3, numpy.float32)
    swarm.all_reduce(values)
    assert values.tolist() == [1.0] * 3 and swarm.round == 1
print(weft.__file__)
print(took)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build-dir")
    arguments = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if arguments.build_dir:
        environment["WEFT_BUILD_DIR"] = str(pathlib.Path(arguments.build_dir).resolve())
    with tempfile.TemporaryDirectory() as folder:
        python = pathlib.Path(folder) / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", python.parents[1]],
                       check=True)
        begin = time.monotonic()
        subprocess.run([python, "-m", "pip", "install", "--no-build-isolation", "--no-index",
                        "--quiet", ROOT], check=True, env=environment)
        print(f"pip install took {time.monotonic() - begin:.0f} s")
        said = [subprocess.run([python, "-c", USE], check=True, env=environment, cwd=folder,
                               capture_output=True, text=True).stdout.split() for _ in range(5)]
        inside = said[0][0].startswith(folder)
        print(f"import weft takes {min(float(took) for _, took in said):.3f} s")
        subprocess.run([python, "-m", "pip", "uninstall", "--yes", "--quiet", "weft"], check=True,
                       env=environment)
        gone = subprocess.run([python, "-c", "import weft"], env=environment, cwd=folder,
                              capture_output=True).returncode != 0
    failed = (not inside) + (not gone)
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
