"""Worker processes of a DataLoader: forked, one pair of pipes each.

The parent sends ("begin", seed) at the start of a pass, ((pass, number), indexes) for each batch,
and None at the end. A worker answers (that pair, kind) and then the value (transfer.py); the kind
is "batch", "end" (of samples that come one after another) or "error". Threads in the worker read
and write, so that neither side waits for the other's batch to be taken. A worker ends when its
parent does: its pipe then has no other end."""
import multiprocessing
import multiprocessing.connection
import pickle
import queue
import random
import signal
import sys
import threading
import time
import traceback

from weft import _core
from weft.utils.data import transfer
from weft.utils.data.worker_info import WorkerInfo, set_worker_info

_POLL_S = 1.0


class WorkerError(Exception):
    """What happened in a worker, where it cannot be raised as it was."""


def _seed_all(seed):
    _core.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2 ** 32)


def _answer(fetcher, numbers):
    """(kind, parts): pickled here, so that what cannot be pickled is an error with its name."""
    try:
        return "batch", transfer.packed(fetcher.fetch(numbers))
    except StopIteration:
        return "end", []
    except Exception as error:
        return "error", [pickle.dumps((type(error).__module__, type(error).__name__, str(error),
                                       traceback.format_exc()))]


def _read(tasks, inbox):
    try:
        while True:
            inbox.put(tasks.recv())
    except (EOFError, OSError):
        inbox.put(None)


def _serve(tasks, results, make_fetcher, begin):
    inbox = queue.SimpleQueue()
    threading.Thread(target=_read, args=(tasks, inbox), daemon=True).start()
    fetcher = failure = None
    sender = transfer.Sender(results)
    while True:
        task = inbox.get()
        if task is None:
            return sender.finish()
        number, value = task
        if number == "begin":
            fetcher, failure = None, begin(value)
            if failure is None:
                fetcher, failure = _made(make_fetcher)
            continue
        kind, parts = _answer(fetcher, value) if failure is None else ("error", [failure])
        sender.send(number, kind, parts)
        del parts  # the sender frees them when they are written


def _made(make_fetcher):
    try:
        return make_fetcher(), None
    except Exception as error:
        return None, pickle.dumps((type(error).__module__, type(error).__name__, str(error),
                                   traceback.format_exc()))


def _main(worker, count, dataset, tasks, results, others, make_fetcher, init):
    """What a worker does from its start to its end."""
    for end in others:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends workers
    set_threads = getattr(_core, "set_num_threads", None)
    if set_threads is not None:
        set_threads(1)  # the parent's compute threads do not exist here
    started = False

    def begin(seed):
        nonlocal started
        if started:
            return None
        started = True
        set_worker_info(WorkerInfo(worker, count, seed + worker, dataset))
        _seed_all(seed + worker)
        return None if init is None else _made(lambda: init(worker))[1]

    try:
        _serve(tasks, results, make_fetcher, begin)
    except (BrokenPipeError, KeyboardInterrupt):
        pass


class Pool:
    """Workers of one DataLoader. Threads: the caller's."""

    def __init__(self, count, dataset, make_fetcher, init, timeout):
        context = multiprocessing.get_context("fork")
        self._timeout = timeout
        self.passes = 0  # begun so far
        self._workers, self._tasks, self._results = [], [], []
        for worker in range(count):
            task_out, task_in = context.Pipe(duplex=False)
            result_out, result_in = context.Pipe(duplex=False)
            others = [*self._tasks, *self._results, task_in, result_out]
            process = context.Process(
                target=_main, daemon=True, name=f"weft DataLoader worker {worker}",
                args=(worker, count, dataset, task_out, result_in, others, make_fetcher, init))
            process.start()
            task_out.close()
            result_in.close()
            self._workers.append(process)
            self._tasks.append(task_in)
            self._results.append(result_out)

    def __len__(self):
        return len(self._workers)

    def send(self, worker, task):
        """Gives a worker something to do."""
        try:
            self._tasks[worker].send(task)
        except (BrokenPipeError, OSError):
            self._died(worker)

    def _died(self, worker):
        self._workers[worker].join(_POLL_S)
        code = self._workers[worker].exitcode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        raise RuntimeError(f"DataLoader worker {worker} (pid {self._workers[worker].pid}) has ended "
                           f"{how}")

    def receive(self, worker, pass_number):
        """(kind, batch) of a worker's next answer of that pass; those of passes that were left
        early are dropped."""
        while True:
            self._wait(worker)
            try:
                (of_pass, _), kind, parts = transfer.receive(self._results[worker])
            except (EOFError, OSError):
                self._died(worker)
            if of_pass != pass_number:
                continue
            if kind == "error":
                _raise(worker, *pickle.loads(memoryview(parts[0])))
            return kind, transfer.unpacked(parts) if kind == "batch" else None

    def _wait(self, worker):
        pipe, process = self._results[worker], self._workers[worker]
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while not pipe.poll(0):
            ready = multiprocessing.connection.wait([pipe, process.sentinel], _POLL_S)
            if not ready and deadline is not None and time.monotonic() > deadline:
                raise RuntimeError(f"DataLoader worker {worker} has given no batch for "
                                   f"{self._timeout} seconds (timeout)")
            if ready and pipe not in ready and not pipe.poll(0):
                self._died(worker)

    def close(self, patience_s=1.0):
        """Ends the workers: kindly, then by force."""
        for pipe in (*self._tasks, *self._results):
            pipe.close()
        deadline = time.monotonic() + patience_s
        for process in self._workers:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
        for process in self._workers:
            process.join(patience_s)
            if process.is_alive():
                process.kill()
                process.join()
        self._workers, self._tasks, self._results = [], [], []


def _raise(worker, module, name, text, trace):
    """The error of a worker, as the class that it was where that takes one text."""
    kind = getattr(sys.modules.get(module), name, None)
    message = f"caught {name} in DataLoader worker {worker}: {text}\n{trace}"
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            error = kind(message)
        except Exception:
            error = WorkerError(message)
        raise error
    raise WorkerError(message)
