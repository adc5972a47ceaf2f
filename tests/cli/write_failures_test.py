#!/usr/bin/env python3
"""What is not written is never a success: every command that writes, where writing fails.

usage: write_failures_test.py [NAME ...]

Small disks are mounted in namespaces of their own; where that is not allowed those tests are
skipped, and say so.
"""
import contextlib
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys

from command_line import (ALONE, RECIPE, Running, expect, main, rows_file, scratch, train,
                          weft)

UNAVAILABLE = 3
FULL = "No space left on device"
LARGE = ["--set", "model.hidden_units=1024"]


def expect_failure(end, *words):
    """Any code but 0, no end by a signal, and the reason on standard error."""
    expect(end.code == UNAVAILABLE, f"expected exit code {UNAVAILABLE}: {end}")
    for word in words:
        expect(word in end.errors, f"{word!r} is not said on standard error: {end}")


def may_mount():
    trial = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs",
                            "/mnt"], capture_output=True, check=False)
    return trial.returncode == 0


def on_small_disk(folder, size, fill=False):
    """What starts a command that sees a tmpfs of `size` at `folder`; nobody else does."""
    script = f'mount -t tmpfs -o size={size} tmpfs "{folder}" && '
    if fill:
        script += f'{{ head -c 64m /dev/zero > "{folder}/filler" 2>/dev/null; true; }} && '
    return ["unshare", "-m", "sh", "-c", script + 'exec "$@"', "sh"]


def writers(checkpoint, rows, target):
    """Every command that writes a file of a name that a person gives, and the file."""
    return {
        "predict --out": (["predict", checkpoint, rows, "--out", target / "y.npy"],
                          target / "y.npy"),
        "export --onnx": (["export", checkpoint, "--onnx", target / "m.onnx"], target / "m.onnx"),
        "export --safetensors": (["export", checkpoint, "--safetensors", target / "w.safetensors"],
                                 target / "w.safetensors"),
    }


def printers(checkpoint, rows):
    """Every command that prints."""
    return [["--help"], ["run", "--help"], ["--version"], ["version"], ["methods"], ["recipe"],
            ["events"], ["data", "list"], ["data", "list", "--json"], ["data", "get", "synthetic"],
            ["eval", checkpoint], ["eval", checkpoint, "--json"], ["predict", checkpoint, rows],
            ["predict", checkpoint, rows, "--json"], ["id", checkpoint.parents[1]],
            ["bench", "train", "--model", "mlp", "--seconds", "0.1"]]


# --- Standard output.

def a_full_standard_output_is_named_by_every_command():
    with scratch() as folder:
        checkpoint = train(folder)
        commands = printers(checkpoint, rows_file(folder / "x.npy"))
        for command in commands:
            with open("/dev/full", "wb") as full:
                expect_failure(weft(*command, output=full), f"weft: standard output: {FULL}")
        for json_flag in ([], ["--json"]):
            with open("/dev/full", "wb") as full:
                end = weft("run", RECIPE, "--out", folder / "run", "--steps", "3", *ALONE,
                           *json_flag, output=full)
            expect_failure(end, f"weft: standard output: {FULL}", "the run goes on",
                           "run/events.jsonl")
            expect(json.loads((folder / "run/summary.json").read_text())["steps"] == 3, "no end")
        return f"{len(commands)} commands and runs"


def a_closed_standard_output_is_no_file_of_ours():
    """With descriptor 1 closed, the first file or connection would get its number."""
    closed = ["sh", "-c", 'exec "$@" >&-', "sh"]
    with scratch() as folder:
        checkpoint = train(folder)
        for command in printers(checkpoint, rows_file(folder / "x.npy")):
            expect_failure(weft(*command, prefix=closed), "weft: standard output: Bad file")
        end = weft("run", RECIPE, "--out", folder / "run", "--steps", "3", *ALONE, prefix=closed)
        expect_failure(end, "weft: standard output: Bad file", "the run goes on")
        for line in (folder / "run/events.jsonl").read_text().splitlines():
            json.loads(line)
        expect((folder / "run/.lock").stat().st_size == 0, "the lock has text in it")
        expect(list((folder / "run/checkpoints").iterdir()), "no checkpoint")


def a_reader_that_left_ends_the_output_and_not_the_run():
    with scratch() as folder:
        code = folder / "code"
        # The command begins once the reader has left.
        script = (f'mkfifo "{folder}/left"; {{ read word < "{folder}/left"; "$@"; '
                  f'echo $? > "{code}"; }} | {{ exec < /dev/null; echo x > "{folder}/left"; }}; '
                  f'rm "{folder}/left"')
        gone = ["sh", "-c", script, "sh"]
        weft("recipe", prefix=gone)
        expect(code.read_text().strip() == str(UNAVAILABLE), f"recipe: {code.read_text()}")
        end = weft("run", RECIPE, "--out", folder / "run", "--steps", "3", *ALONE, prefix=gone)
        expect(code.read_text().strip() == "0", f"run: {code.read_text()} {end}")
        expect("the run goes on; its events are in" in end.errors, f"{end}")
        expect(list((folder / "run/checkpoints").iterdir()), "no checkpoint")


