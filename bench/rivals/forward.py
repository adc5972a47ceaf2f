#!/usr/bin/env python3
"""Times forward passes of `weft bench forward` and of ONNX Runtime, in turn, and prints the ratios.

Weft writes each model as ONNX with a batch of inputs and its outputs; ONNX Runtime runs that file on
those inputs, through its C interface (onnxruntime_forward.cpp), and the outputs must agree to 1e-4 of
the largest. Neither side's time contains its start: it is the median of at least 10 passes. Each run
is a process of its own with a clean environment, the two sides take turns, and the medians over all
runs are compared. The library comes from the npm package onnxruntime-node, which is installed in a
temporary folder unless --onnxruntime names one that has it. With --check the exit status is 1 unless
the geometric mean of the ratios is at most 0.75 and no ratio exceeds 0.95.

    bench/rivals/forward.py --weft build/release/weft --json forward.json --markdown forward.md

The exported files compute whole texts and have no inputs for cached keys and values, so the second
table, of tokens per second with a cache, has only Weft's figures.

With --isa avx2 both sides run the code that they have for processors with AVX2 alone: Weft by
WEFT_ISA, ONNX Runtime by what older_processor.py tells it.
"""

import argparse
import array
import ast
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

from flops import forward_flops
from machine import (ISAS, busy, clean_environment, geometric_mean, measured_peaks, peaks_text,
                     processor, run_json, share_of_peak, share_text)
from older_processor import without_avx512
from results import finish

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "onnxruntime-node@1.30.0"
MODELS = ("mlp", "cnn", "lenet", "resnet9", "resnet18", "gpt4x128", "gpt6x384", "llama4x128",
          "lstm2x256")
TEXT_MODELS = ("gpt4x128", "gpt6x384", "llama4x128", "lstm2x256")
TEXTS_AT_ONCE = (1, 16)
RATIO_MEAN_MAX = 0.75
RATIO_MAX = 0.95
DIFFERENCE_MAX = 1e-4
RUN_SECONDS_MAX = 600


def find_library(folder):
    """libonnxruntime.so.1 of this machine's architecture, somewhere below `folder`."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    found = sorted(path for path in pathlib.Path(folder).rglob("libonnxruntime.so*")
                   if path.parent.name == machine or "linux" not in path.parts)
    if not found:
        sys.exit(f"{folder}: expected libonnxruntime.so.1 for {machine} below this folder")
    return str(found[0])


def install_runtime(folder):
    subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
                    folder, PACKAGE], check=True, stdout=subprocess.DEVNULL)
    return folder


def build_driver(folder, isa):
    program = str(pathlib.Path(folder) / "onnxruntime_forward")
    older = ["-DOLDER_PROCESSOR", str(HERE / "older_processor.cpp")] if isa else []
    subprocess.run([os.environ.get("CXX", "c++"), "-O2", "-std=c++20", *older,
                    str(HERE / "onnxruntime_forward.cpp"), "-o", program, "-ldl"], check=True)
    return program


def read_npy(path):
    """(shape, type, bytes of the values) of a file as `weft` writes it."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:begin].decode())
    return header["shape"], {"<f4": "f32", "<i8": "i64"}[header["descr"]], data[begin:]


class Runtime:
    """The other side: its library and the program that times it."""

    def __init__(self, options, folder):
        where = options.onnxruntime or install_runtime(folder)
        self.isa, self.library = options.isa, find_library(where)
        if self.isa:
            self.library = without_avx512(self.library, folder)
        self.program = build_driver(folder, self.isa)

    def run(self, folder, threads, seconds):
        shape, kind, values = read_npy(folder / "input.npy")
        (folder / "input.bin").write_bytes(values)
        timed = run_json([self.program, self.library, str(folder / "model.onnx"), str(threads),
                          str(seconds), kind, str(folder / "input.bin"),
                          str(folder / "output.bin"), *map(str, shape)],
                         clean_environment(threads), RUN_SECONDS_MAX)
        if self.isa and timed["answers"] == 0:
            sys.exit("ONNX Runtime did not ask what the processor can do: --isa has no effect on it")
        return timed


def run_weft(options, name, batch, threads, *more):
    return run_json([options.weft, "bench", "forward", "--model", name, "--batch", str(batch),
                     "--threads", str(threads), "--seconds", str(options.seconds), "--json", *more],
                    clean_environment(threads, options.isa), RUN_SECONDS_MAX)


def difference(folder):
    """The largest one between the two sides' outputs, relative to the largest output."""
    ours, theirs = array.array("f"), array.array("f")
    ours.frombytes(read_npy(folder / "output.npy")[2])
    theirs.frombytes((folder / "output.bin").read_bytes())
    if len(ours) != len(theirs):
        sys.exit(f"expected {len(ours)} outputs from ONNX Runtime, got {len(theirs)}")
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(1.0, *map(abs, ours))


def compare(options, runtime, name, batch, threads, peak):
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(prefix="weft-forward-") as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        for _ in range(options.runs):
            ours.append(run_weft(options, name, batch, threads, "--write", str(folder)))
            theirs.append(runtime.run(folder, threads, options.seconds))
        apart = difference(folder)
    if not apart <= DIFFERENCE_MAX:
        sys.exit(f"{name}: the outputs differ by {apart:.1e} of the largest, at most "
                 f"{DIFFERENCE_MAX:.0e} is expected")
    row = {"model": name, "batch": ours[0]["batch"], "threads": threads, "runs": options.runs,
           "onnxruntime_version": theirs[0]["version"], "difference": apart,
           "empty_call_us": theirs[0]["empty_call_us"]}
    for side, results in (("weft", ours), ("onnxruntime", theirs)):
        row[side + "_median_ms"] = statistics.median(r["median_ms"] for r in results)
        row[side + "_p10_ms"] = statistics.median(r["p10_ms"] for r in results)
        row[side + "_share_of_peak"] = share_of_peak(forward_flops(name, row["batch"]),
                                                     row[side + "_median_ms"], peak)
    for key in ("median", "p10"):
        row["ratio_" + key] = round(row[f"weft_{key}_ms"] / row[f"onnxruntime_{key}_ms"], 3)
    return row


