"""The program `weft` as a child of this process: where it is, and one run of it, event by event.

The child gets a process group of its own, so that Ctrl-C reaches this process alone, which asks the
child to end and waits for that. A child whose parent dies leaves its run by itself (WEFT_PARENT).
One thread reads both of its outputs.
"""
import json
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import time

from weft import _core

# For how long a run may go on after it was asked to end (it finishes its round and saves its
# state), and after it was asked again.
END_SECONDS, END_AT_ONCE_SECONDS = 60.0, 10.0
_LINE_BYTES_MAX = 16 << 20
_ERROR_BYTES_MAX = 1 << 20


def find(program=None):
    """The path of the program: `program`, or WEFT_PROGRAM, or beside this package in a build
    folder, or in PATH."""
    given = program or os.environ.get("WEFT_PROGRAM")
    if given:
        found = shutil.which(os.fspath(given))
        if found is None:
            raise _core.UnavailableError(
                f"[run] {os.fspath(given)}: expected the program weft (program= or WEFT_PROGRAM)")
        return found
    build = pathlib.Path(__file__).resolve().parents[3] / "weft"
    if build.is_file() and os.access(build, os.X_OK):
        return str(build)
    found = shutil.which("weft")
    if found is None:
        raise _core.UnavailableError(
            "[run] the program weft was not found in PATH: build it (make, or ./run "
            "--build-only) and put its folder into PATH, or name it with program= or WEFT_PROGRAM")
    return found


class Child:
    """A running program. Use it in a `with`: whatever ends that early ends the run, too."""

    def __init__(self, command, environment=None):
        self._errors = b""
        self._unread = b""
        self.foreign = b""  # the first line that is no event
        self._stopped = False
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **(environment or {}), "WEFT_PARENT": str(os.getpid())})
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is not None:
                self.end()
        finally:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
            self._selector.close()
            self._process.stdout.close()
            self._process.stderr.close()

    def events(self):
        """Each event as a dict, until the program has closed its output."""
        while self._selector.get_map():
            yield from self._read(None)

    def stop(self):
        """Asks the run to finish its round, save its state and leave. events() goes on until it
        has."""
        self._stopped = True
        self._signal()

    @property
    def was_stopped(self):
        """Whether stop() was called."""
        return self._stopped

    def end(self):
        """Asks the run to end, at once if that takes too long or Ctrl-C comes again, and waits."""
        for seconds in (END_SECONDS, END_AT_ONCE_SECONDS):
            try:
                self._signal()
                limit = time.monotonic() + seconds
                while self._selector.get_map() and time.monotonic() < limit:
                    for _ in self._read(limit - time.monotonic()):
                        pass
                if not self._selector.get_map():
                    self._process.wait(max(0.1, limit - time.monotonic()))
                    return
            except (KeyboardInterrupt, subprocess.TimeoutExpired):
                pass
        self._process.kill()

    def exit_code(self):
        """Once events() is through."""
        return self._process.wait()

    def errors(self):
        """What the program wrote on standard error: its newest MiB."""
        return self._errors.decode("utf-8", "replace").strip()

    def _signal(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def _read(self, seconds):
        events = []
        for key, _ in self._selector.select(seconds):
            data = os.read(key.fd, 1 << 16)
            if not data:
                self._selector.unregister(key.fileobj)
            elif key.fileobj is self._process.stderr:
                self._errors = (self._errors + data)[-_ERROR_BYTES_MAX:]
            else:
                events += self._take(data)
        return events

    def _take(self, data):
        *lines, self._unread = (self._unread + data).split(b"\n")
        if len(self._unread) > _LINE_BYTES_MAX:
            self._unread = b""
            self.foreign = self.foreign or b"a line of more than 16 MiB"
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            if isinstance(event, dict) and isinstance(event.get("kind"), str):
                yield event
            elif line.strip():
                self.foreign = self.foreign or line[:200]

