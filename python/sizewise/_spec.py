"""`dynamic_shapes` as torch.export takes it, to the JSON of specs and back."""

from __future__ import annotations

import ast
import dataclasses
import json
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
    return [_plain(item, f"{path}[{i}]") for i, item in enumerate(children[0])]


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


def _children(value: Any) -> tuple[list[Any], Any] | None:
    """The parts of a registered container, and what builds it from others."""
    pytree = sys.modules.get("torch.utils._pytree")
    registered = None if pytree is None else pytree.SUPPORTED_NODES.get(type(value))
    if registered is None:
        return None
    children, context = registered.flatten_fn(value)
    return list(children), lambda parts: registered.unflatten_fn(parts, context)


class Dims:
    """Dimensions by name, each made once."""

    def __init__(self) -> None:
        from torch.export import Dim

        self.dim: Any = Dim
        self.made: dict[str, Any] = {}

    def entry(self, entry: Any) -> Any:
        """The object of an entry."""
        if entry is None or isinstance(entry, int):
            return entry
        if isinstance(entry, str):
            return getattr(self.dim, entry)
        if "hint" in entry:
            return getattr(self.dim, entry["hint"])(min=entry.get("min"), max=entry.get("max"))
        if "roots" in entry:
            raise SpecError(f"{entry['derived']!r} is of several dimensions, which torch.export takes none of")
        if "derived" in entry:
            root = self.entry(entry["root"])
            a, b = linear(entry["derived"], entry["root"]["dim"])
            scaled = root if a == 1 else a * root
            return scaled if b == 0 else (scaled + b if b > 0 else scaled - -b)
        name = entry["dim"]
        if name not in self.made:
            self.made[name] = self.dim(name, min=entry.get("min"), max=entry.get("max"))
        return self.made[name]


def linear(text: str, name: str) -> tuple[int, int]:
    """`a` and `b` of the text of `a*name + b`."""
    tree = ast.parse(text, mode="eval").body

    def value(node: ast.expr) -> tuple[int, int]:
        if isinstance(node, ast.Name) and node.id == name:
            return 1, 0
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return 0, node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            a, b = value(node.operand)
            return -a, -b
        if isinstance(node, ast.BinOp):
            (a, b), (c, d) = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return a + c, b + d
            if isinstance(node.op, ast.Sub):
                return a - c, b - d
            if isinstance(node.op, ast.Mult) and 0 in (a, c):
                return a * d + b * c, b * d
        raise SpecError(f"{text!r} is not of the form a*{name} + b")

    return value(tree)


def is_entry(tree: Any) -> bool:
    """Whether a part of a spec's JSON is the entry of a dimension or a number."""
    if not isinstance(tree, Mapping):
        return not isinstance(tree, (list, tuple))
    if tree.keys() <= {"hint", "min", "max"}:
        return isinstance(tree.get("hint"), str)
    if tree.keys() <= {"dim", "min", "max"}:
        return isinstance(tree.get("dim"), str) and tree["dim"] not in _HINTS
    return tree.keys() in ({"derived", "root"}, {"derived", "roots"}) and isinstance(tree["derived"], str)


def rebuilt(tree: Any, template: Any, entry: Callable[[Any], Any]) -> Any:
    """A spec's JSON with the containers of a template, and what `entry` makes of its entries."""
    if is_entry(tree):
        return entry(tree)
    if isinstance(tree, dict):
        if isinstance(template, Mapping):
            keys = {_key(key): key for key in template}
            return {keys.get(k, k): rebuilt(v, template.get(keys.get(k, k)), entry) for k, v in tree.items()}
        if dataclasses.is_dataclass(template) and not isinstance(template, type):
            fields = {k: rebuilt(v, getattr(template, k, None), entry) for k, v in tree.items()}
            return dataclasses.replace(template, **fields)
        integers = bool(tree) and all(key.isdigit() for key in tree)
        return {int(k) if integers else k: rebuilt(v, None, entry) for k, v in tree.items()}
    parts = list(template) if isinstance(template, (list, tuple)) else []
    items = [rebuilt(item, parts[i] if i < len(parts) else None, entry) for i, item in enumerate(tree)]
    if isinstance(template, Mapping):
        # The spec of a tensor that was a dictionary by dimension.
        return {i: item for i, item in enumerate(items) if i in template or item is not None}
    if isinstance(template, tuple):
        return type(template)(*items) if hasattr(template, "_fields") else tuple(items)
    if template is not None and not isinstance(template, list):
        children = _children(template)
        if children is not None:
            inner = [rebuilt(part, known, entry) for part, known in zip(tree, children[0])]
            return children[1](inner)
    return items


def to_objects(tree: Any, template: Any = None) -> Any:
    """What ``torch.export.export`` takes, of a spec's JSON; containers are those of a template where there is one."""
    return rebuilt(tree, template, Dims().entry)


class _Code:
    """Text that prints as itself."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def to_code(tree: Any, template: Any = None) -> str:
    """Python to paste: the dimensions, then ``dynamic_shapes``."""
    dims: dict[str, str] = {}

    def declare(dim: dict[str, Any]) -> str:
        name = dim["dim"]
        bounds = "".join(f", {key}={dim[key]}" for key in ("min", "max") if dim.get(key) is not None)
        dims.setdefault(name, f"{name} = Dim({name!r}{bounds})")
        return str(name)

    def entry(e: Any) -> Any:
        if e is None or isinstance(e, int):
            return e
        if isinstance(e, str):
            return _Code(f"Dim.{e}")
        if "hint" in e:
            bounds = ", ".join(f"{key}={e[key]}" for key in ("min", "max") if e.get(key) is not None)
            return _Code(f"Dim.{e['hint']}({bounds})")
        if "derived" in e:
            for root in e.get("roots") or [e["root"]]:
                declare(root)
            return _Code(e["derived"])
        return _Code(declare(e))

    shapes = rebuilt(tree, template, entry)
    return "\n".join([*dims.values(), f"dynamic_shapes = {shapes!r}"])
