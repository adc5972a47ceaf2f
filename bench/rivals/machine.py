"""Facts about the machine that comparisons state, and the environment in which both sides run."""

import contextlib
import ctypes
import json
import math
import os
import pathlib
import platform
import re
import subprocess
import sys

# What a shell may have set to make OpenBLAS choose old kernels or a number of threads of its own.
UNWANTED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND")
# Debian keeps the variants of OpenBLAS side by side; PyTorch uses OpenMP, so its BLAS should too.
OPENMP_BLAS = pathlib.Path("/usr/lib/x86_64-linux-gnu/openblas-openmp")
INSTRUCTION_SETS = ("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16",
                    "amx_tile", "asimd", "asimddp", "sve", "bf16", "i8mm")
# What a comparison may be restricted to; most processors in use have AVX2 alone.
ISAS = ("avx2",) if platform.machine() == "x86_64" else ()
REFERENCE_BLAS = ("expected an optimised BLAS for PyTorch, got the reference BLAS {}, which is many "
                  "times slower; run: sudo apt-get install libopenblas0-openmp")


def cpu_fields():
    """The first processor's entries in /proc/cpuinfo, empty where there is no such file."""
    path = pathlib.Path("/proc/cpuinfo")
    text = path.read_text().split("\n\n")[0] if path.exists() else ""
    pairs = [line.split(":", 1) for line in text.splitlines() if ":" in line]
    return {key.strip(): value.strip() for key, value in pairs}


def instruction_sets():
    fields = cpu_fields()
    flags = fields.get("flags", fields.get("Features", "")).split()
    return [name for name in INSTRUCTION_SETS if name in flags]


def processor(isa=None):
    """The model, its number of processors and what its vectors can do."""
    fields = cpu_fields()
    name = fields.get("model name", platform.processor() or platform.machine())
    if "cpu family" in fields:
        name += f" (family {fields['cpu family']}, model {fields.get('model', '?')})"
    restricted = f"; of these {isa} alone" if isa else ""
    return f"{name}, {os.cpu_count()} processors, {' '.join(instruction_sets())}{restricted}"


@contextlib.contextmanager
def busy(count):
    """Meanwhile so many programs compute without end, as others do on a machine that is shared."""
    endless = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in endless:
            program.kill()
            program.wait()


def clean_environment(threads, isa=None):
    """With an instruction set of ISAS, Weft, oneDNN and PyTorch use that one."""
    env = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    if isa:
        env["WEFT_ISA"] = env["ATEN_CPU_CAPABILITY"] = isa
        env["DNNL_MAX_CPU_ISA"] = env["ONEDNN_MAX_CPU_ISA"] = isa.upper()
    env["OMP_NUM_THREADS"] = env["OPENBLAS_NUM_THREADS"] = str(threads)
    return env


def torch_environment(threads, isa=None):
    """The same, and its BLAS."""
    env = clean_environment(threads, isa)
    env["LD_LIBRARY_PATH"] = str(OPENMP_BLAS)
    if isa == "avx2":
        env["OPENBLAS_CORETYPE"] = "Haswell"
    elif "avx512f" in instruction_sets():
        # OpenBLAS takes its AVX2 kernels on processors that it does not know yet.
        env["OPENBLAS_CORETYPE"] = "SkylakeX"
    return env


def run_json(command, env, timeout=None):
    """The JSON object that a program prints last; ends this one if that one fails."""
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True,
                          timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def measured_peaks(roofline, threads, isa=None):
    """GFLOP/s of f32 multiply-adds by number of threads, as bench/roofline measures them."""
    if not pathlib.Path(roofline).exists():
        sys.exit(f"{roofline}: expected the program that measures the processor's peak; "
                 "run: ninja -C build/release roofline")
    peaks = {}
    for count in threads:
        done = subprocess.run([roofline, str(count), "no such kernel"], check=True,
                              env=clean_environment(count, isa), capture_output=True, text=True)
        peaks[count] = float(re.search(r"peak ([\d.]+) GFLOP/s", done.stdout).group(1))
    return peaks


def peaks_text(peaks):
    return ("measured peak of f32 multiply-adds: "
            + ", ".join(f"{peak:.0f} GFLOP/s with {threads} thread{'s' if threads > 1 else ''}"
                        for threads, peak in peaks.items()))


def share_of_peak(flops, milliseconds, peak):
    """None on processors whose peak roofline cannot measure."""
    return round(flops / milliseconds / 1e6 / peak, 3) if peak > 0 else None


def share_text(share):
    return "-" if share is None else f"{100 * share:.0f} %"


def geometric_mean(values):
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def openblas_kernels(path):
    """The processor whose kernels a loaded OpenBLAS has chosen, such as Zen or SkylakeX."""
    library = ctypes.CDLL(path)
    library.openblas_get_corename.restype = ctypes.c_char_p
    return library.openblas_get_corename().decode()


def torch_facts(python, threads=1, isa=None):
    """Version, instruction set and BLAS of that Python's PyTorch; ends this program if the BLAS is
    the reference implementation, with which no comparison is fair."""
    facts = run_json([python, os.path.abspath(__file__)], torch_environment(threads, isa))
    if facts["reference_blas"]:
        sys.exit(REFERENCE_BLAS.format(facts["reference_blas"]))
    return facts


def torch_text(facts):
    return f"PyTorch {facts['version']} with {facts['instructions']}, BLAS: {facts['blas']}"


def loaded_torch_facts():
    """The same of this process; if no better BLAS is loaded, the file of the reference BLAS."""
    import torch

    torch.randn(64, 64) @ torch.randn(64, 64)
    config = torch.__config__.show()
    found = re.search(r"CPU capability usage: (\S+)", config)
    maps = pathlib.Path("/proc/self/maps").read_text().split()
    files = sorted({str(pathlib.Path(path).resolve()) for path in maps
                    if re.search(r"/lib(ref|open|cblas)?blas|/libmkl|/libblis|/libatlas", path)})
    good = [path for path in files if re.search("libopenblas|libmkl|libblis|libatlas", path)]
    # A libblas.so in a folder of none of these is the reference: it comes first if it is loaded.
    plain = [path for path in files if re.search(r"/lib(ref)?blas\.so", path)
             and not re.search("openblas|mkl|blis|atlas", path)]
    names = [pathlib.Path(path).name for path in good]
    names += [f"kernels of {openblas_kernels(path)}" for path in good if "libopenblas" in path]
    linked = re.search(r"BLAS_INFO=(mkl|open)", config)
    if not names and linked:
        names = [f"{linked.group(1)}, linked into PyTorch"]
    return {"version": torch.__version__, "instructions": found.group(1) if found else "unknown",
            "blas": ", ".join(names) or "unknown", "reference_blas": plain[0] if plain else ""}


if __name__ == "__main__":
    print(json.dumps(loaded_torch_facts()))
