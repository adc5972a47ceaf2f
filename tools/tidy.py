#!/usr/bin/env python3
"""Holds the layout rules of this repository that no compiler checks; prints FILE:LINE: what.

usage: tools/tidy.py [--root DIR] [--headers [--minutes M]]
  --headers   instead compile alone every header of src/ that is not the first include of its own
              source: those compile_sources.py compiles alone; and all headers of all folders in one
              source, where one name for two things shows (needs the build's packages). After M
              minutes the others are left: those that changed come first, then an order drawn from
              the commit

The rules: the arrows of layers.txt, in sources and in CMake; includes by full path; headers that
begin with a comment and then `#pragma once`; no word of BANNED outside its folders; sizes of files,
functions and folders; headers of libraries that take long to compile stay inside one folder; no
words of unfinished work; a test program in every folder; tests that can fail, and no sleeps in
disguise (test_rules.py); plain language in comments and pages (prose_rules.py); what the documents
link to, and the paths they name, exist. A line may break a rule on words if it says why:
`// tidy: allow WORD: reason`.
Ends with "N passed, N failed", one check a file; exit code 1 if any
failed. Needs nothing but Python's standard library.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import time

import folder_sizes
from layers import Layers, place_of
import prose_rules
import test_rules
import turns

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
LINE_CHARACTERS_MAX = 100

# Code outside src/weft: tests of whole programs, fuzz targets, benches.
PROGRAMS = "programs"
# (name, what to look for in code without comments and strings, folders that may, what to use).
BANNED = [
    ("rand", r"(?<![\w.>])(?:std::)?(?:rand\s*\(\s*\)|srand\s*\()", (), "weft::Rng"),
    ("time", r"(?<![\w.>:])(?:std::|::)?time\s*\(", (), "weft::Clock"),
    ("clock", r"\b(?:system|steady|high_resolution)_clock::now\b", ("base", PROGRAMS),
     "weft::Clock"),
    ("cout", r"\bstd::cout\b", ("app", PROGRAMS), "a return value, or log()"),
    ("printf", r"(?<![\w.>:])(?:std::)?printf\s*\(", ("app", PROGRAMS), "a return value, or log()"),
    ("sleep", r"\bsleep_(?:for|until)\b|(?<![\w.>])(?:u|nano)?sleep\s*\(", ("base",),
     "a deadline and an event"),
    ("getenv", r"\bgetenv\b", ("app", PROGRAMS), "an option passed in"),
    ("exit", r"(?<![\w.>])(?:std::|::)?(?:_|quick_)?exit\s*\(|\babort\s*\(\s*\)\s*;",
     ("base", "app", PROGRAMS), "a Status, or WEFT_CHECK"),
    ("new", r"\bnew\b", (), "std::make_unique"),
    ("typedef", r"\btypedef\b", (), "using"),
    ("delete", r"(?<!= )(?<!=)(?<!operator )\bdelete\b(?! this)", (), "an owner"),
    ("thread", r"\bstd::(?:mutex|recursive_mutex|shared_mutex|timed_mutex|atomic\w*|j?thread|"
               r"condition_variable\w*|async|future|promise|counting_semaphore|latch|barrier|"
               r"lock_guard|unique_lock|scoped_lock)\b", ("base",), "weft/base/thread.h"),
]
# A `new` that an owner takes in the same breath, or a static that is never destroyed.
OWNED_NEW = re.compile(r"_ptr<.*>[^;(]*\(\s*new\b|= \*new\b|\boperator new\b")
# Functions that a source defines for itself, at the margin as clang-format puts them.
OWN_FUNCTION = re.compile(r"^(?:static |inline |constexpr |\[\[\w+\]\] )*[A-Za-z_][\w:<>,*& ]*?[\s*&](\w+)\(")
# Headers of libraries that take a second or more to compile. A header of ours that includes one, or
# that includes such a header, may be included by its own folder only.
HEAVY = re.compile(r"^(?:asio|nlohmann|CLI|toml\+\+|spdlog|oneapi|openssl|opendht|gtest|gmock|pybind11)/|"
                   r"^(?:asio\.hpp|mpi\.h|nccl\.h|regex|iostream|ranges)$")
# Half a second each: a header of ours that includes one may be included by sources only.
SOURCES_ONLY = re.compile(r"^fmt/")
# What a header of ours must include itself, where it uses that.
STATUS = re.compile(r"\b(?:Status\b|Result<|WEFT_TRY(?:_ASSIGN)?\s*\()")
# A string that holds the keys of JSON, in a source of a folder that has nlohmann-json for that.
JSON_TEXT = re.compile(r'\{\{?\\"\w+\\":|\\":(?:\{|\[|\\")|R"\w*\([^)]*"\w+":')
UNFINISHED = re.compile(r"\b(to" r"do|fix" r"me|x" r"xx|ha" r"ck|for n" r"ow|not impl" r"emented|"
                        r"unimpl" r"emented|place" r"holder|st" r"ub(?:bed|s)?)\b", re.IGNORECASE)
LOCAL_PATH = re.compile(r"(?<![\w.])/(?:home|work|Users)/\w")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED_PATH = re.compile(r"`((?:src|tools|docs|fuzz|tests|recipes|cmake|bench)/[\w./-]+)`")
SOURCE_DIRECTORIES = ("src", "tests", "fuzz", "bench", "examples", "bindings")
CODE_SUFFIXES = (".h", ".cpp", ".cu")
TEXT_SUFFIXES = CODE_SUFFIXES + (".inc", ".py", ".sh", ".cmake", ".txt", ".toml")


def strip_comments_and_strings(text):
    """The text with comments, strings and characters blanked out; line breaks stay."""
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
                         r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def blank_preprocessor(code):
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda f: re.sub(r"[^\n]", " ", f.group()),
                  code, flags=re.MULTILINE)


def long_functions(code):
    """(line, length) of every function body longer than the limit; `code` is stripped."""
    found, stack, start, line = [], [], 0, 1
    for position, character in enumerate(code):
        if character == "\n":
            line += 1
        elif character == "{":
            before = code[start:position].strip()
            inside = any(kind == "function" for kind, _ in stack)
            scope = re.search(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()]*$", before)
            is_function = not inside and not scope and ")" in before
            stack.append(("function" if is_function else "other", line))
            start = position + 1
        elif character == "}":
            kind, opened = stack.pop() if stack else ("other", line)
            if kind == "function" and line - opened + 1 > FUNCTION_LINES_MAX:
                found.append((opened, line - opened + 1))
            start = position + 1
        elif character == ";":
            start = position + 1
    return found


class File:
    """One file under check; collects (line, text) faults."""

    def __init__(self, root, path, layers):
        self.name = path.relative_to(root)
        self.layers = layers
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self.folder, self.part = place_of(self.name) if self.name.parts[0] == "src" else ("", "")
        self.faults = []

    def check(self):
        if self.name.suffix in CODE_SUFFIXES:
            self.check_includes()
            self.check_words()
            self.check_sizes()
            if self.name.suffix == ".h":
                self.check_header()
        if self.name.suffix == ".inc":
            self.check_includes()
        if self.name.name == "CMakeLists.txt" and self.folder:
            self.check_cmake()
        for number, line in enumerate(self.lines, 1):
            if UNFINISHED.search(line) and not self.allowed(line, "unfinished"):
                self.fault(number, "word of unfinished work: finish it, or open an issue")
            if LOCAL_PATH.search(line):
                self.fault(number, "path of one person's machine")
        return self.faults

    def fault(self, line, text):
        self.faults.append(f"{self.name}:{line}: {text}")

    def allowed(self, line, word):
        return re.search(r"tidy: allow " + word + r": \S", line) is not None

    def check_includes(self):
        for number, line in enumerate(self.lines, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            quote, path = found.groups()
            if ".." in path.split("/"):
                self.fault(number, f'include "{path}": use the full path from src/')
            elif quote == '"' and self.folder:
                if path.endswith("_table.inc"):
                    continue  # generated by weft_plugins
                included = place_of(path)
                if included[0] not in self.layers.uses:
                    self.fault(number, f'include "{path}": expected "weft/FOLDER/FILE.h"')
                    continue
                wrong = self.layers.fault((self.folder, self.part), included,
                                          self.name.stem.endswith("_test"))
                if wrong:
                    self.fault(number, wrong)
        here = self.part or self.folder
        if self.folder and here not in self.layers.uses:
            self.fault(1, f"{'part' if self.part else 'folder'} {here} has no line in layers.txt")

    def check_words(self):
        code = strip_comments_and_strings(self.text)
        for number, line in enumerate(code.splitlines(), 1):
            if line.lstrip().startswith("#include"):
                continue
            line = OWNED_NEW.sub("", line)
            for word, pattern, folders, instead in BANNED:
                if (self.folder or PROGRAMS) in folders or not re.search(pattern, line):
                    continue
                if not self.allowed(self.lines[number - 1], word):
                    self.fault(number, f"{word}: not here; use {instead}")

    def check_sizes(self):
        if len(self.lines) > FILE_LINES_MAX:
            self.fault(1, f"{len(self.lines)} lines, limit {FILE_LINES_MAX}: make it two files")
        for number, line in enumerate(self.lines, 1):
            if len(line) > LINE_CHARACTERS_MAX:
                self.fault(number, f"line of {len(line)} characters, limit {LINE_CHARACTERS_MAX}")
        code = blank_preprocessor(strip_comments_and_strings(self.text))
        for number, length in long_functions(code):
            self.fault(number, f"function of {length} lines, limit {FUNCTION_LINES_MAX}")

    def check_header(self):
        if not self.text.startswith("// "):
            self.fault(1, "a header begins with a comment that says what it is")
        code = [line for line in self.lines if line.strip() and not line.startswith("//")]
        if not code or code[0] != "#pragma once":
            self.fault(1, "#pragma once must follow the opening comment")
        status = "weft/base/status.h"
        uses = STATUS.search(strip_comments_and_strings(self.text))
        if (self.folder and uses and f'"{status}"' not in self.text
                and self.name.name != "status.h"):
            line = self.text.count("\n", 0, uses.start()) + 1
            self.fault(line, f"{uses.group().rstrip('<( ')}: include \"{status}\" here")

    def check_cmake(self):
        uses = re.search(r"\bUSES\s+((?:[a-z]+\s*)+)", self.text)
        for used in uses.group(1).split() if uses else ():
            if used == self.folder or not self.layers.may_use(self.folder, used):
                self.fault(1, f"USES {used}: not in the line of {self.folder} in layers.txt")


def tracked_files(root):
    """The files that git knows or would add; everything below `root` where there is no git."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
                             capture_output=True, check=False)
    if listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
        paths = [root / name for name in names if name]
    else:
        paths = list(root.rglob("*"))
    return sorted(path for path in paths if path.is_file())


