"""weft.swarm in one process: what is summed, what newcomers get, what is refused."""
import array
import ctypes
import importlib.util
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy

import weft
import weft.swarm
from weft.swarm import group

LOCAL = {"listen": "127.0.0.1:0", "timeout": 60}
HAS_TORCH = importlib.util.find_spec("torch") is not None


class Thread(threading.Thread):
    """Whose body's result or exception join() gives."""

    def __init__(self, body, *arguments):
        super().__init__(daemon=True)
        self._call = lambda: body(*arguments)
        self._outcome = lambda: (_ for _ in ()).throw(AssertionError("the thread did not end"))
        self.start()

    def run(self):
        try:
            result = self._call()
            self._outcome = lambda: result
        except BaseException as error:  # handed to whoever joins
            self._outcome = lambda error=error: (_ for _ in ()).throw(error)

    def result(self):
        self.join(120)
        return self._outcome()


def pause():
    """Alone a member is so fast that a newcomer on a busy machine has to be waited for."""
    threading.Event().wait(0.03)


def both(founder, joiner, **options):
    """What founder(swarm) and joiner(ticket) give, run at once in a group of two."""
    swarm = weft.swarm.start(**{"start_members": 2, **LOCAL, **options})
    other = Thread(joiner, swarm.ticket)
    with swarm:
        mine = founder(swarm)
        theirs = other.result()
    return mine, theirs


