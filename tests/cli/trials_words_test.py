#!/usr/bin/env python3
"""A newcomer's trials of what is typed: wrong values, wrong files, help pages and what docs promise.

usage: trials_words_test.py [NAME ...]
"""
import re
import sys

from command_line import ALONE, RECIPE, ROOT, expect, main, scratch, weft
from small_data import refused, sets


def page(name):
    """A page of the documentation, its line breaks as blanks."""
    return " ".join((ROOT / name).read_text().split())


# --- What is typed.

def values_out_of_range_are_refused_with_the_range_and_the_meaning():
    for setting, *words in (
            ("optimizer.learning_rate=nan", 'expected a number, got "nan"'),
            ("optimizer.learning_rate=inf", 'got "inf"'),
            ("run.steps=1e308", "expected a whole number"),
            ("run.steps=0", "expected 1 or more, got 0", "Optimizer steps of the whole run"),
            ("run.global_batch=-1", "expected 1 to 1048576, got -1", "Samples per step"),
            ("optimizer.momentum=2", "got 2", "momentum"),
            ("model.dropout=1.5", "got 1.5"),
            ("optimizer.name=adma", 'did you mean "adam"?'),
            ("model.name=lenett", 'did you mean "lenet"?'),
            ("data.name=fashion_mnist", 'did you mean "fashion-mnist"?')):
        refused(weft("run", RECIPE, *sets(setting)), 2, setting.split("=")[0] + ": ", *words)


def mistakes_in_a_recipe_are_told_by_file_and_line():
    with scratch() as folder:
        for text, words in (
                ("[run]\nsteps = 3\nglobal_bach = 3\n", 'wrong.toml:3: unknown key "run.global_bach"; '
                                                        'did you mean "run.global_batch"?'),
                ("[rnu]\nsteps = 3\n", "wrong.toml:1: unknown section [rnu]; did you mean [run]?"), ("[run]\nsteps = many\n", "wrong.toml:2"),
                ("[run\n", "wrong.toml:1")):
            (folder / "wrong.toml").write_text(text)
            refused(weft("run", folder / "wrong.toml"), 2, words)
        end = weft("run", RECIPE, environment={"WEFT_RUN_STEPZ": "3"})
        refused(end, 2, "WEFT_RUN_STEPZ", "WEFT_RUN_STEPS")


def what_is_no_recipe_is_told_for_what_it_is():
    with scratch() as folder:
        (folder / "empty.toml").write_text("")
        for path in (folder / "empty.toml", "/dev/null"):
            refused(weft("run", path), 2, f"{path}: is empty; give the path of a recipe",
                    "recipes/synthetic_mlp.toml")
        end = refused(weft("run", "/"), 2, "/: expected folders of images")
        expect("cannot be read" not in end.errors, f"{end}")
        refused(weft("run", folder / "none.toml"), 2, "none.toml: ", "No such file")


def a_mistake_is_the_programs_own_words():
    for arguments, words in ((["serve", "x", "--port", "99999"], "--port: expected a whole number"),
                             (["run", RECIPE, "--steps", "1e308"], '--steps: expected a whole number'),
                             (["ticket", "x", "--valid-h", "9999"], "0.001 to 8760, got \"9999\""),
                             (["bench", "train", "--seconds", "-1"], '"-1"')):
        end = refused(weft(*arguments), 2, words)
        expect(end.errors.startswith("weft: --"), f"{end}")
        expect("Could not convert" not in end.errors and ".000000" not in end.errors, f"{end}")


# --- Help.

FRAGMENTS = ("Open ones", "Of one completion", "Of the vector", "Of the parameters", "One object.",
             "Texts: of what", "For others that join", "This peer's voice", "INT in", "TEXT:", "TEXT ...", "{")


def help_speaks_in_sentences():
    words = [[], *([name] for name in ("run", "join", "status", "ticket", "revoke", "expel", "id",
                                       "doctor", "predict", "serve", "export", "eval", "new")),
             ["bench", "train"], ["bench", "allreduce"], ["data", "look"]]
    for command in words:
        end = weft("help", *command)
        expect(end.code == 0 and "  weft " in end.output, f"{command}: no example: {end}")
        for fragment in FRAGMENTS:
            expect(fragment not in end.output, f"{command}: {fragment!r} in {end.output}")
        # The description of each flag begins with a capital and ends as a sentence or with its range.
        for line in re.findall(r"^  --\S+(?: \S+)?  +(\S.*)$", end.output, re.M):
            expect(line[0].isupper() or line[0].isdigit(), f"{command}: {line!r}")
    return f"{len(words)} pages"