def check_document(root, path):
    """Faults of links and paths in a Markdown file; NAME in a path stands for any name."""
    faults = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        here = f"{path.relative_to(root)}:{number}"
        for target in LINK.findall(line):
            file = target.split("#")[0]
            if file and not re.match(r"[a-z]+:", file) and not (path.parent / file).exists():
                faults.append(f"{here}: link to {target}: no such file")
        for name in NAMED_PATH.findall(line):
            pattern = re.sub(r"[A-Z]{4,}", "*", name)
            if not (list(root.glob(pattern)) if "*" in pattern else (root / name).exists()):
                faults.append(f"{here}: {name}: no such file")
        if LOCAL_PATH.search(line):
            faults.append(f"{here}: path of one person's machine")
    return faults


class HeavyHeaders:
    """Which headers of ours include a heavy one of a library, directly or through others of ours."""

    def __init__(self, root, heavy):
        self.source = root / "src"
        self.heavy = heavy
        self.known = {}

    def pulled_in(self, name):
        """A heavy header below the header `name` ("weft/net/link/link.h"), or ""."""
        if name not in self.known:
            self.known[name] = ""  # a circle adds nothing
            path = self.source / name
            text = path.read_text(errors="replace") if path.is_file() else ""
            for line in text.splitlines():
                found = INCLUDE.match(line)
                if not found:
                    continue
                quote, included = found.groups()
                heavy = self.pulled_in(included) if quote == '"' else (
                    included if self.heavy.match(included) else "")
                if heavy:
                    self.known[name] = heavy
                    break
        return self.known[name]

    def faults(self, path, at_home=None):
        """Of the source or header `path`: lines that bring a heavy header in from other folders than
        `at_home`, by default its own."""
        name = path.relative_to(self.source)
        at_home = [name.parts[:2]] if at_home is None else at_home
        result = []
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found or found[1] != '"' or tuple(found[2].split("/")[:2]) in at_home:
                continue
            heavy = self.pulled_in(found[2])
            if heavy:
                result.append(f"src/{name}:{number}: include \"{found[2]}\": it includes <{heavy}>, "
                              "which takes long to compile: keep that in its folder's sources")
        return result


