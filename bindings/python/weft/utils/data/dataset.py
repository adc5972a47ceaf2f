"""Datasets: samples by number, or one after another."""
import bisect
import math

from weft import _core

Tensor = _core.Tensor


class Dataset:
    """Samples by number: derive, and write __getitem__ and __len__."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after another: derive, and write __iter__. Each worker of a DataLoader has a copy
    of its own; get_worker_info() says which it is."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")

    def __add__(self, other):
        return ChainDataset([self, other])


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


class ConcatDataset(Dataset):
    """The samples of several datasets, one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise _core.InvalidArgumentError("[ConcatDataset] expected datasets, got none")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise _core.InvalidArgumentError(
                "[ConcatDataset] expected datasets with numbers, got an IterableDataset: use "
                "ChainDataset")
        self.cumulative_sizes, total = [], 0
        for each in self.datasets:
            total += len(each)
            self.cumulative_sizes.append(total)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range of {len(self)} samples")
        index %= len(self)
        place = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]


class ChainDataset(IterableDataset):
    """The samples of several datasets without numbers, one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __iter__(self):
        for each in self.datasets:
            yield from each

    def __len__(self):
        return sum(len(each) for each in self.datasets)


class StackDataset(Dataset):
    """Sample i is what each dataset has as its sample i: a tuple, or a dict for named ones."""

    def __init__(self, *datasets, **named):
        if bool(datasets) == bool(named):
            raise _core.InvalidArgumentError(
                "[StackDataset] expected datasets, or datasets with names")
        self.datasets = named or datasets
        lengths = {len(each) for each in (named.values() if named else datasets)}
        if len(lengths) != 1:
            raise _core.InvalidArgumentError(
                f"[StackDataset] expected datasets of one length, got {sorted(lengths)}")
        self._length = lengths.pop()

    def __len__(self):
        return self._length

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple(each[index] for each in self.datasets)


def _whole_lengths(dataset, lengths):
    """Shares of the dataset as counts; what is left over goes to the first ones."""
    counts = [math.floor(len(dataset) * share) for share in lengths]
    for i in range(len(dataset) - sum(counts)):
        counts[i % len(counts)] += 1
    return counts


def random_split(dataset, lengths, generator=None):
    """Subsets of those lengths, which add up to the dataset's (or of those shares, which add up to
    1), drawn at random."""
    if any(isinstance(each, float) for each in lengths) and math.isclose(sum(lengths), 1.0):
        lengths = _whole_lengths(dataset, lengths)
    if sum(lengths) != len(dataset) or any(each < 0 for each in lengths):
        raise _core.InvalidArgumentError(
            f"[random_split] expected lengths that add up to {len(dataset)}, or shares that add up "
            f"to 1, none below 0, got {lengths}, which add up to {sum(lengths)}")
    order = _core.randperm(len(dataset), generator=generator).tolist()
    parts, first = [], 0
    for length in lengths:
        parts.append(Subset(dataset, order[first:first + length]))
        first += length
    return parts


def whole_batches(dataset):
    """How a dataset of ours gives several samples at once; None where a class derived from it says
    itself what a sample is."""
    def owner(name):
        return next((kind for kind in type(dataset).__mro__ if name in vars(kind)), object)
    own = owner("_batch")
    return dataset._batch if own is not object and own is owner("__getitem__") else None
