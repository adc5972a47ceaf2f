"""A decentralised diffusion model of small pictures: experts on islands that exchange nothing.

usage: diffusion_experts.py split  --out FOLDER [--experts 4]     the clusters, first and once
       diffusion_experts.py expert --out FOLDER --cluster K       on each island, in any order
       diffusion_experts.py router --out FOLDER                   anywhere
       diffusion_experts.py sample --out FOLDER [--top-k 2]       with all files in FOLDER: a picture
       diffusion_experts.py compare --out FOLDER --results FILE   all in this process, and the test
           loss after each of --rounds stretches of --steps, for `weft compare`
Other options: --data NAME (of weft.datasets; fashion-mnist), --steps N, --batch N, --seed N.

An island may be a swarm: with --swarm new its first member prints a ticket, with --swarm TICKET
others join it. Islands need the clusters' file only, and give back one file each.
"""
import argparse
import json
import math
import pathlib
import time

import weft
from weft import diffusion, nn

SIDE = 14
PIXELS = SIDE * SIDE


class Network(nn.Module):
    """196 pixels and the time to 196 velocities, or to the logits of a router."""

    def __init__(self, outputs=PIXELS, width=256):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(PIXELS + 16, width), nn.SiLU(),
                                    nn.Linear(width, width), nn.SiLU(), nn.Linear(width, outputs))
        self.register_buffer("frequencies", 2.0 ** weft.arange(8).float())

    def forward(self, x, t):
        angles = t.reshape(-1, 1) * self.frequencies
        return self.layers(weft.cat([x, angles.sin(), angles.cos()], 1))


def pictures(data, train=True):
    """[N, 196] in [-1, 1]: the images, averaged over 2x2 pixels."""
    images = weft.datasets.load(data, train)["images"][:, :1].float()
    small = nn.functional.adaptive_avg_pool2d(images, SIDE)
    return small.reshape(len(small), PIXELS) / 127.5 - 1


