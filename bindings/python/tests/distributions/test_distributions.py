"""Densities, shares, moments, gradients, divergences and transforms (distribution_tables.py)
against PyTorch, or against what it gave once, which recorded/distributions.json has."""
import fnmatch
import unittest

import calls
import distribution_tables as tables
import records
import weft
from oracle import needs_torch, torch

# Rows whose values differ on purpose: docs/torch_differences.md says why.
MEANT = (
    "D.Kumaraswamy(*).mode", "D.Wishart(*).support", "D.Multinomial(*).support",
    "expanded(D.Multinomial*", "gradients(lambda T: D.Wishart(T(4.5), scale_tril*log_prob*",
    "gradients(lambda T: (D.Wishart*", "D.kl_divergence(D.ContinuousBernoulli*D.Uniform*",
    "D.kl_divergence(D.Uniform*D.ContinuousBernoulli*",
)


def pairs():
    """The names of the classes that have a divergence, and of two that inherit one."""
    found = {(p.__name__, q.__name__) for p, q in weft.distributions.kl._REGISTRY}
    known = sorted(each for each in found if set(each) <= set(tables.OBJECTS))
    return [*known, ("Wishart", "Wishart"), ("LogNormal", "LogNormal"), ("Chi2", "Gamma")]


def expected():
    """{row: what PyTorch gives, {"error": ...} where it raises}."""
    if torch is None:
        return records.read("distributions")
    found = {}
    for text in tables.rows(pairs()):
        try:
            found[text] = tables.run(torch, text)
        except Exception as error:  # whatever it raises is its answer
            found[text] = {"error": type(error).__name__}
    return found


class Rows(unittest.TestCase):
    def test_every_row(self):
        wanted, counts = expected(), {}
        self.assertGreater(len(wanted), 1500)
        for text, theirs in wanted.items():
            if text == "torch":
                continue
            refuses = isinstance(theirs, dict) and "error" in theirs
            try:
                mine = tables.run(weft, text)
            except Exception as error:
                kind, what = "both refuse" if refuses else "refused", repr(error)
            else:
                what = None if refuses else calls.difference(calls.compact(mine), theirs)
                kind = "accepted" if refuses else "equal" if what is None else "differs"
            if kind == "differs" and any(fnmatch.fnmatchcase(text, each) for each in MEANT):
                kind = "meant"
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ("differs", "refused"):
                with self.subTest(text):
                    self.fail(f"{kind}: {what}")
        self.assertGreater(counts["equal"], 1000)

    def test_the_recorded_rows_are_those_of_the_tables(self):
        recorded = records.read("distributions")
        self.assertEqual(sorted(set(recorded) - {"torch"}), sorted(set(tables.rows(pairs()))))

    @needs_torch
    def test_every_pair_that_pytorch_knows_has_a_divergence(self):
        theirs = {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}
        mine = {(p.__name__, q.__name__) for p, q in weft.distributions.kl._REGISTRY}
        self.assertEqual(mine, theirs)

    @needs_torch
    def test_pytorchs_modules_of_classes_are_there(self):
        import importlib
        import pkgutil

        for module in pkgutil.iter_modules(torch.distributions.__path__):
            theirs = importlib.import_module(f"torch.distributions.{module.name}")
            mine = importlib.import_module(f"weft.distributions.{module.name}")
            for name in theirs.__all__ if hasattr(theirs, "__all__") else ():
                self.assertTrue(hasattr(mine, name), f"{module.name}.{name}")


if __name__ == "__main__":
    unittest.main()
