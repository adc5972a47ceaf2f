"""Samplers: the order in which a DataLoader reads samples."""
import itertools

from weft import _core


class Sampler:
    """Numbers of samples in an order: derive, and write __iter__ (and __len__ if it is known)."""

    def __init__(self, data_source=None):
        del data_source

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        super().__init__()
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """A new random order in each pass; with replacement, or of num_samples numbers."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super().__init__()
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples < 1):
            raise ValueError(f"[RandomSampler] expected num_samples of at least 1, got "
                             f"{num_samples!r}")
        self.data_source, self.replacement = data_source, replacement
        self.generator, self._num_samples = generator, num_samples

    @property
    def num_samples(self):
        """How many numbers a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count = len(self.data_source)
        if self.replacement:
            yield from _core.randint(0, count, (self.num_samples,),
                                     generator=self.generator).tolist()
            return
        left = self.num_samples
        while left > 0:
            order = _core.randperm(count, generator=self.generator).tolist()[:left]
            if not order:
                return
            yield from order
            left -= len(order)

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given numbers in a new random order in each pass."""

    def __init__(self, indices, generator=None):
        super().__init__()
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for place in _core.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Numbers drawn by weights, with or without replacement."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        super().__init__()
        if not isinstance(num_samples, int) or num_samples < 1:
            raise ValueError(f"[WeightedRandomSampler] expected num_samples of at least 1, got "
                             f"{num_samples!r}")
        values = weights.tolist() if isinstance(weights, _core.Tensor) else list(weights)
        self.weights = _core.tensor(values, dtype=_core.float64)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator
        positive = sum(each > 0 for each in values)
        if not replacement and num_samples > positive:
            raise ValueError(f"[WeightedRandomSampler] expected at most {positive} draws without "
                             f"replacement, one for each positive weight, got {num_samples}")

    def __iter__(self):
        if self.replacement:
            drawn = _core.multinomial(self.weights, self.num_samples, True,
                                      generator=self.generator)
            return iter(drawn.tolist())
        # Efraimidis and Spirakis, 2006: the largest of log(u) / weight.
        draws = _core.rand(len(self.weights), dtype=_core.float64, generator=self.generator)
        keys = draws.clamp(min=1e-300).log() / self.weights.clamp(min=1e-300)
        return iter(keys.topk(self.num_samples)[1].tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """The numbers of another sampler as lists of batch_size."""

    def __init__(self, sampler, batch_size, drop_last):
        super().__init__()
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise _core.InvalidArgumentError(
                f"[BatchSampler] expected batch_size >= 1, got {batch_size!r}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        numbers = iter(self.sampler)
        while True:
            batch = list(itertools.islice(numbers, self.batch_size))
            if not batch or (self.drop_last and len(batch) < self.batch_size):
                return
            yield batch

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler):
    """The share of one of `num_replicas` processes; set_epoch() before each pass changes the
    order."""

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0,
                 drop_last=False):
        super().__init__()
        if num_replicas is None or rank is None or not 0 <= rank < num_replicas:
            raise ValueError(f"[DistributedSampler] expected num_replicas and a rank below it, got "
                             f"{num_replicas} and {rank}: members of a weft.swarm have both")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            order = _core.randperm(
                count, generator=_core.Generator(self.seed + self.epoch)).tolist()
        if not self.drop_last and order:
            order = list(itertools.islice(itertools.cycle(order), self.total_size))
        return iter(order[self.rank:self.total_size:self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """The next pass has the order of that epoch."""
        self.epoch = epoch