# --- Files.

def devices(folder):
    """(what behaves as /dev/full, as /dev/null): of the test's own where it could be replaced."""
    if os.geteuid() != 0:
        return "/dev/full", "/dev/null"
    made = []
    for name, minor in (("full", 7), ("null", 3)):
        os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        made.append(str(folder / name))
    return tuple(made)


def a_device_is_written_to_and_not_replaced():
    with scratch() as folder:
        checkpoint = train(folder)
        rows = rows_file(folder / "x.npy")
        places = devices(folder)
        for name, (command, target) in writers(checkpoint, rows, folder).items():
            for device, code in zip(places, (UNAVAILABLE, 0)):
                end = weft(*[device if word == target else word for word in command])
                expect(end.code == code, f"{name} {device}: {end}")
                expect(code == 0 or FULL in end.errors, f"{name} {device}: {end}")
                expect(stat.S_ISCHR(os.stat(device).st_mode), f"{name} has replaced {device}")
        queue = folder / "queue"
        os.mkfifo(queue)
        with subprocess.Popen(["cat", queue], stdout=subprocess.PIPE) as reader:
            end = weft("export", checkpoint, "--safetensors", queue)
            expect(end.code == 0 and len(reader.stdout.read()) > 1000, f"a queue: {end}")
        expect(stat.S_ISFIFO(os.stat(queue).st_mode), "the queue was replaced")


def nothing_that_is_read_or_there_is_overwritten():
    with scratch() as folder:
        checkpoint = train(folder)
        rows = rows_file(folder / "x.npy")
        link = folder / "link.safetensors"
        link.symlink_to(checkpoint)
        before = checkpoint.read_bytes()
        for name, (command, target) in writers(checkpoint, rows, folder).items():
            for own in (checkpoint, link, folder / "." / link.name):
                end = weft(*[own if word == target else word for word in command], "--force")
                expect(end.code == 2 and "choose another name" in end.errors, f"{name}: {end}")
            target.write_text("mine")
            end = weft(*command)
            expect(end.code == 2 and "--force" in end.errors, f"{name}: {end}")
            expect(target.read_text() == "mine", f"{name} has overwritten a file")
            end = weft(*command, "--force")
            expect(end.code == 0 and target.stat().st_size > 100, f"{name}: {end}")
        end = weft("predict", checkpoint, rows, "--out", rows, "--force")
        expect(end.code == 2, f"its input: {end}")
        end = weft("export", folder / "trained", "--safetensors", checkpoint, "--force")
        expect(end.code != 0 and checkpoint.read_bytes() == before, f"of a run's folder: {end}")
        both = folder / "both"
        end = weft("export", checkpoint, "--onnx", both, "--safetensors", both)
        expect(end.code == 2 and not both.exists(), f"one name for two files: {end}")
        expect(checkpoint.read_bytes() == before, "the checkpoint was changed")


def files_of_others_in_the_folder_of_a_run_stay():
    with scratch() as folder:
        for name in ("summary.json", "events.jsonl"):
            out = folder / name.split(".")[0]
            out.mkdir()
            (out / name).write_text("mine\n")
            end = weft("run", RECIPE, "--out", out, "--steps", "3", *ALONE)
            expect_failure(end, name, "choose another --out")
            expect((out / name).read_text() == "mine\n", "it was written to")
            expect([path.name for path in out.iterdir()] == [name], "something was left there")


def a_folder_that_may_not_be_written_to_is_named():
    if not may_mount():
        return "skipped: no mount namespaces"
    with scratch() as folder:
        checkpoint = train(folder)
        rows = rows_file(folder / "x.npy")
        locked = folder / "locked"
        locked.mkdir()
        prefix = ["unshare", "-m", "sh", "-c",
                  f'mount -t tmpfs -o ro tmpfs "{locked}" && exec "$@"', "sh"]
        for name, (command, target) in writers(checkpoint, rows, locked).items():
            end = weft(*command, prefix=prefix)
            expect_failure(end, f"{target}: cannot create: Read-only file system")
            expect(".tmp" not in end.errors, f"{name}: a name of ours: {end}")
        end = weft("run", RECIPE, "--out", locked / "run", *ALONE, prefix=prefix)
        expect_failure(end, f"{locked}/run: cannot be made", "choose another --out")
        end = weft("id", locked / "peer", prefix=prefix)
        expect_failure(end, str(locked))
        return ""