def the_program_alone_is_a_short_help():
    end = weft()
    expect(end.code == 2 and "weft help" in end.errors and "weft run recipes/" in end.errors, f"{end}")
    expect(len(end.errors.splitlines()) < 12, f"{end}")
    expect(weft("-V").output.startswith("weft ") and weft("-V").code == 0, "weft -V")


# --- What the documentation promises.

def a_page_begins_with_ones_own_data():
    first_screen = (ROOT / "README.md").read_text()
    expect("docs/own_data.md" in first_screen.split("## Recipes")[0], "README's table has no row for it")
    own = (ROOT / "docs/own_data.md").read_text()
    for heading in ("## Photos", "## A table", "## A text", "## Arrays"):
        block = own.split(heading, 1)
        expect(len(block) == 2 and "    weft run " in block[1].split("\n## ", 1)[0],
               f"docs/own_data.md has no block to copy under {heading!r}")
    expect("Train on your own data" in page("README.md"), "README does not name the page")


def every_recipe_and_command_stands_in_readme():
    text = page("README.md")
    table = text.split("## Recipes", 1)[1].split("## The framework", 1)[0]
    stems = {path.stem for path in (ROOT / "recipes").glob("*.toml")}
    for stem in stems:
        parts = stem.split("_")
        # A row may shorten the names after its first: `fashion_mnist_cnn`, `_lenet`.
        listed = f"`{stem}`" in table or any(f"`_{'_'.join(parts[i:])}`" in table
                                             for i in range(1, len(parts)))
        expect(listed, f"recipes/{stem}.toml is not in README's table")
    listing = weft("help").output.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    names = [line.split()[0] for line in listing.splitlines()
             if line.startswith("  ") and line[2] != " "]
    for name in names:
        if name != "help":
            expect(f"`weft {name}" in text, f"README's table has no `weft {name}`")
    expect(text.index("another one with `--out`") < text.index("`weft status OUT`"), "OUT is used before")
    expect("export PATH" in text.split("## Recipes", 1)[0], "how `weft` gets on the PATH")
    return f"{len(stems)} recipes, {len(names)} commands"


def what_the_pages_say_of_the_same_thing_agrees():
    for name in ("README.md", "docs/commands.md", "docs/errors.md"):
        text = page(name).lower()
        expect("half or more" in text or "half of the group or more" in text, f"{name}: the quorum")
        expect("more than half of the group is gone" not in text, f"{name}: the quorum")
    # A model file is complete, and no page wants the data set of a model that is asked.
    expect("so it must be found on the machine" not in page("docs/files.md"), "docs/files.md")
    expect("need nothing else" in page("docs/files.md"), "docs/files.md")
    expect("No data set is needed" in page("docs/serving.md"), "docs/serving.md")
    recipe_keys = weft("recipe").output
    for key in ("optimizer.epsilon", "data.classify", "group.deadline", "optimizer.weight_decay"):
        expect(key in recipe_keys, f"`weft recipe` has no {key}")


def keys_that_may_change_at_resume_are_named_and_do():
    text = page("docs/commands.md")
    named = text.split("You may change", 1)[1].split("anything else is refused", 1)[0]
    with scratch() as folder:
        common = ["run", RECIPE, "--out", folder / "a", *ALONE]
        expect(weft(*common, "--steps", 2).code == 0, "training")
        changes = {"run.steps": 3, "run.name": "other", "run.round_seconds_min": 0.001,
                   "run.evaluate": "false", "run.micro_batch": 8, "run.on_not_finite": "go_on",
                   "checkpoint.keep": 2, "group.on_quorum_lost": "wait"}
        for key, value in changes.items():
            section = key.split(".")[0]
            expect(f"`{key}`" in named or f"`[{section}]`" in named, f"{key} is not named: {named}")
            end = weft(*common, "--resume", "--steps", 3, *sets(f"{key}={value}"))
            expect(end.code == 0, f"{key}: {end}")
        refused(weft(*common, "--resume", "--steps", 4, *sets("run.seed=8")), 2, "run.seed")


TESTS = {test.__name__: test for test in (
    values_out_of_range_are_refused_with_the_range_and_the_meaning,
    mistakes_in_a_recipe_are_told_by_file_and_line,
    what_is_no_recipe_is_told_for_what_it_is,
    a_mistake_is_the_programs_own_words,
    help_speaks_in_sentences,
    the_program_alone_is_a_short_help,
    a_page_begins_with_ones_own_data,
    every_recipe_and_command_stands_in_readme,
    what_the_pages_say_of_the_same_thing_agrees,
    keys_that_may_change_at_resume_are_named_and_do,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
