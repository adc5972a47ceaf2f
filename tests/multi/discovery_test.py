#!/usr/bin/env python3
"""How peers find a run: on the local network, and with a ticket out of date.

usage: discovery_test.py [NAME ...]
"""
import contextlib
import json
import os
import secrets
import subprocess
import time

import harness
from harness import Group, Peer, expect, main, run_weft, same_hashes
from ticket_line import Ticket

SHORT = {"run.steps": 60}
# Outlives its test, which ends it.
LONG = {"run.steps": 20000, "run.round_seconds_min": 0.02}


def doctor(*arguments):
    """Exit code and {step: finding} of `weft doctor`."""
    code, output, errors = run_weft("doctor", "--json", *arguments, seconds=120)
    findings = [json.loads(line) for line in output.splitlines()]
    expect(findings, f"expected findings, got nothing; {errors}")
    for finding in findings:
        expect(finding["result"] != "FAILED" or finding["remedy"], f"no remedy: {finding}")
    return code, {finding["step"]: finding for finding in findings}


def open_run(group, name, settings=None):
    """A founder whose run is found by `name`; None where the machine has no multicast."""
    founder = group.found({"run.name": name, "group.invite": "open", **LONG, **(settings or {})})
    founder.ticket()
    lan = doctor("--out", str(group.path))[1]["local network"]
    return founder if name in lan["text"] else None


def unique_name():
    return f"run-{secrets.token_hex(4)}"


def joiner(group, arguments):
    peer = Peer(["join", "--listen", "127.0.0.1:0", *arguments], group.path / "joiner")
    group.peers.append(peer)
    return peer


def an_open_run_is_joined_without_a_ticket():
    with Group() as group:
        name = unique_name()
        founder = open_run(group, name, {"group.start_members": 2, **SHORT})
        if founder is None:
            return "left out: no multicast here"
        peers = [founder, joiner(group, ["--run", name])]
        same_hashes([peer.finish() for peer in peers])
    return ""


def a_closed_run_is_listed_and_asks_for_its_ticket():
    with Group() as group:
        name = unique_name()
        founder = open_run(group, name, {"group.invite": "ticket"})
        if founder is None:
            return "left out: no multicast here"
        code, _, errors = run_weft("join", "--run", name)
        expect(code == 2 and "needs a ticket" in errors, f"got {code}: {errors}")
    return ""


def a_hidden_run_is_not_found():
    with Group() as group:
        name = unique_name()
        expect(open_run(group, name, {"group.discovery": "off"}) is None, f"{name} answered")
        code, _, errors = run_weft("join", "--run", name)
        expect(code == 3, f"expected exit code 3, got {code}: {errors}")


def a_ticket_out_of_date_is_mended_on_the_local_network():
    with Group() as group:
        name = unique_name()
        founder = open_run(group, name,
                           {"group.invite": "ticket", "group.start_members": 2, **SHORT})
        if founder is None:
            return "left out: no multicast here"
        peers = [founder, joiner(group, [Ticket(founder.ticket()).through(1)])]
        same_hashes([peer.finish() for peer in peers])
    return ""


@contextlib.contextmanager
def two_machines():
    """Two network namespaces with a cable between them; None where those may not be made."""
    names = [f"weft-find-{os.getpid()}-{number}" for number in (1, 2)]
    made = []
    try:
        for name in names:
            done = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
            if done.returncode != 0:
                yield None
                return
            made.append(name)
        ip("-n", names[0], "link", "add", "cable", "type", "veth", "peer", "name", "cable",
           "netns", names[1])
        for number, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"192.168.77.{number}/24", "dev", "cable")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "cable", "up")
        yield names
    finally:
        for name in made:
            ip("netns", "del", name)


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"ip {arguments}: {done.stderr}")


def a_run_of_another_machine_is_found():
    program = harness.WEFT
    with two_machines() as machines, Group() as group:
        if machines is None:
            return "left out: no network namespaces here"
        name = unique_name()
        settings = {"run.name": name, "group.invite": "open", "group.start_members": 2, **SHORT}
        sets = [f"--set={key}={value}" for key, value in settings.items()]
        harness.WEFT = "ip"
        try:
            commands = (["run", harness.RECIPE, *sets], ["join", "--run", name])
            for machine, command in zip(machines, commands):
                peer = Peer(["netns", "exec", machine, program, *command], group.path / machine)
                group.peers.append(peer)
                if command[0] == "run":
                    peer.ticket()
        finally:
            harness.WEFT = program
        same_hashes([peer.finish() for peer in group.peers])
    return ""


