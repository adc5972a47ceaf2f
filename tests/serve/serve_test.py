#!/usr/bin/env python3
"""`weft serve` as a process: a thousand clients at once, streams, limits, and its end.

usage: serve_test.py [NAME ...]
Trains two small models first. Python 3 standard library only.
"""
import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEFT = os.environ.get("WEFT_PROGRAM", str(ROOT / "build/release/weft"))
CLIENTS = 1000
REQUESTS_A_CLIENT = 4
BODY_MAX = 100000

IMAGES = """
[model]
name = "mlp"
hidden_units = 32
[data]
name = "synthetic"
synthetic_samples = 512
[optimizer]
learning_rate = 0.05
[run]
name = "images"
steps = 30
global_batch = 64
evaluate = false
[checkpoint]
every_steps = 30
[group]
discovery = "off"
"""
TEXT = """
[model]
name = "char_gpt"
layers = 2
embedding_width = 32
heads = 2
[data]
name = "text"
path = "{path}"
tokenizer = "byte"
context = 256
[optimizer]
name = "adamw"
learning_rate = 0.003
[run]
name = "text"
steps = 20
global_batch = 4
evaluate = false
[checkpoint]
every_steps = 20
[group]
discovery = "off"
"""


ROWS = """
[model]
name = "mlp"
[data]
name = "rows"
path = "{path}"
classify = false
[run]
name = "flats"
steps = 20
global_batch = 32
evaluate = false
[group]
discovery = "off"
"""

JSON = {"Content-Type": "application/json"}


