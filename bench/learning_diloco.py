#!/usr/bin/env python3
"""Local steps (DiLoCo) against an exchange in every step: what both reach and what they send.

usage: learning_diloco.py [--weft PROGRAM] [--tasks fashion,text] [--forms NAME;...] [--seeds N]
                          [--peers N] [--steps N] [--out FOLDER] [--json FILE] [--svg FILE]

Each run is a group of real processes on this machine, linked by TLS, with the same model, data,
samples and inner optimizer; only [local] and group.wire differ. Bytes are those that each process
counted on its connections, from its start to its end: the state for newcomers, heartbeats and the
evaluation included. A run that is in FOLDER already is not run again, so a long list can be cut
short and taken up. Forms are named in FORMS, several between semicolons. Needs only Python; --svg
draws the picture.
"""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RECIPES = pathlib.Path(__file__).resolve().parent.parent / "recipes"
TASKS = {"fashion": ("fashion_mnist_diloco.toml", "Fashion-MNIST, perceptron"),
         "text": ("text_char_gpt_diloco.toml", "char-GPT, Jargon File")}
EVERY_STEP = ["local.steps=1"]
FORMS = {
    "every step": EVERY_STEP,
    "every step, bf16": EVERY_STEP + ["group.wire=bf16"],
    "every step, int8": EVERY_STEP + ["group.wire=int8"],
    "H=50": [],
    "H=50, bf16": ["group.wire=bf16"],
    "H=50, int8": ["group.wire=int8"],
    "H=50, overlapped": ["local.overlap=true", "local.outer_rate=0.4", "local.outer_momentum=0.5"],
}
COLOURS = ["#1f77b4", "#17becf", "#9467bd", "#d62728", "#ff7f0e", "#bcbd22", "#2ca02c"]
# Processes that share two cores are late now and then: nobody is to be taken for lost.
PATIENCE = ["group.suspicion_timeout_ms=60000", "group.start_timeout_s=300",
            "group.discovery=off"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--tasks", default="fashion,text")
    parser.add_argument("--forms", default=";".join(FORMS), help="names between semicolons")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--peers", type=int, default=8)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--out")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    return parser.parse_args()


def folder_of(base, task, form, seed):
    name = "".join(letter if letter.isalnum() else "_" for letter in f"{task} {form} {seed}")
    return base / name


def finished(peer):
    summary = peer / "summary.json"
    return summary.exists() and json.loads(summary.read_text())["status"] == "finished"


def run(options, base, task, form, seed):
    """The summaries of all peers, and the round events of the first."""
    out = folder_of(base, task, form, seed)
    peers = [out] + [out / f"peer-{number}" for number in range(2, options.peers + 1)]
    if not all(finished(peer) for peer in peers):
        shutil.rmtree(out, ignore_errors=True)
        settings = FORMS[form] + PATIENCE + [f"run.seed={seed}",
                                             f"group.start_members={options.peers}"]
        if options.steps:
            settings.append(f"run.steps={options.steps}")
        command = [options.weft, "run", str(RECIPES / TASKS[task][0]), "--out", str(out),
                   "--peers", str(options.peers), "--threads", "1", "--listen", "127.0.0.1:0"]
        for setting in settings:
            command += ["--set", setting]
        begun = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=3600)
        print(f"{task}: {form}, seed {seed}: {time.monotonic() - begun:.0f} s", file=sys.stderr,
              flush=True)
    summaries = [json.loads((peer / "summary.json").read_text()) for peer in peers]
    hashes = {summary["state_hash"] for summary in summaries}
    assert len(hashes) == 1, f"{out}: {len(hashes)} different states"
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    return summaries, [event for event in events if event["kind"] == "round"]


def measure(options, base, task, form):
    """What one form reaches on one task, over the seeds."""
    runs = [run(options, base, task, form, seed) for seed in range(1, options.seeds + 1)]
    first = [summaries[0] for summaries, _ in runs]
    sent = [summary["bytes_sent"] for summaries, _ in runs for summary in summaries]
    steps = first[0]["steps"]
    row = {"task": task, "form": form, "peers": options.peers, "steps": steps,
           "rounds": first[0]["rounds"], "seeds": options.seeds,
           "bytes_sent_a_member": statistics.mean(sent),
           "samples_per_second": statistics.mean(one["samples_per_second"] for one in first),
           "test_loss": statistics.mean(one["test_loss"] for one in first)}
    for key in ["test_accuracy", "test_bits_per_character"]:
        values = [one[key] for one in first if one.get(key) is not None]
        if values:
            row[key] = statistics.mean(values)
            row[key + "_each"] = values
    rounds = runs[0][1]
    row["curve"] = [(event["bytes_sent"], event["loss"]) for event in rounds]
    return row


