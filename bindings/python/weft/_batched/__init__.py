"""Tensors of weft.func.vmap: one object that stands for one value per sample.

Within vmap() the function gets BatchedTensors. Each holds a tensor whose first axis is the batch,
and the level of the vmap() to which this axis belongs; its shape, ndim and the like are those of one
sample. It is no weft.Tensor, so no native function can read it as if it were one sample. A native
function that gets one calls levels.call(), which finds the function's rule in table.RULES; functions
of the package that are written in Python run as they are and reach the rules from there.

levels.py has the levels that are at work, tensor.py the class, mapped.py vmap() itself, and the
other modules the rules, each of one subject.
"""
