"""Random programs of views, writes in place and reads, as lines of Python, and running them.

A program is text that runs alike with Weft, with PyTorch and with the reference of
write_reference.py: `T` is the library. It is drawn from a seed by random.random() alone, which is
the same in every version of Python.
"""
import hashlib
import math
import random

import numpy as np

# Views of x as text, and the same of NumPy where it says it otherwise.
VIEWS = (
    ("{}[0]", None), ("{}[-1]", None), ("{}[1:]", None), ("{}[::2]", None), ("{}[..., 0]", None),
    ("{}[:, 1]", None), ("{}[None]", None), ("{}[:, :1]", None), ("{}[0, 1:]", None),
    ("{}.view(-1)", "{}.reshape(-1)"), ("{}.reshape(1, -1)", None), ("{}.flatten()", "{}.reshape(-1)"),
    ("{}.transpose(0, 1)", "{}.swapaxes(0, 1)"), ("{}.permute(1, 0)", "{}.transpose(1, 0)"),
    ("{}.t()", "{}.T"), ("{}.diagonal()", None), ("{}.diagonal(1)", None),
    ("{}.unsqueeze(0)", "{}[None]"), ("{}.unsqueeze(-1)", "{}[..., None]"), ("{}.squeeze()", None),
    ("{}.narrow(0, 1, 1)", "{}[1:2]"), ("{}.chunk(2)[0]", "{}[:({}.shape[0] + 1) // 2]"),
    ("{}.split(1)[-1]", "{}[-1:]"), ("{}.unbind(0)[0]", "{}[0]"), ("{}.detach()", "{}[...]"),
    ("{}.expand(2, *{}.shape)", "np.broadcast_to({}, (2, *{}.shape))"),
    ("{}.contiguous()", "{}[...]"),
    ("{}.unfold(0, 2, 1)", "np.lib.stride_tricks.sliding_window_view({}, 2, 0)"),
)
READS = ("{} * 2.0", "{} * {}", "{}.sin()", "{}.exp()", "{}.tanh()", "{}.sigmoid()", "{} + 1.0",
         "{}.clone()", "-{}", "{}.relu()")
# Writes of all of x, or of x[key]; `v` is a number or a tensor that fits.
WRITES = ("{x}.add_({v})", "{x}.mul_({v})", "{x}.sub_({v})", "{x}.copy_({t})", "{x}.fill_({n})",
          "{x}.zero_()", "{x}.div_({n})", "{x}.clamp_(-0.7, 0.7)", "{x}.tanh_()", "{x}.exp_()",
          "{x}.sigmoid_()", "{x}.relu_()", "{x}.neg_()", "{x}.masked_fill_({mask}, {n})",
          "{x} += {v}", "{x} *= {v}", "{x} -= {v}", "{x} /= {n}", "{x}.add_({v}, alpha=0.5)")
ITEM_WRITES = ("{x}[{k}] = {v}", "{x}[{k}] = {v}", "{x}[{k}] += {v}", "{x}[{k}] *= {v}",
               "{x}[{k}] -= {v}")
KEYS = ("0", "-1", "1:", ":1", "::2", "...", "None", "0, 1", ":, 0", "..., -1", "1, :1", "[0]",
        "[1, 0]", ":, [1]", "{mask}")


