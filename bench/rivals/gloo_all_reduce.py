"""One rank of an all-reduce of float32 vectors with torch.distributed's Gloo backend: a ring over
plain TCP.

usage: gloo_all_reduce.py RANK RANKS ADDRESS PORT INTERFACE BYTES REPETITIONS

Rank 0 prints one JSON object: bytes, median_seconds, min_seconds. A repetition lasts from a barrier
until the slowest rank is done, as in `weft bench allreduce`.
"""

import json
import os
import sys
import time

rank, ranks, address, port, interface, size, repetitions = sys.argv[1:]
os.environ.update(MASTER_ADDR=address, MASTER_PORT=port, GLOO_SOCKET_IFNAME=interface)

import torch  # noqa: E402  (the environment comes first)
import torch.distributed as dist  # noqa: E402

torch.set_num_threads(1)
dist.init_process_group("gloo", rank=int(rank), world_size=int(ranks))
vector = torch.full((int(size) // 4,), float(rank) + 1)
seconds = []
for repetition in range(int(repetitions) + 2):
    vector.fill_(float(rank) + 1)
    dist.barrier()
    start = time.perf_counter()
    dist.all_reduce(vector)
    longest = torch.tensor([time.perf_counter() - start])
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    if repetition == 0:
        assert vector[-1].item() == int(ranks) * (int(ranks) + 1) / 2
    if repetition >= 2:
        seconds.append(longest.item())
seconds.sort()
if rank == "0":
    print(json.dumps({
        "bytes": int(size),
        "median_seconds": seconds[len(seconds) // 2],
        "min_seconds": seconds[0],
    }))
dist.destroy_process_group()
