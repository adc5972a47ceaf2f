#!/usr/bin/env python3
"""docs/errors.md: each message in its tables is what the program says, with that exit code.

usage: errors_page_test.py [NAME ...]
"""
import re
import socket
import sys

from command_line import (ALONE, RECIPE, ROOT, expect, main, rows_file, scratch, train,
                          weft)

sys.path.insert(0, str(ROOT / "tests/multi"))
from harness import Group  # noqa: E402

PAGE = (ROOT / "docs/errors.md").read_text()
ROWS = str(ROOT / "recipes/rows_mlp.toml")
RUN = ["run", RECIPE, *ALONE]
ENDLESS = {"run.steps": 1000000, "run.round_seconds_min": 0.02, "group.discovery": "off"}
# What takes a small disk or little memory: by the tests that have them.
ELSEWHERE = {"not enough memory": "exit_codes_test.py", "no checkpoint was written":
             "write_failures_test.py"}


def sections():
    """{exit code: the messages in its table}"""
    parts = re.split(r"^## Exit code (\d+)$", PAGE, flags=re.M)
    return {int(code): re.findall(r"^\| `(.+?)` \|", text, re.M)
            for code, text in zip(parts[1::2], parts[2::2])}


def made_files(folder):
    """What the commands below find where they run."""
    (folder / "empty.toml").write_text("")
    (folder / "photos").mkdir()
    (folder / "tiny.csv").write_text("a,b\n1,2\n")
    checkpoint = train(folder)
    (folder / "w.safetensors").write_text("mine")
    (folder / "cut").write_bytes(checkpoint.read_bytes()[:3000])
    (folder / "x.png").write_text("no image")
    rows_file(folder / "x.npy")
    return checkpoint


def commands(folder, checkpoint):
    """Rows of (exit code, what is said, arguments), in `folder`."""
    other = ["--resume", "--out", folder / "trained", "--set", "model.hidden_units=7"]
    return [
        (2, 'unknown key "optimizer.lr"; did you mean "optimizer.learning_rate"?',
         [*RUN, "--set", "optimizer.lr=1"]),
        (2, "unknown flag --lr; did you mean --set optimizer.learning_rate=...?", [*RUN, "--lr", "1"]),
        (2, '--peers: expected a whole number, 1 to 64, got "0"', [*RUN, "--peers", "0"]),
        (2, "empty.toml: is empty; give the path of a recipe", ["run", "empty.toml"]),
        (2, "none.toml: cannot be read (No such file or directory)", ["run", "none.toml"]),
        (2, "photos: is a folder, but holds no folders of images, one a class", ["run", "photos"]),
        (2, 'data.path: "x.csv" has no effect with data.name = "synthetic"',
         [*RUN, "--set", "data.path=x.csv"]),
        (2, "run.global_batch: expected at most the 1 samples of tiny.csv to train on, got 64",
         ["run", ROWS, *ALONE, "--set", "data.path=tiny.csv"]),
        (2, "was trained with another model.hidden_units; resume with the recipe it began with",
         [*RUN, *other]),
        (2, "w.safetensors: is there already; --force replaces it",
         ["export", checkpoint, "--safetensors", "w.safetensors"]),
        (2, "expected at most 200 printable characters", [*RUN, "--set", "run.name=a\x07b"]),
        (2, "ticket: it was cut or mistyped; copy the whole line again", ["join", "weft2-" + "a" * 40]),
        (2, "ticket: expected a line that begins with weft2-", ["join", "no-ticket"]),
        (2, "ticket: 'weft1-' is an older kind than weft2-", ["join", "weft1-" + "a" * 40]),
        (2, "code: a character is wrong or two are exchanged", ["join", "k7q2m4-xd9fhj-2wpz8x"]),
        (3, "code: nobody on this network answers to it", ["join", "k7q2m4-xd9fhj-2wpz8y"]),
        (3, "mnist: expected its 4 files in one of", ["run", ROOT / "recipes/mnist_mlp.toml", *ALONE]),
        (3, "no peer runs there; give the --out of one that does", ["status", "photos"]),
        (3, "no peer runs there; give the --out of one that does", ["status", "nowhere"]),
        (3, "expected a checkpoint, or the folder of a run with "
            "checkpoints/checkpoint-N.safetensors", ["eval", "photos"]),
        (3, "the folder none/ is not there; make it first",
         ["export", checkpoint, "--onnx", "none/m.onnx"]),
        (4, "the file is damaged: take an older checkpoint of the folder", ["eval", "cut"]),
        (4, "image: expected a PNG or a JPEG", ["predict", checkpoint, "x.png"]),
    ]


