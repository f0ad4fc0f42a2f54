"""Structures of arguments, as programs record them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import torch.utils._pytree as pytree


def tree_text(spec: Any, named_tuples: dict[str, tuple[str, ...]]) -> str:
    """A structure as JSON. Containers that are not registered for saving are written by their types' names.

    `named_tuples` gets the fields of the named tuples that occur.
    """
    if hasattr(pytree, "_ensure_python_treespec_instance"):
        spec = pytree._ensure_python_treespec_instance(spec)
    return json.dumps([1, _tree(spec, named_tuples)], cls=pytree.EnumEncoder)


def _tree(spec: Any, named_tuples: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    kind, context = spec.type, spec._context
    registered = pytree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    name = getattr(registered, "serialized_type_name", None)
    if not isinstance(name, str) or name == pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        name = f"{kind.__module__}.{kind.__qualname__}"
    if kind is pytree.namedtuple or pytree.is_namedtuple_class(kind):
        fields = getattr(context, "_fields", ())
        of_class = pytree.SUPPORTED_SERIALIZED_TYPES.get(context)
        class_name = getattr(of_class, "serialized_type_name", None) or f"{context.__module__}.{context.__qualname__}"
        named_tuples.setdefault(class_name, tuple(fields))
    dump = getattr(registered, "to_dumpable_context", None)
    children = [_tree(child, named_tuples) for child in spec._children]
    return {"type": name, "context": _context(kind, context, dump), "children_spec": children}


def _context(kind: Any, context: Any, dump: Any) -> str:
    try:
        text = dump(context) if dump is not None else json.dumps(context, cls=pytree.EnumEncoder)
        return text if isinstance(text, str) else json.dumps(text)
    except (TypeError, ValueError, KeyError, NotImplementedError):
        if dataclasses.is_dataclass(kind):
            return json.dumps([[field.name for field in dataclasses.fields(kind)], []])
        return "null"
