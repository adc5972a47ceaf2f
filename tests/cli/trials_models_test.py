#!/usr/bin/env python3
"""A newcomer's trials with trained models: damaged ones, ones without their data, and over HTTP.

usage: trials_models_test.py [NAME ...]
"""
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys

from command_line import ROOT, expect, lines_of_json, main, rows_file, scratch, weft
from small_data import (SMALL_TEXT, TEXT, Server, checkpoint, npy, refused, run, summary,
                        trained, two_classes)
from checkpoint_files import in_the_old_form, metadata

FASHION = "/usr/share/datasets/fashion-mnist"


# --- Checkpoints that are damaged, or not there.

def a_cut_checkpoint_is_named_and_an_older_one_is_offered():
    with scratch() as folder:
        out = trained(folder, "synthetic_mlp", "checkpoint.every_steps=3", "checkpoint.keep=2",
                      steps=6)
        newest, older = checkpoint(out), out / "checkpoints/checkpoint-3.safetensors"
        os.truncate(newest, 3000)
        end = run(folder, "synthetic_mlp", steps=8, flags=["--resume"])
        refused(end, 4, newest.name, "--resume=older", older.name)
        expect(newest.exists() and older.exists(), "a file is gone")
        end = run(folder, "synthetic_mlp", steps=8, flags=["--resume=older"])
        expect(end.code == 0 and summary(out)["steps"] == 8, f"{end}")


def a_folder_of_a_run_stands_for_its_newest_checkpoint():
    with scratch() as folder:
        out = trained(folder, "synthetic_mlp", "checkpoint.every_steps=2", "checkpoint.keep=2",
                      steps=4)
        rows = rows_file(folder / "x.npy")
        end = weft("eval", out, "--json")
        expect(lines_of_json(end.output)[0]["steps"] == 4, f"{end}")
        for command in (["predict", out, rows], ["export", out, "--onnx", folder / "m.onnx"],
                        ["export", out, "--safetensors", folder / "w.safetensors"]):
            expect(weft(*command).code == 0, f"{command}: {weft(*command)}")
        with Server(out) as server:
            expect(server.ask("GET", "/healthz")[0] == 200, "no answer")
        os.truncate(checkpoint(out), 3000)
        end = weft("eval", out, "--json")
        expect(end.code == 0 and lines_of_json(end.output)[0]["steps"] == 2, f"newest good: {end}")


def a_model_that_is_not_a_number_is_refused():
    def spoil(data):
        data[400:404] = struct.pack("<f", float("nan"))

    with scratch() as folder:
        out = trained(folder, "synthetic_mlp", steps=3)
        found = checkpoint(out)
        in_the_old_form(found, spoil)
        for command in (["eval", found], ["predict", found, rows_file(folder / "x.npy")],
                        ["export", found, "--onnx", folder / "m.onnx"], ["serve", found, "--port", 0]):
            end = weft(*command)
            expect(end.code == 4 and found.name in end.errors and "not a number" in end.errors,
                   f"{command[0]}: {end}")
            expect(" %" not in end.output, f"{command[0]} answers: {end}")


# --- Models without their data.

def hidden(place):
    """What starts a command for which the folder `place` is empty."""
    return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs tmpfs "{place}" && exec "$@"', "sh"]


def a_model_is_used_where_its_data_are_not_installed():
    if not os.path.isdir(FASHION):
        return "skipped: Fashion-MNIST is not installed"
    if subprocess.run([*hidden(FASHION), "true"], capture_output=True, check=False).returncode:
        return "skipped: no mount namespaces"
    with scratch() as folder:
        out = trained(folder, "fashion_mnist_lenet", "run.evaluate=false", steps=2)
        rows = rows_file(folder / "x.npy")
        here = weft("predict", out, rows).output
        there = weft("predict", out, rows, prefix=hidden(FASHION))
        expect(there.code == 0 and there.output == here, f"{there}")
        for flag, name in (("--onnx", "m.onnx"), ("--safetensors", "w.safetensors")):
            end = weft("export", out, flag, folder / name, prefix=hidden(FASHION))
            expect(end.code == 0, f"{flag}: {end}")
        with Server(out, hidden(FASHION)) as server:
            expect(server.ask("GET", "/healthz")[0] == 200, "no answer")
        refused(weft("eval", out, prefix=hidden(FASHION)), 3, "fashion-mnist: expected its 4 files",
                "dataset-fashion-mnist")
        return ""


