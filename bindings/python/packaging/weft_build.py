"""The build backend of pyproject.toml (PEP 517): CMake compiles, this packs.

The wheel holds the Python files of bindings/python/weft and the stripped native modules. CMake
works in build/wheel, or in the tree that WEFT_BUILD_DIR names: one that was configured with
-DWEFT_PYTHON=ON for the same Python, as build/release after ./test, compiles nothing anew.

Failures: RuntimeError with what to do; the compiler's words are shown as they come.
"""
import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings" / "python" / "weft"
MODULES = ("_core", "_swarm")
TARGETS = ("weft_python", "weft_python_swarm")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is packed


def project():
    """The table [project] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def metadata():
    """The text of METADATA."""
    facts = project()
    lines = ["Metadata-Version: 2.1", f"Name: {facts['name']}", f"Version: {facts['version']}",
             f"Summary: {facts['description']}", f"License: {facts['license']['text']}",
             f"Requires-Python: {facts['requires-python']}"]
    lines += [f"Requires-Dist: {name}" for name in facts["dependencies"]]
    return "\n".join(lines) + "\n"


def compile_modules():
    """The folder of the compiled modules."""
    given = os.environ.get("WEFT_BUILD_DIR")
    folder = pathlib.Path(given).resolve() if given else ROOT / "build" / "wheel"
    if not given:
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release",
                        "-DWEFT_PYTHON=ON", "-DWEFT_TESTS=OFF",
                        f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
    elif not (folder / "CMakeCache.txt").exists():
        raise RuntimeError(f"WEFT_BUILD_DIR: {folder} is no tree that CMake has configured")
    subprocess.run(["cmake", "--build", folder, "--parallel", "--target", *TARGETS], check=True)
    return folder / "python" / "weft"


def package_files(compiled, scratch):
    """{name in the wheel: file}: the Python files, and stripped copies of the modules."""
    files = {f"weft/{path.relative_to(PACKAGE).as_posix()}": path
             for path in sorted(PACKAGE.rglob("*"))
             if path.suffix in (".py", ".pyi") or path.name == "py.typed"}
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for module in MODULES:
        source = compiled / (module + suffix)
        if not source.exists():
            raise RuntimeError(f"{source} is not there: was the tree configured with -DWEFT_PYTHON="
                               f"ON and -DPython3_EXECUTABLE={sys.executable}?")
        stripped = pathlib.Path(scratch) / source.name
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped, source], check=True)
        files[f"weft/{source.name}"] = stripped
    return files


def pack(files, wheel_directory):
    """Writes the wheel of `files` and gives its name."""
    facts = project()
    stem = f"{facts['name']}-{facts['version']}"
    contents = {name: path.read_bytes() for name, path in files.items()}
    info = {"METADATA": metadata().encode(),
            "WHEEL": (f"Wheel-Version: 1.0\nGenerator: weft_build\nRoot-Is-Purelib: false\n"
                      f"Tag: {tag()}\n").encode()}
    for name in ("LICENSE", "NOTICE"):
        info[f"licenses/{name}"] = (ROOT / name).read_bytes()
    contents |= {f"{stem}.dist-info/{name}": data for name, data in info.items()}
    record = [f"{name},sha256={digest(data)},{len(data)}" for name, data in contents.items()]
    record.append(f"{stem}.dist-info/RECORD,,")
    contents[f"{stem}.dist-info/RECORD"] = ("\n".join(record) + "\n").encode()
    wheel = f"{stem}-{tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            file.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


# --- The hooks.

def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as scratch:
        return pack(package_files(compile_modules(), scratch), wheel_directory)


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    """What git has, below one folder."""
    facts = project()
    stem = f"{facts['name']}-{facts['version']}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(pathlib.Path(sdist_directory) / f"{stem}.tar.gz", "w:gz") as file:
        for name in filter(None, listed.stdout.decode().split("\0")):
            file.add(ROOT / name, f"{stem}/{name}", recursive=False)
        with tempfile.NamedTemporaryFile("w") as facts_file:
            facts_file.write(metadata())
            facts_file.flush()
            file.add(facts_file.name, f"{stem}/PKG-INFO")
    return f"{stem}.tar.gz"
