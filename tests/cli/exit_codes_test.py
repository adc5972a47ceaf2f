#!/usr/bin/env python3
"""Every exit code of docs/commands.md, each by what the page says leads to it, and words with each.

usage: exit_codes_test.py [NAME ...]
"""
import contextlib
import json
import os
import pty
import re
import select
import signal
import socket
import sys
import time

import command_line
from command_line import (ALONE, RECIPE, ROOT, Running, expect, main, rows_file, scratch, train,
                          weft)

sys.path.insert(0, str(ROOT / "tests/multi"))
from harness import Group  # noqa: E402

# What the tests below end with.
CODES = {0, 1, 2, 3, 4, 5, 6, 7, 130}
# Long enough to be interrupted in, whatever the machine does.
ENDLESS = ["--set", "run.steps=1000000", "--set", "run.round_seconds_min=0.02"]
RUINED = ["--set", "optimizer.learning_rate=1000", "--set", "optimizer.momentum=0.99",
          "--set", "checkpoint.every_steps=1", "--steps", "200"]


def expect_end(end, code, *words):
    expect(end.code == code, f"expected exit code {code}: {end}")
    for word in words:
        expect(word in end.errors, f"{word!r} is not said on standard error: {end}")
    # Who is told nothing cannot mend anything.
    expect(code == 0 or end.errors.strip(), f"no word on standard error: {end}")


# --- One command each: (exit code, words on standard error, arguments).

def single_commands(folder, checkpoint):
    cut = folder / "cut.safetensors"
    cut.write_bytes(checkpoint.read_bytes()[:3000])
    text = folder / "text.toml"
    text.write_text("[run]\nsteps = many\n")
    run = ["run", RECIPE, "--out", folder / "single", *ALONE]
    compare = ["compare", RECIPE, "--seeds", "1", "--rounds", "2", "--peers", "2", "--out"]
    return [
        (0, (), ["version"]),
        (0, (), ["--help"]),
        (0, (), ["run", "--help"]),
        (0, (), ["--version"]),
        (0, (), ["methods"]),
        (0, (), ["recipe"]),
        (0, (), ["events"]),
        (0, (), ["data", "list"]),
        (0, (), ["data", "get", "synthetic"]),
        (0, (), ["eval", checkpoint]),
        (0, (), ["predict", checkpoint, rows_file(folder / "x.npy")]),
        (0, (), ["export", checkpoint, "--safetensors", folder / "w.safetensors"]),
        (0, (), [*run, "--steps", "2"]),
        (0, (), [*compare, folder / "compared"]),
        (0, (), [*compare, folder / "compared"]),
        (2, ("weft",), ["rnu"]),
        (2, ("--variant",), ["compare", "--variant", "name: "]),
        (2, ("--seeds",), ["compare", RECIPE, "--seeds", "x"]),
        (2, ("--speed",), ["compare", RECIPE, "--speed", "x"]),
        (2, ("group.wyre",), ["compare", RECIPE, "--vary", "group.wyre=f32"]),
        (2, ("none.toml",), ["compare", folder / "none.toml"]),
        (3, ("no comparison has made it", "choose another --out"), [*compare, folder]),
        (2, (), []),
        (2, ("topk",), ["methods", "topkk"]),
        (2, ("expected the folder OUT of a run",), ["doctor", "--run", folder / "nowhere"]),
        (2, ("--stepz",), [*run, "--stepz", "3"]),
        (2, ("run.stepz",), [*run, "--set", "run.stepz=3"]),
        (2, ("run.steps",), [*run, "--set", "run.steps=-1"]),
        (2, ("text.toml",), ["run", text, *ALONE]),
        (2, ("ticket",), ["join", "no-ticket", "--out", folder / "joiner"]),
        (2, ("export",), ["export", checkpoint]),
        (2, ("--force",), ["export", checkpoint, "--safetensors", cut]),
        (2, ("choose another name",), ["export", checkpoint, "--safetensors", checkpoint,
                                       "--force"]),
        (2, ("nothere",), ["data", "get", "nothere"]),
        (2, ("none.toml",), ["run", folder / "none.toml", *ALONE]),
        (3, ("none.safetensors",), ["eval", folder / "none.safetensors"]),
        (3, ("no peer runs there",), ["status", folder / "single"]),
        (3, ("is not there; make it first",), ["export", checkpoint, "--safetensors",
                                               folder / "none/w.safetensors"]),
        (4, ("cut.safetensors",), ["eval", cut]),
        (4, ("cut.safetensors",), ["predict", cut, folder / "x.npy"]),
        (4, ("cut.safetensors",), ["export", cut, "--safetensors", folder / "none.safetensors"]),
        (4, ("cut.safetensors",), ["serve", cut, "--port", "0"]),
    ]