def train(model, loss, batch, steps, wrap=lambda optimizer: optimizer):
    """Adam with a rate that falls to 0; loss(rows of a batch)."""
    optimizer = weft.optim.Adam(model.parameters(), lr=1e-3)
    schedule = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    stepping = wrap(optimizer)
    for step in range(steps):
        value = loss(batch())
        stepping.zero_grad()
        value.backward()
        stepping.step()
        schedule.step()
        if (step + 1) % max(1, steps // 10) == 0:
            print(f"step {step + 1} of {steps}: loss {value.item():.4f}", flush=True)
    return model


def train_expert(x, steps, batch, wrap=lambda optimizer: optimizer):
    model = Network()
    return train(model, lambda rows: diffusion.flow_matching_loss(model, x[rows]),
                 lambda: weft.randint(0, len(x), (batch,)), steps, wrap)


def train_router(x, clusters, experts, steps, batch):
    model = Network(experts)
    return train(model, lambda rows: diffusion.router_loss(model, x[rows], clusters[rows]),
                 lambda: weft.randint(0, len(x), (batch,)), steps)


def island(arguments):
    """What makes an optimizer a member's of the island's swarm."""
    if arguments.swarm is None:
        return lambda optimizer: optimizer

    def join(optimizer):
        from weft.swarm import SwarmOptimizer
        ticket = None if arguments.swarm == "new" else arguments.swarm
        member = SwarmOptimizer(optimizer, ticket)
        print(member.ticket, flush=True)
        return member

    return join


def load_all(folder, top_k):
    count = len(weft.load(folder / "clusters.pt"))
    experts = [Network() for _ in range(count)]
    for k, expert in enumerate(experts):
        expert.load_state_dict(weft.load(folder / f"expert{k}.pt"))
    router = Network(count)
    router.load_state_dict(weft.load(folder / "router.pt"))
    return diffusion.Experts(experts, router, top_k).eval()


def show(model, path):
    """64 samples in a grid of 8x8, as a PNG."""
    from weft.vision.utils import save_image
    found = diffusion.sample(model, (64, PIXELS), steps=50)
    save_image((found.reshape(64, 1, SIDE, SIDE) + 1) / 2, path)
    print(f"wrote {path}")


def test_loss(model, x, noises=4):
    """The mean flow-matching loss, with noise and times that depend on nothing but the data."""
    drawn = weft.Generator().manual_seed(12345)
    with weft.no_grad():
        losses = [diffusion.flow_matching_loss(model, part, drawn).item() * len(part)
                  for _ in range(noises) for part in x.split(2500)]
    return sum(losses) / (noises * len(x))


class Learner:
    """A network that learns in stretches, by Adam at one rate, since it is measured on the way;
    loss(model, rows of a batch)."""

    def __init__(self, model, count, batch, loss):
        self.model, self.count, self.batch, self.loss = model, count, batch, loss
        self.optimizer = weft.optim.Adam(model.parameters(), lr=1e-3)

    def learn(self, steps):
        """The seconds that it takes."""
        begun = time.perf_counter()
        for _ in range(steps):
            self.optimizer.zero_grad()
            self.loss(self.model, weft.randint(0, self.count, (self.batch,))).backward()
            self.optimizer.step()
        return time.perf_counter() - begun


def learners_of(x, clusters, experts, batch):
    """The experts, each on its cluster, and then the router, on all data."""
    found = []
    for k in range(experts):
        own = x[(clusters == k).nonzero().reshape(-1)]
        found.append(Learner(Network(), len(own), batch, lambda model, rows, own=own:
                             diffusion.flow_matching_loss(model, own[rows])))
    found.append(Learner(Network(experts), len(x), batch, lambda model, rows:
                         diffusion.router_loss(model, x[rows], clusters[rows])))
    return found


def compared(arguments):
    """A line of results after each stretch. All learn at the same time, each on a machine of its own,
    and exchange nothing: their seconds are those of the slowest."""
    experts, top_k = arguments.experts, min(arguments.top_k, arguments.experts)
    x, test = pictures(arguments.data), pictures(arguments.data, train=False)
    found = diffusion.kmeans(x, experts)
    learners = learners_of(x, found.assign(x), experts, arguments.batch)
    model = diffusion.Experts([each.model for each in learners[:-1]], learners[-1].model, top_k)
    # The centres to each machine, and the parameters of each back, once.
    sent = 4 * ((experts + 1) * found.centres.numel()
                + sum(each.numel() for each in model.parameters()))
    seconds = 0.0
    for number in range(arguments.rounds):
        seconds += max(each.learn(arguments.steps) for each in learners)
        steps = (number + 1) * arguments.steps
        loss = test_loss(model, test)
        line = {"round": number + 1, "step": steps, "seconds": seconds, "bytes_sent": sent,
                "samples": steps * arguments.batch * len(learners),
                "loss": loss if math.isfinite(loss) else None}
        with open(arguments.results, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["split", "expert", "router", "sample", "compare"])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--experts", type=int, default=4)
    parser.add_argument("--cluster", type=int, default=0)
    parser.add_argument("--top-k", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--swarm")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    weft.manual_seed(arguments.seed)
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.part == "sample":
        show(load_all(arguments.out, arguments.top_k), arguments.out / "samples.png")
        return
    if arguments.part == "compare":
        if arguments.results is None:
            parser.error("compare: expected --results FILE, where the test losses go")
        compared(arguments)
        return
    x = pictures(arguments.data)
    if arguments.part == "split":
        clusters = diffusion.kmeans(x, arguments.experts)
        weft.save(clusters.centres, arguments.out / "clusters.pt")
        sizes = weft.bincount(clusters.assign(x), minlength=arguments.experts)
        print(f"clusters of {', '.join(map(str, sizes.tolist()))} pictures")
        return
    centres = weft.load(arguments.out / "clusters.pt")
    found = diffusion.Clusters(centres).assign(x)
    if arguments.part == "router":
        model = train_router(x, found, len(centres), arguments.steps, arguments.batch)
        weft.save(model.state_dict(), arguments.out / "router.pt")
        return
    if not 0 <= arguments.cluster < len(centres):
        parser.error(f"--cluster: expected 0 to {len(centres) - 1}, got {arguments.cluster}")
    own = x[(found == arguments.cluster).nonzero().reshape(-1)]
    model = train_expert(own, arguments.steps, arguments.batch, island(arguments))
    weft.save(model.state_dict(), arguments.out / f"expert{arguments.cluster}.pt")


if __name__ == "__main__":
    main()
