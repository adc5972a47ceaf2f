#!/usr/bin/env python3
"""Trains a text recipe with Weft and with PyTorch, compares what both reach and draws the curves.

usage: learning_curves.py RECIPE.toml [--weft PROGRAM] [--steps N] [--threads N] [--seeds N]
                          [--order streams|random] [--svg FILE] [--json FILE]

Both start from the same parameters (Weft's own, written to a checkpoint by a step of learning rate
0), see the same text, tokens, split, batch sizes, learning rates, decay and clipping, and are
measured on the same windows of the held-out tenth. With the order "streams" (row r of a batch reads
on, step by step, in the r-th part of the text) they also see the same batches; with "random" each
draws windows of its own. Needs PyTorch, NumPy and Python 3.11; this script alone writes the
picture.
"""
import argparse
import gzip
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).parent / "rivals"))

PLACES = {"jargon": "/usr/share/dictd/jargon.dict.dz", "devil": "/usr/share/dictd/devil.dict.dz",
          "kjv": "/usr/share/bible-kjv/kjv.txt"}
NAMES = [("transformer.", ""), ("wte.", "tokens."), ("wpe.", "places."), ("h.", "blocks."),
         ("lm_head.", "head."), ("ln_1.", "norm1."), ("ln_2.", "norm2."), ("ln_f.", "norm."),
         ("attn.c_attn.", "qkv."), ("attn.c_proj.", "out."), ("mlp.c_fc.", "up."),
         ("mlp.c_proj.", "down."), ("embedding.", "tokens."), ("lstm.", "recurrent.")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("recipe")
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--order", default="streams", choices=["streams", "random"])
    parser.add_argument("--seeds", type=int, default=1, help="runs of PyTorch, averaged")
    parser.add_argument("--svg")
    parser.add_argument("--json")
    return parser.parse_args()


def read_recipe(path, steps):
    recipe = tomllib.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if steps:
        recipe["run"]["steps"] = steps
    return recipe


def run_weft(options, recipe, folder, *extra):
    command = [options.weft, "run", options.recipe, "--out", str(folder), "--threads",
               str(options.threads), "--set", f"run.steps={recipe['run']['steps']}",
               "--set", f"data.order={options.order}", *extra]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    rounds = [event for event in events if event["kind"] == "round"]
    summary = json.loads((folder / "summary.json").read_text())
    return rounds, summary


def read_checkpoint(folder):
    import numpy
    path = next((folder / "checkpoints").glob("*.safetensors"))
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or name.startswith("optimizer/"):
            continue
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[8 + size + begin:8 + size + end], dtype="<f4")
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def first_parameters(options, recipe):
    with tempfile.TemporaryDirectory() as folder:
        once = json.loads(json.dumps(recipe))
        once["run"]["steps"] = 1
        run_weft(options, once, pathlib.Path(folder), "--set", "optimizer.learning_rate=0", "--set",
                 "run.evaluate=false")
        return read_checkpoint(pathlib.Path(folder))


def open_text(data):
    path = data["path"] if data["name"] == "text" else PLACES[data["name"]]
    raw = pathlib.Path(path).read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    cut = len(raw) // 10 * 9
    while cut < len(raw) and raw[cut] & 0xC0 == 0x80:  # not inside of a character
        cut += 1
    places = {letter: i for i, letter in enumerate(sorted(set(raw.decode("utf-8"))))}
    train, test = ([places[letter] for letter in part.decode("utf-8")]
                   for part in (raw[:cut], raw[cut:]))
    return train, test, len(places)


def rename(name):
    for ours, theirs in NAMES:
        name = name.replace(ours, theirs, 1) if name.startswith(ours) or "." + ours in name else name
    return name