class Writer:
    """Draws one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.shapes = [], {}
        self.leaves = []

    def below(self, count):
        return int(self.random.random() * count)

    def choose(self, options):
        return options[self.below(len(options))]

    def chance(self, probability):
        return self.random.random() < probability

    def number(self):
        return round(self.random.random() * 3 - 1.5, 2) or 0.5

    def numbers(self, shape):
        return np.array([self.number() for _ in range(math.prod(shape))]).reshape(shape).tolist()

    def name(self, shape):
        name = f"x{len(self.shapes)}"
        self.shapes[name] = tuple(shape)
        return name

    def make(self, shape, grad):
        name = self.name(shape)
        self.lines.append(f"{name} = T.tensor({self.numbers(shape)}, dtype=D)"
                          + (".requires_grad_()" if grad else ""))
        if grad:
            self.leaves.append(name)
        return name

    def fitting(self, shape):
        """A tensor that broadcasts to `shape`, or None."""
        def fits(other):
            try:
                return np.broadcast_shapes(shape, other) == shape
            except ValueError:
                return False
        names = [name for name, other in self.shapes.items() if fits(other)]
        return self.choose(names) if names else None

    def mask(self, shape):
        bits = [self.chance(0.5) for _ in range(math.prod(shape))]
        return f"T.tensor({np.array(bits).reshape(shape).tolist()})"

    def view(self, x):
        text, same = self.choose(VIEWS)
        line = text.replace("{}", x)
        if text == "{}.t()" and len(self.shapes[x]) > 2:
            return
        try:
            shape = eval((same or text).replace("{}", "a"), {"np": np, "a": np.empty(self.shapes[x])}).shape
        except (IndexError, ValueError):
            return
        if math.prod(shape) <= 24 and len(shape) <= 4 and math.prod(shape) > 0:
            self.define(line, shape)

    def define(self, text, shape):
        quiet = self.chance(0.04)
        name = self.name(shape)
        self.lines.append(f"with T.no_grad(): {name} = {text}" if quiet else f"{name} = {text}")

    def value(self, shape):
        """Something to write: a number, a tensor that fits, or what is computed from one."""
        other = self.fitting(shape) if self.chance(0.65) else None
        if other is None:
            return str(self.number())
        return other if self.chance(0.7) else f"({self.choose(READS).replace('{}', other)})"

    def write(self, x):
        shape = self.shapes[x]
        if self.chance(0.45) and shape:
            key = self.choose(KEYS)
            if key == "{mask}":
                key = self.mask(shape[:1] if self.chance(0.3) else shape)
            try:
                with_numpy = key.replace("T.tensor(", "np.array(")
                part = eval(f"a[{with_numpy}]", {"np": np, "a": np.empty(shape)}).shape
            except IndexError:
                return
            # A mask has as many values as it has True: only what fits any number.
            value = str(self.number()) if "T." in key else self.value(part)
            line = self.choose(ITEM_WRITES).format(x=x, k=key, v=value)
        else:
            line = self.choose(WRITES)
            if "{t}" in line and self.fitting(shape) is None:
                return
            line = line.format(x=x, v=self.value(shape), t=self.fitting(shape), n=self.number(),
                               mask=self.mask(shape))
        self.lines.append(f"with T.no_grad(): {line}" if self.chance(0.06) else line)

    def draw(self):
        shape = (2 + self.below(2), 2 + self.below(3)) if self.chance(0.85) else (2 + self.below(3),)
        for _ in range(1 + self.below(2)):
            self.make(shape, True)
        for _ in range(self.below(3)):
            self.make(shape if self.chance(0.6) else shape[-1:], False)
        for leaf in list(self.leaves):
            self.define(f"{leaf} * {self.number()}", shape)
        for _ in range(3 + self.below(9)):
            # Seldom the leaves themselves: most writes of them are refused.
            names = [n for n in self.shapes if n not in self.leaves or self.chance(0.1)]
            x = self.choose(names)
            which = self.random.random()
            if which < 0.3:
                self.view(x)
            elif which < 0.42:
                self.define(self.choose(READS).replace("{}", x), self.shapes[x])
            else:
                self.write(x)
        used = {self.choose(list(self.shapes)) for _ in range(3)} | {list(self.shapes)[-1]}
        self.lines.append("loss = T.tensor(0.0, dtype=D)" + "".join(
            f" + ({name}.sin() * {self.number()}).sum()" for name in sorted(used)))
        return self


def program(seed):
    """The lines of a program, and the names of its leaves."""
    writer = Writer(seed).draw()
    return writer.lines, writer.leaves


def digest(count):
    """What tells the programs of the first seeds from others."""
    text = "\n".join(line for seed in range(count) for line in program(seed)[0])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Refused(Exception):
    """Line `line` of the program was refused; len(lines) stands for the backward."""

    def __init__(self, line, error):
        super().__init__(str(error))
        self.line, self.error = line, error


def run(lines, leaves, library, dtype, after=None):
    """The program's loss, the values of all its tensors and the gradients of its leaves, as NumPy
    arrays (zeros where there is none). after(line, tensors) is called after each line."""
    names = {"T": library, "D": getattr(library, dtype)}
    for number, line in enumerate(lines):
        try:
            exec(line, names)
        except (RuntimeError, ValueError, TypeError, IndexError, NameError) as error:
            raise Refused(number, error) from None
        if after is not None:
            after(number, names)
    loss = names["loss"]
    if loss.requires_grad:
        try:
            loss.backward()
        except (RuntimeError, ValueError) as error:
            raise Refused(len(lines), error) from None
    tensors = {name: np.array(x.detach().numpy()) for name, x in names.items()
               if name[0] == "x" or name == "loss"}
    gradients = [np.zeros_like(tensors[leaf]) if names[leaf].grad is None
                 else np.array(names[leaf].grad.numpy()) for leaf in leaves]
    return tensors, gradients