def each_command_ends_as_documented():
    with scratch() as folder:
        checkpoint = train(folder)
        rows = single_commands(folder, checkpoint)
        for code, words, arguments in rows:
            expect_end(weft(*arguments), code, *words)
        return f"{len(rows)} commands"


def an_address_in_use_is_named_with_the_remedy():
    with scratch() as folder, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        end = weft("run", RECIPE, "--listen", address, "--out", folder / "a", "--set",
                   "group.discovery=off")
        expect_end(end, 3, address, "--listen")


def too_little_memory_is_said_with_the_remedy():
    limited = ["sh", "-c", 'ulimit -v 900000; exec "$@"', "sh"]
    with scratch() as folder:
        # The first finds no room for the model, the second none for a step of it.
        for number, settings in enumerate((["model.hidden_units=65536"],
                                           ["run.global_batch=65536", "model.hidden_units=2048",
                                            "data.synthetic_samples=65536"])):
            end = weft("run", RECIPE, "--out", folder / str(number), "--threads", "1", *ALONE,
                       *[word for setting in settings for word in ("--set", setting)],
                       prefix=limited)
            expect_end(end, 3, "not enough memory")


# --- Runs.

def a_run_whose_loss_is_no_number_stops_with_seven():
    with scratch() as folder:
        end = weft("run", RECIPE, "--out", folder / "a", *ALONE, *RUINED)
        expect_end(end, 7, "is not a number")
        summary = json.loads((folder / "a/summary.json").read_text())
        first = summary["not_finite_round"]
        expect(summary["steps"] == first and summary["status"] == "stopped", f"{summary}")
        newest = folder / f"a/checkpoints/checkpoint-{first - 1}.safetensors"
        expect(newest.name in end.output, f"the last good checkpoint is not named: {end}")
        expect_end(weft("eval", newest), 0)
        end = weft("run", RECIPE, "--out", folder / "b", *ALONE, *RUINED, "--set",
                   "run.on_not_finite=go_on")
        expect_end(end, 7, "is not a number")
        summary = json.loads((folder / "b/summary.json").read_text())
        expect(summary["steps"] == 200 and summary["status"] == "finished", f"{summary}")
        newest = max((folder / "b/checkpoints").iterdir(),
                     key=lambda path: int(path.stem.split("-")[1]))
        expect(int(newest.stem.split("-")[1]) < first, f"a ruined checkpoint: {newest}")


def a_quorum_that_is_lost_is_five():
    with Group() as group:
        peers = group.start(3, {"run.steps": 1000000, "run.round_seconds_min": 0.02,
                                "group.discovery": "off", "group.quorum_timeout_s": 1})
        for peer in peers:
            peer.wait_round(3)
        for peer in peers[1:]:
            peer.kill()
        code = peers[0].end(60)
        errors = (peers[0].out / "stderr.txt").read_text()
        expect(code == 5 and "quorum" in errors, f"exit code {code}: {errors}")


def a_run_that_is_gone_before_its_state_came_is_six():
    with Group() as group:
        founder = group.found({"run.steps": 1000000, "run.round_seconds_min": 0.02,
                               "group.discovery": "off", "model.hidden_units": 8192})
        late = group.join(founder.ticket())
        founder.wait_kind("joiner_syncing")
        founder.kill()
        code = late.end(60)
        errors = (late.out / "stderr.txt").read_text()
        expect(code == 6 and "the run is gone" in errors, f"exit code {code}: {errors}")


