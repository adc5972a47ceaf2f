"""Reads what torch.save() of PyTorch 1.6 or later wrote: tensors and state_dicts, by a machine of
its own for the instructions of pickle. No code of the file runs: only the few classes of _GLOBALS
are known, and each is a function of this module.

The file is hostile until checked. Work and memory are bounded by its length: parts of it are stored
as they are (no compression), each storage is read once, and a tensor has at most the elements of its
storage. weft.CorruptError says what is wrong.
"""
import array
import struct
import zipfile

from weft import _core

_BYTES_OF_PICKLE_MAX = 1 << 28
_AXES_MAX = 8
# The type of the elements, and their bytes.
_STORAGES = {
    "FloatStorage": ("float32", 4), "DoubleStorage": ("float64", 8),
    "HalfStorage": ("float16", 2), "BFloat16Storage": ("bfloat16", 2),
    "LongStorage": ("int64", 8), "IntStorage": ("int32", 4),
    "ShortStorage": ("int16", 2), "CharStorage": ("int8", 1),
    "ByteStorage": ("uint8", 1), "BoolStorage": ("bool", 1)}
_PLAIN = (str, int, float, bool, type(None))


def _corrupt(what):
    return _core.CorruptError(f"[load] a file of torch.save(): {what}")


class _Mark:
    """What MARK puts on the stack."""


class _Storage:
    """One of the file's arrays of elements, as a tensor of one axis."""

    def __init__(self, flat):
        self.flat = flat


def _values_of(kind, raw):
    """A tensor of the elements whose bytes are `raw`, of the machine's order."""
    name = _STORAGES[kind][0]
    if name == "bool" and raw.count(0) + raw.count(1) != len(raw):
        raise _corrupt("expected truths of 0 or 1")
    if name == "int16":  # no type of Weft: the next wider one
        return _core._from_bytes(array.array("i", array.array("h", bytes(raw))).tobytes(),
                                 _core.int32)
    return _core._from_bytes(raw, getattr(_core, name))


def _whole(values, what):
    if not isinstance(values, tuple) or len(values) > _AXES_MAX or not all(
            type(each) is int and 0 <= each < 1 << 62 for each in values):
        raise _corrupt(f"expected {what} of at most {_AXES_MAX} numbers >= 0")
    return values


def _is_dense(size, stride):
    step = 1
    for length, own in zip(reversed(size), reversed(stride)):
        if length != 1 and own != step:
            return False
        step *= length
    return True


def _tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    if not isinstance(storage, _Storage):
        raise _corrupt("expected the storage of a tensor")
    size, stride = _whole(size, "the sizes"), _whole(stride, "the strides")
    if type(offset) is not int or offset < 0 or len(size) != len(stride):
        raise _corrupt("expected an offset >= 0 and as many strides as sizes")
    count = 1
    for length in size:
        count *= length
    last = offset + sum((length - 1) * step for length, step in zip(size, stride))
    have = storage.flat.shape[0]
    if count and last >= have or count > have:
        raise _corrupt(f"expected a tensor within its storage of {have} elements, got sizes "
                       f"{list(size)}, strides {list(stride)}, offset {offset}")
    if count == 0:
        return storage.flat[:0].reshape(size)
    if _is_dense(size, stride):
        return storage.flat[offset:offset + count].reshape(size)
    return storage.flat.as_strided(size, stride, offset)


def _parameter(data, requires_grad=True, hooks=None, *more):
    if not isinstance(data, _core.Tensor):
        raise _corrupt("expected the tensor of a parameter")
    return data


def _ordered_dict(pairs=()):
    if pairs != ():
        raise _corrupt("expected an empty OrderedDict at first")
    return {}


def _size(values=()):
    return _core.Size(_whole(values, "a shape"))


def _device(kind="cpu", index=None):
    return str(kind)


_GLOBALS = {
    "torch._utils _rebuild_tensor_v2": _tensor, "torch._utils _rebuild_tensor": _tensor,
    "torch._utils _rebuild_parameter": _parameter, "collections OrderedDict": _ordered_dict,
    "torch Size": _size, "torch device": _device}