class Failure(AssertionError):
    """A claim that did not hold, with what was seen instead."""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def train(folder, name, recipe):
    path = folder / f"{name}.toml"
    path.write_text(recipe, encoding="utf-8")
    out = folder / name
    ran = subprocess.run([WEFT, "run", str(path), "--out", str(out), "--listen", "127.0.0.1:0"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                         check=False)
    expect(ran.returncode == 0, f"weft run: {ran.returncode}: {ran.stderr[-1000:]}")
    return str(max((out / "checkpoints").glob("*.safetensors")))


class Server:
    """`weft serve` of a checkpoint at a free port; use as a context manager."""

    def __init__(self, checkpoint, *arguments):
        self.process = subprocess.Popen(
            [WEFT, "serve", checkpoint, "--port", "0", *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"listening on http://([\d.]+):(\d+) ", line)
        expect(found, f"expected a line \"listening on ...\", got {line!r}")
        self.host, self.port = found[1], int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.communicate()

    def connection(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def ask(self, method, path, body=None, connection=None):
        """Status and the body, from JSON where it is some."""
        link = connection or self.connection()
        link.request(method, path, json.dumps(body) if isinstance(body, dict) else body, JSON)
        answer = link.getresponse()
        text = answer.read().decode()
        if connection is None:
            link.close()
        kind = answer.getheader("Content-Type")
        return answer.status, json.loads(text) if kind == "application/json" else text

    def terminate(self, seconds=40):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"the server did not end in {seconds} s behind SIGTERM") from None


def row(number):
    return [(number * 31 + i * 7) % 256 for i in range(784)]


def requests_of(draw, client):
    """[(bytes, status, which row)]: good and bad ones; the connection lives through all of them."""
    made = []
    for _ in range(REQUESTS_A_CLIENT):
        number = draw.randrange(50)
        kind = draw.randrange(7)
        status, which, body, head = 200, None, "", "POST /v1/predict HTTP/1.1"
        if kind <= 2:
            which, body = number, json.dumps({"inputs": [row(number)]})
        elif kind == 3:
            status, body = 400, "{\"inputs\": [[1, 2"
        elif kind == 4:
            status, body = 400, json.dumps({"inputs": [row(number)[:-1]]})
        elif kind == 5:
            status, head = 404, f"GET /nothing/{client} HTTP/1.1"
        else:
            status, head = 405, "PUT /v1/predict HTTP/1.1"
        text = (f"{head}\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}")
        made.append((text.encode(), status, which))
    return made


async def read_answer(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(re.search(r"^Content-Length: (\d+)", head, re.M)[1])
    return int(head.split()[1]), json.loads(await reader.readexactly(length))


class Gate:
    """Opens once so many have come."""

    def __init__(self, count):
        self.missing = count
        self.open = asyncio.Event()

    async def come(self):
        self.missing -= 1
        if self.missing == 0:
            self.open.set()
        await self.open.wait()


async def client_of(server, client, gate, wanted):
    """Whether each request was answered as it should be; some send all of them at once."""
    draw = random.Random(client)
    reader, writer = await asyncio.open_connection(server.host, server.port)
    await gate.come()
    requests = requests_of(draw, client)
    piped = draw.random() < 0.3
    if piped:
        writer.write(b"".join(request for request, _, _ in requests))
    for request, status, which in requests:
        if not piped:
            writer.write(request)
        got, body = await read_answer(reader)
        expect(got == status, f"client {client}: expected {status}, got {got}: {body}")
        if which is not None:
            expect(all(abs(a - b) < 1e-3 for a, b in zip(body["outputs"][0], wanted[which])),
                   f"client {client}: outputs of another row")
        else:
            expect(body["error"]["type"] == "invalid_request_error", f"client {client}: {body}")
    writer.close()
    return len(requests)


async def all_clients(server, wanted):
    gate = Gate(CLIENTS)
    tasks = [asyncio.create_task(client_of(server, i, gate, wanted)) for i in range(CLIENTS)]
    return sum(await asyncio.wait_for(asyncio.gather(*tasks), timeout=120))


def a_thousand_clients_are_all_answered(models):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < CLIENTS + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, CLIENTS + 200), hard))
    with Server(models["images"], "--body-max", str(BODY_MAX), "--batch-max", "64") as server:
        wanted = [server.ask("POST", "/v1/predict", {"inputs": [row(i)]})[1]["outputs"][0]
                  for i in range(50)]
        answered = asyncio.run(all_clients(server, wanted))
        expect(answered == CLIENTS * REQUESTS_A_CLIENT, f"answered {answered}")
        metrics = server.ask("GET", "/metrics")[1]
        told = sum(int(n) for n in re.findall(r"^weft_serve_requests_total\{.*\} (\d+)$", metrics,
                                              re.M))
        expect(told == answered + 50, f"expected {answered + 50} in the metrics, got {told}")
        batches = int(re.search(r"^weft_serve_batch_rows_count (\d+)$", metrics, re.M)[1])
        rows = int(re.search(r"^weft_serve_rows_total (\d+)$", metrics, re.M)[1])
        expect(batches < rows, f"{rows} rows in {batches} batches: none were joined")


def a_body_above_the_limit_and_nonsense(models):
    with Server(models["images"], "--body-max", str(BODY_MAX)) as server:
        status, body = server.ask("POST", "/v1/predict", " " * (BODY_MAX + 1))
        expect(status == 413 and str(BODY_MAX) in body["error"]["message"], f"{status}: {body}")
        # So much that the client cannot send it all before the answer comes.
        status, body = server.ask("POST", "/v1/predict", " " * (4 * 1000 * 1000))
        expect(status == 413, f"{status}: {body}")
        status, body = server.ask("POST", "/v1/predict", {"inputs": [["a"]]})
        expect(status == 400 and "rows of numbers" in body["error"]["message"], f"{body}")
        link = server.connection()
        status, body = server.ask("GET", "/v1/models", connection=link)
        expect(status == 200 and body["data"][0]["architecture"] == "mlp", f"{body}")
        # Pieces of a body, on the same connection.
        link.request("POST", "/v1/predict", iter([b'{"inputs": [', json.dumps(row(1)).encode(),
                                                  b"]}"]), encode_chunked=True,
                     headers={"Transfer-Encoding": "chunked", **JSON})
        answer = link.getresponse()
        expect(answer.status == 200, f"chunked: {answer.status}")
        expect(json.loads(answer.read())["classes"], "expected classes")
        link.close()


