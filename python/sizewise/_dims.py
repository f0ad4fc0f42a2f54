"""A spec of `Dim` objects as a `ShapesSpec` that says the same."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sizewise._errors import SpecError


def as_shapes(shapes: Any, module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> Any:
    """The `ShapesSpec` of what ``torch.export.export`` takes as ``dynamic_shapes``.

    A dimension that torch infers is a variable of its own. Where a dimension occurs only in derived ones, as the ``n``
    of ``2*n``, the first of these is the variable, and the rest is an assumption.

    Raises
    ------
    SpecError
        If the spec does not fit the arguments.
    """
    return _Dims(module, args, kwargs or {}).spec(shapes)


class _Dims:
    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.bound = inspect.signature(getattr(module, "forward", module)).bind(*args, **kwargs)
        self.variables: dict[str, Any] = {}
        self.assumptions: list[Any] = []

    def spec(self, shapes: Any) -> Any:
        from torch.fx.experimental.dynamic_spec import ParamsSpec, ShapesSpec

        entries = self.by_parameter(shapes)
        self.find_roots(entries)
        kinds = self.bound.signature.parameters
        params: dict[str, Any] = {}
        for name, value in self.bound.arguments.items():
            kind, entry = kinds[name].kind, entries.get(name)
            if kind is inspect.Parameter.VAR_POSITIONAL:
                parts = entry if entry is not None else [None] * len(value)
                params["*args"] = [self.part(e, v, f"{name}_{i}") for i, (e, v) in enumerate(zip(parts, value))]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                known = entry if entry is not None else entries
                params["**kwargs"] = {key: self.part(known.get(key), v, key) for key, v in value.items()}
            else:
                params[name] = self.part(entry, value, name)
        return ShapesSpec(ParamsSpec(params), assumptions=self.assumptions)

    def by_parameter(self, shapes: Any) -> dict[str, Any]:
        if shapes is None:
            return {}
        names = list(self.bound.arguments)
        if isinstance(shapes, Mapping):
            collected = [value for value in self.bound.arguments.values() if isinstance(value, dict)]
            known = {*names, *(key for value in collected for key in value)}
            for name in shapes:
                if name not in known:
                    raise SpecError(f"dynamic_shapes: there is no argument {name!r}; there are {', '.join(names)}")
            return dict(shapes)
        if not isinstance(shapes, (list, tuple)) or len(shapes) > len(names):
            raise SpecError(f"dynamic_shapes: expected entries for {', '.join(names)}")
        return dict(zip(names, shapes))

    def find_roots(self, entries: Any) -> None:
        """Makes variables of the dimensions that occur by themselves: others can be said by these."""
        stack = [entries]
        while stack:
            entry = stack.pop()
            if _is_named(entry):
                self.named(entry)
            elif isinstance(entry, Mapping):
                stack.extend(reversed(list(entry.values())))
            elif isinstance(entry, (list, tuple)):
                stack.extend(reversed(entry))

    def part(self, entry: Any, value: Any, path: str) -> Any:
        """The part of the spec for one argument, or a part of it."""
        from torch.fx.experimental.dynamic_spec import DictSpec, ObjectSpec, SeqSpec, TensorSpec
        from torch.utils._pytree import SUPPORTED_NODES, GetAttrKey, _get_node_type

        if entry is None:
            return None
        if hasattr(value, "shape"):
            sizes = entry if isinstance(entry, Mapping) else dict(enumerate(entry))
            beyond = [dim for dim in sizes if not -len(value.shape) <= dim < len(value.shape)]
            if beyond:
                raise SpecError(f"{path}: a tensor of {len(value.shape)} dimensions has no dimension {beyond[0]}")
            return TensorSpec([self.size(sizes.get(i), f"{path}_{i}") for i in range(len(value.shape))])
        if isinstance(value, (list, tuple)):
            return SeqSpec([self.part(e, v, f"{path}_{i}") for i, (e, v) in enumerate(zip(entry, value))])
        if isinstance(value, Mapping):
            return DictSpec({key: self.part(entry.get(key), v, f"{path}_{key}") for key, v in value.items()})
        known = SUPPORTED_NODES.get(_get_node_type(value))
        if known is None or known.flatten_with_keys_fn is None:
            return self.size(entry, path, of_integer=True)
        children, _ = known.flatten_with_keys_fn(value)
        parts = list(entry.values()) if isinstance(entry, Mapping) else list(entry)
        named = [(key.name, e, v) for (key, v), e in zip(children, parts) if isinstance(key, GetAttrKey)]
        return ObjectSpec({name: self.part(e, v, f"{path}_{name}") for name, e, v in named})

    def size(self, entry: Any, path: str, of_integer: bool = False) -> Any:
        """A size, or an integer argument."""
        kind = type(entry).__name__
        if entry is None or type(entry) is int:
            return entry
        if kind == "_StaticDim":
            return int(entry.value)
        if kind == "_DimHint":
            return None if entry.type.name == "STATIC" else self.variable(path, entry.min, entry.max, of_integer)
        if kind == "_DerivedDim":
            return self.derived(entry, path)
        return self.named(entry)

    def named(self, dim: Any) -> Any:
        name = dim.__name__
        return self.variables[name] if name in self.variables else self.variable(name, *_range(dim))

    def variable(self, name: str, low: int | None, high: int | None, of_integer: bool = False) -> Any:
        from torch.fx.experimental.dynamic_spec import IntVar, ShapeVar

        own = name
        while own in self.variables:
            own += "_"
        made = IntVar(own, min=low, max=high) if of_integer else ShapeVar(own, min=low or 0, max=high)
        self.variables[own] = made
        return made

    def derived(self, dim: Any, path: str) -> Any:
        """A derived dimension: ``a*root + c``."""
        root = dim.root
        if root.__name__ in self.variables:
            return dim.fn(self.variables[root.__name__])
        shift = dim.fn(0)
        factor = dim.fn(1) - shift
        low, high = _range(root)
        made = self.variable(path, dim.fn(low or 0), None if high is None else dim.fn(high))
        if factor != 1:
            self.assumptions.append((made - shift) % factor == 0)
        self.variables[root.__name__] = (made - shift) // factor if factor != 1 else made - shift
        return made


def _is_named(entry: Any) -> bool:
    return type(entry).__name__ == "Dim"


def _range(dim: Any) -> tuple[int | None, int | None]:
    high = dim.max if isinstance(dim.max, int) and dim.max < 2**62 else None
    return int(dim.min), high
