"""The program hostile_peer, driven line by line, and a listener that nobody has a reason to call."""
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/multi"))
from harness import Failure  # noqa: E402

PROGRAM = os.environ.get("WEFT_HOSTILE_PEER",
                         str(ROOT / "build/release/tests/hostile/hostile_peer"))
ANSWER_LIMIT = 20.0


class Attacker:
    """One hostile_peer; use as a context manager."""

    def __init__(self, seed):
        self._process = subprocess.Popen([PROGRAM, "--seed", str(seed)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
        self._rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def ask(self, *words):
        """The answer to one command, whatever it is."""
        self._process.stdin.write((" ".join(str(word) for word in words) + "\n").encode())
        self._process.stdin.flush()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_LIMIT)
            piece = os.read(self._process.stdout.fileno(), 65536) if ready else b""
            if not piece:
                raise Failure(f"hostile_peer does not answer to {words}")
            self._rest += piece
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def tell(self, *words):
        """A command that must be obeyed."""
        answer = self.ask(*words)
        if not answer["ok"]:
            raise Failure(f"hostile_peer {words[0]}: {answer['error']}")


class Trap:
    """Listens where hostile peers send others, and keeps what comes."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.endpoint = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.calls = 0
        self._said = bytearray()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            threading.Thread(target=self._hear, args=(stream,), daemon=True).start()

    def _hear(self, stream):
        with stream:
            stream.settimeout(3.0)
            try:
                while piece := stream.recv(4096):
                    if len(self._said) < 1 << 20:
                        self._said += piece
            except OSError:
                pass

    def heard(self, mark):
        return mark in self._said

    def close(self):
        self._socket.close()