class AllReduce(unittest.TestCase):
    def reduce(self, first, second, first_weight=1.0, second_weight=1.0, **options):
        """Two members' arrays after one all_reduce."""
        def joiner(ticket):
            with weft.swarm.join(ticket, **LOCAL) as swarm:
                swarm.all_reduce(second, weight=second_weight, **options)
                return second
        return both(lambda swarm: swarm.all_reduce(first, weight=first_weight, **options), joiner)

    def test_gives_the_mean_in_place(self):
        first = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        second = numpy.full((2, 3), 10, numpy.float32)
        expected = (first.astype(float) + second) / 2
        mine, theirs = self.reduce(first, second)
        self.assertIs(mine, first)
        numpy.testing.assert_array_equal(first, expected)
        numpy.testing.assert_array_equal(second.view("u4"), first.view("u4"))

    def test_weighs_the_parts(self):
        first, second = numpy.float32([1, 2, 4]), numpy.float32([5, 6, 8])
        self.reduce(first, second, first_weight=3.0, second_weight=1.0)
        numpy.testing.assert_array_equal(first, [2, 3, 5])
        numpy.testing.assert_array_equal(second, [2, 3, 5])

    def test_a_part_without_weight_counts_nothing_even_if_it_is_no_number(self):
        first, second = numpy.float32([numpy.nan, numpy.inf]), numpy.float32([5, 6])
        self.reduce(first, second, first_weight=0.0)
        numpy.testing.assert_array_equal(first, [5, 6])

    def test_weights_are_exact_however_the_values_travel(self):
        first, second = numpy.zeros(100000, numpy.float32), numpy.ones(100000, numpy.float32)
        weights = []

        def joiner(ticket):
            with weft.swarm.join(ticket, **LOCAL) as swarm:
                swarm.all_reduce(second, weight=1001.0)
                weights.append(swarm._peer.read([second], True))

        both(lambda swarm: swarm.all_reduce(first, weight=2.5), joiner, wire="bf16")
        self.assertEqual(weights, [1003.5])  # bf16 would have made 1004 of it

    def test_refuses_a_weight_that_is_none(self):
        with weft.swarm.start(**LOCAL) as swarm:
            for weight in (-1.0, float("nan"), float("inf")):
                with self.assertRaisesRegex(weft.Error, "expected a weight of at least 0"):
                    swarm.all_reduce(numpy.ones(3, numpy.float32), weight=weight)
            swarm.all_reduce(numpy.ones(3, numpy.float32))

    def test_an_exchange_of_nothing_is_a_round_all_the_same(self):
        self.reduce([], [])

    def test_sums_lists_of_arrays_of_any_shape(self):
        first = [numpy.array(3, numpy.float32), numpy.ones((2, 0), numpy.float32),
                 numpy.ones((2, 2), numpy.float32)]
        second = [2 * values for values in first]
        self.reduce(first, [numpy.asarray(values, numpy.float32) for values in second], op="sum")
        self.assertEqual(first[0], 9)
        numpy.testing.assert_array_equal(first[2], numpy.full((2, 2), 3))

    def test_sums_that_travel_in_fewer_bits_are_equal_bits_at_both(self):
        first = numpy.random.default_rng(0).standard_normal(100000).astype(numpy.float32)
        second, exact = first[::-1].copy(), (first + first[::-1]) / 2

        def joiner(ticket):
            with weft.swarm.join(ticket, **LOCAL) as swarm:
                swarm.all_reduce(second)
                return swarm.status()["bytes_sent"]

        def founder(swarm):
            swarm.all_reduce(first)

        _, sent = both(founder, joiner, wire="int8")
        numpy.testing.assert_array_equal(first.view("u4"), second.view("u4"))
        self.assertLess(abs(first - exact).max(), 0.1)
        self.assertGreater(abs(first - exact).max(), 0)
        self.assertLess(sent, 300000, "of 400,000 bytes as they are")

    def test_takes_whatever_has_the_buffer_protocol_or_dlpack(self):
        first = array.array("f", [1, 2])
        second = DlpackOnly(numpy.float32([3, 4]))
        self.reduce(first, second)
        self.assertEqual(list(first), [2, 3])
        numpy.testing.assert_array_equal(second.values, [2, 3])

    def test_arrays_may_come_one_by_one_in_any_order(self):
        def parts(factor):
            return [numpy.full((2, 3), factor, numpy.float32), numpy.zeros(0, numpy.float32),
                    numpy.arange(40000, dtype=numpy.float32) * factor]

        def member(swarm, given, order, weight):
            self.assertTrue(swarm.open([each.size for each in given], weight=weight))
            with self.assertRaisesRegex(weft.InvalidArgumentError, "number 3"):
                swarm.contribute(3, given[0])
            with self.assertRaisesRegex(weft.InvalidArgumentError, "expected 6 elements"):
                swarm.contribute(0, given[2])
            for index in order:
                swarm.contribute(index, given[index])
                pause()
            with self.assertRaisesRegex(weft.InvalidArgumentError, "not here yet"):
                swarm.contribute(order[0], given[order[0]])
            return swarm.close_round()

        def joiner(ticket):
            with weft.swarm.join(ticket, **LOCAL) as swarm:
                return member(swarm, second, [0, 1, 2], 3.0)

        first, second = parts(1), parts(5)
        mine, theirs = both(lambda swarm: member(swarm, first, [2, 0, 1], 1.0), joiner)
        for index, (one, other) in enumerate(zip(mine, theirs)):
            self.assertIs(one, first[index])
            numpy.testing.assert_array_equal(one, parts(4)[index])
            numpy.testing.assert_array_equal(one.view("u4"), other.view("u4"))

    def test_a_round_that_lacks_an_array_does_not_end(self):
        with weft.swarm.start(**LOCAL) as swarm:
            with self.assertRaisesRegex(weft.InvalidArgumentError, "open"):
                swarm.close_round()
            for sizes in ([-1], [1 << 41], [1 << 40, 1]):
                with self.assertRaises(weft.Error):
                    swarm.open(sizes)
            self.assertTrue(swarm.open([2, 1]))
            swarm.contribute(1, numpy.ones(1, numpy.float32))
            with self.assertRaisesRegex(weft.InvalidArgumentError, "number 0 is missing"):
                swarm.close_round(timeout=0.3)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
    def test_takes_tensors_of_pytorch(self):
        import torch
        first = torch.tensor([1.0, 2.0], requires_grad=True)
        second = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
        place = first.data_ptr()
        self.reduce(first, second)
        self.assertEqual(first.tolist(), [2, 3])
        self.assertEqual(second.tolist(), [2, 3])
        self.assertEqual(first.data_ptr(), place)


