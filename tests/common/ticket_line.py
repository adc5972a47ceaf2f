"""Tickets as src/weft/peer/ticket.h has them, read and written once more: an oracle for the C++."""
import base64
import hashlib
import ipaddress
import struct

PREFIX = "weft2-"
V4, V6, NAME, LOOPBACK = range(4)
PORT_AS_BEFORE, LAST = 4, 8


def with_second_half(half):
    return half + hashlib.sha256(b"weft second half" + half).digest()[:len(half)]


def line_of(fields):
    """The line of these fields, whatever they are."""
    checksum = hashlib.sha256(PREFIX.encode() + fields).digest()[:3]
    return PREFIX + base64.b32encode(fields + checksum).decode().lower().rstrip("=")


def fields_of(line):
    letters = line.removeprefix(PREFIX).upper()
    return base64.b32decode(letters + "=" * (-len(letters) % 8))[:-3]


class Ticket:
    """The fields of a ticket line, to be changed and written again with a good checksum."""

    def __init__(self, line):
        self._data, self._at = fields_of(line), 0
        head = self._take(1)[0]
        self.run = self._half(32, head & 16)
        self.recipe = self._take(16)
        self.invitation = self._half(16, head & 32)
        (self.expiry,) = struct.unpack("<I", self._take(4))
        self.secret = self._half(32, head & 64)
        self._port = None
        self.members = [(self._take(32), self._endpoints()) for _ in range(head & 15)]
        assert self._at == len(self._data)

    def _take(self, size):
        taken = self._data[self._at:self._at + size]
        self._at += size
        assert len(taken) == size
        return taken

    def _half(self, size, in_full):
        return self._take(size) if in_full else with_second_half(self._take(size // 2))

    def _endpoints(self):
        endpoints, tag = [], 0
        while not tag & LAST:
            (tag,) = self._take(1)
            if not tag & PORT_AS_BEFORE:
                (self._port,) = struct.unpack("<H", self._take(2))
            endpoints.append(f"{self._host(tag & 3)}:{self._port}")
        return endpoints

    def _host(self, kind):
        if kind == V4:
            return str(ipaddress.IPv4Address(self._take(4)))
        if kind == V6:
            return f"[{ipaddress.IPv6Address(self._take(16))}]"
        return "127.0.0.1" if kind == LOOPBACK else self._take(self._take(1)[0]).decode()

    def fields(self):
        """Of the values as they are now."""
        head, middle = len(self.members), b""
        for bit, value in ((16, self.run), (0, self.recipe), (32, self.invitation),
                           (0, struct.pack("<I", self.expiry)), (64, self.secret)):
            half = value[:len(value) // 2]
            if bit and value == with_second_half(half):
                value = half
            else:
                head |= bit
            middle += value
        out, port = bytes([head]) + middle, None
        for peer, endpoints in self.members:
            out += peer
            for i, endpoint in enumerate(endpoints):
                host, number = endpoint.rsplit(":", 1)
                kind, host = packed(host)
                tag = kind | (LAST if i + 1 == len(endpoints) else 0)
                if int(number) == port:
                    out += bytes([tag | PORT_AS_BEFORE]) + host
                else:
                    port = int(number)
                    out += bytes([tag]) + struct.pack("<H", port) + host
        return out

    def line(self):
        return line_of(self.fields())

    def through(self, port):
        """The line of a ticket whose only member is reached on this port."""
        self.members = [(self.members[0][0], [f"127.0.0.1:{port}"])]
        return self.line()


def packed(host):
    if host == "127.0.0.1":
        return LOOPBACK, b""
    try:
        if host.startswith("["):
            return V6, ipaddress.IPv6Address(host[1:-1]).packed
        return V4, ipaddress.IPv4Address(host).packed
    except ValueError:
        return NAME, bytes([len(host)]) + host.encode()
