"""Whether a module runs at other sizes than those of the example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sizewise._report import Report

#: The most counterexamples at which a module is run.
_MAX_RUNS = 8

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
    from torch.fx.experimental._spec_binding import _bind_spec_to_args
    from torch.utils._pytree import tree_unflatten

    try:
        leaves, arguments, structure = _bind_spec_to_args(module, args, kwargs, spec)
        sizes = [_sizes(leaf, argument, values) for leaf, argument in zip(leaves, arguments)]
        if not all(_is_moderate(argument, size) for argument, size in zip(arguments, sizes)):
            return False
        inputs = [_resized(argument, size) for argument, size in zip(arguments, sizes)]
        _run(module, *tree_unflatten(inputs, structure))
    except Exception:
        return False
    return True


def runs_at_shapes(module: Any, program: Any, shapes: Mapping[str, Any]) -> bool:
    """Whether a module runs on inputs with the data of a program's example, at these shapes by the names of inputs.

    It may also fail because of its data: then that it does not run says nothing of shapes.

    Parameters
    ----------
    program : ExportedProgram
        What was exported of the module.
    """
    from torch.utils._pytree import tree_flatten, tree_unflatten

    try:
        arguments, structure = tree_flatten(program.example_inputs)
        names = program.graph_signature.user_inputs
        sizes = [shapes.get(name) for name in names]
        if len(names) != len(arguments) or not all(map(_is_moderate, arguments, sizes)):
            return False
        _run(module, *tree_unflatten(list(map(_resized, arguments, sizes)), structure))
    except Exception:
        return False
    return True


def say_what_runs(report: Report, module: Any, program: Any) -> bool:
    """Adds a note on the counterexamples at which the module itself runs; whether there are such."""
    tried = [one for one in report.violations if one.inputs is not None][:_MAX_RUNS]
    runs = [one for one in tried if runs_at_shapes(module, program, one.inputs or {})]
    if not runs:
        return False
    sizes = ", ".join(f"{name}: {shape}" for name, shape in (runs[0].inputs or {}).items())
    of = "the counterexample" if len(tried) == 1 else f"{len(runs)} of {len(tried)} counterexamples"
    report.add_note("module-runs", f"the module itself runs at {of} ({sizes}): it is this export that refuses such sizes")
    return True


def _run(module: Any, args: Any, kwargs: Any) -> None:
    """Runs a module, and leaves its buffers and torch's random numbers as they are."""
    import torch

    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.func.functional_call(module, buffers, args, kwargs)


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
