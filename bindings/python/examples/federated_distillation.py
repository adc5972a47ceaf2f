"""FedLGD: members train on synthetic samples of their own and of all, in place of their data.

usage: federated_distillation.py [--rounds 100] [--seed 1] [--domain 0] [--members 2]
       federated_distillation.py --ticket TICKET [--seed 2] [--domain 1]
       federated_distillation.py --results FILE [--members 4] [--domains 1] [--contrast 0.1]

A member of a swarm without a server: the first one prints a ticket, with which others join, each
with a --domain of its own; it waits until there are --members. With --results all members are in this
process, as `weft compare recipes/methods/fedlgd.toml` calls it. Members distil their data once, then train on it and average their models.
In some rounds each refines its own samples, and all move the shared samples by the same arithmetic:
the state that a newcomer is given has the model and the shared samples in it.

C. Huang et al., "Federated learning on virtual heterogeneous data with local-global dataset
distillation", TMLR 2025. bench/federated_distillation.py runs four members in one process, and arms.
"""
import argparse
import copy
import json
import math
import time

import numpy

import weft
from weft import distillation, nn
from weft.distillation import SyntheticSet

CLASSES = 10
PER_CLASS = 10
ROUND_STEPS = 20
BATCH = 32
RATE = 0.05
REFINE_EVERY = 5
REFINED_ROUNDS = 50  # no later than this


class Network(nn.Module):
    """Two convolutions and a layer; features() is what the last one reads."""

    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(2 * width * 49, CLASSES)

    def features(self, x):
        return self.body(x)

    def forward(self, x):
        return self.head(self.body(x))


def shifted(x, domain):
    """Images [N, 1, 28, 28] in [0, 1] as other cameras would see them; None: as they are."""
    if domain is None:
        return x
    if domain == 0:
        return 1 - x
    if domain == 1:
        return nn.functional.avg_pool2d(x, 5, stride=1, padding=2)
    if domain == 2:
        return 0.3 * x + 0.5
    angle = math.radians(20)
    turn = weft.tensor([[math.cos(angle), -math.sin(angle), 0.0],
                        [math.sin(angle), math.cos(angle), 0.0]]).expand(len(x), 2, 3)
    grid = nn.functional.affine_grid(turn, list(x.shape), align_corners=False)
    return nn.functional.grid_sample(x, grid, align_corners=False)


def images(data, domain, train=True, count=None, part=0):
    """(x [N, 1, 28, 28] in [-1, 1], y [N]) of a domain; so many drawn ones, or all. Parts of one
    domain have no image in common."""
    found = weft.datasets.load(data, train)
    drawn = weft.Generator().manual_seed(domain or 0)
    rows = weft.randperm(len(found["labels"]), generator=drawn)
    if count is not None:
        rows = rows[part * count:(part + 1) * count]
    x, y = found["images"][rows], found["labels"][rows]
    return 2 * shifted(x.float() / 255, domain) - 1, y


