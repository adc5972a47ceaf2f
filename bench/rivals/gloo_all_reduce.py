"""One rank of all-reduces of float32 vectors with torch.distributed's Gloo backend, over plain TCP.

usage: gloo_all_reduce.py RANK RANKS ADDRESS PORT INTERFACE BYTES REPETITIONS [BYTES REPETITIONS]...

Rank 0 prints one JSON object for each size: bytes, median_seconds, min_seconds. A repetition lasts
from a barrier until the slowest rank is done, as in `weft bench allreduce`.
"""

import json
import os
import sys
import time

rank, ranks, address, port, interface, *runs = sys.argv[1:]
os.environ.update(MASTER_ADDR=address, MASTER_PORT=port, GLOO_SOCKET_IFNAME=interface)

import torch  # noqa: E402  (the environment comes first)
import torch.distributed as dist  # noqa: E402

WARM_UPS = 2


def measure(size, repetitions):
    vector = torch.full((size // 4,), float(rank) + 1)
    seconds = []
    for repetition in range(repetitions + WARM_UPS):
        vector.fill_(float(rank) + 1)
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(vector)
        longest = torch.tensor([time.perf_counter() - start])
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        if repetition == 0:
            assert vector[-1].item() == int(ranks) * (int(ranks) + 1) / 2
        if repetition >= WARM_UPS:
            seconds.append(longest.item())
    return sorted(seconds)


torch.set_num_threads(1)
dist.init_process_group("gloo", rank=int(rank), world_size=int(ranks))
for size, repetitions in zip(map(int, runs[::2]), map(int, runs[1::2])):
    times = measure(size, repetitions)
    if rank == "0":
        print(json.dumps({"bytes": size, "median_seconds": times[len(times) // 2],
                          "min_seconds": times[0]}), flush=True)
dist.destroy_process_group()
