"""Derivatives of functions: of weft.autograd.functional and of weft.func.

functional.py has the first; of weft.func, trees.py walks through tuples, lists and dicts, run.py
keeps one run of a function with its history, directions.py and jacobians.py have what users call.
"""