def generation(options, name, texts, threads):
    rates = [run_weft(options, name, texts, threads, "--cached")["tokens_per_second"]
             for _ in range(options.runs)]
    return {"model": name, "texts": texts, "threads": threads,
            "weft_tokens_per_second": round(statistics.median(rates))}


def means(rows):
    """Geometric means of the ratios of medians: over all rows, over single inputs, over batches."""
    kinds = {"all": rows, "single": [r for r in rows if r["batch"] == 1],
             "batches": [r for r in rows if r["batch"] > 1]}
    return {kind: round(geometric_mean([r["ratio_median"] for r in some]), 3)
            for kind, some in kinds.items() if some}


def misses(rows):
    """The targets that do not hold, one text each."""
    mean = means(rows)["all"]
    result = [f"geometric mean: {mean}, at most {RATIO_MEAN_MAX}"] if mean > RATIO_MEAN_MAX else []
    return result + [f"{r['model']}, batch {r['batch']}, with {r['threads']} threads: "
                     f"{r['ratio_median']} of the time, at most {RATIO_MAX}"
                     for r in rows if r["ratio_median"] > RATIO_MAX]


def ms_text(milliseconds):
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def markdown(rows):
    lines = ["| model | batch | threads | Weft ms | ONNX Runtime ms | ratio | ratio of the 10 % | "
             "Weft of the peak | ONNX Runtime of the peak |", "|---" * 9 + "|"]
    for r in rows:
        lines.append(f"| {r['model']} | {r['batch']} | {r['threads']} | {ms_text(r['weft_median_ms'])} "
                     f"| {ms_text(r['onnxruntime_median_ms'])} | {r['ratio_median']:.2f} "
                     f"| {r['ratio_p10']:.2f} | {share_text(r['weft_share_of_peak'])} "
                     f"| {share_text(r['onnxruntime_share_of_peak'])} |")
    for kind, mean in means(rows).items():
        lines.append(f"| geometric mean, {kind} | | | | | {mean:.2f} | | | |")
    return "\n".join(lines)


def markdown_generation(rows):
    lines = ["| model, with a cache | texts | threads | Weft tokens/s |", "|---" * 4 + "|"]
    return "\n".join(lines + [f"| {r['model']} | {r['texts']} | {r['threads']} "
                              f"| {r['weft_tokens_per_second']:,} |" for r in rows])


def heading(rows, peaks, isa):
    worst = max(rows, key=lambda r: r["difference"])
    return (f"{processor(isa)}; {peaks_text(peaks)}. "
            f"ONNX Runtime {rows[0]['onnxruntime_version']}; a call of its interface takes "
            f"{rows[0]['empty_call_us']:.3f} us. The outputs differ by at most "
            f"{worst['difference']:.1e} ({worst['model']}).")


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default="build/release/weft", help="the program to measure")
    parser.add_argument("--onnxruntime", help=f"a folder with the library; else npm gets {PACKAGE}")
    parser.add_argument("--roofline", default="build/release/bench/roofline",
                        help="the program that measures the processor's peak")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--batches", type=numbers, default=[1, 0],
                        help="e.g. 1,16; 0 is that of a training step")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="e.g. 1,2")
    parser.add_argument("--runs", type=int, default=3, help="runs of each side")
    parser.add_argument("--seconds", type=float, default=1, help="of each run, at least 10 passes")
    parser.add_argument("--isa", choices=ISAS, help="what both sides may use of the processor")
    parser.add_argument("--busy", type=int, default=0,
                        help="programs that compute without end meanwhile")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--markdown", help="file for the tables")
    return parser.parse_args()


def measure(options, peaks):
    rows, texts = [], []
    with tempfile.TemporaryDirectory(prefix="weft-onnxruntime-") as folder:
        runtime = Runtime(options, folder)
        for name in options.models:
            for batch in options.batches:
                for threads in options.threads:
                    rows.append(compare(options, runtime, name, batch, threads, peaks[threads]))
                    print(json.dumps(rows[-1]), flush=True)
    for name in (name for name in options.models if name in TEXT_MODELS):
        for count in TEXTS_AT_ONCE:
            for threads in options.threads:
                texts.append(generation(options, name, count, threads))
                print(json.dumps(texts[-1]), flush=True)
    return rows, texts


def main():
    options = parse_arguments()
    peaks = measured_peaks(options.roofline, options.threads, options.isa)
    with busy(options.busy):
        rows, texts = measure(options, peaks)
    text = "\n\n".join([heading(rows, peaks, options.isa), markdown(rows)]
                       + ([markdown_generation(texts)] if texts else []))
    print(text)
    missed = misses(rows)
    report = {"machine": processor(options.isa), "peaks_gflops": peaks,
              "geometric_means": means(rows), "missed": missed, "rows": rows, "generation": texts}
    finish(options, report, text, missed)


if __name__ == "__main__":
    main()