class Member:
    """One member: its synthetic samples, and the model that it trains on them."""

    def __init__(self, x, y, start_steps=200):
        self.x, self.y = x, y
        self.own = SyntheticSet(x, y, CLASSES, PER_CLASS)
        distillation.match_distribution(self.own, lambda: Network().features, x, y, start_steps)

    def refine(self, model, steps=20):
        """Its samples get the features that the model of all sees in its data."""
        distillation.match_distribution(self.own, lambda: model.features, self.x, self.y, steps)

    def train(self, model, shared, contrast):
        """Steps from `model` on its own and the shared samples; the change of each parameter."""
        local = copy.deepcopy(model)
        optimizer = weft.optim.SGD(local.parameters(), lr=RATE)
        own, labels = self.own.samples.detach(), self.own.labels
        anchors = shared.samples.detach()
        both, both_labels = weft.cat([own, anchors]), weft.cat([labels, shared.labels])
        for _ in range(ROUND_STEPS):
            rows = weft.randint(0, len(both), (BATCH,))
            loss = nn.functional.cross_entropy(local(both[rows]), both_labels[rows])
            if contrast > 0:
                rows = weft.randint(0, len(own), (BATCH,))
                loss = loss + contrast * distillation.contrastive_loss(
                    local.features(own[rows]), labels[rows], local.features(anchors),
                    shared.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [after.detach() - before.detach()
                for after, before in zip(local.parameters(), model.parameters())]


def first_shared():
    """The shared samples begin as noise, the same for all members."""
    drawn = weft.Generator().manual_seed(7)
    x = weft.randn(CLASSES * 2, 1, 28, 28, generator=drawn)
    return SyntheticSet(x, weft.arange(CLASSES).repeat_interleave(2), CLASSES, PER_CLASS, drawn)


def combine(model, shared, change, round_number, steps=30):
    """The mean change into the model; where the members refined, the shared samples are moved so that
    their gradient at the model before is like the one that the members' steps stand for. The same
    values in give the same values out, so that each member does it for itself."""
    if refines(round_number):
        wanted = [-each / (RATE * ROUND_STEPS) for each in change]
        distillation.match_gradients(shared, model, wanted, steps)
    with weft.no_grad():
        for parameter, each in zip(model.parameters(), change):
            parameter.add_(each)


def refines(round_number):
    return round_number < REFINED_ROUNDS and round_number % REFINE_EVERY == 0


def contrast_of(round_number, weight=0.1):
    """The weight of the contrastive term; what comes before a new set of shared samples has none."""
    return 0.0 if refines(round_number) else weight


def quality(model, x, y):
    """(accuracy, loss)."""
    with weft.no_grad():
        logits = weft.cat([model(part) for part in x.split(1000)])
        return ((logits.argmax(1) == y).float().mean().item(),
                nn.functional.cross_entropy(logits, y).item())


def accuracy(model, x, y):
    return quality(model, x, y)[0]


def train_together(model, members, rounds, contrast=0.1):
    """Members in one process, and the same model for all; after each round, its seconds: those of the
    slowest member and of what each does alike."""
    shared = first_shared()
    for number in range(rounds):
        seconds = [0.0] * len(members)
        for k, member in enumerate(members):
            begun = time.perf_counter()
            if refines(number):
                member.refine(model)
            seconds[k] += time.perf_counter() - begun
        changes = []
        for k, member in enumerate(members):
            begun = time.perf_counter()
            changes.append(member.train(model, shared, contrast_of(number, contrast)))
            seconds[k] += time.perf_counter() - begun
        begun = time.perf_counter()
        combine(model, shared, [sum(each) / len(members) for each in zip(*changes)], number)
        yield max(seconds) + time.perf_counter() - begun


def compared(arguments):
    """All members here, and a line of results after each round, for `weft compare`."""
    count, domains = arguments.members, [None]
    if arguments.domains > 1:
        domains = list(range(arguments.domains))
    model, members, seconds = Network(), [], 0.0
    for k in range(count):
        own = images(arguments.data, domains[k % len(domains)], True, arguments.samples,
                     k // len(domains))
        if len(own[1]) < arguments.samples:
            raise SystemExit(f"--samples: {count} members with {arguments.samples} each are more than "
                             f"{arguments.data} has; take fewer")
        begun = time.perf_counter()
        members.append(Member(*own))
        seconds = max(seconds, time.perf_counter() - begun)
    tests = [images(arguments.data, domain, train=False) for domain in domains]
    sent = samples = 0
    for number, took in enumerate(
            train_together(model, members, arguments.rounds, arguments.contrast)):
        seconds += took
        # The mean of the changes, by a ring: every member sends it nearly twice. The shared samples
        # are moved by each member for itself.
        sent += 2 * (count - 1) * 4 * sum(each.numel() for each in model.parameters())
        # Those of local steps, which take as many again for the contrastive term.
        batches = 2 if contrast_of(number, arguments.contrast) > 0 else 1
        samples += count * ROUND_STEPS * BATCH * batches
        found = [quality(model, x, y) for x, y in tests]
        accuracies, losses = ([each[i] for each in found] for i in range(2))
        line = {"round": number + 1, "step": (number + 1) * ROUND_STEPS, "seconds": seconds,
                "bytes_sent": sent, "samples": samples, "accuracy": sum(accuracies) / len(found),
                "loss": sum(losses) / len(found)}
        with open(arguments.results, "a", encoding="utf-8") as file:
            file.write(json.dumps({name: value if math.isfinite(value) else None
                                   for name, value in line.items()}) + "\n")


def in_a_swarm(arguments):
    import weft.swarm
    model, shared = Network(), first_shared()
    member = Member(*images(arguments.data, arguments.domain, count=arguments.samples))
    state = [each.detach().numpy() for each in (*model.parameters(), shared.samples)]
    swarm = weft.swarm.join(arguments.ticket, state) if arguments.ticket else \
        weft.swarm.start(state, rounds=arguments.rounds, start_members=arguments.members)
    print(swarm.ticket, flush=True)
    with swarm:
        while not swarm.finished:
            if refines(swarm.round):
                member.refine(model)
            number = swarm.round
            weight = contrast_of(number, arguments.contrast)
            change = [numpy.ascontiguousarray(each.numpy())
                      for each in member.train(model, shared, weight)]
            swarm.all_reduce(change)
            combine(model, shared, [weft.from_numpy(each) for each in change], number)
            swarm.applied()
            x, y = images(arguments.data, arguments.domain, train=False, count=1000)
            print(f"round {swarm.round}: accuracy on own domain "
                  f"{100 * accuracy(model, x, y):.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ticket")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--domain", type=int, default=0, choices=range(4))
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--contrast", type=float, default=0.1)
    parser.add_argument("--results", help="all members in this process; measurements go there")
    parser.add_argument("--domains", type=int, default=1, choices=range(1, 5))
    arguments = parser.parse_args()
    weft.manual_seed(arguments.seed)
    (compared if arguments.results else in_a_swarm)(arguments)


if __name__ == "__main__":
    main()
