#!/usr/bin/env python3
"""What every command answers with --json: each line parses, and what a script asks for is in it.

usage: json_test.py [NAME ...]
"""
import json
import pathlib
import random
import re
import sys

from command_line import (ALONE, RECIPE, Running, expect, lines_of_json, main, rows_file,
                          scratch, train, weft)

# What a field may be.
TEXT, WHOLE, NUMBER, FLAG, LIST = (str,), (int,), (int, float), (bool,), (list,)
ENDLESS = ["--set", "run.steps=1000000", "--set", "run.round_seconds_min=0.02"]


def has(fields, line, place):
    for name, kinds in fields.items():
        expect(name in line, f"{place}: no {name!r} in {str(line)[:400]}")
        value = line[name]
        expect(isinstance(value, kinds) and isinstance(value, bool) == (kinds == FLAG),
               f"{place}: {name} is {value!r}")


def answered(*arguments, code=0):
    end = weft(*arguments, "--json", seconds=200)
    expect(end.code == code, f"{arguments}: {end}")
    return lines_of_json(end.output)


def tables(folder):
    """A table of classes and one of values."""
    draw = random.Random(1)
    rows = [(draw.random(), draw.random()) for _ in range(200)]
    classes, values = folder / "classes.csv", folder / "values.csv"
    classes.write_text("a,b,kind\n" + "".join(
        f"{a},{b},{'big' if a + b > 1 else 'small'}\n" for a, b in rows))
    values.write_text("a,b,price\n" + "".join(f"{a},{b},{100 + 3 * a - b}\n" for a, b in rows))
    return classes, values


EVALUATION = {"steps": WHOLE, "samples": WHOLE, "loss": NUMBER, "state_hash": TEXT}
DATASET = {"name": TEXT, "description": TEXT, "found": FLAG, "folder": TEXT, "remedy": TEXT,
           "steps": LIST}


def single_answers(folder, checkpoint):
    """Commands, and what the first line of each has."""
    classes, _ = tables(folder)
    (folder / "text.txt").write_text("the quick brown fox\n" * 500)
    return {
        "eval": (["eval", checkpoint], {**EVALUATION, "test_accuracy": NUMBER, "classes": LIST,
                                        "confusion": LIST}),
        "export": (["export", checkpoint, "--onnx", folder / "m.onnx"],
                   {"checkpoint": TEXT, "files": LIST, "text": TEXT}),
        "new": (["new", classes, "--out", folder / "new.toml"],
                {"recipe": TEXT, "data_kind": TEXT, "model": TEXT, "steps": WHOLE, "loss": NUMBER,
                 "oddities": LIST}),
        "data look": (["data", "look", classes], {"path": TEXT, "kind": TEXT, "rows": WHOLE,
                                                  "columns": LIST, "samples": LIST}),
        "data look of a text": (["data", "look", folder / "text.txt"],
                                {"kind": TEXT, "characters": WHOLE, "bytes": WHOLE}),
        "data list": (["data", "list"], DATASET),
        "data get": (["data", "get", "synthetic"], DATASET),
        "data check": (["data", "check", "synthetic"], {"name": TEXT, "ok": FLAG, "files": WHOLE}),
        "methods": (["methods"], {"key": TEXT, "name": TEXT, "help": TEXT, "options": LIST}),
        "recipe": (["recipe"], {"key": TEXT, "type": TEXT, "help": TEXT}),
        "events": (["events"], {"kind": TEXT, "help": TEXT, "fields": LIST}),
        "version": (["version"], {"version": TEXT}),
        "id": (["id", folder / "trained"], {"id": TEXT}),
        "doctor": (["doctor", "--listen", "127.0.0.1:0", "--out", folder],
                   {"step": TEXT, "result": TEXT, "text": TEXT, "remedy": TEXT}),
        "doctor of a run": (["doctor", "--run", timed_run(folder / "timed")],
                            {"healthy": FLAG, "members": LIST, "round": WHOLE, "logs": WHOLE,
                             "text": TEXT}),
        "bench train": (["bench", "train", "--model", "mlp", "--seconds", "0.1"],
                        {"model": TEXT, "batch": WHOLE, "median_ms": NUMBER, "steps": WHOLE}),
        "bench train with a profile": (
            ["bench", "train", "--model", "mlp", "--seconds", "0.1", "--profile"],
            {"median_ms": NUMBER, "profile": (dict,)}),
        "bench forward": (["bench", "forward", "--model", "mlp", "--seconds", "0.1"],
                          {"model": TEXT, "batch": WHOLE, "median_ms": NUMBER, "runs": WHOLE}),
        "bench allreduce": (["bench", "allreduce", "--peers", "2", "--bytes", "4096"],
                            {"peers": WHOLE, "bytes": WHOLE, "median_seconds": NUMBER}),
    }


