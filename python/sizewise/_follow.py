"""Tracing along the path of the example: a decider that answers what nothing settles, and remembers what it assumed."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any, Literal

from sizewise._decider import decider

#: What asks: a branch of the module's code, an operator, or torch's check of a layout.
Cause = Literal["branch", "operator", "layout"]

#: Parts of torch that only hand a question on: converting a size to `bool` or `int`, tracing, dispatching.
_HANDING_ON = (
    "torch/__init__.py",
    "torch/_compile.py",
    "torch/_dynamo/",
    "torch/_export/",
    "torch/fx/",
    "torch/nn/modules/module.py",
    "torch/overrides.py",
    "torch/utils/",
    "torch/_library/",
    "torch/_guards.py",
    "torch/_logging/",
    "torch/_higher_order_ops/",
    "torch/_functorch/",
    "torch/_tensor.py",
    "sizewise/",
)

#: Where torch runs the code of a module, not the other way round: what is further out is not the module's.
_EXPORTING = "torch/export/"

#: The interpreter of strict mode.
_INTERPRETER = "torch/_dynamo/symbolic_convert.py"

#: Functions of torch that ask about strides, by the parts of their names.
_OF_LAYOUT = ("stride", "contiguous", "layout", "dense", "channels_last", "memory_format")


@dataclass(frozen=True)
class Place:
    """Where the example's path was taken."""

    file: str
    line: int
    function: str
    #: The line itself.
    source: str
    cause: Cause


@dataclass(frozen=True)
class Taken:
    """A condition on sizes, or a size, of which only the example gives the value."""

    #: The condition that holds on the path (sympy), over the variables of the spec.
    condition: Any
    #: What the example answers: a truth value, or the number that a size was read as; `None` if data decide.
    value: bool | int | None
    place: Place | None


class follower(decider):
    """A decider that gives the example's answer where neither torch nor sizewise has one.

    Each such answer becomes a runtime assertion of the program, and is remembered in `taken`.

    Parameters
    ----------
    values : mapping
        The example's values of the variables of the spec, by sympy's symbols.
    of_data : bool, optional
        The answer to conditions that data decide. By default there is none, and torch raises its error.
    budget : float
        As for `decider`.
    """

    def __init__(self, values: Mapping[Any, int], *, of_data: bool | None = None, budget: float = 2.0) -> None:
        super().__init__("after", budget=budget)
        self.values = values
        self.of_data = of_data
        self.taken: list[Taken] = []
        #: The last question that only data decide.
        self.open: Taken | None = None

    def _unanswered(self, shape_env: Any, expr: Any, asker: FrameType) -> Any:
        local = asker.f_locals
        if not self._is_deciding(asker) or local.get("fallback_value") is not None or shape_env.frozen:
            return None
        if shape_env.trace_asserts and shape_env._is_python_assert():
            # torch makes a runtime assertion of an `assert` statement.
            return None
        import sympy

        place = place_of(sys._getframe(1))
        found = self._at_example(shape_env, expr)
        if found is None:
            self.open = Taken(expr, None, place)
            if self.of_data is None or not (expr.is_Relational or expr.is_Boolean):
                return None
            value = sympy.true if self.of_data else sympy.false
        else:
            expr, value = found
        held = expr if value is sympy.true else sympy.Not(expr) if value is sympy.false else sympy.Eq(expr, value)
        if found is not None:
            answer = int(value) if value.is_Integer else value is sympy.true
            self.taken.append(Taken(held.xreplace(self._variables(shape_env)), answer, place))
        shape_env.guard_or_defer_runtime_assert(held, f"assumed: {held}")
        return value

    def _variables(self, shape_env: Any) -> dict[Any, Any]:
        """The variables of the spec by the symbols of the environment that stand for them."""
        return {symbol: variable for variable, symbol in shape_env._spec_symbol_to_compile_symbol.items()}

    def _at_example(self, shape_env: Any, expr: Any) -> tuple[Any, Any] | None:
        """An expression over sizes of inputs, and its value; `None` if something else is in it."""
        from sympy import Integer

        known = dict(shape_env.backed_var_to_val)
        for symbol, variable in self._variables(shape_env).items():
            if variable in self.values:
                known[symbol] = Integer(self.values[variable])
        for reading in (expr, shape_env.replace(expr)):
            if reading.free_symbols <= known.keys():
                value = reading.xreplace(known)
                return (reading, value) if value.is_Integer or value in (True, False) else None
        return None


def place_of(frame: FrameType | None) -> Place | None:
    """The line of the module's code that leads to a question, and what asks there.

    Frames are looked at from the question outwards. A module of torch itself that is exported is its own user.
    """
    asking: list[tuple[str, str]] = []
    user: tuple[str, int, str] | None = None
    module: tuple[str, int, str] | None = None
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        part = _part(file)
        if part is None and _is_users(file):
            user = file, frame.f_lineno, name
            break
        if part == _INTERPRETER:
            user = _traced_line()
            break
        if part is not None and part.startswith(_EXPORTING):
            break
        if part is not None and part.startswith("torch/nn/") and not part.startswith(_HANDING_ON):
            module = module or (file, frame.f_lineno, name)
        elif part is not None and not part.startswith(_HANDING_ON) and module is None:
            asking.append((part, name))
        frame = frame.f_back
    cause = _cause(asking)
    if user is not None and module is not None and cause == "branch":
        # The branch is in torch's own module or function, which the user's line calls.
        cause = "operator"
    place = user or module
    if place is None:
        return None
    file, line, name = place
    return Place(file, line, name, linecache.getline(file, line).strip(), cause)


def _cause(asking: list[tuple[str, str]]) -> Cause:
    if not asking:
        return "branch"
    return "layout" if any(word in name for _, name in asking[:2] for word in _OF_LAYOUT) else "operator"


def _traced_line() -> tuple[str, int, str] | None:
    """The line that torch interprets in strict mode, where the stack has only torch's frames."""
    from torch._guards import TracingContext

    if TracingContext.try_get() is None:
        return None
    lines = [(entry.filename, entry.lineno or 0, entry.name) for entry in TracingContext.extract_stack()]
    own = [line for line in lines if _is_users(line[0])]
    return own[-1] if own else lines[-1] if lines else None


@cache
def _is_users(file: str) -> bool:
    """Whether a file is neither torch's, this package's nor Python's own."""
    return _part(file) is None and not file.startswith(("<", sysconfig.get_path("stdlib")))


@cache
def _part(file: str) -> str | None:
    """The path of a file within torch or this package; `None` for other files."""
    import torch

    for package in (os.path.dirname(torch.__file__), os.path.dirname(__file__)):
        if file.startswith(package + os.sep):
            return f"{os.path.basename(package)}/{file[len(package) + 1 :].replace(os.sep, '/')}"
    return None
