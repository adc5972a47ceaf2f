#!/usr/bin/env python3
"""Times 200 small operations called from Python, in Weft and in PyTorch, and a training step beside
`weft bench train`.

The operations are what loops of programs consist of: elementwise functions of 16 and of 1,000 floats,
products of 32 x 32, reductions, indexing, shapes, layers, and backward() through ten operations. Each
library runs in a process of its own with one compute thread, in turn; of an operation the least time
of repeated loops counts, for other programs can only add to it. --markdown writes the table of kinds
and of the slowest operations. With --check the exit status is 1 unless the geometric mean of the
ratios is at most 0.7 and the step takes at most 1.3 times that of C++. Needs a build with WEFT_PYTHON
and a Python with torch.

    bench/rivals/python_calls.py --build build/release --json calls.json --markdown calls.md
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import timeit

from machine import clean_environment, geometric_mean, processor, run_json, torch_environment
from python_overhead import STEP_RATIO_MAX
from results import finish

MEAN_MAX = 0.7
LOOP_SECONDS = 0.004
REPEATS = 7
SLOWEST_SHOWN = 12

UNARY = """abs neg exp log sqrt rsqrt sin cos tanh sigmoid relu floor round square reciprocal sign
    isfinite erf log1p expm1""".split()
BINARY = ["x + y", "x - y", "x * y", "x / y", "x > y", "x == y", "x + 1", "x * 2.0", "2.0 - x",
          "x ** 2", "T.maximum(x, y)", "T.where(m, x, y)", "x.clamp(0, 1)", "x.lerp(y, 0.3)",
          "x.add(y, alpha=2)", "x.masked_fill(m, 0.0)"]
PLACE = ["x.add_(y)", "x.mul_(1.0)", "x.copy_(y)", "x.zero_()", "x.fill_(1.0)", "x.clamp_(0, 1)"]
MATRICES = ["a @ b", "a.mm(b)", "a @ b.T", "a.T @ b", "T.matmul(a, b)", "T.addmm(a, a, b)",
            "a.mv(w)", "w.dot(w)", "T.outer(w, w)", "T.bmm(c, c)", "T.einsum('ij,jk->ik', a, b)",
            "F.linear(a, b)", "F.linear(a, b, w)", "a.trace()", "T.linalg.norm(a)"]
REDUCED = ["a.sum()", "a.mean()", "a.max()", "a.min()", "a.sum(0)", "a.sum(1)", "a.mean(1)",
           "a.max(1)", "a.argmax(1)", "a.std()", "a.var(0)", "a.norm()", "a.prod()", "a.any()",
           "a.softmax(1)", "a.log_softmax(1)", "a.logsumexp(1)", "a.cumsum(1)", "a.sort(1)",
           "a.topk(3)", "(a > 0).sum()", "a.amax(0)", "w.sum().item()"]
INDEXED = ["a[0]", "a[3, 4]", "a[-1]", "a[1:5]", "a[:, 2]", "a[:, 1:5]", "a[::2]", "a[..., 0]",
           "a[None]", "a[:, None]", "a[i]", "a[i, i]", "a[k]", "w[i]", "a.select(0, 1)",
           "a.narrow(0, 1, 4)", "a.index_select(0, i)", "a.gather(1, j)", "a[0, 0].item()",
           "float(w[3])", "a.unbind(0)", "T.take(a, i)", "a.masked_select(k)"]
SHAPES = ["a.reshape(16, 64)", "a.view(-1)", "a.T", "a.t()", "a.transpose(0, 1)", "a.permute(1, 0)",
          "a.unsqueeze(0)", "a.squeeze()", "a.flatten()", "a.expand(2, 32, 32)", "a.repeat(2, 1)",
          "T.cat([a, b])", "T.stack([a, b])", "a.chunk(4)", "a.split(8)", "a.flip(0)", "a.roll(1)",
          "a.tril()", "a.clone()", "a.detach()", "a.contiguous()", "a.T.contiguous()", "a.double()",
          "a.long()", "a.shape", "a.numel()", "a.tolist()", "a.numpy()", "a.size(0)", "len(a)"]
MADE = ["T.zeros(32, 32)", "T.ones(16)", "T.empty(16)", "T.full((16,), 2.0)", "T.arange(16)",
        "T.eye(16)", "T.linspace(0, 1, 16)", "T.zeros_like(a)", "T.tensor(1.0)",
        "T.tensor([1.0, 2.0, 3.0])", "T.from_numpy(n)", "T.randn(16)", "T.rand(16)",
        "T.randint(0, 9, (16,))", "T.randperm(16)"]
LAYERS = ["F.relu(a)", "F.gelu(a)", "F.dropout(a, 0.5)", "F.layer_norm(a, (32,))",
          "F.cross_entropy(a, t)", "F.mse_loss(a, b)", "F.one_hot(t, 32)", "F.embedding(t, a)",
          "F.pad(a, (1, 1))", "F.conv2d(image, kernel)", "F.max_pool2d(image, 2)",
          "F.normalize(a)", "layer(a)", "model(a)"]
GRAPHS = ["((p * x).exp() + y).sigmoid().sum().backward()",
          "T.autograd.grad((p * x + y).relu().sum(), p)",
          "ten(p, x).backward()", "F.mse_loss(model(a), a).backward()",
          "with_no_grad(x, y)", "(p * x).detach()", "(p @ p).backward()", "p.grad", "(p * 2).sum().backward()",
          "p.clone().mul_(2).sum().backward()", "p.view(10, 100).sum(1).max().backward()",
          "(p.exp() / p.exp().sum()).log().mean().backward()"]


def operations():
    """{kind: expressions}, 200 in all."""
    small = [f"s.{name}()" for name in UNARY] + ["s + r", "s * r", "s / r", "s > r", "s + 1",
                                                 "s * 2.0"]
    return {"16 floats": small, "1,000 floats": [f"x.{name}()" for name in UNARY] + BINARY, "in place": PLACE,
            "matrices": MATRICES, "reductions": REDUCED, "indexing": INDEXED, "shapes": SHAPES,
            "new tensors": MADE, "layers": LAYERS, "gradients": GRAPHS}


def scope(T):
    """What the expressions speak of."""
    import numpy as np

    def ten(p, x):
        y = p
        for _ in range(5):
            y = (y * x).tanh()
        return y.sum()

    def with_no_grad(x, y):
        with T.no_grad():
            return x + y

    random = np.random.RandomState(0)

    def normal(*shape):
        return T.tensor(random.standard_normal(shape).astype(np.float32))

    def whole(*shape):
        return T.tensor(random.randint(0, 32, shape).astype(np.int64))

    a = normal(32, 32)
    nn = T.nn
    return {"T": T, "F": nn.functional, "s": normal(16).abs(), "r": normal(16),
            "x": normal(1000).abs(), "y": normal(1000), "m": normal(1000) > 0, "a": a,
            "b": normal(32, 32), "c": normal(4, 32, 32), "w": normal(32), "i": whole(8),
            "j": whole(32, 4), "k": a > 0.5, "n": np.ones(16, np.float32), "t": whole(32),
            "image": normal(1, 3, 16, 16), "kernel": normal(4, 3, 3, 3),
            "p": normal(1000).requires_grad_(), "layer": nn.Linear(32, 32), "ten": ten,
            "model": nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)),
            "with_no_grad": with_no_grad}


def time_operations(name):
    """{expression: microseconds} of a library."""
    library = __import__(name)
    library.set_num_threads(1)
    names, found = scope(library), {}
    for expressions in operations().values():
        for text in expressions:
            timer = timeit.Timer(text, globals=names)
            once = max(min(timer.repeat(3, 3)) / 3, 1e-8)
            number = max(5, min(50000, int(LOOP_SECONDS / once)))
            found[text] = min(timer.repeat(REPEATS, number)) / number * 1e6
    return found


def child(options, library, environment):
    environment = {**environment, "PYTHONPATH": str(options.build / "python")}
    return run_json([options.python, os.path.abspath(__file__), "--child", library], environment)


def measure(options):
    """The least of each operation over the runs, and the step in Python and in C++."""
    sides = {"weft": clean_environment(1), "torch": torch_environment(1)}
    runs = {side: [] for side in sides}
    for _ in range(options.runs):
        for side, environment in sides.items():
            runs[side].append(child(options, side, environment))
    result = {"processor": processor(), "runs": options.runs, "operations": {}}
    for kind, expressions in operations().items():
        for text in expressions:
            ours, theirs = (min(run[text] for run in runs[side]) for side in sides)
            result["operations"][text] = {"kind": kind, "weft_us": round(ours, 3),
                                          "torch_us": round(theirs, 3),
                                          "ratio": round(ours / theirs, 3)}
    result["mean_ratio"] = round(geometric_mean(
        [row["ratio"] for row in result["operations"].values()]), 3)
    if (options.build / "weft").exists() and not options.without_step:
        result.update(steps(options))
    return result


def steps(options):
    """Milliseconds of an MLP's training step, in turn."""
    environment = {**clean_environment(1), "PYTHONPATH": str(options.build / "python")}
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_overhead.py")
    ours, native = [], []
    for _ in range(options.runs):
        ours.append(run_json([options.python, script, "--steps", "2"], environment)["median_ms"])
        native.append(run_json([options.build / "weft", "bench", "train", "--model", "mlp",
                                "--threads", "1", "--seconds", "2", "--json"],
                               environment)["median_ms"])
    return {"python_step_ms": round(statistics.median(ours), 3),
            "cpp_step_ms": round(statistics.median(native), 3)}


