"""A `ShapesSpec` by the names of its variables: conditions over them as text, and the example."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from sizewise import _native
from sizewise._env import Env
from sizewise._errors import ExpressionError, ShapeError, SpecError
from sizewise._report import Report
from sizewise._shapes import Writer
from sizewise._spec import to_objects


#: A bound of one variable.
_BOUND = re.compile(r"(?P<name>\w+) (?P<sign>[<>]=) (?P<size>\d+)", re.ASCII)


class NamedSpec:
    """A spec with the names of its variables, and their values in the example."""

    def __init__(self, given: Any, values: dict[Any, int]) -> None:
        import sympy

        writer = Writer()
        self.spec = writer.spec(given)
        self.example = {writer.names[symbol]: value for symbol, value in values.items()}
        self.symbols = {symbol: sympy.Symbol(name) for symbol, name in writer.names.items()}
        self._written: dict[Any, Any] = {}
        self._env = _native.Env()

    def objects(self, code: str) -> Any:
        """The spec that code of this one makes. Its variables are new to torch, and have the names of those here."""
        import sympy

        writer, spec = Writer(), to_objects(code)
        writer.spec(spec)
        self._written |= {symbol: sympy.Symbol(name) for symbol, name in writer.names.items()}
        return spec

    def _by_name(self, condition: Any) -> Any:
        return condition.xreplace(self.symbols | self._written)

    def text(self, condition: Any) -> str:
        """A condition over the variables, as Python where Python has its operators."""
        return self.python(str(self._by_name(condition)))

    def python(self, text: str) -> str:
        """A condition as Python where Python has its operators, and they are read back."""
        try:
            written = self._env.python(self._env.read(text))
            if written is None:
                return text
            self._env.read(written)
        except ExpressionError:
            return text
        return written

    def lacking(self, report: Report) -> list[str]:
        """The conditions on the variables that a report found broken."""
        return [text for condition in report.violations for text in self.stated(condition.expr)]

    def stated_of(self, condition: Any) -> list[str]:
        """What a ShapesSpec can say of a condition of sympy over the variables."""
        named = self._by_name(condition)
        text, about = str(named), named.free_symbols
        with contextlib.suppress(ExpressionError):
            text = str(self.facts().simplify(text))
        return self.stated(text) or self.as_in_example([symbol.name for symbol in about])

    def as_in_example(self, names: list[str]) -> list[str]:
        """Variables as in the example."""
        return [f"{name} == {self.example[name]}" for name in sorted(names)]

    def stated(self, condition: str) -> list[str]:
        """What a ShapesSpec can say of a condition; nothing if it is on something else, too.

        Where it cannot say it, as a condition on the root of a size, its variable is in a range about the example, or
        its variables are as in the example.
        """
        try:
            read = self._env.read(condition)
        except ExpressionError:
            return []
        about, text = self._env.symbols_of(read), self._env.python(read)
        if not set(about) <= self.example.keys():
            return []
        if text is not None:
            try:
                to_objects(self.code([text]))
                return [text]
            except SpecError:
                # Not all of Python is read back, nor has torch's language all of it.
                pass
        return self.range_about(condition, about[0]) if len(about) == 1 else self.as_in_example(about)

    def range_about(self, condition: str, name: str) -> list[str]:
        """The largest range about the example in which a condition on one variable is proved to hold."""
        value, env = self.example[name], self.facts()
        env.assume(f"Not({condition})")
        stated = []
        for side, end, first in (("<=", "max", 1), (">=", "min", -1)):
            beyond = env.branch()
            beyond.assume(f"{name} {side} {value}")
            try:
                nearest = getattr(beyond.bounds(name), end)
            except ValueError:
                continue
            if nearest is not None:
                stated.append(f"{name} {'>=' if first > 0 else '<='} {nearest + first}")
        if stated == [f"{name} >= {value}", f"{name} <= {value}"]:
            return self.as_in_example([name])
        within = self.facts()
        within.assume(*stated)
        return stated if within.implies(condition) else self.as_in_example([name])

    def facts(self) -> Env:
        """What the spec says."""
        env = Env()
        for name, known in self.spec["vars"].items():
            env.symbol(name, min=known["min"], max=known["max"])
        env.assume(*self.spec["assumptions"])
        return env

    def weakest(self, assumptions: list[str]) -> list[str]:
        """Assumptions without those that follow from the spec and the others."""
        kept = list(dict.fromkeys(assumptions))
        for assumption in list(kept):
            others = self.facts()
            others.assume(*(other for other in kept if other != assumption))
            if others.implies(assumption):
                kept.remove(assumption)
        return kept

    def unsaid(self, conditions: list[Any], assumptions: list[str]) -> list[str]:
        """What is to be assumed of conditions of sympy that do not follow from the spec and the assumptions."""
        known, more = self.facts(), []
        known.assume(*assumptions)
        for condition in conditions:
            try:
                follows = bool(known.implies(str(self._by_name(condition))))
            except ExpressionError:
                follows = False
            if not follows:
                more += self.stated_of(condition)
        return more

    def check_given(self) -> None:
        """Refuses a spec that the example does not satisfy, of which torch says nothing."""
        for name, known in self.spec["vars"].items():
            value = self.example.get(name)
            low, high = known["min"], known["max"]
            if value is not None and ((low is not None and value < low) or (high is not None and value > high)):
                raise SpecError(f"{name}: the example has {value}, which is not between {low} and {high}")
        for assumption in self.spec["assumptions"]:
            if sizes := self.broken_by(assumption):
                raise SpecError(f"the spec assumes {self.python(assumption)}, and the example has {sizes}")

    def check_example(self, assumptions: list[str]) -> None:
        """Refuses assumptions that the example does not satisfy: it is not on the path that torch traced."""
        for assumption in assumptions:
            if sizes := self.broken_by(assumption):
                message = f"the program that torch traces needs {assumption}, and the example has {sizes}"
                raise ShapeError(f"{message}: leave that size static in the spec, or trace with another example")

    def broken_by(self, condition: str) -> str:
        """The sizes of the example that break a condition, as text; empty if it holds there."""
        read = self._env.read(condition)
        values = {name: self.example[name] for name in self._env.symbols_of(read) if name in self.example}
        holds = self._env.evaluate(read, values) is not False
        return "" if holds else ", ".join(f"{name} = {value}" for name, value in values.items())

    def code(self, assumptions: list[str]) -> str:
        """The spec with more assumptions, as Python. Bounds of a variable are its range."""
        variables = {name: dict(known) for name, known in self.spec["vars"].items()}
        rest = list(self.spec["assumptions"])
        for assumption in assumptions:
            bound = _BOUND.fullmatch(assumption)
            if bound is None or bound["name"] not in variables:
                rest.append(assumption)
                continue
            known, size = variables[bound["name"]], int(bound["size"])
            end, tighter = ("min", max) if bound["sign"] == ">=" else ("max", min)
            known[end] = size if known[end] is None else tighter(known[end], size)
        spec = {**self.spec, "vars": variables, "assumptions": rest}
        return _native.spec_code(json.dumps(spec)).rstrip("\n")
