"""How large the values of a program get, memory plans, what fits, profiles."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sizewise._check import spec_text
from sizewise._from_json import FromJson
from sizewise._read import Ops, operators, read

#: The sizes of inputs: shapes of tensors and values of numbers, by the name of the input.
At = dict[str, Any]


class End:
    """The least or the greatest value of something."""

    def __init__(self, data: Mapping[str, Any], name: str) -> None:
        #: The value; ``None`` if there is none, or none was found.
        self.value: int | None = data[name]
        #: Inputs at which it is attained.
        self.at: At | None = data.get(f"{name}_at")

    def __repr__(self) -> str:
        return f"<End {self.value}>"


class ValueBounds:
    """How large a value gets. `dims`, `elements` and `bytes` are pairs: the least and the greatest."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        #: The name of the value.
        self.value: str = data["value"]
        self.dtype: str = data["dtype"]
        self.dims: list[tuple[End, End]] = [(End(dim, "min"), End(dim, "max")) for dim in data["dims"]]
        self.elements = End(data["elements"], "min"), End(data["elements"], "max")
        self.bytes = End(data["bytes"], "min"), End(data["bytes"], "max")
        #: Whether every bound is attained, or proved not to exist; otherwise `reasons` says why not.
        self.exact: bool = data["exact"]
        self.reasons: list[str] = data["reasons"]
        #: The dimensions that have no greatest size, and without which there would be a bound: ``x.1``.
        self.needs: list[str] = data["needs"]

    def __repr__(self) -> str:
        return f"<sizewise.ValueBounds {self.value}: {self.bytes[0].value} to {self.bytes[1].value} bytes>"

    @property
    def sizes(self) -> list[Any]:
        """The sizes as sympy expressions in the symbols of the program."""
        from sizewise._expr import Expr

        return [Expr.parse(dim["size"]).to_sympy() for dim in self._data["dims"]]

    def to_dict(self) -> dict[str, Any]:
        """The answer as ``sizewise bounds-of --format json`` prints it."""
        return self._data


class ProgramBounds(FromJson):
    """The bounds of the values of a program: a mapping by their names."""

    def __iter__(self) -> Iterator[ValueBounds]:
        return iter(self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, name: str) -> ValueBounds:
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    @property
    def _values(self) -> dict[str, ValueBounds]:
        found = self.__dict__.get("_by_name")
        if found is None:
            found = {value["value"]: ValueBounds(value) for value in self._data["values"]}
            self.__dict__["_by_name"] = found
        return found

    def __repr__(self) -> str:
        return f"<sizewise.ProgramBounds of {len(self)} values>"


class Plan(FromJson):
    """One arena with a place for every buffer, valid at all allowed sizes."""

    def __repr__(self) -> str:
        return f"<sizewise.Plan {self.arena_bytes} bytes, {len(self.buffers)} buffers>"

    @property
    def arena_bytes(self) -> int:
        """The bytes of the arena."""
        count: int = self._data["arena_bytes"]
        return count

    @property
    def lower_bound(self) -> int:
        """The most bytes that are in use together: no plan takes less."""
        count: int = self._data["lower_bound"]
        return count

    @property
    def greedy_bytes(self) -> int:
        """What placing the largest buffers first would take."""
        count: int = self._data["greedy_bytes"]
        return count

    @property
    def buffers(self) -> list[dict[str, Any]]:
        """Each buffer: ``value``, ``offset``, ``bytes``, and the steps ``from`` and ``to`` which it is in use."""
        buffers: list[dict[str, Any]] = self._data["buffers"]
        return buffers

    @property
    def exact(self) -> bool:
        """Whether nothing is left out; otherwise `reasons` says what."""
        exact: bool = self._data["exact"]
        return exact

    @property
    def reasons(self) -> list[str]:
        """What the plan leaves out or guesses."""
        reasons: list[str] = self._data["reasons"]
        return reasons


class Fit(FromJson):
    """The largest size that fits in a memory."""

    def __repr__(self) -> str:
        return f"<sizewise.Fit {'any' if self.unlimited else self.size}>"

    @property
    def size(self) -> int | None:
        """The largest size that fits; ``None`` if none does, or all do."""
        fits = self._data["fits"]
        return None if fits is None else fits["size"]

    @property
    def unlimited(self) -> bool:
        """Whether every allowed size fits, and there is no largest one."""
        unlimited: bool = self._data["unlimited"]
        return unlimited

    @property
    def fits(self) -> dict[str, Any] | None:
        """``size``, ``bytes`` and the inputs (``at``) of the largest size that fits."""
        fits: dict[str, Any] | None = self._data["fits"]
        return fits

    @property
    def breaks(self) -> dict[str, Any] | None:
        """The same of the next allowed size, which does not fit; ``None`` where there is none."""
        breaks: dict[str, Any] | None = self._data["breaks"]
        return breaks

    @property
    def exact(self) -> bool:
        """Whether nothing is left out; otherwise `reasons` says what."""
        exact: bool = self._data["exact"]
        return exact

    @property
    def reasons(self) -> list[str]:
        """What is left out or guessed."""
        reasons: list[str] = self._data["reasons"]
        return reasons


class Frontier(FromJson):
    """The largest size of one dimension that fits, for sizes of another."""

    def __repr__(self) -> str:
        return f"<sizewise.Frontier {self.rows}>"

    @property
    def rows(self) -> list[tuple[int, int | None]]:
        """Sizes of the other dimension, each with the largest one that fits."""
        return [(row["given"], row["fits"] and row["fits"]["size"]) for row in self._data["rows"]]

    def _repr_svg_(self) -> str:
        svg: str = self._data["svg"]
        return svg

    def to_svg(self) -> str:
        """The table as a picture."""
        return self._repr_svg_()


