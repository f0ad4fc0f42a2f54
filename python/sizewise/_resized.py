"""Whether a module runs at other sizes than those of the example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Inputs with more elements than so many times the example's are not tried, nor are larger ones than the floor.
_MOST, _FLOOR = 16, 1 << 16


def runs_at(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, spec: Any, values: Mapping[Any, int]
) -> bool:
    """Whether a module runs on inputs with the example's data, at these sizes of a ShapesSpec's variables.

    Its buffers and torch's random numbers are as before.

    Parameters
    ----------
    values : mapping
        The variables' values, by sympy's symbols.
    """
    import torch
    from torch.fx.experimental._spec_binding import _bind_spec_to_args
    from torch.utils._pytree import tree_unflatten

    try:
        leaves, arguments, structure = _bind_spec_to_args(module, args, kwargs, spec)
        sizes = [_sizes(leaf, argument, values) for leaf, argument in zip(leaves, arguments)]
        if not all(_is_moderate(argument, size) for argument, size in zip(arguments, sizes)):
            return False
        inputs = [_resized(argument, size) for argument, size in zip(arguments, sizes)]
        positional, named = tree_unflatten(inputs, structure)
        buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.func.functional_call(module, buffers, positional, named)
    except Exception:
        return False
    return True


def _sizes(leaf: Any, argument: Any, values: Mapping[Any, int]) -> Any:
    """The shape of a tensor, or the value of an integer; `None` for what the spec does not free."""
    if leaf is None:
        return None
    if not hasattr(argument, "shape"):
        return _value(leaf, argument, values)
    return [_value(size, old, values) for size, old in zip(leaf, argument.shape)]


def _value(size: Any, old: int, values: Mapping[Any, int]) -> int:
    expression = getattr(size, "sympy_sym", None)
    if expression is None and hasattr(size, "node"):
        expression = size.node.expr
    return int(old) if expression is None else int(expression.xreplace(dict(values)))


def _is_moderate(argument: Any, sizes: Any) -> bool:
    if not isinstance(sizes, list):
        return True
    count = 1
    for size in sizes:
        count *= size
    return min(sizes, default=0) >= 0 and count <= max(_FLOOR, _MOST * argument.numel())


def _resized(argument: Any, sizes: Any) -> Any:
    """A tensor of other sizes, with the example's entries over and over; an integer as it is to be."""
    import torch

    if not isinstance(sizes, list):
        return argument if sizes is None else sizes
    for dim, size in enumerate(sizes):
        old = argument.shape[dim]
        if size != old and not old and size:
            return argument.new_zeros(sizes)
        if size != old:
            argument = argument.index_select(dim, torch.arange(size, device=argument.device) % max(old, 1))
    return argument
