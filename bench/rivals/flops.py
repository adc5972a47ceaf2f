"""Floating point operations of the workloads' forward passes and training steps, in closed form.

Counted are the products of layers with weights and of attention, where a multiply-add is two
operations; norms, activations, losses and optimizers are left out. A causal model counts only the
pairs of tokens that it reads. A convolution counts its plain sum, so that one by Winograd's method,
which executes fewer operations, can exceed the processor's peak.
"""

VOCABULARY = {"gpt12x768": 25_000}  # others: 96
CONVOLUTIONS = {
    # inputs, outputs, side of the window, side of the result
    "cnn": [(1, 32, 3, 26), (32, 64, 3, 24)],
    "lenet": [(1, 6, 5, 28), (6, 16, 5, 10)],
    "resnet9": [(3, 64, 3, 32), (64, 128, 3, 32), *2 * [(128, 128, 3, 16)], (128, 256, 3, 16),
                (256, 512, 3, 8), *2 * [(512, 512, 3, 4)]],
    "resnet18": [(3, 64, 3, 32), *4 * [(64, 64, 3, 32)],
                 (64, 128, 3, 16), (64, 128, 1, 16), *3 * [(128, 128, 3, 16)],
                 (128, 256, 3, 8), (128, 256, 1, 8), *3 * [(256, 256, 3, 8)],
                 (256, 512, 3, 4), (256, 512, 1, 4), *3 * [(512, 512, 3, 4)]],
    "resnet18_224": [(3, 64, 7, 112), *4 * [(64, 64, 3, 56)],
                     (64, 128, 3, 28), (64, 128, 1, 28), *3 * [(128, 128, 3, 28)],
                     (128, 256, 3, 14), (128, 256, 1, 14), *3 * [(256, 256, 3, 14)],
                     (256, 512, 3, 7), (256, 512, 1, 7), *3 * [(512, 512, 3, 7)]],
}
LINEAR = {
    "mlp": [(784, 256), (256, 10)],
    "cnn": [(64 * 12 * 12, 128), (128, 10)],
    "lenet": [(400, 120), (120, 84), (84, 10)],
    "resnet9": [(512, 10)],
    "resnet18": [(512, 10)],
    "resnet18_224": [(512, 1000)],
}


def vocabulary(name):
    return VOCABULARY.get(name, 96)


# layers, width, context; weights of a block per square of its width
TRANSFORMERS = {"gpt4x128": (4, 128, 128, 12), "gpt6x384": (6, 384, 256, 12),
                "gpt12x768": (12, 768, 256, 12),
                "llama4x128": (4, 128, 128, 4 + 3 * 352 / 128)}
# layers, width of the tokens, hidden units, steps
RECURRENT = {"lstm2x256": (2, 64, 256, 64)}


def image_layers(name):
    """Operations of each layer for one image, the first layer first."""
    found = [2 * inputs * outputs * window ** 2 * side ** 2
             for inputs, outputs, window, side in CONVOLUTIONS.get(name, [])]
    return found + [2 * inputs * outputs for inputs, outputs in LINEAR.get(name, [])]


def text_flops(name):
    """Of one text of the whole context."""
    if name in RECURRENT:
        layers, inputs, hidden, steps = RECURRENT[name]
        sums = sum(8 * hidden * ((inputs if layer == 0 else hidden) + hidden)
                   for layer in range(layers))
        return steps * (sums + 2 * hidden * vocabulary(name))
    layers, width, context, weights = TRANSFORMERS[name]
    pairs = context * (context + 1) / 2
    return (context * (layers * 2 * weights * width ** 2 + 2 * width * vocabulary(name))
            + layers * 4 * pairs * width)


def is_text(name):
    return name in RECURRENT or name in TRANSFORMERS


def forward_flops(name, batch):
    return batch * (text_flops(name) if is_text(name) else sum(image_layers(name)))


def step_flops(name, batch):
    """Forward, gradients of weights and gradients of inputs, which nobody needs of an image."""
    if is_text(name):
        return 3 * forward_flops(name, batch)
    return batch * (3 * sum(image_layers(name)) - image_layers(name)[0])
