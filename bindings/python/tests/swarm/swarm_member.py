"""A process of test_swarm_processes.py: one member that says, a JSON line a round, what it holds.

usage: swarm_member.py KIND INDEX ROUNDS [--ticket TICKET] [--stop-at ROUND]
  KIND     numpy: member INDEX gives INDEX + 1 everywhere; torch: a network with batch norm and Adam
  --stop-at  after that round it does nothing more and waits for its end
"""
import argparse
import json
import sys

import numpy

import weft.swarm

PEER = {"listen": "127.0.0.1:0", "timeout": 120}
GROUP = {"start_members": 3, "suspicion_timeout": 2}


def say(**values):
    print(json.dumps(values), flush=True)


def stop_if_asked(arguments, swarm):
    if arguments.stop_at == swarm.round:
        sys.stdin.read()


def numpy_member(arguments):
    values = numpy.zeros(1000, numpy.float32)
    swarm = (weft.swarm.join(arguments.ticket, [values], **PEER) if arguments.ticket else
             weft.swarm.start([values], rounds=arguments.rounds, **GROUP, **PEER))
    say(ticket=swarm.ticket, id=swarm.id)
    while not swarm.finished:
        gradient = numpy.full(1000, arguments.index + 1, numpy.float32)
        swarm.all_reduce(gradient)
        values -= gradient / 2
        say(round=swarm.round, hash=swarm.state_hash(), members=len(swarm.members),
            value=float(values[-1]))
        stop_if_asked(arguments, swarm)
    swarm.leave()


def torch_member(arguments):
    import torch
    torch.manual_seed(arguments.index)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
                                torch.nn.Flatten(), torch.nn.Linear(4 * 36, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    options = {} if arguments.ticket else {"rounds": arguments.rounds, **GROUP}
    optimizer = weft.swarm.SwarmOptimizer(optimizer, arguments.ticket, model=model, **options,
                                          **PEER)
    say(ticket=optimizer.ticket, id=optimizer.swarm.id)
    while not optimizer.finished:
        images, labels = torch.randn(8, 1, 8, 8), torch.randint(10, (8,))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        held = model.state_dict()
        say(round=optimizer.round, members=len(optimizer.members),
            hash=optimizer.swarm.state_hash(held), value=float(held["0.weight"].flatten()[0]))
        stop_if_asked(arguments, optimizer.swarm)
    optimizer.leave()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("numpy", "torch"))
    parser.add_argument("index", type=int)
    parser.add_argument("rounds", type=int)
    parser.add_argument("--ticket")
    parser.add_argument("--stop-at", type=int)
    arguments = parser.parse_args()
    (numpy_member if arguments.kind == "numpy" else torch_member)(arguments)


if __name__ == "__main__":
    main()