def complete(server, settings):
    return server.ask("POST", "/v1/completions", settings)


def streamed(server, settings):
    link = server.connection()
    link.request("POST", "/v1/completions", json.dumps({**settings, "stream": True}), JSON)
    answer = link.getresponse()
    expect(answer.status == 200, f"stream: {answer.status}")
    events = answer.read().decode().split("\n\n")
    link.close()
    expect(events[-2:] == ["data: [DONE]", ""], f"the stream's end: {events[-3:]}")
    pieces = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    expect(len({piece["id"] for piece in pieces}) == 1, "expected one id in a stream")
    return "".join(piece["choices"][0]["text"] for piece in pieces), len(pieces)


def a_streamed_text_is_the_unstreamed_one(models):
    with Server(models["text"], "--tokens-max", "200") as server:
        for settings in ({"prompt": "the ", "max_tokens": 40, "temperature": 0},
                         {"prompt": "the ", "max_tokens": 60, "temperature": 1.3, "seed": 5},
                         {"prompt": [104, 101], "max_tokens": 20, "seed": 6}):
            status, whole = complete(server, settings)
            expect(status == 200, f"{whole}")
            text, pieces = streamed(server, settings)
            expect(text == whole["choices"][0]["text"], f"{text!r} is not {whole}")
            expect(pieces > 1, "expected more than one piece")
        first = complete(server, {"prompt": "the ", "max_tokens": 60, "seed": 1})[1]
        other = complete(server, {"prompt": "the ", "max_tokens": 60, "seed": 2})[1]
        expect(first["choices"][0]["text"] != other["choices"][0]["text"], "seeds change nothing")
        # At most what --tokens-max allows.
        status, body = complete(server, {"prompt": "a", "max_tokens": 201})
        expect(status == 200 and body["usage"]["completion_tokens"] == 200, f"{status}: {body}")


def texts_are_the_same_beside_others(models):
    settings = {"prompt": "one ", "max_tokens": 80, "seed": 3}
    with Server(models["text"]) as server:
        alone = complete(server, settings)[1]["choices"][0]["text"]

        async def one(number):
            mine = settings if number % 2 == 0 else {**settings, "seed": number}
            return (await asyncio.to_thread(complete, server, mine))[1]["choices"][0]["text"]

        async def several():
            return await asyncio.gather(*(one(i) for i in range(24)))

        texts = asyncio.run(several())
        expect(all(text == alone for text in texts[::2]), "a text changed beside others")


def leave(server, draw, request):
    """Sends a part of some requests, perhaps reads a little, and goes, perhaps with a reset."""
    with socket.create_connection((server.host, server.port), timeout=20) as link:
        if draw.random() < 0.5:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        whole = request * draw.randrange(1, 4)
        with contextlib.suppress(OSError):
            link.sendall(whole[:draw.randrange(1, len(whole) + 1)])
            if draw.random() < 0.5:
                link.settimeout(0.02)
                link.recv(draw.randrange(1, 500))


def gauge(server, name):
    return int(re.search(rf"^{name} (\d+)$", server.ask("GET", "/metrics")[1], re.M)[1])


def clients_that_leave_at_any_moment_cost_nothing(models):
    draw = random.Random(1)
    for name, path, content in (
            ("images", "/v1/predict", {"inputs": [row(1), row(2)]}),
            ("text", "/v1/completions", {"prompt": "a", "max_tokens": 200, "stream": True})):
        body = json.dumps(content)
        request = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        with Server(models[name]) as server:
            for _ in range(200):
                leave(server, draw, request)
            deadline = time.monotonic() + 20
            while gauge(server, "weft_serve_connections") > 1 or gauge(
                    server, "weft_serve_jobs_waiting") > 0:
                expect(time.monotonic() < deadline, "connections or jobs of clients that left")
                time.sleep(0.05)  # tidy: allow sleep: another process is asked how it stands
            content.pop("stream", None)
            expect(server.ask("POST", path, content)[0] == 200, "no answer behind them")
            expect(server.terminate() == 0, "expected exit code 0")


