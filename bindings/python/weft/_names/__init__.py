"""PyTorch's names that are written in Python, over the native ones; each module is one subject.

A function of a module is weft.NAME; with @method it is Tensor.NAME as well. docs/python.md.
"""
