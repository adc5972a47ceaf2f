"""DataParallel, for programs that wrap their model; groups of peers are weft.swarm."""
from weft.nn.module import Module


class DataParallel(Module):
    """The module itself, on the one device there is; it stands as `module`, as in PyTorch."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module

    def forward(self, *inputs, **keywords):
        return self.module(*inputs, **keywords)
