"""Modules with states of every kind, for the checks of written archives: parameters, buffers, tied weights, constants, tensors of every
dtype, weights that are not contiguous, containers within containers, submodules, graphs within graphs. Needs torch 2.15."""

import torch
from torch import nn
from torch._higher_order_ops.map import map as map_op
from torch._higher_order_ops.scan import scan

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
    torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2,
]


class Buffer(nn.Module):
    """A buffer of one dtype, persistent or not."""

    def __init__(self, dtype, persistent):
        super().__init__()
        values = torch.randint(0, 2, (3, 4)).to(dtype)
        self.register_buffer("state", values, persistent=persistent)

    def forward(self, x):
        return x + self.state.to(torch.float32).sum()


class Strided(nn.Module):
    """A weight in an order of its own."""

    def __init__(self, how):
        super().__init__()
        whole = torch.randn(4, 6, 5)
        self.weight = nn.Parameter(
            {
                "transposed": lambda: whole.transpose(0, 2),
                "sliced": lambda: whole[1:3, ::2],
                "expanded": lambda: whole[:1].expand(4, 6, 5),
                "offset": lambda: whole.flatten()[7:],
                "permuted": lambda: whole.permute(2, 0, 1)[:, 1:],
                "last": lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
            }[how](),
        )
        self.register_buffer("empty", torch.empty(0, 3))

    def forward(self, x):
        return x * self.weight.sum() + self.empty.sum() + self.weight.flatten()[: 1]


class Tied(nn.Module):
    """Two names of one weight, or two views of one storage."""

    def __init__(self, how):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=how == "bias")
        self.head.weight = self.embedding.weight
        if how == "views":
            whole = torch.randn(8)
            self.register_buffer("low", whole[:4])
            self.register_buffer("high", whole[4:])
        self.how = how

    def forward(self, x):
        hidden = self.embedding(x)
        if self.how == "views":
            hidden = hidden + self.low * self.high
        return self.head(hidden)


