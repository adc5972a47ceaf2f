"""Datasets and the loader that makes batches of them, with PyTorch's names."""
from weft import _core

Tensor = _core.Tensor


class Dataset:
    """Samples by number: derive, and write __getitem__ and __len__."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")


class TensorDataset(Dataset):
    """Sample i is row i of each of the tensors."""

    def __init__(self, *tensors):
        if not tensors:
            raise _core.InvalidArgumentError("[TensorDataset] expected at least one tensor")
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            raise _core.InvalidArgumentError(
                f"[TensorDataset] expected tensors of one length, got "
                f"{[len(tensor) for tensor in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return len(self.tensors[0])

    def _batch(self, indexes):
        """Several samples at once, as tensors."""
        places = _core.tensor(indexes, dtype=_core.int64)
        return [tensor.index_select(0, places) for tensor in self.tensors]


class Subset(Dataset):
    """Those samples of a dataset whose numbers are given."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, list(indices)

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Subsets of those lengths, which add up to the dataset's, drawn at random."""
    if sum(lengths) != len(dataset):
        raise _core.InvalidArgumentError(
            f"[random_split] expected lengths that add up to {len(dataset)}, got {lengths}")
    order = _core.randperm(len(dataset), generator=generator).tolist()
    parts, first = [], 0
    for length in lengths:
        parts.append(Subset(dataset, order[first:first + length]))
        first += length
    return parts


def default_collate(samples):
    """Samples as one batch: tensors are stacked, numbers become tensors, tuples, lists and dicts
    keep their form."""
    first = samples[0]
    if isinstance(first, Tensor):
        return _core.stack(samples)
    if isinstance(first, float):  # Python's floats have 64 bits, and keep them as in PyTorch
        return _core.tensor(samples, dtype=_core.float64)
    if isinstance(first, (bool, int)) or hasattr(first, "__array_interface__"):
        return _core.tensor(samples)
    if isinstance(first, dict):
        return {key: default_collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, (tuple, list)):
        return [default_collate(list(column)) for column in zip(*samples)]
    if isinstance(first, str):
        return list(samples)
    raise TypeError(f"default_collate() cannot make a batch of {type(first)}")


def _whole_batches(dataset):
    """How a dataset of ours gives several samples at once; None where a class derived from it says
    itself what a sample is."""
    def owner(name):
        return next((kind for kind in type(dataset).__mro__ if name in vars(kind)), object)
    own = owner("_batch")
    return dataset._batch if own is not object and own is owner("__getitem__") else None


class DataLoader:
    """Batches of a dataset, in order or, with `shuffle`, in a new random order in each pass.

    The order is a function of the generator's state (the default one's, if none is given).
    Samples are read by the thread that asks; num_workers is taken for PyTorch's sake and must be
    0."""

    def __init__(self, dataset, batch_size=1, shuffle=False, num_workers=0, collate_fn=None,
                 drop_last=False, generator=None, pin_memory=False):
        if batch_size < 1:
            raise _core.InvalidArgumentError(
                f"[DataLoader] expected batch_size >= 1, got {batch_size}")
        if num_workers != 0:
            raise _core.InvalidArgumentError(
                f"[DataLoader] expected num_workers=0, got {num_workers}")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.drop_last, self.generator, self.collate_fn = drop_last, generator, collate_fn

    def __len__(self):
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self):
        count = len(self.dataset)
        order = (_core.randperm(count, generator=self.generator).tolist() if self.shuffle
                 else range(count))
        whole = _whole_batches(self.dataset) if self.collate_fn is None else None
        collate = self.collate_fn or default_collate
        for first in range(0, len(self) * self.batch_size, self.batch_size):
            indexes = order[first:first + self.batch_size]
            if whole is not None:
                yield whole(list(indexes))
            else:
                yield collate([self.dataset[i] for i in indexes])
