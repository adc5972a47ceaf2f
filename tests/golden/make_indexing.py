#!/usr/bin/env python3
"""Writes indexing.safetensors with PyTorch (indexing, joining, sorting, einsum, losses) and
indexing_random.safetensors with NumPy (random advanced indexes and einsum equations).

usage: make_indexing.py [DIRECTORY]     (default: the folder of this script)
"""
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F

from make_golden import values, write_safetensors


def numbers(below, *shape):
    return torch.randint(0, below, shape)


def distinct(count, below):
    return torch.randperm(below)[:count]


def joining_cases():
    a, cube = values(3, 4), values(2, 3, 4)
    return {
        "stack": (lambda x, y: torch.stack([x, y, x], 1), [a, values(3, 4)]),
        "split": (lambda x: torch.split(x, [1, 2, 1], 2)[1], [cube]),
        "chunk": (lambda x: torch.chunk(x, 3, 2)[1], [cube]),
        "repeat": (lambda x: x.repeat(2, 1, 3), [a]),
        "repeat_interleave": (lambda x: x.repeat_interleave(3, 0), [a]),
        "roll": (lambda x: x.roll((1, -2), (0, 2)), [cube]),
        "flip": (lambda x: x.flip(0, 2), [cube]),
        "pad_constant": (lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), [cube]),
        "pad_reflect": (lambda x: F.pad(x, (3, 2), mode="reflect"), [cube]),
        "pad_replicate": (lambda x: F.pad(x, (3, 2), mode="replicate"), [cube]),
        "movedim": (lambda x: x.movedim((0, 2), (2, 1)), [cube]),
        "diagonal": (lambda x: x.diagonal(1, 1, 2), [cube]),
        "diag_embed": (lambda x: x.diag_embed(-1), [a]),
        "triu": (lambda x: x.triu(1), [cube]),
        "tril": (lambda x: x.tril(-1), [cube]),
        "unfold": (lambda x: x.unfold(2, 3, 1), [cube]),
    }


def indexing_cases():
    a, cube = values(5, 4), values(4, 3, 5)
    mask = torch.tensor([1, 0, 1, 1, 0])
    return {
        "gather": (lambda x, i: x.gather(1, i), [a, numbers(4, 5, 6)]),
        "gather_smaller": (lambda x, i: x.gather(0, i), [cube, numbers(4, 7, 2, 3)]),
        "scatter": (lambda x, i, s: x.scatter(0, i, s),
                    [a, torch.stack([distinct(3, 5) for _ in range(4)], 1), values(3, 4)]),
        "scatter_add": (lambda x, i, s: x.scatter_add(0, i, s),
                        [a, numbers(5, 9, 4), values(9, 4)]),
        "index_select": (lambda x, i: x.index_select(1, i), [cube, numbers(3, 7)]),
        "index_add": (lambda x, i, s: x.index_add(1, i, s), [cube, numbers(3, 6), values(4, 6, 5)]),
        "masked_fill": (lambda x, m: x.masked_fill(m.bool(), -1.5), [a, numbers(2, 5, 1)]),
        "masked_select": (lambda x, m: x.masked_select(m.bool()), [cube, mask]),
        "index_apart": (lambda x, i, j: x[i, :, j], [cube, numbers(4, 2, 3), numbers(5, 3)]),
        "index_together": (lambda x, i, j: x[:, i, j], [cube, numbers(3, 2, 1), numbers(5, 4) - 5]),
        "index_mask": (lambda x, m: x[:, :, m.bool()], [cube, mask]),
        "index_put": (lambda x, i, v: x.index_put((i,), v), [a, distinct(3, 5), values(3, 4)]),
        "index_put_accumulate": (
            lambda x, i, j, v: x.index_put((i, j), v, accumulate=True),
            [a, numbers(5, 8), numbers(4, 8), values(8)]),
        "embedding": (lambda w, t: F.embedding(t, w), [a, numbers(5, 2, 6)]),
        "embedding_padding": (lambda w, t: F.embedding(t, w, padding_idx=2),
                              [a, numbers(5, 2, 9)]),
        "sort": (lambda x: x.sort(1)[0], [cube]),
        "sort_descending": (lambda x: x.sort(-1, descending=True)[0], [cube]),
        "topk": (lambda x: x.topk(2, 0)[0], [a]),
        "topk_smallest": (lambda x: x.topk(3, 2, largest=False)[0], [cube]),
        "kthvalue": (lambda x: x.kthvalue(3, 0)[0], [a]),
        "median": (lambda x: x.median(1)[0], [a]),
    }


