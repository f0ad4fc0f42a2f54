"""Tracing along the path of the example: a decider that answers what nothing settles, and remembers what it assumed."""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any, Literal

from sizewise._decider import decider

#: What asks: a branch of the module's code, an operator, torch's check of strides, or an assertion of the code.
Cause = Literal["branch", "operator", "layout", "assertion", "unknown"]

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

#: The most calls of a path that are kept.
_MAX_PATH = 32

#: Where torch runs the code of a module, not the other way round: what is further out is not the module's.
_EXPORTING = "torch/export/"

#: What runs an operator in strict mode.
_OF_OPERATORS = ("torch/_dynamo/utils.py", "run_node")

#: The interpreter of strict mode.
_INTERPRETER = "torch/_dynamo/symbolic_convert.py"

#: Where sizes are converted to `bool`, `int` or `float`.
_CONVERTING = "torch/__init__.py"

#: Python's own modules.
_STANDARD = sysconfig.get_path("stdlib") + os.sep

#: Where torch checks strides while it traces, and the parts of the names of the functions that do.
_CHECKING_LAYOUT = "torch/_prims_common/"
_OF_LAYOUT = ("stride", "contiguous", "layout", "dense", "channels_last", "memory_format")


@dataclass(frozen=True)
class Place:
    """Where torch asked for a condition."""

    #: The calls that led there, innermost first: file, line, function, and the line's text.
    path: tuple[tuple[str, int, str, str], ...]
    cause: Cause

    @property
    def file(self) -> str:
        """The file of the line that asked."""
        return self.path[0][0]

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.path[0][1]

    @property
    def source(self) -> str:
        """The line's text."""
        return self.path[0][3]


@dataclass(frozen=True)
class Taken:
    """A condition on sizes, or a size, of which only the example gives the value."""

    #: The condition that holds on the path (sympy), over the variables of the spec.
    condition: Any
    #: What the example answers: a truth value, or the number that a size was read as; `None` if data decide.
    value: bool | int | float | None
    place: Place | None
    #: Whether the program asserts it. torch has no assertions on floating point and roundings.
    asserted: bool = True


class follower(decider):
    """A decider that gives the example's answer where neither torch nor sizewise has one.

    Each such answer becomes a runtime assertion of the program, and is remembered in `taken`.

    Parameters
    ----------
    values : mapping
        The example's values of the variables of the spec, by sympy's symbols.
    of_data : tuple
        The answers to conditions that data decide, in the order in which torch asks for them. Where there is none, or
        it is `None`, torch raises its error.
    budget : float
        As for `decider`.
    """

    def __init__(self, values: Mapping[Any, int], *, of_data: tuple[bool | None, ...] = (), budget: float = 2.0) -> None:
        super().__init__("after", budget=budget)
        self.values = values
        self.answers = of_data
        self.taken: list[Taken] = []
        #: The conditions that only data decide, in the order in which torch asked for them.
        self.of_data: list[Taken] = []
        self._places_of_data: dict[tuple[int, Any], int] = {}

    def __enter__(self) -> follower:
        super().__enter__()
        return self

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
        if found is None and not self._has_data(shape_env, expr):
            return None
        if found is None:
            answer = self._of_data(shape_env, Taken(expr, None, place))
            if answer is None:
                return None
            value = sympy.true if answer else sympy.false
        else:
            expr, value = found
        held = expr if value is sympy.true else sympy.Not(expr) if value is sympy.false else sympy.Eq(expr, value)
        asserted = self._assert(shape_env, held)
        if found is not None:
            given = float(value) if value.is_Float else int(value) if value.is_Integer else value is sympy.true
            self.taken.append(Taken(held.xreplace(self._variables(shape_env)), given, place, asserted))
        return value

    def _of_data(self, shape_env: Any, one: Taken) -> bool | None:
        """The answer to a condition that data decide; `None` if none was given."""
        known = self._places_of_data.setdefault((id(shape_env), one.condition), len(self.of_data))
        if known == len(self.of_data):
            self.of_data.append(one)
        is_condition = one.condition.is_Relational or one.condition.is_Boolean
        return self.answers[known] if is_condition and known < len(self.answers) else None

    def _assert(self, shape_env: Any, held: Any) -> bool:
        """Makes a condition a runtime assertion of the program; whether torch takes it.

        torch never writes assertions on roundings, and takes them for granted all the same.
        """
        from sympy import Float, preorder_traversal
        from torch.fx.experimental.symbolic_shapes import _has_uninterpretable_sympy_function as is_not_written

        is_float = (isinstance(part, Float) or "Float" in type(part).__name__ for part in preorder_traversal(held))
        if any(is_float) or is_not_written(held):
            return False
        try:
            shape_env.guard_or_defer_runtime_assert(held, f"assumed: {held}")
        except Exception:
            # torch's ranges of large products contradict themselves.
            return False
        return True

    def _variables(self, shape_env: Any) -> dict[Any, Any]:
        """The variables of the spec by the symbols of the environment that stand for them."""
        return {symbol: variable for variable, symbol in shape_env._spec_symbol_to_compile_symbol.items()}

    def _known(self, shape_env: Any) -> dict[Any, Any]:
        """The example's sizes by the symbols that stand for them."""
        from sympy import Integer

        known = dict(shape_env.backed_var_to_val)
        for symbol, variable in self._variables(shape_env).items():
            if variable in self.values:
                known[symbol] = Integer(self.values[variable])
        return known

    def _has_data(self, shape_env: Any, expr: Any) -> bool:
        """Whether something that is no size of an input is in an expression."""
        return not shape_env.replace(expr).free_symbols <= self._known(shape_env).keys()

    def _at_example(self, shape_env: Any, expr: Any) -> tuple[Any, Any] | None:
        """An expression over sizes of inputs, and its value; `None` if something else is in it."""
        known = self._known(shape_env)
        for reading in (expr, shape_env.replace(expr)):
            if reading.free_symbols <= known.keys():
                value = reading.xreplace(known)
                is_value = value.is_Integer or value.is_Float or value in (True, False)
                return (reading, value) if is_value else None
        return None


