"""`ShapesSpec` and its parts (``torch.fx.experimental.dynamic_spec``), to the JSON of specs.

The JSON has ``vars`` (each with ``min`` and ``max``), ``params`` (which nests as the arguments do, sizes being names or
expressions over the variables), and ``assumptions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sizewise._errors import SpecError

_MODULE = "torch.fx.experimental.dynamic_spec"
_PARTS = ("ShapesSpec", "ParamsSpec", "TensorSpec", "SeqSpec", "DictSpec", "ObjectSpec", "IntVar", "ShapeVar")

#: What torch takes in the place of Python's containers.
_INSTEAD = {
    "list": "; write TensorSpec([...]) or SeqSpec([...])",
    "tuple": "; write TensorSpec([...]) or SeqSpec([...])",
    "dict": "; write DictSpec({...})",
}


def is_shapes_spec(value: Any) -> bool:
    """Whether a spec is in this language: one of its objects, or a container with one."""
    if any(kind.__module__ == _MODULE and kind.__name__ in _PARTS for kind in type(value).__mro__):
        return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return any(is_shapes_spec(part) for part in parts)


def shapes_json(spec: Any) -> dict[str, Any]:
    """The JSON of a `ShapesSpec`, a `ParamsSpec`, or a mapping that stands for one.

    Raises
    ------
    SpecError
        If something in it is no part of such a spec.
    """
    return Writer().spec(spec)


class Writer:
    """Writes a spec. Variables of one name that are not the same get names of their own."""

    def __init__(self) -> None:
        #: By sympy's symbol.
        self.names: dict[Any, str] = {}
        self.variables: dict[str, dict[str, Any]] = {}

    def spec(self, spec: Any) -> dict[str, Any]:
        params, assumptions = getattr(spec, "_params", spec), getattr(spec, "_assumptions", [])
        written = {} if params is None else self.params(params)
        texts = [self.expression(assumption, f"assumptions[{i}]") for i, assumption in enumerate(assumptions)]
        return {"vars": self.variables, "params": written, "assumptions": texts}

    def params(self, params: Any) -> dict[str, Any]:
        if isinstance(params, Mapping):
            named = {str(name): part for name, part in params.items()}
            return {name: self.argument(name, part) for name, part in named.items()}
        if type(params).__name__ != "ParamsSpec":
            raise SpecError(f"dynamic_shapes: expected a ShapesSpec, got {type(params).__name__}")
        written = {name: self.part(part, name) for name, part in params._named_args.items()}
        if params._varargs is not None:
            written["*args"] = self.argument("*args", params._varargs)
        if params._varkw is not None:
            written["**kwargs"] = self.argument("**kwargs", params._varkw)
        return written

    def argument(self, name: str, part: Any) -> Any:
        """What a parameter takes. Only the containers of ``*args`` and ``**kwargs`` are plain ones, as torch has it."""
        if name == "*args" and isinstance(part, (list, tuple)):
            return [self.part(entry, f"*args[{i}]") for i, entry in enumerate(part)]
        if name == "**kwargs" and isinstance(part, Mapping):
            return {str(key): self.part(entry, str(key)) for key, entry in part.items()}
        return self.part(part, name)

    def part(self, part: Any, path: str) -> Any:
        kind = type(part).__name__
        if part is None:
            return None
        if isinstance(part, int):
            return int(part)
        if hasattr(part, "node"):
            return self.expression(part, path)
        if kind == "TensorSpec":
            return [self.part(size, f"{path}.shape[{i}]") for i, size in enumerate(part)]
        if kind == "SeqSpec":
            return [self.part(entry, f"{path}[{i}]") for i, entry in enumerate(part._entries)]
        if kind in ("DictSpec", "ObjectSpec"):
            return {str(key): self.part(entry, f"{path}[{key!r}]") for key, entry in part.items()}
        raise SpecError(f"{path}: unexpected leaf spec type {kind}{_INSTEAD.get(kind, '')}")

    def expression(self, value: Any, path: str) -> str:
        """A size or condition over the variables, as text."""
        if hasattr(value, "sympy_sym"):
            self.declare(value)
        expr = value.node.expr
        unknown = expr.free_symbols - self.names.keys()
        for symbol in sorted(unknown, key=str):
            self.declare_symbol(symbol, value.node.shape_env, path)
        import sympy

        return str(expr.xreplace({symbol: sympy.Symbol(self.names[symbol]) for symbol in expr.free_symbols}))

    def declare(self, variable: Any) -> None:
        if variable.sympy_sym not in self.names:
            self.add(variable.sympy_sym, variable.name, variable.min, variable.max)

    def declare_symbol(self, symbol: Any, env: Any, path: str) -> None:
        """A variable that occurs in expressions only: its range is known to the environment of specs."""
        known = env.var_to_range.get(symbol)
        if known is None:
            raise SpecError(f"{path}: {symbol} is no IntVar or ShapeVar")
        low, high = (int(end) if end.is_Integer else None for end in (known.lower, known.upper))
        self.add(symbol, str(symbol).rpartition("#")[0], low, high)

    def add(self, symbol: Any, name: str, low: int | None, high: int | None) -> None:
        own, number = name, 1
        while own in self.variables:
            number += 1
            own = f"{name}_{number}"
        self.names[symbol] = own
        self.variables[own] = {"min": low, "max": high}