def shown(end, code, words):
    expect(end.code == code and words in end.errors, f"expected {code}, {words!r}: {end}")
    expect(words in sections()[code], f"the page has no {words!r} under exit code {code}")
    return words


def each_message_of_the_page_is_said_by_the_program():
    seen = set(ELSEWHERE)
    for words, file in ELSEWHERE.items():
        expect(words in (ROOT / "tests/cli" / file).read_text(), f"{file} tries no {words!r}")
    with scratch() as folder:
        nowhere = {"HOME": str(folder), "WEFT_DATA_DIR": str(folder)}
        for code, words, arguments in commands(folder, made_files(folder)):
            end = weft(*arguments, cwd=folder, environment=nowhere)
            seen.add(shown(end, code, words))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            end = weft("run", RECIPE, "--out", folder / "taken", "--listen",
                       f"127.0.0.1:{taken.getsockname()[1]}")
            seen.add(shown(end, 3, "Address already in use"))
        with open("/dev/full", "wb") as full:
            seen.add(shown(weft("recipe", output=full), 3,
                           "standard output: No space left on device"))
        seen |= messages_of_a_group(folder)
    wanted = {words for messages in sections().values() for words in messages}
    expect(seen == wanted, f"not tried: {sorted(wanted - seen)}; not there: {sorted(seen - wanted)}")
    return f"{len(seen)} messages"


def messages_of_a_group(folder):
    seen = set()
    with Group() as group:
        founder = group.found(ENDLESS)
        founder.wait_round(1)
        join = ["join", "--yes", "--out", folder / "late"]

        def ticket(*flags):
            return weft("ticket", founder.out, *flags).output.strip()

        seen.add(shown(weft(*RUN, "--out", founder.out), 3,
                       "another peer is using it; choose another --out"))
        short = ticket("--valid-h", "0.001")
        one, other = ticket(), ticket()
        weft("revoke", founder.out, one)
        seen.add(shown(weft(*join, one), 2,
                       "the members have revoked this ticket; ask one of them for another"))
        weft("revoke", founder.out, "all")
        seen.add(shown(weft(*join, other), 2, "the ticket was not made by a member of this run, was "
                                              "altered, or was revoked with all others"))
        founder.wait_round(founder.last_round() + 200)  # which take four seconds
        seen.add(shown(weft(*join, short), 2, "ago; ask a member for a new one"))
        fresh = ticket()
        founder.pause()
        seen.add(shown(weft(*join, fresh, seconds=100), 3,
                       "join: no member of the ticket sent the recipe"))
        founder.kill()
        seen.add(shown(weft(*join, fresh, seconds=100), 3,
                       "join: the run has ended, or its members have moved"))
    return seen


def every_exit_code_has_its_section_and_the_help_leads_there():
    table = (ROOT / "docs/commands.md").read_text().split("## Exit codes", 1)[1]
    codes = {int(code) for code in re.findall(r"^\| \[(\d+)\]\(errors\.md#exit-code-\1\) \|", table,
                                              re.M)}
    expect(codes == set(sections()) and len(codes) == 9, f"{codes}, {set(sections())}")
    for code in codes - {0}:
        text = PAGE.split(f"## Exit code {code}\n", 1)[1].split("\n## ", 1)[0]
        expect("Cause: " in text and ("Remedy: " in text or code == 130), f"exit code {code}")
    page = " ".join(weft("--help").output.split())
    expect("docs/errors.md#exit-code-N" in page, "the help does not lead to the page")


TESTS = {test.__name__: test for test in (
    each_message_of_the_page_is_said_by_the_program,
    every_exit_code_has_its_section_and_the_help_leads_there,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
