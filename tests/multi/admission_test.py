#!/usr/bin/env python3
"""Who gets in, who is put out, and the commands that say so, with real processes.

usage: admission_test.py [NAME ...]
"""
import json
import sys

from harness import Group, expect, main, run_weft

PACED = {"run.steps": 100000, "run.round_seconds_min": 0.02}


def ask(*arguments):
    code, output, errors = run_weft(*arguments, "--json")
    expect(code == 0, f"weft {arguments[0]}: exit code {code}, {errors!r}")
    return json.loads(output)


def status_and_ticket_of_a_running_peer():
    with Group() as group:
        founder, member = group.start(2, PACED)
        member.wait_round(2)
        told = ask("status", str(member.out))
        expect(told["state"] == "member" and len(told["members"]) == 2, f"status: {told}")
        ticket = ask("ticket", str(member.out))
        third = group.join(ticket["ticket"])
        third.wait_round(1)
        expect(len(ask("status", str(founder.out))["members"]) == 3, "the third is not there")
        for peer in (third, member, founder):
            peer.interrupt()
        for peer in (third, member, founder):
            peer.end(20.0)
        code, _, errors = run_weft("status", str(founder.out))
        expect(code == 3 and "no peer runs there" in errors, f"{code}: {errors!r}")


def members_put_one_out_by_majority():
    with Group() as group:
        peers = group.start(4, PACED)
        for peer in peers:
            peer.wait_round(2)
        bad = peers[3]
        members = ask("status", str(bad.out))["members"]
        name = next(m["peer"] for m in members if m["self"])
        first = ask("expel", str(peers[0].out), name, "--reason", "a test of manners")
        expect("1 of 3 others" in first["text"], f"expel: {first}")
        peers[0].wait_round(peers[0].last_round() + 10)
        expect(len(ask("status", str(peers[0].out))["members"]) == 4, "one voice was enough")
        ask("expel", str(peers[1].out), name, "--reason", "the same")
        for peer in peers[:3]:
            _, left = peer.wait_kind("peer_left", 20.0)
            expect("a test of manners" in left["reason"] or "the same" in left["reason"],
                   f"the reason: {left}")
            peer.wait_kind("misconduct", 5.0)
            peer.wait_round(peer.last_round() + 3)
        code = bad.end(60.0)
        expect(code != 0, "the expelled peer ended as if all was well")
        errors = (bad.out / "stderr.txt").read_text()
        expect("put this peer out" in errors, f"the expelled is not told: {errors!r}")


def an_allow_list_takes_the_listed_keys_only():
    with Group() as group:
        ids = {}
        for name in ("founder", "listed"):
            code, output, errors = run_weft("id", str(group.path / name))
            expect(code == 0 and len(output.strip()) == 64, f"weft id: {errors!r}")
            ids[name] = output.strip()
        settings = {**PACED, "group.invite": "allowlist", "group.allow": " ".join(ids.values())}
        founder = group.found(settings, name="founder")
        ticket = founder.ticket()
        listed = group.join(ticket, name="listed")
        listed.wait_round(1)
        other = group.join(ticket, name="other")
        expect(other.end(60.0) != 0, "a peer that is not listed came in")
        errors = (other.out / "stderr.txt").read_text()
        expect("group.allow" in errors, f"the reason is not told: {errors!r}")
        founder.wait_round(founder.last_round() + 2)


def a_founder_must_be_on_its_own_list():
    with Group() as group:
        settings = {**PACED, "group.invite": "allowlist", "group.allow": "ab" * 32}
        founder = group.found(settings)
        expect(founder.end(30.0) == 2, "a founder that could never come back began a run")
        errors = (founder.out / "stderr.txt").read_text()
        expect("founder's own key" in errors, f"{errors!r}")


TESTS = {test.__name__: test for test in (
    status_and_ticket_of_a_running_peer,
    members_put_one_out_by_majority,
    an_allow_list_takes_the_listed_keys_only,
    a_founder_must_be_on_its_own_list,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
