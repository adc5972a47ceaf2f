"""DataLoader with and without worker processes, samplers, datasets of datasets, collating."""
import collections
import os
import random
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import numpy as np

import weft
from oracle import assert_equal
from weft.utils import data
from weft.utils.data import DataLoader

PATIENCE_S = 50.0  # for processes to end, on a busy machine


class Squares(data.Dataset):
    """(i, i squared) and, for `draw`, random numbers of all three libraries."""

    def __init__(self, count, draw=False, fail_at=None, die_at=None):
        self.count, self.draw, self.fail_at, self.die_at = count, draw, fail_at, die_at

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == self.fail_at:
            raise KeyError(f"sample {index} is missing")
        if index == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.draw:
            return index, weft.rand(1).item(), random.random(), np.random.rand()
        return index, weft.tensor([float(index) ** 2, 1.0])


class Large(data.Dataset):
    """Tensors and an array that are sent as memory; each sample is written over the one before."""

    def __init__(self):
        self.kept = weft.zeros(3, 200, 100)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        self.kept.fill_(float(index))
        columns = (self.kept + weft.arange(100)).movedim(2, 0)  # not row by row
        return {"kept": self.kept, "columns": columns, "half": self.kept.bfloat16(),
                "array": np.full((90, 90), index), "small": weft.tensor([index])}


