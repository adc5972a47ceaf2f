"""LBFGS: limited-memory BFGS, with PyTorch's arguments; for closures that always give the same."""
from weft import _core
from weft.autograd import enable_grad, no_grad
from weft.optim.optimizer import Optimizer


def _cubic(x1, f1, g1, x2, f2, g2, bounds=None):
    """The place of the least value of the cubic through two points with slopes."""
    low, high = bounds if bounds is not None else sorted((x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square ** 0.5
    if x1 <= x2:
        place = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        place = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(place, low), high)


class _Point:
    """A step length with the loss, the gradient and the slope along the direction there."""

    def __init__(self, length, loss, gradient, slope):
        self.length, self.loss, self.gradient, self.slope = length, loss, gradient, slope


class _StrongWolfe:
    """Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6."""

    def __init__(self, evaluate, start, largest, tolerance):
        self.evaluate, self.start = evaluate, start
        self.largest, self.tolerance, self.calls = largest, tolerance, 0
        self.c1, self.c2, self.max_calls = 1e-4, 0.9, 25

    def _at(self, length):
        self.calls += 1
        return self.evaluate(length)

    def _too_high(self, point):
        return point.loss > self.start.loss + self.c1 * point.length * self.start.slope

    def _flat(self, point):
        return abs(point.slope) <= -self.c2 * self.start.slope

    def find(self, length):
        """(the point, calls of the closure)."""
        bracket = self._bracket(length)
        if len(bracket) == 2:
            bracket = self._zoom(*bracket)
        best = min(bracket, key=lambda point: point.loss)
        return best, self.calls

    def _bracket(self, length):
        previous, now = self.start, self._at(length)
        for i in range(self.max_calls):
            if self._too_high(now) or (i > 0 and now.loss >= previous.loss):
                return previous, now
            if self._flat(now):
                return (now,)
            if now.slope >= 0:
                return previous, now
            step = now.length - previous.length
            bounds = (now.length + 0.01 * step, now.length * 10)
            place = _cubic(previous.length, previous.loss, previous.slope, now.length, now.loss,
                           now.slope, bounds)
            previous, now = now, self._at(place)
        return self.start, now

    def _zoom(self, low, high):
        if high.loss < low.loss:
            low, high = high, low
        stuck = False
        while self.calls < self.max_calls:
            if abs(high.length - low.length) * self.largest < self.tolerance:
                break
            place = _cubic(low.length, low.loss, low.slope, high.length, high.loss, high.slope)
            place, stuck = self._inside(place, low, high, stuck)
            now = self._at(place)
            if self._too_high(now) or now.loss >= low.loss:
                high = now
                if high.loss < low.loss:
                    low, high = high, low
                continue
            if self._flat(now):
                return (now,)
            if now.slope * (high.length - low.length) >= 0:
                high = low
            low = now
        return low, high

    @staticmethod
    def _inside(place, low, high, stuck):
        """`place`, moved away from the ends where it is near one of them twice in a row."""
        ends = sorted((low.length, high.length))
        margin = 0.1 * (ends[1] - ends[0])
        if min(ends[1] - place, place - ends[0]) >= margin:
            return place, False
        if not stuck and ends[0] < place < ends[1]:
            return place, True
        nearer_high = abs(place - ends[1]) < abs(place - ends[0])
        return (ends[1] - margin if nearer_high else ends[0] + margin), False


class LBFGS(Optimizer):
    """Several iterations each step, so a step needs a closure. One group of parameters."""

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7,
                 tolerance_change=1e-9, history_size=100, line_search_fn=None):
        if line_search_fn not in (None, "strong_wolfe"):
            raise _core.InvalidArgumentError(
                f"[LBFGS] expected line_search_fn None or strong_wolfe, got {line_search_fn!r}")
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4
            if max_eval is None else max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise _core.InvalidArgumentError(
                f"[LBFGS] expected one group of parameters, got {len(self.param_groups)}")

    @property
    def _parameters(self):
        return self.param_groups[0]["params"]

    def _gradient(self):
        return _core.cat([_core.zeros(p.numel(), dtype=p.dtype) if p.grad is None
                          else p.grad.detach().reshape(-1) for p in self._parameters])

    def _values(self):
        return _core.cat([p.detach().reshape(-1) for p in self._parameters]).clone()

    def _write(self, values):
        first = 0
        for p in self._parameters:
            p.detach().copy_(values[first:first + p.numel()].reshape(p.shape))
            first += p.numel()

    @no_grad()
    def step(self, closure):
        """Up to max_iter iterations; gives the loss before them."""
        if closure is None:
            raise _core.InvalidArgumentError("[LBFGS] expected a closure, got None")

        def evaluate():
            with enable_grad():
                return float(closure_result())

        results = []

        def closure_result():
            results.append(closure())
            return results[-1].detach().item() if isinstance(
                results[-1], _core.Tensor) else results[-1]

        group, state = self.param_groups[0], self.state[self._parameters[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        loss, calls = evaluate(), 1
        gradient = self._gradient()
        state["func_evals"] += 1
        if gradient.abs().max().item() > group["tolerance_grad"]:
            self._iterate(group, state, evaluate, loss, gradient, calls)
        return results[0]

    def _direction(self, group, state, gradient):
        """The next direction, from what the last steps and gradients were."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        change = gradient - state["prev_flat_grad"]
        moved = state["d"] * state["t"]
        product = change.dot(moved).item()
        if product > 1e-10:
            if len(state["old_dirs"]) == group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(change)
            state["old_stps"].append(moved)
            state["ro"].append(1.0 / product)
            state["H_diag"] = product / change.dot(change).item()
        rows = list(zip(state["old_dirs"], state["old_stps"], state["ro"]))
        q, shares = -gradient, []
        for y, s, ro in reversed(rows):
            shares.append(s.dot(q).item() * ro)
            q = q - y * shares[-1]
        direction = q * state["H_diag"]
        for (y, s, ro), share in zip(rows, reversed(shares)):
            direction = direction + s * (share - y.dot(direction).item() * ro)
        return direction

    def _iterate(self, group, state, evaluate, loss, gradient, calls):
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(group, state, gradient)
            state["prev_flat_grad"] = gradient.clone()
            before = loss
            length = group["lr"]
            if state["n_iter"] == 1:
                length *= min(1.0, 1.0 / gradient.abs().sum().item())
            slope = gradient.dot(direction).item()
            state["d"], state["t"] = direction, length
            if slope > -group["tolerance_change"]:
                return
            start = self._values()
            more = 0
            if group["line_search_fn"] is not None:
                def at(place, start=start, direction=direction):
                    self._write(start + direction * place)
                    value, found = evaluate(), self._gradient()
                    return _Point(place, value, found, found.dot(direction).item())

                search = _StrongWolfe(at, _Point(0.0, loss, gradient, slope),
                                      direction.abs().max().item(), group["tolerance_change"])
                point, more = search.find(length)
                loss, gradient, state["t"] = point.loss, point.gradient, point.length
                self._write(start + direction * point.length)
            else:
                self._write(start + direction * length)
                if iteration != group["max_iter"]:
                    loss, more = evaluate(), 1
                    gradient = self._gradient()
            calls += more
            state["func_evals"] += more
            if self._done(group, iteration, calls, gradient, loss - before,
                          direction * state["t"]):
                return

    @staticmethod
    def _done(group, iteration, calls, gradient, change, moved):
        tolerance = group["tolerance_change"]
        return (iteration == group["max_iter"] or calls >= group["max_eval"]
                or gradient.abs().max().item() <= group["tolerance_grad"]
                or moved.abs().max().item() <= tolerance or abs(change) < tolerance)
