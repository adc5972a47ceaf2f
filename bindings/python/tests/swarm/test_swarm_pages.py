"""The Python of docs/torch_swarm.md and docs/array_api.md runs and prints what it says."""
import pathlib
import re
import subprocess
import sys
import unittest

from test_swarm_examples import EXAMPLES, code_lines

DOCS = pathlib.Path(__file__).resolve().parents[4] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [body for kind, body in BLOCK.findall((DOCS / page).read_text()) if kind == language]


class Pages(unittest.TestCase):
    def test_snippets_print_what_they_say(self):
        for page in ("torch_swarm.md", "array_api.md"):
            snippets = blocks(page, "python")
            self.assertTrue(snippets, page)
            for snippet in snippets:
                ran = subprocess.run([sys.executable, "-c", snippet], capture_output=True,
                                     text=True, timeout=120)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual(ran.stdout.splitlines(), re.findall("# prints: (.*)", snippet))

    def test_the_lines_of_the_example_are_those_of_the_page(self):
        plain = code_lines("torch_plain.py")
        added = ["+" + line for line in code_lines("torch_swarm.py") if line not in plain]
        self.assertEqual(added, blocks("torch_swarm.md", "diff")[0].splitlines())
        self.assertTrue((EXAMPLES / "torch_swarm.py").exists())


if __name__ == "__main__":
    unittest.main()
