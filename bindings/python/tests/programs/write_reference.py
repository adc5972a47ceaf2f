"""What programs of views and writes mean, without a graph: the oracle of test_in_place_programs.

Every element carries its derivatives by all elements of all leaves. A Store is memory, a Tensor the
positions of its elements in one, so that views and aliases see writes by themselves. What is made by
detach() or without recording shows the values and not the derivatives; a write that is not recorded
leaves derivatives as they are. Stands in for the library `T` of write_programs.py.
"""
import contextlib

import numpy as np

float32, float64 = np.float32, np.float64
recording = True
leaves = []
PLACES = 64  # elements of all leaves together, at most


class Undefined(Exception):
    """Two histories of one memory, which the reference does not follow."""


class Store:
    def __init__(self, values, slopes=None):
        self.values = np.array(values, dtype=np.float64).ravel()
        self.slopes = (np.zeros((self.values.size, PLACES)) if slopes is None
                       else np.array(slopes).reshape(-1, PLACES))
        self.history = False


@contextlib.contextmanager
def no_grad():
    global recording
    before, recording = recording, False
    try:
        yield
    finally:
        recording = before


def start():
    """Before each program."""
    leaves.clear()


def tensor(data, dtype=None):
    data = np.array(data)
    if data.dtype == bool:
        return data
    return Tensor(Store(data), np.arange(data.size).reshape(data.shape))