def own_functions(text):
    """{name: line} of the functions in unnamed namespaces of a source, and its static ones."""
    found, unnamed = {}, False
    for number, line in enumerate(strip_comments_and_strings(text).splitlines(), 1):
        if line.startswith("namespace {"):
            unnamed = True
        elif line.startswith("}") and text.splitlines()[number - 1] == "}  // namespace":
            unnamed = False
        function = OWN_FUNCTION.match(line) if unnamed or line.startswith("static ") else None
        if function and not line.startswith(("TEST", "using ", "return ", "namespace ")):
            found.setdefault(function[1], number)
    return found


def check_own_functions(root, paths):
    """Faults of functions that two sources of a folder define for themselves under one name: builds
    compile such sources as one, where a call might find the other's."""
    faults, seen = [], {}
    for path in paths:
        if path.suffix != ".cpp" or path.stem.endswith("_test"):
            continue
        text = path.read_text(errors="replace")
        if re.search(r"^#pragma GCC ", text, re.MULTILINE):
            continue  # compiled alone
        for name, line in own_functions(text).items():
            folder = place_of(path.relative_to(root))[0] or path.parent
            other = seen.setdefault((folder, name), path)
            if other != path:
                faults.append(f"{path.relative_to(root)}:{line}: {other.name} has a function {name} "
                              "of its own, too: give one of them another name, or share it")
    return faults


