"""What weft.demo() shows: a network learns, in a few seconds, which of two spirals a point is of."""
import math
import time

import weft
from weft import nn, optim

POINTS, TURNS, NOISE = 400, 1.5, 0.03  # of each spiral
WIDTH, HEIGHT = 48, 20  # of the picture, in characters
LINES = 6  # so many lines speak of the training


def _spirals(count):
    """(points [2 count, 2] in about [-1, 1], spirals [2 count] as 0 or 1)."""
    along = weft.rand(count).sqrt()
    angle = along * (2 * math.pi * TURNS)
    arm = weft.stack([along * angle.cos(), along * angle.sin()], 1)
    points = weft.cat([arm, -arm])
    return points + weft.randn(2 * count, 2) * NOISE, weft.arange(2 * count) // count


def _accuracy(model, points, spirals):
    with weft.no_grad():
        return (model(points).argmax(1) == spirals).float().mean().item()


def _picture(model):
    """The spiral that the model gives each place of the square."""
    rows = weft.linspace(1.1, -1.1, HEIGHT).reshape(HEIGHT, 1).expand(HEIGHT, WIDTH)
    columns = weft.linspace(-1.1, 1.1, WIDTH).expand(HEIGHT, WIDTH)
    with weft.no_grad():
        found = model(weft.stack([columns, rows], 2).reshape(-1, 2)).argmax(1)
    return ["".join(".#"[each] for each in row) for row in found.reshape(HEIGHT, WIDTH).tolist()]


def _train(steps):
    points, spirals = _spirals(POINTS)
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                          nn.Linear(64, 2))
    optimizer = optim.AdamW(model.parameters(), lr=0.02)
    start = time.perf_counter()
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points), spirals)
        loss.backward()
        optimizer.step()
        if step * LINES // steps != (step - 1) * LINES // steps:
            print(f"step {step:4d}  loss {loss.item():.4f}  right "
                  f"{_accuracy(model, points, spirals):6.1%}")
    print(f"{steps} steps in {time.perf_counter() - start:.1f} s")
    return model


def run(steps, seed):
    """See weft.demo()."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise weft.InvalidArgumentError(f"[demo] expected a number of steps >= 1, got {steps!r}")
    state = weft.get_rng_state()
    try:
        weft.manual_seed(seed)
        model = _train(steps)
        right = _accuracy(model, *_spirals(POINTS))
    finally:
        weft.set_rng_state(state)
    print(*_picture(model), sep="\n")
    print(f"of points that it has not seen, {right:.1%} are given the right spiral")
    return right
