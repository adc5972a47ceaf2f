#!/usr/bin/env python3
"""Trainings whose rounds MPI carries: `weft run --engine mpi` under mpirun.

usage: mpi_run_test.py [--program PATH]   (default: the environment's WEFT_PROGRAM)
Exit code 77, with a reason, where mpirun is missing or weft was built without MPI.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LIMIT_S = 240
RECIPE = """
[model]
name = "mlp"
hidden_units = 32
[data]
name = "synthetic"
[run]
steps = 12
global_batch = 48
seed = 3
"""


def mpirun(ranks, arguments, **more):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False, **more)


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def check_training(program, folder):
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE)
    out = folder / "out"
    ran = mpirun(3, [program, "run", str(recipe), "--engine", "mpi", "--out", str(out),
                     "--threads", "1"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    states = [summary(out)["state_hash"]]
    states += [summary(out / f"rank-{rank}")["state_hash"] for rank in (1, 2)]
    assert len(set(states)) == 1, states
    assert summary(out)["steps"] == 12
    alone = subprocess.run([program, "run", str(recipe), "--out", str(folder / "alone"),
                            "--threads", "1"], capture_output=True, text=True, timeout=LIMIT_S,
                           check=False)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    difference = abs(summary(out)["final_loss"] - summary(folder / "alone")["final_loss"])
    assert difference < 1e-3, difference
    print(f"3 ranks end with one state; loss within {difference:.1e} of one process")


def check_resume(program, folder):
    recipe = folder / "recipe.toml"
    out = folder / "out"
    ran = mpirun(2, [program, "run", str(recipe), "--engine", "mpi", "--out", str(out),
                     "--threads", "1", "--steps", "20", "--resume"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert summary(out)["steps"] == 20
    print("two ranks go on where three had stopped")


def check_refusals(program, folder):
    recipe = folder / "recipe.toml"
    ran = mpirun(2, [program, "run", str(recipe), "--engine", "mpi", "--peers", "2",
                     "--out", str(folder / "refused")])
    assert ran.returncode != 0
    assert "mpirun starts the processes" in ran.stderr, ran.stderr
    missing = mpirun(2, [program, "run", str(folder / "none.toml"), "--engine", "mpi",
                         "--out", str(folder / "refused")])
    assert missing.returncode != 0
    print("a recipe that is not there ends all ranks")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=os.environ.get("WEFT_PROGRAM", "weft"))
    program = parser.parse_args().program
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "recipe.toml").write_text(RECIPE)
        probe = mpirun(1, [program, "run", str(folder / "recipe.toml"), "--engine", "mpi",
                           "--steps", "1", "--out", str(folder / "probe")])
        if "built without it" in probe.stderr:
            print("skipped: weft was built without MPI")
            return SKIPPED
        checks = (check_training, check_resume, check_refusals)
        for check in checks:
            check(program, folder)
    print(f"{len(checks)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
