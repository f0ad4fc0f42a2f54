"""What a torch `ShapeEnv` knows, in a native environment that grows with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sizewise import _native
from sizewise._errors import ExpressionError
from sizewise._example import Example
from sizewise._sympy import Reader


class ShapeReader(Reader):
    """Reads expressions of a `ShapeEnv`: integers and conditions on integers."""

    __slots__ = ("names", "refused")

    def __init__(self, env: _native.Env, refused: Any) -> None:
        super().__init__(env)
        self.names: dict[str, Any] = {}
        #: Symbols that stand for no integer, as those of nested tensors.
        self.refused = refused

    def _leaf(self, node: Any) -> int:
        if getattr(node, "is_Symbol", False):
            if not node.is_integer or self.refused(node):
                raise ExpressionError(f"{node} is no integer")
            if self.names.setdefault(node.name, node) != node:
                raise ExpressionError(f"two symbols are named {node.name}")
            return self.env.symbol(node.name, "int")
        if getattr(node, "is_Float", False):
            raise ExpressionError("floating point is left to torch")
        return super()._leaf(node)


class Facts:
    """The facts of one `ShapeEnv`: ranges, replacements, guards and runtime assertions, each added once.

    An exported program accepts sizes 0 and 1 where the `ShapeEnv` assumed 2 and more, because lower bounds up to 2
    are not checked when it runs. With `enforced`, only bounds that are checked count as facts. A question is contingent
    if sizes that torch's own facts allow, with all bounds, give either answer: then torch finds none.
    """

    __slots__ = (
        "asserts",
        "budget",
        "contingent",
        "decided",
        "enforced",
        "example",
        "generation",
        "guards",
        "last_guard",
        "lost",
        "native",
        "open",
        "ranges",
        "reader",
        "replaced",
        "replacements_version",
        "symbols",
        "total_asserts",
    )

    def __init__(self, shape_env: Any, budget: float, enforced: bool) -> None:
        self.budget = budget
        self.enforced = enforced
        self._begin(shape_env)
        # Guards that are added after the guards were produced are never checked. Which ones came before is not known.
        self.lost = bool(shape_env.frozen)

    def _begin(self, shape_env: Any) -> None:
        hints = shape_env.backed_var_to_val
        self.native = _native.Env(verdicts=True)
        self.example = Example(self.native)
        self.reader = ShapeReader(self.native, lambda symbol: not getattr(hints.get(symbol, 0), "is_number", True))
        self.generation = 0
        #: Answers stay true when more facts are added.
        self.decided: dict[Any, bool] = {}
        #: Questions without an answer, with the generation of the facts.
        self.open: dict[Any, int] = {}
        #: Questions that have either answer, with the generation of the facts.
        self.contingent: dict[Any, int] = {}
        self.ranges: tuple[Any, ...] = ()
        self.symbols: dict[Any, Any] = {}
        self.replaced: dict[Any, Any] = {}
        self.replacements_version = -1
        self.guards = 0
        self.last_guard: Any = None
        self.asserts: dict[Any, int] = {}
        self.total_asserts = 0

    def update(self, shape_env: Any) -> None:
        """Adds what the `ShapeEnv` learned since the last time."""
        guards = shape_env.guards
        if len(guards) < self.guards or (self.guards and guards[self.guards - 1] is not self.last_guard):
            self._begin(shape_env)
        ranges = tuple(shape_env.var_to_range.values())
        if ranges != self.ranges:
            self._add_ranges(shape_env)
            self.ranges = ranges
        if shape_env.frozen:
            return
        if shape_env._replacements_version_counter != self.replacements_version:
            self._add_replacements(shape_env)
        if len(guards) != self.guards:
            for guard in guards[self.guards :]:
                self._assume(guard.expr)
            self.guards = len(guards)
            self.last_guard = guards[-1]
        if shape_env.num_deferred_runtime_asserts != self.total_asserts:
            self._add_asserts(shape_env)

    def ask(self, expr: Any) -> bool | None:
        """Whether a condition is always true or always false under the facts."""
        answer = self.decided.get(expr)
        if answer is not None:
            return answer
        if self.open.get(expr, -1) >= self.generation:
            return None
        try:
            number = self.reader.number(expr)
        except ExpressionError:
            self.open[expr] = 1 << 62
            return None
        answer = self.native.known(number)
        if answer is None and self.example.differs_nearby(number):
            self.contingent[expr] = self.generation
        elif answer is None:
            answer, _ = self.native.settle(number, self.budget)
        if answer is None:
            self.open[expr] = self.generation
        else:
            self.decided[expr] = answer
        return answer

    def only_value(self, expr: Any) -> int | None:
        """The value of an integer expression, if the facts allow only one."""
        try:
            low, high, *_ = self.native.bounds(self.reader.number(expr), self.budget)
        except ExpressionError:
            return None
        return low if low == high else None

    def is_contingent(self, shape_env: Any, expr: Any) -> bool:
        """Whether a question that was asked has either answer under all that torch knows."""
        return self.contingent.get(expr) == self.generation and not shape_env.frozen

    def _add_ranges(self, shape_env: Any) -> None:
        for symbol, known in shape_env.var_to_range.items():
            before = self.symbols.get(symbol)
            if before is known or (before is not None and shape_env.frozen):
                continue
            self.symbols[symbol] = known
            if not known.is_int:
                continue
            low, high = _integer(known.lower), _integer(known.upper)
            hint = shape_env.backed_var_to_val.get(symbol)
            of_torch = low, high
            if self.enforced and hint is not None:
                if symbol in shape_env.replacements:
                    low = high = None
                elif low is not None and low <= 2:
                    low = None
                if symbol.is_nonnegative:
                    low = 0 if low is None else low
            try:
                number = self.reader.number(symbol)
            except ExpressionError:
                continue
            self.native.declare(number, low, high, _integer(hint))
            self.example.declare(symbol.name, _integer(hint), *of_torch)
            self.generation += 1

    def _add_replacements(self, shape_env: Any) -> None:
        for symbol, target in shape_env.replacements.items():
            if self.replaced.get(symbol) is not target:
                self.replaced[symbol] = target
                self._assume_equal(symbol, target)
        self.replacements_version = shape_env._replacements_version_counter

    def _add_asserts(self, shape_env: Any) -> None:
        for symbol, asserts in shape_env.deferred_runtime_asserts.items():
            seen = self.asserts.get(symbol, 0)
            for deferred in asserts[seen:]:
                self._assume(deferred.expr)
            self.asserts[symbol] = len(asserts)
        self.total_asserts = shape_env.num_deferred_runtime_asserts

    def _assume(self, condition: Any) -> None:
        self._assume_made(lambda: self.reader.number(condition))

    def _assume_equal(self, symbol: Any, target: Any) -> None:
        number = self.reader.number
        self._assume_made(lambda: self.native.call("Equality", [number(symbol), number(target)]))

    def _assume_made(self, make: Callable[[], int]) -> None:
        # What cannot be expressed is left out: fewer facts only mean fewer answers.
        try:
            condition = make()
            self.native.assume(condition)
        except ExpressionError:
            self.example.holds = False
            return
        self.example.assume(condition)
        self.generation += 1


def _integer(value: Any) -> int | None:
    """A finite integer of sympy."""
    if value is None or not getattr(value, "is_Integer", isinstance(value, int)):
        return None
    return int(value)