def the_default_folder_is_named_and_not_its_hundredth_try():
    if not may_mount():
        return "skipped: no mount namespaces"
    with scratch() as folder:
        prefix = ["unshare", "-m", "sh", "-c",
                  f'mount -t tmpfs -o ro tmpfs "{folder}" && cd "{folder}" && exec "$@"', "sh"]
        end = weft("run", RECIPE, *ALONE, prefix=prefix)
        expect_failure(end, "weft-runs/synthetic_mlp: cannot be made")
        expect("-100" not in end.errors, f"{end}")
        return ""


def a_full_disk_is_no_success():
    if not may_mount():
        return "skipped: no mount namespaces"
    with scratch() as folder:
        checkpoint = train(folder)
        rows = rows_file(folder / "x.npy", rows=2000)
        disk = folder / "disk"
        disk.mkdir()
        for name, (command, _) in writers(checkpoint, rows, disk).items():
            check = on_small_disk(disk, "64k", fill=True)
            end = weft(*command, prefix=check)
            expect_failure(end, FULL)
            expect(".tmp" not in end.errors, f"{name}: a name of ours: {end}")
        # Whatever found room before, no state did.
        for size in ("16k", "64k", "128k", "256k"):
            end = weft("run", RECIPE, "--steps", "30", "--out", disk / "x", *ALONE, *LARGE,
                       "--set", "checkpoint.every_steps=10", prefix=on_small_disk(disk, size))
            expect_failure(end, FULL)
            expect(size == "16k" or "no checkpoint was written after step 30" in end.errors,
                   f"{size}: {end}")
        expect("weft: no checkpoint after step 10" in end.errors, f"not said at its step: {end}")
        return ""


def compared(out, *arguments):
    return ["compare", RECIPE, "--seeds", "2", "--rounds", "3", "--peers", "2", "--out", out,
            *arguments]


def a_comparison_that_finds_no_room_keeps_what_it_has():
    if not may_mount():
        return "skipped: no mount namespaces"
    with scratch() as folder:
        disk = folder / "disk"
        disk.mkdir()
        # Results of runs have about 2 kB, the report has some 60.
        for size in ("8k", "24k", "48k"):
            end = weft(*compared(disk / "c"), prefix=on_small_disk(disk, size))
            expect_failure(end, FULL, f"{disk}/c/")
            expect(".tmp" not in end.errors, f"a name of ours: {end}")
            if size != "8k":
                expect("accuracy" in end.output and "results of earlier runs are kept" in end.errors,
                       f"{size}: the results are nowhere: {end}")
        return ""


def a_full_standard_output_does_not_stop_a_comparison():
    with scratch() as folder:
        with open("/dev/full", "wb") as full:
            end = weft(*compared(folder / "c"), output=full)
        expect_failure(end, f"weft: standard output: {FULL}", "the comparison goes on")
        expect((folder / "c/compare.html").stat().st_size > 1000, "no report")


def a_folder_of_others_is_left_as_it_is_by_a_comparison():
    with scratch() as folder:
        (folder / "c").mkdir()
        (folder / "c/compare.html").write_text("mine")
        end = weft(*compared(folder / "c"))
        expect_failure(end, "compare.html", "choose another --out")
        expect(os.listdir(folder / "c") == ["compare.html"], "it wrote into the folder")
        expect((folder / "c/compare.html").read_text() == "mine", "it was overwritten")


def a_good_file_stays_where_the_new_one_finds_no_room():
    if not may_mount():
        return "skipped: no mount namespaces"
    with scratch() as folder:
        checkpoint = train(folder)
        disk = folder / "disk"
        disk.mkdir()
        seen = folder / "seen"
        script = (f'mount -t tmpfs -o size=160k tmpfs "{disk}" && echo good > "{disk}/w" && '
                  f'{{ head -c 100k /dev/zero > "{disk}/filler"; "$@"; code=$?; '
                  f'cp "{disk}/w" "{seen}"; ls "{disk}" > "{seen}.list"; exit $code; }}')
        end = weft("export", checkpoint, "--safetensors", disk / "w", "--force",
                   prefix=["unshare", "-m", "sh", "-c", script, "sh"])
        expect_failure(end, FULL)
        expect(seen.read_text() == "good\n", "the good file was replaced or torn")
        left = pathlib.Path(f"{seen}.list").read_text().split()
        expect(left == ["filler", "w"], f"left behind: {left}")
        return ""


