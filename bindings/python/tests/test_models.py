"""Trained models from their files, weft.models.load()."""
import json
import math
import os
import pathlib
import tempfile
import unittest

import weft

TABLE = {"kind": "rows", "name": "t.csv", "classes": 0, "class_names": [],
         "columns": [{"name": "size", "mean": 1000.0, "deviation": 50.0, "missing": 2},
                     {"name": "kind", "missing": 0, "words": ["flat", "house"]}],
         "targets": [{"name": "price", "mean": 100.0, "deviation": 10.0}]}
PICTURES = {"kind": "images", "name": "photos", "classes": 2, "class_names": ["cat", "dog"],
            "channels": 1, "height": 4, "width": 4, "mean": [0.5], "deviation": [0.25],
            "transforms": ""}
TEXT = {"kind": "tokens", "name": "t.txt", "vocabulary": 3, "context": 8,
        "characters_per_token": 1.0}


class LoadedModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "model.safetensors")

    def put(self, name, sizes, data, tokenizer=None, change=None):
        """A file with a model of the zoo that was not trained; the model."""
        model = weft.models.create(name, seed=3, **sizes)
        if change:
            with weft.no_grad():
                change(model)
        metadata = {"format": "weft checkpoint 1", "run_id": "", "step": "7", "recipe": "",
                    "optimizer": "sgd", "optimizer_steps": "7", "layout": "",
                    "model": json.dumps({"name": name, **sizes}), "data": json.dumps(data)}
        if tokenizer:
            metadata["tokenizer"] = tokenizer
        weft._core._save(self.path, list(model.state_dict().items()), metadata)
        model.eval()
        return model

    def test_a_table_is_asked_in_its_own_words_and_units(self):
        made = self.put("mlp", {"hidden_units": 8, "channels": 3, "height": 1, "width": 1,
                                "classes": 1}, TABLE)
        model = weft.models.load(pathlib.Path(self.path))
        self.assertEqual((model.kind, model.step, model.architecture), ("rows", 7, "mlp"))
        self.assertEqual(model.description["columns"][1]["words"], ["flat", "house"])
        rows = [[1050, "house"], [None, "flat"], {"kind": "castle", "size": 950.0}]
        wanted = weft.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
        self.assertEqual(model.prepare(rows).tolist(), wanted.tolist())
        values = [100 + 10 * value for value, in made(wanted).tolist()]
        for got, value in zip(model.predict(rows).tolist(), values):
            self.assertAlmostEqual(got[0], value, places=3)
        numbers = weft.tensor([[1050.0, 1.0], [math.nan, 0.0], [950.0, math.nan]])
        self.assertEqual(model.predict(numbers).tolist(), model.predict(rows).tolist())
        for wrong in ([[1, 2]], [["x", "flat"]], [[1.0]], [{"size": 1}]):
            with self.assertRaises(weft.InvalidArgumentError):
                model.predict(wrong)

    def test_pixels_are_normalised(self):
        made = self.put("mlp", {"hidden_units": 8, "channels": 1, "height": 4, "width": 4,
                                "classes": 2}, PICTURES)
        model = weft.models.load(self.path)
        pixels = weft.full((2, 1, 4, 4), 191, dtype=weft.uint8)
        inputs = weft.full((2, 1, 4, 4), (191 / 255 - 0.5) / 0.25)
        for got, wanted in zip(model.predict(pixels).tolist(), made(inputs).tolist()):
            for a, b in zip(got, wanted):
                self.assertAlmostEqual(a, b, places=5)
        best = made(inputs).argmax(-1).tolist()
        self.assertEqual(model.classes_of(pixels), [["cat", "dog"][i] for i in best])
        with self.assertRaises(weft.InvalidArgumentError):
            model.predict(weft.full((2, 3, 4, 4), 1, dtype=weft.uint8))

    def test_a_text_goes_on_with_the_files_own_alphabet(self):
        self.put("char_gpt", {"vocabulary": 3, "context": 8, "layers": 1, "heads": 1,
                              "embedding_width": 8}, TEXT, "weft-characters 1\nU+61\nU+62\nU+63\n")
        model = weft.models.load(self.path)
        self.assertEqual(model.encode("cab"), [2, 0, 1])
        self.assertEqual(model.decode([2, 0, 1]), "cab")
        more = model.generate("cab", tokens=12)
        self.assertEqual(len(more), 12)
        self.assertLessEqual(set(more), set("abc"))
        self.assertEqual(model.predict("cab").shape, (1, 3, 3))
        self.assertEqual(model.predict("cab").tolist(),
                         model.predict(weft.tensor([[2, 0, 1]])).tolist())
        with self.assertRaises(weft.InvalidArgumentError):
            model.encode("x")

    def test_a_loaded_model_is_a_module(self):
        sizes = {"hidden_units": 8, "channels": 3, "height": 1, "width": 1, "classes": 1}
        made = self.put("mlp", sizes, TABLE)
        model = weft.models.load(self.path)
        self.assertFalse(model.training)
        self.assertEqual({name: p.tolist() for name, p in model.named_parameters()},
                         {name: p.tolist() for name, p in made.named_parameters()})
        before = model.predict([[1050, "flat"]]).tolist()
        optimizer = weft.optim.SGD(model.parameters(), lr=0.5)
        model(weft.ones(4, 3)).sum().backward()
        optimizer.step()
        self.assertNotEqual(model.predict([[1050, "flat"]]).tolist(), before)

    def test_a_loaded_model_becomes_an_onnx_file_without_an_example(self):
        target = os.path.join(self.folder.name, "model.onnx")
        self.put("mlp", {"hidden_units": 8, "channels": 1, "height": 4, "width": 4, "classes": 2},
                 PICTURES)
        model = weft.models.load(self.path)
        self.assertLess(weft.onnx.export(model, target), 1e-4)
        pixels = weft.arange(48).reshape(3, 1, 4, 4).to(weft.uint8)
        program = weft.onnx.load(target)
        self.assertEqual(len(program.inputs), 1)
        given = pixels if program.inputs[0].dtype is weft.uint8 else pixels.float()
        weft.testing.assert_close(program(given), model.predict(pixels), rtol=1e-4, atol=1e-5)
        with self.assertRaises(weft.InvalidArgumentError):  # nothing but a file's model has one
            weft.onnx.export(weft.models.create("mlp", channels=1, height=4, width=4), target)

    def test_what_is_no_model_says_so(self):
        with self.assertRaises(weft.UnavailableError):
            weft.models.load(self.path)
        with self.assertRaises(weft.UnavailableError):
            weft.models.load(self.folder.name)
        sizes = {"hidden_units": 8, "channels": 3, "height": 1, "width": 1, "classes": 1}

        def ruin(model):
            next(iter(model.parameters())).fill_(math.nan)

        self.put("mlp", sizes, TABLE, change=ruin)
        with self.assertRaisesRegex(weft.CorruptError, "not a number"):
            weft.models.load(self.path)
        self.put("mlp", sizes, {**TABLE, "columns": TABLE["columns"][:1]})
        with self.assertRaisesRegex(weft.CorruptError, "sizes of its data"):
            weft.models.load(self.path)
        weft.save({"a": weft.ones(2)}, self.path)
        with self.assertRaises(weft.CorruptError):
            weft.models.load(self.path)


if __name__ == "__main__":
    unittest.main()
