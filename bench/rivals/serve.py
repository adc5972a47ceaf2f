#!/usr/bin/env python3
"""Times `weft serve` beside PyTorch behind Python's http.server, with the same model and requests.

The model is an MLP 784-HIDDEN-10, trained for two steps; PyTorch reads its values from the
checkpoint, and both sides must give the same outputs. Requests hold one row of 784 pixels as JSON
over keep-alive connections of this machine. Three servers in turn: `weft serve --batch-max 1`
(single), `weft serve` (batched), and PyTorch (a thread a connection, one row at a time, which is
what such a script does). For each: answers a second, median and 99th percentile of the time to an
answer, with one client and with --clients. The client is this script, and shares the machine's
cores with the server.

    bench/rivals/serve.py --weft build/release/weft --python /usr/bin/python3 --json serve.json

Then, without a rival, completions of 100 tokens by a GPT of 4 layers of 128 (--batch-max 1 and
--batch-max), in tokens a second.

With --check the exit status is 1 unless batched answers at least twice as many requests as single
with --clients.
"""
import argparse
import contextlib
import http.server
import json
import pathlib
import re
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from machine import processor, torch_environment, torch_facts, torch_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEATURES = 784
# Mean and deviation of the pixels of the dataset "synthetic" (src/weft/data/batch/dataset.cpp),
# divided by 255.
MEAN, DEVIATION = 96 / 255, 0.217
WARM_UP_SECONDS = 0.5
BATCHED_RATIO_MIN = 2.0
RECIPE = """
[model]
name = "mlp"
hidden_units = {hidden}
[data]
name = "synthetic"
synthetic_samples = 256
[run]
name = "serve bench"
steps = 2
global_batch = 64
evaluate = false
[group]
discovery = "off"
"""

TEXT_RECIPE = """
[model]
name = "char_gpt"
layers = 4
embedding_width = 128
heads = 4
[data]
name = "text"
path = "{path}"
tokenizer = "byte"
context = 128
[run]
name = "serve bench"
steps = 2
global_batch = 4
evaluate = false
[group]
discovery = "off"
"""
COMPLETION_TOKENS = 100


def row(number):
    return [(number * 31 + i * 7) % 256 for i in range(FEATURES)]


def request_bytes(path, content):
    body = json.dumps(content)
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def predict_request(number):
    return request_bytes("/v1/predict", {"inputs": [row(number)]})


def completion_request(number):
    return request_bytes("/v1/completions", {"prompt": "once upon a time", "seed": number,
                                             "max_tokens": COMPLETION_TOKENS})


# --- The other side, run with --torch-server.


