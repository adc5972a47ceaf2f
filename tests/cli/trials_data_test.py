#!/usr/bin/env python3
"""A newcomer's trials with data of their own: tables, texts, photos and arrays from the command line.

usage: trials_data_test.py [NAME ...]
"""
import random
import re
import sys

from command_line import ROOT, expect, lines_of_json, main, scratch, weft
from small_data import (SMALL_TEXT, TEXT, Server, checkpoint, npy, refused, run, summary, table,
                        trained, two_classes)

PHOTOS = ROOT / "examples/data/shapes"
KIND = "data.target=kind"


# --- What is named is read, or refused.

def a_path_that_the_recipes_data_do_not_read_is_refused():
    with scratch() as folder:
        (folder / "my.txt").write_text(TEXT)
        for recipe, path in (("fashion_mnist_cnn", PHOTOS), ("text_char_gpt", "my.txt")):
            end = run(folder, recipe, f"data.path={path}", steps=3)
            refused(end, 2, "data.path: ", "has no effect with data.name = ", '"images"', '"text"',
                    "set data.name")


def photos_in_folders_train_with_a_recipe_of_images():
    with scratch() as folder:
        trained(folder, "fashion_mnist_cnn", "data.name=images", f"data.path={PHOTOS}",
                "run.global_batch=8", steps=3)
        refused(run(folder, "rows_mlp", f"data.path={PHOTOS}"), 2, "expected rows", "got images")


def a_misspelt_kind_of_data_is_answered_with_those_of_a_persons_own():
    with scratch() as folder:
        end = run(folder, "synthetic_mlp", "data.name=image")
        refused(end, 2, 'got "image"; did you mean "images"?', "rows", "text", "tokens",
                "read your own data at data.path")
    listed = weft("data", "list").output
    expect("images, rows, text and tokens are your own data, at data.path" in listed, listed)


# --- Tables.

