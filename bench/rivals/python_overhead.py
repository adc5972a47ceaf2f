#!/usr/bin/env python3
"""Times what the Python package costs: calls beside PyTorch's, a training step beside C++'s.

Three measurements, each by processes of their own with one compute thread:
  calls    small operations on 1,000 floats, the median of repeated timings, in Weft and in PyTorch
  step     a training step of an MLP (784-256-10, batch 64, SGD with momentum) written in Python,
           beside `weft bench train --model mlp`, in turn
  import   `import weft` in a fresh interpreter
With --check the exit status is 1 unless: each elementwise call costs at most 0.7 of PyTorch's, the
step at most 1.3 of C++'s, the import less than 0.1 s. Needs a build with WEFT_PYTHON, and for the
calls a Python with torch.

    bench/rivals/python_overhead.py --build build/release --json overhead.json
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import timeit

CALL_RATIO_MAX = 0.7
STEP_RATIO_MAX = 1.3
IMPORT_SECONDS_MAX = 0.1
NUMBER = 10000
REPEATS = 9
# What a shell may have set to make OpenBLAS choose old kernels.
UNWANTED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND")

# name -> (call of two tensors of 1,000 floats, whether the limit holds for it)
CALLS = {
    "x + y": (lambda x, y: x + y, True),
    "x * 2.0": (lambda x, y: x * 2.0, True),
    "x / y": (lambda x, y: x / y, True),
    "x > y": (lambda x, y: x > y, True),
    "x.relu()": (lambda x, y: x.relu(), True),
    "x.exp()": (lambda x, y: x.exp(), True),
    "x.sum()": (lambda x, y: x.sum(), False),
    "x[3]": (lambda x, y: x[3], False),
    "x[10:20]": (lambda x, y: x[10:20], False),
    "x.reshape(10, 100)": (lambda x, y: x.reshape(10, 100), False),
}


def time_calls(library):
    """Microseconds a call, of the library that is given."""
    if library.__name__ == "torch":
        library.set_num_threads(1)
    x, y = library.ones(1000), library.full((1000,), 1.5)
    result = {}
    for name, (call, _) in CALLS.items():
        times = timeit.repeat(lambda: call(x, y), number=NUMBER, repeat=REPEATS)
        nothing = timeit.repeat(lambda: None, number=NUMBER, repeat=REPEATS)
        result[name] = (statistics.median(times) - statistics.median(nothing)) / NUMBER * 1e6
    return result


def time_steps(seconds):
    """The median of a training step in milliseconds."""
    import weft
    from weft import nn

    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = weft.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batches = [(weft.randn(64, 1, 28, 28), weft.randint(10, (64,))) for _ in range(4)]
    times, begun = [], time.perf_counter()
    while len(times) < 30 or time.perf_counter() - begun < seconds:
        x, y = batches[len(times) % 4]
        before = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        times.append((time.perf_counter() - before) * 1e3)
    return {"median_ms": statistics.median(times[3:]), "steps": len(times)}


def time_import(environment):
    """The median over fresh interpreters, without the interpreter's own start, in seconds."""
    program = "import time; t = time.perf_counter(); import weft; print(time.perf_counter() - t)"
    return statistics.median(
        float(subprocess.run([sys.executable, "-c", program], env=environment, check=True,
                             capture_output=True, text=True).stdout) for _ in range(9))


def child(environment, *arguments):
    done = subprocess.run([sys.executable, os.path.abspath(__file__), *arguments], check=True,
                          env=environment, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(options):
    environment = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    environment.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                       PYTHONPATH=str(options.build / "python"))
    result = {"import_s": time_import(environment), "weft_us": child(environment, "--calls", "weft")}
    try:
        result["torch_us"] = child(environment, "--calls", "torch")
    except subprocess.CalledProcessError:
        print("PyTorch is not installed: its calls are left out", file=sys.stderr)
    program = options.build / "weft"
    if program.exists():
        ours, native = [], []
        for _ in range(options.runs):
            ours.append(child(environment, "--steps", str(options.seconds))["median_ms"])
            done = subprocess.run([program, "bench", "train", "--model", "mlp", "--threads", "1",
                                   "--seconds", str(options.seconds), "--json"], env=environment,
                                  check=True, capture_output=True, text=True)
            native.append(json.loads(done.stdout.strip().splitlines()[-1])["median_ms"])
        result["python_step_ms"] = statistics.median(ours)
        result["cpp_step_ms"] = statistics.median(native)
    return result


def report(result):
    """Prints the figures; what misses its limit comes back."""
    missed = []
    print(f"import weft: {result['import_s'] * 1e3:.0f} ms")
    if result["import_s"] >= IMPORT_SECONDS_MAX:
        missed.append("import")
    for name, ours in result["weft_us"].items():
        theirs = result.get("torch_us", {}).get(name)
        beside = f"  PyTorch {theirs:6.3f} us  ratio {ours / theirs:.2f}" if theirs else ""
        print(f"{name:20} weft {ours:6.3f} us{beside}")
        if theirs and CALLS[name][1] and ours > CALL_RATIO_MAX * theirs:
            missed.append(name)
    if "cpp_step_ms" in result:
        ratio = result["python_step_ms"] / result["cpp_step_ms"]
        print(f"MLP step: Python {result['python_step_ms']:.3f} ms, C++ "
              f"{result['cpp_step_ms']:.3f} ms, ratio {ratio:.2f}")
        if ratio > STEP_RATIO_MAX:
            missed.append("step")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--calls", help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.calls:
        print(json.dumps(time_calls(__import__(options.calls))))
        return 0
    if options.steps:
        print(json.dumps(time_steps(options.steps)))
        return 0
    options.build = options.build.resolve()
    result = measure(options)
    missed = report(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    if missed:
        print(f"above the limit: {', '.join(missed)}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
