"""Trainings whose loop is special: MAML learns through its own steps; two schedules multiply."""
import numpy as np

from trainings import STEPS, floats, give_weights, gradients

SHAPES = {"w1": (12, 1), "b1": (12,), "w2": (12, 12), "b2": (12,), "w3": (1, 12), "b3": (1,)}


def maml(T):
    """Two steps of an inner loop on each of three sines, and the gradient of what they lead to,
    with the second derivatives."""
    F, draws = T.nn.functional, np.random.RandomState(6)
    weights = [floats(T, draws.standard_normal(shape) / np.sqrt(shape[-1])).requires_grad_(True)
               for shape in SHAPES.values()]
    optimizer = T.optim.Adam(weights, lr=5e-3, eps=1e-5)

    def loss_of(w, x, y):
        hidden = T.tanh(F.linear(T.tanh(F.linear(x, w[0], w[1])), w[2], w[3]))
        return F.mse_loss(F.linear(hidden, w[4], w[5]), y)

    def sine():
        height, phase = draws.uniform(0.5, 2), draws.uniform(0, 3)
        x = draws.uniform(-3, 3, (2, 8, 1))
        y = height * np.sin(x + phase)
        return [floats(T, part) for part in (*x, *y)]

    for _ in range(STEPS):
        total = 0.0
        for _ in range(3):
            x, later_x, y, later_y = sine()
            fast = weights
            for _ in range(2):
                slopes = T.autograd.grad(loss_of(fast, x, y), fast, create_graph=True)
                fast = [w - 0.05 * slope for w, slope in zip(fast, slopes)]
            total = total + loss_of(fast, later_x, later_y)
        optimizer.zero_grad()
        total.backward()
        found = {name: w.grad.detach().numpy().copy() for name, w in zip(SHAPES, weights)}
        optimizer.step()
        yield [total.item()], found


def two_schedules(T):
    """A warm-up and a cosine on one optimizer with two groups: their factors multiply. A third
    schedule drops the rate twice."""
    nn, F, draws = T.nn, T.nn.functional, np.random.RandomState(7)
    model = give_weights(T, nn.Sequential(
        nn.Linear(6, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 16), nn.Softplus(),
        nn.Linear(16, 2)), draws)
    optimizer = T.optim.SGD([
        {"params": list(model[:3].parameters())},
        {"params": list(model[3:].parameters()), "lr": 0.02, "weight_decay": 1e-2},
    ], lr=0.05, momentum=0.9, dampening=0.1)
    schedules = [T.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=10),
                 T.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=1e-3),
                 T.optim.lr_scheduler.MultiStepLR(optimizer, [20, 40], gamma=0.5)]
    way = draws.standard_normal((6, 2))
    for _ in range(STEPS):
        x = draws.standard_normal((12, 6))
        loss = F.mse_loss(model(floats(T, x)), floats(T, np.sin(x @ way)))
        optimizer.zero_grad()
        loss.backward()
        found = gradients(model)
        optimizer.step()
        rates = [group["lr"] for group in optimizer.param_groups]
        for schedule in schedules:
            schedule.step()
        yield [loss.item(), *rates], found
