"""Products of matrices and einsum, with broadcasting and sizes of 0."""
from cases import Case

LETTERS = "abcdef"


def _matmul(draws):
    inner = draws.whole(0, 5)
    batch = draws.shape(0, 2, (1, 2, 3))
    left = (*draws.spread(batch), draws.whole(0, 5), inner)
    right = (*draws.spread(batch), inner, draws.whole(1, 5))
    if draws.chance(0.2):
        left = (inner,)
    if draws.chance(0.2):
        right = (inner,)
    turned = draws.chance(0.3) and len(right) > 1

    def call(T, F, a, b):
        return a @ (b.transpose(-1, -2).contiguous().transpose(-1, -2) if turned else b)

    return Case(f"matmul({left}, {right}){' turned' * turned}",
                [draws.values(*left), draws.values(*right)], call)


def _einsum(draws):
    """One to three operands over at most six letters; now and then the result is left to the
    rule: the letters that stand once, in their order."""
    sizes = {letter: draws.whole(1, 3) for letter in LETTERS}
    terms = ["".join(draws.pick(LETTERS) for _ in range(draws.whole(1, 3)))
             for _ in range(draws.whole(1, 3))]
    terms = ["".join(dict.fromkeys(term)) if draws.chance(0.8) else term for term in terms]
    used = list(dict.fromkeys("".join(terms)))
    kept = [used[i] for i in draws.permutation(len(used))[:draws.whole(0, len(used))]]
    equation = ",".join(terms) + ("->" + "".join(kept) if draws.chance(0.8) else "")
    if draws.chance(0.2):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    shapes = [[1 if draws.chance(0.03) else sizes[letter] for letter in term] for term in terms]
    return Case(f"einsum({equation!r}, {shapes})", [draws.values(*shape) for shape in shapes],
                lambda T, F, *x: T.einsum(equation, *x))


def _dots(draws):
    """einsum with an ellipsis, where both are batches that broadcast."""
    batch = draws.shape(0, 2, (1, 2, 3))
    left = (*draws.spread(batch), 2, 3)
    right = (*draws.spread(batch), 3, 4)
    equation = draws.pick(["...ij,...jk->...ik", "...ij,...jk", "...ij,...jk->ik...",
                           "...ij,...jk->...", "i...j,...jk->...k"])
    return Case(f"einsum({equation!r}, {left}, {right})",
                [draws.values(*left), draws.values(*right)],
                lambda T, F, a, b: T.einsum(equation, a, b))


def _others(draws):
    name = draws.pick(["dot", "outer", "mm", "bmm", "linear"])
    n, m, k, b = (draws.whole(0, 5) for _ in range(4))
    batch, bias = draws.shape(0, 2, (1, 2, 3)), draws.chance(0.5)
    shapes = {"dot": [(n,), (n,)], "outer": [(n,), (m,)], "mm": [(n, k), (k, m)],
              "bmm": [(b, n, k), (b, k, m)], "linear": [(*batch, k), (m, k)]}[name]
    if name == "linear" and bias:
        shapes.append((m,))

    def call(T, F, *x):
        return F.linear(*x) if name == "linear" else getattr(T, name)(*x)

    return Case(f"{name}({shapes})", [draws.values(*shape) for shape in shapes], call)


def case(draws):
    return draws.pick([_matmul, _einsum, _einsum, _dots, _others])(draws)