def place_of(frame: FrameType | None, asserts: bool = False) -> Place | None:
    """The line of the module's code that leads to a question, and what asks there.

    Frames are looked at from the question outwards. A module of torch itself that is exported is its own user.

    Parameters
    ----------
    asserts : bool
        Whether it is no question but an assertion.
    """
    asking: list[tuple[str, str]] = []
    users: list[tuple[str, int, str]] = []
    modules: list[tuple[str, int, str]] = []
    converts = False
    while frame is not None and len(users) < _MAX_PATH:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        part = _part(file)
        converts = converts or part == _CONVERTING
        if part == "torch/__init__.py" and name.startswith("_check"):
            asserts = True
        if part == _OF_OPERATORS[0] and name == _OF_OPERATORS[1] and not asserts and not modules:
            asking.append((part, name))
        if part == _INTERPRETER:
            if not users:
                users, modules = _interpreted(modules)
                converts = True
            break
        if part is not None and part.startswith(_EXPORTING):
            break
        if part is None and is_users(file):
            users.append((file, frame.f_lineno, name))
        elif part is not None and not users and not part.startswith(_HANDING_ON):
            if part.startswith("torch/nn/"):
                modules.append((file, frame.f_lineno, name))
            elif not modules:
                asking.append((part, name))
        frame = frame.f_back
    replayed = [] if users or modules else _replayed()
    # A branch of Python converts a size. Operators in C++ ask for the answer themselves.
    code: Cause = "branch" if (converts or not users or modules) and not replayed else "operator"
    cause = _cause(asking) or ("assertion" if asserts else code)
    if users and modules and cause == "branch":
        # The branch is in torch's own module or function, which the user's line calls.
        cause = "operator"
    path = users or modules or replayed
    if not path:
        return None
    return Place(tuple((*line, linecache.getline(*line[:2]).strip()) for line in path), cause)


def cause_of(file: str, function: str) -> Cause:
    """What asks, as far as the innermost function that is not torch's machinery tells."""
    part = _part(file)
    if part is None or part.startswith(_HANDING_ON):
        return "unknown"
    return _cause([(part, function)]) or "unknown"


def _cause(asking: list[tuple[str, str]]) -> Cause | None:
    """What asks, by the parts of torch between the question and the module's code, innermost first."""
    if not asking:
        return None
    of_layout = (name for part, name in asking[:2] if part.startswith(_CHECKING_LAYOUT))
    return "layout" if any(word in name for name in of_layout for word in _OF_LAYOUT) else "operator"


def _interpreted(modules: list[tuple[str, int, str]]) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    """The lines that torch interprets in strict mode, where the stack has only torch's frames."""
    from torch._guards import TracingContext

    if TracingContext.try_get() is None:
        return [], modules
    lines = [(entry.filename, entry.lineno or 0, entry.name) for entry in reversed(TracingContext.extract_stack())]
    users = [line for line in lines if is_users(line[0])]
    own = [line for line in lines if not is_users(line[0])]
    inner = own if not users else lines[: lines.index(users[0])]
    return users, [*modules, *inner]


#: A call in the stack of a node.
_CALL = re.compile(r'^ *File "(?P<file>.*)", line (?P<line>\d+), in (?P<name>.*)$', re.MULTILINE)


def _replayed() -> list[tuple[str, int, str]]:
    """The lines of the user's code that made the node which torch runs, innermost first.

    In strict mode torch traces the graph once more that it made of the code: the code itself is not on the stack.
    """
    from torch.fx import traceback

    stack = str(traceback.get_current_meta().get("stack_trace") or "")
    calls = [(call["file"], int(call["line"]), call["name"]) for call in _CALL.finditer(stack)]
    return [call for call in reversed(calls) if is_users(call[0])][:_MAX_PATH]


@cache
def is_users(file: str) -> bool:
    """Whether a file is neither torch's, this package's nor Python's own. A cell of a notebook counts as one."""
    if file.startswith("<"):
        return file.startswith(("<ipython-input", "<stdin>", "<doctest"))
    is_standard = file.startswith(_STANDARD) and "-packages" not in file[len(_STANDARD) :]
    return _part(file) is None and not is_standard


@cache
def _part(file: str) -> str | None:
    """The path of a file within torch or this package; `None` for other files."""
    import torch

    for package in (os.path.dirname(torch.__file__), os.path.dirname(__file__)):
        if file.startswith(package + os.sep):
            return f"{os.path.basename(package)}/{file[len(package) + 1 :].replace(os.sep, '/')}"
    return None
