"""The snippets of docs/python.md run, one after another, and print what their comments say."""
import contextlib
import io
import pathlib
import re
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[4] / "docs" / "python.md"
EXAMPLES = PAGE.parent.parent / "bindings" / "python" / "examples"


class Page(unittest.TestCase):
    def test_snippets(self):
        snippets = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreater(len(snippets), 5)
        names = {"__name__": "snippet"}
        for snippet in snippets:
            with self.subTest(snippet.splitlines()[0]):
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(snippet, str(PAGE), "exec"), names)
                wanted = re.findall(r"^# prints: (.*)$", snippet, re.MULTILINE)
                self.assertEqual(printed.getvalue().splitlines(), wanted)

    def test_the_table_of_diffs_is_whole(self):
        rows = set(re.findall(r"^\| `(.*import.*)` \| `(.*)` \|$", PAGE.read_text(), re.MULTILINE))
        found = set()
        for name in ("cnn", "char_gpt"):
            theirs, ours = ((EXAMPLES / f"{prefix}{name}.py").read_text().splitlines()
                            for prefix in ("torch_", ""))
            self.assertEqual(len(theirs), len(ours))
            found |= {(old, new) for old, new in zip(theirs, ours) if old != new}
        self.assertEqual(rows, found)