def a_file_larger_than_allowed_is_said_and_no_signal_ends_it():
    limited = ["sh", "-c", 'ulimit -f 40; exec "$@"', "sh"]
    with scratch() as folder:
        checkpoint = train(folder)
        rows = rows_file(folder / "x.npy", rows=2000)
        for name, (command, target) in writers(checkpoint, rows, folder).items():
            end = weft(*command, prefix=limited)
            expect_failure(end, "File too large")
            expect(not target.exists(), f"{name}: a torn file")
        end = weft("run", RECIPE, "--steps", "3", "--out", folder / "run", *ALONE, *LARGE,
                   prefix=limited)
        expect_failure(end, "File too large", "no checkpoint was written after step 3")


def interrupted_while(folder, watched, *arguments):
    """Ends the command by two signals once a temporary file is in `watched`; None if none was seen."""
    with Running(folder, *arguments) as running:
        running.wait_handlers()
        while running.process.poll() is None:
            with contextlib.suppress(OSError):
                if any(".tmp" in name for name in os.listdir(watched)):
                    # Two of one number may reach it as one.
                    os.kill(running.process.pid, signal.SIGINT)
                    os.kill(running.process.pid, signal.SIGTERM)
                    return running.end()
    return None


def what_is_written_when_the_end_comes_leaves_no_temporary_file():
    with scratch() as folder:
        large = ["--set", "model.hidden_units=16384", "--set", "run.evaluate=false"]
        checkpoint = train(folder, *large, steps=1)
        target = folder / "target"
        target.mkdir()
        seen = []
        commands = {
            "export": (target, ["export", checkpoint, "--safetensors", target / "w", "--force"]),
            "run": (folder / "run/checkpoints", ["run", RECIPE, "--steps", "1", "--out",
                                                 folder / "run", *ALONE, *large]),
        }
        for name, (watched, command) in commands.items():
            # It may take its place just before the signal comes.
            for _ in range(20):
                end = interrupted_while(folder, watched, *command)
                left = [path for path in os.listdir(watched) if ".tmp" in path]
                expect(not left, f"{name}: left behind: {left}, {end}")
                if end is not None and end.code == 130:
                    seen.append(name)
                    break
        expect(seen == list(commands), f"only {seen} were interrupted while they wrote")


def what_a_killed_run_was_writing_goes_at_the_next_start():
    with scratch() as folder:
        train(folder)
        killed = subprocess.Popen(["true"])
        killed.wait()
        checkpoints = folder / "trained/checkpoints"
        stale = checkpoints / f"checkpoint-9.safetensors.tmp{killed.pid}-4"
        alive = checkpoints / f"checkpoint-9.safetensors.tmp{os.getpid()}-4"
        for path in (stale, alive):
            path.write_bytes(b"half")
        end = weft("run", RECIPE, "--out", folder / "trained", *ALONE, "--steps", "3", "--resume")
        expect(end.code == 0 and not stale.exists(), f"{os.listdir(checkpoints)}: {end}")
        expect(alive.exists(), "that of a process at work was removed")


def too_few_descriptors_are_no_success_without_a_checkpoint():
    for number in (6, 8, 9, 10, 11, 12, 14, 16):
        with scratch() as folder:
            end = weft("run", RECIPE, "--steps", "3", "--out", folder / "run", *ALONE,
                       prefix=["sh", "-c", f'ulimit -n {number}; exec "$@"', "sh"])
            kept = list((folder / "run").glob("checkpoints/*.safetensors"))
            expect(end.code in (0, 1, 3) and (end.code == 0) == bool(kept), f"{number}: {end}")
            expect(end.code == 0 or "weft: " in end.errors, f"{number}: {end}")


TESTS = {test.__name__: test for test in (
    a_full_standard_output_is_named_by_every_command,
    a_closed_standard_output_is_no_file_of_ours,
    a_reader_that_left_ends_the_output_and_not_the_run,
    a_device_is_written_to_and_not_replaced,
    nothing_that_is_read_or_there_is_overwritten,
    files_of_others_in_the_folder_of_a_run_stay,
    a_folder_that_may_not_be_written_to_is_named,
    the_default_folder_is_named_and_not_its_hundredth_try,
    a_full_disk_is_no_success,
    a_comparison_that_finds_no_room_keeps_what_it_has,
    a_full_standard_output_does_not_stop_a_comparison,
    a_folder_of_others_is_left_as_it_is_by_a_comparison,
    a_good_file_stays_where_the_new_one_finds_no_room,
    a_file_larger_than_allowed_is_said_and_no_signal_ends_it,
    what_is_written_when_the_end_comes_leaves_no_temporary_file,
    what_a_killed_run_was_writing_goes_at_the_next_start,
    too_few_descriptors_are_no_success_without_a_checkpoint,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
