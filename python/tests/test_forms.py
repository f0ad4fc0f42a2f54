"""What mode "first" remembers of sympy's decisions is what sympy decides."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

pytest.importorskip("torch")

import sympy
from sympy.core.cache import clear_cache
from sympy.solvers import inequalities
from torch.utils._sympy.functions import FloorDiv, Max, PythonMod

import sizewise
from sizewise._forms import _asked, _compared, _Forms, _solved

FACTS = ("nonnegative", "positive", "negative", "zero", "integer", "even", "composite", "extended_nonnegative")


def drawn(draw: random.Random, symbols: list[Any], depth: int = 3) -> Any:
    """Some expression on sizes."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice([*symbols, sympy.Integer(draw.randint(-3, 8))])
    one, other = drawn(draw, symbols, depth - 1), drawn(draw, symbols, depth - 1)
    kind = draw.randrange(6)
    if kind == 3:
        return FloorDiv(one, draw.randint(2, 4))
    if kind == 4:
        return PythonMod(one, draw.randint(2, 4))
    return Max(one, other) if kind == 5 else one * other if kind == 2 else one + draw.randint(-2, 3) * other


def symbols(first: int) -> list[Any]:
    """Sizes, one that may be 0, and one that is any integer."""
    names = [f"s{first + i}" for i in range(4)]
    sizes = [sympy.Symbol(name, integer=True, positive=True) for name in names[:2]]
    others = sympy.Symbol(names[2], integer=True, nonnegative=True), sympy.Symbol(names[3], integer=True)
    return [*sizes, *others]


def answers(left: Any, right: Any) -> list[Any]:
    """What sympy says of two expressions, which forgets what it knew of them."""
    clear_cache()
    said: list[Any] = [left >= right, left < right, sympy.Eq(left, right), sympy.Ne(left, right)]
    return said + [getattr(left - right, f"is_{fact}") for fact in FACTS]


def test_what_is_remembered_is_what_sympy_decides() -> None:
    questions = []
    for seed in range(60):
        for first in (0, 40):
            try:
                pair = [drawn(draw, symbols(first)) for draw in [random.Random(seed)] for _ in range(2)]
                questions.append((*pair, answers(*pair)))
            except sympy.core.facts.InconsistentAssumptions:
                pass
    with sizewise.decider("first"):
        for _again in range(2):
            for left, right, before in questions:
                assert answers(left, right) == before, (left, right)


def test_other_names_are_decided_once_and_other_assumptions_again() -> None:
    asked: list[Any] = []

    def decide(left: Any, right: Any, _assumptions: Any = None) -> bool:
        asked.append((left, right))
        return True

    compare = _compared(_Forms(), decide)
    a, b, nonnegative, integer = symbols(0)
    c, d, _nonnegative, _integer = symbols(9)
    assert compare(a * b, sympy.Integer(2)) and compare(c * d, sympy.Integer(2))
    assert len(asked) == 1
    # One name twice, another number, other assumptions, other sides, and what stands for no integer.
    for left, right in [
        (a * a, 2),
        (a * b, 3),
        (a * nonnegative, 2),
        (a * integer, 2),
        (2, a * b),
        # One of two sizes, the other, and a third.
        (a * b, a),
        (a * b, b),
        (a * b, c),
        (a * b, 2.0),
        (a * sympy.Dummy("b", integer=True, positive=True), 2),
    ]:
        before = len(asked)
        compare(sympy.sympify(left), sympy.sympify(right))
        assert len(asked) == before + 1, (left, right)


def test_assumptions_of_one_form_are_looked_for_once() -> None:
    asked: list[Any] = []

    def ask(fact: str, expr: Any) -> Any:
        asked.append((fact, expr))
        return None

    remembered = _asked(_Forms(), ask)
    a, b, _nonnegative, integer = symbols(0)
    c, d, _more, _others = symbols(9)
    for fact, expr in [("even", a + 2 * b), ("even", c + 2 * d), ("odd", c + 2 * d), ("even", a + 2 * integer)]:
        expr._assumptions = expr._assumptions.copy()
        assert remembered(fact, expr) is None
    assert asked == [("even", a + 2 * b), ("odd", c + 2 * d), ("even", a + 2 * integer)]


def test_inequalities_in_one_symbol_are_solved_once() -> None:
    from sympy.solvers.inequalities import reduce_inequalities

    asked: list[Any] = []

    def solve(inequalities: Any, symbol: Any) -> Any:
        asked.append(symbol)
        return reduce_inequalities(inequalities, symbol)

    remembered = _solved(_Forms(), solve)
    size, other, nonnegative, integer = symbols(0)
    for symbol in (size, other, nonnegative, integer, symbols(9)[3]):
        for system in (
            {symbol >= 2},
            {symbol >= 3, symbol <= 64},
            {symbol >= 4, symbol <= 64},
            {2 * symbol >= 8, symbol * symbol <= 100},
            {sympy.Ne(symbol, 5), symbol < 9},
            {sympy.Eq(3 * symbol, 12), symbol <= 64},
        ):
            assert remembered(system, symbol) == reduce_inequalities(system, symbol)
    assert {symbol: asked.count(symbol) for symbol in set(asked)} == {size: 6, nonnegative: 6, integer: 6}
    assert remembered({size + other >= 8, size >= 2}, size) == reduce_inequalities({size + other >= 8, size >= 2}, size)


def test_trees_with_shared_parts_are_bounded() -> None:
    a, b, _nonnegative, _integer = symbols(0)
    tree = a
    for _ in range(60):
        tree = sympy.Mul(sympy.Add(tree, a, evaluate=False), sympy.Add(tree, b, evaluate=False), evaluate=False)
    forms = _Forms()
    assert forms.of(tree, sympy.Integer(2)) is None
    assert forms.of(sympy.Add(*symbols(0)), sympy.Integer(2)) is not None


def test_nothing_is_left_behind() -> None:
    core = sys.modules["sympy.core.relational"], sys.modules["sympy.core.assumptions"]
    places = [(core[0], "is_ge"), (core[0], "is_eq"), (core[1], "_ask"), (inequalities, "reduce_inequalities")]

    def present() -> list[Any]:
        return [getattr(module, name) for module, name in places]

    before = present()
    with sizewise.decider():
        assert present() == before
    with sizewise.decider("first"), sizewise.decider("first"):
        assert not set(present()) & set(before)
    assert present() == before
