#!/usr/bin/env python3
"""Damaged files, recipes of others and small disks, with real processes.

usage: files_test.py [NAME ...]
"""
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import time

from harness import (Group, Peer, RECIPE, WEFT, WeftProcess, expect, main, newest_checkpoint,
                     run_weft, same_hashes)
from checkpoint_files import in_the_old_form

QUIET = {"group.discovery": "off"}
DAMAGED = 4
UNAVAILABLE = 3
USAGE = 2


def settings_of(settings):
    return [f"--set={key}={value}" for key, value in settings.items()]


def offsets(path, every=97):
    """Of a safetensors file: from each part some, all of them multiples of `every`."""
    size = path.stat().st_size
    header = 8 + struct.unpack("<Q", path.read_bytes()[:8])[0]
    wanted = [0, 1, header // 5, header // 2, header - 1, header, (header + size) // 2,
              size - 4 * every, size - 1]
    return sorted({offset // every * every for offset in wanted})


@contextlib.contextmanager
def altered(path, offset):
    """The file with one byte changed, for as long as the context lasts."""
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[offset] ^= 0x40
    path.write_bytes(changed)
    try:
        yield
    finally:
        path.write_bytes(whole)


def trained(group, name="whole"):
    """The folder of a run of 60 steps, with the checkpoints of 20, 40 and 60."""
    founder = group.found({**QUIET, "run.steps": 60, "checkpoint.every_steps": 20,
                           "checkpoint.keep": 3}, name=name)
    return founder.out, founder.finish()


def an_altered_byte_is_refused_by_every_command():
    with Group() as group:
        out, summary = trained(group)
        newest = out / "checkpoints/checkpoint-60.safetensors"
        picture = group.path / "x.npy"
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 784), }"
        head = head.ljust(117) + b"\n"
        picture.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(3136))
        resume = ["run", RECIPE, "--out", str(out), "--listen", "127.0.0.1:0",
                  *settings_of({**QUIET, "run.steps": 60})]
        commands = {
            "eval": ["eval", str(newest)],
            "predict": ["predict", str(newest), str(picture)],
            "export": ["export", str(newest), "--safetensors", str(group.path / "w.safetensors")],
            "serve": ["serve", str(newest), "--port", "0"],
            "resume": [*resume, "--resume"],
        }
        places = offsets(newest)
        for offset in places:
            with altered(newest, offset):
                for name, command in commands.items():
                    code, _, errors = run_weft(*command)
                    expect(code == DAMAGED, f"{name}, byte {offset}: exit code {code}: {errors}")
                    expect(f"{newest}: " in errors, f"{name}, byte {offset}: no path: {errors}")
                    expect("take an older checkpoint" in errors, f"{name}: no remedy: {errors}")
                expect("--resume=older" in errors and "checkpoint-40" in errors,
                       f"byte {offset}: expected both ways to go on: {errors}")
        expect(newest.exists() and not list(out.glob("checkpoints/*.damaged")), "something was moved")
        expect(json.loads(run_weft("eval", str(newest), "--json")[1])["state_hash"]
               == summary["state_hash"], "the whole file is another one")
        with altered(newest, places[-1]):
            aside = newest.with_name(newest.name + ".damaged")
            code, output, errors = run_weft(*resume, "--resume=older")
            expect(code == 0, f"--resume=older: exit code {code}: {errors}")
            expect(aside.exists() and aside.name in output, f"not set aside: {output}")
            after = json.loads((out / "summary.json").read_text())
            expect(after["state_hash"] == summary["state_hash"], "another state after 60 steps")
        return f"{len(places)} places, {len(commands)} commands"


def the_only_checkpoint_is_damaged():
    with Group() as group:
        founder = group.found({**QUIET, "run.steps": 5})
        founder.finish()
        path = pathlib.Path(newest_checkpoint(founder.out))
        with altered(path, path.stat().st_size - 9):
            for flag in ("--resume", "--resume=older"):
                code, _, errors = run_weft("run", RECIPE, flag, "--out", str(founder.out),
                                           *settings_of(QUIET))
                expect(code == DAMAGED and "there is no older one in the folder" in errors, errors)
                expect(path.exists(), "the file was moved")


