"""A `ShapesSpec` from example calls: what varies, and which relations the examples show."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sizewise._check import Spec
from sizewise._errors import SpecError
from sizewise._relations import Slot, relations

#: What the code of a spec imports; variables have other names.
_IMPORTED = ("DictSpec", "IntVar", "ObjectSpec", "ParamsSpec", "SeqSpec", "ShapeVar", "ShapesSpec", "TensorSpec")


def spec_from_examples(module: Any, examples: Sequence[Any]) -> Spec:
    """A `ShapesSpec` that the examples show: sizes and integers that differ are variables, all others are static.

    - Sizes that are equal in all examples have one variable. (Integers: if they have three different values.)
    - A size that is ``a*v + c`` in all examples, for three different values of ``v``, is this expression. Where no
      factor is whole (``3*x == 2*y``), it is an assumption.
    - A size that is ``u + v``, ``u*v``, or ``u*u`` in all examples, at least three of which differ in ``u`` and ``v``,
      is this expression, if it is the only one.
    - A size that is ``(v + c) // k`` for four different values of ``v`` is this expression, if ``c`` and ``k`` are the
      only ones.
    - A variable that leaves one remainder for a divisor has the assumption ``v % k == c`` with the largest ``k``: three
      different values show it, or four for ``k == 2``, as three are all even or all odd by accident too often.

    With two examples only equal sizes are found, as any two points are on a line. Sizes are 1 or more unless an example
    has a 0, integers 0 or more unless an example has a negative one; no upper bounds are inferred. A variable is named
    by the first place that has it: ``x_0`` is dimension 0 of ``x``.

    Parameters
    ----------
    module : torch.nn.Module or callable
        What is called; it is not run. torch is not needed.
    examples : sequence
        A tuple of arguments for each call, or a pair of such a tuple and a dictionary of keyword arguments. A pair of a
        tuple and a dictionary is the latter wherever the signature allows; write ``(args, {})`` for the former.

    Returns
    -------
    Spec
        Its ``code`` is the text, its ``dynamic_shapes`` the object for ``torch.export.export``. It is not proved: export
        with it, and `check` the program with it.

    Raises
    ------
    SpecError
        If there is no example, a call does not fit the signature, or examples differ in what no spec can say:
        structures, ranks, dtypes, and values that are no integers.
    """
    if not isinstance(examples, (list, tuple)) or not examples:
        raise SpecError("examples: at least one call is needed, as a tuple of arguments or as (args, kwargs)")
    signature = inspect.signature(getattr(module, "forward", module))
    calls = [_call(signature, example, f"examples[{i}]") for i, example in enumerate(examples)]
    reader = _Reader()
    params = {name: reader.part([call.get(name, _ABSENT) for call in calls], name) for name in _names(calls)}
    found = relations(reader.slots, {*_IMPORTED, *keyword.kwlist})
    return _Writer(found.expressions, found.variables, found.assumptions).spec(params)


#: Where an example has nothing.
_ABSENT: Any = object()


def _names(calls: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for call in calls for name in call))


def _call(signature: inspect.Signature, example: Any, place: str) -> dict[str, Any]:
    """The arguments of a call by the keys that a ``ParamsSpec`` has for them."""
    if not isinstance(example, tuple):
        raise SpecError(f"{place}: expected a tuple of arguments or (args, kwargs), got {type(example).__name__}")
    error = None
    for args, kwargs in _readings(example):
        try:
            signature.bind(*args, **kwargs)
        except TypeError as refusal:
            error = error or refusal
            continue
        return _by_name(signature, args, kwargs)
    raise SpecError(f"{place}: the call does not fit the signature: {error}")


def _readings(example: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    if len(example) == 2 and isinstance(example[0], tuple) and isinstance(example[1], dict):
        if all(isinstance(key, str) for key in example[1]):
            yield example[0], example[1]
    yield example, {}


def _by_name(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    kinds = inspect.Parameter
    parameters = list(signature.parameters.values())
    positional = [one.name for one in parameters if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    named = dict(zip(positional, args))
    if len(args) > len(positional):
        named["*args"] = list(args[len(positional) :])
    own = {one.name for one in parameters if one.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
    named.update({name: value for name, value in kwargs.items() if name in own})
    rest = {name: value for name, value in kwargs.items() if name not in own}
    if rest:
        named["**kwargs"] = rest
    return named


@dataclasses.dataclass
class _Part:
    """A part of the arguments: a container, a tensor whose sizes are slots, an integer, or what is static."""

    kind: str
    entries: list[tuple[Any, _Part | int]]

    @property
    def is_static(self) -> bool:
        return all(isinstance(entry, _Part) and entry.is_static for _, entry in self.entries)


_STATIC = _Part("static", [])


class _Reader:
    """Reads the examples side by side. A slot is a size or an integer that differs."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []

    def part(self, values: list[Any], path: str) -> _Part:
        """What all examples have in one place."""
        absent = [i for i, value in enumerate(values) if value is _ABSENT]
        if absent:
            raise SpecError(f"{path}: examples[{absent[0]}] has no such argument; others have")
        first = values[0]
        if _is_tensor(first):
            return self.tensor(values, path)
        self.agree(path, [_kind(value) for value in values])
        if type(first) is int:
            return _Part("int", [(None, entry)]) if isinstance(entry := self.slot(values, path), int) else _STATIC
        kind, keys = _keys(first)
        if kind == "value":
            self.agree(path, values, repr)
            return _STATIC
        self.agree(path, [_keys(value)[1] for value in values], _listed)
        entries: list[tuple[Any, _Part | int]] = []
        for key in keys:
            items = [_item(value, kind, key) for value in values]
            entries.append((key, self.part(items, _step(path, kind, key))))
        part = _Part(kind, entries)
        if kind == "other" and not part.is_static:
            raise SpecError(f"{path}: a ShapesSpec has no entry for a {type(first).__name__}, and its sizes differ")
        return part

    def tensor(self, values: list[Any], path: str) -> _Part:
        self.agree(path, [_kind(value) for value in values])
        self.agree(path, [str(value.dtype) for value in values])
        shapes = [tuple(int(size) for size in value.shape) for value in values]
        self.agree(path, [f"{len(shape)} dimensions" for shape in shapes])
        sizes = zip(*shapes)
        entries = [(i, self.slot(list(each), f"{path}.shape[{i}]", True)) for i, each in enumerate(sizes)]
        return _Part("tensor", list(entries))

    def slot(self, values: list[int], path: str, is_size: bool = False) -> _Part | int:
        """The number of a slot, if the values differ."""
        if len(set(values)) == 1:
            return _STATIC
        self.slots.append(Slot(_identifier(path), tuple(values), is_size))
        return len(self.slots) - 1

    @staticmethod
    def agree(path: str, of_each: list[Any], shown: Callable[[Any], str] = str) -> None:
        """Refuses what differs between examples and is no size or integer."""
        first = of_each[0]
        for i, of_one in enumerate(of_each):
            if not _same(of_one, first):
                raise SpecError(f"{path}: {shown(first)} in examples[0], {shown(of_one)} in examples[{i}]")


