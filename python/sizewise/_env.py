"""Environments: facts about sizes, and questions under these facts."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from sizewise import _native
from sizewise._arguments import check_budget
from sizewise._errors import ExpressionError
from sizewise._expr import _TEXT, Expr, ExprLike, as_expr, is_expression, number_of
from sizewise._sympy import Reader, is_sympy

#: The expressions that an environment remembers; after so many it begins anew.
_MAX_MEMO = 1 << 16

#: Operators whose results are conditions.
_CONDITIONS = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Not")


@dataclass(frozen=True)
class Answer:
    """The answer to "do the facts imply this?".

    An answer is true where the verdict is ``"implied"``.
    """

    #: "inconsistent" says that the facts contradict each other.
    verdict: Literal["implied", "refuted", "inconsistent", "unknown"]
    #: Values of the symbols that satisfy the facts and not the condition.
    witness: dict[str, int] | None = None
    #: The facts that it follows from.
    because: list[str] = field(default_factory=list)
    #: The step of the decision procedure that settled it.
    decided_by: str = ""
    #: Why it is unknown.
    reason: str | None = None
    #: A proof that `certify` checks, where `certificate=True` was asked for. `None` where nothing is proved, or no proof is
    #: found in the format of certificates.
    certificate: str | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.verdict == "implied"


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest value of an expression; `None` where it is unbounded or not known."""

    min: int | None
    max: int | None
    #: Values of the symbols at which it is least.
    min_at: dict[str, int] | None
    #: Values of the symbols at which it is greatest.
    max_at: dict[str, int] | None
    #: Whether both are taken, or really infinite.
    exact: bool


@dataclass(frozen=True)
class Dropped:
    """A guard that follows from others."""

    guard: str
    because: list[str]


@dataclass(frozen=True)
class Minimized:
    """An equivalent set of guards without redundant members."""

    guards: list[Expr]
    dropped: list[Dropped]


