"""Fetching: from the numbers of a batch to the batch, in the caller's process or in a worker."""
import itertools

from weft.utils.data.dataset import IterableDataset, whole_batches


class Fetcher:
    """fetch(numbers) of one pass over a dataset; raises StopIteration where samples that come one
    after another are at their end."""

    def __init__(self, dataset, batched, collate, plain_collate, drop_last):
        self._dataset, self._batched, self._collate = dataset, batched, collate
        self._drop_last = drop_last
        self._samples = iter(dataset) if isinstance(dataset, IterableDataset) else None
        self._whole = whole_batches(dataset) if batched and plain_collate else None

    def fetch(self, numbers):
        """The batch of those samples; the sample itself where there are no batches."""
        if self._samples is not None:
            return self._next(numbers)
        if not self._batched:
            return self._collate(self._dataset[numbers])
        if self._whole is not None:
            return self._whole(list(numbers))
        return self._collate([self._dataset[i] for i in numbers])

    def _next(self, numbers):
        if not self._batched:
            return self._collate(next(self._samples))
        samples = list(itertools.islice(self._samples, len(numbers)))
        if not samples or (self._drop_last and len(samples) < len(numbers)):
            raise StopIteration
        return self._collate(samples)
