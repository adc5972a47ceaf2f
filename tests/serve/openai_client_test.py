#!/usr/bin/env python3
"""OpenAI's client from npm, unchanged, against `weft serve` (openai_client.cjs).

    npm install --ignore-scripts --prefix /tmp/openai openai
    WEFT_OPENAI_NODE_MODULES=/tmp/openai/node_modules tests/serve/openai_client_test.py

The package is looked for in the folder that WEFT_OPENAI_NODE_MODULES names, then in those of
NODE_PATH. Exit code 77, which ctest shows as skipped, where there is no node or no package.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import served_models

SKIPPED = 77
SCRIPT = pathlib.Path(__file__).with_name("openai_client.cjs")


def node_environment():
    """The environment in which node finds the package, or None."""
    if shutil.which("node") is None:
        print("skipped: no node")
        return None
    folders = [os.environ.get("WEFT_OPENAI_NODE_MODULES"), os.environ.get("NODE_PATH")]
    path = os.pathsep.join(folder for folder in folders if folder)
    environment = {**os.environ, "NODE_PATH": path}
    found = subprocess.run(["node", "-e", "require('openai')"], env=environment, cwd="/",
                           capture_output=True, timeout=60, check=False)
    if found.returncode != 0:
        print("skipped: no package openai; say where it is by WEFT_OPENAI_NODE_MODULES")
        return None
    return environment


def main():
    environment = node_environment()
    if environment is None:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="weft-openai-") as name:
        folder = pathlib.Path(name)
        words = folder / "text.txt"
        words.write_text("one two three four five six seven eight. " * 200)
        recipe = served_models.TEXT.format(path=words).replace(
            'name = "text"\nsteps', 'name = "a small text of Jürgen"\nsteps')
        text = served_models.train(folder, "text", recipe)
        images = served_models.train(folder, "images", served_models.IMAGES)
        with served_models.Server(text) as first, served_models.Server(images) as second:
            urls = [f"http://{server.host}:{server.port}" for server in (first, second)]
            return subprocess.run(["node", str(SCRIPT), *urls], env=environment, timeout=300,
                                  check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