def a_revoked_ticket_is_two_and_says_so():
    with Group() as group:
        founder = group.found({"run.steps": 1000000, "run.round_seconds_min": 0.02,
                               "group.discovery": "off"})
        tickets = [founder.ticket(), weft("ticket", founder.out).output.strip()]
        founder.wait_round(1)
        for number, subject in enumerate((tickets[0], "all")):
            expect_end(weft("revoke", founder.out, subject), 0)
            end = weft("join", tickets[number], "--out", group.path / f"late{number}", "--yes")
            expect_end(end, 2, "revoked")


def a_demo_that_does_not_end_as_it_should_is_one():
    with scratch() as folder:
        # It is over before anybody can be killed.
        end = weft("demo", "--recipe", RECIPE, "--set", "run.steps=1", "--out", folder / "demo",
                   seconds=120)
        expect(end.code == 1, f"expected exit code 1: {end}")
        expect("FAILED" in end.output and "nan" not in end.output, f"{end}")


# --- Ctrl-C: words within half a second, whatever the command is at.

ANSWER_S = 0.5


def answered(running, words, code):
    running.interrupt()
    running.wait_text(words, ANSWER_S)
    end = running.end(30)
    expect(end.code == code, f"expected exit code {code}: {end}")
    return end


def ctrl_c_ends_a_run_politely():
    with scratch() as folder:
        with Running(folder, "run", RECIPE, "--out", folder / "a", *ALONE, *ENDLESS) as running:
            running.wait_text("round 1/")
            end = answered(running, "weft: interrupted: this peer finishes its round", 130)
            expect("leaving politely and saving the state" in end.output, f"{end}")
        expect(list((folder / "a/checkpoints").iterdir()), "no checkpoint was kept")


def ctrl_c_on_a_terminal_leaves_its_words_standing():
    """The block that is redrawn in place begins anew below them."""
    with scratch() as folder:
        child, terminal = pty.fork()
        if child == 0:
            os.execve(command_line.WEFT, ["weft", "run", RECIPE, "--out", str(folder / "a"), *ALONE,
                                          *ENDLESS], {**os.environ, "TERM": "xterm"})
        shown, asked = b"", False
        with contextlib.suppress(OSError):  # EIO: the process has ended
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and select.select([terminal], [], [], 30)[0]:
                shown += os.read(terminal, 4096)
                # The block shows a round now and then, so any of them will do.
                if re.search(rb"round \d+/", shown) and not asked:
                    asked = True
                    os.kill(child, signal.SIGINT)
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL if time.monotonic() >= deadline else 0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        expect(code == 130, f"exit code {code}: {shown[-600:]}")
        after = shown.split(b"weft: interrupted: ", 1)[1].split(b"\n", 1)[1]
        expect(not after.startswith(b"\x1b["), f"the words were drawn over: {after[:200]}")


def ctrl_c_before_the_first_round_promises_nothing():
    with scratch() as folder:
        with Running(folder, "run", RECIPE, "--out", folder / "a", *ALONE, *ENDLESS, "--set",
                     "group.start_members=2") as running:
            running.wait_text("(founder)")
            end = answered(running, "weft: interrupted", 130)
            expect("saving" not in end.output and "loss 0" not in end.output, f"{end}")
            expect("samples/s" not in end.output, f"a speed that nobody measured: {end}")
        summary = json.loads((folder / "a/summary.json").read_text())
        expect(summary["samples_per_second"] is None and summary["final_loss"] is None, f"{summary}")


def ctrl_c_while_data_are_made_ready_ends_at_once():
    with scratch() as folder:
        wide = ["--set", "data.synthetic_samples=1048576"]
        with Running(folder, "run", RECIPE, "--out", folder / "a", *ALONE, *wide) as running:
            running.wait_handlers()
            answered(running, "weft: interrupted", 130)


def ctrl_c_while_nobody_answers_a_dial_ends_at_once():
    with scratch() as folder, Group() as group:
        founder = group.found({"run.steps": 1000000, "group.discovery": "off"})
        ticket = founder.ticket()
        founder.pause()
        with Running(folder, "join", ticket, "--out", folder / "late") as late:
            late.wait_text("asking the members of the run for its recipe, at 127.0.0.1:")
            answered(late, "weft: interrupted", 130)