def _global(module, name):
    key = f"{module} {name}"
    if key in _GLOBALS:
        return _GLOBALS[key]
    if module == "torch" and name in _STORAGES:
        return name
    if module == "torch" and isinstance(getattr(_core, name, None), _core.dtype):
        return getattr(_core, name)
    raise _corrupt(f"it has an object of {module}.{name}, where tensors, numbers, texts, lists and "
                   "dicts are read: in PyTorch save the state_dict() alone")


class _Machine:
    """Runs the instructions of one pickle. Fails: CorruptError."""

    def __init__(self, code, storage_of):
        self._code, self._at, self._storage_of = code, 0, storage_of
        self._stack, self._memo = [], {}

    def run(self):
        """The object that the pickle describes."""
        while True:
            operation = self._take(1)
            if operation == b".":
                return self._pop()
            handler = _OPERATIONS.get(operation)
            if handler is None:
                raise _corrupt(f"the instruction {operation!r} of pickle is not known here")
            handler(self)

    def _take(self, count):
        begin = self._at
        if count < 0 or begin + count > len(self._code):
            raise _corrupt("its description ends too early")
        self._at += count
        return self._code[begin:self._at]

    def _number(self, form):
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self):
        end = self._code.find(b"\n", self._at)
        return self._text(self._take(end + 1 - self._at)[:-1])

    def _text(self, raw):
        try:
            return bytes(raw).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise _corrupt("expected text of UTF-8") from None

    def _pop(self):
        if not self._stack:
            raise _corrupt("an instruction of pickle has nothing to work on")
        return self._stack.pop()

    def _push(self, value):
        self._stack.append(value)

    def _since_mark(self):
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _Mark:
                found = self._stack[at + 1:]
                del self._stack[at:]
                return found
        raise _corrupt("an instruction of pickle has no beginning")

    def _top(self, kind):
        if not self._stack or type(self._stack[-1]) is not kind:
            raise _corrupt(f"expected a {kind.__name__} to fill")
        return self._stack[-1]

    def _set_items(self, flat):
        into = self._top(dict)
        if len(flat) % 2:
            raise _corrupt("expected pairs of a key and a value")
        for key, value in zip(flat[::2], flat[1::2]):
            if not isinstance(key, _PLAIN):
                raise _corrupt("expected numbers and texts as keys")
            into[key] = value

    def _append(self, values):
        self._top(list).extend(values)

    def _remember(self, place):
        if not self._stack:
            raise _corrupt("an instruction of pickle has nothing to work on")
        self._memo[place] = self._stack[-1]

    def _recall(self, place):
        if place not in self._memo:
            raise _corrupt("it speaks of an object that it does not have")
        self._push(self._memo[place])

    def _tuple(self, count):
        if count > len(self._stack):
            raise _corrupt("an instruction of pickle has nothing to work on")
        values = tuple(self._stack[len(self._stack) - count:])
        del self._stack[len(self._stack) - count:]
        self._push(values)

    def _call(self):
        arguments, function = self._pop(), self._pop()
        if not callable(function) or not isinstance(arguments, tuple):
            raise _corrupt("expected a call of a known function")
        try:
            self._push(function(*arguments))
        except TypeError:
            raise _corrupt("a call of a known function does not fit it") from None

    def _build(self):
        """The attributes of an object, which values do not have: those of a state_dict's
        OrderedDict describe versions of layers."""
        self._pop()
        self._top(dict)

    def _stored(self):
        of = self._pop()
        if not isinstance(of, tuple) or len(of) != 5 or of[0] != "storage":
            raise _corrupt("expected the place of a storage")
        self._push(self._storage_of(*of[1:]))

    def _global_of_stack(self):
        name, module = self._pop(), self._pop()
        self._push(_global(module, name))


def _constant(value):
    return lambda m: m._push(value)