def a_damaged_state_is_not_offered_to_the_group():
    """All have died; the newest checkpoint of all is damaged, and the one before it the newest."""
    with Group() as group:
        paced = {**QUIET, "run.steps": 80, "checkpoint.every_steps": 10, "checkpoint.keep": 3,
                 "run.round_seconds_min": 0.05}
        first, second = group.start(2, paced)
        first.wait_round(33)
        first.kill()
        second.kill()
        for peer in (first, second):
            peer.process.wait(20)
        for path in first.out.glob("checkpoints/*.safetensors"):
            if int(path.stem.split("-")[1]) > 10:
                path.unlink()
        newest = max(second.out.glob("checkpoints/*.safetensors"),
                     key=lambda path: int(path.stem.split("-")[1]))
        older = int(newest.stem.split("-")[1]) - 10
        changed = bytearray(newest.read_bytes())
        changed[-1000] ^= 0x40
        newest.write_bytes(changed)
        again = Peer(["run", RECIPE, "--resume", "--listen", "127.0.0.1:0",
                      *settings_of({**paced, "group.start_members": 2})], first.out)
        group.peers.append(again)
        back = Peer(["join", again.ticket()], second.out)
        group.peers.append(back)
        note = back.wait_for(lambda e: e.get("kind") == "note" and ".damaged" in e["text"],
                             "a note of the damaged file")[1]["text"]
        expect(str(newest) in note, note)
        step = again.wait_kind("round", 40)[1]["step"]
        expect(step == older + 1, f"expected to go on after {older}, began with {step}")
        summaries = [peer.finish() for peer in (again, back)]
        same_hashes(summaries)
        expect(summaries[0]["test_accuracy"] > 0.9, f"a ruined model: {summaries[0]}")
        return f"went on after {older}"


def a_checkpoint_of_an_older_release_is_loaded_and_said_to_be_one():
    with Group() as group:
        out, summary = trained(group)
        newest = out / "checkpoints/checkpoint-60.safetensors"
        in_the_old_form(newest, lambda data: None)
        code, output, errors = run_weft("eval", str(newest), "--json")
        expect(code == 0 and json.loads(output)["state_hash"] == summary["state_hash"], errors)
        expect(f"{newest}: written by an older release, without digests" in errors, errors)


def not_a_number_is_neither_offered_nor_gone_on_from():
    def spoil(data):
        data[400:404] = struct.pack("<f", float("nan"))

    with Group() as group:
        out, _ = trained(group)
        newest = out / "checkpoints/checkpoint-60.safetensors"
        in_the_old_form(newest, spoil)
        code, _, errors = run_weft("run", RECIPE, "--resume", "--out", str(out),
                                   *settings_of({**QUIET, "run.steps": 60}))
        expect(code == DAMAGED and "expected finite numbers, got not a number" in errors
               and "--resume=older" in errors, f"{code}: {errors}")
        founder = group.found({**QUIET, "run.steps": 60, "group.start_members": 2})
        joiner = Peer(["join", founder.ticket()], out)
        group.peers.append(joiner)
        note = joiner.wait_for(lambda e: e.get("kind") == "note"
                               and "expected finite numbers" in e["text"], "a note of it")[1]["text"]
        expect(note.endswith(".damaged"), note)
        expect(founder.finish()["test_accuracy"] > 0.9, "a ruined model")


# --- Recipes of others.

def hostile_recipe(path, **more):
    return {**QUIET, "model.name": "char_gpt", "model.layers": 1, "model.embedding_width": 16,
            "model.heads": 2, "data.name": "text", "data.tokenizer": "byte", "data.context": 4,
            "data.path": path, "run.steps": 3000, "run.round_seconds_min": 0.02,
            "run.evaluate": "false", "run.global_batch": 2, **more}