def timed_run(folder):
    """The log of a healthy run of two peers."""
    folder.mkdir()
    (folder / "events.jsonl").write_text(json.dumps(
        {"kind": "timings", "peer": "a", "peers": ["a", "b"], "round": 9, "rounds": 9,
         "round_seconds": 0.5, "round_bytes": 1000.0, "compute_seconds": [0.4, 0.4],
         "entry_seconds": [0.4, 0.4], "send_rates": [0.0, 0.0]}) + "\n")
    return folder


def each_command_answers_with_what_a_script_asks_for():
    with scratch() as folder:
        rows = single_answers(folder, train(folder))
        for name, (arguments, fields) in rows.items():
            for line in answered(*arguments):
                has(fields, line, name)
        return f"{len(rows)} commands"


def predictions_have_class_names_and_probabilities():
    with scratch() as folder:
        classes, values = tables(folder)
        for table in (classes, values):
            expect(weft("run", table, "--out", folder / table.stem, "--steps", "30", *ALONE).code == 0,
                   f"training on {table}")
        out = folder / "y.npy"
        line = answered("predict", folder / "classes", classes, "--out", out)[0]
        expect(len(line["predictions"]) == 200 == line["shape"][0], f"{str(line)[:300]}")
        for row in line["predictions"]:
            expect({one["class"] for one in row} == {"small", "big"}, f"{row}")
            shares = [one["probability"] for one in row]
            expect(abs(sum(shares) - 1) < 1e-3 and shares == sorted(shares, reverse=True), f"{row}")
        expect(line["files"] == [{"path": str(out), "bytes": out.stat().st_size}], f"{line['files']}")
        one = answered("predict", folder / "classes", classes, "--top", "1")[0]
        expect(all(len(row) == 1 for row in one["predictions"]), "--top 1")
        line = answered("predict", folder / "values", values)[0]
        expect(line["targets"] == ["price"] and "predictions" not in line, f"{str(line)[-300:]}")
        expect(all(90 < row[0] < 110 for row in line["outputs"]), f"{str(line)[:300]}")
        measured = answered("eval", folder / "values")[0]
        has({**EVALUATION, "mae": NUMBER, "r2": NUMBER}, measured, "eval of values")


def what_export_wrote_is_told_with_its_bytes():
    with scratch() as folder:
        checkpoint = train(folder)
        line = answered("export", checkpoint, "--onnx", folder / "m.onnx", "--safetensors",
                        folder / "w.safetensors")[0]
        written = {file["path"]: file["bytes"] for file in line["files"]}
        wanted = {str(path): path.stat().st_size
                  for path in (folder / "m.onnx", folder / "w.safetensors")}
        expect(written == wanted, f"{written}, expected {wanted}")


def a_simulation_ends_with_its_result():
    lines = answered("sim", RECIPE, "--peers", "2", "--rounds", "2")
    has({"event_hash": TEXT, "state_hash": TEXT, "finished": WHOLE, "bytes_sent": WHOLE,
         "virtual_seconds": NUMBER, "test_accuracy": NUMBER}, lines[-1], "sim")
    rounds = [line for line in lines if line["kind"] == "round"]
    expect(len(rounds) == 2, f"expected 2 rounds, got {rounds}")


def a_comparison_tells_each_run_and_ends_with_its_results():
    with scratch() as folder:
        lines = answered("compare", RECIPE, "--vary", "group.wire=f32,bf16", "--seeds", "2",
                         "--peers", "2", "--rounds", "4", "--out", folder / "c")
        for line in lines[:-1]:
            has({"run": WHOLE, "runs": WHOLE, "contender": TEXT, "seed": WHOLE, "kept": FLAG,
                 "test_accuracy": NUMBER, "test_loss": NUMBER, "virtual_seconds": NUMBER,
                 "bytes_sent": NUMBER, "seconds": NUMBER, "fault": TEXT}, line, "a run")
        runs = [(line["contender"], line["seed"]) for line in lines[:-1]]
        expect(runs == [("wire=f32", 1), ("wire=bf16", 1), ("wire=f32", 2), ("wire=bf16", 2)],
               f"{runs}")
        has({"verdict": TEXT, "contenders": LIST, "files": LIST, "seeds": LIST}, lines[-1], "the end")
        for path in lines[-1]["files"]:
            expect(pathlib.Path(path).stat().st_size > 100, f"{path} is empty")
        means = [one["bytes_sent"]["mean"] for one in lines[-1]["contenders"]]
        sent = [[line["bytes_sent"] for line in lines[k:-1:2]] for k in (0, 1)]
        expect(means == [sum(some) / 2 for some in sent] and means[0] > means[1], f"{means}, {sent}")
        again = answered("compare", RECIPE, "--vary", "group.wire=f32,bf16", "--seeds", "2",
                         "--peers", "2", "--rounds", "4", "--out", folder / "c")
        expect(all(line["kept"] for line in again[:-1]), "a finished run was run again")
        expect(again[-1] == lines[-1], "the kept results differ")
        other = answered("compare", RECIPE, "--vary", "group.wire=f32,bf16", "--seeds", "2",
                         "--peers", "3", "--rounds", "4", "--out", folder / "c")
        expect(not any(line["kept"] for line in other[:-1]), "results of other options were taken")


