"""A newcomer beside a founder that never pauses: its rounds may be faster than results are applied."""
import threading
import time
import unittest

import numpy

import weft.swarm

LOCAL = {"listen": "127.0.0.1:0", "timeout": 60}
TOGETHER = 20


class Newcomer(threading.Thread):
    """Joins, applies results of the founder's rounds, and takes part in some."""

    def __init__(self, ticket):
        super().__init__(daemon=True)
        self.ticket, self.error, self.together = ticket, None, 0
        self.values = numpy.zeros(1, numpy.float32)

    def run(self):
        try:
            with weft.swarm.join(self.ticket, [self.values], **LOCAL) as swarm:
                while self.together < TOGETHER:
                    self.step(swarm)
        except BaseException as error:  # the test's own thread raises it
            self.error = error

    def step(self, swarm):
        behind = swarm.behind
        part = numpy.full(1, 77 if behind else 3, numpy.float32)  # 77 counts nothing
        swarm.all_reduce(part, op="sum")
        self.values += part
        if behind:
            numpy.linalg.inv(numpy.eye(100))  # which takes longer than one of the founder's rounds
        else:
            self.together += 1


class NeverPausing(unittest.TestCase):
    def test_founder_lets_a_slow_newcomer_in(self):
        values, newcomer = numpy.zeros(1, numpy.float32), None
        with weft.swarm.start([values], **LOCAL) as swarm:
            begun = time.monotonic()
            while (newcomer is None or newcomer.is_alive()) and time.monotonic() - begun < 90:
                part = numpy.ones(1, numpy.float32)
                swarm.all_reduce(part, op="sum")
                values += part
                if swarm.round == 100:
                    newcomer = Newcomer(swarm.ticket)
                    newcomer.start()
            rounds = swarm.round
        newcomer.join(10)
        if newcomer.error is not None:
            raise newcomer.error
        self.assertEqual(newcomer.together, TOGETHER)
        # What a part of 3 has added in twenty rounds, beside one of 1 in every round.
        self.assertEqual(values[0], rounds + 3 * TOGETHER)


if __name__ == "__main__":
    unittest.main()