class Tensor:
    def __init__(self, store, places, follows=True):
        self.store, self.places, self.follows = store, np.asarray(places), follows
        self.grad = None

    # What it shows.
    @property
    def shape(self):
        return self.places.shape

    @property
    def requires_grad(self):
        return self.follows and self.store.history

    def numpy(self):
        return self.store.values[self.places]

    def slopes(self):
        found = self.store.slopes[self.places]
        return found if self.follows else np.zeros_like(found)

    def requires_grad_(self):
        count, before = self.places.size, sum(leaf.places.size for leaf in leaves)
        self.store.slopes[np.arange(count), before + np.arange(count)] = 1
        self.store.history = True
        leaves.append(self)
        return self

    # Views.
    def shows(self, places):
        return Tensor(self.store, places, self.follows and (recording or not self.store.history))

    def __getitem__(self, key):
        return self.shows(self.places[key]) if is_view(key) else self.copied(self.places[key])

    def copied(self, places):
        return made(self.store.values[places], Tensor(self.store, places, self.follows).slopes(), self)

    def detach(self):
        return Tensor(self.store, self.places, False)

    def view(self, *shape):
        # A view is always possible where the programs ask PyTorch for one; else it refuses.
        return self.reshape(*shape)

    def reshape(self, *shape):
        places = self.places.reshape(shape)
        return self.shows(places) if self.can_view(places) else self.copied(places)

    def can_view(self, places):
        """Whether steps of memory reach `places`."""
        return steps_of(places)

    def flatten(self):
        return self if self.places.ndim == 1 else self.reshape(-1)

    def contiguous(self):
        flat = self.places.ravel()
        dense = flat.size < 2 or (np.diff(flat) == 1).all()
        return self if dense else self.copied(self.places)

    def clone(self):
        return self.copied(self.places)

    def transpose(self, a, b):
        return self.shows(self.places.swapaxes(a, b))

    def permute(self, *axes):
        return self.shows(self.places.transpose(axes))

    def t(self):
        return self.shows(self.places.T)

    def diagonal(self, offset=0):
        return self.shows(self.places.diagonal(offset))

    def unsqueeze(self, axis):
        return self.shows(np.expand_dims(self.places, axis))

    def squeeze(self):
        return self.shows(self.places.squeeze())

    def narrow(self, axis, start, length):
        return self.shows(self.places[start:start + length])

    def chunk(self, count):
        each = -(-self.shape[0] // count)
        return [self.shows(self.places[i:i + each]) for i in range(0, self.shape[0], each)]

    def split(self, each):
        return [self.shows(self.places[i:i + each]) for i in range(0, self.shape[0], each)]

    def unbind(self, axis):
        return [self.shows(places) for places in self.places]

    def unfold(self, axis, size, step):
        return self.shows(np.lib.stride_tricks.sliding_window_view(self.places, size, axis)[::step])

    def expand(self, *shape):
        return self.shows(np.broadcast_to(self.places, shape))

    # Reads.
    def sin(self):
        return self.mapped(np.sin, np.cos)

    def exp(self):
        return self.mapped(np.exp, np.exp)

    def tanh(self):
        return self.mapped(np.tanh, lambda x: 1 - np.tanh(x) ** 2)

    def sigmoid(self):
        return self.mapped(logistic, lambda x: logistic(x) * (1 - logistic(x)))

    def relu(self):
        return self.mapped(lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0)

    def clamp(self, low, high):
        return self.mapped(lambda x: x.clip(low, high), lambda x: ((x >= low) & (x <= high)) * 1.0)

    def mapped(self, function, slope):
        x = self.numpy()
        return made(function(x), self.slopes() * slope(x)[..., None], self)

    def sum(self):
        return made(self.numpy().sum(), self.slopes().reshape(-1, PLACES).sum(0), self)

    def __neg__(self):
        return self * -1.0

    def __add__(self, other):
        return combined(self, other, lambda a, b: a + b, lambda a, b: (1.0, 1.0))

    def __sub__(self, other):
        return combined(self, other, lambda a, b: a - b, lambda a, b: (1.0, -1.0))

    def __mul__(self, other):
        return combined(self, other, lambda a, b: a * b, lambda a, b: (b, a))

    def __truediv__(self, other):
        return self * (1 / other)

    # Writes.
    def write(self, value, part=None):
        places = self.places if part is None else part
        if places.size != np.unique(places).size and part is None:
            raise ValueError("elements share memory")
        value = value if isinstance(value, Tensor) else tensor(value)
        values = np.broadcast_to(value.numpy(), places.shape)
        slopes = np.broadcast_to(value.slopes(), (*places.shape, PLACES))
        takes = recording and value.requires_grad
        self.store.values[places] = values
        if recording and self.follows:
            self.store.slopes[places] = slopes
            self.store.history |= takes
        elif takes:
            raise Undefined
        return self

    def __setitem__(self, key, value):
        self.write(value, self.places[key])

    def copy_(self, other):
        return self.write(other.clone())

    def fill_(self, number):
        return self.write(number)

    def zero_(self):
        return self.write(0.0)

    def add_(self, other, alpha=1.0):
        return self.write(self + other * alpha)

    def masked_fill_(self, mask, number):
        return self.write(number, self.places[mask])

    def mul_(self, other):
        return self.write(self * other)

    def sub_(self, other):
        return self.write(self - other)

    def div_(self, other):
        return self.write(self / other)

    __iadd__, __imul__, __isub__, __itruediv__ = add_, mul_, sub_, div_

    def backward(self):
        slopes, begin = self.slopes(), 0
        for leaf in leaves:
            count = leaf.places.size
            leaf.grad = tensor(slopes[begin:begin + count].reshape(leaf.shape))
            begin += count


def in_place(name):
    return lambda self, *arguments: self.write(getattr(self, name)(*arguments))


for _name in ("clamp", "tanh", "exp", "sigmoid", "relu"):
    setattr(Tensor, _name + "_", in_place(_name))
Tensor.neg_ = lambda self: self.write(-self)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def is_view(key):
    parts = key if isinstance(key, tuple) else (key,)
    return not any(isinstance(part, (list, np.ndarray)) for part in parts)


def steps_of(places):
    """Whether one step for each axis leads to all of `places`."""
    for axis in range(places.ndim):
        steps = np.diff(places, axis=axis)
        if steps.size and not (steps == steps.ravel()[0]).all():
            return False
    return True


def made(values, slopes, *sources):
    store = Store(values)
    if recording and any(source.requires_grad for source in sources):
        store.slopes[:] = np.reshape(slopes, (-1, PLACES))
        store.history = True
    return Tensor(store, np.arange(store.values.size).reshape(np.shape(values)))


def combined(a, b, function, slopes):
    b = b if isinstance(b, Tensor) else tensor(b)
    x, y = a.numpy(), b.numpy()
    by_x, by_y = (np.asarray(s)[..., None] for s in slopes(x, y))
    return made(function(x, y), a.slopes() * by_x + b.slopes() * by_y, a, b)