def tables_of_other_programs_are_read():
    draw = random.Random(2)
    rows = [(f"{draw.gauss(0, 1):.2f}".replace(".", ","), f"{i % 7},5", "ja" if i % 7 > 3 else "nein")
            for i in range(200)]
    with scratch() as folder:
        table(folder / "europe.csv", rows, separator=";")
        table(folder / "tabs.tsv", rows, separator="\t")
        quoted = ['"a, cm";"b";"kind"'] + [f'"{a}";{b};"{kind}"' for a, b, kind in rows]
        (folder / "excel.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(quoted).encode() + b"\r\n")
        for number, name in enumerate(("europe.csv", "tabs.tsv", "excel.csv")):
            out = trained(folder, "rows_mlp", f"data.path={name}", KIND, out=str(number))
            expect(summary(out)["test_accuracy"] > 0.9, f"{name}: {summary(out)}")


def an_exactly_linear_table_is_learned():
    draw = random.Random(1)
    points = [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(300)]
    with scratch() as folder:
        table(folder / "reg.csv", [(f"{a:.5f}", f"{b:.5f}", f"{100 + 3 * a - b:.5f}")
                                   for a, b in points], header=("a", "b", "price"))
        end = run(folder, "rows_mlp", "data.path=reg.csv", "data.target=price",
                  "data.classify=false")
        expect(end.code == 0, f"{end}")
        r2 = float(re.search(r"test R2 (-?[\d.]+), mean absolute error", end.output)[1])
        expect(r2 > 0.98, f"R2 {r2}: {end}")
        # Predictions come in the units of the column.
        table(folder / "new.csv", [(1, 0), (0, 1)], header=("a", "b"))
        said = weft("predict", "out", "new.csv", cwd=folder).output
        first, second = (float(value) for value in re.findall(r"^\d: .*?(-?[\d.]+)$", said, re.M))
        expect(abs(first - 103) < 0.5 and abs(second - 99) < 0.5, said)
        return f"R2 {r2}"


def the_table_that_was_trained_on_is_predicted_on_and_served_alike():
    """Columns are normalised everywhere as in training, so raw rows get the right classes."""
    with scratch() as folder:
        kinds = two_classes(folder / "scaled.csv")
        out = trained(folder, "rows_mlp", "data.path=scaled.csv", KIND)
        expect(summary(out)["test_accuracy"] > 0.9, f"{summary(out)}")
        end = weft("predict", out, "scaled.csv", "--top", "1", cwd=folder)
        said = re.findall(r"^\d+: (\w+) ", end.output, re.M)
        right = sum(a == b for a, b in zip(said, kinds))
        expect(len(said) == 300 and right > 285, f"{right} of {len(said)} rows are right: {end}")
        rows = [[float(value) for value in line.split(",")[:2]]
                for line in (folder / "scaled.csv").read_text().splitlines()[1:21]]
        npy(folder / "raw.npy", [value for row in rows for value in row], (20, 2))
        end = weft("predict", out, "raw.npy", "--top", "1", cwd=folder)
        expect(re.findall(r"^\d+: (\w+) ", end.output, re.M) == said[:20], f"an array: {end}")
        with Server(out) as server:
            status, answer = server.ask("POST", "/v1/predict", {"inputs": rows})
        expect(status == 200 and answer["labels"] == said[:20], f"serve: {status}: {answer}")
        return f"{right} of 300 rows"


def words_as_inputs_and_a_header_that_is_denied():
    with scratch() as folder:
        rows = [(("red", "green", "blue")[i % 3], i % 5, "x" if i % 3 else "y") for i in range(200)]
        table(folder / "words.csv", rows)
        out = trained(folder, "rows_mlp", "data.path=words.csv", KIND)
        expect(summary(out)["test_accuracy"] > 0.9, "a word decides, and it was not learned")
        two_classes(folder / "t.csv", rows=50)
        end = run(folder, "rows_mlp", "data.path=t.csv", "data.header=false", out="other")
        refused(end, 2, "data.header: got false", "set data.header = true")
    page = " ".join((ROOT / "docs/data.md").read_text().split())
    expect("A column of words becomes an input for each word" in page, "the coding is not documented")


# --- Arrays, texts.

def arrays_train_from_their_folder():
    draw = random.Random(3)
    points = [draw.gauss(0, 1) for _ in range(400)]
    with scratch() as folder:
        (folder / "arrays").mkdir()
        npy(folder / "arrays/x.npy", points, (200, 2))
        npy(folder / "arrays/y.npy", [int(points[2 * i] > 0) for i in range(200)], (200,), "q")
        out = trained(folder, "rows_mlp", "data.path=arrays", "data.target=", "data.classify=true")
        expect(summary(out)["test_accuracy"] > 0.8, f"{summary(out)}")
        end = run(folder, "rows_mlp", "data.path=arrays/x.npy", out="other")
        refused(end, 2, "data.path: expected", "x.npy and y.npy")


def a_text_of_ones_own_trains_every_text_recipe():
    with scratch() as folder:
        (folder / "t.txt").write_text(TEXT)
        for recipe in ("text_char_gpt", "text_llama", "text_lstm"):
            trained(folder, recipe, *SMALL_TEXT, "data.path=t.txt", steps=2, out=recipe)
            head = (ROOT / f"recipes/{recipe}.toml").read_text().split("\n[", 1)[0]
            expect("data.name=text" in head.replace(" ", "") and "data.path=" in head,
                   f"{recipe} does not say how to train on a text of one's own")


# --- What cannot work is refused before the first step.

def too_little_data_is_refused_before_the_first_step():
    with scratch() as folder:
        table(folder / "two.csv", [(1, 2, "x"), (2, 3, "y")])
        table(folder / "few.csv", [(i, i % 3, "xy"[i % 2]) for i in range(36)])
        (folder / "tiny.txt").write_text("the quick brown fox")
        (folder / "short.txt").write_text(TEXT[:600])
        for recipe, settings, words in (
                ("rows_mlp", ["data.path=two.csv", KIND, "run.global_batch=1"],
                 ["two.csv: expected 10 rows or more for a test split, got 2"]),
                ("rows_mlp", ["data.path=few.csv", KIND],
                 ["run.global_batch: expected at most", "few.csv", "got 64"]),
                ("text_char_gpt", ["data.name=text", "data.path=tiny.txt"],
                 ["data.path: expected", "tiny.txt has 19"]),
                ("text_char_gpt", ["data.name=text", "data.path=short.txt", "run.global_batch=2"],
                 ["data.context: expected at most", "short.txt", "got 128"])):
            refused(run(folder, recipe, *settings), 2, *words)


def a_smaller_table_than_the_batch_can_be_evaluated_on():
    with scratch() as folder:
        two_classes(folder / "t.csv")
        two_classes(folder / "few.csv", rows=36, seed=5)
        out = trained(folder, "rows_mlp", "data.path=t.csv", KIND)
        end = weft("eval", out, "--data", "few.csv", "--json", cwd=folder)
        expect(end.code == 0, f"{end}")
        expect(0 < lines_of_json(end.output)[0]["samples"] <= 36, f"{end}")


def a_table_is_told_from_other_files_by_its_ending():
    with scratch() as folder:
        table(folder / "table.dat", [(1, 2, "x")])
        end = refused(run(folder, "rows_mlp", "data.path=table.dat"), 2, "data.path: expected rows",
                      ".csv or .tsv", "got table.dat")
        # Kinds that rows refuse would lead on to the next error.
        expect(".txt" not in end.errors and ".bin" not in end.errors, f"{end}")


def a_table_that_is_not_there_is_told_by_its_key():
    with scratch() as folder:
        end = run(folder, "rows_mlp", "data.path=nowhere.csv")
        refused(end, 3, 'data.path: the recipe reads "nowhere.csv"', "WEFT_DATA_DIR", "--data PATH")
        # Without a path of one's own the recipe has a table to begin with.
        end = weft("run", "recipes/rows_mlp.toml", "--steps", 3, "--out", folder / "own", "--listen",
                   "127.0.0.1:0", cwd=ROOT)
        expect(end.code == 0, f"{end}")


def computed_data_obey_the_limit_of_test_samples():
    with scratch() as folder:
        end = run(folder, "synthetic_mlp", "data.test_samples_max=64", steps=3)
        expect(end.code == 0 and "on 64 samples" in end.output, f"{end}")
        found = checkpoint(folder / "out")
        expect(lines_of_json(weft("eval", found, "--json").output)[0]["samples"] == 64, f"{end}")


TESTS = {test.__name__: test for test in (
    a_path_that_the_recipes_data_do_not_read_is_refused,
    photos_in_folders_train_with_a_recipe_of_images,
    a_misspelt_kind_of_data_is_answered_with_those_of_a_persons_own,
    tables_of_other_programs_are_read,
    an_exactly_linear_table_is_learned,
    the_table_that_was_trained_on_is_predicted_on_and_served_alike,
    words_as_inputs_and_a_header_that_is_denied,
    arrays_train_from_their_folder,
    a_text_of_ones_own_trains_every_text_recipe,
    too_little_data_is_refused_before_the_first_step,
    a_smaller_table_than_the_batch_can_be_evaluated_on,
    a_table_is_told_from_other_files_by_its_ending,
    a_table_that_is_not_there_is_told_by_its_key,
    computed_data_obey_the_limit_of_test_samples,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
