"""What a program that writes tensors is made of. Needs torch 2.15."""

import torch
from torch import nn

CASES = []


def case(*args, buffers=(), shapes=None, train=True, modules=None, parameters=()):
    """Makes a case of a forward: `buffers` gives sizes by name, `modules` makes submodules."""

    def decorate(forward):
        def make():
            module = Made(forward)
            for name, value in dict(buffers).items():
                module.register_buffer(name, value.clone() if isinstance(value, torch.Tensor) else torch.ones(value))
            for name, value in dict(parameters).items():
                module.register_parameter(name, nn.Parameter(torch.arange(float(torch.Size(value).numel())).reshape(value)))
            for name, maker in (modules or {}).items():
                module.add_module(name, maker())
            return module.train(train)

        CASES.append((forward.__name__, make, args, shapes))
        return forward

    return decorate


class Made(nn.Module):
    """A module with a given forward."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(self, *args)


def x(*shape):
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator)
