#!/usr/bin/env python3
"""Runs calls one after another and writes what became of each, a line of JSON for each call, so that
a reader knows at which call this process died or stayed.

usage: child.py FOLDER [LIBRARY] < CALLS     CALLS: a list of texts as JSON; FOLDER: for files
"""
import importlib
import json
import os
import pathlib
import resource
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import wrong_uses  # noqa: E402

MEMORY_BYTES_MAX = 6 << 30
TEXT_MAX = 2000


def outcome(library, call, folder):
    """What becomes of one call."""
    library.manual_seed(3)
    try:
        result = wrong_uses.run(library, call, folder)
    except Exception as error:  # whatever it is, it is the answer
        return {"error": [kind.__name__ for kind in type(error).__mro__], "text": str(error)[:TEXT_MAX]}
    finally:
        library.set_default_dtype(library.float32)
        library.set_grad_enabled(True)
    return {"returned": repr(result)[:200]}


def main(folder, library="weft"):
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a call prints is no answer
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    module = importlib.import_module(library)
    for call in json.load(sys.stdin):
        print(json.dumps(outcome(module, call, folder)), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
