"""weft.demo(): learns what it says, the same on every run, and leaves random numbers alone."""
import contextlib
import io
import re
import unittest

import weft


def shown(**settings):
    """(what demo() returns, the lines that it prints)."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        right = weft.demo(**settings)
    return right, text.getvalue().splitlines()


class Demo(unittest.TestCase):
    def test_learns_the_spirals(self):
        right, lines = shown()
        losses = [float(found) for found in re.findall(r"loss ([\d.]+)", "\n".join(lines))]
        self.assertEqual(len(losses), 6)
        self.assertLess(losses[-1], losses[0] / 10)
        self.assertGreater(right, 0.97)
        picture = [line for line in lines if set(line) <= set(".#")]
        self.assertEqual({len(line) for line in picture}, {48})
        # The one spiral is the other turned by half a circle, and so is the picture, nearly.
        turned = [line[::-1].translate(str.maketrans(".#", "#.")) for line in reversed(picture)]
        same = sum(a == b for rows in zip(picture, turned) for a, b in zip(*rows))
        self.assertGreater(same, 0.8 * 48 * len(picture))

    def test_a_seed_repeats_it(self):
        weft.manual_seed(5)
        before = weft.get_rng_state()
        first, again, other = (shown(steps=20, seed=seed) for seed in (1, 1, 2))
        self.assertEqual(first[0], again[0])

        def without_seconds(lines):
            return [line for line in lines if "steps in" not in line]
        self.assertEqual(without_seconds(first[1]), without_seconds(again[1]))
        self.assertNotEqual(without_seconds(first[1]), without_seconds(other[1]))
        self.assertTrue(bool((weft.get_rng_state() == before).all()))

    def test_no_steps_are_refused(self):
        for steps in (0, -1, 2.5, True):
            with self.subTest(steps), self.assertRaisesRegex(ValueError, f"got {steps!r}"):
                weft.demo(steps)


if __name__ == "__main__":
    unittest.main()
