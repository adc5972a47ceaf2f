"""weight_norm and spectral_norm: a weight that a hook computes before each forward()."""
from weft import _core
from weft.autograd import no_grad
from weft.nn.functions.regular import normalize
from weft.nn.parameter import Parameter


def norm_except(value, dim):
    """The norms of the slices along `dim`, as [.., 1, n, 1, ..]; of everything for None."""
    if dim is None:
        return value.norm()
    rows = value.transpose(0, dim)
    norms = rows.reshape(rows.shape[0], -1).norm(2, 1)
    return norms.reshape([-1 if axis == dim % value.ndim else 1 for axis in range(value.ndim)])


class _Computed:
    """The hook that computes one weight; it is there once a name and module."""

    def __init__(self, name):
        self.name = name

    @classmethod
    def apply(cls, module, name, *settings):
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, _Computed) and hook.name == name:
                raise _core.InvalidArgumentError(
                    f"[{cls.__name__}] the weight {name!r} is computed already")
        weight = module._parameters.get(name)
        if weight is None:
            raise _core.InvalidArgumentError(
                f"[{cls.__name__}] expected a parameter of {type(module).__name__}, got {name!r}")
        hook = cls(name, *settings)
        delattr(module, name)
        hook.make(module, weight)
        module.register_forward_pre_hook(hook)
        hook(module, ())
        return module

    @classmethod
    def remove(cls, module, name):
        for number, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, cls) and hook.name == name:
                value = hook.compute(module, False).detach()
                del module._forward_pre_hooks[number]
                module.__dict__.pop(name, None)
                hook.forget(module)
                setattr(module, name, Parameter(value))
                return module
        raise _core.InvalidArgumentError(f"[{cls.__name__}] {name!r} is no computed weight")

    def __call__(self, module, inputs):
        del inputs
        module.__dict__[self.name] = self.compute(module, module.training)


class _WeightNorm(_Computed):
    def __init__(self, name, dim):
        super().__init__(name)
        self.dim = dim

    def make(self, module, weight):
        setattr(module, self.name + "_g", Parameter(norm_except(weight.detach(), self.dim)))
        setattr(module, self.name + "_v", Parameter(weight.detach().clone()))

    def compute(self, module, training):
        del training
        length, value = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return value * (length / norm_except(value, self.dim))

    def forget(self, module):
        delattr(module, self.name + "_g")
        delattr(module, self.name + "_v")


class _SpectralNorm(_Computed):
    def __init__(self, name, iterations, eps, dim):
        super().__init__(name)
        self.iterations, self.eps, self.dim = iterations, eps, dim

    def _matrix(self, weight):
        rows = weight.transpose(0, self.dim) if self.dim else weight
        return rows.reshape(rows.shape[0], -1)

    @no_grad()
    def make(self, module, weight):
        matrix = self._matrix(weight.detach())
        setattr(module, self.name + "_orig", Parameter(weight.detach().clone()))
        for part, length in zip("uv", matrix.shape):
            module.register_buffer(f"{self.name}_{part}",
                                   normalize(_core.randn(length), dim=0, eps=self.eps))

    def compute(self, module, training):
        weight = getattr(module, self.name + "_orig")
        u, v = (getattr(module, f"{self.name}_{part}") for part in "uv")
        matrix = self._matrix(weight)
        if training:
            power_iterations(matrix.detach(), u, v, self.iterations, self.eps)
        sigma = u.clone().dot((matrix @ v.clone().unsqueeze(1)).squeeze(1))
        return weight / sigma

    def forget(self, module):
        for part in ("_orig", "_u", "_v"):
            delattr(module, self.name + part)


@no_grad()
def power_iterations(matrix, u, v, count, eps):
    """Moves u and v towards the first singular vectors, in place."""
    for _ in range(count):
        v.copy_(normalize((matrix.t() @ u.unsqueeze(1)).squeeze(1), dim=0, eps=eps))
        u.copy_(normalize((matrix @ v.unsqueeze(1)).squeeze(1), dim=0, eps=eps))


def weight_norm(module, name="weight", dim=0):
    """The weight as its direction times its length by slice (Salimans and Kingma, 2016)."""
    return _WeightNorm.apply(module, name, dim)


def remove_weight_norm(module, name="weight"):
    """The weight as a plain parameter again."""
    return _WeightNorm.remove(module, name)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight over its largest singular value (Miyato et al., 2018)."""
    if dim is None:
        dim = 1 if type(module).__name__ in ("ConvTranspose1d", "ConvTranspose2d") else 0
    return _SpectralNorm.apply(module, name, n_power_iterations, eps, dim)


def remove_spectral_norm(module, name="weight"):
    """The weight as a plain parameter again."""
    return _SpectralNorm.remove(module, name)
