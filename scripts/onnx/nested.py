"""Models whose control flow nests, each in each; more of what scripts/onnx/control_flow.py declares."""

import torch
import torch.nn.functional as F
from control_flow import f, hmap, model, scan, while_loop, zero
from torch import cond
from torch.utils.checkpoint import checkpoint


def times(count, step, x):
    """A `while_loop` of so many turns."""
    return while_loop(lambda i, x: i < count, lambda i, x: (i + 1, step(x)), (zero(), x))[1]


def cumulated(x):
    return scan(lambda c, y: (c * 0.5 + y, c + y), torch.zeros(4), x)[1]


def choose(x, then, otherwise):
    return cond(x.sum() > 0, then, otherwise, (x,))


def lower(x, weight):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ weight
    return y.float()


@model()
def cond_while(s, x):
    return choose(x, lambda x: times(3, lambda y: y * 0.5, x), lambda x: times(2, lambda y: y - 1, x))


@model()
def cond_while_cond(s, x):
    return choose(
        x, lambda x: times(3, lambda y: choose(y, lambda z: z - 0.3, lambda z: z + 0.2), x), lambda x: x.abs()
    )


@model()
def cond_in_both(s, x):
    return choose(
        x,
        lambda x: choose(x[:1], lambda y: y.exp(), lambda y: y.sin()),
        lambda x: choose(x[:, 1:], lambda y: y.cos(), lambda y: s.l(y)),
    )


@model()
def cond_four_deep(s, x):
    def third(x):
        return cond(x[0, 3] > 0, lambda y: y + 3, lambda y: y * 3, (x,))

    def second(x):
        return cond(x[0, 2] > 0, third, lambda y: cond(y[0, 3] < 0, lambda z: -z, third, (y,)), (x,))

    def first(x):
        return cond(x[0, 1] > 0, second, lambda y: y + 1, (x,))

    return cond(x[0, 0] > 0, first, second, (x,))


@model()
def cond_map_cond(s, x):
    return choose(
        x, lambda x: hmap(lambda r: choose(r, lambda a: a * 2, lambda a: a.neg()), x), lambda x: x.sigmoid()
    )


@model()
def cond_scan_cond(s, x):
    def step(c, y):
        return c + choose(y, lambda a: a.sin(), lambda a: a.cos()), c * 2

    return choose(x, lambda x: scan(step, torch.zeros(4), x)[1], lambda x: x.clone())


@model()
def cond_scan_both(s, x):
    return choose(x, cumulated, lambda x: scan(lambda c, y: (c - y, c * y), torch.ones(4), x, reverse=True)[1])


@model()
def cond_size_inside(s, x):
    return choose(
        x,
        lambda x: cond(x.shape[0] > 5, lambda y: y.cumsum(0), lambda y: y * y.shape[0], (x,)),
        lambda x: x / x.shape[0],
    )


@model()
def cond_buffer_inside(s, x):
    return choose(x, lambda x: choose(x * s.b, lambda y: y + s.b, lambda y: y - s.b), lambda x: x @ s.l.weight)


@model()
def cond_two_results_inside(s, x):
    def then(x):
        return cond(x.max() > 1, lambda y: (y + 1, y.sum(1)), lambda y: (y - 1, y.mean(1)), (x,))

    return cond(x.sum() > 0, then, lambda x: (x * 2, x[:, 0].clone()), (x,))


@model()
def while_cond_while(s, x):
    return times(2, lambda y: choose(y, lambda z: times(3, lambda a: a * 0.7, z), lambda z: z + 1), x)


@model()
def while_while_while(s, x):
    return times(2, lambda a: times(2, lambda b: times(2, lambda c: c * 0.8 + 0.1, b), a), x)


@model()
def while_while_cond(s, x):
    return times(2, lambda a: times(3, lambda b: choose(b, lambda c: c - 0.4, lambda c: c + 0.5), a), x)


@model()
def while_map(s, x):
    return times(3, lambda y: hmap(lambda r: r.tanh() + 0.1, y), x)


@model()
def while_map_cond(s, x):
    return times(2, lambda y: hmap(lambda r: choose(r, lambda a: a * 0.5, lambda a: a + 1), y), x)


@model()
def while_scan_cond(s, x):
    def step(c, y):
        return choose(c + y, lambda a: a * 0.5, lambda a: a + 0.1), c + y

    return times(2, lambda y: scan(step, torch.zeros(4), y)[1], x)


