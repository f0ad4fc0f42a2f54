"""`dynamic_shapes` as torch.export takes it, to the JSON of specs and back."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any

from sizewise._errors import SpecError
from sizewise._shapes import is_shapes_spec, shapes_json

#: The words for dimensions without names.
_HINTS = ("AUTO", "DYNAMIC", "STATIC")


def to_json(shapes: Any) -> str:
    """The JSON of a spec.

    Parameters
    ----------
    shapes : object
        What ``torch.export.export`` takes as ``dynamic_shapes``, or a spec as JSON is read.

    Raises
    ------
    SpecError
        If something in it is no entry of a spec.
    """
    written = shapes_json(shapes) if is_shapes_spec(shapes) else _plain(shapes, "dynamic_shapes")
    return json.dumps(written)


def _plain(value: Any, path: str) -> Any:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        if value in _HINTS:
            return value
        raise SpecError(f"{path}: {value!r} is none of {', '.join(_HINTS)}; a named dimension is a torch.export.Dim")
    entry = _entry(value)
    if entry is not None:
        return entry
    if isinstance(value, Mapping):
        if is_entry(value) or value.keys() == {"dynamic_shapes", "dims"}:
            # As the JSON of specs has it.
            return dict(value)
        return {_key(key): _plain(item, f"{path}[{key!r}]") for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: _plain(getattr(value, field.name), f"{path}.{field.name}") for field in fields}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{i}]") for i, item in enumerate(value)]
    children = _children(value)
    if children is None:
        raise SpecError(f"{path}: expected a Dim, an int, None or a container of these, got {type(value).__name__}")
    return [_plain(item, f"{path}[{i}]") for i, item in enumerate(children)]


def _entry(value: Any) -> Any:
    """The entry of a `torch.export.Dim` or a hint."""
    kind = type(value).__name__
    if kind == "_DimHint":
        if value.min is None and value.max is None:
            return value.type.name
        return {"hint": value.type.name, "min": value.min, "max": value.max}
    if kind == "_StaticDim":
        return int(value.value)
    if kind == "_DerivedDim":
        return {"derived": value.__name__, "root": _named(value.root)}
    if kind == "Dim" or any(base.__name__ == "Dim" for base in type(value).__mro__):
        return _named(value)
    if kind == "_DimMeta" or (isinstance(value, type) and hasattr(value, "min") and hasattr(value, "max")):
        # Before torch 2.6, dimensions were classes.
        root = getattr(value, "root", None)
        return _named(value) if root is None else {"derived": value.__name__, "root": _named(root)}
    return None


def _named(dim: Any) -> dict[str, Any]:
    high = dim.max
    unbounded = not isinstance(high, int) or high >= sys.maxsize - 1
    return {"dim": dim.__name__, "min": int(dim.min), "max": None if unbounded else int(high)}


def _key(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)


def _children(value: Any) -> list[Any] | None:
    """The parts of a registered container."""
    pytree = sys.modules.get("torch.utils._pytree")
    registered = None if pytree is None else pytree.SUPPORTED_NODES.get(type(value))
    return None if registered is None else list(registered.flatten_fn(value)[0])


def is_entry(tree: Any) -> bool:
    """Whether a part of a spec's JSON is the entry of a dimension or a number."""
    if not isinstance(tree, Mapping):
        return not isinstance(tree, (list, tuple))
    if tree.keys() <= {"hint", "min", "max"}:
        return isinstance(tree.get("hint"), str)
    if tree.keys() <= {"dim", "min", "max"}:
        return isinstance(tree.get("dim"), str) and tree["dim"] not in _HINTS
    return tree.keys() in ({"derived", "root"}, {"derived", "roots"}) and isinstance(tree["derived"], str)


def to_objects(code: str) -> Any:
    """What ``torch.export.export`` takes, of the Python text of a spec. The text is interpreted and never run.

    Raises
    ------
    SpecError
        If torch takes no such dimensions.
    """
    from torch.export import Dim

    reader = _Reader(Dim)
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            reader.names[statement.targets[0].id] = reader.value(statement.value)
        elif isinstance(statement, ast.ImportFrom) and statement.module != "torch.export":
            for alias in statement.names:
                reader.classes[alias.name] = f"{statement.module}.{alias.name}"
    return reader.names["dynamic_shapes"]