def a_text_model_keeps_its_alphabet():
    """Another text at the same place, of as many characters or more, changes no prediction."""
    with scratch() as folder:
        (folder / "t.txt").write_text(TEXT)
        out = trained(folder, "text_char_gpt", *SMALL_TEXT, "data.path=t.txt", steps=10)
        (folder / "away").mkdir()
        shutil.copy(checkpoint(out), folder / "away/model.safetensors")

        def said(where, model):
            end = weft("predict", model, "the quick", "--tokens", 12, cwd=where)
            expect(end.code == 0, f"{end}")
            return end.output

        wanted = said(folder, out)
        expect(said(folder / "away", "model.safetensors") == wanted, "from another folder")
        for changed in (TEXT.replace("q", "Q").replace("z", "Z"), TEXT + "~"):
            (folder / "t.txt").write_text(changed)
            expect(said(folder, out) == wanted, f"{changed[-60:]!r} changed it")
            refused(weft("eval", out, cwd=folder), 2, "t.txt: encode: expected one of the",
                    "characters of the vocabulary")
        end = weft("eval", "model.safetensors", cwd=folder / "away")
        refused(end, 3, "data.path: the recipe reads", "--data PATH")


def an_exported_table_model_says_how_to_feed_it():
    """Its graph takes raw rows, and its metadata tell of columns and classes."""
    with scratch() as folder:
        two_classes(folder / "t.csv")
        out = trained(folder, "rows_mlp", "data.path=t.csv", "data.target=kind", steps=50)
        end = weft("export", out, "--onnx", folder / "m.onnx")
        expect(end.code == 0, f"{end}")
        file = (folder / "m.onnx").read_bytes()
        for name in (b"weft.data", b"weft.classes", b"weft.mean", b"weft.scale"):
            expect(name in file, f"no {name} in the file")
        columns = json.loads(metadata(checkpoint(out))["data"])["columns"]
        expect([column["name"] for column in columns] == ["a", "b"]
               and abs(columns[0]["mean"] - 1000) < 50, f"{columns}")
    page = " ".join((ROOT / "docs/onnx.md").read_text().split())
    for name in ("weft.data", "weft.classes", "numbers as in the file"):
        expect(name in page, f"docs/onnx.md does not say {name}")


# --- Over HTTP.

def text_model(folder):
    (folder / "t.txt").write_text(TEXT)
    return trained(folder, "text_char_gpt", *SMALL_TEXT, "data.path=t.txt", "run.name=char GPT",
                   steps=5)


def completions_are_asked_for_as_clients_do():
    with scratch() as folder, Server(text_model(folder)) as server:
        def complete(**settings):
            return server.ask("POST", "/v1/completions", {"prompt": "the quick", **settings})

        model = server.ask("GET", "/v1/models")[1]["data"][0]["id"]
        expect(" " not in model, f"a name with a blank: {model!r}")
        status, answer = server.ask("GET", f"/v1/models/{model}")
        expect(status == 200 and answer["id"] == model, f"{status}: {answer}")
        # The context is 32 and 16 tokens are the default: clipped, not refused.
        status, answer = complete(prompt="the quick brown fox jumps")
        expect(status == 200 and answer["usage"]["completion_tokens"] <= 7, f"{status}: {answer}")
        status, answer = complete(prompt=["the ", "fox "], max_tokens=3)
        expect(status == 200 and len(answer["choices"]) == 2, f"{status}: {answer}")
        for settings in ({"stop": "e"}, {"top_p": 0.5}, {"logprobs": 2}, {"n": 2}, {"temperature": 2},
                         {"max_completion_tokens": 4},
                         {"stream": True, "stream_options": {"include_usage": True}}):
            status, answer = complete(seed=1, **settings)
            expect(status == 200, f"{settings}: {status}: {answer}")
        status, answer = complete(functions=[])
        error = answer["error"]
        expect(status == 400 and error["code"] == "unknown_parameter"
               and error["param"] == "functions" and error["type"] == "invalid_request_error",
               f"{status}: {answer}")
        expect(re.match(r"functions: ", error["message"]), error["message"])
        status, answer = server.ask("POST", "/v1/chat/completions", {"model": model, "messages": []})
        expect(status == 404 and "/v1/completions" in answer["error"]["message"], f"{answer}")
        # A key that stands twice is nobody's wish.
        status, answer = server.ask("POST", "/v1/completions", '{"prompt": "a", "prompt": "b"}')
        expect(status == 400 and "prompt" in answer["error"]["message"], f"{status}: {answer}")


