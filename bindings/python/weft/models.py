"""The zoo: models of Weft's C++ library as modules, weft.models.create("cnn"), and trained ones
from their files, weft.models.load("weft-runs/r1")."""
import json
import math
import os

import weft
from weft import _core
from weft.nn.module import Module

# By how many numbers a pass with dropout moves the default generator on.
_PLACES = 16


def names():
    """The models there are."""
    return _core._model_names()


class ZooModel(Module):
    """A model that is written in C++. Parameters are leaves that share its memory; what needs
    others (load_state_dict, optimizers, saving) works as for any module."""

    def __init__(self, name, options, native=None):
        super().__init__()
        native = native or _core._ZooModel(name, options)
        self.__dict__.update(_native=native, name=name, options=options,
                             _named=native.parameters(), _named_buffers=native.buffers())

    def _own_parameters(self):
        return self._named

    def _own_buffers(self):
        return self._named_buffers

    def train(self, mode=True):
        super().train(mode)
        self._native.train(bool(mode))
        return self

    def requires_grad_(self, requires_grad=True):
        raise _core.InvalidArgumentError(
            "[requires_grad_] the model of the zoo holds its parameters itself: leave them out of "
            "the optimizer instead")

    def to(self, *args, **kwargs):
        if any(isinstance(value, _core.dtype) for value in (*args, *kwargs.values())):
            raise _core.InvalidArgumentError("[to] a model of the zoo computes in float32")
        return self

    def forward(self, input):  # noqa: A002
        if self.training:  # dropout draws a new mask in each step
            seed, offset = _core.default_generator.get_state()
            _core.default_generator.set_state((seed, offset + _PLACES))
            self._native.set_step(seed, offset)
        return self._native.forward(input)

    def extra_repr(self):
        return ", ".join([repr(self.name), *(f"{k}={v!r}" for k, v in self.options.items())])


def create(name, **options):
    """The model `name`, with options such as seed, classes, channels, height, width; for text
    vocabulary, context, layers, heads, embedding_width."""
    return ZooModel(name, options)


class LoadedModel(ZooModel):
    """A trained model with what its file says of its data: `description` (a dict of kind, name,
    classes, class_names and, by kind, channels, height, width, mean, deviation and transforms, or
    vocabulary and context, or columns and targets), `architecture` and `step`.

    forward() takes what prepare() gives; predict() takes inputs as they are."""

    def __init__(self, path):
        native = _core._load_model(path)
        super().__init__(native.architecture(), {}, native)
        self.__dict__.update(description=json.loads(native.description()), step=native.step(),
                             architecture=native.architecture())
        self.eval()

    @property
    def kind(self):
        """"images", "rows" or "tokens"."""
        return self.description["kind"]

    @property
    def class_names(self):
        return self.description["class_names"]

    def prepare(self, inputs):
        """The inputs of predict() as forward() takes them."""
        if self.kind == "rows" and not isinstance(inputs, _core.Tensor):
            inputs = self._table(inputs)
        elif self.kind == "tokens" and isinstance(inputs, str):
            inputs = weft.tensor([self.encode(inputs)])
        elif not isinstance(inputs, _core.Tensor):
            inputs = weft.tensor(inputs)
        return self._native.prepare(inputs)

    def predict(self, inputs):
        """What the model says: logits, or values in the units of what was learned.

        images: uint8 [N, C, H, W], pixels from 0 to 255. rows: a list of rows, each a list with a
        value for each column or a dict of values by the columns' names, with texts in columns of
        words and None where a value is missing; or a tensor [N, columns] with the numbers of words
        and NaN. tokens: a text or a tensor [N, T]; generate() goes on with a text."""
        was_training = self.training
        self.eval()
        try:
            return self._native.compute(self.prepare(inputs))
        finally:
            self.train(was_training)

    def classes_of(self, inputs):
        """The names (or the numbers, where there are none) of the likeliest classes."""
        best = self.predict(inputs).argmax(-1).tolist()
        return [self.class_names[i] for i in best] if self.class_names else best

    def encode(self, text):
        """The tokens of a text."""
        return self._native.encode(text)

    def decode(self, tokens):
        """The text of tokens."""
        return self._native.decode(list(tokens)).decode("utf-8", "replace")

    def generate(self, text, tokens=200, temperature=0.0, seed=1):
        """How the model goes on with `text`: what `weft predict` prints behind it."""
        return self.decode(self._native.go_on(self.encode(text), tokens, temperature, seed))

    def _table(self, rows):
        columns = self.description["columns"]
        places = [{word: i for i, word in enumerate(column.get("words", ()))} for column in columns]
        table = []
        for row in rows:
            if isinstance(row, dict):
                missing = [column["name"] for column in columns if column["name"] not in row]
                if missing:
                    raise _core.InvalidArgumentError(
                        f"[predict] expected a value (or None) for the column {missing[0]!r}")
                row = [row[column["name"]] for column in columns]
            if len(row) != len(columns):
                raise _core.InvalidArgumentError(
                    f"[predict] expected rows of {len(columns)} columns, got {len(row)}")
            table.append([self._number(value, words, column["name"])
                          for value, words, column in zip(row, places, columns)])
        return weft.tensor(table, dtype=weft.float32)

    @staticmethod
    def _number(value, words, name):
        if value is None:
            return math.nan
        if isinstance(value, str) != bool(words):
            raise _core.InvalidArgumentError(
                f"[predict] expected {'a text' if words else 'a number'} in the column {name!r}")
        return words.get(value, math.nan) if words else float(value)


def load(path):
    """The trained model of a checkpoint's file, or of a run's folder (its newest good one)."""
    return LoadedModel(os.fspath(path))
