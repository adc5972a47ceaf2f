#!/usr/bin/env python3
"""The program as a citizen of the shell: help, mistakes, names, signals, tickets, addresses.

usage: shell_test.py [NAME ...]
"""
import contextlib
import fcntl
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
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multi"))
from harness import RECIPE, WEFT, Group, WeftProcess, expect, main, run_weft  # noqa: E402
from namespaces import forbidden, sh  # noqa: E402

# Outlives its test, which ends it.
LONG = {"run.steps": 100000, "run.round_seconds_min": 0.02}
LIMIT = 30.0


def weft_in(environment, *arguments):
    done = subprocess.run([WEFT, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def refused(arguments, *parts):
    got, output, errors = run_weft(*arguments)
    expect(got == 2, f"{arguments}: expected exit code 2, got {got}: {errors!r}")
    expect("weft: " not in output, f"{arguments}: a refusal went to standard output: {output!r}")
    expect(errors.startswith("weft: "), f"{arguments}: {errors!r}")
    for part in parts:
        expect(part in errors, f"{arguments}: expected {part!r} in {errors!r}")


def commands():
    """All commands by their words, as the help pages list them."""
    found = []
    for words in ([], ["data"], ["bench"]):
        _, page, _ = run_weft("help", *words)
        lines = page.split("Commands:\n", 1)[1].split("\n\n", 1)[0].splitlines()
        names = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
        found += [[*words, name] for name in names]
    return found


def the_program_alone_shows_how_to_begin():
    code, output, errors = run_weft()
    expect(code == 2 and output == "", f"{code}: {output!r}")
    expect(errors.count("\n  weft ") == 2, f"expected two examples: {errors!r}")
    expect("`weft help`" in errors, errors)


def help_is_where_people_look_for_it():
    for arguments in (["help"], ["--help"], ["-h"]):
        code, page, _ = run_weft(*arguments)
        expect(code == 0 and page.startswith("Usage: weft COMMAND"), f"{arguments}: {page!r}")
    pages = [run_weft(*arguments)[1] for arguments in
             (["help", "data", "get"], ["data", "get", "--help"], ["data", "get", "-h"])]
    expect(len(set(pages)) == 1 and "Usage: weft data get NAME" in pages[0], f"{pages}")
    refused(["help", "runn"], 'unknown command "runn"; did you mean "run"?')
    versions = {run_weft(argument)[1] for argument in ("-V", "--version", "version")}
    expect(len(versions) == 1 and versions.pop().startswith("weft "), f"{versions}")


def every_page_has_an_example_and_fits_its_window():
    for words in commands():
        for columns in ("40", "80", "100"):
            code, page, _ = weft_in({"COLUMNS": columns}, *words, "--help")
            expect(code == 0, f"{words}: {code}")
            expect("Examples:\n  weft " in page, f"{words} has no example: {page!r}")
            raw = re.findall(r"\b(?:U?INT|FLOAT)\b|\bin \[|\{", page)
            expect(not raw, f"{words}: {raw} in {page!r}")
            for line in page.splitlines():
                # A path or address is one word, however long.
                broken = len(line) <= int(columns) or len(line.split()) <= 3
                expect(broken, f"{words} at {columns}: {line!r}")
            for line in page.splitlines():
                expect(not line.strip().startswith("Of "), f"{words}: {line!r}")
    return f"{len(commands())} commands"


def a_page_is_as_wide_as_the_terminal():
    for wanted in (50, 90):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, wanted, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        process = subprocess.Popen([WEFT, "help", "run"], stdout=slave, env=environment)
        os.close(slave)
        page = ""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.2)[0]:
                continue
            try:
                page += os.read(master, 65536).decode()
            except OSError:
                break
        process.wait(LIMIT)
        os.close(master)
        widest = max(len(line) for line in page.replace("\r", "").splitlines())
        expect(wanted - 15 < widest <= wanted, f"{widest} columns of {wanted}: {page!r}")


def mistakes_are_named_as_they_were_typed():
    refused(["run", RECIPE, "--peers", "0"], '--peers: expected a whole number, 1 to 64, got "0"')
    refused(["run", RECIPE, "--steps", "99999999999999999999"], 'got "99999999999999999999"')
    refused(["run", RECIPE, "--steps", "1e308"], 'got "1e308"')
    refused(["serve", "x", "--port", "99999"], "0 to 65535")
    refused(["bench", "train", "--seconds", "nan"], '0.001 to 86400, got "nan"')
    refused(["bench", "train", "--seconds", "-1"], 'got "-1"')
    refused(["bench", "allreduce", "--repetitions", "-1"], "0 to 1000000")
    refused(["ticket", "nowhere", "--valid-h", "0"], "expected a number, 0.001 to 8760")
    refused(["run", RECIPE, "--threads", "1", "--threads", "1"], "--threads: expected once")
    refused(["run"], "RECIPE is missing", "`weft run --help`")
    refused(["data"], "expected a command: list, get, check")
    refused(["run", RECIPE, "--engine", "mpy"], "expected one of swarm, mpi")
    with Group() as group:
        empty = group.path / "empty.toml"
        empty.write_text("")
        refused(["run", str(empty)], "empty.toml: is empty")
        # A folder is somebody's own data, and this one has none.
        refused(["run", str(group.path)], f"{group.path}: is a folder, but holds no folders of images")
        refused(["run", str(group.path / "none.toml")], "No such file or directory")


def what_people_call_keys_is_understood():
    for typed, meant in (("optimizer.lr", "optimizer.learning_rate"),
                         ("lr", "optimizer.learning_rate"),
                         ("batch_size", "run.global_batch"), ("epochs", "run.steps"),
                         ("run.momentum", "optimizer.momentum")):
        refused(["run", RECIPE, "--set", f"{typed}=1"], f'did you mean "{meant}"?')
    refused(["run", RECIPE, "--lr", "0.1"], "did you mean --set optimizer.learning_rate=")


def names_and_paths_are_in_any_script():
    with Group() as group:
        folder = group.path / "Bücher 世界"
        folder.mkdir()
        table = folder / "übung.csv"
        table.write_text("a,b,kind\n" + "".join(f"{i},{i % 7},{'ja' if i % 2 else 'nein'}\n"
                                                for i in range(200)))
        recipe = str(pathlib.Path(RECIPE).parent / "rows_mlp.toml")
        code, _, errors = run_weft("run", recipe, "--steps", "2", "--set", f"data.path={table}",
                                   "--set", "data.target=kind", "--set", "run.name=ünï 世界 𝕏", "--listen", "127.0.0.1:0",
                                   "--out", str(group.path / "ausgäng"))
        expect(code == 0, f"{code}: {errors}")
    for name in ("a\x1b[31mred", "left\u202eright", "bell\x07", "csi\x9b31m"):
        code, output, errors = run_weft("run", RECIPE, "--set", f"run.name={name}")
        expect(code == 2 and "printable" in errors, f"{name!r}: {code} {errors!r}")
        expect(not set(output + errors) & set("\x1b\x07\x9b\u202e"), f"it got through: {errors!r}")
    # What is typed and what a file is called come back escaped as well.
    for arguments in (["run", "no\x1b[2Jsuch.toml"], ["ru\x1bn"], ["run", RECIPE, "--set", "\x1b=1"],
                      ["join", "\x1b[2J"], ["data", "get", "\x1b]0;t\x07"], ["eval", "\x1b[1m"]):
        _, output, errors = run_weft(*arguments)
        expect(not set(output + errors) & set("\x1b\x07"), f"{arguments}: {output + errors!r}")


def pasted_tickets_are_taken():
    with Group() as group:
        founder = group.found(LONG)
        ticket = founder.ticket()
        lines = "> " + "\n> ".join(ticket[at:at + 70] for at in range(0, len(ticket), 70))
        for number, pasted in enumerate((lines, f"<{ticket}>", f'"weft join {ticket}"')):
            peer = group.join(pasted, name=f"pasted{number}")
            peer.wait_round(1, LIMIT)
            peer.interrupt()
            peer.end(LIMIT)
        split = ["join", "weft", "join", ticket[:100], ticket[100:], "--out",
                 str(group.path / "words"), "--json"]
        process = subprocess.Popen([WEFT, *split], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   text=True)
        joined = any(json.loads(line).get("kind") == "round"
                     for line in iter(process.stdout.readline, ""))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
        expect(joined, "a ticket in several words was not taken")
        refused(["join", ticket[:150]], "cut or mistyped", "got 150 characters")
        refused(["join", "weft2-..."], "the whole line that `weft run` printed")
        return f"{len(ticket)} characters"


def a_revoked_ticket_is_said_to_be_revoked():
    with Group() as group:
        founder = group.found(LONG)
        ticket = founder.ticket()
        founder.wait_round(1)
        code, output, errors = run_weft("revoke", str(founder.out), f"weft join {ticket}")
        expect(code == 0, f"{code}: {output} {errors}")
        refused(["join", ticket, "--out", str(group.path / "b")],
                "refused: the members have revoked this ticket")
        code, other, errors = run_weft("ticket", str(founder.out), "--valid-h", "0.001")
        expect(code == 0 and "valid for 3 seconds" in errors, f"{code}: {errors!r}")
        code, other, errors = run_weft("ticket", str(founder.out))
        expect(code == 0 and "valid for 24.0 h" in errors, f"{code}: {errors!r}")
        code, output, errors = run_weft("revoke", str(founder.out), "all")
        expect(code == 0, f"{code}: {output} {errors}")
        refused(["join", other.strip(), "--out", str(group.path / "c")],
                "was altered, or was revoked with all others")


def processes_below(pid):
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (folder / "stat").read_text()
            if int(stat.rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(folder.name))
    return found


def is_there(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def wait_gone(pids, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while any(is_there(pid) for pid in pids):
        expect(time.monotonic() < deadline, f"still there after {seconds} s: {pids}")
        select.select([], [], [], 0.02)  # a look at the table of processes, not a wait for time


def group_of_three(group):
    founder = group.found(LONG, ["--peers", "3"])
    founder.wait_round(3, 60.0)
    children = processes_below(founder.process.pid)
    expect(len(children) == 2, f"expected two local peers, got {children}")
    return founder, children


def local_peers_end_and_save_when_their_parent_is_asked_to():
    for number in (signal.SIGINT, signal.SIGTERM):
        with Group() as group:
            founder, children = group_of_three(group)
            os.kill(founder.process.pid, number)  # to the parent alone, as kill and systemd do
            begun = time.monotonic()
            code = founder.end(LIMIT)
            expect(code == 130, f"expected exit code 130, got {code}; {founder.tail()}")
            wait_gone(children)
            took = time.monotonic() - begun
            expect(took < 25.0, f"it took {took:.1f} s: they were killed in the end")
            founder.drain()
            killed = [e for _, e in founder.lines if "was killed" in str(e.get("text"))]
            expect(not killed, f"{killed}")
            for folder in (founder.out, founder.out / "peer-2", founder.out / "peer-3"):
                expect(list(folder.glob("checkpoints/*.safetensors")), f"no state in {folder}")


def a_signal_that_reaches_all_of_them_is_still_polite():
    with Group() as group:
        founder, children = group_of_three(group)
        os.killpg(founder.process.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
        code = founder.end(LIMIT)
        expect(code == 130, f"expected exit code 130, got {code}; {founder.tail()}")
        wait_gone(children)
        for folder in (founder.out / "peer-2", founder.out / "peer-3"):
            expect(json.loads((folder / "summary.json").read_text())["status"] == "left",
                   f"{folder} did not leave politely")


def local_peers_do_not_outlive_their_parent():
    with Group() as group:
        founder, children = group_of_three(group)
        os.kill(founder.process.pid, signal.SIGKILL)
        founder.process.wait(LIMIT)
        wait_gone(children)
        for folder in (founder.out / "peer-2", founder.out / "peer-3"):
            expect(list(folder.glob("checkpoints/*.safetensors")),
                   f"no state in {folder}: {(folder / 'errors.txt').read_text()[-500:]!r}, "
                   f"{(folder / 'events.jsonl').read_text()[-700:]!r}")


def verbose_before_and_after_the_command():
    with Group() as group:
        tail = ["--steps", "2", "--listen", "127.0.0.1:0"]
        for number, arguments in enumerate((["-v", "run", RECIPE, *tail],
                                            ["run", RECIPE, *tail, "--verbose"])):
            code, output, errors = run_weft(*arguments, "--out", str(group.path / str(number)))
            expect(code == 0, f"{code}: {errors!r}")
            for part in ("weft ", "listens at 127.0.0.1:0", "started", "role"):
                expect(part in errors, f"expected {part!r} in {errors!r}")
            expect("weft2-" not in errors, "a ticket went into the log")
            expect("listens at" not in output, "the log went to standard output")


def doctor_tells_the_truth_about_a_loopback_listener():
    with Group() as group:
        code, output, _ = run_weft("doctor", "--json", "--listen", "127.0.0.1:0", "--out",
                                   str(group.path))
        steps = {f["step"]: f for f in map(json.loads, output.splitlines())}
        expect("reached from this machine" in steps["addresses"]["text"], f"{steps['addresses']}")
        expect("may reach" not in output, output)


@contextlib.contextmanager
def two_machines():
    """Two network namespaces, joined by a cable."""
    names = [f"weft-shell-{os.getpid()}-{side}" for side in "ab"]
    try:
        for name in names:
            sh("ip", "netns", "add", name)
        sh("ip", "link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable",
           "netns", names[1])
        for number, name in enumerate(names):
            sh("ip", "-n", name, "addr", "add", f"10.98.0.{number + 1}/24", "dev", "cable")
            for link in ("lo", "cable"):
                sh("ip", "-n", name, "link", "set", link, "up", "multicast", "on")
        yield names
    finally:
        for name in names:
            sh("ip", "netns", "del", name, check=False)


def a_loopback_listener_is_not_announced_to_other_machines():
    if reason := forbidden([["ip", "-V"]], []):
        return f"left out: {reason}"
    with two_machines() as (here, there), Group() as group:
        for number, (listen, expected) in enumerate((("127.0.0.1:0", {here}),
                                                     ("*:0", {here, there}))):
            name = f"run-{number}-{os.getpid()}"
            settings = {**LONG, "run.name": name, "group.invite": "open"}
            sets = [f"--set={key}={value}" for key, value in settings.items()]
            founder = WeftProcess(["ip", "netns", "exec", here, WEFT, "run", RECIPE, "--listen",
                                   listen, *sets], group.path / name)
            group.peers.append(founder)
            founder.wait_round(3)
            found = set()
            for machine in (here, there):
                page = sh("ip", "netns", "exec", machine, WEFT, "doctor", "--json", "--out",
                          str(group.path), check=False).stdout
                steps = {f["step"]: f for f in map(json.loads, page.splitlines())}
                found |= {machine} if name in steps["local network"]["text"] else set()
            expect(found == expected, f"--listen {listen}: found from {found}, not {expected}")
            founder.stop()
    return ""


def missing_data_says_where_it_is_offered():
    with Group() as group:
        nowhere = {"WEFT_DATA_DIR": str(group.path), "HOME": str(group.path)}
        code, output, _ = weft_in(nowhere, "data", "get", "cifar10")
        expect(code == 3, f"{code}")
        for part in ("https://www.cs.toronto.edu/~kriz/cifar.html",
                     "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "170052171 bytes",
                     "SHA-256 c4a38c50a1bc5f3a", f"tar -xzf cifar-10-binary.tar.gz -C {group.path}"):
            expect(part in output, f"expected {part!r} in {output!r}")
        _, output, _ = weft_in(nowhere, "data", "get", "mnist")
        expect(output.count("SHA-256") == 4, output)


TESTS = {test.__name__: test for test in (
    the_program_alone_shows_how_to_begin,
    help_is_where_people_look_for_it,
    every_page_has_an_example_and_fits_its_window,
    a_page_is_as_wide_as_the_terminal,
    mistakes_are_named_as_they_were_typed,
    what_people_call_keys_is_understood,
    names_and_paths_are_in_any_script,
    pasted_tickets_are_taken,
    a_revoked_ticket_is_said_to_be_revoked,
    local_peers_end_and_save_when_their_parent_is_asked_to,
    a_signal_that_reaches_all_of_them_is_still_polite,
    local_peers_do_not_outlive_their_parent,
    verbose_before_and_after_the_command,
    doctor_tells_the_truth_about_a_loopback_listener,
    a_loopback_listener_is_not_announced_to_other_machines,
    missing_data_says_where_it_is_offered,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
