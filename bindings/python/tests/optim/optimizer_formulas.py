"""The optimizers' formulas in NumPy, in float64 and as plainly as their papers have them.

Each takes a parameter p, its gradient g, its state s (a dict that it fills), the number t of this
step of the parameter, from 1, and the settings k; it gives the new parameter."""
import numpy as np


def sgd(p, g, s, t, k):
    g = g + k["weight_decay"] * p
    if k["momentum"] != 0:
        s["m"] = g if t == 1 else k["momentum"] * s["m"] + (1 - k["dampening"]) * g
        g = g + k["momentum"] * s["m"] if k["nesterov"] else s["m"]
    return p - k["lr"] * g


def adam(p, g, s, t, k):
    return _adam(p, g + k["weight_decay"] * p, s, t, k)


def adamw(p, g, s, t, k):
    return _adam(p * (1 - k["lr"] * k["weight_decay"]), g, s, t, k)


def _adam(p, g, s, t, k):
    beta1, beta2 = k["betas"]
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g ** 2
    v = s["v"]
    if k["amsgrad"]:
        v = s["largest"] = np.maximum(s.get("largest", 0), v)
    return p - k["lr"] * (s["m"] / (1 - beta1 ** t)) / (np.sqrt(v / (1 - beta2 ** t)) + k["eps"])


def adagrad(p, g, s, t, k):
    g = g + k["weight_decay"] * p
    s["sum"] = s.get("sum", k["initial_accumulator_value"]) + g ** 2
    return p - k["lr"] / (1 + (t - 1) * k["lr_decay"]) * g / (np.sqrt(s["sum"]) + k["eps"])


def adadelta(p, g, s, t, k):
    del t
    g, rho = g + k["weight_decay"] * p, k["rho"]
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g ** 2
    delta = np.sqrt(s.get("u", 0) + k["eps"]) / np.sqrt(s["v"] + k["eps"]) * g
    s["u"] = rho * s.get("u", 0) + (1 - rho) * delta ** 2
    return p - k["lr"] * delta


def rmsprop(p, g, s, t, k):
    del t
    g, alpha = g + k["weight_decay"] * p, k["alpha"]
    s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g ** 2
    v = s["v"]
    if k["centered"]:
        s["mean"] = alpha * s.get("mean", 0) + (1 - alpha) * g
        v = v - s["mean"] ** 2
    update = g / (np.sqrt(v) + k["eps"])
    if k["momentum"] != 0:
        update = s["m"] = k["momentum"] * s.get("m", 0) + update
    return p - k["lr"] * update


def _root_mean_square(x):
    return np.sqrt(np.mean(x ** 2))


def adafactor(p, g, s, t, k):
    least, scale = k["eps"]
    if p.size == 0:
        return p
    share = t ** k["beta2_decay"]
    rate = min(k["lr"], t ** -0.5) * max(scale, _root_mean_square(p))
    if p.ndim >= 2:
        s["r"] = (1 - share) * s.get("r", 0) + share * np.mean(g ** 2, axis=-1, keepdims=True)
        s["c"] = (1 - share) * s.get("c", 0) + share * np.mean(g ** 2, axis=-2, keepdims=True)
        v = s["r"] * s["c"] / np.maximum(np.mean(s["r"], axis=-2, keepdims=True), least)
    else:
        v = s["v"] = (1 - share) * s.get("v", 0) + share * g ** 2
    u = g / np.maximum(np.sqrt(v), least)
    u = u / max(1.0, _root_mean_square(u) / k["d"])
    return p - k["lr"] * k["weight_decay"] * p - rate * u


def lion(p, g, s, t, k):
    del t
    beta1, beta2 = k["betas"]
    m = s.get("m", np.zeros_like(p))
    s["m"] = beta2 * m + (1 - beta2) * g
    return p - k["lr"] * (np.sign(beta1 * m + (1 - beta1) * g) + k["weight_decay"] * p)


def muon(p, g, s, t, k):
    del t
    if p.size == 0:
        return p
    mu = k["momentum"]
    s["m"] = mu * s.get("m", 0) + (1 - mu) * g
    x = ((1 - mu) * g + mu * s["m"] if k["nesterov"] else s["m"]).reshape(p.shape[0], -1)
    rows, columns = x.shape
    x = x / max(np.linalg.norm(x), k["eps"])
    x = x.T if rows > columns else x
    a, b, c = k["ns_coefficients"]
    for _ in range(k["ns_steps"]):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    x = (x.T if rows > columns else x).reshape(p.shape)
    factor = (0.2 * max(rows, columns) ** 0.5 if k["adjust_lr_fn"] == "match_rms_adamw"
              else max(1.0, rows / columns) ** 0.5)
    return p * (1 - k["lr"] * k["weight_decay"]) - k["lr"] * factor * x
