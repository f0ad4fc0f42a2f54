"""Structures of arguments, as programs record them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import torch.utils._pytree as pytree

#: The keys that lead to a leaf, as ``torch.utils._pytree`` gives them.
_Way = Sequence[Any]

#: The names of containers whose keys every reader knows.
_KNOWN = {
    "builtins.tuple",
    "builtins.list",
    "builtins.dict",
    "collections.OrderedDict",
    "collections.defaultdict",
    "collections.deque",
    "collections.namedtuple",
    "torch.fx.immutable_collections.immutable_list",
    "torch.fx.immutable_collections.immutable_dict",
}


def tree_text(spec: Any, named_tuples: dict[str, tuple[str, ...]], example: Any = None) -> str:
    """A structure as JSON. Containers that are not registered for saving are written by their types' names.

    `named_tuples` gets the fields of the named tuples that occur. `example` is a value of this structure: it tells the
    keys of containers of other classes, which a saved program has only if their registration adds them.
    """
    if hasattr(pytree, "_ensure_python_treespec_instance"):
        spec = pytree._ensure_python_treespec_instance(spec)
    return json.dumps([1, _Writer(named_tuples).tree(spec, _ways(spec, example), 0)], cls=pytree.EnumEncoder)


def _ways(spec: Any, example: Any) -> list[_Way] | None:
    """The keys that lead to each leaf of an example; `None` if it is not of this structure."""
    if example is None:
        return None
    try:
        leaves, structure = pytree.tree_flatten_with_path(example)
    except Exception:
        # A class without keys, or whose registration fails.
        return None
    return [way for way, _ in leaves] if structure == spec else None


class _Writer:
    """Writes a structure."""

    def __init__(self, named_tuples: dict[str, tuple[str, ...]]) -> None:
        self.named_tuples = named_tuples

    def tree(self, spec: Any, ways: list[_Way] | None, depth: int) -> dict[str, Any]:
        """A node whose leaves are at the ends of `ways`, `depth` steps below the root."""
        if spec.is_leaf():
            return {"type": None, "context": None, "children_spec": []}
        kind = spec.type
        # Before torch 2.11 these have other names.
        context = spec._context if hasattr(spec, "_context") else spec.context
        parts = spec._children if hasattr(spec, "_children") else spec.children_specs
        children, keys, start = [], [], 0
        for part in parts:
            within = ways[start : start + part.num_leaves] if ways is not None else None
            children.append(self.tree(part, within, depth + 1))
            keys.append(_name(within[0][depth]) if within else None)
            start += part.num_leaves
        registered = pytree.SUPPORTED_SERIALIZED_TYPES.get(kind)
        name = _type_name(kind, registered)
        if name not in _KNOWN and not dataclasses.is_dataclass(kind) and keys and None not in keys:
            written = json.dumps(keys)
        else:
            written = self.context(kind, context, getattr(registered, "to_dumpable_context", None))
        return {"type": name, "context": written, "children_spec": children}

    def context(self, kind: Any, context: Any, dump: Any) -> str:
        """What the registration of a container adds."""
        if hasattr(context, "_fields") and not dataclasses.is_dataclass(kind):
            of_class = pytree.SUPPORTED_SERIALIZED_TYPES.get(context)
            name = _type_name(context, of_class)
            self.named_tuples.setdefault(name, tuple(context._fields))
            return name
        try:
            text = dump(context) if dump is not None else json.dumps(context, cls=pytree.EnumEncoder)
            return text if isinstance(text, str) else json.dumps(text)
        except (TypeError, ValueError, KeyError, NotImplementedError):
            if dataclasses.is_dataclass(kind):
                return json.dumps([[field.name for field in dataclasses.fields(kind)], []])
            return "null"


def _type_name(kind: Any, registered: Any) -> str:
    name = getattr(registered, "serialized_type_name", None)
    if not isinstance(name, str) or name == pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        name = f"{kind.__module__}.{kind.__qualname__}"
    return name


def _name(key: Any) -> str | None:
    """A key that is a name: of an item or an attribute."""
    name = getattr(key, "key", None) if isinstance(key, pytree.MappingKey) else getattr(key, "name", None)
    return name if isinstance(name, str) else None