def inside(machine, *arguments, seconds=60):
    """run_weft() on one of two_machines()."""
    done = subprocess.run(["ip", "netns", "exec", machine, harness.WEFT, *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False)
    return done.returncode, done.stdout, done.stderr


def examined(machine, code):
    """What `weft doctor` on that machine says of a ticket or code."""
    output = inside(machine, "doctor", code, "--json", seconds=120)[1]
    return next(finding for finding in map(json.loads, output.splitlines())
                if finding["step"] == "ticket")


def peer_inside(group, machine, *command):
    """A peer on one of two_machines()."""
    program, harness.WEFT = harness.WEFT, "ip"
    try:
        peer = Peer(["netns", "exec", machine, program, *command],
                    group.path / f"peer-{len(group.peers)}")
    finally:
        harness.WEFT = program
    group.peers.append(peer)
    return peer


def run_command(**settings):
    settings = {"run.name": unique_name(), **settings}
    return ["run", harness.RECIPE, *(f"--set={key}={value}" for key, value in settings.items())]


def another_letter(code):
    """The code with its first letter altered, and its check: one that nobody has issued."""
    symbols = "0123456789abcdefghjkmnpqrstvwxyz"
    values = [symbols.index(letter) for letter in code.replace("-", "")][:17]
    values[0] ^= 1
    check = 0
    for value in values:
        check = (check ^ value) * 2
        check = check ^ 0x25 if check > 31 else check
    return "".join(symbols[value] for value in [*values, check])


NOBODY = "nobody on this network answers"


def a_machine_of_the_same_network_joins_by_a_code():
    with two_machines() as machines, Group() as group:
        if machines is None:
            return "left out: no network namespaces here"
        founder = peer_inside(group, machines[0],
                              *run_command(**{"group.start_members": 2, **SHORT}))
        code = founder.wait_kind("ticket")[1]["code"]
        # Mistyped: said at once, by the code alone. Another one: after everybody was asked.
        wrong = another_letter(code)
        told = inside(machines[1], "join", wrong[0] + code.replace("-", "")[1:])
        expect(told[0] == 2 and "letter by letter" in told[2], f"got {told}")
        begun = time.monotonic()
        told = inside(machines[1], "join", wrong)
        expect(told[0] == 3 and NOBODY in told[2], f"got {told}")
        expect("weft ticket OUT --code" in told[2], f"no remedy in {told[2]}")
        expect(time.monotonic() - begun < 15.0, "the answer took long")
        # As it is typed: capitals, blanks.
        joiner = peer_inside(group, machines[1], "join", *code.upper().split("-"))
        same_hashes([peer.finish() for peer in (founder, joiner)])
    return ""


def a_code_ends_with_its_ticket():
    with two_machines() as machines, Group() as group:
        if machines is None:
            return "left out: no network namespaces here"
        founder = peer_inside(group, machines[0], *run_command(**LONG))
        founder.ticket()
        out = str(founder.out)
        status, made, told = run_weft("ticket", out, "--code", "--json")
        expect(status == 0, f"weft ticket --code: {told}")
        made = json.loads(made)
        found = examined(machines[1], made["code"])
        expect(found["result"] == "ok", f"expected a good ticket, got {found}")
        status, _, told = run_weft("revoke", out, made["invitation"])
        expect(status == 0, f"weft revoke: {told}")
        gone_soon(machines[1], made["code"], group.path / "revoked")
        # One that is over.
        status, made, told = run_weft("ticket", out, "--code", "--valid-h", "0.001")
        expect(status == 0, f"weft ticket --code: {told}")
        line, code = made.split()
        expect(line.startswith("weft2-"), f"expected the ticket, then the code, got {made}")
        expect("weft revoke" in told, f"how it is taken back is not said: {told}")
        gone_soon(machines[1], code, group.path / "over", ticket_may_be_good=True)
    return ""


def gone_soon(machine, code, out, ticket_may_be_good=False):
    """Until nobody answers to the code any more; what it gave until then lets nobody in."""
    deadline = time.monotonic() + 60.0
    while True:
        if ticket_may_be_good:
            told = examined(machine, code)["text"]
        else:
            status, _, told = inside(machine, "join", code, "--out", str(out))
            expect(status in (2, 3), f"a code that is void let somebody in: {status}, {told}")
        if NOBODY in told:
            return
        expect(time.monotonic() < deadline, f"the code is still answered to: {told}")


def what_is_hidden_or_of_one_machine_has_no_code_for_others():
    with two_machines() as machines, Group() as group:
        if machines is None:
            return "left out: no network namespaces here"
        hidden = peer_inside(group, machines[0],
                             *run_command(**{"group.discovery": "off", **LONG}))
        event = hidden.wait_kind("ticket")[1]
        expect("code" not in event, f"a hidden run has a code: {event}")
        status, _, told = run_weft("ticket", str(hidden.out), "--code")
        expect(status == 3 and 'group.discovery = "off"' in told, f"got {status}: {told}")
        local = peer_inside(group, machines[0], *run_command(**LONG), "--listen", "127.0.0.1:0")
        code = local.wait_kind("ticket")[1]["code"]
        near = examined(machines[0], code)
        expect(near["result"] == "ok", f"expected an answer on the same machine, got {near}")
        far = examined(machines[1], code)
        expect(far["result"] == "FAILED" and NOBODY in far["text"], f"got {far}")
    return ""


def a_run_is_chosen_from_the_list():
    with Group() as group:
        name = unique_name()
        founder = open_run(group, name, {"group.start_members": 2, **SHORT})
        if founder is None:
            return "left out: no multicast here"
        out = group.path / "chooser"
        chooser = subprocess.Popen(
            [harness.WEFT, "join", "--listen", "127.0.0.1:0", "--out", str(out)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            line = next(line for line in chooser.stderr if name in line)
            # Other runs may be on this network.
            chooser.stdin.write(line.split()[0] + "\n")
            chooser.stdin.close()
            founder.finish()
            expect(chooser.wait(60) == 0, f"expected exit code 0, got {chooser.returncode}")
        finally:
            chooser.kill()
            chooser.wait()
            chooser.stderr.close()
        hashes = {json.loads((folder / "summary.json").read_text())["state_hash"]
                  for folder in (founder.out, out)}
        expect(len(hashes) == 1, f"expected one state hash, got {hashes}")
    return ""


if __name__ == "__main__":
    raise SystemExit(main({test.__name__: test for test in (
        an_open_run_is_joined_without_a_ticket,
        a_run_of_another_machine_is_found,
        a_closed_run_is_listed_and_asks_for_its_ticket,
        a_hidden_run_is_not_found,
        a_ticket_out_of_date_is_mended_on_the_local_network,
        a_machine_of_the_same_network_joins_by_a_code,
        a_code_ends_with_its_ticket,
        what_is_hidden_or_of_one_machine_has_no_code_for_others,
        a_run_is_chosen_from_the_list,
    )}))
