"""The rules of vmap(): each function of the tables against a loop over the samples, with all choices
of arguments that have a batch, nested, and with gradients outside and inside."""
import inspect
import types
import unittest

import vmap_cases
import vmap_checks
import weft
from weft import _core
from weft._batched import mapped, table
from weft._batched.tensor import BatchedTensor

# Native functions that need no rule: they take no tensor, or none of a sample can be meant.
WITHOUT_RULES = set("""
    _anomaly_level _autocast_type _dataset_downloads _dataset_folders _dataset_names _from_bytes
    _in_place _load _load_model _model_names _onnx_export _onnx_load _open_dataset
    _open_dataset_in _optimizer_check _optimizer_load _optimizer_rules _optimizer_step
    _recipe_optimizers _register_hook _save _set_anomaly_level _set_autocast_type
    _set_batched_calls _set_call_site _strided _to_dlpack _zero_grad allclose arange empty equal
    eye from_dlpack from_numpy full get_default_dtype get_num_threads initial_seed
    is_grad_enabled linspace manual_seed ones promote_types rand randint randn randperm
    retain_grad set_default_dtype set_num_threads storage_offset zeros
""".split())


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


class Names(unittest.TestCase):
    def test_each_native_function_has_a_rule(self):
        self.assertTrue(callable(mapped.vmap))  # which has registered the rules
        native = {name for name, value in vars(_core).items()
                  if callable(value) and not isinstance(value, type) and not name.startswith("__")}
        for name, value in vars(weft.Tensor).items():
            made = getattr(value, "__wrapped__", value)
            made_otherwise = isinstance(made, (types.FunctionType, property)) or name.startswith(
                "__") or name in vars(BatchedTensor)
            if callable(value) and not made_otherwise:
                native.add(getattr(weft.Tensor, name).__name__)
        missing = native - set(table.RULES) - WITHOUT_RULES
        self.assertEqual(missing, set(), "write a rule in weft/_batched, or add it to WITHOUT_RULES")
        self.assertEqual(WITHOUT_RULES - native, set())


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
