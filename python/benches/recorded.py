"""Recorded programs: archives without weights, each beside a `truth.json` that says how the program ran."""

import ast
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch._export.serde.schema import ExportedProgram
from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass


def archives(folders: list[str], every: int = 1) -> list[Path]:
    """The archives in folders, every so many."""
    return [path for folder in folders for path in sorted(Path(folder).rglob("*.pt2"))][::every]


def truth(path: Path) -> dict[str, Any]:
    """What is recorded of a program; nothing where there is no record."""
    beside = path.with_name("truth.json")
    return json.loads(beside.read_text()) if beside.exists() else {}


def load(path: Path) -> Any:
    """The live program: as `torch.export.load` gives it, or without weights where the archive has none."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if any("/data/weights/weight_" in name for name in names):
            return torch.export.load(path)
        model = next(name for name in names if "/models/" in name and name.endswith(".json"))
        document = json.loads(archive.read(model))
    program = _dict_to_dataclass(ExportedProgram, document)
    state, constants = {}, {}
    for spec in program.graph_module.signature.input_specs:
        tag, value = spec.type, spec.value
        # Torch asks for something of each name, and does not look at what it is.
        if tag == "parameter":
            state[value.parameter_name] = torch.nn.Parameter(torch.empty(0), requires_grad=False)
        elif tag == "buffer":
            (state if value.persistent else constants)[value.buffer_name] = torch.empty(0)
        elif tag == "tensor_constant":
            constants[value.tensor_constant_name] = torch.empty(0)
        elif tag == "custom_obj":
            raise ValueError("an object without its weights")
    return ExportedProgramDeserializer().deserialize(program, state, constants)


def loaded(paths: list[Path]) -> Iterator[tuple[Path, Any, str | None]]:
    """Each path with its live program, or why torch does not load it."""
    for path in paths:
        try:
            yield path, load(path), None
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            yield path, None, f"{type(error).__name__}: {lines[0][:120]}"


def placed(values: dict[str, Any], inputs: list[dict[str, Any]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a call: each value at its path, such as `args[0]['a']`."""
    call: dict[Any, Any] = {"args": {}, "kwargs": {}}
    for described in inputs:
        if described["name"] in values:
            *way, last = keys(described["path"])
            place = call
            for key in way:
                place = place.setdefault(key, {})
            place[last] = values[described["name"]]
    return tuple(finished(call["args"])), {name: finished(value) for name, value in call["kwargs"].items()}


class Field(str):
    """The name of a field."""


def keys(path: str) -> list[Any]:
    """The parts of a path: `args[0]['a'].b` is `["args", 0, "a", "b"]`."""
    found: list[Any] = []
    tree: Any = ast.parse(path, mode="eval").body
    while not isinstance(tree, ast.Name):
        found.append(Field(tree.attr) if isinstance(tree, ast.Attribute) else ast.literal_eval(tree.slice))
        tree = tree.value
    return [tree.id, *reversed(found)]


def finished(value: Any) -> Any:
    """Lists where all keys are positions, and objects where they are fields."""
    if not isinstance(value, dict):
        return value
    items = {key: finished(item) for key, item in value.items()}
    if items and all(isinstance(key, int) for key in items):
        return [items.get(i) for i in range(max(items) + 1)]
    if items and all(isinstance(key, Field) for key in items):
        return SimpleNamespace(**items)
    return items
