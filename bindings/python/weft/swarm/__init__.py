"""weft.swarm: training loops of any framework as members of a swarm.

    swarm = weft.swarm.start([parameters])      # print(swarm.ticket) and give the line to others
    swarm = weft.swarm.join(ticket, [parameters])
    swarm.all_reduce(gradient)                  # NumPy or PyTorch, in place, the mean over members

SwarmOptimizer does this for a PyTorch optimizer. docs/torch_swarm.md has the whole of it.
"""
from .group import Finished, Swarm, join, start
from .optimizer import SwarmOptimizer

__all__ = ["Finished", "Swarm", "SwarmOptimizer", "join", "start"]
