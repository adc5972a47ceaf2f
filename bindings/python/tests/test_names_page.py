"""docs/python_names.md says what is there: it is what names_page.py writes."""
import unittest

import names_page
import records
import weft
from oracle import needs_torch, torch


class Page(unittest.TestCase):
    def test_the_page_is_that_of_this_package(self):
        self.assertTrue(names_page.PAGE.read_text() == names_page.page(),
                        "docs/python_names.md is not what names_page.py writes: run it")

    def test_what_is_partly_there_is_there(self):
        known = records.read("names")
        for key in names_page.PARTLY:
            place, _, name = key.rpartition(".")
            self.assertIn(name, known[place], key)
            self.assertTrue(hasattr(names_page.owner_in(weft, place), name), key)

    def test_states(self):
        self.assertEqual([names_page.state_of("", name) for name in ("add", "jit", "as_strided")],
                         ["there", "absent", "partly"])
        self.assertEqual(names_page.state_of("nn.nowhere", "x"), "absent")

    @needs_torch
    def test_the_record_is_pytorchs(self):
        if not torch.__version__.startswith("1.13"):
            self.skipTest("the record is that of PyTorch 1.13")
        known = records.read("names")
        for place in names_page.PLACES:
            theirs = names_page.owner_in(torch, place)
            missing = [name for name in known[place] if not hasattr(theirs, name)]
            self.assertEqual(missing, [], place)


if __name__ == "__main__":
    unittest.main()
