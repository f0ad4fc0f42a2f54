"""Models with nested control flow.

python scripts/onnx/run_models.py SIZEWISE
"""

import torch
import torch.nn.functional as F
from torch import cond, nn
from torch._higher_order_ops.map import map as hmap
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

MODELS = {}
f = torch.randn


def zero():
    return torch.zeros((), dtype=torch.int64)


def rows(n):
    return (f(n, 4),)


def model(make=rows):
    """Has a function of the module and its inputs be a model; `make` gives inputs of a size."""

    def declare(function):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(4, 4)
                self.register_buffer("b", torch.arange(4.0))

            def forward(self, *inputs):
                return function(self, *inputs)

        MODELS[function.__name__] = (Model, make)
        return function

    return declare


@model()
def cond_plain(s, x):
    return cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))


@model()
def cond_cond(s, x):
    return cond(
        x.sum() > 0,
        lambda x: cond(x.mean() > 0.1, lambda y: y.sin(), lambda y: y.cos(), (x,)),
        lambda x: x.relu(),
        (x,),
    )


@model()
def cond_shape(s, x):
    return cond(x.shape[0] > 4, lambda x: x.cumsum(0), lambda x: x - x.mean(0), (x,))


@model()
def cond_weights(s, x):
    return cond(x.sum() > 0, lambda x: s.l(x), lambda x: x @ s.l.weight, (x,))


@model()
def cond3(s, x):
    def t3(x):
        return cond(x[0, 2] > 0, lambda z: z.exp(), lambda z: z.abs(), (x,))

    def t2(x):
        return cond(x[0, 1] > 0, t3, lambda z: s.l(z), (x,))

    return cond(x[0, 0] > 0, t2, lambda z: z - 1, (x,))


@model()
def cond_two_out(s, x):
    a, b = cond(x.max() > 1, lambda x: (x + 1, x.sum(1)), lambda x: (x - 1, x.mean(1)), (x,))
    return a * 2, b


@model(lambda n: (f(n, 4), f(n, 4)))
def cond_two_in(s, x, y):
    return cond((x > y).any(), lambda a, b: a - b, lambda a, b: a + b * 2, (x, y))


@model()
def cond_size_arith(s, x):
    n = x.shape[0]
    return cond(
        n * 2 + 1 > 9, lambda x: x.view(-1).sum() * 1.0, lambda x: x.reshape(2 * x.shape[0], 2).prod(1).sum(), (x,)
    )


@model()
def while_basic(s, x):
    def c(i, x):
        return i < 5

    def b(i, x):
        return i + 1, x * 0.9 + 1

    return while_loop(c, b, (zero(), x))


@model()
def while_data(s, x):
    return while_loop(lambda x: x.abs().sum() > 1.0, lambda x: (x * 0.5,), (x,))


@model()
def while_cond(s, x):
    def b(i, x):
        return i + 1, cond(x.sum() > 0, lambda y: y - 0.5, lambda y: y + 0.7, (x,))

    return while_loop(lambda i, x: i < 6, b, (zero(), x))


@model()
def while_while(s, x):
    def inner(x):
        return while_loop(lambda j, y: j < 3, lambda j, y: (j + 1, y + j), (zero(), x))[1]

    return while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, inner(x) * 0.5), (zero(), x))


@model()
def while_linear(s, x):
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, torch.tanh(s.l(x))), (zero(), x))


@model()
def while_never(s, x):
    return while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x + 1), (zero(), x))


@model()
def while_in_cond(s, x):
    def t(x):
        return while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 1.1), (zero(), x))[1]

    return cond(x.sum() > 0, t, lambda x: x + 1, (x,))


@model()
def while_to_size(s, x):
    return while_loop(lambda i, x: i < x.shape[0], lambda i, x: (i + 2, x + 1), (zero(), x))[1]


@model()
def while_three(s, x):
    def b(i, a, c):
        return i + 1, a + c, a.sin()

    return while_loop(lambda i, a, c: i < 4, b, (zero(), x, x * 0.5))


@model()
def scan_sum(s, x):
    return scan(lambda c, y: (c + y, c * 2), torch.zeros(4), x)


@model()
def scan_linear(s, x):
    return scan(lambda c, y: (torch.tanh(s.l(c) + y), c + y), torch.zeros(4), x)


@model()
def scan_cond(s, x):
    return scan(
        lambda c, y: (cond(y.sum() > 0, lambda a, b: a + b, lambda a, b: a - b, (c, y)), c.sin()), torch.zeros(4), x
    )


@model()
def scan_rev(s, x):
    return scan(lambda c, y: (c * 0.5 + y, c + 1), torch.ones(4), x, reverse=True)


@model(lambda n: (f(3, n),))
def scan_dim1(s, x):
    return scan(lambda c, y: (c + y, c.clone()), torch.zeros(3), x, dim=1)


@model()
def scan_pytree(s, x):
    return scan(
        lambda c, y: ({"a": c["a"] + y[0], "b": c["b"] * 0.9 + y[1]}, c["a"] * c["b"]),
        {"a": torch.zeros(4), "b": torch.ones(4)},
        (x, x * 2),
    )


