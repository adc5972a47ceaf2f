#!/usr/bin/env python3
"""Times training steps that are written once and run with `import weft` and with PyTorch, and
compares their losses.

  packed_lstm   sequences of unequal lengths, packed, through an LSTM of two layers; Adam
  transformer   a TransformerEncoder of two layers with a mask of padding; AdamW
  dcgan         a step of a DCGAN's discriminator and one of its generator on 32 x 32 images; Adam
  per_sample    private SGD on 64 samples: vmap(grad()) gives each one's gradient of a network of
                linear layers, each is cut to a norm, and their mean is the step
Both begin with the same values and see the same batches. Each library runs in a process of its own
with the same number of compute threads, in turn; the medians over all steps are compared. With --check
the exit status is 1 unless the losses of the first steps agree within 1e-5 and no step takes longer
than PyTorch's. Needs a build with WEFT_PYTHON and a Python with torch.

    bench/rivals/python_steps.py --build build/release --json steps.json --markdown steps.md
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np

from machine import clean_environment, processor, run_json, torch_environment
from results import finish

LOSS_DIFFERENCE_MAX = 1e-5
COMPARED_STEPS = 5
RATIO_MAX = 1.0


def fill(T, module, seed):
    """The same first values in both libraries: normal, of a deviation that keeps sizes."""
    random = np.random.RandomState(seed)
    with T.no_grad():
        for name, parameter in module.named_parameters():
            values = random.standard_normal(tuple(parameter.shape)) * 0.08
            if "norm" in name and name.endswith("weight"):
                values += 1
            parameter.copy_(T.tensor(values.astype(np.float32)))
    return module


def packed_lstm(T):
    """Batches of 32 sequences of up to 48 vectors, each with a class."""
    nn, rnn = T.nn, T.nn.utils.rnn
    lstm, head = fill(T, nn.LSTM(32, 128, 2, batch_first=True), 1), fill(T, nn.Linear(128, 10), 2)
    optimizer = T.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3, eps=1e-3)
    random = np.random.RandomState(0)
    batches = [(T.tensor(random.standard_normal((32, 48, 32)).astype(np.float32)),
                T.tensor(np.sort(random.randint(8, 49, 32))[::-1].copy().astype(np.int64)),
                T.tensor(random.randint(0, 10, 32).astype(np.int64))) for _ in range(4)]

    def step(number):
        x, lengths, labels = batches[number % 4]
        optimizer.zero_grad()
        _, (hidden, _) = lstm(rnn.pack_padded_sequence(x, lengths, batch_first=True))
        loss = nn.functional.cross_entropy(head(hidden[-1]), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def transformer(T):
    """Batches of 16 sequences of 64 vectors, of which some are padding."""
    nn = T.nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    encoder, head = fill(T, nn.TransformerEncoder(layer, 2), 3), fill(T, nn.Linear(128, 10), 4)
    optimizer = T.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3, eps=1e-3)
    random = np.random.RandomState(0)
    batches = []
    for _ in range(4):
        lengths = random.randint(16, 65, 16)
        batches.append((T.tensor(random.standard_normal((16, 64, 128)).astype(np.float32)),
                        T.tensor(np.arange(64) >= lengths[:, None]),
                        T.tensor(random.randint(0, 10, 16).astype(np.int64))))

    def step(number):
        x, padding, labels = batches[number % 4]
        optimizer.zero_grad()
        y = encoder(x, src_key_padding_mask=padding)
        loss = nn.functional.cross_entropy(head(y[:, 0]), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def dcgan(T):
    """Batches of 16 images [3, 32, 32] and of 16 vectors of noise."""
    nn = T.nn
    generator = fill(T, nn.Sequential(
        nn.ConvTranspose2d(64, 128, 4, 1, 0, bias=False), nn.BatchNorm2d(128), nn.ReLU(True),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 3, 4, 2, 1, bias=False), nn.Tanh()), 5)
    critic = fill(T, nn.Sequential(
        nn.Conv2d(3, 32, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128),
        nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(128, 1, 4, 1, 0, bias=False), nn.Flatten()), 6)
    adam = [T.optim.Adam(each.parameters(), lr=2e-4, betas=(0.5, 0.999), eps=1e-3)
            for each in (critic, generator)]
    criterion, random = nn.BCEWithLogitsLoss(), np.random.RandomState(0)
    batches = [(T.tensor(np.tanh(random.standard_normal((16, 3, 32, 32))).astype(np.float32)),
                T.tensor(random.standard_normal((16, 64, 1, 1)).astype(np.float32)))
               for _ in range(4)]
    real, fake = T.ones(16, 1), T.zeros(16, 1)

    def step(number):
        images, noise = batches[number % 4]
        made = generator(noise)
        adam[0].zero_grad()
        loss = criterion(critic(images), real) + criterion(critic(made.detach()), fake)
        loss.backward()
        adam[0].step()
        adam[1].zero_grad()
        fooled = criterion(critic(made), real)
        fooled.backward()
        adam[1].step()
        return loss + fooled

    return step


def per_sample(T):
    """Batches of 64 vectors, each with a class."""
    if hasattr(T, "func"):
        func = T.func
    else:  # PyTorch before 2.0
        import functorch as func
    functional, random = T.nn.functional, np.random.RandomState(7)
    widths = (784, 256, 256, 10)
    weights = [T.tensor(random.standard_normal(pair).astype(np.float32) * 0.05)
               for pair in zip(widths[1:], widths)]
    biases = [T.zeros(width) for width in widths[1:]]
    batches = [(T.tensor(random.standard_normal((64, 784)).astype(np.float32)),
                T.tensor(random.randint(0, 10, 64).astype(np.int64))) for _ in range(4)]

    def loss_of_one(parameters, x, label):
        count = len(parameters) // 2
        for i in range(count):
            x = functional.linear(x, parameters[i], parameters[count + i])
            x = functional.relu(x) if i + 1 < count else x
        return functional.cross_entropy(x.unsqueeze(0), label.unsqueeze(0))

    slopes = func.vmap(func.grad_and_value(loss_of_one), in_dims=(None, 0, 0))
    parameters = (*weights, *biases)

    def step(number):
        gradients, losses = slopes(parameters, *batches[number % 4])
        norms = sum(each.flatten(1).square().sum(1) for each in gradients).sqrt()
        share = (1.0 / norms).clamp(max=1.0) * (0.1 / 64)
        with T.no_grad():
            for parameter, each in zip(parameters, gradients):
                parameter -= (share @ each.flatten(1)).reshape(parameter.shape)
        return losses.mean()

    return step


WORKLOADS = {"packed_lstm": packed_lstm, "transformer": transformer, "dcgan": dcgan,
             "per_sample": per_sample}


def run_here(options):
    """The losses of the first steps and the median time of those that follow, of one library."""
    library = __import__(options.child)
    library.set_num_threads(options.threads)
    step = WORKLOADS[options.workload](library)
    losses = [step(number).item() for number in range(COMPARED_STEPS)]
    times, begun = [], time.perf_counter()
    while len(times) < 20 or time.perf_counter() - begun < options.seconds:
        before = time.perf_counter()
        step(len(times)).item()
        times.append((time.perf_counter() - before) * 1e3)
    print(json.dumps({"losses": losses, "median_ms": statistics.median(times),
                      "least_ms": min(times)}))


def compare(options, name):
    """A row: both sides, in turn."""
    sides, found = {"weft": clean_environment, "torch": torch_environment}, {}
    for _ in range(options.runs):
        for side, environment in sides.items():
            command = [options.python, os.path.abspath(__file__), "--child", side, "--workload",
                       name, "--threads", str(options.threads), "--seconds", str(options.seconds)]
            env = {**environment(options.threads), "PYTHONPATH": str(options.build / "python")}
            found.setdefault(side, []).append(run_json(command, env))
    row = {"workload": name, "threads": options.threads, "runs": options.runs,
           "losses": found["weft"][0]["losses"]}
    row["loss_difference"] = max(abs(ours - theirs) / max(1.0, abs(theirs)) for ours, theirs in zip(
        found["weft"][0]["losses"], found["torch"][0]["losses"]))
    for key in ("median_ms", "least_ms"):
        pick = statistics.median if key == "median_ms" else min
        for side, runs in found.items():
            row[f"{side}_{key}"] = round(pick(run[key] for run in runs), 3)
        row[f"ratio_{key[:-3]}"] = round(row[f"weft_{key}"] / row[f"torch_{key}"], 3)
    return row


def table(rows):
    """As text for a page."""
    lines = ["| step | threads | Weft ms | PyTorch ms | ratio | of the least times | "
             "losses differ by |", "|" + "---|" * 7]
    for row in rows:
        lines.append(f"| {row['workload']} | {row['threads']} | {row['weft_median_ms']:.2f} | "
                     f"{row['torch_median_ms']:.2f} | {row['ratio_median']:.2f} | "
                     f"{row['ratio_least']:.2f} | {row['loss_difference']:.1e} |")
    return "\n".join(lines)


def misses(rows):
    """The bounds that do not hold."""
    missed = []
    for row in rows:
        if row["loss_difference"] > LOSS_DIFFERENCE_MAX:
            missed.append(f"{row['workload']}: losses differ by {row['loss_difference']:.1e}, at "
                          f"most {LOSS_DIFFERENCE_MAX}")
        if row["ratio_least"] > RATIO_MAX:
            missed.append(f"{row['workload']}: {row['ratio_least']} of PyTorch's time, at most "
                          f"{RATIO_MAX}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--workload", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_here(options)
        return
    options.build = options.build.resolve()
    rows = [compare(options, name) for name in options.workloads]
    text = table(rows)
    print(text)
    finish(options, {"processor": processor(), "rows": rows}, text, misses(rows))


if __name__ == "__main__":
    main()