def _listed(keys: list[Any]) -> str:
    if keys == list(range(len(keys))):
        return f"{len(keys)} entries"
    return f"the entries {', '.join(map(str, keys))}"


def _same(value: Any, other: Any) -> bool:
    try:
        return type(value) is type(other) and bool(value == other)
    except Exception:
        # What cannot be compared is not known to differ; the export decides.
        return True


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _kind(value: Any) -> str:
    return "a tensor" if _is_tensor(value) else type(value).__name__


def _keys(value: Any) -> tuple[str, list[Any]]:
    """The kind of container, and the keys of its parts."""
    if isinstance(value, Mapping):
        return "dict", list(value)
    if isinstance(value, (list, tuple)):
        return "seq", list(range(len(value)))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "object", [field.name for field in dataclasses.fields(value) if getattr(value, field.name) is not None]
    registered = _registered(value)
    if registered is None:
        return "value", []
    keys = [getattr(key, "name", None) for key, _ in registered]
    return ("object", keys) if keys and None not in keys else ("other", list(range(len(registered))))


def _registered(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a container that is registered with torch, with the keys that torch has for them."""
    pytree = sys.modules.get("torch.utils._pytree")
    node = None if pytree is None else pytree.SUPPORTED_NODES.get(type(value))
    if node is None:
        return None
    if node.flatten_with_keys_fn is None:
        return [(None, part) for part in node.flatten_fn(value)[0]]
    return list(node.flatten_with_keys_fn(value)[0])


def _item(value: Any, kind: str, key: Any) -> Any:
    if kind == "other":
        return (_registered(value) or [])[key][1]
    return getattr(value, key) if kind == "object" else value[key]


def _step(path: str, kind: str, key: Any) -> str:
    return f"{path}.{key}" if kind == "object" else f"{path}[{key!r}]"


def _identifier(path: str) -> str:
    """``d['k'].shape[0]`` is ``d_k_0``, and ``**kwargs['z'].shape[1]`` is ``z_1``."""
    name = re.sub(r"\W+", "_", path.removeprefix("**kwargs").replace(".shape", "")).strip("_")
    return f"_{name}" if name[:1].isdigit() else name


_CLASSES = {"seq": ("SeqSpec([", "])"), "dict": ("DictSpec({", "})"), "object": ("ObjectSpec({", "})")}


class _Writer:
    """Writes a spec, as JSON and as Python."""

    def __init__(self, expressions: list[str], variables: dict[str, Any], assumptions: list[str]) -> None:
        self.expressions, self.variables, self.assumptions = expressions, variables, assumptions
        self.used = {"ParamsSpec", "ShapesSpec"}

    def spec(self, params: dict[str, _Part]) -> Spec:
        ends = {name: (variable.low, variable.high) for name, variable in self.variables.items()}
        tree = {
            "vars": {name: {"min": low, "max": high} for name, (low, high) in ends.items()},
            "params": {name: self.json(part) for name, part in params.items()},
            "assumptions": self.assumptions,
        }
        lines = [f"        {name!r}: {self.python(part, name)},\n" for name, part in params.items()]
        declared = "".join(self.declaration(name) for name in self.variables)
        assumed = f"    assumptions=[{', '.join(self.assumptions)}],\n" if self.assumptions else ""
        code = (
            f"from torch.fx.experimental.dynamic_spec import {', '.join(sorted(self.used))}\n\n{declared}\n"
            f"dynamic_shapes = ShapesSpec(\n    params=ParamsSpec({{\n{''.join(lines)}    }}),\n{assumed})"
        )
        return Spec(tree, None, code)

    def declaration(self, name: str) -> str:
        variable = self.variables[name]
        kind = "ShapeVar" if variable.is_size else "IntVar"
        self.used.add(kind)
        usual = 0 if variable.is_size else None
        least = "" if variable.low == usual else f", min={variable.low}"
        return f"{name} = {kind}({name!r}{least})\n"

    def json(self, part: _Part | int) -> Any:
        if isinstance(part, int):
            return self.expressions[part]
        if part.is_static:
            return None
        if part.kind == "int":
            return self.json(part.entries[0][1])
        if part.kind in ("tensor", "seq"):
            return [self.json(entry) for _, entry in part.entries]
        return {str(key): self.json(entry) for key, entry in part.entries}

    def python(self, part: _Part | int, name: str = "") -> str:
        if isinstance(part, int):
            return self.expressions[part]
        if part.is_static:
            return {"*args": "[]", "**kwargs": "{}"}.get(name, "None")
        if part.kind == "int":
            return self.python(part.entries[0][1])
        start, end = _CLASSES.get(part.kind, ("TensorSpec([", "])"))
        if name.startswith("*"):
            # What `*args` and `**kwargs` collect is a plain list or dictionary.
            start, end = start[-1], end[0]
        else:
            self.used.add(start.partition("(")[0])
        keyed = part.kind in ("dict", "object")
        texts = [f"{key!r}: {self.python(each)}" if keyed else self.python(each) for key, each in part.entries]
        return start + ", ".join(texts) + end
