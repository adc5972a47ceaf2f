"""The rules of vmap(): each function of the tables against a loop over the samples, with all choices
of arguments that have a batch, nested, and with gradients outside and inside."""
import inspect
import unittest

import vmap_cases
import vmap_checks


def _text(function):
    name = getattr(function, "__name__", str(function))
    if name == "<lambda>" or name == "function":
        return inspect.getsource(function).strip()[:90]
    return name


class Rules(unittest.TestCase):
    def each(self, table, check):
        for number, (function, *kinds) in enumerate(vmap_cases.TABLES[table]):
            with self.subTest(table=table, number=number, function=_text(function)):
                check(function, kinds)


def _values(function, kinds, written):
    for seed, dims in enumerate(vmap_checks.choices(kinds, written)):
        vmap_checks.check(function, kinds, dims, seed)


def _nested(function, kinds, written):
    for seed, dims in enumerate(vmap_checks.choices(kinds, written)):
        outer_writes = written and any(dim is None for dim in dims)
        if not outer_writes:
            vmap_checks.check_nested(function, kinds, dims, seed)


def _inner(function, kinds, written):
    vmap_checks.check_inner_gradients(function, kinds)


def _add(table):
    written = table == "in_place"
    for name, check in (("values", _values), ("nested", _nested), ("gradients_within", _inner)):
        if written and name == "gradients_within":
            continue

        def test(self, check=check):
            self.each(table, lambda function, kinds: check(function, kinds, written))

        setattr(Rules, f"test_{table}_{name}", test)


for _table in vmap_cases.TABLES:
    _add(_table)


if __name__ == "__main__":
    unittest.main()
