"""FedLGD: members train on synthetic samples of their own and of all, in place of their data.

usage: federated_distillation.py [--rounds 100] [--seed 1] [--domain 0] [--members 2]
       federated_distillation.py --ticket TICKET [--seed 2] [--domain 1]

A member of a swarm without a server: the first one prints a ticket, with which others join, each
with a --domain of its own; it waits until there are --members. Members distil their data once, then train on it and average their models.
In some rounds each refines its own samples, and all move the shared samples by the same arithmetic:
the state that a newcomer is given has the model and the shared samples in it.

C. Huang et al., "Federated learning on virtual heterogeneous data with local-global dataset
distillation", TMLR 2025. bench/federated_distillation.py runs four members in one process, and arms.
"""
import argparse
import copy
import math

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
    """Images [N, 1, 28, 28] in [0, 1] as other cameras would see them."""
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


def images(data, domain, train=True, count=None):
    """(x [N, 1, 28, 28] in [-1, 1], y [N]) of a domain; so many drawn ones, or all."""
    found = weft.datasets.load(data, train)
    drawn = weft.Generator().manual_seed(domain)
    rows = weft.randperm(len(found["labels"]), generator=drawn)[:count]
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


def accuracy(model, x, y):
    with weft.no_grad():
        found = weft.cat([model(part).argmax(1) for part in x.split(1000)])
    return (found == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ticket")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--domain", type=int, default=0, choices=range(4))
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--samples", type=int, default=2000)
    arguments = parser.parse_args()
    import weft.swarm
    weft.manual_seed(arguments.seed)
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
            change = [numpy.ascontiguousarray(each.numpy())
                      for each in member.train(model, shared, contrast_of(number))]
            swarm.all_reduce(change)
            combine(model, shared, [weft.from_numpy(each) for each in change], number)
            swarm.applied()
            x, y = images(arguments.data, arguments.domain, train=False, count=1000)
            print(f"round {swarm.round}: accuracy on own domain "
                  f"{100 * accuracy(model, x, y):.1f} %", flush=True)


if __name__ == "__main__":
    main()
