#!/usr/bin/env python3
"""Writes the seeds of the message fuzzers to fuzz/corpus: each message once, well formed.

usage: fuzz/make_corpus.py
Run it after a message was added or changed, and commit what it wrote. The grammars stand at the
top of src/weft/wire/NAME_message.h; the first byte of a seed is the message's place in the list of
NAME_fuzz.cpp.
"""
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def u8(value):
    return struct.pack("<B", value)


def u16(value):
    return struct.pack("<H", value)


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def text(value):
    return u32(len(value)) + value.encode()


def part(value):
    return u32(len(value)) + value


def several(items):
    return u32(len(items)) + b"".join(items)


def peer(number):
    return bytes([number]) * 32


def view(number):
    return u64(number) + bytes([number]) * 32


def member(number, *endpoints):
    return (peer(number) + u64(7) + several([text(endpoint) for endpoint in endpoints])
            + u8(0))


HASH = bytes(range(32))
BALLOT = u64(4) + peer(1)
DEPARTURE = peer(3) + u64(9) + u8(2) + text("came back with a new process")
VALUE = (u64(41) + several([member(1, "10.0.0.1:7420", "[::1]:7420"), member(2)])
         + several([DEPARTURE]) + several([HASH + view(2) + u64(6400)])
         + several([HASH + u64(9600)]) + u8(1) + HASH
         + u8(1) + HASH + view(5) + u64(40) + HASH + u64(3200) + u64(6400)
         + u16(27000) + u16(26000) + u16(14000))
DIFFERENCE = (u64(41) + several([u16(0), u16(2)]) + several([member(1, "10.0.0.1:7420", "[::1]:7420")])
              + several([u8(1), u8(0)]) + several([DEPARTURE]) + u8(1)
              + several([HASH + view(2) + u64(6400)]) + several([HASH + u64(9600)]) + u8(1) + HASH
              + u8(1) + HASH + view(5) + u64(40) + HASH + u64(3200) + u64(6400)
              + u16(27000) + u16(26000) + u16(14000) + HASH)
PROOF = u16(4) + HASH + HASH[:16] + u64(1900000000) + HASH
ROUND = view(3) + u64(12)
STATEMENT = u8(2) + u32(1) + u32(2) + u32(3) + HASH * 4
ANSWER = (u32(0x64666577) + u16(2) + u8(2) + HASH[:16] + HASH + HASH + u64(1900000000) + u32(5)
          + text("digits (cnn)") + several([text("192.0.2.1:7420")]))

def varint(value):
    value %= 1 << 64
    head = b""
    while value > 127:
        head += bytes([value & 127 | 128])
        value >>= 7
    return head + bytes([value])


