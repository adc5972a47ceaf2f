"""Sequences of several lengths: padded [T, N, ...] with lengths, or packed without padding."""
from collections import namedtuple

from weft import _core


def _expect(holds, where, expected, got):
    if not holds:
        raise _core.InvalidArgumentError(f"[{where}] expected {expected}, got {got}")


class PackedSequence(namedtuple("PackedSequence", ("data", "batch_sizes", "sorted_indices",
                                                   "unsorted_indices"))):
    """The steps of sequences, sorted by falling length: all first ones, all second ones, ...

    batch_sizes[t] says how many sequences have step t; sorted_indices and unsorted_indices are the
    order of the sequences and the way back, None where they were sorted."""

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None and sorted_indices is not None:
            unsorted_indices = sorted_indices.argsort()
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The values in another type."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def cpu(self):
        """Itself."""
        return self

    def float(self):
        """The values as float32."""
        return self.to(_core.float32)

    def double(self):
        """The values as float64."""
        return self.to(_core.float64)


def _rows(batch_sizes, sequences):
    """Where the steps are in padded memory [T sequences]."""
    sizes = batch_sizes.tolist()
    rows = [t * sequences + i for t, size in enumerate(sizes) for i in range(size)]
    return _core.tensor(rows, dtype=_core.int64)


def pack_padded(padded, batch_sizes):
    """The steps of [T, N, ...], sequences sorted, one after another."""
    return padded.flatten(0, 1).index_select(0, _rows(batch_sizes, padded.shape[1]))


def padded_of(packed, padding_value=0.0, total_length=None):
    """([T, N, ...], lengths int64 [N]) of a packed sequence, sequences as they are sorted."""
    sizes = packed.batch_sizes.tolist()
    steps, count = max(total_length or 0, len(sizes)), sizes[0]
    _expect(total_length is None or total_length >= len(sizes), "pad_packed_sequence",
            f"total_length of at least {len(sizes)}", total_length)
    rest = tuple(packed.data.shape[1:])
    flat = _core.full((steps * count, *rest), padding_value, dtype=packed.data.dtype)
    flat = flat.index_copy(0, _rows(packed.batch_sizes, count), packed.data)
    lengths = [sum(size > i for size in sizes) for i in range(count)]
    return flat.reshape(steps, count, *rest), _core.tensor(lengths, dtype=_core.int64)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):  # noqa: A002
    """Packs [T, N, ...] (batch_first: [N, T, ...]); lengths fall, unless enforce_sorted=False."""
    padded = input.transpose(0, 1) if batch_first else input
    counts = lengths.tolist() if isinstance(lengths, _core.Tensor) else [int(n) for n in lengths]
    _expect(len(counts) == padded.shape[1], "pack_padded_sequence",
            f"{padded.shape[1]} lengths, one for each sequence", len(counts))
    _expect(counts and min(counts) >= 1 and max(counts) <= padded.shape[0],
            "pack_padded_sequence", f"lengths from 1 to {padded.shape[0]}", counts)
    order = None
    if not enforce_sorted:
        places = sorted(range(len(counts)), key=lambda i: -counts[i])
        counts = [counts[i] for i in places]
        order = _core.tensor(places, dtype=_core.int64)
        padded = padded.index_select(1, order)
    _expect(all(a >= b for a, b in zip(counts, counts[1:])), "pack_padded_sequence",
            "lengths that fall (or enforce_sorted=False)", counts)
    sizes = _core.tensor([sum(n > t for n in counts) for t in range(counts[0])],
                         dtype=_core.int64)
    return PackedSequence(pack_padded(padded, sizes), sizes, order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded, lengths) of a packed sequence, in the order in which sequences were packed."""
    if not isinstance(sequence, PackedSequence):
        raise TypeError(f"pad_packed_sequence(): argument 'sequence' must be a PackedSequence, got "
                        f"{type(sequence).__name__}")
    padded, lengths = padded_of(sequence, padding_value, total_length)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    """Sequences [length, ...] as one tensor [T, N, ...] (batch_first: [N, T, ...])."""
    sequences = list(sequences)
    _expect(sequences, "pad_sequence", "at least one sequence", "none")
    rest = tuple(sequences[0].shape[1:])
    longest = max(each.shape[0] for each in sequences)
    padded = []
    for each in sequences:
        _expect(tuple(each.shape[1:]) == rest, "pad_sequence", f"sequences of {list(rest)} a step",
                list(each.shape[1:]))
        missing = longest - each.shape[0]
        padded.append(each if missing == 0 else _core.cat(
            [each, _core.full((missing, *rest), padding_value, dtype=each.dtype)]))
    return _core.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The way back of pad_sequence()."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:int(length)] for row, length in zip(rows, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences [length, ...]."""
    sequences = list(sequences)
    return pack_padded_sequence(pad_sequence(sequences), [each.shape[0] for each in sequences],
                                enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The way back of pack_sequence()."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))
