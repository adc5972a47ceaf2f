"""What a worker of a DataLoader knows of itself; apart from worker.py, which reads modules of
processes that few programs need."""
import collections

WorkerInfo = collections.namedtuple("WorkerInfo", ("id", "num_workers", "seed", "dataset"))
_info = None


def get_worker_info():
    """In a worker its id, num_workers, seed and dataset; None in the program's own process."""
    return _info


def set_worker_info(info):
    """A worker says so of itself."""
    global _info
    _info = info