class DlpackOnly:
    """An array that speaks DLPack alone."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack__(self, stream=None):
        capsule = self.values.__dlpack__()
        if self.device != (1, 0):
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = self.device[0]
        return capsule

    def __dlpack_device__(self):
        return self.device


class Refusals(unittest.TestCase):
    def setUp(self):
        self.swarm = weft.swarm.start([numpy.zeros(3, numpy.float32)], **LOCAL)
        self.addCleanup(self.swarm.leave)

    def test_what_is_no_array_of_float32_in_one_piece(self):
        read_only = numpy.zeros(3, numpy.float32)
        read_only.flags.writeable = False
        for wrong, error in [(numpy.zeros(3), TypeError), (numpy.zeros(3, numpy.int32), TypeError),
                             (None, TypeError), ([None], TypeError), ("words", TypeError),
                             (numpy.zeros(6, numpy.float32)[::2], ValueError),
                             (numpy.zeros((2, 3), numpy.float32).T, ValueError),
                             (numpy.zeros(3, ">f4"), TypeError),
                             (DlpackOnly(numpy.zeros(3)), TypeError),
                             (DlpackOnly(numpy.zeros((2, 3), numpy.float32).T), ValueError),
                             (DlpackOnly(numpy.zeros(3, numpy.float32), (2, 0)), ValueError)]:
            with self.subTest(repr(wrong)), self.assertRaises(error):
                self.swarm.all_reduce(wrong)
        with self.assertRaises(ValueError):
            self.swarm.all_reduce(read_only)
        values = numpy.float32([1, 2, 3])
        self.swarm.all_reduce(values)  # it goes on
        numpy.testing.assert_array_equal(values, [1, 2, 3])

    def test_options_and_tickets_that_are_none(self):
        with self.assertRaises(TypeError):
            weft.swarm.start(pigeons=True)
        with self.assertRaises(TypeError):
            weft.swarm.join(self.swarm.ticket, rounds=5)
        with self.assertRaises(weft.InvalidArgumentError):
            weft.swarm.start(listen="not an address")
        with self.assertRaises(weft.InvalidArgumentError):
            weft.swarm.start(wire="f7", **LOCAL)
        with self.assertRaises(ValueError):
            self.swarm.all_reduce(numpy.zeros(1, numpy.float32), op="product")
        for ticket in ("", "weft2-", self.swarm.ticket[:-3], None):
            with self.subTest(ticket), self.assertRaises(weft.InvalidArgumentError):
                weft.swarm.join(ticket, **LOCAL)

    def test_native_calls_take_none_for_nothing(self):
        from weft import _swarm
        with self.assertRaises(TypeError):
            _swarm.Peer.start(None)
        with self.assertRaises(TypeError):
            _swarm.state_hash(None, None)
        with self.assertRaises(TypeError):
            self.swarm._peer.begin(None, 1.0)
        with self.assertRaises(weft.InvalidArgumentError):
            self.swarm._peer.finish()

    def test_sequences_that_make_their_items_as_they_are_asked_for(self):
        from weft import _swarm
        rows = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        self.assertEqual(_swarm.state_hash(["a", "b"], rows),
                         _swarm.state_hash(["a", "b"], list(rows)))
        self.swarm._peer.next()
        self.swarm._peer.begin(rows, 2.0, 0)
        self.assertTrue(self.swarm._peer.round_ended(30))
        self.swarm._peer.finish()
        self.assertEqual(self.swarm._peer.read(rows, False), 2)
        self.assertEqual(rows.tolist(), [[0, 2, 4], [6, 8, 10]])

    def test_wrong_calls_in_any_order_never_end_the_process(self):
        with tempfile.NamedTemporaryFile("r") as trace:
            storm = pathlib.Path(__file__).with_name("swarm_storm.py")
            done = subprocess.run([sys.executable, storm, "5", "500", trace.name], text=True,
                                  capture_output=True, check=False, timeout=300)
            self.assertEqual(done.returncode, 0, f"{done.stderr}the last call: {trace.read()}")
        self.assertGreater(int(done.stdout.split()[0]), 100)

    def test_the_types_have_every_native_name(self):
        from weft import _swarm
        types = pathlib.Path(weft.__file__).with_name("_swarm.pyi").read_text()
        for owner in (_swarm, _swarm.Peer, _swarm.Options, _swarm.Turn):
            for name in vars(owner):
                if not name.startswith("_"):
                    self.assertRegex(types, rf"\b{name}\b")

    def test_after_it_has_left(self):
        self.swarm.leave()
        self.swarm.leave()
        for call in (lambda: self.swarm.all_reduce(numpy.zeros(3, numpy.float32)),
                     lambda: self.swarm.members, lambda: self.swarm.ticket, self.swarm.events):
            with self.assertRaisesRegex(weft.InvalidArgumentError, "has left"):
                call()

    def test_recipes_of_other_machines(self):
        good = '{"weft_swarm": 1, "group": {"rounds": 3}, "settings": {}}'
        self.assertEqual(group.parse_recipe(good), ({"rounds": 3}, {}))
        for text in ("", "[]", "null", "{", '{"weft_swarm": 2, "group": {}, "settings": {}}',
                     '{"weft_swarm": 1, "group": {"rounds": "many"}, "settings": {}}',
                     '{"weft_swarm": 1, "group": {"identity": "/x"}, "settings": {}}',
                     '{"weft_swarm": 1, "group": [], "settings": {}}', "[" * 100000):
            with self.subTest(text[:60]), self.assertRaises(weft.CorruptError):
                group.parse_recipe(text)


class Rounds(unittest.TestCase):
    def test_end_where_the_group_says(self):
        with weft.swarm.start(rounds=2, **LOCAL) as swarm:
            values = numpy.ones(2, numpy.float32)
            self.assertFalse(swarm.finished)
            swarm.all_reduce(values)
            swarm.all_reduce(values)
            self.assertTrue(swarm.finished)
            with self.assertRaises(weft.swarm.Finished):
                swarm.all_reduce(values)

    def test_a_round_that_waits_for_others_too_long_can_be_asked_for_again(self):
        with weft.swarm.start(start_members=2, **LOCAL) as swarm:
            values = numpy.float32([1])
            with self.assertRaisesRegex(weft.TimeoutError, "among 1 members"):
                swarm.all_reduce(values, timeout=0.3)
            self.assertEqual(values, [1])
            other = Thread(self.give_three, swarm.ticket)
            self.assertEqual(swarm.all_reduce(values), [2])
            self.assertEqual(other.result(), [2])

    @staticmethod
    def give_three(ticket):
        with weft.swarm.join(ticket, **LOCAL) as swarm:
            return swarm.all_reduce(numpy.float32([3]))

    def test_who_gives_up_in_a_round_is_out_and_the_other_goes_on(self):
        def joiner(ticket):
            swarm = weft.swarm.join(ticket, **LOCAL)
            swarm.all_reduce(numpy.float32([3]))
            go_on.wait(60)  # the other is alone in its round meanwhile
            with swarm:
                return swarm.all_reduce(numpy.float32([3]))

        go_on = threading.Event()
        swarm = weft.swarm.start(start_members=2, lone_survivor=True, **LOCAL)
        other = Thread(joiner, swarm.ticket)
        swarm.all_reduce(numpy.float32([1]))
        values = numpy.float32([1])
        with self.assertRaisesRegex(weft.TimeoutError, "join again"):
            swarm.all_reduce(values, timeout=0.3)
        go_on.set()
        self.assertEqual(values, [1])
        with self.assertRaisesRegex(weft.InvalidArgumentError, "has left"):
            swarm.all_reduce(values)
        self.assertEqual(other.result(), [3])

    def test_a_member_that_drifts_is_told(self):
        def member(swarm, values, spoil):
            for _ in range(20):
                gradient = numpy.ones(4, numpy.float32)
                swarm.all_reduce(gradient)
                values -= gradient
                values[1] += spoil
            return "no drift was seen"

        def joiner(ticket):
            values = numpy.zeros(4, numpy.float32)
            with weft.swarm.join(ticket, [values], **LOCAL) as swarm:
                return member(swarm, values, 1)

        own = numpy.zeros(4, numpy.float32)
        swarm = weft.swarm.start([own], start_members=2, **LOCAL)
        with swarm:
            other = Thread(joiner, swarm.ticket)
            with self.assertRaisesRegex(weft.CorruptError, "differs.*tensor '0'"):
                member(swarm, own, 0)
                other.result()

    def test_ctrl_c_is_heard_while_it_waits(self):
        with weft.swarm.start(start_members=2, **LOCAL) as swarm:
            timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                swarm.all_reduce(numpy.zeros(2, numpy.float32), timeout=30)
            timer.join()


class Newcomers(unittest.TestCase):
    def test_get_the_state_and_what_follows(self):
        def steps(swarm, values, last):
            while swarm.round < (last[0] if last else 1 << 30):
                gradient = numpy.full(3, swarm.round % 5, numpy.float32)
                swarm.all_reduce(gradient)
                values += gradient
                if not last and len(swarm.members) == 2:
                    last.append(swarm.round + 20)
                elif not last:
                    pause()
            return values

        def joiner(ticket):
            values = numpy.full(3, 77, numpy.float32)
            with weft.swarm.join(ticket, {"w": values}, **LOCAL) as swarm:
                self.assertEqual(swarm.settings, {"word": 5})
                seen.append(swarm.round)
                return steps(swarm, values, last)

        seen, last = [], []
        own = numpy.zeros(3, numpy.float32)
        with weft.swarm.start({"w": own}, settings={"word": 5}, **LOCAL) as swarm:
            steps(swarm, own, [5])
            other = Thread(joiner, swarm.ticket)
            steps(swarm, own, last)
            numpy.testing.assert_array_equal(other.result(), own)
        self.assertGreaterEqual(seen[0], 5)
        self.assertEqual(own[0], sum(number % 5 for number in range(last[0])))

    def test_know_whether_a_part_of_theirs_will_count(self):
        def joiner(ticket):
            values, computed, behind = numpy.zeros(1, numpy.float32), set(), 0
            with weft.swarm.join(ticket, [values], **LOCAL) as swarm:
                while not last or swarm.round < last[0]:
                    part = numpy.zeros(1, numpy.float32)
                    if swarm.behind:
                        behind += 1
                        part[:] = 77  # counts nothing
                    else:
                        for _ in range(10):  # the other does ten rounds meanwhile
                            pause()
                        part[:] = 3
                        computed.add(swarm.round + 1)
                    swarm.all_reduce(part)
                    values += part
            return values, computed, behind

        last, together = [], set()
        own = numpy.zeros(1, numpy.float32)
        with weft.swarm.start([own], **LOCAL) as swarm:
            other = Thread(joiner, swarm.ticket)
            while (not last or swarm.round < last[0]) and other.is_alive():
                part = numpy.ones(1, numpy.float32)
                swarm.all_reduce(part)
                own += part
                self.assertIn(part[0], (1, 2))
                if part[0] == 2:
                    together.add(swarm.round)
                    last = last or last.append(swarm.round + 5) or last
                elif not last:
                    pause()
            values, computed, _ = other.result()
        numpy.testing.assert_array_equal(values, own)
        self.assertTrue(together)
        self.assertLessEqual(together, computed)
        with weft.swarm.start([own], apply=lambda sums, weight: None, **LOCAL) as swarm:
            self.assertFalse(swarm.behind)

    def test_with_another_layout_are_refused(self):
        def joiner(ticket):
            weft.swarm.join(ticket, [numpy.zeros(4, numpy.float32)], **LOCAL)

        with weft.swarm.start([numpy.zeros(3, numpy.float32)], **LOCAL) as swarm:
            other = Thread(joiner, swarm.ticket)
            while other.is_alive():
                swarm.all_reduce(numpy.zeros(3, numpy.float32))
            with self.assertRaisesRegex(weft.InvalidArgumentError, "parameters differ"):
                other.result()

    def test_refuse_a_state_that_does_not_fit(self):
        class Liar(group.Arrays):
            def save(self):
                return {"w": numpy.zeros(4, numpy.float32)}

        def joiner(ticket):
            weft.swarm.join(ticket, {"w": numpy.zeros(3, numpy.float32)}, **LOCAL)

        with weft.swarm.start(Liar({"w": numpy.zeros(3, numpy.float32)}), **LOCAL) as swarm:
            other = Thread(joiner, swarm.ticket)
            while other.is_alive():
                swarm.all_reduce(numpy.zeros(3, numpy.float32))
            with self.assertRaisesRegex(weft.CorruptError, r"shape \(3,\) of w, got \(4,\)"):
                other.result()


if __name__ == "__main__":
    unittest.main()
