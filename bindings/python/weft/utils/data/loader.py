"""DataLoader: batches of a dataset, read by the caller or by worker processes."""
import functools
import itertools
import weakref

from weft import _core
from weft.utils.data.collate import default_collate, default_convert
from weft.utils.data.dataset import IterableDataset
from weft.utils.data.fetch import Fetcher
from weft.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler


def _expect(holds, expected, got):
    if not holds:
        raise _core.InvalidArgumentError(f"[DataLoader] expected {expected}, got {got}")


class _Endless:
    """The sampler of samples that have no numbers."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader:
    """Batches of a dataset, in order or, with `shuffle`, in a new random order in each pass.

    The order is a function of the generator's state (the default one's, if none is given), the
    same for any number of workers. With num_workers=0 the thread that asks reads samples; else that
    many forked processes do, each with a seed of its own, prefetch_factor batches ahead.
    persistent_workers keeps them for the next pass. pin_memory has no meaning on a CPU."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device=""):
        for name, value in (("num_workers", num_workers), ("timeout", timeout)):
            if not hasattr(value, "__float__"):
                raise TypeError(f"DataLoader(): argument '{name}' must be a number, got "
                                f"{type(value).__name__}: {value!r}")
        if not isinstance(dataset, IterableDataset) and not hasattr(dataset, "__getitem__"):
            raise TypeError(f"DataLoader(): argument 'dataset' must have __getitem__() or be an "
                            f"IterableDataset, got {type(dataset).__name__}")
        if collate_fn is not None and not callable(collate_fn):
            raise TypeError(f"DataLoader(): argument 'collate_fn' must be a function, got "
                            f"{type(collate_fn).__name__}")
        _expect(num_workers >= 0 and timeout >= 0, "num_workers and timeout of at least 0",
                f"{num_workers} and {timeout}")
        _expect(multiprocessing_context in (None, "fork"), 'multiprocessing_context "fork"',
                multiprocessing_context)
        _expect(num_workers > 0 or (prefetch_factor is None and not persistent_workers),
                "num_workers > 0 beside prefetch_factor or persistent_workers", num_workers)
        prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        _expect(prefetch_factor >= 1, "prefetch_factor of at least 1", prefetch_factor)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.pin_memory, self.worker_init_fn, self.generator = pin_memory, worker_init_fn, generator
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self._iterable = isinstance(dataset, IterableDataset)
        self._set_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self._plain = collate_fn is None
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self._pool = None

    def _set_order(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if batch_sampler is not None:
            _expect(batch_size == 1 and not shuffle and sampler is None and not drop_last,
                    "batch_sampler without batch_size, shuffle, sampler and drop_last",
                    "one of these")
            batch_size = None
        elif batch_size is None:
            _expect(not drop_last, "no drop_last beside batch_size=None", drop_last)
        else:
            _expect(not isinstance(batch_size, bool) and batch_size >= 1, "batch_size >= 1",
                    batch_size)
        _expect(sampler is None or not shuffle, "sampler without shuffle", f"shuffle={shuffle}")
        if self._iterable:
            _expect(not shuffle and sampler is None and batch_sampler is None,
                    "an IterableDataset without shuffle, sampler and batch_sampler",
                    "one of these: its samples have no numbers")
            sampler = _Endless()
        elif sampler is None:
            sampler = (RandomSampler(self.dataset, generator=self.generator) if shuffle
                       else SequentialSampler(self.dataset))
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self._batched = batch_sampler is not None

    def __len__(self):
        if self._iterable:
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.batch_sampler if self._batched else self.sampler)

    def __iter__(self):
        order = self.batch_sampler if self._batched else self.sampler
        if self.num_workers == 0:
            return self._read_here(order)
        return _Pass(self, order)

    def _make_fetcher(self):
        return functools.partial(Fetcher, self.dataset, self._batched, self.collate_fn, self._plain,
                                 self.drop_last)

    def _read_here(self, order):
        fetcher = self._make_fetcher()()
        for numbers in order:
            try:
                batch = fetcher.fetch(numbers)
            except StopIteration:
                return
            yield batch

    def _workers(self):
        if self._pool is not None:
            return self._pool
        from weft.utils.data.worker import Pool  # modules of processes, which few programs need

        pool = Pool(self.num_workers, self.dataset, self._make_fetcher(), self.worker_init_fn,
                    self.timeout)
        if self.persistent_workers:
            self._pool = pool
            weakref.finalize(self, pool.close)
        return pool


class _Pass:
    """One pass of workers over the order: batch i is worker i's, modulo their number."""

    def __init__(self, loader, order):
        self._order = iter(order)
        # The order is drawn before the seed, so that it is that of a loader without workers.
        first = list(itertools.islice(self._order, 1))
        self._order = itertools.chain(first, self._order)
        seed = _core.randint(0, 2 ** 62, (1,), generator=loader.generator).item()
        self._loader, self._pool = loader, loader._workers()
        self._kept = loader.persistent_workers
        self._open = set(range(len(self._pool)))
        self._waiting = {}  # number of the batch -> its worker
        self._sent = self._given = 0
        self._turn = 0
        self._closer = None if self._kept else weakref.finalize(self, self._pool.close)
        self._pool.passes += 1
        self._number = self._pool.passes
        for worker in range(len(self._pool)):
            self._pool.send(worker, ("begin", seed))
        for _ in range(loader.prefetch_factor * len(self._pool)):
            self._send_next()

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def _send_next(self):
        if not self._open:
            return
        while self._turn not in self._open:
            self._turn = (self._turn + 1) % len(self._pool)
        for numbers in itertools.islice(self._order, 1):
            self._pool.send(self._turn, ((self._number, self._sent), numbers))
            self._waiting[self._sent] = self._turn
            self._sent += 1
            self._turn = (self._turn + 1) % len(self._pool)

    def __next__(self):
        try:
            return self._next()
        except StopIteration:
            self._end()
            raise
        except BaseException:
            self._fail()
            raise

    def _next(self):
        if self._number != self._pool.passes:
            raise RuntimeError("[DataLoader] expected one pass at a time with persistent_workers, "
                               "got a step of one after the next had begun")
        while self._waiting:
            worker = self._waiting.pop(self._given)
            self._given += 1
            kind, batch = self._pool.receive(worker, self._number)
            if kind == "end":
                self._open.discard(worker)
            self._send_next()
            if kind == "batch":
                return batch
        raise StopIteration

    def _end(self):
        if self._closer is not None:
            self._closer()

    def _fail(self):
        """After an error no worker is in a known place: all end, persistent ones too."""
        self._waiting, self._open = {}, set()
        if self._kept:
            self._loader._pool = None
        self._pool.close(0.1)
