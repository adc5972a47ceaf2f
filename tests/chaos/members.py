"""Peers of a chaos run: processes that die and come back, and what their event logs say."""
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
from namespaces import sh  # noqa: E402

PORT = 7420
EXIT_OK = 0
# Nobody answers.
EXIT_UNAVAILABLE = 3
# The run was over before it could take part.
EXIT_OVER = 6
# What its output waits in; a reader that stands still is soon noticed.
PIPE_BYTES = 4096
# The size of the file system that holds its checkpoints; one is about 400 kB.
CHECKPOINT_DISK = "8m"


def environment():
    """Ours without what would change a recipe: joiners would ignore it, the founder would not."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("WEFT_") or name == "WEFT_DATA_DIR"}


class Output:
    """Copies what a process says into a file, or stands still as a terminal does after Ctrl-S."""

    def __init__(self, path):
        self._file = open(path, "ab")
        self.said_at = self._file.tell()
        reading, self.end = os.pipe()
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._going = threading.Event()
        self._going.set()
        self._thread = threading.Thread(target=self._copy, args=(reading,), daemon=True)

    def start(self):
        """After the process has got its end of the pipe."""
        os.close(self.end)
        self._thread.start()

    def hold(self):
        self._going.clear()

    def go_on(self):
        self._going.set()

    def finish(self):
        """The process is dead: what it said last is read as well."""
        self.go_on()
        self._thread.join(5.0)

    def _copy(self, reading):
        with self._file, open(reading, "rb", buffering=0) as pipe:
            while data := pipe.read(PIPE_BYTES):
                self._file.write(data)
                self._file.flush()
                self._going.wait()


class Member:
    """One machine's peer. It keeps its folder, and with it its key, over all its lives."""

    def __init__(self, number, network, program, folder):
        self.number = number
        self.network = network
        self.program = program
        self.out = pathlib.Path(folder) / f"p{number}"
        self.checkpoints = self.out / "checkpoints"
        self.checkpoints.mkdir(parents=True)
        sh("mount", "-t", "tmpfs", "-o", f"size={CHECKPOINT_DISK}", "weft-chaos",
           str(self.checkpoints))
        self.process = None
        self.output = None
        self.lives = 0
        # Ends of processes that nobody killed, since the last good start.
        self.failures = 0
        self.born_at = 0.0
        self.name = ""
        self.run_id = ""
        self.round = 0
        # When it last committed a round, or began to live, or a fault of its own ended.
        self.moved_at = 0.0
        # Faults that keep it from taking part just now.
        self.hurts = 0
        self.leaving = False
        # It was started when nobody was there any more.
        self.too_late = False
        self.trained = False
        self.summary = None
        self.failure = ""
        self.ticket = ""
        self._read_at = 0
        self._rest = b""
        self._waited_ns = 0
        self._waits = {}

    # --- Life and death.

    def start(self, *arguments):
        self.lives += 1
        listen = f"{self.network.address(self.number)}:{PORT}"
        command = [*self.network.command(self.number), self.program, *arguments, "--listen", listen,
                   "--threads", "1", "--out", str(self.out)]
        if self.output is not None:
            self.output.finish()
        self.output = Output(self.out / "output.txt")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output.end,
                                        stderr=self.output.end, start_new_session=True,
                                        env=environment())
        self.output.start()
        self.born_at = self.moved_at = time.monotonic()
        self.leaving = self.trained = False
        self.summary, self.failure = None, ""
        self._waits = {}

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if self.output is not None:
            self.output.finish()
        self.empty_disk()
        sh("umount", "-l", str(self.checkpoints), check=False)

    # --- Faults of the machine itself.

    def fill_disk(self):
        """Not a byte more fits beside its checkpoints."""
        with contextlib.suppress(OSError), open(self.checkpoints / "full", "wb") as file:
            while True:
                file.write(bytes(4096))
                file.flush()

    def empty_disk(self):
        with contextlib.suppress(OSError):
            (self.checkpoints / "full").unlink()

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def words(self):
        """The end of what it said in this life, without its rounds."""
        if not self.alive():
            self.output.finish()
        said = (self.out / "output.txt").read_bytes()[self.output.said_at:]
        text = said.decode(errors="replace")
        lines = [line for line in text.splitlines() if not line.startswith("round ")]
        return " | ".join(lines[-3:])[-600:]

    # --- What it tells.

    def news(self):
        """The events since the last call."""
        try:
            with open(self.out / "events.jsonl", "rb") as file:
                file.seek(self._read_at)
                data = file.read()
        except FileNotFoundError:
            return []
        self._read_at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        events = []
        for line in lines:
            with contextlib.suppress(json.JSONDecodeError, UnicodeDecodeError):
                events.append(json.loads(line))
        for event in events:
            self._hear(event)
        return events

    def _hear(self, event):
        kind = event["kind"]
        if kind == "started":
            self.name, self.run_id = event["peer"], event["run_id"]
        elif kind == "ticket":
            self.ticket = event["ticket"]
        elif kind == "round":
            self.round = event["round"]
            self.failures = 0
            self.trained = True
            self.moved_at = time.monotonic()
        elif kind == "summary":
            self.summary = event
        elif kind == "failed":
            self.failure = event.get("reason", "")

    def ask_ticket(self):
        """A ticket made now, from the running process; "" if it gives none within a second."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
                control.settimeout(1.0)
                control.connect(str(self.out / "control.sock"))
                control.sendall(b'{"command":"ticket","valid_s":86400}\n')
                answer = b""
                while not answer.endswith(b"\n"):
                    piece = control.recv(65536)
                    if not piece:
                        break
                    answer += piece
                return json.loads(answer)["ticket"]
        return ""

    def waited_seconds(self):
        """For how long, in all lives, its threads were ready to run and had no processor."""
        if self.process is None:
            return 0.0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                waited = int(task.read_text().split()[1])
                self._waited_ns += max(0, waited - self._waits.get(task, 0))
                self._waits[task] = waited
        return self._waited_ns * 1e-9