def read_tensors(path, torch):
    """The f32 tensors of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
        tensors[name] = values.reshape(entry["shape"]).clone()
    return tensors


def torch_server(options):
    import torch

    torch.set_num_threads(options.threads)
    values = read_tensors(options.torch_server, torch)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, values["fc1.bias"].numel()), torch.nn.ReLU(),
        torch.nn.Linear(values["fc1.bias"].numel(), 10))
    model.load_state_dict({"0.weight": values["fc1.weight"], "0.bias": values["fc1.bias"],
                           "2.weight": values["fc2.weight"], "2.bias": values["fc2.bias"]})
    model.eval()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # one write an answer

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            rows = torch.tensor(json.loads(body)["inputs"], dtype=torch.float32)
            with torch.inference_mode():
                outputs = model((rows / 255 - MEAN) / DEVIATION)
            text = json.dumps({"outputs": outputs.tolist(),
                               "classes": outputs.argmax(1).tolist()}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port} ", flush=True)
    server.serve_forever()


# --- This side.


class Client:
    """One keep-alive connection that asks, waits for the answer, and asks again."""

    def __init__(self, port, request):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = request
        self.received = b""
        self.asked = 0.0

    def ask(self):
        self.received = b""
        self.asked = time.perf_counter()
        self.socket.sendall(self.request)

    def take(self):
        """The body once the answer is whole."""
        piece = self.socket.recv(65536)
        if not piece:
            raise SystemExit("the server ended the connection")
        self.received += piece
        head, mark, body = self.received.partition(b"\r\n\r\n")
        if not mark or len(body) < int(re.search(rb"Content-Length: (\d+)", head)[1]):
            return None
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"expected an answer, got {self.received[:300]}")
        return body


def load(port, clients, seconds, request_of=predict_request):
    """Answers a second, and the milliseconds of each."""
    selector = selectors.DefaultSelector()
    for number in range(clients):
        client = Client(port, request_of(number))
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.ask()
    begin = time.perf_counter() + WARM_UP_SECONDS
    end = begin + seconds
    times = []
    now = 0.0
    while now < end:
        for key, _ in selector.select(timeout=30):
            client = key.data
            if client.take() is None:
                continue
            now = time.perf_counter()
            if now >= begin:
                times.append(1000 * (now - client.asked))
            client.ask()
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    return {"per_second": len(times) / seconds, "p50_ms": statistics.median(times),
            "p99_ms": statistics.quantiles(times, n=100)[98]}


@contextlib.contextmanager
def serving(command, threads):
    env = torch_environment(threads)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    try:
        line = process.stdout.readline()
        found = re.match(r"listening on http://[\d.]+:(\d+) ", line)
        if not found:
            raise SystemExit(f"{command[0]}: expected \"listening on ...\", got {line!r}")
        yield int(found[1])
    finally:
        process.kill()
        process.wait()


def first_outputs(port):
    client = Client(port, predict_request(3))
    client.ask()
    body = None
    while body is None:
        body = client.take()
    client.socket.close()
    return json.loads(body)["outputs"][0]


def make_checkpoint(options, folder, text):
    folder.mkdir()
    recipe = folder / "bench.toml"
    recipe.write_text(text)
    subprocess.run([options.weft, "run", str(recipe), "--out", str(folder / "out"), "--listen",
                    "127.0.0.1:0"], check=True, stdout=subprocess.DEVNULL)
    return str(next((folder / "out/checkpoints").glob("*.safetensors")))


def measure_text(options, folder):
    """Tokens a second of one client and of several, computed one by one and side by side."""
    words = folder / "words.txt"
    words.write_text("once upon a time there was a bench. " * 200)
    checkpoint = make_checkpoint(options, folder / "text", TEXT_RECIPE.format(path=words))
    lines = []
    for batch_max, clients in ((1, 1), (1, options.clients), (options.batch_max, options.clients)):
        command = [options.weft, "serve", checkpoint, "--port", "0", "--threads",
                   str(options.threads), "--batch-max", str(batch_max)]
        with serving(command, options.threads) as port:
            rate = statistics.median(
                load(port, clients, options.seconds, completion_request)["per_second"]
                for _ in range(options.repetitions))
        lines.append(f"completions, --batch-max {batch_max}, {clients} clients: "
                     f"{rate * COMPLETION_TOKENS:.0f} tokens/s")
    return "\n".join(lines)


def measure(options, folder):
    checkpoint = make_checkpoint(options, folder / "images", RECIPE.format(hidden=options.hidden))
    threads = ["--threads", str(options.threads)]
    serve = [options.weft, "serve", checkpoint, "--port", "0", *threads]
    servers = {"single": [*serve, "--batch-max", "1"],
               "batched": [*serve, "--batch-max", str(options.batch_max)],
               "pytorch": [options.python, __file__, "--torch-server", checkpoint, *threads]}
    results, outputs = [], {}
    for repetition in range(options.repetitions):
        for name, command in servers.items():
            with serving(command, options.threads) as port:
                outputs[name] = first_outputs(port)
                for clients in (1, options.clients):
                    results.append({"server": name, "clients": clients, "repetition": repetition,
                                    **load(port, clients, options.seconds)})
                    print(json.dumps(results[-1]), flush=True)
    apart = max(abs(a - b) for name in servers
                for a, b in zip(outputs["single"], outputs[name]))
    if apart > 1e-3:
        raise SystemExit(f"the servers' outputs differ by {apart}: {outputs}")
    return results


def table(results):
    """Medians over the repetitions, as Markdown."""
    lines = ["| server | clients | answers/s | p50 ms | p99 ms |", "|---|---|---|---|---|"]
    medians = {}
    for clients in sorted({entry["clients"] for entry in results}):
        for server in ("single", "batched", "pytorch"):
            mine = [entry for entry in results
                    if entry["server"] == server and entry["clients"] == clients]
            middle = {key: statistics.median(entry[key] for entry in mine)
                      for key in ("per_second", "p50_ms", "p99_ms")}
            medians[server, clients] = middle["per_second"]
            lines.append(f"| {server} | {clients} | {middle['per_second']:.0f} | "
                         f"{middle['p50_ms']:.2f} | {middle['p99_ms']:.2f} |")
    return "\n".join(lines), medians


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=str(ROOT / "build/release/weft"))
    parser.add_argument("--python", default=sys.executable, help="with torch")
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--batch-max", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--torch-server", metavar="CHECKPOINT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch_server:
        torch_server(options)
        return 0
    print(f"{processor()}. {torch_text(torch_facts(options.python))}.")
    with tempfile.TemporaryDirectory(prefix="weft-serve-bench-") as name:
        results = measure(options, pathlib.Path(name))
        print(measure_text(options, pathlib.Path(name)))
    text, medians = table(results)
    print(text)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    ratio = medians["batched", options.clients] / medians["single", options.clients]
    print(f"batched over single with {options.clients} clients: {ratio:.2f}")
    return 1 if options.check and ratio < BATCHED_RATIO_MIN else 0


if __name__ == "__main__":
    sys.exit(main())
