"""For tests: an assertion for pytest, and strategies for hypothesis."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sizewise._arguments import check_count
from sizewise._check import check
from sizewise._read import Ops, is_live, operators, read

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["assert_shapes_ok", "corners", "inputs", "shapes"]

#: Sizes above the least that are drawn where a dimension is unbounded.
_SPREAD = 16


def assert_shapes_ok(program: Any, dynamic_shapes: Any = None, *, ops: Ops = None, allow_unknown: bool = False) -> None:
    """Fails unless a program runs on all shapes that a spec allows.

    Parameters
    ----------
    program, dynamic_shapes, ops
        As `sizewise.check` takes them.
    allow_unknown : bool
        Whether an undecided program passes.

    Raises
    ------
    AssertionError
        With the report, and the first proved fix as Python to paste.
    """
    __tracebackhide__ = True
    report = check(program, dynamic_shapes, ops=ops)
    if report.ok or (allow_unknown and report.verdict == "unknown"):
        return
    message = str(report)
    fix = next((fix for fix in report.fixes if fix.proved and fix.spec is not None), None)
    if fix is not None:
        message += f"\n\nWrite instead:\n\n{fix.code}"
    raise AssertionError(message)


def corners(program: Any, *, limit: int = 64, ops: Ops = None) -> Iterator[dict[str, list[int]]]:
    """Allowed shapes at the corners of a program's ranges: each symbol at its least, next and greatest value.

    Parameters
    ----------
    program : ExportedProgram, path, bytes
        The program.
    limit : int
        At most so many are given.
    """
    check_count("limit", limit, 0)
    return _corners(_Space(program, ops), limit)


def _corners(space: _Space, limit: int) -> Iterator[dict[str, list[int]]]:
    given = 0
    for values in itertools.product(*(symbol.corners() for symbol in space.symbols)):
        if given >= limit:
            return
        found = space.allowed(list(values))
        if found is not None:
            given += 1
            yield found


def shapes(program: Any, *, ops: Ops = None) -> SearchStrategy[dict[str, list[int]]]:
    """A hypothesis strategy of allowed shapes by placeholder name, corners first.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(shapes("../examples/area.pt2"))  # doctest: +SKIP
    ... def test_area(shapes): ...
    """
    from hypothesis import strategies as st

    space = _Space(program, ops)
    corner = list(itertools.islice(corners(program, ops=ops), 64))
    if not corner:
        raise ValueError("no shape was found that the program allows")
    drawn = st.tuples(*(symbol.strategy(st) for symbol in space.symbols)).map(lambda v: space.allowed(list(v)))
    allowed: SearchStrategy[Any] = drawn.filter(lambda found: found is not None)
    if not space.symbols or space.is_narrow():
        return st.sampled_from(corner)
    return st.one_of(st.sampled_from(corner), allowed)


def inputs(program: Any, *, ops: Ops = None) -> SearchStrategy[tuple[tuple[Any, ...], dict[str, Any]]]:
    """A hypothesis strategy of inputs for a live program: positional and keyword arguments, corners first.

    Tensors are random where they are floating point, and zero otherwise. Inputs that are no tensors are those of the
    example.
    """
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    if not is_live(program):
        raise TypeError(f"expected an ExportedProgram, got {type(program).__name__}; torch.export.load reads a file")
    example = program.example_inputs
    if example is None:
        raise ValueError("the program has no example inputs")
    leaves, structure = tree_flatten(example)
    names = [placeholder for placeholder, *_ in read(program).inputs()]

    def made(drawn: dict[str, list[int]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = []
        for name, leaf in zip(names, leaves):
            if isinstance(leaf, torch.Tensor) and name in drawn:
                fill = torch.randn if leaf.dtype.is_floating_point or leaf.dtype.is_complex else torch.zeros
                values.append(fill(drawn[name], dtype=leaf.dtype, device=leaf.device))
            else:
                values.append(drawn.get(name, leaf))
        args, kwargs = tree_unflatten(values, structure)
        return tuple(args), kwargs

    return shapes(program, ops=ops).map(made)


class _Symbol:
    """A symbol with its range and the size of the example."""

    def __init__(self, name: str, low: int, high: int | None, hint: int | None) -> None:
        self.name, self.low, self.high, self.hint = name, low, high, hint

    def top(self) -> int:
        """The greatest value that is drawn."""
        most = max(self.low, self.hint or 0) + _SPREAD
        return most if self.high is None else min(self.high, most)

    def corners(self) -> list[int]:
        values = [self.low, self.low + 1, self.hint, self.high if self.high is not None else self.top()]
        return sorted({v for v in values if v is not None and self.low <= v and v <= (self.high or v)})

    def strategy(self, st: Any) -> Any:
        return st.integers(self.low, self.top())


class _Space:
    """The allowed shapes of a program."""

    def __init__(self, program: Any, ops: Ops) -> None:
        from sizewise import _native

        native, declared = read(program), operators(ops, program)
        guards = json.loads(native.guards("json", declared))
        known = json.loads(native.check(None, declared).render("json") or "{}")["symbols"]
        self.symbols = [_Symbol(s["name"], *_range(known.get(s["name"], {}))) for s in guards["symbols"]]
        self.ranks = {i["name"]: i["rank"] for i in guards["inputs"] if "rank" in i}
        self.constants = {i["name"]: i["value"] for i in guards["inputs"] if "value" in i}
        self.variables = [(s["name"], s["input"], s["dim"], s["factor"], s["offset"]) for s in guards["symbols"]]
        self.env = _native.Env()
        self.sizes = [(s["input"], s["dim"], self.env.read(str(s["size"]))) for s in guards["sizes"]]
        space: dict[str, Any] = {}
        exec(compile(native.guards("python", declared), "<sizewise>", "exec"), space)
        self.check = space["check"]

    def allowed(self, values: list[int]) -> dict[str, Any] | None:
        """The shapes where the symbols have these values, if the program serves them."""
        at = {symbol.name: value for symbol, value in zip(self.symbols, values)}
        found: dict[str, Any] = {name: [0] * rank for name, rank in self.ranks.items()}
        places = [(name, dim, at[symbol] * factor + offset) for symbol, name, dim, factor, offset in self.variables]
        for name, dim, size in self.sizes:
            value = self.env.evaluate(size, at)
            if not isinstance(value, int):
                return None
            places.append((name, dim, value))
        for name, dim, value in places:
            if dim is None:
                found[name] = value
            else:
                found[name][dim] = value
        return None if self.check({**self.constants, **found}) is not None else found

    def is_narrow(self) -> bool:
        """Whether so few of the values are allowed that drawing them at random would not find any."""
        import random

        source = random.Random(0)
        tries = ([source.randint(s.low, s.top()) for s in self.symbols] for _ in range(50))
        return sum(self.allowed(values) is not None for values in tries) < 10


def _range(symbol: dict[str, Any]) -> tuple[int, int | None, int | None]:
    low = symbol.get("min")
    return (0 if low is None else max(0, int(low)), symbol.get("max"), symbol.get("hint"))