def field(number, value):
    """A field of a protobuf message: an integer, a float, a text or an inner message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_tensor(name, dims, values):
    return (b"".join(field(1, size) for size in dims) + field(2, 1) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}f", *values)))


def onnx_attribute(name, number, value, kind):
    return field(5, field(1, name) + field(number, value) + field(20, kind))


def onnx_node(op, inputs, outputs, *attributes):
    return field(1, b"".join(field(1, name) for name in inputs)
                 + b"".join(field(2, name) for name in outputs) + field(4, op)
                 + b"".join(attributes))


def onnx_value(number, name, *sizes):
    shape = b"".join(field(1, field(1, size)) for size in sizes)
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def onnx_graph(*parts):
    return b"".join(parts) + field(2, "g")


def onnx_model(*parts):
    return field(1, 8) + field(7, onnx_graph(*parts)) + field(8, field(1, "") + field(2, 17))


X_TO_Y = onnx_value(11, "x", 2, 3) + onnx_value(12, "y", 2, 3)

SEEDS = {
    "protobuf": {
        "numbers": field(1, 150) + field(2, 1.5) + field(3, -1) + varint(4 << 3 | 1) + u64(7),
        "texts": field(1, "a") + field(2, field(3, field(4, "deep"))) + field(5, varint(300) * 3),
    },
    "onnx": {
        "product": onnx_model(onnx_node("MatMul", ["x", "w"], ["a"]),
                              onnx_node("LeakyRelu", ["a"], ["y"],
                                        onnx_attribute("alpha", 2, 0.5, 1)),
                              field(5, onnx_tensor("w", [3, 3], [1.0] * 9)), X_TO_Y),
        "branch": onnx_model(
            onnx_node("If", ["c"], ["y"],
                      onnx_attribute("then_branch", 6, onnx_graph(onnx_value(12, "x")), 5)),
            X_TO_Y),
        "axes": onnx_model(
            onnx_node("Softmax", ["x"], ["a"], onnx_attribute("axis", 3, -1, 2)),
            onnx_node("Transpose", ["a"], ["b"],
                      field(5, field(1, "perm") + field(8, 1) + field(8, 0) + field(20, 7))),
            onnx_node("ReduceMean", ["b"], ["c"],
                      field(5, field(1, "axes") + field(8, 0) + field(20, 7))),
            onnx_node("Gather", ["c", "i"], ["y"], onnx_attribute("axis", 3, 0, 2)),
            field(5, field(1, 2) + field(2, 7) + field(7, varint(0) + varint(-1)) + field(8, "i")),
            X_TO_Y),
        "slices": onnx_model(
            onnx_node("Split", ["x"], ["a", "b"], onnx_attribute("axis", 3, 1, 2),
                      field(5, field(1, "split") + field(8, 1) + field(8, 2) + field(20, 7))),
            onnx_node("Concat", ["b", "a"], ["c"], onnx_attribute("axis", 3, 1, 2)),
            onnx_node("Unsqueeze", ["c"], ["d"],
                      field(5, field(1, "axes") + field(8, 0) + field(20, 7))),
            onnx_node("Squeeze", ["d"], ["y"]), X_TO_Y),
        "tensor": onnx_tensor("t", [2, 2], [1.0, 2.0, 3.0, 4.0]),
    },
    "link": {
        "hello": u32(0x74666577) + u16(1) + u8(1) + peer(1) + peer(2) + HASH[:16] + u64(99),
        "hello_reply": u8(0) + peer(1) + u64(99) + text("welcome"),
        "goodbye": u8(2) + text("the run is over"),
        "shortcut": HASH[:16] + HASH,
        "shortcut_hello": HASH,
        "lane_moved": u8(3),
        "connections": u8(4),
        "alive": u8(1),
    },
    "parking": {
        "park_ask": HASH[:16],
        "park_answer": u8(1),
        "park_done": b"",
        "park_resume": HASH[:16],
        "routed": peer(1) + peer(2) + u8(3) + text("sealed"),
        "parked_packet": u8(0) + u64(7) + u64(5) + text("payload"),
        "parked_frame": u8(0x31) + text("head") + text("body"),
    },
    "membership": {
        "heartbeat": view(3) + u64(5) + u64(900) + u64(12),
        "suspicion": view(3) + peer(2) + u8(1) + text("no heartbeat for 2.0 s"),
        "prepare": view(3) + BALLOT + HASH[:16],
        "promise": view(3) + BALLOT + u64(12) + HASH[:16] + u8(1) + BALLOT + u8(1) + VALUE,
        "accept": view(3) + BALLOT + u8(1) + VALUE,
        "accepted": view(3) + BALLOT,
        "rejected": view(3) + BALLOT + BALLOT,
        "notice": view(3) + view(4) + u8(1) + VALUE + u8(1) + u64(2) + HASH,
        "removed": view(3) + u64(5) + text("restarted"),
        "outside": u64(5) + u8(1) + view(3),
        "leaving": view(3),
        "joiner": member(4, "192.0.2.1:1") + u8(1),
        "promise_brief": view(3) + BALLOT + u64(12) + HASH[:16] + u8(1) + BALLOT + u8(0) + DIFFERENCE,
        "accept_brief": view(3) + BALLOT + u8(0) + DIFFERENCE,
        "notice_brief": view(3) + view(4) + u8(0) + DIFFERENCE + u8(0),
    },
    "branch": {
        "branch": view(4) + u64(2) + u8(0) + u64(0) + HASH + several([member(1), member(2)]),
        "standing": view(3) + view(4) + VALUE + u64(12) + u64(768) + u8(1) + HASH,
    },
    "join": {
        "recipe_request": PROOF,
        "recipe": (text('[model]\nname = "mlp"\n') + u8(1) + HASH + HASH + HASH[:16] + u64(1 << 31)
                   + HASH),
        "join_request": PROOF + HASH + HASH + member(4, "192.0.2.1:1"),
        "join_accepted": view(3) + view(4) + VALUE,
        "join_refused": u8(0) + u32(1500) + text("2 joins at once; try again"),
        "admit_request": u64(5) + u64(41),
        "run_over": u64(81) + u32(8000),
    },
    "reach": {
        "introduce": HASH[:16] + peer(2) + u8(1),
        "introduction": HASH[:16] + peer(2) + u8(1) + text("192.0.2.1:7420") + text("[::1]:7421"),
        "relay_offer": (HASH[:16] + peer(2) + u8(0) + HASH + HASH
                        + several([text("192.0.2.1:7420")])),
        "refused": HASH[:16] + text("not linked to that peer"),
        "preface": b"WEFTPCH1" + HASH[:16] + u8(1) + u8(1) + bytes(14),
    },
    "admission": {
        "accusation": peer(2) + u8(1) + text("block 3: its SHA-256 differs"),
        "revocation": u64(2) + HASH + several([HASH[:16], HASH[16:]]) + several([peer(3) + text("expelled")]),
        "member_proof": HASH,
    },
    "collective": {
        "segment": ROUND + u8(2) + u8(1) + u8(0x60) + u64(1 << 20) + u32(3),
        "delivery": ROUND + u8(15) + u8(6) + u8(0x18) + u64(1 << 20) + u32(3),
        "ready": ROUND + u8(1) + HASH[:16] + u64(1 << 20) + several([b"\0", b"\1", b"\2"]),
        "ready_two": (ROUND + u8(2) + HASH[:16] + u64(1 << 20) + several([])
                      + HASH[16:] + u64(12) + several([b"\2"])),
        "done": ROUND + HASH[:16],
        "finished": u64(400),
        "state_hash": ROUND + HASH[:16] + several([HASH[:16], HASH[16:]]),
        "progress": ROUND + u8(0) + u8(1) + peer(2),
        "report": ROUND + text("loss"),
        "reports": several([text("loss"), text("")]),
    },
    "verify": {
        "statement": STATEMENT,
        "commitment": STATEMENT + HASH + several([HASH, HASH]),
        "table": STATEMENT + text("distances"),
        "echo": HASH + several([STATEMENT]),
        "statements": several([STATEMENT, STATEMENT]),
    },
    "group": {
        "group_segment": u8(0) + u16(5) + ROUND + u8(0) + u8(1) + u8(0x60) + u64(1 << 20) + u32(3),
        "group_ready": (view(3) + u8(1) + u16(5) + u64(11) + u8(0x23) + u64(1 << 20)
                        + several([b"\0", b"\1", b"\2"])),
        "group_done": view(3) + u8(2) + u16(5) + u64(11),
    },
    # The codec's place by name, the elements, and the payload alone.
    "codec": {
        "bf16": u8(0) + u16(2) + u16(0x3F80) + u16(0xC000),
        "dct": u8(1) + u16(4) + u64(0x3F80 | 127 << 18 | (1 | 10 << 2) << 26 | 2 << 36 | 3 << 46)[:7],
        "ef_sign": u8(2) + u16(10) + u8(1) + struct.pack("<f", 0.5) + b"\1" + u16(0x0105) + u16(0x0202),
        "fedzip": (u8(5) + u16(300) + u32(2) + u8(2) + struct.pack("<ff", -1, 2) + b"\1\1"
                   + u32(5 << 1 | 1 << 8 | 36 << 10 | 1 << 16)[:3]),
        "int8": u8(6) + u16(3) + struct.pack("<f", 0.25) + b"\x7f\x81\0",
        # Three values that are in no matrix; a factor of 4 vectors for 8 x 8 values. The marks are
        # those of the shared factors that begin with the seed 0.
        "powersgd_rest": u8(7) + u16(3) + u32(0xbae1a502) + struct.pack("<fff", 1, -2, 3),
        "powersgd": u8(7) + u16(64) + u32(0x2b8e5602) + struct.pack("<32f", *range(32)),
        "qsgd": u8(8) + u16(5) + struct.pack("<f", 1.5) + u32(50000)[:3],
        "randomk": u8(9) + u16(150) + u64(3) + struct.pack("<ff", 1, -2),
        "sign": u8(10) + u16(10) + u8(1) + u8(0) + u16(0x0105),
        "sparseloco": (u8(11) + u16(100) + struct.pack("<ff", 0.5, 2)
                       + u32(1 | (7 | 1 << 12) << 1 | (90 | 1 << 13) << 15)),
        "topk": u8(12) + u16(300) + u32(3) + b"\2\xa9\2\0" + struct.pack("<fff", 1, -2, 3),
        "topk_head": (u8(12) + u16(300) + u8(0) + u32(7) + u64(300) + u64(20) + u32(0)),
    },
    "line": {
        "report": (view(3) + several([u16(2) + u64(9) + u16(30)
                                      + several([u16(0) + u16(24000) + u16(9000),
                                                 u16(1) + u16(0) + u16(0)])])),
        "probe": view(3) + u32(5) + u8(7) + u8(8),
    },
    "state": {
        "query": u8(1) + HASH,
        "offer": u8(1) + u64(12) + u64((1 << 16) + 5) + HASH,
        "block_request": HASH + u32(1),
        "block": HASH + u32(1) + u8(2) + HASH + HASH,
        "block_missing": HASH,
        "result_request": u64(12),
        "result": u64(12) + u64(13) + u64(1 << 20) + u32(9) + u32(1) + HASH[:16],
        "result_missing": u64(12) + u64(20) + u64(30),
        "held": (u64(12) + HASH + HASH + HASH + u64(3) + several([peer(1), peer(2)])
                 + several([HASH + u32(2) + u64(9) + HASH])),
        "received": u64(5 << 40),
        "history": (u32(128) + HASH + u64(120) + several([HASH + u64(40)])).ljust(128, b"\0"),
    },
    "gossip": {
        "book": several([HASH + u64(7) + u8(1) + several([text("10.0.0.1:7420")]) + HASH * 2
                         + u64(41) + HASH * 2]),
        "parameters": u64(9) + u32(4) + u8(1) + u8(0) + u64(1 << 20) + u32(3) + u8(0),
        "absent": u64(9),
        "parameters_request": u64(2),
        "welcome": HASH,
    },
    "mix": {
        "given": u64(2) + u64(1 << 22) + u32(3) + u64(9) + u32(20),
        "returned": u64(0) + u64(1 << 10) + u32(0) + u64(9) + u32(20) + u64(0x3FF8 << 48) * 5,
        "received": u64(3),
        "roster": several([HASH + several([text("10.0.0.1:7420")]), HASH[::-1] + several([])]),
        "history": u32(7) + u64(41) + u32(2),
    },
    "discovery": {
        "query": (u32(0x64666577) + u16(2) + u8(1) + HASH[:16] + HASH + HASH).ljust(1024, b"\0"),
        "answer": ANSWER + u8(0) + HASH + HASH + HASH[:16] + u64(1900003600) + HASH * 4,
        "record": u16(1) + HASH + u64(1900000000) + several([text("192.0.2.1:7420")]) + HASH * 2,
        "code_answer": u32(0x64666577) + u16(2) + u8(3) + HASH[:16] + part(HASH * 9),
        "code_ticket": HASH + HASH + text("weft2-abcdef") + HASH * 2,
    },
    "stun": {
        "reply_v4": bytes.fromhex("0101001c2112a442b7e7a701bc34d686fa87dfae"
                                  "8022000b7465737420766563746f7220002000080001a147e112a643"),
        "reply_plain": bytes.fromhex("0101000c2112a442b7e7a701bc34d686fa87dfae"
                                     "000100080001005002030405"),
    },
    # How many regions are told, then items of src/weft/net/shm_items.h.
    "shm_items": {
        "run": u8(0) + u32(0) + u32(5) + u64(0) + b"hello",
        "named": u8(1) + u32(0) + u32(3) + u64(0) + b"abc" + u32(1) + u32(4096) + u64(64 << 16),
        "two_regions": (u8(2) + u32(1) + u32(8192) + u64(1) + u32(2) + u32(0) + u64(0)
                        + u32(1) + u32(100) + u64(8092 << 16 | 1)),
        "impossible": u8(0x81) + u32(1) + u32(100) + u64(0),
    },
    "ticket": {
        "fields": (u8(1) + HASH[:16] + HASH[:16] + HASH[:8] + u32(1900000000) + HASH[:16]
                   + peer(1) + u8(0) + u16(7420) + bytes([192, 0, 2, 1])
                   + u8(5) + bytes(15) + u8(1) + u8(15)),
        "in_full": (u8(0x72) + HASH + HASH[:16] + HASH[:16] + u32(1900000000) + HASH
                    + peer(1) + u8(11) + u16(7420) + peer(2) + u8(10) + u16(7421) + u8(4)
                    + b"host"),
        "code": b"weft join K7Q2M4-xd9fhj 2wpz8y",
    },
    # 0 and a body, or another byte and requests.
    "http": {
        "predict": u8(0) + b'{"model": "m", "inputs": [[0, 255, 7], [[1], [2], [3]]]}',
        "completion": u8(0) + (b'{"prompt": "hi", "max_tokens": 7, "temperature": 0.5, "seed": 9,'
                               b' "stream": true, "n": 1, "stop": null}'),
        "tokens": u8(0) + b'{"prompt": [1, 255], "user": "u"}',
        "prompts": u8(0) + (b'{"prompt": [[1], [2, 3]], "n": 2, "top_p": 0.5, "logprobs": 3,'
                            b' "stop": ["a", "bc"], "stream": true,'
                            b' "stream_options": {"include_usage": true}}'),
        "get": u8(99) + b"GET /v1/models?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "two_posts": u8(150) + 2 * (b"POST /v1/predict HTTP/1.1\r\nHost: x\r\n"
                                    b"Content-Length: 5\r\n\r\nhello"),
        "chunks": u8(200) + (b"POST http://x/v1/predict HTTP/1.1\r\nHost: x\r\n"
                             b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
                             b"3;name=value\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"),
        "old": u8(40) + b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    },
    "record": {
        "voter": (HASH + peer(1) + u64(12) + HASH + u32(2) + several([HASH + HASH + u32(1) + u64(40)])
                  + part(u64(1) + HASH + several([HASH[:16]]) + several([peer(3) + text("wrong hash")]))
                  + HASH + u64(7) + several([peer(1), peer(2)]) + several([member(3, "10.0.0.3:1")])
                  + u8(1) + u64(7) + view(2) + view(3) + VALUE + BALLOT + u8(1) + BALLOT + VALUE),
        "newcomer": (HASH + peer(1) + u64(12) + HASH + u32(0) + several([])
                     + part(u64(0) + bytes(32) + several([]) + several([]))
                     + HASH + u64(0) + several([]) + several([]) + u8(0)),
    },
    "round_report": {
        "plain": u8(1) + u8(0) + u64(0x3ff0 << 48) * 9,
        "full": (u8(1) + u8(3) + u64(0x3ff0 << 48) * 9 + u64(0x4000 << 48) * 4
                 + u32(7) + u8(1) + u64(20) + u64(0x3ff0 << 48) * 2 + u8(1)),
    },
    "member_recipe": {
        "group": (b"weft member 1\nprogram sphere 1\nwire bf16\nrounds 40\nstart_members 2\n"
                  b"start_timeout_ms 60000\nsuspicion_timeout_ms 2000\nlone_survivor 0\n"
                  b"settings\nlearning rate 0.1\n"),
    },
    # The sizes, what the data are, and the tokenizer.
    "model_card": {
        "images": (b'{"name": "mlp", "channels": 1, "height": 2, "width": 2, "classes": 2}\0'
                   b'{"kind": "images", "name": "x", "classes": 2, "class_names": ["a", "b"],'
                   b' "channels": 1, "height": 2, "width": 2, "mean": [0.5], "deviation": [0.2],'
                   b' "transforms": "resize:2x2"}\0'),
        "rows": (b'{"name": "mlp", "dropout": true}\0{"kind": "rows", "name": "t.csv", "classes": 0,'
                 b' "columns": [{"name": "a", "mean": 1, "deviation": 2, "missing": 3},'
                 b' {"name": "b", "missing": 0, "words": ["x", "y"]}],'
                 b' "targets": [{"name": "c", "mean": 100, "deviation": 3.5}]}\0'),
        "tokens": (b'{"name": "char_gpt", "vocabulary": 3, "context": 8}\0{"kind": "tokens",'
                   b' "name": "t", "vocabulary": 3, "context": 8, "characters_per_token": 1}\0'
                   b'weft-characters 1\nU+61\nU+62\nU+63\n'),
    },
    "recipe": {
        "few_keys.toml": (b'[model]\nname = "mlp"\nhidden_units = 32\n\n[data]\n'
                          b'name = "synthetic"\n\n[run]\nsteps = 20\nseed = 1\n'),
        "odd.toml": (b'model.name = "cnn"\nrun = {steps = 0x10, seed = 1_000}\n'
                     b"[optimizer]\nlearning_rate = 1e-3 # small\n"
                     b'name = """adam"""\n'),
    },
    "program_recipe": {
        "whole.toml": (b'[program]\ncommand = ["{python}", "{recipe}/x.py", "{seed}", "{{{rate}}}"]\n'
                       b'timeout_s = 60\nrounds = 5\n[program.options]\nrate = 0.1\nfast = true\n'),
        "odd.toml": b"program = {command = ['a'], options.x = 1e-3, 'rounds' = 0x7}\n",
    },
    "program_results": {
        "two.jsonl": (b'{"round": 1, "seconds": 0.5, "bytes_sent": 10, "samples": 20, "loss": 1}\n\n'
                      b'{"round": 2, "seconds": 1, "bytes_sent": 20, "samples": 4e1, "loss": null, '
                      b'"accuracy": 0.5, "step": 7, "kind": "test"}\n'),
        "training.jsonl": (b'{"kind": "training", "round": 1, "seconds": 1, "bytes_sent": 1, '
                           b'"samples": 2, "loss": 2}\n{"round": 1, "seco'),
    },
}
CHOSEN_BY_FIRST_BYTE = ("link", "parking", "membership", "branch", "join", "reach", "admission", "collective",
                        "verify", "group", "line", "state", "gossip", "mix", "discovery")


def main():
    for name, seeds in SEEDS.items():
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        # A second form of a message is NAME_brief.
        places = [seed for seed in seeds if not seed.endswith("_brief")]
        for seed, encoded in seeds.items():
            place = places.index(seed.removesuffix("_brief"))
            head = bytes([place]) if name in CHOSEN_BY_FIRST_BYTE else b""
            (folder / seed).write_bytes(head + encoded)


if __name__ == "__main__":
    main()
