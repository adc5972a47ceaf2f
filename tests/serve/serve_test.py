#!/usr/bin/env python3
"""`weft serve` as a process: a thousand clients at once, streams, limits, and its end.

usage: serve_test.py [NAME ...]
Trains two small models first. Python 3 standard library only.
"""
import asyncio
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from serve_clients import (BODY_MAX, a_thousand_clients_are_all_answered,
                           clients_that_leave_at_any_moment_cost_nothing)
from served_models import IMAGES, JSON, ROOT, ROWS, TEXT, WEFT, Server, expect, row, train


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


def columns_are_named_with_their_words(models):
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


def what_cannot_be_served_is_reported(models):
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
         the_page_asks_the_server_and_shows_texts_as_texts, columns_are_named_with_their_words,
         ctrl_c_is_answered_in_words_at_once, sigterm_finishes_what_has_begun,
         what_cannot_be_served_is_reported)


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