def check_tests(root, paths):
    """Faults by test_rules.py: tests that cannot fail, and waits for what nothing changes."""
    codes = {path: blank_preprocessor(strip_comments_and_strings(path.read_text(errors="replace")))
             for path in paths if path.suffix in CODE_SUFFIXES}
    texts = {path: path.read_text() for path in paths
             if path.suffix == ".py" and "test" in str(path.relative_to(root))}
    faults = [(*found, "claims nothing, so it cannot fail")
              for find, given in ((test_rules.claimless_cpp_tests, codes),
                                  (test_rules.claimless_python_tests, texts))
              for found in find(given)]
    folders = {}
    for path, code in codes.items():
        folder = place_of(path.relative_to(root))[0] or path.parent
        if folder != "base":  # which tests waiting itself
            folders.setdefault(folder, {})[path] = code
    faults += [(*found, "is never changed: a wait for it is a sleep; wait for what happens, or use "
                "poll_until for what nobody can announce")
               for folder in folders.values() for found in test_rules.hidden_sleeps(folder)]
    return [f"{path.relative_to(root)}:{line}: {name} {why}" for path, line, name, why in faults]


def check_json(root, paths):
    """Faults of sources that write JSON by hand in folders where nlohmann-json is there for it."""
    texts = {path: path.read_text(errors="replace") for path in paths
             if path.suffix == ".cpp" and not path.stem.endswith("_test")}
    def library(path):
        return place_of(path.relative_to(root))[0] or path.parent

    folders = {library(path) for path, text in texts.items() if "#include <nlohmann/" in text}
    return [f"{path.relative_to(root)}:{number}: json: not by hand; use nlohmann::ordered_json"
            for path, text in texts.items() if library(path) in folders
            for number, line in enumerate(text.splitlines(), 1)
            if JSON_TEXT.search(line) and "tidy: allow json: " not in line]