@model()
def while_size_cond(s, x):
    def body(i, x):
        return i + 1, cond(i % 2 == 0, lambda y: s.l(y), lambda y: y.relu(), (x,))

    return while_loop(lambda i, x: i < x.shape[0], body, (zero(), x))[1]


@model()
def while_condition_on_cond(s, x):
    def body(i, x, total):
        y = choose(x, lambda a: a * 0.5, lambda a: a * 0.25)
        return i + 1, y, total + y.abs().sum()

    return while_loop(lambda i, x, t: (i < 8) & (t < 20), body, (zero(), x, torch.zeros(())))


@model()
def while_carries_bool(s, x):
    def body(go, x):
        y = choose(x, lambda a: a - 0.5, lambda a: a * 0.5)
        return y.abs().max() > 0.2, y

    return while_loop(lambda go, x: go, body, (torch.ones((), dtype=torch.bool), x))


@model()
def scan_scan_scan(s, x):
    def innermost(c, y):
        return c + y, c * y

    def inner(c, y):
        d, o = scan(innermost, torch.zeros(()), torch.stack([y, y * 2]))
        return c + d, o.sum()

    def outer(c, y):
        d, o = scan(inner, torch.zeros(()), y)
        return c + d, o + c

    return scan(outer, torch.zeros(()), x)


@model()
def scan_map(s, x):
    return scan(lambda c, y: (c + hmap(lambda e: e * e, y), c.cos()), torch.zeros(4), x)


@model()
def scan_cond_linear(s, x):
    def step(c, y):
        return cond(c.sum() > y.sum(), lambda a, b: torch.tanh(s.l(a) + b), lambda a, b: a * 0.5 + b, (c, y)), c + y

    return scan(step, torch.zeros(4), x)


@model()
def scan_cond_reverse(s, x):
    def step(c, y):
        return cond(y.sum() > 0, lambda a, b: a + b, lambda a, b: a * b, (c, y)), c * 2

    return scan(step, torch.ones(4), x, reverse=True)


@model()
def scan_while_cond(s, x):
    def step(c, y):
        return times(2, lambda a: choose(a, lambda b: b * 0.5, lambda b: b + 1), c + y), c.clone()

    return scan(step, torch.zeros(4), x)


@model(lambda n: (f(3, n),))
def scan_dim1_cond(s, x):
    def step(c, y):
        return cond(y[0] > 0, lambda a, b: a + b, lambda a, b: a - b, (c, y)), c.sin()

    return scan(step, torch.zeros(3), x, dim=1)


@model()
def scan_two_states_cond(s, x):
    def step(c, y):
        h, m = c
        g = cond(h.mean() > m.mean(), lambda a, b: a + b, lambda a, b: a - b, (h, y))
        return (torch.tanh(g), torch.maximum(m, y)), g * 2

    return scan(step, (torch.zeros(4), torch.full((4,), -10.0)), x)


@model()
def scan_counts(s, x):
    def step(c, y):
        return c + cond(y.sum() > 0, lambda y: y.new_ones((), dtype=torch.int64), lambda y: zero() * 1, (y,)), c * 2

    return scan(step, zero(), x)


@model()
def map_while(s, x):
    return hmap(lambda r: times(3, lambda a: a * 0.5 + 1, r), x)


@model()
def map_map_cond(s, x):
    return hmap(lambda r: hmap(lambda e: cond(e > 0, lambda a: a.exp(), lambda a: a * 2, (e,)), r), x)


@model()
def map_cond_while(s, x):
    return hmap(lambda r: choose(r, lambda a: times(2, lambda b: b * 0.3, a), lambda a: a + 1), x)


@model()
def map_cond_cond(s, x):
    def then(r):
        return cond(r[0] > 0.5, lambda a: a.sin(), lambda a: a.cos(), (r,))

    return hmap(lambda r: choose(r, then, lambda a: s.l(a)), x)


@model(lambda n: (f(n, 3, 4),))
def map_scan_cond(s, x):
    def step(c, y):
        return cond(y.sum() > 0, lambda a, b: a + b, lambda a, b: a - b, (c, y)), c * 2

    return hmap(lambda r: scan(step, torch.zeros(4), r)[1], x)