def the_requests_of_the_page_are_answered_as_it_says(models):
    page = (ROOT / "docs/serving.md").read_text(encoding="utf-8")
    asked = r"^curl (?:-N )?http://127.0.0.1:8080(/\S+) --json '(.*)'\n((?:.+\n)*?)(?=\n|```)"
    found = re.findall(asked, page, re.MULTILINE)
    expect(len(found) >= 3, f"expected three requests in docs/serving.md, got {len(found)}")
    for path, body, shown in found:
        # What the page cuts short: rows of 784 pixels.
        body = re.sub(r"\[[\d, ]+, \.\.\.\]", json.dumps(row(3)), body)
        with Server(models["images" if path == "/v1/predict" else "text"]) as server:
            status, answer = server.ask("POST", path, body)
        expect(status == 200, f"{path} {body[:60]}: {status}: {answer}")
        text = answer if isinstance(answer, str) else json.dumps(answer)
        for key in re.findall(r'"(\w+)":', shown):
            expect(f'"{key}"' in text, f"{path}: the page shows \"{key}\", got {text[:200]}")
        last = shown.rstrip().splitlines()[-1]
        expect(not last.startswith("data:") or text.rstrip().endswith(last), text[-200:])


def what_a_browser_sends_for_other_sites_is_refused(models):
    body = json.dumps({"inputs": [row(1)]})
    with Server(models["images"], "--allow-host", "model.example") as server:
        own = f"{server.host}:{server.port}"
        good = {"Host": own, **JSON}
        for status, headers in (
                (200, good), (200, {**good, "Host": f"localhost:{server.port}"}),
                (200, {**good, "Host": "model.example"}),
                (200, {**good, "Origin": f"http://{own}"}),
                # A name that leads here, a page that posts here, and what a page may post unasked.
                (403, {**good, "Host": f"rebound.example:{server.port}"}),
                (403, {**good, "Origin": "http://page.example"}), (403, {**good, "Origin": "null"}),
                (415, {"Host": own, "Content-Type": "text/plain"}),
                (415, {"Host": own, "Content-Type": "application/x-www-form-urlencoded"}),
                (415, {"Host": own})):
            link = server.connection()
            link.putrequest("POST", "/v1/predict", skip_host=True)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                link.putheader(name, value)
            link.endheaders(body.encode())
            answer = link.getresponse()
            text = answer.read().decode()
            link.close()
            expect(answer.status == status, f"{headers}: {answer.status}: {text}")
            expect(status == 200 or "outputs" not in text, f"{headers}: {text}")


