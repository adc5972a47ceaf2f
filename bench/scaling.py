#!/usr/bin/env python3
"""What one member of a view of N sends and receives: measured by scale_sim, printed and drawn.

usage: scaling.py [--program build/release/tests/sim/scale_sim] [--json FILE] [--svg FILE]
                  [--members 16,32,...]

The memberships are the real ones, in virtual time (src/weft/sim/membership/scale.h). The growth law of each line
is fitted as a power of N over the last three sizes. Needs nothing but Python.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

SIZES = "16,32,64,128,256,512,1024,2048,4096"
# Name in the output of scale_sim, text, colour.
LINES = [("quiet_minute", "quiet minute", "#1b7837"),
         ("change_other", "one view change, any other member", "#2166ac"),
         ("change_proposer", "one view change, its proposer", "#b2182b")]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 300, 64, 16, 34, 44


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default="build/release/tests/sim/scale_sim")
    parser.add_argument("--members", default=SIZES)
    parser.add_argument("--json")
    parser.add_argument("--svg")
    return parser.parse_args()


def measure(program, members):
    done = subprocess.run([program, *members.split(",")], capture_output=True, text=True,
                          check=False, timeout=1200)
    if done.returncode != 0:
        sys.exit(f"{program} failed: {done.stderr or done.stdout}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def total(row, line, unit):
    return row[line][f"{unit}_sent"] + row[line][f"{unit}_received"]


def exponent(rows, line, unit):
    """The slope of log(total) over log(N), by least squares over the last three sizes."""
    points = [(math.log(row["members"]), math.log(max(1, total(row, line, unit))))
              for row in rows[-3:]]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0.0


def print_table(rows):
    print("| members | " + " | ".join(f"{text}: messages, KiB" for _, text, _ in LINES) + " |")
    print("|---|" + "---|" * len(LINES))
    for row in rows:
        cells = [f"{total(row, line, 'messages')}, {total(row, line, 'bytes') / 1024:.1f}"
                 for line, _, _ in LINES]
        print(f"| {row['members']} | " + " | ".join(cells) + " |")
    for unit in ("messages", "bytes"):
        laws = [f"{text}: N^{exponent(rows, line, unit):.2f}" for line, text, _ in LINES]
        print(f"{unit}: " + "; ".join(laws))


def print_proposer(rows):
    """What the proposer of a change of one member sends: with each doubling of the members twice as much."""
    print("| members | one notice with all members, bytes | the proposer sends, KiB | for each member, bytes | "
          "times the size before | each other member receives, KiB |")
    print("|---|---|---|---|---|---|")
    before = None
    for row in rows:
        sent = row["change_proposer"]["bytes_sent"]
        times = f"{sent / before['change_proposer']['bytes_sent']:.2f} for " \
                f"{row['members'] / before['members']:.0f} times the members" if before else ""
        print(f"| {row['members']} | {row['notice_bytes']} | {sent / 1024:.1f} | {sent / row['members']:.0f} | "
              f"{times} | {row['change_other']['bytes_received'] / 1024:.1f} |")
        before = row


def panel(rows, unit, top):
    """One plot with both axes logarithmic."""
    sizes = [row["members"] for row in rows]
    values = [max(1, total(row, line, unit)) for row in rows for line, _, _ in LINES]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x_of(size):
        first, last = math.log(sizes[0]), math.log(sizes[-1])
        return LEFT + (math.log(size) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y_of(value):
        share = (math.log10(value) - low) / (high - low)
        return top + HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    out = [f'<text x="{LEFT}" y="{top + 20}" font-weight="bold">{unit} of one member, sent and '
           "received</text>"]
    for power in range(low, high + 1):
        y = y_of(10 ** power)
        label = f"{10 ** power:,}"
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" '
                   'stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for size in sizes:
        out.append(f'<text x="{x_of(size):.1f}" y="{top + HEIGHT - BOTTOM + 18}" '
                   f'text-anchor="middle">{size}</text>')
    out.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{top + HEIGHT - 8}" '
               'text-anchor="middle">members of the view</text>')
    for line, _, colour in LINES:
        points = " ".join(f"{x_of(row['members']):.1f},{y_of(max(1, total(row, line, unit))):.1f}"
                          for row in rows)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return out


def draw(rows, path):
    height = 2 * HEIGHT + 24 * len(LINES) + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    out += panel(rows, "messages", 0)
    out += panel(rows, "bytes", HEIGHT)
    for place, (line, text, colour) in enumerate(LINES):
        y = 2 * HEIGHT + 20 + 24 * place
        law = f"messages N^{exponent(rows, line, 'messages'):.2f}, " \
              f"bytes N^{exponent(rows, line, 'bytes'):.2f}"
        out.append(f'<line x1="{LEFT}" y1="{y - 4}" x2="{LEFT + 28}" y2="{y - 4}" '
                   f'stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{LEFT + 36}" y="{y}">{text}: {law}</text>')
    out.append("</svg>")
    pathlib.Path(path).write_text("\n".join(out) + "\n", encoding="utf-8")


def main():
    options = arguments()
    rows = measure(options.program, options.members)
    print_table(rows)
    print()
    print_proposer(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.svg:
        draw(rows, options.svg)


if __name__ == "__main__":
    main()
