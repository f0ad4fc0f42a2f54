"""Expressions of sympy of one form: what sympy decides of one holds of all, for as long as a decider saves time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


def remember_forms() -> list[Callable[[], None]]:
    """Makes sympy remember what it decided of comparisons and of assumptions, and how it solved inequalities in one
    symbol; returns what undoes this.

    Every comparison is made of `a >= b` and `a == b`. Their answers, and whether an expression is nonnegative and the
    like, depend on its form and on the assumptions of its symbols, not on their names: where torch asks `s0*s1 >= 2`,
    and later `s5*s7 >= 2` of symbols with the same assumptions, sympy decides once.
    """
    import sympy  # noqa: F401

    forms = _Forms()
    names = "sympy.core.relational", "sympy.core.assumptions", "sympy.solvers.inequalities"
    relational, assumptions, inequalities = (sys.modules.get(name) for name in names)
    patches: list[tuple[Any, str, Callable[..., Any]]] = [
        (relational, "is_ge", _compared),
        (relational, "is_eq", _compared),
        (assumptions, "_ask", _asked),
        (inequalities, "reduce_inequalities", _solved),
    ]
    return [
        _patched(module, name, make(forms, getattr(module, name)))
        for module, name, make in patches
        # Another release of sympy may do this otherwise, and is left alone then.
        if hasattr(module, name)
    ]


#: The parts of the largest form that is remembered. An expression that shares its parts may be far larger as a tree.
LARGEST = 4096


class _Kind:
    """The assumptions that some symbols share."""

    __slots__ = ()


class _Forms:
    """Forms of expressions: trees in which symbols are numbered as they occur."""

    def __init__(self) -> None:
        self.kinds: dict[Any, _Kind | None] = {}
        self.shared: dict[Any, _Kind] = {}

    def of(self, *expressions: Any) -> tuple[Any, ...] | None:
        """The form of expressions that are taken together, or `None` if it is too large or names may matter."""
        form: list[Any] = []
        numbers: dict[Any, int] = {}
        stack = list(expressions)
        while stack:
            node = stack.pop()
            args = node.args
            if args:
                form += (type(node), len(args))
                stack += args
                if len(form) > LARGEST:
                    return None
            elif node.is_Integer:
                form.append(node.p)
            else:
                kind = self.kinds.get(node) or self._kind(node)
                if kind is None:
                    return None
                form += (kind, numbers.setdefault(node, len(numbers)))
        return tuple(form)

    def _kind(self, leaf: Any) -> _Kind | None:
        from sympy import Symbol

        if type(leaf) is not Symbol:
            return None
        kind = self.kinds[leaf] = self.shared.setdefault(frozenset(leaf.assumptions0.items()), _Kind())
        return kind


def _compared(forms: _Forms, decide: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of sympy that remembers."""
    from sympy.core.parameters import global_parameters

    pairs: dict[Any, Any] = {}
    known: dict[Any, Any] = {}

    def compared(lhs: Any, rhs: Any, assumptions: Any = None) -> Any:
        if assumptions is not None or not global_parameters.evaluate:
            return decide(lhs, rhs, assumptions)
        answer = pairs.get((lhs, rhs), pairs)
        if answer is not pairs:
            return answer
        form = forms.of(lhs, rhs)
        if form is None:
            return decide(lhs, rhs)
        answer = known.get(form, known)
        if answer is known:
            answer = known[form] = decide(lhs, rhs)
        pairs[lhs, rhs] = answer
        return answer

    return compared


def _asked(forms: _Forms, ask: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """The way in which sympy finds an assumption of an expression, with a memory.

    What sympy asks on its way to an answer is not remembered: to take the forms of all parts saves nothing more.
    """
    known: dict[Any, Any] = {}
    thread = threading.local()

    def asked(fact: str, expr: Any) -> Any:
        if getattr(thread, "asks", False) or not expr.args:
            return ask(fact, expr)
        form = forms.of(expr)
        if form is None:
            return ask(fact, expr)
        answer = known.get((fact, form), known)
        if answer is not known:
            expr._assumptions[fact] = answer
            return answer
        thread.asks = True
        try:
            answer = known[fact, form] = ask(fact, expr)
        finally:
            thread.asks = False
        return answer

    return asked


def _solved(forms: _Forms, solve: Callable[..., Any]) -> Callable[..., Any]:
    """A solver of inequalities in one symbol that remembers: solutions for another symbol are written with that one."""
    known: dict[Any, tuple[Any, Any]] = {}

    def solved(inequalities: Any, symbols: Any = ()) -> Any:
        alone = {symbols} if getattr(symbols, "is_Symbol", False) else None
        if not isinstance(inequalities, set) or any(each.free_symbols != alone for each in inequalities):
            return solve(inequalities, symbols)
        key = frozenset(map(forms.of, inequalities))
        if None in key:
            return solve(inequalities, symbols)
        if key not in known:
            known[key] = solve(inequalities, symbols), symbols
        solution, symbol = known[key]
        return solution.xreplace({symbol: symbols})

    return solved


def _patched(module: Any, name: str, function: Any) -> Callable[[], None]:
    original = getattr(module, name)
    setattr(module, name, function)

    def undo() -> None:
        if getattr(module, name) is function:
            setattr(module, name, original)

    return undo
