#!/usr/bin/env python3
"""A newcomer's trials of two machines by ticket: what each side is told, and what is refused.

usage: trials_groups_test.py [NAME ...]
"""
import json
import re
import sys

from command_line import RECIPE, ROOT, Running, expect, lines_of_json, main, scratch, weft
from small_data import sets, two_classes

sys.path.insert(0, str(ROOT / "tests/multi"))
from harness import Group, Peer, same_hashes  # noqa: E402

LONG = {"run.steps": 1000000, "run.round_seconds_min": 0.02, "group.discovery": "off"}


def end_of(peer, code, *words):
    got = peer.end(30)
    errors = (peer.out / "stderr.txt").read_text()
    expect(got == code, f"expected exit code {code}, got {got}: {errors}")
    for word in words:
        expect(word in errors, f"{word!r} is not said: {errors}")
    return errors


def in_words(folder, *arguments):
    """A command that prints for people, in a folder of its own."""
    folder.mkdir()
    return Running(folder, *arguments, "--out", folder / "out")


def ticket_of(running):
    running.wait_text("(founder)")  # the line behind it
    return re.search(r"weft join (weft\d-[a-z0-9]+)", running.texts()[0])[1]


def two_machines_train_together_by_a_pasted_line():
    """As README has it: the founder prints a line, the other pastes it, both have one state."""
    with scratch() as folder:
        settings = sets("run.steps=100", "run.round_seconds_min=0.02", "group.discovery=off")
        with in_words(folder / "a", "run", RECIPE, "--listen", "127.0.0.1:0", *settings) as first, \
                in_words(folder / "b", "join", ticket_of(first)) as second:
            for word in ("asking the members of the run for its recipe, at 127.0.0.1:",
                         "this peer takes part from round"):
                second.wait_text(word)
            ends = [first.end(), second.end()]
        expect([end.code for end in ends] == [0, 0], f"{ends[0]} {ends[1]}")
        states = {re.search(r", state (\w+)$", end.output, re.M)[1] for end in ends}
        expect(len(states) == 1, f"{states}")
        own = re.search(r"^peer (\w+) \(joiner\)", ends[1].output, re.M)[1]
        founder = re.search(r"^peer (\w+) \(founder\)", ends[0].output, re.M)[1]
        expect(f"peer {own} joined: it works from round" in ends[0].output, f"{ends[0]}")
        expect(f"peer {founder} joined" not in ends[1].output, f"the founder joined nobody: {ends[1]}")


def members_are_asked_invited_and_put_out():
    with Group() as group:
        founder, second = group.start(2, LONG)
        for peer in (founder, second):
            peer.wait_round(3)
        status = weft("status", founder.out)
        expect(status.code == 0 and "this peer" in status.output, f"{status}")
        expect(re.search(r"^round \d+/1000000  loss \S+  accuracy .*  2 peers .*  ETA ", status.output,
                         re.M), f"how far it is: {status}")
        json_status = lines_of_json(weft("status", founder.out, "--json").output)[0]
        expect(len(json_status["members"]) == 2, f"{json_status}")
        made = weft("ticket", founder.out)
        expect(re.match(r"weft\d-", made.output) and made.output.count("\n") == 1
               and "weft revoke" in made.errors, f"{made}")
        expect(weft("revoke", founder.out, made.output.strip()).code == 0, "revoke")
        doctor = weft("doctor", founder.ticket(), "--out", group.path / "d")
        expect(doctor.code == 0 and "no obstacle found" in doctor.output, f"{doctor}")
        name = second.wait_kind("started")[1]["peer"]
        voted = weft("expel", founder.out, name, "--reason", "wrong data")
        expect(voted.code == 0, f"{voted}")


def tickets_are_read_in_capitals_and_with_blanks():
    with Group() as group:
        founder = group.found(LONG)
        ticket = founder.ticket()
        for number, typed in enumerate((ticket.upper(), f"  {ticket} \n")):
            group.join(typed, name=f"typed{number}").wait_round(1)
        for typed in (ticket[:-1], ticket + "a", ticket.replace("weft", "waft", 1),
                      ticket[:50] + ("a" if ticket[50] != "a" else "b") + ticket[51:]):
            end = weft("join", typed, "--out", group.path / "x")
            expect(end.code == 2 and end.errors.startswith("weft: ticket: "), f"{typed[:60]}: {end}")