def product_cases():
    def einsum(equation):
        return lambda *operands: torch.einsum(equation, *operands)

    a, b = values(3, 4), values(4, 5)
    return {
        "matmul_vector_vector": (torch.matmul, [values(6), values(6)]),
        "matmul_matrix_vector": (torch.matmul, [a, values(4)]),
        "matmul_vector_matrix": (torch.matmul, [values(3), a]),
        "matmul_vector_batch": (torch.matmul, [values(4), values(2, 4, 3)]),
        "matmul_batch_vector": (torch.matmul, [values(2, 3, 4), values(4)]),
        "matmul_broadcast": (torch.matmul, [values(2, 1, 3, 4), values(3, 4, 2)]),
        "bmm": (torch.bmm, [values(5, 2, 3), values(5, 3, 4)]),
        "dot": (torch.dot, [values(7), values(7)]),
        "outer": (torch.outer, [values(3), values(4)]),
        "tensordot": (lambda x, y: torch.tensordot(x, y, dims=([1, 0], [2, 1])),
                      [values(2, 3, 4), values(5, 2, 3)]),
        "einsum_matmul": (einsum("ij,jk->ik"), [a, b]),
        "einsum_implicit": (einsum("ij,kj"), [a, values(2, 4)]),
        "einsum_attention": (einsum("bhid,bhjd->bhij"), [values(2, 2, 3, 4), values(2, 2, 5, 4)]),
        "einsum_diagonal": (einsum("...ii->...i"), [values(2, 3, 3)]),
        "einsum_ellipsis": (einsum("...ij,jk...->...ik"), [values(2, 3, 4), values(4, 2, 2)]),
        "einsum_bilinear": (einsum("bn,anm,bm->ba"), [values(2, 3), values(4, 3, 5), values(2, 5)]),
        "einsum_chain": (einsum("ab,bc,cd,d->a"), [a, b, values(5, 2), values(2)]),
        "einsum_sum": (einsum("ijk->j"), [values(2, 3, 4)]),
    }


def loss_cases():
    wide, classes = values(6, 5, low=-4, high=4), numbers(5, 6)
    weight = torch.tensor([0.5, 2, 1, 0.25, 3], dtype=torch.float64)
    image, pixels = values(2, 5, 3, 2, low=-4, high=4), numbers(5, 2, 3, 2)
    logs = F.log_softmax(wide, 1).float().double()
    x, t = values(4, 3, low=-3, high=3), values(4, 3, low=-3, high=3)
    p, q = values(4, 3, low=0.05, high=0.95), values(4, 3, low=0.05, high=0.95)

    def ctc(scores, labels, frames, lengths):
        return F.ctc_loss(F.log_softmax(scores, 2), labels, frames, lengths, reduction="none")

    def ctc_mean(scores, labels, frames, lengths):
        return F.ctc_loss(F.log_softmax(scores, 2), labels, frames, lengths)

    ctc_inputs = [values(12, 3, 5, low=-2, high=2), numbers(4, 3, 4) + 1,
                  torch.tensor([12, 10, 9]), torch.tensor([4, 3, 0])]
    return {
        "cross_entropy_smooth": (lambda a, b: F.cross_entropy(a, b, label_smoothing=0.1),
                                 [wide, classes]),
        "cross_entropy_ignore": (lambda a, b: F.cross_entropy(a, b, ignore_index=2),
                                 [wide, classes]),
        "cross_entropy_weight": (
            lambda a, b: F.cross_entropy(a, b, weight=weight.to(a.dtype), label_smoothing=0.2,
                                         ignore_index=1), [wide, classes]),
        "cross_entropy_pixels": (
            lambda a, b: F.cross_entropy(a, b, weight=weight.to(a.dtype), reduction="none"),
            [image, pixels]),
        "cross_entropy_tokens": (
            lambda a, b: F.cross_entropy(a.transpose(1, 2), b, reduction="sum"),
            [values(2, 4, 5, low=-4, high=4), numbers(5, 2, 4)]),
        "nll_loss": (lambda a, b: F.nll_loss(a, b, weight=weight.to(a.dtype), ignore_index=3),
                     [logs, classes]),
        "mse_loss": (F.mse_loss, [x, t]),
        "l1_loss": (F.l1_loss, [x, t]),
        "huber_loss": (lambda a, b: F.huber_loss(a, b, delta=1.5), [x, t]),
        "smooth_l1_loss": (lambda a, b: F.smooth_l1_loss(a, b, beta=0.75, reduction="sum"), [x, t]),
        "bce_with_logits": (
            lambda a, b: F.binary_cross_entropy_with_logits(
                a, b, pos_weight=torch.tensor([2, 0.5, 1], dtype=a.dtype)), [x, q]),
        "bce_loss": (lambda a, b: F.binary_cross_entropy(a, b, reduction="none"), [p, q]),
        "kl_div": (lambda a, b: F.kl_div(a, b, reduction="batchmean"), [-p, q]),
        "kl_div_log": (lambda a, b: F.kl_div(a, b, reduction="sum", log_target=True), [-p, -q]),
        "cosine_similarity": (lambda a, b: F.cosine_similarity(a, b, 1), [x, t]),
        "ctc_loss": (ctc, ctc_inputs),
        "ctc_loss_mean": (ctc_mean, ctc_inputs),
    }


