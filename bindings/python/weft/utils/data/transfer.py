"""How an answer of a worker gets to its parent: as a pickle in which large tensors are left out, and
then their memory, which the parent reads to where it stays. In between it is copied only into the
pipe and out of it.

  header   ((pass, number), kind, bytes of the pickle, [bytes of each tensor]), by Connection.send()
  the pickle, and the bytes of each tensor

NumPy's arrays go the same way."""
import fcntl
import os
import pickle
import queue
import threading

from weft import _core

LARGE_BYTES = 1 << 15
_PIPE_BYTES = 1 << 20
_SET_PIPE_BYTES = getattr(fcntl, "F_SETPIPE_SZ", 1031)


def widen(connection):
    """Lets the pipe hold more, where the system allows it."""
    try:
        fcntl.fcntl(connection.fileno(), _SET_PIPE_BYTES, _PIPE_BYTES)
    except OSError:
        pass


class _Pickler(pickle.Pickler):
    def reducer_override(self, value):
        if (type(value) is not _core.Tensor or value.requires_grad
                or value.dtype is _core.bfloat16
                or value.numel() * value.element_size() < LARGE_BYTES):
            return NotImplemented
        plain = value.contiguous()
        return _of_memory, (pickle.PickleBuffer(memoryview(plain)), tuple(plain.shape), plain.dtype)


def _of_memory(memory, shape, dtype):
    return _core._from_bytes(memory, dtype).reshape(shape)


class _Text:
    """What a pickler writes to."""

    def __init__(self):
        self.parts = []

    def write(self, data):
        self.parts.append(bytes(data))
        return len(data)


def _copied(memory):
    """The same bytes as they are now: a dataset may write over its own before they are sent."""
    kept = memoryview(_core.empty(memory.nbytes, dtype=_core.uint8))
    kept[:] = memory
    return kept


def packed(value):
    """[the pickle, the memory of each large tensor or array]."""
    memories, text = [], _Text()
    _Pickler(text, pickle.HIGHEST_PROTOCOL, buffer_callback=memories.append).dump(value)
    return [b"".join(text.parts), *(_copied(each.raw()) for each in memories)]


def _write(descriptor, memory):
    view = memoryview(memory)
    while view:
        view = view[os.write(descriptor, view):]


def _read(descriptor, view):
    while view:
        count = os.readv(descriptor, [view])
        if count == 0:
            raise EOFError("the pipe has no other end")
        view = view[count:]


class Sender:
    """Writes answers in a thread of its own, so that its process goes on with the next batch."""

    def __init__(self, connection):
        self._connection, self._outbox = connection, queue.SimpleQueue()
        widen(connection)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def send(self, number, kind, parts):
        """Takes an answer; never waits."""
        self._outbox.put((number, kind, parts))

    def finish(self):
        """Waits until all is written, or no one reads any more."""
        self._outbox.put(None)
        self._thread.join()

    def _run(self):
        try:
            while True:
                answer = self._outbox.get()
                if answer is None:
                    return
                number, kind, parts = answer
                self._connection.send((number, kind, [len(part) for part in parts]))
                for part in parts:
                    _write(self._connection.fileno(), part)
                del answer, parts
        except OSError:
            pass  # the parent has closed the pipe


def receive(connection):
    """(number, kind, parts) of the next answer; EOFError if there is none."""
    number, kind, sizes = connection.recv()
    parts = [_core.empty(size, dtype=_core.uint8) for size in sizes]
    for part in parts:
        if part.numel():
            _read(connection.fileno(), memoryview(part))
    return number, kind, parts


def unpacked(parts):
    """The value of packed()."""
    return pickle.loads(memoryview(parts[0]), buffers=[memoryview(each) for each in parts[1:]])
