import torch
from torch import nn
from torch.export import Dim


class Pooled(nn.Module):
    """Frames of a signal, averaged three times."""

    def forward(self, x):
        x = nn.functional.avg_pool1d(x, 5)
        x = nn.functional.avg_pool1d(x, 5)
        return nn.functional.avg_pool1d(x, 2, stride=1)


program = torch.export.export(
    Pooled(), (torch.ones(2, 3, 512),), dynamic_shapes={"x": (Dim.AUTO, Dim.STATIC, Dim.AUTO)}
)
torch.export.save(program, "pooled.pt2")
