"""Many clients of `weft serve` at once, and clients that leave before their answer."""
import asyncio
import contextlib
import json
import random
import re
import resource
import socket
import struct
import time

from served_models import Server, expect, row

CLIENTS = 1000
REQUESTS_A_CLIENT = 4
BODY_MAX = 100000


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