@model(lambda n: (f(n, 3, 4), f(4, 4)))
def map_operand_cond(s, x, w):
    return hmap(lambda r, w: cond(r.sum() > 0, lambda a, b: a @ b, lambda a, b: a - b[:3], (r, w)), x, w)


@model()
def autocast_in_while(s, x):
    return times(3, lambda y: torch.tanh(lower(y, s.l.weight)), x)


@model()
def autocast_in_both(s, x):
    return choose(x, lambda x: lower(x, s.l.weight), lambda x: lower(x + 1, s.l.weight.T))


@model()
def autocast_in_scan(s, x):
    return scan(lambda c, y: (torch.tanh(lower((c + y).unsqueeze(0), s.l.weight).squeeze(0)), c + y), torch.zeros(4), x)


@model()
def autocast_in_map(s, x):
    return hmap(lambda r: lower(r.unsqueeze(0), s.l.weight).squeeze(0).float(), x)


@model()
def autocast_in_cond_in_while(s, x):
    return times(2, lambda y: choose(y, lambda a: lower(a, s.l.weight), lambda a: a * 0.5), x)


@model()
def autocast_around_cond(s, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = choose(x, lambda a: (a @ s.l.weight).float(), lambda a: a * 0.5)
    return y + 1


@model()
def no_grad_in_cond(s, x):
    def then(x):
        with torch.no_grad():
            y = s.l(x)
        return y + 1

    return choose(x, then, lambda x: x - 1)


@model()
def no_grad_around_while(s, x):
    with torch.no_grad():
        y = times(2, lambda a: choose(a, lambda b: b * 0.5, lambda b: b + 0.5), x)
    return y * 2


@model()
def checkpoint_in_cond(s, x):
    def then(x):
        return checkpoint(lambda y: torch.tanh(s.l(y)), x, use_reentrant=False)

    return choose(x, then, lambda x: x + 1)


@model()
def checkpoint_in_while(s, x):
    return times(2, lambda y: checkpoint(lambda z: s.l(z).sin(), y, use_reentrant=False), x)


@model()
def checkpoint_with_cond(s, x):
    return choose(
        x,
        lambda x: checkpoint(lambda y: choose(y, lambda z: z.exp(), lambda z: z + 2), x, use_reentrant=False),
        lambda x: x * 3,
    )


@model(lambda n: (f(n, 4), torch.tensor(3)))
def while_given_count(s, x, count):
    def body(i, x):
        return i + 1, choose(x, lambda a: a - 1, lambda a: a + 0.7)

    return while_loop(lambda i, x: i < count, body, (zero(), x))


@model(lambda n: (f(n, 4), f(2 * n, 4)))
def two_sizes(s, x, y):
    def then(x, y):
        return cond(y.sum() > 0, lambda a, b: a + b[: a.shape[0]], lambda a, b: a * b.shape[0], (x, y))

    return cond(x.sum() > 0, then, lambda x, y: x + y[::2], (x, y))


@model(lambda n: (torch.randint(0, 7, (n, 4)),))
def integers(s, x):
    def step(c, y):
        return cond(y.sum() > 12, lambda a, b: a + b, lambda a, b: torch.maximum(a, b), (c, y)), c % 3

    return scan(step, torch.zeros(4, dtype=torch.int64), x)


@model(lambda n: (f(n, 4).double(),))
def doubles(s, x):
    return choose(x, lambda x: times(3, lambda y: y / 3, x), lambda x: x.sqrt().nan_to_num(0.5))


@model(lambda n: (f(n, 4) > 0,))
def truth(s, x):
    return cond(x.any(), lambda x: cond(x.all(), lambda y: ~y, lambda y: y ^ y[:1], (x,)), lambda x: x.clone(), (x,))


@model(lambda n: (f(n, 4, 4),))
def attention_rows(s, x):
    def attend(r):
        return choose(r, lambda q: F.softmax(q @ q.T / 2, -1) @ q, lambda q: s.l(q))

    return hmap(attend, x)


@model()
def beam_with_cond(s, x):
    def body(i, t, score):
        values, _ = s.l(t).topk(2, -1)
        t = choose(t, lambda t: t * 0.9, lambda t: t + 0.3)
        return i + 1, t + values[:, :1], score + values.sum(-1)

    return while_loop(lambda i, t, c: (i < 5) & (c.sum() < 50), body, (zero(), x, torch.zeros(x.shape[0])))
