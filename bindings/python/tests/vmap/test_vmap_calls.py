"""Calls as programs write them (calls/), within vmap(): each gives what a loop over the samples
gives, or is refused; none gives anything else."""
import collections
import io
import math
import unittest
import warnings

import numpy as np

import calls
import vmap_checks
import weft
from weft import func

SAMPLES = 2
# A call is refused where it would need the values of a sample, where there is no rule, or where what
# it asks for differs by sample.
REFUSED = ("values of samples may not", "no batched rule for", "randomness='error'",
           "with one value per sample as the target", "made outside of vmap()",
           "no running statistics that the samples share")


def _scope():
    return {"torch": weft, "F": weft.nn.functional, "nn": weft.nn, "optim": weft.optim, "np": np,
            "math": math, "io": io}


def _samples():
    """The inputs of the calls, with others of the same kind behind them."""
    first = calls.inputs(weft)
    return {name: weft.stack([x, x.flip(0) if x.ndim and name not in ("spd", "m") else x.clone()])
            for name, x in first.items()}


def _evaluated(text, given):
    """The tensors among the results, with what else there is as tensors, too."""
    scope = {**_scope(), **given}
    *statements, expression = text.split(";;")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weft.manual_seed(3)
        try:
            for statement in statements:
                exec(statement.strip(), scope)  # noqa: S102
            result = eval(expression.strip(), scope)  # noqa: S307
        finally:
            weft.set_default_dtype(weft.float32)
    found = [each for each in vmap_checks.leaves(result)
             if isinstance(each, (weft.Tensor, bool, int, float))]
    return [each if isinstance(each, weft.Tensor) else weft.tensor(each) for each in found]


def _outcome(text, samples):
    """"same", "refused", "none" where the call is nothing for a loop either, or what is wrong."""
    names = list(samples)

    def one(*row):
        return tuple(_evaluated(text, dict(zip(names, row))))

    rows = [{name: x[i].clone() for name, x in samples.items()} for i in range(SAMPLES)]
    try:
        results = [_evaluated(text, row) for row in rows]
        want = [weft.stack(list(each)) for each in zip(*results)]
    except Exception:  # noqa: BLE001  (whatever it is, vmap() need not do better)
        return "none"
    try:
        got = func.vmap(one)(*(x.clone() for x in samples.values()))
    except (weft.Error, NotImplementedError, TypeError, AttributeError, IndexError) as error:
        known = any(reason in str(error) for reason in REFUSED)
        return "refused" if known else f"{type(error).__name__}: {error}"
    try:
        vmap_checks.assert_same(list(got), want, "")
    except AssertionError as error:
        return f"differs: {error}"
    return "same"


class Calls(unittest.TestCase):
    def test_each_is_that_of_a_loop_or_refused(self):
        samples = _samples()
        counts = collections.Counter()
        for text in calls.all_calls():
            outcome = _outcome(text, samples)
            counts[outcome] += 1
            with self.subTest(call=text):
                self.assertIn(outcome, ("same", "refused", "none"))
        self.assertGreater(counts["same"], 1000)


if __name__ == "__main__":
    unittest.main()
