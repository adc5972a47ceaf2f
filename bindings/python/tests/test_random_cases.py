"""Random calls (cases/) beside PyTorch: a part of what compare.py does by hand at any length. Where
PyTorch is not installed the calls are compared with what it gave once, recorded/cases.json; after
a change of cases/, record.py writes that file anew."""
import unittest

import cases
import records
import weft
from oracle import needs_torch, torch

SEED = 1
RECORDED = 60  # of each part
SECOND = 12  # second derivatives, of each part that has gradients
BESIDE_TORCH = 150
TOLERANCE = 1e-4


def recorded_numbers():
    """(key in the file, part, how it runs, numbers)."""
    for part in cases.all_parts():
        yield part, part, cases.run, range(RECORDED)
        if part != "types":
            yield f"second {part}", part, cases.second, range(SECOND)


class RandomCases(unittest.TestCase):
    @needs_torch
    def test_nothing_differs_and_no_refusal_is_new(self):
        seen = set()
        for key, part, how, numbers in recorded_numbers():
            for number in range(BESIDE_TORCH if how is cases.run else len(numbers)):
                case = cases.draw(part, cases.all_parts()[part], SEED, number)
                kind, what = cases.compare(case, weft, torch, how)
                seen.add(kind)
                with self.subTest(key, seed=SEED, only=number):
                    self.assertNotIn(kind, ("different", "refused"), f"{case.text}\n{what}")
        self.assertIn("same", seen)
        self.assertIn("known", seen)

    def test_results_are_the_recorded_ones(self):
        recorded = records.read("cases")
        for key, part, how, numbers in recorded_numbers():
            self.assertGreater(len(recorded[key]), len(numbers) // 2)
            for number, want in recorded[key].items():
                case = cases.draw(part, cases.all_parts()[part], SEED, int(number))
                with self.subTest(key, number=number, record_anew_with=records.HOW):
                    self.assert_recorded(case.text, cases.summary(how(weft, case)), want)

    def assert_recorded(self, text, got, want):
        self.assertEqual(len(got), len(want), text)
        for mine, theirs in zip(got, want):
            if mine is None or theirs is None:  # no gradient, or one of zeros
                self.assertFalse(any((mine or theirs or ["", 0.0])[1:]), text)
                continue
            self.assertEqual(mine[0], theirs[0], text)
            for a, b in zip(mine[1:], theirs[1:]):
                self.assertEqual(a is None, b is None, text)
                if b is not None:
                    self.assertLessEqual(abs(a - b), TOLERANCE * (1 + theirs[1]), text)


if __name__ == "__main__":
    unittest.main()