def table(result):
    """As text for a page: a row for each kind, then the operations with the largest ratios."""
    rows = result["operations"]
    lines = ["| kind | operations | slower than PyTorch | mean ratio | largest |", "|" + "---|" * 5]
    for kind in dict.fromkeys(row["kind"] for row in rows.values()):
        ratios = {text: row["ratio"] for text, row in rows.items() if row["kind"] == kind}
        worst = max(ratios, key=ratios.get)
        lines.append(f"| {kind} | {len(ratios)} | {sum(each > 1 for each in ratios.values())} | "
                     f"{geometric_mean(list(ratios.values())):.2f} | "
                     f"`{worst}` {ratios[worst]:.2f} |")
    lines += [f"| all | {len(rows)} | {sum(row['ratio'] > 1 for row in rows.values())} | "
              f"{result['mean_ratio']:.2f} | |", "",
              "| operation | Weft us | PyTorch us | ratio |", "|" + "---|" * 4]
    for text in sorted(rows, key=lambda each: -rows[each]["ratio"])[:SLOWEST_SHOWN]:
        row = rows[text]
        lines.append(f"| `{text}` | {row['weft_us']:.2f} | {row['torch_us']:.2f} | "
                     f"{row['ratio']:.2f} |")
    return "\n".join(lines)


def misses(result):
    """The bounds that do not hold."""
    missed = []
    if result["mean_ratio"] > MEAN_MAX:
        missed.append(f"mean ratio {result['mean_ratio']}, at most {MEAN_MAX}")
    if "cpp_step_ms" in result:
        ratio = result["python_step_ms"] / result["cpp_step_ms"]
        print(f"MLP step: Python {result['python_step_ms']} ms, C++ {result['cpp_step_ms']} ms, "
              f"ratio {ratio:.2f}")
        if ratio > STEP_RATIO_MAX:
            missed.append(f"step {ratio:.2f} of C++'s, at most {STEP_RATIO_MAX}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--without-step", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(time_operations(options.child)))
        return
    options.build = options.build.resolve()
    result = measure(options)
    text = table(result)
    print(text)
    finish(options, result, text, misses(result))


if __name__ == "__main__":
    main()
