"""The structure of the arguments of a program: which containers a call passes."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import zipfile
from typing import Any


#: The most bytes of a program's JSON that are read for its structure.
_MAX_BYTES = 1 << 28


def document(source: Any) -> bytes | None:
    """The JSON of a program, of a path or bytes: an archive has it as a file. `None` if there is none."""
    try:
        if not isinstance(source, (str, os.PathLike)) and bytes(source[:1]) == b"{":
            return bytes(source)
        with open(source, "rb") if isinstance(source, (str, os.PathLike)) else io.BytesIO(source) as file:
            if not zipfile.is_zipfile(file):
                file.seek(0)
                data = file.read(_MAX_BYTES + 1)
                return data if data.lstrip()[:1] == b"{" and len(data) <= _MAX_BYTES else None
            with zipfile.ZipFile(file) as archive:
                for entry in archive.infolist():
                    name = f"/{entry.filename}"
                    if name.endswith("/serialized_exported_program.json") or (
                        "/models/" in name and name.endswith(".json")
                    ):
                        return archive.read(entry) if entry.file_size <= _MAX_BYTES else None
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        pass
    return None


def structure(data: bytes | None) -> dict[str, Any] | None:
    """The structure of the positional and keyword arguments, as the JSON of a program records it."""
    if data is None:
        return None
    try:
        program = json.loads(data)
        entry = program["graph_module"]["module_call_graph"][0]
        tree = json.loads(entry["signature"]["in_spec"])[1]
        args, kwargs = tree["children_spec"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return tree if args["type"] == "builtins.tuple" and kwargs["type"] == "builtins.dict" else None


def _keys(node: dict[str, Any]) -> list[str] | None:
    """The names of a container's children, in order."""
    try:
        context = json.loads(node["context"])
    except (ValueError, TypeError):
        return None
    if isinstance(context, list) and len(context) == 2 and all(isinstance(part, list) for part in context):
        # A dataclass: its fields, and those that are `None`.
        context = context[0]
    if isinstance(context, list) and len(context) == len(node["children_spec"]):
        return [key if isinstance(key, str) else repr(key) for key in context]
    return None


@dataclasses.dataclass(frozen=True)
class Container:
    """A container that a call has to pass."""

    #: How Python reaches it from the arguments: ``args[0]['a']``.
    path: str
    kind: type
    length: int


def containers(tree: dict[str, Any]) -> list[Container]:
    """The tuples, lists and dictionaries among the arguments, outermost first."""
    args, kwargs = tree["children_spec"]
    keys = json.loads(kwargs["context"])
    stack = [(f"args[{i}]", node) for i, node in enumerate(args["children_spec"])]
    stack += [(f"kwargs[{key!r}]", node) for key, node in zip(keys, kwargs["children_spec"])]
    kinds = {"builtins.tuple": tuple, "builtins.list": list, "builtins.dict": dict}
    found = []
    while stack:
        path, node = stack.pop(0)
        kind = kinds.get(node["type"])
        if kind is None:
            # A container of another class is left to the places that its elements have.
            continue
        found.append(Container(path, kind, len(node["children_spec"])))
        steps = _keys(node) if kind is dict else list(range(len(node["children_spec"])))
        stack += [(f"{path}[{step!r}]", child) for step, child in zip(steps or [], node["children_spec"])]
    return found