class Constants(nn.Module):
    """Constants that are made in the forward, or are attributes."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.attribute = torch.arange(4.0)

    def forward(self, x):
        if self.kind == "inline":
            return x + torch.tensor([1.0, 2.0, 3.0, 4.0])
        if self.kind == "scalar":
            return x * torch.tensor(2.5)
        if self.kind == "several":
            return x + torch.tensor([1, 2, 3, 4]) * torch.tensor(True) + self.attribute
        return x * self.attribute


class Containers(nn.Module):
    """Inputs and outputs in containers."""

    def __init__(self, how):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2)])})
        self.how = how

    def forward(self, batch, *, scale=None):
        x, rest = batch["x"], batch["rest"]
        y = self.layers["b"][1](self.layers["b"][0](self.layers["a"](x)))
        if scale is not None:
            y = y * scale
        return {"y": y, "more": [rest[0] + 1, (rest[1], {"z": x})]} if self.how == "dict" else (y, [rest[0]], rest[1])


class Control(nn.Module):
    """Graphs within graphs, with weights of their own."""

    def __init__(self, how):
        super().__init__()
        self.one = nn.Linear(4, 4)
        self.two = nn.Linear(4, 4)
        self.register_buffer("scale", torch.full((4,), 0.5))
        self.how = how

    def forward(self, x):
        if self.how == "cond":
            return torch.cond(x.sum() > 0, lambda x: self.one(x), lambda x: self.two(x) * self.scale, (x,))
        if self.how == "nested":
            inner = lambda x: torch.cond(x.sum() > 5, lambda x: self.one(x), lambda x: x.sin(), (x,))
            return torch.cond(x.sum() > 0, inner, lambda x: self.two(x), (x,))
        if self.how == "map":
            return map_op(lambda row, scale: row * scale + 1, x, self.scale)
        step = lambda carry, row: (carry + row * 2, carry * row)
        return scan(step, torch.zeros(4) + self.scale, x)


class Norms(nn.Module):
    """Layers whose buffers are of several dtypes."""

    def __init__(self, train):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 1), nn.GroupNorm(2, 2))
        self.train(train)

    def forward(self, x):
        return self.net(x).mean((2, 3))


class Stack(nn.Module):
    """Submodules in submodules."""

    def __init__(self, depth, width):
        super().__init__()
        self.inner = Stack(depth - 1, width) if depth else nn.Identity()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.linear(self.inner(x)).relu())


class Mutates(nn.Module):
    """Writes a buffer."""

    def __init__(self, persistent):
        super().__init__()
        self.register_buffer("count", torch.zeros(3), persistent=persistent)

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


class Recurrent(nn.Module):
    """Layers with many weights."""

    def __init__(self, kind):
        super().__init__()
        self.net = {
            "lstm": lambda: nn.LSTM(4, 3, 2, batch_first=True),
            "gru": lambda: nn.GRU(4, 3, bidirectional=True),
            "attention": lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(),
            "multihead": lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        }[kind]()
        self.kind = kind

    def forward(self, x):
        return self.net(x, x, x)[0] if self.kind == "multihead" else self.net(x)


def modules():
    """Name, module, arguments, keyword arguments and dynamic shapes of each case."""
    x = lambda *shape: torch.randn(*shape)
    for dtype in DTYPES:
        for persistent in (True, False):
            yield f"buffer_{dtype}_{persistent}".replace("torch.", ""), Buffer(dtype, persistent), (x(2),), {}, None
    for how in ("transposed", "sliced", "expanded", "offset", "permuted", "last"):
        yield f"strided_{how}", Strided(how), (x(1),), {}, None
    for how in ("bias", "plain", "views"):
        yield f"tied_{how}", Tied(how), (torch.randint(0, 10, (3,)),), {}, None
    for kind in ("inline", "scalar", "several", "attribute"):
        yield f"constants_{kind}", Constants(kind), (x(2, 4),), {}, None
    for how in ("dict", "tuple"):
        for scale in (None, 2.0, torch.tensor(3.0)):
            batch = {"x": x(2, 4), "rest": [x(3), x(1, 2)]}
            yield f"containers_{how}_{type(scale).__name__}", Containers(how), (batch,), {"scale": scale}, None
    for how in ("cond", "nested", "map", "scan"):
        yield f"control_{how}", Control(how), (x(3, 4),), {}, None
    for train in (True, False):
        yield f"norms_{train}", Norms(train), (x(2, 3, 5, 5),), {}, None
    for depth in range(6):
        for width in (1, 4, 16):
            batch = {"x": {0: torch.export.Dim.DYNAMIC}}
            yield f"stack_{depth}_{width}", Stack(depth, width), (x(3, width),), {}, batch
    for persistent in (True, False):
        yield f"mutates_{persistent}", Mutates(persistent), (x(3),), {}, None
    for kind in ("lstm", "gru", "attention", "multihead"):
        yield f"recurrent_{kind}", Recurrent(kind), (x(2, 5, 4),), {}, None
    for bias in (True, False):
        for groups in (1, 2):
            for stride in (1, 2):
                conv = nn.Conv2d(4, 4, 3, stride=stride, groups=groups, bias=bias)
                yield f"conv_{bias}_{groups}_{stride}", conv, (x(1, 4, 7, 7),), {}, None
    for transposed in (nn.ConvTranspose1d(2, 3, 3), nn.Conv1d(2, 3, 2), nn.PReLU(2), nn.InstanceNorm1d(2, affine=True)):
        yield f"layer_{type(transposed).__name__}", transposed, (x(1, 2, 6),), {}, None
    for size in (2, 5, 9, 300):
        many = nn.Sequential(*[nn.Linear(2, 2) for _ in range(size)])
        yield f"many_{size}", many, (x(1, 2),), {}, None
    for aligned in (False, True):
        yield f"bilinear_{aligned}", nn.Bilinear(3, 3, 2, bias=aligned), (x(2, 3), x(2, 3)), {}, None
    yield "no_state", nn.Tanh(), (x(2),), {}, None