def random_index_case(rng):
    """x is 0, 1, 2, ...; returns its shape, index arrays by axis, x[index] and x with ones added."""
    shape = rng.integers(1, 5, rng.integers(1, 5))
    common = rng.integers(1, 4, rng.integers(0, 3))
    axes = sorted(rng.permutation(len(shape))[:rng.integers(1, len(shape) + 1)])
    arrays = {}
    for axis in axes:
        own = [1 if rng.random() < 0.3 else n for n in common[rng.integers(0, len(common) + 1):]]
        arrays[axis] = rng.integers(-shape[axis], shape[axis], own)
    x = numpy.arange(numpy.prod(shape)).reshape(shape)
    at = tuple(arrays.get(axis, slice(None)) for axis in range(len(shape)))
    added = x.copy()
    numpy.add.at(added, at, 1)
    return shape, arrays, x[at], added


def random_equation(rng):
    """An equation and operands: letters may repeat in an operand and come in any number of them."""
    lengths = dict(zip("abcde", rng.integers(1, 4, 5)))
    terms = []
    for _ in range(rng.integers(1, 5)):
        terms.append("".join(rng.choice(list(lengths), rng.integers(0, 4))))
    used = sorted(set("".join(terms)))
    kept = [c for c in used if rng.random() < 0.5]
    rng.shuffle(kept)
    operands = [rng.integers(-3, 4, [lengths[c] for c in term]).astype(float) for term in terms]
    equation = ",".join(terms)
    if rng.random() < 0.8:
        equation += "->" + "".join(kept)
    return equation, operands, numpy.einsum(equation, *operands)


def make_random(path):
    rng = numpy.random.default_rng(20)
    tensors = {}
    for i in range(160):
        shape, arrays, picked, added = random_index_case(rng)
        tensors[f"index{i}/shape"] = torch.tensor(shape)
        for axis, array in arrays.items():
            tensors[f"index{i}/at{axis}"] = torch.tensor(array)
        tensors[f"index{i}/output"] = torch.tensor(picked)
        tensors[f"index{i}/added"] = torch.tensor(added)
    for i in range(120):
        equation, operands, output = random_equation(rng)
        for k, operand in enumerate(operands):
            tensors[f"{i}:{equation}/input{k}"] = torch.tensor(operand)
        tensors[f"{i}:{equation}/output"] = torch.tensor(output)
    write_safetensors(path, tensors)


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    directory = directory if directory.is_dir() else directory.parent
    torch.manual_seed(20)
    cases = {**joining_cases(), **indexing_cases(), **product_cases(), **loss_cases()}
    tensors = {}
    for name, (function, inputs) in cases.items():
        leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
        output = function(*leaves)
        weights = values(*output.shape)
        output.backward(weights)
        for i, leaf in enumerate(leaves):
            tensors[f"{name}/input{i}"] = leaf
        tensors[f"{name}/output"] = output
        tensors[f"{name}/weights"] = weights
        for i, leaf in enumerate(leaves):
            if leaf.is_floating_point():
                gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
                tensors[f"{name}/gradient{i}"] = gradient
    write_safetensors(directory / "indexing.safetensors", tensors)
    make_random(directory / "indexing_random.safetensors")


if __name__ == "__main__":
    main()
