"""Records which sizes torch accepts where positions that sizes decide are used as indices: `tests/data/spans/cases.jsonl`.

    python scripts/record_spans.py > tests/data/spans/cases.jsonl

A case is the lines of a graph on `x: f32[n, m]`, and for each pair of sizes whether torch runs it.
"""
import json

import torch

assert torch

A = "torch.ops.aten."
# Positions by name: lines that end in a value called `i`.
POSITIONS = {
    "arange": [f"i = {A}arange.default(n)"],
    "of the other size": [f"i = {A}arange.default(m)"],
    "from one": [f"i = {A}arange.start(1, n)"],
    "steps of two": [f"e = 2 * n", f"i = {A}arange.start_step(0, e, 2)"],
    "downwards": [f"i = {A}arange.start_step(n, 0, -1)"],
    "past": ["e = n + m", f"i = {A}arange.start(n, e)"],
    "negative": [f"a = {A}arange.default(n)", f"i = {A}sub.Tensor(a, 2)"],
    "negated": [f"a = {A}arange.default(n)", f"i = {A}neg.default(a)"],
    "from the other end": [f"a = {A}arange.default(n)", f"i = {A}rsub.Scalar(a, 3)"],
    "doubled": [f"a = {A}arange.default(n)", f"i = {A}mul.Tensor(a, 2)"],
    "halved": [f"a = {A}arange.default(n)", f"i = {A}floor_divide.default(a, 2)"],
    "quotient downwards": [f"a = {A}arange.start(-3, n)",
                           f"i = {A}div.Tensor_mode(a, 2, rounding_mode = \"floor\")"],
    "remainder": [f"a = {A}arange.default(n)", f"i = {A}remainder.Scalar(a, 3)"],
    "remainder of negative numbers": [f"a = {A}arange.start(-2, n)", f"i = {A}remainder.Scalar(a, 3)"],
    "clamped": [f"a = {A}arange.default(n)", f"i = {A}clamp.default(a, 1, 3)"],
    "clamped above": [f"a = {A}arange.default(n)", f"i = {A}clamp_max.default(a, 2)"],
    "lesser": [f"a = {A}arange.default(n)", f"b = {A}scalar_tensor.default(m, dtype = torch.int64)",
               f"i = {A}minimum.default(a, b)"],
    "slice": [f"a = {A}arange.default(n)", f"i = {A}slice.Tensor(a, 0, 1, m)"],
    "last ones": [f"a = {A}arange.default(n)", f"i = {A}slice.Tensor(a, 0, -2, 9223372036854775807)"],
    "every second": [f"a = {A}arange.default(n)", f"i = {A}slice.Tensor(a, 0, 1, 9223372036854775807, 2)"],
    "rows that are expanded": [f"a = {A}arange.default(n)", f"b = {A}unsqueeze.default(a, 0)",
                               f"c = {A}expand.default(b, [m, -1])", f"i = {A}reshape.default(c, [-1])"],
    "relative": [f"a = {A}arange.default(n)", f"b = {A}arange.default(m)", f"c = {A}unsqueeze.default(a, 1)",
                 f"d = {A}sub.Tensor(c, b)", f"i = {A}view.default(d, [-1])"],
    "with itself": [f"a = {A}arange.default(n)", f"i = {A}sub.Tensor(a, a)"],
    "counted": [f"a = {A}ones.default([n], dtype = torch.int64)", f"i = {A}cumsum.default(a, 0)"],
    "counted from zero": [f"a = {A}ones.default([n], dtype = torch.int64)", f"b = {A}cumsum.default(a, 0)",
                          f"i = {A}sub.Tensor(b, 1)"],
    "full": ["e = n - 1", f"i = {A}full.default([m], e)"],
    "zeros": [f"i = {A}zeros.default([m], dtype = torch.int64)"],
    "joined": [f"a = {A}arange.default(n)", f"b = {A}arange.start(0, 2)", f"i = {A}cat.default([a, b])"],
    "32 bits": [f"a = {A}arange.default(n)", f"i = {A}_to_copy.default(a, dtype = torch.int32)"],
    "repeated": [f"a = {A}arange.default(n)", f"i = {A}repeat.default(a, [2])"],
}
W = f"w = {A}zeros.default([4, 2])"
V = f"v = {A}zeros.default([m])"
LONG = f"j = {A}_to_copy.default(i, dtype = torch.int64)"
# As many floats as positions, and a row of them for each row of `x`.
EACH = f"s = {A}_to_copy.default(i, dtype = torch.float32)"
ROWS = [f"p = {A}sum.dim_IntList(x, [1], True)", f"q = {A}_to_copy.default(i, dtype = torch.float32)", f"s = {A}add.Tensor(p, q)"]
# Uses by operator.
USES = {
    "embedding": [W, f"r = {A}embedding.default(w, i)"],
    "embedding of rows": [f"r = {A}embedding.default(x, i)"],
    "embedding_bag": [W, f"o = {A}zeros.default([1], dtype = torch.int64)", f"t = {A}embedding_bag.default(w, i, o)", "r = t[0]"],
    "embedding_bag without a bag": [W, f"o = {A}zeros.default([0], dtype = torch.int64)", f"t = {A}embedding_bag.default(w, i, o)", "r = t[0]"],
    "index_select": [f"r = {A}index_select.default(x, 1, i)"],
    "index": [f"r = {A}index.Tensor(x, [None, i])"],
    "gather": [V, LONG, f"r = {A}gather.default(v, 0, j)"],
    "take": [LONG, f"r = {A}take.default(x, j)"],
    "one_hot": [LONG, f"r = {A}one_hot.default(j, 3)"],
    "index_add": [*ROWS, f"r = {A}index_add.default(x, 1, i, s)"],
    "index_copy": [LONG, *ROWS, f"r = {A}index_copy.default(x, 1, j, s)"],
    "index_fill": [LONG, f"r = {A}index_fill.int_Scalar(x, 1, j, 1.0)"],
    "index_put": [LONG, f"s = {A}zeros.default([])", f"r = {A}index_put.default(x, [None, j], s)"],
    "scatter": [V, LONG, f"r = {A}scatter.value(v, 0, j, 1.0)"],
    "scatter_add": [V, LONG, EACH, f"r = {A}scatter_add.default(v, 0, j, s)"],
}


def runs(lines, n, m):
    values = {"torch": torch, "x": torch.zeros(n, m), "n": n, "m": m}
    try:
        exec("\n".join(lines), values)
    except (RuntimeError, IndexError):
        return False
    return True


if __name__ == "__main__":
    sizes = [(n, m) for n in range(6) for m in range(6)]
    for position, made in POSITIONS.items():
        for use, used in USES.items():
            lines = made + used
            fails = [[n, m] for n, m in sizes if not runs(lines, n, m)]
            print(json.dumps({"case": f"{position}: {use}", "lines": lines, "fails": fails}))