def the_page_asks_the_server_and_shows_texts_as_texts(models):
    if shutil.which("node") is None:
        print("     (no node: the page's script is not run)")
        return
    with (Server(models["text"]) as texts, Server(models["images"]) as images,
          Server(models["rows"]) as rows):
        urls = [f"http://{server.host}:{server.port}" for server in (texts, images, rows)]
        ran = subprocess.run(["node", str(ROOT / "tests/serve/page_test.cjs"), *urls], timeout=120,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        expect(ran.returncode == 0, f"{ran.stdout}{ran.stderr}")


def columns_are_told_with_their_words(models):
    with Server(models["rows"]) as server:
        told = server.ask("GET", "/v1/models")[1]["data"][0]
        expect(told["targets"] == ["rent"], f"expected what was learned, got {told}")
        columns = told["columns"]
        expect([(one["name"], one["kind"]) for one in columns]
               == [("district", "words"), ("heating", "words"), ("area", "numbers"), ("age", "numbers")],
               f"expected names and kinds, got {columns}")
        expect("Harbour" in columns[0]["words"] and "words" not in columns[2], f"got {columns}")
        status, answer = server.ask("POST", "/v1/predict", {"inputs": [["Harbour", None, 70, 12]]})
        expect(status == 200 and len(answer["outputs"][0]) == 1, f"{status}: {answer}")
    told = None
    with Server(models["images"]) as server:
        told = server.ask("GET", "/v1/models")[1]["data"][0]
    expect("columns" not in told, f"images have no columns, got {told}")


def ctrl_c_is_answered_in_words_at_once(models):
    with Server(models["text"]) as server:
        link = server.connection()
        link.request("POST", "/v1/completions", json.dumps(
            {"prompt": "a", "max_tokens": 250, "n": 100, "stream": True}), JSON)
        link.getresponse().read(20)
        server.process.send_signal(signal.SIGINT)
        # A machine that is busy may have said before that loading takes long.
        line = next((each for each in server.process.stderr if "interrupted" in each), "")
        expect(line.startswith("weft: interrupted: the server finishes the current requests"), line)
        server.process.send_signal(signal.SIGINT)
        code = server.process.wait(timeout=20)
        expect(code == 130, f"expected exit code 130, got {code}")


def sigterm_finishes_what_has_begun(models):
    with Server(models["text"]) as server:
        idle = server.connection()
        expect(server.ask("GET", "/healthz", connection=idle)[0] == 200, "no health")
        link = server.connection()
        link.request("POST", "/v1/completions",
                     json.dumps({"prompt": "a", "max_tokens": 250, "stream": True}), JSON)
        answer = link.getresponse()
        first = answer.read(20)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        rest = answer.read()
        expect((first + rest).endswith(b"data: [DONE]\n\n"), f"cut: {rest[-100:]}")
        code = server.process.wait(timeout=20)
        expect(code == 0, f"expected exit code 0, got {code}: {server.process.stderr.read()}")
        expect(time.monotonic() - begun < 20, "the end took too long")
    with Server(models["images"]) as server:
        expect(server.terminate() == 0, "expected exit code 0")


def what_cannot_be_served_is_told(models):
    def refused(code, text, *arguments):
        ran = subprocess.run([WEFT, "serve", *arguments], stdin=subprocess.DEVNULL, text=True,
                             capture_output=True, timeout=60, check=False)
        expect(ran.returncode == code and text in ran.stderr,
               f"{arguments}: expected {code} and {text!r}, got {ran.returncode}: {ran.stderr}")

    refused(3, "nowhere.safetensors", "/nowhere.safetensors")
    refused(4, "test.toml", str(models["broken"]))
    with Server(models["images"]) as server:
        refused(3, "choose another --port", models["images"], "--port", str(server.port))
    refused(3, "listen on 192.0.2.1", models["images"], "--host", "192.0.2.1")


TESTS = (a_thousand_clients_are_all_answered, a_body_above_the_limit_and_nonsense,
         a_streamed_text_is_the_unstreamed_one, texts_are_the_same_beside_others,
         clients_that_leave_at_any_moment_cost_nothing,
         the_requests_of_the_page_are_answered_as_it_says,
         what_a_browser_sends_for_other_sites_is_refused,
         the_page_asks_the_server_and_shows_texts_as_texts, columns_are_told_with_their_words, ctrl_c_is_answered_in_words_at_once,
         sigterm_finishes_what_has_begun,
         what_cannot_be_served_is_told)


def main(names):
    failed = 0
    chosen = [test for test in TESTS if not names or test.__name__ in names]
    with tempfile.TemporaryDirectory(prefix="weft-serve-") as name:
        folder = pathlib.Path(name)
        (folder / "text.txt").write_text("one two three four five six seven eight. " * 200)
        (folder / "test.toml").write_text("no checkpoint")
        models = {"images": train(folder, "images", IMAGES),
                  "text": train(folder, "text", TEXT.format(path=folder / "text.txt")),
                  "rows": train(folder, "rows", ROWS.format(path=ROOT / "examples/data/flats.csv")),
                  "broken": folder / "test.toml"}
        for test in chosen:
            begun = time.monotonic()
            try:
                test(models)
                word = "ok  "
            except Exception as problem:  # whatever it was, the others run
                failed += 1
                word = f"FAIL {type(problem).__name__}: {problem}\n    "
            print(f"{word} {test.__name__} {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
