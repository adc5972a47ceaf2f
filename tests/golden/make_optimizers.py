#!/usr/bin/env python3
"""Writes learning_rules.safetensors: steps of optimizers and factors of schedules.

usage: make_optimizers.py [DIRECTORY]     (default: the folder of this script)

What PyTorch 1.13 has comes from torch.optim. Adafactor, Lion and Muon are written here in plain
NumPy, f64, straight from their papers' formulas.
"""
import json
import math
import pathlib
import sys

import numpy
import torch

from make_golden import STEPS, values, write_safetensors

SHAPES = {"embed.weight": (7, 6), "hidden.weight": (5, 8), "tall.weight": (9, 4),
          "hidden.bias": (5,), "conv.weight": (3, 2, 3, 2), "head.weight": (4, 5)}

TORCH = {
    "adagrad": ("Adagrad", dict(lr=0.1, eps=1e-8)),
    "adagrad_decay": ("Adagrad", dict(lr=0.1, eps=1e-8, weight_decay=0.1)),
    "rmsprop": ("RMSprop", dict(lr=0.01)),
    "rmsprop_centered": ("RMSprop", dict(lr=0.01, alpha=0.9, centered=True, eps=1e-4)),
    "rmsprop_all": ("RMSprop", dict(lr=0.01, alpha=0.9, centered=True, momentum=0.8, eps=1e-4,
                                    weight_decay=0.1)),
    "adadelta": ("Adadelta", dict(lr=1.0, rho=0.9, eps=1e-6)),
    "adadelta_decay": ("Adadelta", dict(lr=0.5, rho=0.95, eps=1e-6, weight_decay=0.1)),
    "adam_amsgrad": ("Adam", dict(lr=0.01, betas=(0.9, 0.5), amsgrad=True, weight_decay=0.1)),
    "adamw_amsgrad": ("AdamW", dict(lr=0.01, betas=(0.9, 0.5), amsgrad=True, weight_decay=0.1)),
    "sgd_clip_norm": ("SGD", dict(lr=0.1, momentum=0.9)),
    "sgd_clip_value": ("SGD", dict(lr=0.1, momentum=0.9)),
}


# More of PyTorch's for steps in which some parameters have no gradient.
ABSENT = {
    "sgd": ("SGD", dict(lr=0.1, weight_decay=0.1)),
    "sgd_momentum": ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1)),
    "sgd_nesterov": ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True)),
    "adam": ("Adam", dict(lr=0.01, weight_decay=0.1)),
    "adamw": ("AdamW", dict(lr=0.01, weight_decay=0.1)),
}
# In which steps the parameters of SHAPES have a gradient; the first is frozen.
PRESENT = [(), (0, 1, 2, 3, 4), (1, 3), (2, 3, 4), (0, 4), (0, 1, 3, 4)]


def rms(x):
    return math.sqrt(numpy.mean(numpy.square(x)))


class Adafactor:
    """Shazeer, Stern 2018, algorithms 4, 5 and 6."""

    def __init__(self, rate, relative, scaled, threshold, decay):
        self.options = rate, relative, scaled, threshold, decay
        self.t, self.state = 0, {}

    def step(self, name, x, g, t):
        rate, relative, scaled, threshold, decay = self.options
        rho = min(rate, 1 / math.sqrt(t)) if relative else rate
        alpha = rho * (max(1e-3, rms(x)) if scaled else 1)
        beta2 = 1 - t ** -0.8
        if x.ndim >= 2:
            matrix = g.reshape(g.shape[0], -1)
            r, c = self.state.get(name, (numpy.zeros(matrix.shape[0]),
                                         numpy.zeros(matrix.shape[1])))
            square = matrix ** 2 + 1e-30
            r = beta2 * r + (1 - beta2) * square.sum(1)
            c = beta2 * c + (1 - beta2) * square.sum(0)
            self.state[name] = r, c
            v = (numpy.outer(r, c) / r.sum()).reshape(g.shape)
        else:
            v = beta2 * self.state.get(name, numpy.zeros_like(g)) + (1 - beta2) * (g ** 2 + 1e-30)
            self.state[name] = v
        u = g / numpy.sqrt(v)
        u = u / max(1, rms(u) / threshold)
        return x * (1 - alpha * decay) - alpha * u