@model()
def scan_scan(s, x):
    def step(c, y):
        d, o = scan(lambda a, b: (a + b, a * b), torch.zeros(()), y)
        return c + d, o.sum() + c

    return scan(step, torch.zeros(()), x)


@model()
def scan_while(s, x):
    return scan(
        lambda c, y: (while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 0.5 + 1), (zero(), c + y))[1], c + 1),
        torch.zeros(4),
        x,
    )


@model()
def map_rows(s, x):
    return hmap(lambda r: r.sin() + 1, x)


@model()
def map_extra(s, x):
    return hmap(lambda r, w: r @ w, x, s.l.weight)


@model()
def map_cond(s, x):
    return hmap(lambda r: cond(r.sum() > 0, lambda a: a * 2, lambda a: -a, (r,)), x)


@model()
def map_map(s, x):
    return hmap(lambda r: hmap(lambda e: e * e + 1, r), x)


@model(lambda n: (f(n, 3, 4),))
def map_mat(s, x):
    return hmap(lambda r: torch.softmax(s.l(r), -1), x)


@model()
def map_then_cond(s, x):
    y = hmap(lambda r: r - r.mean(), x)
    return cond(y.max() > 1, lambda a: a / a.max(), lambda a: a * 1, (y,))


@model()
def cond_map(s, x):
    return cond(x.sum() > 0, lambda x: hmap(lambda r: r.exp(), x), lambda x: x.clone(), (x,))


@model()
def cond_scan(s, x):
    return cond(
        x.sum() > 0, lambda x: scan(lambda c, y: (c + y, c + y), torch.zeros(4), x)[1], lambda x: x.cumsum(0) * 2, (x,)
    )


@model()
def while_scan(s, x):
    return while_loop(
        lambda i, x: i < 2,
        lambda i, x: (i + 1, scan(lambda c, y: (c * 0.5 + y, c + y), torch.zeros(4), x)[1]),
        (zero(), x),
    )


@model()
def map_scan(s, x):
    return hmap(lambda r: scan(lambda c, y: (c + y, c * y), torch.zeros(()), r)[1], x)


@model()
def autocast_cond(s, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = s.l(x)
    return y.float().sum(1)


@model()
def autocast_in_cond(s, x):
    def t(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (x @ s.l.weight).float()

    return cond(x.sum() > 0, t, lambda x: x + 1, (x,))


@model()
def nograd(s, x):
    with torch.no_grad():
        y = s.l(x)
    return cond(y.sum() > 0, lambda a: a + 1, lambda a: a - 1, (y,))


@model(lambda n: (f(n, 4), torch.tensor(2)))
def unbacked_slice(s, x, k):
    n = k.item()
    torch._check(n >= 1)
    torch._check(n <= x.shape[0])
    y = x[:n]
    return cond(y.sum() > 0, lambda a: a * 2, lambda a: a + 1, (y,))


@model(lambda n: (f(n, 4), f(n, 4), torch.tensor(True)))
def cond_pred_input(s, x, y, p):
    a = cond(p, lambda x, y: x + y, lambda x, y: x - y, (x, y))
    return cond(a.sum() > y.sum(), lambda a: a.flip(0), lambda a: a * 0.5, (a,))


@model()
def beam(s, x):
    def body(i, t, sc):
        lg = s.l(t)
        v, ix = lg.topk(1, -1)
        return i + 1, t + v, sc + v.squeeze(-1)

    return while_loop(lambda i, t, sc: (i < 5) & (sc.sum() < 50), body, (zero(), x, torch.zeros(x.shape[0])))


@model()
def newton(s, x):
    a = x.abs() + 1
    return while_loop(lambda r: ((r * r - a).abs().max() > 1e-3), lambda r: ((r + a / r) / 2,), (a,))


@model()
def rnn(s, x):
    def step(h, y):
        g = torch.sigmoid(s.l(y))
        return h * g + (1 - g) * torch.tanh(y), h.norm()

    h, o = scan(step, torch.zeros(4), x)
    return cond(h.sum() > 0, lambda h: h * 2, lambda h: -h, (h,)), o


@model()
def shape_math(s, x):
    n = x.shape[0]
    y = x.reshape(n * 2, 2)
    z = torch.zeros((n + 3) // 2, 2)
    return cond(n % 2 == 0, lambda a, b: a.sum() + b.sum() * 1.0, lambda a, b: a.mean() - b.mean(), (y, z + n / 2))


@model()
def aliased(s, x):
    return cond(x.sum() > 0, lambda x: (x + 0, x.view(-1) * 1), lambda x: (x * 1, x.reshape(-1) + 1), (x,))


@model()
def cond_bool_out(s, x):
    return cond(x.sum() > 0, lambda x: (x > 0).all(1), lambda x: (x < 0).any(1), (x,))


@model()
def cond_closure(s, x):
    w = x.mean(0)
    return cond(x.sum() > 0, lambda x: x * w + s.b, lambda x: x - w * s.b, (x,))
