"""What hostile programs need to speak to a peer: keys, hellos, and a proxy in between.

For the tests in this folder; Python 3 standard library and the openssl program.
"""
import contextlib
import hashlib
import socket
import ssl
import struct
import subprocess
import threading

TIMEOUT = 3.0
MAGIC = 0x74666577
CONTROL, BULK = 0, 1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Key:
    """A fresh Ed25519 key with its self-signed certificate, and the peer id that goes with it."""

    def __init__(self, folder, name="stranger"):
        self.key, self.certificate = folder / f"{name}.key", folder / f"{name}.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout",
                        self.key, "-out", self.certificate, "-subj", "/CN=stranger", "-days", "2"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        der = subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-outform", "DER"],
                             check=True, capture_output=True).stdout
        self.peer = hashlib.sha256(der[-32:]).digest()

    def client(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return self._load(context)

    def server(self):
        return self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))

    def _load(self, context):
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.set_alpn_protocols(["weft/1"])
        context.load_cert_chain(self.certificate, self.key)
        return context


def frame(kind, head=b"", body=b""):
    return struct.pack("<IIB3x", len(head), len(body), kind) + head + body


def hello(lane, from_peer, to_peer, link=b"\7" * 16, instance=42):
    return frame(1, struct.pack("<IHB", MAGIC, 1, lane) + from_peer + to_peer + link
                 + struct.pack("<Q", instance))


class Link:
    """Both lanes of a proper link to the peer `to_peer` on `port`, as a peer that is no member."""

    def __init__(self, port, key, to_peer, host="127.0.0.1", source=None):
        self.lanes = []
        for lane in (CONTROL, BULK):
            plain = socket.create_connection((host, port), TIMEOUT, source and (source, 0))
            stream = key.client().wrap_socket(plain)
            stream.sendall(hello(lane, key.peer, to_peer))
            stream.recv(16)  # the reply's beginning: this lane is accepted
            self.lanes.append(stream)

    def send(self, data, lane=CONTROL):
        self.lanes[lane].sendall(data)

    def ended(self):
        """Reads until the other side ends the link; False where it does not in time."""
        stream = self.lanes[CONTROL]
        stream.settimeout(TIMEOUT)
        try:
            while stream.recv(65536):
                pass
        except socket.timeout:
            return False
        except OSError:
            pass
        return True

    def close(self):
        for stream in self.lanes:
            with contextlib.suppress(OSError):
                stream.close()


class Server:
    """Accepts connections on a port of its own and handles each on a thread."""

    def __init__(self, handle):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._handle = handle
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream):
        with contextlib.suppress(OSError, ValueError), stream:
            self._handle(stream)

    def close(self):
        # shutdown() wakes the thread that waits in accept().
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class Proxy(Server):
    """Passes bytes between its callers and a peer, as `change(direction, number, data)` wants.

    `direction` is "in" for what the caller says; `number` counts its pieces. What callers said is
    kept in `said`, one entry a connection.
    """

    def __init__(self, port, change=lambda direction, number, data: data):
        self.said = []
        self._target = port
        self._change = change
        super().__init__(self._pass)

    def _pass(self, caller):
        with socket.create_connection(("127.0.0.1", self._target), timeout=TIMEOUT) as peer:
            peer.settimeout(None)
            heard = bytearray()
            self.said.append(heard)
            back = threading.Thread(target=self._pump, args=(peer, caller, "out", None),
                                    daemon=True)
            back.start()
            self._pump(caller, peer, "in", heard)
            back.join(TIMEOUT)

    def _pump(self, source, sink, direction, heard):
        number = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if heard is not None and len(heard) < 1 << 20:
                    heard += data
                sink.sendall(self._change(direction, number, data))
                number += 1
            sink.shutdown(socket.SHUT_WR)
