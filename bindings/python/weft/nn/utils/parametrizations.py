"""Parametrizations that others need: weight_norm and spectral_norm in the newer form."""
from weft import _core
from weft.nn.functions.regular import normalize
from weft.nn.module import Module
from weft.nn.utils.parametrize import register_parametrization
from weft.nn.utils.reparametrized import norm_except, power_iterations


class _WeightNorm(Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, length, value):
        return value * (length / norm_except(value, self.dim))

    def right_inverse(self, weight):
        weight = weight.detach()
        return norm_except(weight, self.dim), weight.clone()


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations, dim, eps):
        super().__init__()
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps
        matrix = self._matrix(weight.detach())
        for name, length in zip(("_u", "_v"), matrix.shape):
            self.register_buffer(name, normalize(_core.randn(length), dim=0, eps=eps))
        power_iterations(matrix, self._u, self._v, 15, eps)

    def _matrix(self, weight):
        rows = weight.transpose(0, self.dim) if self.dim else weight
        return rows.reshape(rows.shape[0], -1)

    def forward(self, weight):
        matrix = self._matrix(weight)
        if self.training:
            power_iterations(matrix.detach(), self._u, self._v, self.n_power_iterations, self.eps)
        sigma = self._u.clone().dot((matrix @ self._v.clone().unsqueeze(1)).squeeze(1))
        return weight / sigma

    def right_inverse(self, value):
        return value


def weight_norm(module, name="weight", dim=0):
    """The weight as its direction times its length by slice."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight over its largest singular value."""
    if dim is None:
        dim = 1 if type(module).__name__ in ("ConvTranspose1d", "ConvTranspose2d") else 0
    return register_parametrization(
        module, name, _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps))
