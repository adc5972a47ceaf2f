"""What the scripts beside this one share: first values from NumPy, the same in each framework."""
import numpy as np


def set_first_values(model, seed):
    """Writes normal values, scaled by the number of inputs, into all parameters of two or more axes;
    the others keep the constants that layers give them, or become 0 where they are random."""
    generator = np.random.RandomState(seed)
    for name, parameter in sorted(model.named_parameters()):
        shape = tuple(parameter.shape)
        if len(shape) >= 2:
            scale = 1.0 / np.sqrt(np.prod(shape[1:]))
            values = generator.standard_normal(shape) * scale
        elif name.endswith("weight"):
            continue
        else:
            values = np.zeros(shape)
        parameter.data.copy_(parameter.data.new_tensor(values.astype(np.float32)))
    return model
