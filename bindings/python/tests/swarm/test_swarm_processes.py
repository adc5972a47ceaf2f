"""Three processes train as one, one of them is killed, and the others go on with equal bits."""
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS, KILLED_AFTER = 30, 10
LIMIT_SECONDS = 120


class Member:
    """A child whose lines are kept; it is killed if it takes too long."""

    def __init__(self, kind, index, *options):
        command = [sys.executable, str(HERE / "swarm_member.py"), kind, str(index), str(ROUNDS),
                   *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=os.environ)
        self.limit = threading.Timer(LIMIT_SECONDS, self.process.kill)
        self.limit.start()
        self.lines = []

    def read_until(self, ready):
        """The first line that `ready` takes; None where the output ends before."""
        for text in self.process.stdout:
            self.lines.append(json.loads(text))
            if ready(self.lines[-1]):
                return self.lines[-1]
        return None

    def end(self):
        """(exit code, what it said on standard error)."""
        self.read_until(lambda line: False)
        fault = self.process.stderr.read()
        code = self.process.wait()
        self.close()
        return code, fault

    def close(self):
        self.limit.cancel()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def rounds(self):
        return {line["round"]: line for line in self.lines if "round" in line}


class ThreeProcesses(unittest.TestCase):
    def run_and_kill(self, kind, victim):
        """The lines of the two that survive, by round. Member 0 is who began the group."""
        members = []
        for index in range(3):
            options = ["--stop-at", str(KILLED_AFTER)] if index == victim else []
            if members:
                options += ["--ticket", members[0].lines[0]["ticket"]]
            members.append(Member(kind, index, *options))
            self.addCleanup(members[-1].close)
            if index == 0 and members[0].read_until(lambda line: "ticket" in line) is None:
                self.fail(f"the founder gave no ticket: {members[0].end()}")
        killed = members.pop(victim)
        if killed.read_until(lambda line: line.get("round") == KILLED_AFTER) is None:
            self.fail(f"the member to be killed did not come so far: {killed.end()}")
        killed.process.send_signal(signal.SIGKILL)
        for member in members:
            code, fault = member.end()
            self.assertEqual(code, 0, fault)
        self.assertEqual(killed.end()[0], -signal.SIGKILL)
        for number, line in killed.rounds().items():
            self.assertEqual(line["hash"], members[0].rounds()[number]["hash"])
        return [member.rounds() for member in members]

    def check_equal(self, one, other):
        self.assertEqual(sorted(one), list(range(1, ROUNDS + 1)))
        self.assertEqual(sorted(other), sorted(one))
        for number, line in one.items():
            self.assertEqual(line["hash"], other[number]["hash"], f"after round {number}")
        self.assertEqual(one[1]["members"], 3)
        self.assertEqual(one[KILLED_AFTER + 2]["members"], 2)
        self.assertEqual(len({line["hash"] for line in one.values()}), ROUNDS)

    def test_survivors_of_a_kill_hold_the_sums_of_whoever_was_there(self):
        one, other = self.run_and_kill("numpy", 2)
        self.check_equal(one, other)
        # The mean of 1, 2, 3, then that of 1, 2; halves of whole numbers are exact.
        expected = -(KILLED_AFTER * 2.0 + (ROUNDS - KILLED_AFTER) * 1.5) / 2
        self.assertEqual(one[ROUNDS]["value"], expected)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_survivors_of_the_founder_hold_equal_models_of_pytorch(self):
        self.check_equal(*self.run_and_kill("torch", 0))


if __name__ == "__main__":
    unittest.main()
