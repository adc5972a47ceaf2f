"""The examples of weft.diffusion and weft.distillation as programs, on computed data."""
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import weft

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
DEADLINE_S = 120


def command(name, *arguments):
    return [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, arguments)]


class Compared(unittest.TestCase):
    """As `weft compare` calls them, with a line of JSON for each measurement."""

    def results(self, name, *arguments):
        """The lines that it writes, or what it says where it ends with a fault."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "results.jsonl"
            done = subprocess.run(command(name, *arguments, "--data", "synthetic", "--results", file),
                                  capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            if done.returncode != 0:
                self.assertFalse(file.exists())
                return done.stderr
            return [json.loads(line) for line in file.read_text().splitlines()]

    def check_lines(self, lines, rounds):
        self.assertEqual([line["round"] for line in lines], list(range(1, rounds + 1)))
        for name in ("step", "seconds", "samples"):
            values = [line[name] for line in lines]
            self.assertEqual(values, sorted(set(values)), name)

    def test_distillation_counts_what_all_members_do(self):
        options = ["--rounds", 2, "--members", 2, "--samples", 60]
        lines = self.results("federated_distillation", *options, "--seed", 2)
        self.check_lines(lines, 2)
        # 20 steps of 32 samples by two members; the second round has the contrastive term.
        self.assertEqual([line["samples"] for line in lines], [1280, 3840])
        sizes = 16 * 9 + 16 + 32 * 16 * 9 + 32 + 10 * 32 * 49 + 10
        self.assertEqual([line["bytes_sent"] for line in lines], [8 * sizes, 16 * sizes])
        again = self.results("federated_distillation", *options, "--seed", 2)
        for line, other in zip(lines, again):
            self.assertEqual((line["accuracy"], line["loss"]), (other["accuracy"], other["loss"]))
        other = self.results("federated_distillation", *options, "--seed", 3, "--domains", 2)
        self.assertNotEqual(lines[0]["loss"], other[0]["loss"])
        self.assertGreater(lines[1]["accuracy"], 0.15)

    def test_members_cannot_have_more_samples_than_there_are(self):
        text = self.results("federated_distillation", "--rounds", 1, "--members", 3, "--samples",
                            1000)
        self.assertIn("--samples: 3 members with 1000 each are more than synthetic has", text)

    def test_experts_learn_in_stretches(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = self.results("diffusion_experts", "compare", "--out", folder, "--experts", 3,
                                 "--rounds", 3, "--steps", 20, "--batch", 16)
        self.check_lines(lines, 3)
        # Three experts and a router.
        self.assertEqual([line["samples"] for line in lines], [1280, 2560, 3840])
        self.assertLess(lines[2]["loss"], lines[0]["loss"])
        self.assertEqual(len({line["bytes_sent"] for line in lines}), 1)

    def test_experts_need_a_file_for_results(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(command("diffusion_experts", "compare", "--out", folder),
                                  capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected --results FILE", done.stderr)


class Islands(unittest.TestCase):
    def part(self, *arguments):
        done = subprocess.run(command("diffusion_experts", *arguments, "--data", "synthetic"),
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def test_islands_meet_in_files_only(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            steps = ["--out", folder, "--steps", 20, "--batch", 16]
            self.assertIn("pictures", self.part("split", "--experts", 3, *steps))
            for cluster in range(2):
                self.assertIn("step 20 of 20", self.part("expert", "--cluster", cluster, *steps))
            text = self.part("expert", "--cluster", 2, "--swarm", "new", *steps)
            self.assertTrue(text.startswith("weft2-"), text[:40])
            self.part("router", *steps)
            sys.path.insert(0, str(EXAMPLES))
            try:
                import diffusion_experts
            finally:
                sys.path.remove(str(EXAMPLES))
            model = diffusion_experts.load_all(folder, 2)
            found = weft.diffusion.sample(model, (5, diffusion_experts.PIXELS), steps=3)
            self.assertTrue(bool(found.isfinite().all()))
            try:
                import PIL  # noqa: F401
            except ImportError:
                return
            self.assertIn("samples.png", self.part("sample", *steps))
            self.assertGreater((folder / "samples.png").stat().st_size, 1000)


class Distillation(unittest.TestCase):
    def test_two_members_move_the_shared_samples_alike(self):
        options = ["--rounds", 7, "--data", "synthetic", "--samples", 300]
        first = subprocess.Popen(command("federated_distillation", *options), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        watch = threading.Timer(DEADLINE_S, first.kill)
        watch.start()
        try:
            ticket = first.stdout.readline().strip()
            second = subprocess.run(
                command("federated_distillation", *options, "--ticket", ticket, "--domain", 1,
                        "--seed", 2), capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            out, errors = first.communicate(timeout=DEADLINE_S)
        finally:
            watch.cancel()
            first.kill()
        # A state that differed between members would have ended one of them.
        self.assertEqual((first.returncode, errors), (0, ""))
        self.assertIn("round 7: accuracy", out)
        self.assertEqual((second.returncode, second.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