class Lion:
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, rate, beta1, beta2, decay):
        self.options = rate, beta1, beta2, decay
        self.m = {}

    def step(self, name, x, g, t):
        rate, beta1, beta2, decay = self.options
        m = self.m.get(name, numpy.zeros_like(g))
        update = numpy.sign(beta1 * m + (1 - beta1) * g)
        self.m[name] = beta2 * m + (1 - beta2) * g
        return x - rate * (update + decay * x)


class Muon:
    """Jordan et al. 2024; AdamW for embedding, head and vectors."""

    def __init__(self, rate, momentum, nesterov, decay, rest):
        self.options = rate, momentum, nesterov, decay, rest
        self.m, self.v = {}, {}

    def step(self, name, x, g, t):
        rate, momentum, nesterov, decay, rest = self.options
        if x.ndim < 2 or "embed" in name or "head" in name:
            m = self.m[name] = 0.9 * self.m.get(name, 0) + 0.1 * g
            v = self.v[name] = 0.999 * self.v.get(name, 0) + 0.001 * g ** 2
            x = x * (1 - rate * rest * decay)
            return x - rate * rest * (m / (1 - 0.9 ** t)) / (
                numpy.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
        m = self.m[name] = momentum * self.m.get(name, 0) + g
        u = (g + momentum * m if nesterov else m).reshape(g.shape[0], -1)
        y = u.T if u.shape[0] > u.shape[1] else u
        y = y / (numpy.linalg.norm(y) + 1e-7)
        for _ in range(5):
            a = y @ y.T
            y = 3.4445 * y + (-4.7750 * a + 2.0315 * a @ a) @ y
        if u.shape[0] > u.shape[1]:
            y = y.T
        scale = math.sqrt(max(1, u.shape[0] / u.shape[1]))
        return x * (1 - rate * decay) - rate * scale * y.reshape(g.shape)


PAPERS = {
    "adafactor": lambda: Adafactor(0.05, True, True, 1.0, 0.0),
    "adafactor_plain": lambda: Adafactor(0.01, False, False, 0.5, 0.1),
    "lion": lambda: Lion(0.01, 0.9, 0.99, 0.0),
    "lion_decay": lambda: Lion(0.01, 0.8, 0.95, 0.5),
    "muon": lambda: Muon(0.02, 0.95, True, 0.0, 0.1),
    "muon_decay": lambda: Muon(0.05, 0.9, False, 0.1, 0.5),
}


def torch_steps(case, start, gradients):
    kind, options = TORCH[case]
    parameters = [torch.nn.Parameter(tensor.clone()) for tensor in start.values()]
    optimizer = getattr(torch.optim, kind)(parameters, **options)
    after = []
    for step in range(STEPS):
        for parameter, gradient in zip(parameters, gradients.values()):
            parameter.grad = gradient[step].clone()
        if case == "sgd_clip_norm":
            torch.nn.utils.clip_grad_norm_(parameters, 2.0)
        if case == "sgd_clip_value":
            torch.nn.utils.clip_grad_value_(parameters, 0.25)
        optimizer.step()
        after.append(torch.cat([parameter.detach().flatten() for parameter in parameters]))
    return torch.stack(after)


def paper_steps(case, start, gradients):
    rule = PAPERS[case]()
    parameters = {name: tensor.double().numpy() for name, tensor in start.items()}
    after = []
    for step in range(STEPS):
        for name in parameters:
            gradient = gradients[name][step].double().numpy()
            parameters[name] = rule.step(name, parameters[name], gradient, step + 1)
        after.append(numpy.concatenate([x.ravel() for x in parameters.values()]))
    return torch.from_numpy(numpy.stack(after))


def absent_steps(case, start, gradients):
    """The same, but grad is None where PRESENT does not list the step."""
    if case in PAPERS:
        rule = PAPERS[case]()
        parameters = {name: tensor.double().numpy() for name, tensor in start.items()}
    else:
        kind, options = (TORCH | ABSENT)[case]
        parameters = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
        parameters["embed.weight"].requires_grad_(False)
        optimizer = getattr(torch.optim, kind)(parameters.values(), **options)
    after, counts = [], dict.fromkeys(start, 0)
    for step in range(STEPS):
        for (name, parameter), steps in zip(parameters.items(), PRESENT):
            here = step in steps
            counts[name] += here
            if case not in PAPERS:
                parameter.grad = gradients[name][step].clone() if here else None
            elif here:
                gradient = gradients[name][step].double().numpy()
                parameters[name] = rule.step(name, parameter, gradient, counts[name])
        if case not in PAPERS:
            optimizer.step()
        after.append(torch.cat([torch.as_tensor(parameter).detach().double().flatten()
                                for parameter in parameters.values()]))
    return torch.stack(after)


def group_steps(start, gradients):
    """AdamW with embeddings at half the rate, no decay for the bias and a frozen convolution."""
    parameters = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
    rest = [parameters[name] for name in ("hidden.weight", "tall.weight", "head.weight")]
    optimizer = torch.optim.AdamW([
        dict(params=[parameters["embed.weight"]], lr=0.005, weight_decay=0.3),
        dict(params=[parameters["hidden.bias"]], weight_decay=0.0),
        dict(params=rest)], lr=0.01, weight_decay=0.1)
    after = []
    for step in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = gradients[name][step].clone()
        optimizer.step()
        after.append(torch.cat([parameter.detach().flatten()
                                for parameter in parameters.values()]))
    return torch.stack(after)


def schedule_factors():
    kinds = torch.optim.lr_scheduler
    makers = {
        "step": lambda o: kinds.StepLR(o, 7, 0.3),
        "multistep": lambda o: kinds.MultiStepLR(o, [5, 9, 30], 0.2),
        "exponential": lambda o: kinds.ExponentialLR(o, 0.93),
        "cosine": lambda o: kinds.CosineAnnealingLR(o, 40, 0.1),
        "cosine_restarts": lambda o: kinds.CosineAnnealingWarmRestarts(o, 5, 2, 0.1),
        "linear": lambda o: kinds.LinearLR(o, 1.0, 0.2, 40),
        "polynomial": lambda o: kinds.PolynomialLR(o, 40, 2.5),
        "one_cycle": lambda o: kinds.OneCycleLR(o, 1.0, total_steps=40, pct_start=0.25,
                                                div_factor=20, final_div_factor=50),
    }
    result = {}
    for name, make in makers.items():
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        schedule = make(optimizer)
        factors = []
        for _ in range(40):
            factors.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        result[f"schedule/{name}"] = torch.tensor(factors, dtype=torch.float64)
    return result


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.manual_seed(20260102)
    torch.set_num_threads(1)
    start = {name: values(*shape).float() for name, shape in SHAPES.items()}
    gradients = {name: values(STEPS, *shape).float() for name, shape in SHAPES.items()}
    tensors = {f"start/{name}": tensor for name, tensor in start.items()}
    tensors |= {f"gradients/{name}": tensor for name, tensor in gradients.items()}
    for case in TORCH:
        tensors[f"steps/{case}"] = torch_steps(case, start, gradients)
    for case in PAPERS:
        tensors[f"steps/{case}"] = paper_steps(case, start, gradients)
    for case in [*TORCH, *PAPERS, *ABSENT]:
        if "clip" not in case:
            tensors[f"absent/{case}"] = absent_steps(case, start, gradients)
    tensors["steps/groups"] = group_steps(start, gradients)
    tensors |= schedule_factors()
    write_safetensors(directory / "learning_rules.safetensors", tensors,
                      {case: json.dumps(options) for case, (_, options) in TORCH.items()})


if __name__ == "__main__":
    main()
