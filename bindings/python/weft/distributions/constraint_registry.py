"""biject_to and transform_to: which transform gives values that satisfy a constraint.

biject_to(constraint) has an inverse and a Jacobian; transform_to(constraint) may be simpler, for
optimizing parameters without bounds.
"""
from weft.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions that give a transform for a constraint, by the constraint's class."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Makes `factory` the function for constraints of that class; also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(cls, type) or not issubclass(cls, constraints.Constraint):
            raise TypeError(f"register(): argument 'constraint' must be a Constraint or a class of "
                            f"them, got {constraint!r}")
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint):
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transform is registered for {constraint!r}: register() "
                                      f"takes one")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds):
    """Registers a function with both."""
    def register(factory):
        for registry in (biject_to, transform_to):
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return register


_both(constraints.real)(lambda constraint: transforms.identity_transform)
_both(constraints.corr_cholesky)(lambda constraint: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky,
                      lambda constraint: transforms.LowerCholeskyTransform())


@_both(constraints.greater_than, constraints.greater_than_eq)  # positive and nonnegative too
def _above(constraint):
    return transforms.ComposeTransform([
        transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@_both(constraints.less_than)
def _below(constraint):
    return transforms.ComposeTransform([
        transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(bound, (int, float)) for bound in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([
        transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _of_parts(registry):
    """Constraints that are made of others."""
    registry.register(constraints.independent, lambda constraint: transforms.IndependentTransform(
        registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims))
    registry.register(constraints.cat, lambda constraint: transforms.CatTransform(
        [registry(each) for each in constraint.cseq], constraint.dim, constraint.lengths))
    registry.register(constraints.stack, lambda constraint: transforms.StackTransform(
        [registry(each) for each in constraint.cseq], constraint.dim))


_of_parts(biject_to)
_of_parts(transform_to)