def table(rows):
    """One task's rows as Markdown, against its first."""
    base = rows[0]
    text = "bits" if "test_bits_per_character" in base else "accuracy"
    lines = [f"| exchange | test {text} | against every step | MB sent a member | times fewer |",
             "|---|---|---|---|---|"]
    for row in rows:
        if text == "bits":
            value = row["test_bits_per_character"]
            shown = f"{value:.4f}"
            apart = f"{100 * (value / base['test_bits_per_character'] - 1):+.2f} %"
        else:
            value = 100 * row["test_accuracy"]
            shown = f"{value:.2f} %"
            apart = f"{value - 100 * base['test_accuracy']:+.2f} points"
        factor = base["bytes_sent_a_member"] / row["bytes_sent_a_member"]
        lines.append(f"| {row['form']} | {shown} | {apart} | "
                     f"{row['bytes_sent_a_member'] / 1e6:.1f} | {factor:.1f} |")
    return "\n".join(lines)


def smoothed(values, window):
    return [statistics.mean(values[max(0, i + 1 - window):i + 1]) for i in range(len(values))]


def panel(left, title, rows):
    """Training loss over the bytes that a member has sent, logarithmic."""
    width, height, top, bottom = 440, 400, 40, 350
    curves = []
    for row in rows:
        window = max(1, len(row["curve"]) // 40)
        losses = smoothed([loss for _, loss in row["curve"]], window)
        points = [(max(sent, 1), loss) for (sent, _), loss in zip(row["curve"], losses)]
        curves.append(points)
    low_x = math.floor(math.log10(min(points[0][0] for points in curves)))
    high_x = math.ceil(math.log10(max(points[-1][0] for points in curves)))
    low_y = min(loss for points in curves for _, loss in points) * 0.9
    high_y = max(points[min(2, len(points) - 1)][1] for points in curves)

    def x(sent):
        return left + 50 + (width - 80) * (math.log10(sent) - low_x) / (high_x - low_x)

    def y(loss):
        return bottom - (bottom - top) * (min(loss, high_y) - low_y) / (high_y - low_y)

    lines = [f'<text x="{left + 50}" y="24" font-size="15">{title}</text>']
    for power in range(low_x, high_x + 1):
        label = {5: "100 kB", 6: "1 MB", 7: "10 MB", 8: "100 MB", 9: "1 GB"}.get(power, "")
        lines += [f'<line x1="{x(10 ** power):.1f}" x2="{x(10 ** power):.1f}" y1="{top}" '
                  f'y2="{bottom}" stroke="#ddd"/>',
                  f'<text x="{x(10 ** power):.1f}" y="{bottom + 18}" text-anchor="middle">'
                  f'{label}</text>']
    for i in range(5):
        value = low_y + (high_y - low_y) * i / 4
        lines += [f'<line x1="{left + 50}" x2="{left + width - 30}" y1="{y(value):.1f}" '
                  f'y2="{y(value):.1f}" stroke="#ddd"/>',
                  f'<text x="{left + 44}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}'
                  '</text>']
    for i, (row, points) in enumerate(zip(rows, curves)):
        colour = COLOURS[list(FORMS).index(row["form"])]
        path = " ".join(f"{x(sent):.1f},{y(loss):.1f}" for sent, loss in points)
        lines += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
                  f'<text x="{left + width - 34}" y="{top + 14 + 16 * i}" text-anchor="end" '
                  f'fill="{colour}">{row["form"]}</text>']
    lines.append(f'<text x="{left + 50}" y="{height - 14}">training loss over bytes sent a member'
                 '</text>')
    return lines


def svg(by_task):
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {440 * len(by_task)} 400" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{440 * len(by_task)}" height="400" fill="white"/>']
    for i, (task, rows) in enumerate(by_task.items()):
        lines += panel(440 * i, TASKS[task][1], rows)
    return "\n".join(lines + ["</svg>"]) + "\n"


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        base = pathlib.Path(options.out or temporary)
        base.mkdir(parents=True, exist_ok=True)
        by_task = {}
        for task in options.tasks.split(","):
            by_task[task] = [measure(options, base, task, form)
                             for form in options.forms.split(";")]
            print(f"\n{TASKS[task][1]}, {options.peers} peers, {options.seeds} seeds\n")
            print(table(by_task[task]), flush=True)
    if options.svg:
        pathlib.Path(options.svg).write_text(svg(by_task), encoding="utf-8")
    if options.json:
        rows = [{key: value for key, value in row.items() if key != "curve"}
                for rows in by_task.values() for row in rows]
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
