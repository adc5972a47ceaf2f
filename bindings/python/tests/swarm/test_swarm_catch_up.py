"""Newcomers beside a founder that never pauses: its rounds are faster than they apply results."""
import threading
import time
import unittest

import numpy

import weft.swarm

LOCAL = {"listen": "127.0.0.1:0", "timeout": 60}


class Founder:
    """Does rounds without a pause, each with a part of 1, as long as `goes_on()` says."""

    def __init__(self, goes_on, waits):
        self.values = numpy.zeros(1, numpy.float32)
        self.longest = 0.0
        with weft.swarm.start([self.values], **LOCAL) as swarm:
            begun = time.monotonic()
            while goes_on(swarm) and time.monotonic() - begun < 60:
                before = time.monotonic()
                part = numpy.ones(1, numpy.float32)
                swarm.all_reduce(part, op="sum")
                self.values += part
                self.longest = max(self.longest, time.monotonic() - before)
                if any("has caught up, which is slower" in event for event in swarm.events()):
                    waits.set()
            self.round = swarm.round


class Newcomer(threading.Thread):
    """Joins after the founder's hundredth round, waits a little, and then does `body`."""

    def __init__(self, body):
        super().__init__(daemon=True)
        self.body, self.founder, self.error = body, None, None
        self.values = numpy.zeros(1, numpy.float32)
        self.together = self.behind = 0
        self.pause = 0.0

    def begin(self, swarm):
        if swarm.round == 100:
            self.founder = swarm
            self.start()

    def apply_slowly(self, swarm):
        part = numpy.full(1, 77, numpy.float32)  # counts nothing
        swarm.all_reduce(part, op="sum")
        self.values += part
        self.behind += 1
        # The first results came during its pause; requests for others take long on a busy machine.
        time.sleep(0.02 if self.behind < 10 else self.pause)

    def run(self):
        try:
            with weft.swarm.join(self.founder.ticket, [self.values], **LOCAL) as swarm:
                before = self.founder.round
                time.sleep(0.2)
                # Three rounds of the founder for each result, as far as it had the processor.
                self.pause = min(0.001, 3 * 0.2 / max(1, self.founder.round - before))
                self.body(self, swarm)
        except BaseException as error:  # the test's own thread raises it
            self.error = error


def take_part(newcomer, swarm):
    """Twenty rounds with a part of 3, after those that it only applies."""
    while newcomer.together < 20:
        if swarm.behind:
            newcomer.apply_slowly(swarm)
            continue
        part = numpy.full(1, 3, numpy.float32)
        swarm.all_reduce(part, op="sum")
        newcomer.values += part
        newcomer.together += 1


class NeverPausing(unittest.TestCase):
    def test_founder_lets_a_slow_newcomer_in(self):
        newcomer, waits = Newcomer(take_part), threading.Event()

        def goes_on(swarm):
            newcomer.begin(swarm)
            return newcomer.founder is None or newcomer.is_alive()

        founder = Founder(goes_on, waits)
        if newcomer.error is not None:
            raise newcomer.error
        newcomer.join(10)
        self.assertEqual(newcomer.together, 20)
        self.assertGreater(newcomer.behind, 100)
        self.assertTrue(waits.is_set())
        # What a part of 3 has added in twenty rounds, beside one of 1 in every round.
        self.assertEqual(founder.values[0], founder.round + 60)

    def test_founder_goes_on_without_one_that_stops(self):
        waits, stopped, ended = threading.Event(), threading.Event(), threading.Event()

        def stop(newcomer, swarm):
            before, since = None, time.monotonic()
            while swarm.behind and time.monotonic() < since + 0.7:  # until the founder waits
                newcomer.apply_slowly(swarm)
                if newcomer.founder.round != before:
                    before, since = newcomer.founder.round, time.monotonic()
            stopped.set()
            ended.wait(60)

        newcomer = Newcomer(stop)
        sizes, last = set(), []

        def goes_on(swarm):
            newcomer.begin(swarm)
            sizes.add(len(swarm.members))
            if stopped.is_set() and not last:
                last.append(swarm.round + 500)
            return not last or swarm.round < last[0]

        founder = Founder(goes_on, waits)
        ended.set()
        newcomer.join(30)
        self.assertIsNone(newcomer.error)
        self.assertEqual(founder.round, last[0])
        self.assertEqual(sizes, {1})
        self.assertTrue(waits.is_set())
        # It is waited for three seconds longer.
        self.assertLess(founder.longest, 15)


if __name__ == "__main__":
    unittest.main()