def recipes_of_others_choose_no_files():
    with Group() as group:
        theirs, ours = group.path / "theirs", group.path / "ours"
        for folder in (theirs, ours):
            (folder / "data").mkdir(parents=True)
            (folder / "secret.txt").write_text("a key that nobody else has to know " * 4)
            (folder / "data/link.txt").symlink_to("../secret.txt")
            (folder / "data/text.txt").write_text("the quick brown fox jumps over it " * 4)
        places = {name: {"WEFT_DATA_DIR": str(folder / "data")}
                  for name, folder in (("theirs", theirs), ("ours", ours))}
        tried = ["/etc/hostname", "/etc/passwd", "../secret.txt", "link.txt",
                 "../../ours/secret.txt", str(ours / "data/text.txt")]
        for number, path in enumerate(tried):
            if path == "/etc/hostname" and pathlib.Path(path).stat().st_size < 8:
                path = "/etc/passwd"
            founder = group.found(hostile_recipe(path), name=f"founder{number}",
                                  environment=places["theirs"])
            ticket = founder.ticket()
            for name in ("refused", "with-yes"):
                flags = ["--yes"] if name == "with-yes" else []
                joiner = Peer(["join", ticket, *flags], group.path / f"{name}{number}",
                              places["ours"])
                group.peers.append(joiner)
                code = joiner.end(30)
                errors = (joiner.out / "stderr.txt").read_text()
                expect(code == USAGE, f"{path}: exit code {code}: {errors}")
                expect(f'names "{path}"' in errors and "--data FILE" in errors, errors)
            founder.drain()
            expect(not any(e.get("kind") == "peer_joined" for _, e in founder.lines),
                   f"{path}: somebody was let in")
            founder.kill()
        founder = group.found(hostile_recipe(str(theirs / "data/text.txt"), **{"run.steps": 40}),
                              name="chosen", environment=places["theirs"])
        ticket = founder.ticket()
        chosen = Peer(["join", ticket, "--data", str(ours / "data/text.txt")],
                      group.path / "choice", places["ours"])
        group.peers.append(chosen)
        same_hashes([founder.finish(), chosen.finish()])
        shown = (chosen.out / "stderr.txt").read_text()
        expect("what this run will use on this machine" in shown and "data/text.txt" in shown, shown)
        return f"{len(tried)} paths"


def whose_data_differ_is_told_and_changes_nothing():
    with Group() as group:
        text = "the quick brown fox jumps over it and the lazy dog runs on. " * 8
        theirs, same, other = (group.path / name for name in ("t.txt", "same.txt", "other.txt"))
        theirs.write_text(text)
        same.write_text(text)
        other.write_text(text.replace("quick brown", "brown quick"))
        founder = group.found(hostile_recipe(str(theirs), **{
            "run.steps": 200, "data.tokenizer": "character"}))
        ticket = founder.ticket()
        refused = Peer(["join", ticket, "--data", str(other)], group.path / "refused")
        group.peers.append(refused)
        code = refused.end(30)
        errors = (refused.out / "stderr.txt").read_text()
        expect(code == USAGE and "(text or tokens)" in errors and "data.private" in errors,
               f"exit code {code}: {errors}")
        joiner = Peer(["join", ticket, "--data", str(same)], group.path / "joiner")
        group.peers.append(joiner)
        same_hashes([founder.finish(), joiner.finish()])
        joined = sum(e.get("kind") == "peer_joined" for _, e in founder.lines)
        expect(joined == 1, f"{joined} peers were let in")


def local_peers_take_the_files_of_the_persons_own_recipe():
    with Group() as group:
        text = group.path / "my text.txt"
        text.write_text("the quick brown fox jumps over it " * 4)
        founder = group.found(hostile_recipe(str(text), **{"run.steps": 10}),
                              ["--peers", "2"])
        founder.finish()
        joined = json.loads((founder.out / "peer-2/summary.json").read_text())
        expect(joined["status"] == "finished", f"{joined}")


