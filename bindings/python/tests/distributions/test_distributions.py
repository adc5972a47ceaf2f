"""Densities, shares, moments, gradients, divergences and transforms (distribution_tables.py)
against PyTorch, or against what it gave once, which recorded/distributions.json has."""
import fnmatch
import pathlib
import re
import unittest

import calls
import distribution_tables as tables
import records
import weft
from oracle import needs_torch, torch

PAGE = pathlib.Path(__file__).resolve().parents[4] / "docs" / "torch_differences.md"


def deliberate():
    """The patterns of the rows that differ on purpose, from the first column of the page's table."""
    section = PAGE.read_text().split("\n## Distributions\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \| ", section, re.MULTILINE)
    return [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]


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
        wanted, counts, patterns = expected(), {}, deliberate()
        met = set()
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
            meant = [each for each in patterns if fnmatch.fnmatchcase(text, each)]
            met.update(meant if kind in ("differs", "accepted") else [])
            if kind == "differs" and meant:
                kind = "meant"
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ("differs", "refused"):
                with self.subTest(text):
                    self.fail(f"{kind}: {what}")
        self.assertGreater(counts["equal"], 1000)
        self.assertEqual(sorted(set(patterns) - met), [], "rows of the page that nothing differs by")

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
