#!/usr/bin/env python3
"""Every recipe of recipes/ trains three steps; where its data are not on this machine, the command
says how to get them, and a recipe of texts is trained on the text of examples/data/.

    tests/cli/recipes_test.py [NAME ...]
"""
import sys

from command_line import ALONE, ROOT, expect, main, scratch, weft

# The recipe's own text, one of a person's own: what the heads of these recipes say.
OWN_TEXT = ["--set", "data.name=text", "--set", "data.path=examples/data/story.txt",
            "--set", "data.context=32"]


def train(recipe, folder, *more):
    return weft("run", recipe, "--steps", 3, "--out", folder, *ALONE, "--set",
                "data.test_samples_max=64", *more, cwd=ROOT, seconds=300)


def finished(end):
    expect(end.code == 0 and "finished after 3 steps" in end.output, str(end))


def check(recipe):
    """What a test of `recipe` does."""
    def run():
        with scratch() as folder:
            end = train(recipe, folder / "own")
            if end.code == 0:
                finished(end)
                return f"{end.seconds:.0f} s"
            name = recipe.stem
            expect(end.code == 3 and ("weft data get" in end.errors or "run: " in end.errors),
                   f"expected how to get the data: {end}")
            if not name.startswith("text_"):
                return "its data are not here, and the command says how to get them"
            finished(train(recipe, folder / "text", *OWN_TEXT))
            return "its data are not here; trained on a text of one's own"
    return run


TESTS = {recipe.stem: check(recipe) for recipe in sorted((ROOT / "recipes").glob("*.toml"))}

if __name__ == "__main__":
    sys.exit(main(TESTS))