def learning_rate(recipe, step):
    schedule, steps = recipe["schedule"], recipe["run"]["steps"]
    warm = min(schedule.get("warmup_steps", 0), steps // 2)
    rate = recipe["optimizer"]["learning_rate"]
    if step < warm:
        return rate * (step + 1) / warm
    if schedule["name"] == "constant":
        return rate
    assert schedule["name"] == "cosine"
    last = schedule.get("final_fraction", 0.0)
    return rate * (last + (1 - last) * (1 + math.cos(math.pi * (step - warm) / (steps - warm))) / 2)


def build(recipe, vocabulary, start):
    import torch
    import train_models
    train_models.VOCABULARY = vocabulary
    model, data = recipe["model"], recipe["data"]
    if model["name"] == "char_gpt":
        net = train_models.CharGpt(model["layers"], model["embedding_width"], model["heads"],
                                   data["context"])
    else:
        net = train_models.CharLstm(model["embedding_width"], model["hidden_units"],
                                    model["layers"])
    state = {rename(name): torch.from_numpy(values.copy()) for name, values in start.items()}
    net.load_state_dict(state)
    return net


def build_optimizer(recipe, net):
    import torch
    rule = recipe["optimizer"]
    betas = (rule.get("beta1", 0.9), rule.get("beta2", 0.999))
    weights = [p for n, p in net.named_parameters() if n.endswith(("weight", "_l0", "_l1"))
               and p.ndim > 1]
    rest = [p for n, p in net.named_parameters() if not any(p is w for w in weights)]
    decay = rule.get("weight_decay", 0.0)
    groups = [{"params": weights, "weight_decay": decay},
              {"params": rest, "weight_decay":
               decay if rule.get("decay_biases_and_norms", True) else 0.0}]
    make = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[rule["name"]]
    return make(groups, lr=1.0, betas=betas)


def test_loss(net, tokens, context):
    """Mean loss a token over windows that do not overlap."""
    import torch
    from torch.nn import functional
    rows = torch.tensor(tokens)
    count = (len(tokens) - 1) // context
    inputs = rows[:count * context].view(count, context)
    labels = rows[1:count * context + 1].view(count, context)
    total = 0.0
    with torch.no_grad():
        for i in range(0, count, 32):
            logits = net(inputs[i:i + 32])
            total += functional.cross_entropy(logits.flatten(0, 1), labels[i:i + 32].flatten(),
                                              reduction="sum").item()
    return total / (count * context)


def window_starts(order, step, train, recipe, random):
    """[batch, 1]: where the windows of a step begin."""
    import torch
    context, batch = recipe["data"]["context"], recipe["run"]["global_batch"]
    if order == "random":
        return torch.randint(len(train) - context, (batch, 1), generator=random)
    steps = (len(train) - 1) // context // batch  # of an epoch
    return ((torch.arange(batch) * steps + step % steps) * context)[:, None]


def run_torch(recipe, start, texts, seed, order):
    import torch
    from torch.nn import functional
    train, test, vocabulary = texts
    context = recipe["data"]["context"]
    net = build(recipe, vocabulary, start)
    optimizer = build_optimizer(recipe, net)
    random = torch.Generator().manual_seed(seed)
    rows, losses = torch.tensor(train), []
    offsets = torch.arange(context)
    begun = time.monotonic()
    for step in range(recipe["run"]["steps"]):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(recipe, step)
        at = window_starts(order, step, train, recipe, random) + offsets
        loss = functional.cross_entropy(net(rows[at]).flatten(0, 1), rows[at + 1].flatten())
        optimizer.zero_grad()
        loss.backward()
        if recipe["optimizer"].get("clip_norm", 0) > 0:
            torch.nn.utils.clip_grad_norm_(net.parameters(), recipe["optimizer"]["clip_norm"])
        optimizer.step()
        losses.append(loss.item() / math.log(2))
    seconds = time.monotonic() - begun
    return losses, test_loss(net.eval(), test, context) / math.log(2), seconds


def smoothed(values, window):
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return [(sums[i + 1] - sums[max(0, i + 1 - window)]) / (i + 1 - max(0, i + 1 - window))
            for i in range(len(values))]


def svg(title, curves, note):
    """Curves [(name, colour, values)] over steps as a picture."""
    width, height, left, top = 720, 400, 60, 40
    steps = max(len(values) for _, _, values in curves)
    low = min(min(values) for _, _, values in curves)
    low, high = math.floor(low * 5) / 5, math.ceil(max(values[min(20, len(values) - 1)]
                                                       for _, _, values in curves) * 5) / 5
    inner_width, inner_height = width - left - 20, height - top - 50

    def x(step):
        return left + inner_width * step / max(1, steps - 1)

    def y(value):
        return top + inner_height * (high - min(value, high)) / (high - low)

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="13">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{left}" y="24" font-size="16">{title}</text>']
    for i in range(6):
        value, step = low + (high - low) * i / 5, (steps - 1) * i // 5
        lines += [f'<line x1="{left}" x2="{width - 20}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
                  'stroke="#ddd"/>',
                  f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>',
                  f'<text x="{x(step):.1f}" y="{height - 32}" text-anchor="middle">{step}</text>']
    for i, (name, colour, values) in enumerate(curves):
        points = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in enumerate(values)
                          if step % max(1, steps // 600) == 0)
        lines += [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>',
                  f'<text x="{width - 30}" y="{top + 18 + 18 * i}" text-anchor="end" '
                  f'fill="{colour}">{name}</text>']
    lines += [f'<text x="{left}" y="{height - 10}">{note}</text>', "</svg>"]
    return "\n".join(lines) + "\n"


def main():
    options = arguments()
    recipe = read_recipe(options.recipe, options.steps)
    import torch
    torch.set_num_threads(options.threads)
    start = first_parameters(options, recipe)
    with tempfile.TemporaryDirectory() as folder:
        rounds, summary = run_weft(options, recipe, pathlib.Path(folder))
    texts = open_text(recipe["data"])
    runs = [run_torch(recipe, start, texts, seed, options.order)
            for seed in range(1, options.seeds + 1)]
    theirs = sum(run[1] for run in runs) / len(runs)
    ours = summary["test_bits_per_character"]
    result = {"recipe": pathlib.Path(options.recipe).name, "steps": recipe["run"]["steps"],
              "weft_bits_per_character": ours, "pytorch_bits_per_character": theirs,
              "difference": ours / theirs - 1, "order": options.order, "pytorch_runs": [run[1] for run in runs],
              "weft_seconds": sum(event["round_seconds"] for event in rounds),
              "pytorch_seconds": sum(run[2] for run in runs) / len(runs)}
    if options.order == "streams":
        result["largest_difference_of_a_step"] = max(
            abs(event["bits_per_character"] / loss - 1) for event, loss in zip(rounds, runs[0][0]))
    print(json.dumps(result))
    if options.json:
        with open(options.json, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    if options.svg:
        window = max(1, recipe["run"]["steps"] // 60)
        curves = [("Weft", "#c0392b",
                   smoothed([event["bits_per_character"] for event in rounds], window)),
                  ("PyTorch", "#2471a3", smoothed(runs[0][0], window))]
        note = (f"training bits a character by step; held-out text at the end: Weft {ours:.3f}, "
                f"PyTorch {theirs:.3f}")
        pathlib.Path(options.svg).write_text(svg(recipe["run"]["name"], curves, note),
                                             encoding="utf-8")


if __name__ == "__main__":
    main()