def raw(port, request):
    """The first line of what a server answers to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
        link.sendall(request)
        return link.recv(200).split(b"\r\n", 1)[0].decode()


def what_is_no_proper_request_gets_its_status():
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    requests = {
        404: b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
        405: b"DELETE /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
        411: head + b"\r\n",
        413: head + b"Content-Length: 10000000\r\n\r\n",
        414: b"GET /" + b"a" * 10000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        417: head + b"Content-Length: 2\r\nExpect: magic\r\n\r\n",
        431: b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 40000 + b"\r\n\r\n",
        505: b"GET /healthz HTTP/3.0\r\nHost: localhost\r\n\r\n",
    }
    bad = [b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
           head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"]
    with scratch() as folder:
        out = trained(folder, "synthetic_mlp", steps=2)
        with Server(out) as server:
            for status, request in [*requests.items(), *((400, each) for each in bad)]:
                line = raw(server.port, request)
                expect(line.startswith(f"HTTP/1.1 {status} "), f"{request[:60]}: {line}")
            status, answer = server.ask("POST", "/v1/predict", '{"inputs": ' + "[" * 3000 + "]" * 3000
                                        + "}")
            expect(status == 400, f"nested: {status}: {answer}")
            expect(server.ask("HEAD", "/healthz")[0] == 200, "HEAD")
            rows = [[0] * 784]
            status, answer = server.ask("POST", "/v1/predict", {"inputs": rows})
            expect(status == 200 and len(answer["outputs"][0]) == 10, f"{status}: {answer}")
            expect(server.ask("GET", "/metrics")[0] == 200, "metrics")
        npy(folder / "wide.npy", [0.0] * 785, (1, 785))
        refused(weft("predict", out, folder / "wide.npy"), 2, "wide.npy", "expected a shape that")


def weights_of_8_bits_are_a_choice_of_each_command_that_computes():
    with scratch() as folder:
        out = trained(folder, "synthetic_mlp", steps=20)
        draw = random.Random(1)
        rows = npy(folder / "x.npy", [draw.gauss(0, 1) for _ in range(3 * 784)], (3, 1, 28, 28))
        chosen = {}
        for weights in ("f32", "int8"):
            end = weft("predict", out, rows, "--weights", weights, "--json")
            chosen[weights] = [row[0]["class"] for row in lines_of_json(end.output)[0]["predictions"]]
            accuracy = lines_of_json(weft("eval", out, "--weights", weights, "--json").output)[0]
            chosen[weights].append(round(accuracy["test_accuracy"], 1))
            end = weft("bench", "forward", "--model", "mlp", "--seconds", "0.1", "--weights", weights,
                       "--json")
            expect(lines_of_json(end.output)[0]["weights"] == weights, f"{end}")
        expect(chosen["f32"] == chosen["int8"], f"{chosen}")
        with Server(out, flags=["--weights", "int8"]) as server:
            status, answer = server.ask("POST", "/v1/predict", {"inputs": [[0] * 784]})
            expect(status == 200 and len(answer["outputs"][0]) == 10, f"{status}: {answer}")
        for command in (["predict", out, rows], ["serve", out], ["eval", out], ["bench", "forward"]):
            refused(weft(*command, "--weights", "int4"), 2, "--weights: expected one of f32, int8")


TESTS = {test.__name__: test for test in (
    a_cut_checkpoint_is_named_and_an_older_one_is_offered,
    a_folder_of_a_run_stands_for_its_newest_checkpoint,
    a_model_that_is_not_a_number_is_refused,
    a_model_is_used_where_its_data_are_not_installed,
    a_text_model_keeps_its_alphabet,
    an_exported_table_model_says_how_to_feed_it,
    completions_are_asked_for_as_clients_do,
    what_is_no_proper_request_gets_its_status,
    weights_of_8_bits_are_a_choice_of_each_command_that_computes,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