def check_layout(root, larger=None):
    heavy, format_headers = HeavyHeaders(root, HEAVY), HeavyHeaders(root, SOURCES_ONLY)
    layers = Layers(root)
    results = [[f"layers.txt:{line}: {text}" for line, text in layers.faults]]
    paths = tracked_files(root)
    for path in paths:
        top = path.relative_to(root).parts[0]
        if path.suffix in TEXT_SUFFIXES and (top in SOURCE_DIRECTORIES or path.suffix == ".py"):
            if path.name not in ("tidy.py", "tidy_test.py"):
                faults = File(root, path, layers).check()
                if top == "src" and path.suffix in CODE_SUFFIXES:
                    faults += heavy.faults(path)
                    if path.suffix == ".h":
                        faults += format_headers.faults(path, ())
                results.append(faults)
        elif path.suffix == ".md":
            results.append(check_document(root, path))
    results.append(check_own_functions(root, [
        path for path in paths if path.relative_to(root).parts[0] in ("src", "bindings")]))
    results.append(folder_sizes.faults(root, paths, larger or {}))
    results.append(check_json(root, [
        path for path in paths if path.relative_to(root).parts[0] == "src"]))
    results.append(check_tests(root, [
        path for path in paths
        if path.relative_to(root).parts[0] in (*SOURCE_DIRECTORIES, "tools")]))
    results.append(prose_rules.check(root, paths))
    for folder in layers.folders():
        here = [path for path in paths if path.is_relative_to(root / "src" / "weft" / folder)]
        if here and not any(path.name.endswith("_test.cpp") for path in here):
            results.append([f"src/weft/{folder}:1: no *_test.cpp in this folder"])
    return results


def leads_own_source(root, header):
    """True if x.cpp includes x.h before anything else, so that who compiles x.cpp alone sees it."""
    source = header.with_suffix(".cpp")
    text = source.read_text() if source.exists() else ""
    first = re.search(r"^\s*#\s*include.*", text, re.MULTILINE)
    return bool(first) and f'"{header.relative_to(root / "src")}"' in first.group()


def compile_includes(root, headers):
    """What g++ says to a source that includes `headers` and nothing else, "" if it compiles."""
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-x", "c++", "-I",
               str(root / "src"), "-I", str(root / "build" / "release" / "generated"), "-"]
    text = "".join(f'#include "{header.relative_to(root / "src")}"\n' for header in headers)
    ran = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    return "" if ran.returncode == 0 else " ".join(ran.stderr.strip().splitlines()[:4])


def compile_alone(root, header):
    """Faults of compiling `header` as the only include of a source."""
    why = compile_includes(root, [header])
    return [f"src/{header.relative_to(root / 'src')}:1: not self-contained: {why}"] if why else []


def compile_together(root, headers):
    """Faults of one source that includes all headers: one name for two things in all of Weft, which
    no compiler sees where no source includes both."""
    why = compile_includes(root, headers)
    return [f"src: the headers of all folders do not compile together: {why}"] if why else []


def check_headers(root, minutes=60.0):
    headers = [path for path in tracked_files(root)
               if path.suffix == ".h" and path.is_relative_to(root / "src")]
    own = [[header] for header in headers if not leads_own_source(root, header)]
    deadline = time.monotonic() + 60 * minutes

    def work(batch):
        return compile_alone(root, batch[0]) if time.monotonic() < deadline else None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        together = pool.submit(compile_together, root, headers)
        alone = [faults for faults in pool.map(work, turns.by_turn(own)) if faults is not None]
        if len(alone) < len(own):
            print(f"time is over: {len(alone)} of {len(own)} headers were compiled alone")
        return [together.result(), *alone]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=here)
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    results = (check_headers(root, options.minutes) if options.headers
               else check_layout(root, folder_sizes.LARGER))
    for fault in (fault for faults in results for fault in faults):
        print(fault)
    failed = sum(1 for faults in results if faults)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
