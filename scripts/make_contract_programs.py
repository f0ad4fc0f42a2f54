"""Makes the programs of tests/data/contracts: what programs enforce, in the forms in which torch 2.15 records it.

    python scripts/make_contract_programs.py
"""

import io
import logging
import os
import pathlib
import warnings

import torch
import torch.utils._pytree as pytree
from torch import nn, randn
from torch.export import Dim

from make_user_programs import strip

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
AUTO = Dim.AUTO
OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "contracts"


def cache_class(name, key, context):
    """A class of two lists, registered as libraries register theirs: with keys, and a context of any form."""

    def __init__(self, keys, values):
        self.keys, self.values = keys, values

    cache = globals()[name] = type(name, (), {"__init__": __init__, "__module__": __name__})
    pytree.register_pytree_node(
        cache,
        lambda c: ([c.keys, c.values], context),
        lambda parts, _: cache(*parts),
        serialized_type_name=f"contracts.{name}",
        flatten_with_keys_fn=lambda c: ([(key("key_cache"), c.keys), (key("value_cache"), c.values)], context),
        to_dumpable_context=lambda c: c,
        from_dumpable_context=lambda c: c,
    )
    return cache


class Past(nn.Module):
    """At most 64 positions, which no operator asks for."""

    def forward(self, x, past=None):
        if x.shape[1] + past.keys[0].shape[1] > 64:
            raise ValueError
        return torch.cat([past.keys[0], x], 1) * 2, past.values[0] + 1


def pasts():
    for name, key, context in (
        ("names", pytree.MappingKey, ["key_cache", "value_cache"]),
        ("names_within", pytree.GetAttrKey, {"parts": ["key_cache", "value_cache"], "version": 1}),
        ("no_names", pytree.MappingKey, None),
        ("no_names_of_fields", pytree.GetAttrKey, 7),
    ):
        cache = cache_class(name, key, context)
        past = cache([randn(2, 5, 4)], [randn(2, 5, 4)])
        part = [{0: AUTO, 1: AUTO}]
        shapes = {"x": {0: AUTO, 1: AUTO}, "past": [part, part]}
        yield f"cache_{name}", Past(), (randn(2, 3, 4),), {"past": past}, shapes


class Keywords(nn.Module):
    def forward(self, *args, **kw):
        return args[0] + kw["z"]


class Powers(nn.Module):
    """Doubles of sizes with powers: 0.0 has no negative one."""

    def forward(self, x):
        return x * x.shape[0] ** -1, x * (x.shape[0] * 0.5) ** -0.5, x * x.shape[0] ** 0.5


class Branches(nn.Module):
    """The result has the size of x or that of y, as data decide."""

    def forward(self, x, y, p):
        return torch.cond(p, lambda x, y: x * 2, lambda x, y: y + 1, (x, y))


class Frozen(nn.Module):
    """A number that data decide is read while the program is traced."""

    def forward(self, x, lengths):
        return x[:, : int(lengths.max())].reshape(x.shape[0], -1, 2)


class Fifth(nn.Module):
    """Only a size of 1 leaves a number above 1 that the size makes 5."""

    def forward(self, a):
        u = a[0].item()
        torch._check(u > 1)
        torch._check(u * a.shape[0] == 5)
        return torch.ones(u)


def programs():
    yield from pasts()
    yield "kwargs", Keywords(), (randn(4),), {"z": randn(4)}, {"args": ({0: AUTO},), "kw": {"z": {0: AUTO}}}
    yield "powers", Powers(), (randn(4),), {}, ({0: AUTO},)
    sizes = ({1: Dim("m", min=1, max=9)}, {1: Dim("n", min=1, max=9)}, None)
    yield "branches", Branches(), (randn(5, 7), randn(5, 8), torch.tensor(True)), {}, sizes
    yield "fifth", Fifth(), (torch.randint(2, 10, (6,)),), {}, ({0: Dim("n", min=1, max=6)},)
    heads = ({0: AUTO, 2: AUTO},) * 3
    attention = (randn(2, 4, 5, 8), randn(2, 4, 9, 8), randn(2, 4, 6, 8))
    yield "attention", Attention(), attention, {}, heads
    yield "attention_of_groups", Attention(True), attention, {}, heads


class Attention(nn.Module):
    def __init__(self, grouped=False):
        super().__init__()
        self.grouped = grouped

    def forward(self, q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=self.grouped)


def save(program, name):
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    data = strip(buffer.getvalue(), os.path.abspath(__file__))
    (OUT / f"{name}.pt2").write_bytes(data)


def main():
    OUT.mkdir(exist_ok=True)
    torch.manual_seed(0)
    for name, module, args, kwargs, shapes in programs():
        save(torch.export.export(module, args, kwargs, dynamic_shapes=shapes), name)
    lengths = torch.tensor([3, 5, 8, 2])
    shapes = {"x": {0: AUTO, 1: AUTO}, "lengths": {0: AUTO}}
    draft = torch.export.draft_export(Frozen(), (randn(4, 10, 2), lengths), dynamic_shapes=shapes)
    save(draft, "frozen")


if __name__ == "__main__":
    main()