class Profile(FromJson):
    """The shapes between which an engine is to work, or the shapes to which inputs are padded."""

    @property
    def min(self) -> At | None:
        """The least shapes."""
        return self._data.get("min")

    @property
    def opt(self) -> At | None:
        """Those of the example, or near them."""
        return self._data.get("opt")

    @property
    def max(self) -> At | None:
        """The greatest shapes."""
        return self._data.get("max")

    @property
    def flags(self) -> list[str]:
        """The flags of trtexec."""
        flags: list[str] = self._data.get("flags", [])
        return flags

    @property
    def buckets(self) -> list[At]:
        """The shapes to which inputs are padded, if buckets were asked for."""
        return [bucket["shapes"] for bucket in self._data.get("buckets", [])]

    @property
    def padding(self) -> float | None:
        """By how much sizes grow at most, multiplied: 0.25 for a quarter."""
        return self._data.get("padding")

    @property
    def exact(self) -> bool:
        """Whether all allowed inputs lie between the shapes, or have a bucket; otherwise `reasons` says why not."""
        exact: bool = self._data["exact"]
        return exact

    @property
    def reasons(self) -> list[str]:
        """What lies outside."""
        reasons: list[str] = self._data["reasons"]
        return reasons


def _ask(program: Any, request: Mapping[str, Any], dynamic_shapes: Any, ops: Ops) -> str:
    return read(program).sizes(json.dumps(request), spec_text(dynamic_shapes), operators(ops))


def bounds(
    program: Any, dynamic_shapes: Any = None, *, values: Sequence[str] = (), ops: Ops = None
) -> ProgramBounds:
    """Finds how large each value of a program gets, over all inputs that a spec allows.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        The program.
    dynamic_shapes : optional
        Which inputs are allowed, as `check` takes it; by default what the program itself says of its inputs.
    values : sequence of str, optional
        The values that are wanted; by default all.
    ops : path, paths or mapping, optional
        Declarations of custom operators, as `check` takes them.

    Raises
    ------
    SpecError
        If the spec does not fit, or there is no such value.
    Unsupported
        If no input is allowed, or none is found.
    """
    return ProgramBounds(_ask(program, {"ask": "bounds", "values": list(values)}, dynamic_shapes, ops))


def plan(program: Any, dynamic_shapes: Any = None, *, align: int = 16, ops: Ops = None) -> Plan:
    """Plans the memory of a program: offsets in one arena that are valid at all sizes that a spec allows.

    Parameters
    ----------
    program, dynamic_shapes, ops
        As for `bounds`.
    align : int
        What offsets are multiples of.

    Raises
    ------
    SpecError
        If a size has no maximum, without which a buffer has no bound.
    Unsupported
        If data decide how large a buffer gets.
    """
    return Plan(_ask(program, {"ask": "plan", "align": align}, dynamic_shapes, ops))


def fit(
    program: Any,
    dynamic_shapes: Any = None,
    *,
    memory: str | int,
    maximize: str | None = None,
    given: Mapping[str, int] | None = None,
    ops: Ops = None,
) -> Fit:
    """Finds the largest size of a dimension with which a program fits in a memory.

    Parameters
    ----------
    program, dynamic_shapes, ops
        As for `bounds`.
    memory : str or int
        The memory: ``"24GB"``, ``"512MiB"``, or bytes.
    maximize : str, optional
        The dimension: ``"x.0"``, or its name in the spec. By default the only one that varies and is not given.
    given : mapping, optional
        Sizes of other dimensions.

    Raises
    ------
    SpecError
        If there is no such dimension, or the memory depends on one that is not given.
    Unsupported
        If the answer was not found.
    """
    request = {"ask": "fit", "memory": memory, "maximize": maximize, "given": dict(given or {})}
    return Fit(_ask(program, request, dynamic_shapes, ops))


def frontier(
    program: Any,
    dynamic_shapes: Any = None,
    *,
    memory: str | int,
    over: str,
    maximize: str | None = None,
    given: Mapping[str, int] | None = None,
    ops: Ops = None,
) -> Frontier:
    """As `fit`, for sizes of another dimension (`over`)."""
    request = {"ask": "fit", "memory": memory, "maximize": maximize, "given": dict(given or {}), "frontier": over}
    return Frontier(_ask(program, request, dynamic_shapes, ops))


def profile(
    program: Any,
    dynamic_shapes: Any = None,
    *,
    buckets: int | None = None,
    padding: float | None = None,
    ops: Ops = None,
) -> Profile:
    """Finds the least, usual and greatest shapes of the inputs; or shapes to which all allowed inputs are padded.

    Parameters
    ----------
    program, dynamic_shapes, ops
        As for `bounds`.
    buckets : int, optional
        Instead, at most so many shapes to pad to, with as little padding as possible.
    padding : float, optional
        Instead, the fewest shapes to pad to, with at most so much padding: 0.25 for a quarter.

    Raises
    ------
    SpecError
        If a size has no maximum.
    """
    request: dict[str, Any] = {"ask": "profile"}
    if buckets is not None or padding is not None:
        request = {"ask": "buckets", "count": buckets, "padding": padding}
    return Profile(_ask(program, request, dynamic_shapes, ops))