def keys_of_a_recipe_have_defaults_of_their_types():
    kinds = {"text": TEXT, "boolean": FLAG, "integer": WHOLE, "number": NUMBER}
    keys = answered("recipe")
    for key in keys:
        has({"default": kinds[key["type"]]}, key, key["key"])
        if key["type"] in ("integer", "number"):
            has({"min": kinds[key["type"]], "max": kinds[key["type"]]}, key, key["key"])
            expect(key["min"] <= key["max"], f"{key}")
        for choice in key.get("allowed", []):
            expect("|" not in choice, f"{key}")
    return f"{len(keys)} keys"


def a_peer_at_work_answers_with_objects():
    with scratch() as folder:
        out = folder / "a"
        with Running(folder, "run", RECIPE, "--out", out, *ALONE, *ENDLESS, "--json") as running:
            running.wait_text('"kind":"round"')
            status = answered("status", out)[0]
            has({"state": TEXT, "round": WHOLE, "members": LIST}, status, "status")
            has({"peer": TEXT, "id": TEXT, "self": FLAG}, status["members"][0], "a member")
            ticket = answered("ticket", out)[0]
            has({"ticket": TEXT, "invitation": TEXT, "valid_s": WHOLE}, ticket, "ticket")
            revoked = answered("revoke", out, ticket["ticket"])[0]
            expect(revoked["invitation"] == ticket["invitation"], f"{revoked}")
            expect(not weft("expel", out, "nobody", "--json").output, "an error on standard output")
            running.interrupt()
            end = running.end(30)
        events = lines_of_json(end.output)
        expect(events[0]["kind"] == "ticket" and events[-1]["kind"] == "summary", f"{events[-1]}")
        for event in events:
            has({"t": NUMBER, "kind": TEXT}, event, "an event")


def a_server_says_where_it_listens():
    with scratch() as folder:
        with Running(folder, "serve", train(folder), "--port", "0", "--json") as server:
            server.wait_text('"url"')
            has({"url": TEXT, "port": WHOLE, "model": TEXT, "parameters": WHOLE},
                lines_of_json(server.texts()[0])[0], "serve")


def errors_leave_standard_output_empty():
    with scratch() as folder:
        rows = rows_file(folder / "x.npy")
        for arguments in (["eval", folder / "none"], ["predict", folder / "none", rows],
                          ["export", folder / "none", "--onnx", folder / "m"],
                          ["status", folder], ["new", folder / "none.csv"],
                          ["data", "look", folder / "none"], ["data", "get", "nothere"],
                          ["run", folder / "none.toml"], ["join", "no-ticket"]):
            end = weft(*arguments, "--json")
            expect(end.code in (2, 3) and not end.output, f"{arguments}: {end}")
            expect(end.errors.startswith("weft: "), f"{arguments}: {end}")


def every_command_of_the_help_is_in_a_table_above():
    seen = pathlib.Path(__file__).read_text()
    pages, commands = [[]], 0
    while pages:
        words = pages.pop()
        page = weft("help", *words).output if words else weft("--help").output
        if "Commands:\n" in page:
            below = page.split("Commands:\n", 1)[1].split("\n\n", 1)[0].splitlines()
            pages += [[*words, line.split()[0]] for line in below
                      if line.startswith("  ") and line[2] != " "]
            continue
        commands += 1
        # The demo and joining take part in runs, whose events are those of `run`.
        if words[0] in ("help", "demo", "join"):
            continue
        typed = ", ".join(f'"{word}"' for word in words)
        expect(re.search(rf"([\[(]|folder, ){typed}[,\])]", seen),
               f"weft {' '.join(words)} is not tried")
    return f"{commands} commands"


TESTS = {test.__name__: test for test in (
    each_command_answers_with_what_a_script_asks_for,
    predictions_have_class_names_and_probabilities,
    what_export_wrote_is_told_with_its_bytes,
    a_simulation_ends_with_its_result,
    a_comparison_tells_each_run_and_ends_with_its_results,
    keys_of_a_recipe_have_defaults_of_their_types,
    a_peer_at_work_answers_with_objects,
    a_server_says_where_it_listens,
    errors_leave_standard_output_empty,
    every_command_of_the_help_is_in_a_table_above,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