_OPERATIONS = {
    b"\x80": lambda m: m._take(1), b"\x95": lambda m: m._take(8),
    b"}": lambda m: m._push({}), b"]": lambda m: m._push([]), b")": _constant(()),
    b"(": _constant(_Mark), b"N": _constant(None), b"\x88": _constant(True),
    b"\x89": _constant(False), b"0": lambda m: m._pop(),
    b"q": lambda m: m._remember(m._number("<B")), b"r": lambda m: m._remember(m._number("<I")),
    b"\x94": lambda m: m._remember(len(m._memo)),
    b"h": lambda m: m._recall(m._number("<B")), b"j": lambda m: m._recall(m._number("<I")),
    b"X": lambda m: m._push(m._text(m._take(m._number("<I")))),
    b"\x8c": lambda m: m._push(m._text(m._take(m._number("<B")))),
    b"U": lambda m: m._push(m._text(m._take(m._number("<B")))),
    b"T": lambda m: m._push(m._text(m._take(m._number("<i")))),
    b"C": lambda m: m._push(bytes(m._take(m._number("<B")))),
    b"J": lambda m: m._push(m._number("<i")), b"K": lambda m: m._push(m._number("<B")),
    b"M": lambda m: m._push(m._number("<H")), b"G": lambda m: m._push(m._number(">d")),
    b"\x8a": lambda m: m._push(int.from_bytes(m._take(m._number("<B")), "little", signed=True)),
    b"\x85": lambda m: m._tuple(1), b"\x86": lambda m: m._tuple(2), b"\x87": lambda m: m._tuple(3),
    b"t": lambda m: m._push(tuple(m._since_mark())),
    b"a": lambda m: m._append([m._pop()]), b"e": lambda m: m._append(m._since_mark()),
    b"s": lambda m: m._set_items([m._pop(), m._pop()][::-1]),
    b"u": lambda m: m._set_items(m._since_mark()),
    b"c": lambda m: m._push(_global(m._line(), m._line())),
    b"\x93": _Machine._global_of_stack, b"R": _Machine._call, b"b": _Machine._build,
    b"Q": _Machine._stored,
}


class _Archive:
    """The parts of the file, each read at most once."""

    def __init__(self, source):
        try:
            self._zip = zipfile.ZipFile(source)
            names = self._zip.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error,
                UnicodeDecodeError) as error:
            raise _corrupt(f"its table of parts: {error}") from None
        found = [name for name in names if name.endswith("data.pkl") and name.count("/") < 2]
        if len(found) != 1:
            raise _corrupt("expected one part data.pkl")
        self._folder = found[0][:-len("data.pkl")]
        source.seek(0, 2)
        self._left = source.tell()  # bytes that may still be read
        self._storages = {}

    def part(self, name, bytes_max):
        """The bytes of a part."""
        try:
            info = self._zip.getinfo(self._folder + name)
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise _corrupt(f"expected the part {name} as it is, not compressed")
            if info.file_size > min(self._left, bytes_max):
                raise _corrupt(f"the part {name} claims {info.file_size} bytes, of which the file "
                               f"has at most {min(self._left, bytes_max)}")
            self._left -= info.file_size
            return bytearray(self._zip.read(info))
        except KeyError:
            raise _corrupt(f"the part {name} is missing") from None
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError,
                EOFError, struct.error) as error:
            if isinstance(error, _core.CorruptError):
                raise
            raise _corrupt(f"the part {name}: {error}") from None

    def has(self, name):
        """Whether there is such a part."""
        return self._folder + name in self._zip.namelist()

    def storage(self, kind, key, location, count):
        """The elements of one storage."""
        if not isinstance(kind, str) or kind not in _STORAGES or not isinstance(key, str):
            raise _corrupt("expected the type and the name of a storage")
        if (kind, key) not in self._storages:
            raw = self.part("data/" + key, self._left)
            width = _STORAGES[kind][1]
            if type(count) is not int or count < 0 or len(raw) != count * width:
                raise _corrupt(f"expected {count} elements of {width} bytes in data/{key}, got "
                               f"{len(raw)} bytes")
            self._storages[kind, key] = _Storage(_values_of(kind, raw))
        return self._storages[kind, key]


def read(source):
    """The object in a file of torch.save(), open for reading bytes and seeking."""
    archive = _Archive(source)
    if archive.has("byteorder") and archive.part("byteorder", 16).strip() != b"little":
        raise _corrupt("expected numbers whose lowest byte comes first")
    code = bytes(archive.part("data.pkl", _BYTES_OF_PICKLE_MAX))
    return _Machine(code, archive.storage).run()