class Counting(data.IterableDataset):
    """0, 1, ..., each worker its share."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.count, step))


def rows(loader):
    return [[part.tolist() for part in batch] for batch in loader]


class Workers(unittest.TestCase):
    def test_batches_are_those_without_workers(self):
        for settings in ({}, {"shuffle": True}, {"batch_size": 3, "drop_last": True},
                         {"sampler": data.SubsetRandomSampler([3, 1, 4, 8])},
                         {"batch_sampler": [[1, 2], [7], [0, 0, 5]]}):
            with self.subTest(settings):
                weft.manual_seed(3)
                want = rows(DataLoader(Squares(10), **settings))
                for workers in (1, 3):
                    weft.manual_seed(3)
                    loader = DataLoader(Squares(10), num_workers=workers, **settings)
                    self.assertEqual(rows(loader), want)
                    self.assertEqual(len(loader), len(want))

    def test_large_tensors_arrive_as_they_were(self):
        for size in (None, 2):
            collate = (lambda sample: sample) if size is None else None
            here, there = (list(DataLoader(Large(), batch_size=size, num_workers=workers,
                                           collate_fn=collate)) for workers in (0, 2))
            if size is None:  # without workers all samples show the last values
                here = [Large()[i] for i in range(6)]
            for got, wanted in zip(there, here):
                self.assertEqual(list(got), list(wanted))
                for name in got:
                    self.assertEqual(str(got[name].dtype), str(wanted[name].dtype))
                    self.assertTrue(np.array_equal(weft.asarray(got[name]).float().numpy(),
                                                   weft.asarray(wanted[name]).float().numpy()), name)
                got["kept"].add_(1)  # it can be written
            self.assertEqual(len(there), len(here))

    def test_a_seed_repeats_what_workers_draw_and_passes_differ(self):
        passes = []
        for _ in range(2):
            weft.manual_seed(5)
            loader = DataLoader(Squares(6, draw=True), batch_size=2, num_workers=2)
            passes.append([rows(loader), rows(loader)])
        self.assertEqual(passes[0], passes[1])
        self.assertNotEqual(passes[0][0], passes[0][1])
        for column in range(1, 4):
            drawn = [value for batch in passes[0][0] for value in batch[column]]
            self.assertEqual(len(set(drawn)), 6)

    def test_samples_one_after_another(self):
        self.assertEqual(sorted(value for batch in DataLoader(Counting(11), batch_size=3,
                                                              num_workers=2)
                                for value in batch.tolist()), list(range(11)))
        self.assertEqual([batch.tolist() for batch in DataLoader(Counting(5), batch_size=2,
                                                                 drop_last=True)],
                         [[0, 1], [2, 3]])
        self.assertEqual(list(DataLoader(Counting(3), batch_size=None)), [0, 1, 2])

    def test_persistent_workers_and_passes_left_early(self):
        pids = []

        def note(batch):
            return os.getpid(), [index for index, _ in batch]

        loader = DataLoader(Squares(12), batch_size=2, num_workers=2, collate_fn=note,
                            persistent_workers=True)
        for _ in range(3):
            batches = []
            for pid, indexes in loader:
                pids.append(pid)
                batches.append(indexes)
                if len(batches) == 3:
                    break
            self.assertEqual(batches, [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(len(set(pids)), 2)
        self.assertEqual([indexes for _, indexes in loader],
                         [[i, i + 1] for i in range(0, 12, 2)])

    def test_what_each_worker_runs_first(self):
        def init(worker):
            random.seed(worker)

        loader = DataLoader(Squares(4, draw=True), num_workers=2, worker_init_fn=init)
        drawn = [batch[2].item() for batch in loader]
        self.assertEqual(drawn[:2], [random.Random(0).random(), random.Random(1).random()])

    def test_errors_of_workers_keep_their_class_and_say_where(self):
        loader = DataLoader(Squares(8, fail_at=5), num_workers=2)
        with self.assertRaisesRegex(KeyError, "worker 1.*sample 5 is missing"):
            rows(loader)
        with self.assertRaisesRegex(ZeroDivisionError, "worker 0"):
            rows(DataLoader(Squares(3), num_workers=1, worker_init_fn=lambda worker: 1 // worker))

    def test_a_killed_worker_is_named_at_once(self):
        with self.assertRaisesRegex(RuntimeError, r"worker 0 \(pid \d+\) has ended by signal 9"):
            rows(DataLoader(Squares(40, die_at=20), num_workers=2))

    def test_a_worker_that_is_killed_while_it_works_is_named_within_a_deadline(self):
        """By a signal from outside, while the loader waits for it."""
        class Stuck(Squares):
            def __getitem__(self, index):
                if index >= 2:
                    threading.Event().wait(2 * PATIENCE_S)
                return super().__getitem__(index)

        import multiprocessing

        iterator = iter(DataLoader(Stuck(8), num_workers=2))
        next(iterator)
        next(iterator)
        victim = next(child for child in multiprocessing.active_children()
                      if child.name == "weft DataLoader worker 0")
        timer = threading.Timer(0.2, os.kill, (victim.pid, signal.SIGKILL))
        timer.start()
        begun = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, rf"worker 0 \(pid {victim.pid}\) .* signal 9"):
            next(iterator)
        self.assertLess(time.monotonic() - begun, PATIENCE_S)
        timer.join()

    def test_a_timeout_is_named(self):
        class Slow(Squares):
            def __getitem__(self, index):
                threading.Event().wait(PATIENCE_S)

        with self.assertRaisesRegex(RuntimeError, "timeout"):
            rows(DataLoader(Slow(4), num_workers=1, timeout=0.5))

    def test_no_process_is_left(self):
        import multiprocessing

        before = set(multiprocessing.active_children())
        iterator = iter(DataLoader(Squares(50), num_workers=3))
        next(iterator)
        self.assertEqual(len(set(multiprocessing.active_children()) - before), 3)
        del iterator
        self.assertEqual(set(multiprocessing.active_children()) - before, set())


class Growth(unittest.TestCase):
    """Many passes leave nothing behind; bench/loader.py runs a thousand of each kind."""

    EPOCHS = 60
    GROWTH_BYTES_MAX = 2 << 20

    @staticmethod
    def facts():
        import multiprocessing

        with open("/proc/self/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return resident, {"descriptors": len(os.listdir("/proc/self/fd")),
                          "threads": len(os.listdir("/proc/self/task")),
                          "children": len(multiprocessing.active_children())}

    def test_epochs_leave_no_memory_descriptors_or_processes(self):
        for persistent in (False, True):
            with self.subTest(persistent=persistent):
                loader = DataLoader(Squares(8), batch_size=2, num_workers=2, shuffle=True,
                                    persistent_workers=persistent)
                for epoch in range(self.EPOCHS):
                    self.assertEqual(sum(len(indexes) for indexes, _ in loader), 8)
                    if epoch == self.EPOCHS // 3:
                        early, counts = self.facts()
                late, counts_late = self.facts()
                self.assertEqual(counts_late, counts)
                self.assertLess(late - early, self.GROWTH_BYTES_MAX)

    def test_a_pass_left_early_leaves_nothing(self):
        loader = DataLoader(Squares(40), batch_size=2, num_workers=2)
        for epoch in range(self.EPOCHS // 3):
            for _ in loader:
                break
            if epoch == 2:
                _, counts = self.facts()
        self.assertEqual(self.facts()[1], counts)


class Interrupts(unittest.TestCase):
    PROGRAM = textwrap.dedent("""
        import os, weft
        from weft.utils.data import DataLoader, Dataset

        class Endless(Dataset):
            def __len__(self):
                return 10 ** 9
            def __getitem__(self, index):
                return index, os.getpid()

        for _, pids in DataLoader(Endless(), batch_size=2, num_workers=2):
            print(pids[0].item(), flush=True)
    """)

    def test_ctrl_c_and_death_of_the_parent_end_all(self):
        for number in (signal.SIGINT, signal.SIGKILL):
            child = subprocess.Popen([sys.executable, "-c", self.PROGRAM], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            workers = {int(child.stdout.readline()) for _ in range(4)}
            self.assertEqual(len(workers), 2)
            ends = [os.pidfd_open(pid) for pid in workers]
            child.send_signal(number)
            child.wait(timeout=PATIENCE_S)
            child.stdout.close()
            for end in ends:
                ended, _, _ = select.select([end], [], [], PATIENCE_S)
                os.close(end)
                self.assertTrue(ended, f"a worker runs after signal {number}")


class Samplers(unittest.TestCase):
    def test_orders(self):
        source = range(10)
        self.assertEqual(list(data.SequentialSampler(source)), list(source))
        self.assertEqual(sorted(data.RandomSampler(source)), list(source))
        self.assertEqual(len(list(data.RandomSampler(source, num_samples=25))), 25)
        drawn = list(data.RandomSampler(source, replacement=True, num_samples=200))
        self.assertEqual((len(drawn), set(drawn)), (200, set(source)))
        self.assertEqual(list(data.BatchSampler(range(7), 3, True)), [[0, 1, 2], [3, 4, 5]])

    def test_weights(self):
        weft.manual_seed(0)
        drawn = list(data.WeightedRandomSampler([1.0, 0.0, 3.0], 4000))
        self.assertAlmostEqual(drawn.count(2) / 4000, 0.75, delta=0.03)
        self.assertEqual(drawn.count(1), 0)
        # Without replacement the first draw is by the weights, too; the closed form of the second.
        pairs = [tuple(data.WeightedRandomSampler([1.0, 2.0, 1.0], 2, replacement=False))
                 for _ in range(3000)]
        self.assertTrue(all(a != b for a, b in pairs))
        self.assertAlmostEqual(sum(a == 1 for a, _ in pairs) / 3000, 0.5, delta=0.04)
        self.assertAlmostEqual(sum(1 in pair for pair in pairs) / 3000, 5 / 6, delta=0.04)

    def test_shares_of_processes(self):
        shares = [list(data.DistributedSampler(range(10), 3, rank, shuffle=True, seed=1))
                  for rank in range(3)]
        self.assertEqual([len(share) for share in shares], [4, 4, 4])
        self.assertEqual(set(sum(shares, [])), set(range(10)))
        sampler = data.DistributedSampler(range(10), 3, 0)
        first = list(sampler)
        sampler.set_epoch(1)
        self.assertNotEqual(list(sampler), first)


class Datasets(unittest.TestCase):
    def test_datasets_of_datasets(self):
        joined = Squares(3) + Squares(4)
        self.assertEqual([joined[i][0] for i in range(-7, 7)], [0, 1, 2, 0, 1, 2, 3] * 2)
        with self.assertRaises(IndexError):
            joined[7]
        self.assertEqual(list(data.ChainDataset([Counting(2), Counting(3)])), [0, 1, 0, 1, 2])
        stacked = data.StackDataset(x=range(3), y="abc")
        self.assertEqual(stacked[1], {"x": 1, "y": "b"})
        parts = data.random_split(Squares(10), [0.55, 0.45])
        self.assertEqual([len(part) for part in parts], [6, 4])

    def test_batches_of_anything(self):
        Point = collections.namedtuple("Point", "x y")
        batch = data.default_collate([Point(np.float32(1), {"a": 2.0}), Point(np.float32(3),
                                                                             {"a": 4.0})])
        assert_equal(batch.x, np.array([1, 3], np.float32))
        assert_equal(batch.y["a"], np.array([2.0, 4.0]))
        self.assertEqual(data.default_collate([("a", b"b"), ("c", b"d")]),
                         [["a", "c"], [b"b", b"d"]])
        with self.assertRaisesRegex(ValueError, "collate_fn"):
            data.default_collate([weft.ones(2), weft.ones(3)])

    def test_refusals(self):
        for settings, text in (
                ({"prefetch_factor": 2}, "num_workers > 0"), ({"timeout": -1}, "timeout"),
                ({"shuffle": True, "sampler": [0]}, "sampler without shuffle"),
                ({"batch_sampler": [[0]], "drop_last": True}, "batch_sampler without"),
                ({"multiprocessing_context": "spawn"}, "fork")):
            with self.assertRaisesRegex(ValueError, text):
                DataLoader(Squares(3), **settings)
        with self.assertRaisesRegex(ValueError, "no numbers"):
            DataLoader(Counting(3), shuffle=True)