def a_contender_that_is_refused_does_not_stop_the_others():
    with scratch() as folder:
        ahead = f"ahead: {RECIPE} local.steps=2 local.overlap=true local.outer=plain local.outer_rate=0.5"
        end = weft("compare", "--variant", ahead, RECIPE, "--seeds", "2", "--rounds", "2", "--peers",
                   "2", "--out", folder / "c")
        reason = "local.overlap: simulated rounds do not overlap; expected false"
        expect_end(end, 2, f"weft: ahead: {reason}")
        expect("synthetic_mlp, seed 2: accuracy" in end.output, f"{end}")
        expect(end.output.count("ahead, seed") == 1, f"it was tried again: {end}")
        expect(reason in (folder / "c/compare.html").read_text(), "the report has no reason")


def traces_of_machines_are_refused_by_line():
    with scratch() as folder:
        trace = folder / "trace.csv"
        sim = ["sim", RECIPE, "--peers", "3", "--rounds", "2"]
        trace.write_text("peer,time,event\n0,1,leave\n3,2,leave\n")
        expect_end(weft(*sim, "--churn", trace), 2,
                   f"weft: {trace}, line 3: expected a peer from 0 to 2, got '3'")
        trace.write_text("0,100\n0,200\n")
        expect_end(weft(*sim, "--speeds", trace), 2, f"{trace}, line 2: expected each peer once")
        expect_end(weft(*sim, "--speeds", folder / "none"), 2, "--speeds:", "no such file")
        expect_end(weft(*sim, "--churn", "leave=-1"), 2, "--churn: expected a rate")
        expect_end(weft(*sim, "--disrupt", "leave=all:1@1"), 2, "--disrupt: expected leave or data")
        expect_end(weft(*sim, "--disrupt", "leave=random:1@1"), 2, "group.exchange")
        expect_end(weft(*sim, "--replay", folder), 2, "--replay:", "no such file")


def ctrl_c_ends_a_comparison_and_what_is_done_stays():
    with scratch() as folder:
        command = ["compare", RECIPE, "--variant", f"long: {RECIPE} run.steps=1000000", "--seeds", "1",
                   "--peers", "2", "--set", "run.steps=3", "--out", folder / "c"]
        with Running(folder, *command) as running:
            running.wait_text("synthetic_mlp, seed 1: accuracy")
            answered(running, "weft: interrupted: the comparison ends", 130)
        expect("It was interrupted" in (folder / "c/compare.html").read_text(), "no report")
        expect(len(list((folder / "c/runs").iterdir())) == 1, "the result is gone")
        end = weft(*command[:2], *command[4:])
        expect(end.code == 0 and "(kept from before)" in end.output, f"{end}")


def ctrl_c_ends_eval_predict_and_demo():
    with scratch() as folder:
        checkpoint = train(folder, "--set", "data.synthetic_samples=1048576", "--set",
                           "run.evaluate=false", steps=2)
        commands = {
            "eval": ["eval", checkpoint],
            "predict": ["predict", checkpoint, rows_file(folder / "x.npy", rows=200000)],
            "export": ["export", checkpoint, "--onnx", folder / "x.onnx"],
        }
        for name, arguments in commands.items():
            with Running(folder, *arguments) as running:
                running.wait_handlers()
                running.interrupt()
                end = running.end(30)
                # It may have been done before.
                expect(end.code in (0, 130) and end.seconds < 2, f"{name}: {end}")
                expect(end.code == 0 or "weft: interrupted" in end.errors, f"{name}: {end}")
        with Running(folder, "demo", "--recipe", RECIPE, "--set", "run.steps=100000",
                     "--out", folder / "demo") as running:
            running.wait_text("peers train")
            end = answered(running, "weft: interrupted: the peers of the demo are ended", 130)
            for word in ("nan", "peer ?", "losing"):
                expect(word not in end.output, f"{word!r} in {end}")


# --- What is printed was measured.