def what_two_members_told_of_a_revoked_ticket_is_said_first():
    with Group() as group:
        founder = group.found(LONG)
        ticket = founder.ticket()
        founder.wait_round(1)
        expect(weft("revoke", founder.out, ticket).code == 0, "revoke")
        end = weft("join", ticket, "--out", group.path / "late")
        said = end.errors.splitlines()[-1]
        expect(end.code == 2 and said.startswith("weft: ") and len(said) < 200, f"{end}")
        expect("no member of the ticket sent the recipe" not in said, f"{end}")


def an_attempt_that_is_refused_is_said_once():
    with scratch() as folder:
        settings = sets("run.steps=1000000", "run.round_seconds_min=0.02", "group.discovery=off")
        with in_words(folder / "a", "run", RECIPE, "--listen", "127.0.0.1:0", *settings) as running:
            ticket = ticket_of(running)
            running.wait_text("round 1/")
            expect(weft("revoke", folder / "a/out", ticket).code == 0, "revoke")
            expect(weft("join", ticket, "--out", folder / "late").code == 2, "it was let in")
            running.wait_text("refused")
            running.interrupt()
            end = running.end(30)
        said = re.findall(r"^.*refused.*$", end.output + end.errors, re.M)
        expect(len(said) == 1, f"{said}")


def a_table_that_differs_is_refused():
    with Group() as group:
        table = group.path / "t.csv"
        two_classes(table)
        for name in ("same", "other"):
            (group.path / f"{name}.csv").write_text(table.read_text())
        lines = table.read_text().splitlines()
        doubled = [f"{2 * float(line.split(',')[0])},{line.split(',', 1)[1]}" for line in lines[1:]]
        (group.path / "other.csv").write_text("\n".join([lines[0], *doubled]) + "\n")
        founder = group.found({**LONG, "run.steps": 100, "data.path": table, "data.target": "kind"},
                              recipe=str(ROOT / "recipes/rows_mlp.toml"))
        ticket = founder.ticket()
        for name in ("other", "same"):
            peer = Peer(["join", ticket, "--data", str(group.path / f"{name}.csv")],
                        group.path / name)
            group.peers.append(peer)
            if name == "other":
                end_of(peer, 2, "weft: ", "data.private")
        same_hashes([founder.finish(), peer.finish()])


def a_newcomer_without_the_data_is_told_whose_recipe_wants_which_file():
    with Group() as group:
        two_classes(group.path / "s.csv")
        founder = group.found({**LONG, "data.path": "s.csv", "data.target": "kind"},
                              recipe=str(ROOT / "recipes/rows_mlp.toml"),
                              environment={"WEFT_DATA_DIR": str(group.path)})
        ticket = founder.ticket()
        for place in (group.path / "nowhere", group.path / "empty"):
            if place.name == "empty":
                place.mkdir()
            peer = Peer(["join", ticket], group.path / f"late-{place.name}",
                        {"WEFT_DATA_DIR": str(place)})
            group.peers.append(peer)
            end_of(peer, 3, 'data.path: the run reads "s.csv" below the data folder', str(place),
                   "WEFT_DATA_DIR", "--data PATH")


def the_files_of_both_tell_who_joined():
    with Group() as group:
        founder = group.found({**LONG, "run.steps": 60})
        founder.wait_round(2)
        late = group.join(founder.ticket())
        founder.finish()
        late.finish()
        for out in (founder.out, late.out):
            joined = [event["peer"] for event in map(json.loads, (out / "events.jsonl").read_text()
                                                     .splitlines()) if event["kind"] == "peer_joined"]
            expect(joined == [late.wait_kind("started")[1]["peer"]], f"{out.name}: {joined}")


TESTS = {test.__name__: test for test in (
    two_machines_train_together_by_a_pasted_line,
    members_are_asked_invited_and_put_out,
    tickets_are_read_in_capitals_and_with_blanks,
    what_two_members_told_of_a_revoked_ticket_is_said_first,
    an_attempt_that_is_refused_is_said_once,
    a_table_that_differs_is_refused,
    a_newcomer_without_the_data_is_told_whose_recipe_wants_which_file,
    the_files_of_both_tell_who_joined,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