_SHAPES = "torch.fx.experimental.dynamic_spec"
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}


class _Reader:
    """Makes the objects of a spec."""

    def __init__(self, dim: Any) -> None:
        self.dim = dim
        self.names: dict[str, Any] = {}
        self.classes: dict[str, str] = {}

    def value(self, node: ast.expr) -> Any:
        """The object that an expression stands for."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.names[node.id]
        if isinstance(node, ast.Attribute):
            return getattr(self.dim, node.attr)
        if isinstance(node, ast.Call):
            args = [self.value(arg) for arg in node.args]
            return self._called(node.func)(*args, **{item.arg or "": self.value(item.value) for item in node.keywords})
        if isinstance(node, ast.Dict):
            return {self.value(key): self.value(item) for key, item in zip(node.keys, node.values) if key is not None}
        if isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.BinOp):
            left, right = self.value(node.left), self.value(node.right)
            return _of_variables(node, left, right) if self.is_shapes else _of_dim(node, left, right)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return _operator(node, node.ops[0])(self.value(node.left), self.value(node.comparators[0]))
        if isinstance(node, ast.UnaryOp):
            return _operator(node, node.op)(self.value(node.operand))
        raise SpecError(f"{ast.unparse(node)!r} stands for no dimension")

    @property
    def is_shapes(self) -> bool:
        """Whether the spec is a ShapesSpec, whose variables take any operator."""
        return any(name.startswith(f"{_SHAPES}.") for name in self.classes.values())

    def _called(self, node: ast.expr) -> Callable[..., Any]:
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("torch.sym_max", "torch.sym_min"):
            import torch

            function: Callable[..., Any] = getattr(torch, node.attr)
            return function
        if isinstance(node, ast.Name) and node.id == "abs" and self.is_shapes:
            return abs
        if isinstance(node, ast.Name) and self.classes.get(node.id) == f"{_SHAPES}.{node.id}":
            return _of_shapes(node.id)
        if isinstance(node, ast.Name):
            return self.dim if node.id == "Dim" else _named_tuple(self.classes.get(node.id, f"__main__.{node.id}"))
        made: Callable[..., Any] = self.value(node)
        return made


def _operator(node: ast.expr, sign: ast.AST) -> Callable[..., Any]:
    """What an operator of an expression does."""
    if type(sign) not in _OPERATORS:
        raise SpecError(f"{ast.unparse(node)!r} stands for no dimension")
    return _OPERATORS[type(sign)]


def _of_variables(node: ast.BinOp, left: Any, right: Any) -> Any:
    """A size that is computed from variables of a ShapesSpec: ``n // m + 1``."""
    try:
        return _operator(node, node.op)(left, right)
    except TypeError as error:
        raise SpecError(f"torch's specs have no {ast.unparse(node)!r}") from error


def _of_dim(node: ast.BinOp, left: Any, right: Any) -> Any:
    """A dimension that is computed from a `Dim`: ``2*b + 1``."""
    name = {ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__"}.get(type(node.op))
    if name is None:
        raise SpecError(f"{ast.unparse(node)!r} stands for no dimension")
    if isinstance(left, int) and name == "__mul__":
        left, right = right, left
    if not isinstance(right, int):
        raise SpecError(f"{ast.unparse(node)!r} is of several dimensions, which torch.export takes none of")
    return getattr(left, name)(right)


def _of_shapes(name: str) -> Callable[..., Any]:
    """A class of torch's ShapesSpec."""
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(_SHAPES), name)
    except (ImportError, AttributeError):
        raise SpecError("this release of torch has no ShapesSpec") from None
    return found


def _named_tuple(name: str) -> Callable[..., Any]:
    """The class of a named tuple, as torch or Python knows it."""
    pytree = sys.modules.get("torch.utils._pytree")
    module, _, own = name.rpartition(".")
    known = getattr(pytree, "SERIALIZED_TYPE_TO_PYTHON_TYPE", {}).get(name)
    found = known or getattr(sys.modules.get(module), own, None)
    if found is None or not hasattr(found, "_fields"):
        raise SpecError(f"no named tuple {name!r} is known here")
    made: Callable[..., Any] = found
    return made