class Terminal:
    """A process whose standard input and error are a terminal."""

    def __init__(self, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([WEFT, *arguments], stdin=slave, stderr=slave,
                                        stdout=subprocess.DEVNULL, start_new_session=True)
        os.close(slave)
        self.text = ""

    def wait_for(self, pattern, seconds=30.0):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            expect(time.monotonic() < deadline, f"{pattern}: not seen; {self.text!r}")
            if select.select([self.master], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self.master, 4096).decode(errors="replace")
            elif self.process.poll() is not None:
                expect(False, f"{pattern}: it ended first; {self.text!r}")
        return self.text

    def answer(self, line):
        os.write(self.master, line.encode() + b"\n")

    def end(self, seconds=30.0):
        try:
            return self.process.wait(seconds)
        finally:
            os.close(self.master)

    def kill(self):
        self.process.kill()
        self.end()


def whoever_joins_is_asked_on_a_terminal():
    with Group() as group:
        founder = group.found({**QUIET, "run.steps": 3000, "run.round_seconds_min": 0.02,
                               "group.lone_survivor": "true"})
        ticket = founder.ticket()
        for number, (line, joins) in enumerate((("", False), ("n", False), ("y", True))):
            asked = Terminal("join", ticket, "--out", str(group.path / f"asked{number}"))
            shown = asked.wait_for(r"Take part\? \[y/N\]")
            for word in ("data ", "memory ", "time ", "network ", "files "):
                expect(f"  {word}" in shown, f"{word}: not in {shown}")
            founder.drain()
            expect(not any(e.get("kind") == "peer_joined" for _, e in founder.lines), "let in early")
            asked.answer(line)
            if not joins:
                code = asked.end()
                expect(code == 1, f"answer {line!r}: exit code {code}")
                continue
            founder.wait_kind("peer_joined")
            asked.kill()
        unasked = Terminal("join", ticket, "--yes", "--out", str(group.path / "unasked"))
        begun = len(founder.lines)
        founder.wait_for(lambda e: e.get("kind") == "peer_joined", "the second newcomer",
                         begin=begun)
        expect("Take part" not in unasked.text, unasked.text)
        unasked.kill()


def a_person_at_a_terminal_may_go_on_from_an_older_checkpoint():
    with Group() as group:
        out, summary = trained(group)
        newest = out / "checkpoints/checkpoint-60.safetensors"
        resume = ["run", RECIPE, "--resume", "--out", str(out), "--listen", "127.0.0.1:0",
                  *settings_of({**QUIET, "run.steps": 60})]
        changed = bytearray(newest.read_bytes())
        changed[-500] ^= 1
        newest.write_bytes(changed)
        for line, code in (("n", DAMAGED), ("y", 0)):
            person = Terminal(*resume)
            shown = person.wait_for(r"set the damaged file aside\? \[y/N\]")
            expect(newest.name in shown and "checkpoint-40" in shown, shown)
            person.answer(line)
            got = person.end()
            expect(got == code, f"answer {line!r}: exit code {got}")
        after = json.loads((out / "summary.json").read_text())
        expect(after["state_hash"] == summary["state_hash"], "another state after 60 steps")


# --- A small disk.

def may_mount():
    trial = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs",
                            "/mnt"], capture_output=True, check=False)
    return trial.returncode == 0


class SmallDisk(Peer):
    """A peer whose --out is a disk of 1 MB, which nobody else sees."""

    def __init__(self, arguments, out):
        script = 'mount -t tmpfs -o size=1m tmpfs "$1" && shift && exec "$@"'
        WeftProcess.__init__(self, ["unshare", "-m", "sh", "-c", script, "sh", str(out), WEFT,
                                    *arguments], out)


def a_state_that_fits_on_no_disk_is_not_said_to_be_there():
    if not may_mount():
        return "skipped: no mount namespaces"
    large = {**QUIET, "model.hidden_units": 1024, "run.steps": 20, "checkpoint.every_steps": 10,
             "group.start_members": 2}
    with Group() as group:
        def checked(small, code, steps):
            got = small.end()
            errors = (small.out / "stderr.txt").read_text()
            expect(got == code, f"exit code {got}: {errors}")
            expect(f"no checkpoint was written after step {steps}" in errors, errors)
            expect("No space left on device" in errors and "there is none" in errors, errors)

        founder = group.found(large, name="roomy")
        small = SmallDisk(["join", founder.ticket()], group.path / "small")
        group.peers.append(small)
        checked(small, UNAVAILABLE, 20)
        founder.finish()
        founder = SmallDisk(["run", RECIPE, "--listen", "127.0.0.1:0", *settings_of(large)],
                            group.path / "small-founder")
        group.peers.append(founder)
        joiner = group.join(founder.ticket())
        checked(founder, UNAVAILABLE, 20)
        joiner.finish()
        # Asked to leave: nothing was saved either.
        alone = SmallDisk(["run", RECIPE, "--listen", "127.0.0.1:0", *settings_of(
            {**large, "group.start_members": 1, "run.steps": 100000})], group.path / "left")
        group.peers.append(alone)
        alone.wait_round(5)
        os.killpg(alone.process.pid, signal.SIGINT)
        code = alone.end()
        errors = (alone.out / "stderr.txt").read_text()
        expect(code == UNAVAILABLE and "no checkpoint was written" in errors, f"{code}: {errors}")
    return ""


TESTS = {test.__name__: test for test in (
    an_altered_byte_is_refused_by_every_command,
    the_only_checkpoint_is_damaged,
    a_damaged_state_is_not_offered_to_the_group,
    a_checkpoint_of_an_older_release_is_loaded_and_said_to_be_one,
    not_a_number_is_neither_offered_nor_gone_on_from,
    recipes_of_others_choose_no_files,
    whose_data_differ_is_told_and_changes_nothing,
    local_peers_take_the_files_of_the_persons_own_recipe,
    whoever_joins_is_asked_on_a_terminal,
    a_person_at_a_terminal_may_go_on_from_an_older_checkpoint,
    a_state_that_fits_on_no_disk_is_not_said_to_be_there,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
