"""The examples of weft.diffusion and weft.distillation as programs, on computed data."""
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
