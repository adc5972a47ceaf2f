"""Checkpoints as files: what they say beside their tensors, and how older releases wrote them.

Python 3 standard library only.
"""
import json
import struct

from weft_process import Failure


def parts(path):
    """The header and the data of a safetensors file."""
    whole = path.read_bytes()
    size, = struct.unpack("<Q", whole[:8])
    return json.loads(whole[8:8 + size]), bytearray(whole[8 + size:])


def metadata(path):
    return parts(path)[0]["__metadata__"]


def in_the_old_form(path, change):
    """Writes the checkpoint as releases before digests did, with `change` made to its data."""
    header, data = parts(path)
    told = header["__metadata__"]
    header["__metadata__"] = {key: value for key, value in told.items()
                              if key != "header_sha256" and not key.startswith("xxh3_128/")}
    if len(told) == len(header["__metadata__"]):
        raise Failure("it had no digests")
    header["__metadata__"]["format"] = "weft checkpoint 1"
    change(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