class Env:
    """Facts about sizes, and questions under these facts.

    Expressions are texts as torch prints them, integers, sympy expressions, or `Expr`. Threads may share an
    environment.

    Examples
    --------
    >>> import sizewise
    >>> env = sizewise.Env()
    >>> s = env.symbol("s0", min=2)
    >>> env.assume(s % 8 == 0)
    >>> env.implies("s0 >= 8")
    Answer(verdict='implied', witness=None, because=['Eq(Mod(s0, 8), 0)', '2 <= s0'], decided_by='range', reason=None)
    >>> env.implies(s >= 16).witness
    {'s0': 8}
    >>> env.simplify("8*(s0//8)")
    Expr('s0')
    >>> env.bounds(s + 1).min
    9
    """

    def __init__(self) -> None:
        self._native = _native.Env()
        self._memo: dict[int, tuple[int, Expr]] = {}
        self._sympy = Reader(self._native)
        self._ranges: dict[str, tuple[int | None, int | None]] = {}

    def symbol(self, name: str, *, min: int | None = None, max: int | None = None, hint: int | None = None) -> Expr:
        """Declares a symbol.

        Parameters
        ----------
        name : str
            Its name. Names such as ``zf0`` are doubles, as torch's are; all others are integers. Names that mean
            something else in expressions, as ``and`` and ``Max``, are refused.
        min, max : int, optional
            The least and the greatest value. A second declaration narrows the range.
        hint : int, optional
            A value that occurs: where to look first.

        Raises
        ------
        ExpressionError
            If expressions cannot have the name.
        ValueError
            If `min` is greater than `max`, or `hint` is out of the range.
        """
        self._check_name(name)
        low, high = self._ranges.get(name, (None, None))
        if min is not None and max is not None and min > max:
            raise ValueError(f"{name}: min={min} is greater than max={max}")
        low = min if low is None or (min is not None and min > low) else low
        high = max if high is None or (max is not None and max < high) else high
        if hint is not None and ((low is not None and hint < low) or (high is not None and hint > high)):
            raise ValueError(f"{name}: hint={hint} is not between {low} and {high}")
        self._native.declare(self._native.symbol(name), min, max, hint)
        self._ranges[name] = (low, high)
        return Expr.symbol(name)

    def _check_name(self, name: str) -> None:
        """Refuses names that mean something else where expressions are read."""
        if name in self._ranges:
            return
        if not isinstance(name, str):
            raise TypeError(f"name: expected a text, got {type(name).__name__}")
        unusable = not name.isidentifier() or keyword.iskeyword(name)
        if not unusable:
            env = _native.Env()
            try:
                unusable = env.symbols_of(env.read(f"{name} + 0")) != [name]
                env.read(f"{name}(1)")
            except ExpressionError as error:
                # What is no function is a name.
                unusable = unusable or "unknown function" not in str(error)
            else:
                unusable = True
        if unusable:
            raise ExpressionError(f"{name!r} cannot be the name of a symbol: expressions use it for something else")

    def assume(self, *conditions: ExprLike) -> None:
        """Adds conditions to the facts."""
        for condition in conditions:
            self._native.assume(self._condition(condition), _text(condition))

    def implies(self, condition: ExprLike, *, budget: float = 1.0, certificate: bool = False) -> Answer:
        """Whether a condition holds wherever the facts do.

        Values that make a divisor zero are left out of account. `budget` is a factor on the counted work. With
        `certificate`, what is proved comes with a proof that `certify` checks.
        """
        check_budget(budget)
        return Answer(*self._native.implies(self._condition(condition), budget, certificate))

    def simplify(self, e: ExprLike, *, budget: float = 1.0) -> Expr:
        """The smallest expression found that is equal under the facts."""
        check_budget(budget)
        return Expr(_TEXT, self._native.simplify(self._number(e), _text(e), budget))

    def bounds(self, e: ExprLike, *, budget: float = 1.0) -> Bounds:
        """The least and the greatest value of an expression under the facts.

        Raises
        ------
        ValueError
            If the facts contradict each other: then there is no value.
        """
        check_budget(budget)
        bounds = Bounds(*self._native.bounds(self._number(e), budget))
        if bounds.min_at is None and bounds.max_at is None:
            answer = Answer(*self._native.implies(self._native.truth(False), budget))
            if answer.verdict == "inconsistent":
                raise ValueError(f"the facts contradict each other: {', '.join(answer.because)}")
        return bounds

    def minimize(self, guards: Iterable[ExprLike] | ExprLike, *, budget: float = 1.0) -> Minimized:
        """An equivalent set of guards under the declared ranges, without redundant members.

        Assumptions are not used: the guards are to say everything. A single expression is one guard.
        """
        check_budget(budget)
        listed: list[Any] = [guards] if is_expression(guards) else [*guards]  # type: ignore[misc]
        numbered = [(self._condition(guard), _text(guard)) for guard in listed]
        kept, dropped = self._native.minimize(numbered, budget)
        shown = [Dropped(str(listed[i]), because) for i, because in dropped]
        return Minimized([Expr(_TEXT, text) for text in kept], shown)

    def branch(self) -> Env:
        """A copy that goes on by itself."""
        env = Env()
        env._native = self._native.branch()
        env._memo = dict(self._memo)
        env._sympy = Reader(env._native, dict(self._sympy.memo))
        env._ranges = dict(self._ranges)
        return env

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("an Env cannot be pickled or copied this way; Env.branch() gives a copy")

    def _condition(self, e: Any) -> int:
        """The number of an expression that is true or false."""
        number = self._number(e)
        if not (isinstance(e, Expr) and e.func in _CONDITIONS):
            native = self._native
            if native.text(native.call("And", [number, native.truth(True)])) != native.text(number):
                raise ExpressionError(f"{str(e)!r} is a number, not a condition")
        return number

    def _number(self, e: Any) -> int:
        """The number of an expression in the native environment, whose symbols are declared."""
        number = self._read(e)
        unknown = [name for name in self._native.symbols_of(number) if name not in self._ranges]
        if unknown:
            known = f"declared are: {', '.join(self._ranges)}" if self._ranges else "none is declared"
            raise ExpressionError(f"{', '.join(unknown)}: not declared with Env.symbol; {known}")
        return number

    def _read(self, e: Any) -> int:
        if len(self._memo) > _MAX_MEMO:
            self._memo.clear()
        if len(self._sympy.memo) > _MAX_MEMO:
            self._sympy.memo.clear()
        if isinstance(e, Expr):
            return number_of(self._native, e, self._memo)
        if isinstance(e, str):
            return self._native.read(e)
        if isinstance(e, (int, float)) and not isinstance(e, bool):
            return self._native.integer(e) if isinstance(e, int) else self._native.double(e)
        if is_sympy(e):
            return self._sympy.number(e)
        return number_of(self._native, as_expr(e), self._memo)


def _text(e: Any) -> str | None:
    if isinstance(e, Expr):
        return e.args[0] if e.func == _TEXT else None
    return e if isinstance(e, str) else None