def nothing_is_said_of_steps_that_were_not_taken():
    with scratch() as folder:
        train(folder, steps=5)
        end = weft("run", RECIPE, "--out", folder / "trained", *ALONE, "--steps", "3", "--resume")
        expect(end.code == 0 and "no step is left to train" in end.output, f"{end}")
        expect("loss" not in end.output.split("finished")[1], f"a loss that nobody saw: {end}")
        summary = json.loads((folder / "trained/summary.json").read_text())
        expect(summary["final_loss"] is None and summary["samples_per_second"] is None, f"{summary}")
        end = weft("run", RECIPE, "--out", folder / "fresh", *ALONE, "--steps", "3", "--resume")
        expect(end.code == 0 and "no checkpoint is in" in end.output, f"{end}")


def a_newcomer_is_told_that_it_joined_and_nobody_else():
    with Group() as group:
        founder, second = group.start(2, {"run.steps": 1000000, "run.round_seconds_min": 0.02,
                                          "group.discovery": "off"})
        for peer in (founder, second):
            peer.wait_round(3)
        names = {id(peer): peer.wait_kind("started")[1]["peer"] for peer in (founder, second)}
        late = group.join(founder.ticket())
        late.wait_round(1)
        own = late.wait_kind("started")[1]["peer"]
        late.drain()
        joined = [event for _, event in late.lines if event.get("kind") == "peer_joined"]
        expect([event["peer"] for event in joined] == [own], f"at the newcomer {joined}")
        expect(re.search(r"this peer takes part from round \d+ on, with 2 others",
                         joined[0]["text"]), f"{joined}")
        founder.wait_for(lambda e: e.get("kind") == "peer_joined" and e["peer"] == own,
                         "the newcomer, at the founder")
        founder.drain()
        told = [event["peer"] for _, event in founder.lines if event.get("kind") == "peer_joined"]
        expect(told == [names[id(second)], own], f"at the founder {told}")


def commands_on(page):
    lines = page.split("Commands:\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]


def every_help_page_offers_json():
    seen, pages = 0, [[]]
    while pages:
        words = pages.pop()
        page = weft(*words, "--help").output
        if "Commands:\n" in page:
            pages += [[*words, name] for name in commands_on(page)]
            continue
        seen += 1
        expect(words == ["help"] or "--json" in page, f"weft {' '.join(words)} has no --json")
    expect(seen >= 20, f"only {seen} commands were found")
    return f"{seen} commands"


def every_code_of_the_page_is_tested():
    """A code that the page gains needs a test above."""
    page = (ROOT / "docs/commands.md").read_text()
    table = page[page.index("## Exit codes"):]
    documented = {int(code) for code in re.findall(r"^\| \[(\d+)\]", table, re.M)}
    expect(documented == CODES, f"documented {sorted(documented)}, tested {sorted(CODES)}")


TESTS = {test.__name__: test for test in (
    each_command_ends_as_documented,
    an_address_in_use_is_named_with_the_remedy,
    too_little_memory_is_said_with_the_remedy,
    a_run_whose_loss_is_no_number_stops_with_seven,
    a_quorum_that_is_lost_is_five,
    a_run_that_is_gone_before_its_state_came_is_six,
    a_revoked_ticket_is_two_and_says_so,
    a_demo_that_does_not_end_as_it_should_is_one,
    ctrl_c_ends_a_run_politely,
    ctrl_c_on_a_terminal_leaves_its_words_standing,
    ctrl_c_before_the_first_round_promises_nothing,
    ctrl_c_while_data_are_made_ready_ends_at_once,
    ctrl_c_while_nobody_answers_a_dial_ends_at_once,
    a_contender_that_is_refused_does_not_stop_the_others,
    traces_of_machines_are_refused_by_line,
    ctrl_c_ends_a_comparison_and_what_is_done_stays,
    ctrl_c_ends_eval_predict_and_demo,
    nothing_is_said_of_steps_that_were_not_taken,
    a_newcomer_is_told_that_it_joined_and_nobody_else,
    every_help_page_offers_json,
    every_code_of_the_page_is_tested,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
