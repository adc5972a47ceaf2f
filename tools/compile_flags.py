"""What the build compiles each source with, for the tools that compile sources by other means.

Builds compile batches: sources that include the sources of a folder. Here they are told apart again.
"""
import dataclasses
import json
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = re.compile(r"/([^/]+)\.dir/Unity/unity_\d+_cxx\.cxx$")
TARGET = re.compile(r" -o (?:\S*/)?([^/\s]+)\.dir/")
INCLUDED = re.compile(r'^#include "(/[^"]+)"$', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Source:
    """One source: its target, its flags without precompiled headers, whether it is in a batch."""
    path: pathlib.Path
    target: str
    flags: tuple
    batched: bool


def kept_flags(command):
    """The flags of a compiler's command that say how a source is understood, by clang, too."""
    kept, words = [], iter(shlex.split(command)[1:])
    for word in words:
        if word == "-include":
            next(words, None)  # a precompiled header: nothing that a source may rely on
        elif word == "-isystem":
            kept += [word, next(words)]
        elif re.match(r"-(D|I|W|std=|m|f(?!PI|pch|no-version-loops))", word) and not word.startswith("-Winvalid-pch"):
            kept.append(word)
    return tuple(kept)


def sources(build):
    """Every Source of this repository that a configured build compiles, in its order."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        target = TARGET.search(entry["command"])
        batched = bool(BATCH.search(str(path)))
        if batched:
            paths = [pathlib.Path(name) for name in INCLUDED.findall(path.read_text())]
        else:
            paths = [path]
        for one in paths:
            if one.exists() and one.is_relative_to(ROOT) and not one.is_relative_to(ROOT / "build"):
                found.setdefault(one, Source(one, target[1] if target else "",
                                             kept_flags(entry["command"]), batched))
    return list(found.values())


def batches(given, size):
    """Lists of Sources: those that the build batches, with others of their target and flags, `size`
    at most; each of the others alone. All of a target compile as one in every way to divide them
    (tools/compile_sources.py)."""
    found = {}
    for source in given:
        key = (source.target, source.flags) if source.batched else source.path
        of_key = found.setdefault(key, [[]])
        if len(of_key[-1]) >= size:
            of_key.append([])
        of_key[-1].append(source)
    return [batch for of_key in found.values() for batch in of_key]
