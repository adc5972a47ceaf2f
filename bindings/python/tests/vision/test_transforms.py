"""What the transforms give against torchvision, or against what it gave once, which
recorded/vision.json has; record.py vision writes that file anew."""
import unittest

import imaging
import records
import transform_tables
import weft
from oracle import torch


def expected():
    """{row: what torchvision gives, {"error": ...} where it raises}, and whether that is
    recorded."""
    if imaging.torch_transforms is None:
        rows = records.read("vision")
        return {row: rows[row] for row in transform_tables.rows()}, True
    found = {}
    for row in transform_tables.rows():
        try:
            found[row] = imaging.run(torch, row.lstrip("~"))
        except Exception as error:  # whatever it raises is its answer
            found[row] = {"error": type(error).__name__}
    return found, False


def same_pillow():
    """Whether the recorded answers are of the Pillow that is here: other versions round
    otherwise."""
    return imaging.Image is not None and records.read("vision")["pillow"].split(".")[0] == (
        imaging.PIL.__version__.split(".")[0])


class Rows(unittest.TestCase):
    def test_every_row(self):
        wanted, recorded = expected()
        self.assertGreater(len(wanted), 1200)
        counts = {"equal": 0, "both refuse": 0, "need Pillow": 0}
        pictures = imaging.Image is not None and (not recorded or same_pillow())
        for row, theirs in wanted.items():
            text = row.lstrip("~")
            if imaging.needs_pictures(text) and not pictures:
                counts["need Pillow"] += 1
                continue
            refuses = isinstance(theirs, dict) and "error" in theirs
            with self.subTest(row):
                try:
                    mine = imaging.run(weft, text)
                except Exception:
                    if not refuses:
                        raise
                    counts["both refuse"] += 1
                    continue
                self.assertFalse(refuses, f"torchvision raises {theirs}")
                what = imaging.difference(mine, theirs, recorded, row.startswith("~"))
                self.assertIsNone(what, what)
                counts["equal"] += 1
        print("\ntransforms: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
        self.assertGreater(counts["equal"], 600)
        self.assertLess(counts["both refuse"], 100)


if __name__ == "__main__":
    unittest.main()
