"""A second checker of certificates: the format is that of ``docs/certificates.md``.

It uses Python's integers and the standard library, and nothing else of sizewise.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product as assignments
from typing import Any, Union

VERSION = "1"
MAX_WORK = 50_000_000
MAX_TERMS = 4_000
MAX_BITS = 20_000
MAX_DEGREE = 200
MAX_VALUE_BITS = 1 << 14
MAX_CASES = 400
# Python itself reads and prints no integers of more than 4,300 digits.
MAX_DIGITS = 4_000

Sexp = Union[str, list[Any]]
Monomial = tuple[tuple[str, int], ...]
Poly = dict[Monomial, int]
# ("ge", p), ("eq", p), ("all", facts) or ("any", facts)
Fact = tuple[str, Any]

TRUE: Fact = ("all", [])
FALSE: Fact = ("any", [])


class CertificateError(ValueError):
    """A text is no certificate, or one of its steps is not right."""


class _Undefined(Exception):
    """An operation has no value at an assignment."""


def _need(condition: object, message: str) -> None:
    if not condition:
        raise CertificateError(message)


# Reading


def read(text: str) -> list[Sexp]:
    """All S-expressions of a text."""
    open_lists: list[list[Any]] = [[]]
    for line in text.split("\n"):
        for word in re.findall(r"[()]|[^() \t\f\r]+", line.split(";")[0]):
            if word == "(":
                _need(len(open_lists) <= 1_000, "nested too deeply")
                open_lists.append([])
            elif word == ")":
                _need(len(open_lists) > 1, "a parenthesis too many")
                done = open_lists.pop()
                open_lists[-1].append(done)
            else:
                open_lists[-1].append(word)
    _need(len(open_lists) == 1, "a parenthesis is missing")
    return open_lists[0]


def _integer(word: Sexp) -> int | None:
    if not isinstance(word, str):
        return None
    digits = word[1:] if word[:1] in ("-", "+") else word
    if not (digits.isascii() and digits.isdigit()):
        return None
    _need(len(digits) <= MAX_DIGITS, f"an integer of more than {MAX_DIGITS} digits")
    plain = word[0] != "+" and word != "-0" and (digits == "0" or digits[0] != "0")
    _need(plain, f"{word}: an integer with a sign or zeros that it does not need")
    return int(word)


INT, BOOL, REAL, SAME = "int", "bool", "real", "same"
MANY = 10**9
OPERATIONS = {
    **dict.fromkeys(["+", "*"], (1, MANY, INT)),
    "-": (1, 2, INT),
    **dict.fromkeys(["//", "%", "**", "<<", ">>", "bitand", "bitor", "bitxor"], (2, 2, INT)),
    **dict.fromkeys(["min", "max"], (1, MANY, SAME)),
    "abs": (1, 1, SAME),
    "ite": (3, 3, SAME),
    **dict.fromkeys(["true", "false"], (0, 0, BOOL)),
    **dict.fromkeys(["<=", "<", ">=", ">", "=", "!="], (2, 2, BOOL)),
    **dict.fromkeys(["and", "or"], (0, MANY, BOOL)),
    "not": (1, 1, BOOL),
    **dict.fromkeys(["float", "sqrt", "ftrunc"], (1, 1, REAL)),
    **dict.fromkeys(["int/", "float/", "float+", "float*", "float**", "decimal"], (2, 2, REAL)),
    **dict.fromkeys(["trunc", "floor", "ceil", "round"], (1, 1, INT)),
    **dict.fromkeys(["float=", "float<", "float<="], (2, 2, BOOL)),
}
COMPARISONS = ("<=", "<", ">=", ">", "=", "!=")
ON_DOUBLES = (
    "float sqrt ftrunc int/ float/ float+ float* float** decimal trunc floor ceil round float= float< float<="
).split()


def _sort(term: Sexp) -> str:
    """Whether a term is an integer, a truth value or a double; its operands are taken to be right."""
    if isinstance(term, str):
        return REAL if term.startswith("#") else INT
    sort = OPERATIONS[term[0]][2]
    if sort != SAME:
        return sort
    return REAL if any(_sort(t) == REAL for t in term[2 if term[0] == "ite" else 1 :]) else INT


def _check_term(term: Sexp) -> None:
    """Refuses what is no term."""
    if isinstance(term, str):
        if term.startswith("#"):
            _need(re.fullmatch("#[0-9a-f]{16}", term), f"{term}: no double")
        return
    _need(term and isinstance(term[0], str) and term[0] in OPERATIONS, "no operation")
    name, operands = term[0], term[1:]
    least, most, sort = OPERATIONS[name]
    _need(least <= len(operands) <= most, f"`{name}` of {len(operands)} operands")
    for at, operand in enumerate(operands):
        _check_term(operand)
        found = _sort(operand)
        truth = name in ("and", "or", "not") or (name == "ite" and at == 0)
        doubles = name in COMPARISONS or name in ON_DOUBLES or sort == SAME
        _need((found == BOOL) == truth, f"`{name}` of an operand of another kind")
        _need(found != REAL or doubles, f"`{name}` of a double")


def _text(term: Sexp) -> str:
    return term if isinstance(term, str) else "(" + " ".join(map(_text, term)) + ")"


# Polynomials


def _constant(value: int) -> Poly:
    return {(): value} if value else {}


def _sum(*polys: Poly) -> Poly:
    total: Poly = {}
    for p in polys:
        for monomial, c in p.items():
            total[monomial] = total.get(monomial, 0) + c
    return {m: c for m, c in total.items() if c}


def _scaled(p: Poly, factor: int) -> Poly:
    return {m: c * factor for m, c in p.items()} if factor else {}


def _value_of(p: Poly) -> int | None:
    return p.get((), 0) if all(m == () for m in p) else None


def _content(p: Poly) -> int:
    return math.gcd(*(c for m, c in p.items() if m))


def _divided(p: Poly, divisor: int) -> Poly:
    return {m: c // divisor for m, c in p.items() if c // divisor}


def _small(p: Poly) -> Poly:
    _need(len(p) <= MAX_TERMS, "a polynomial is too large")
    for monomial, c in p.items():
        _need(c.bit_length() <= MAX_BITS and sum(k for _, k in monomial) <= MAX_DEGREE, "a polynomial is too large")
    return p


# Facts


def _truth(value: bool) -> Fact:
    return TRUE if value else FALSE


def _at_least(p: Poly) -> Fact:
    value = _value_of(p)
    return ("ge", _divided(p, _content(p))) if value is None else _truth(value >= 0)


def _equal(p: Poly) -> Fact:
    value = _value_of(p)
    if value is not None:
        return _truth(value == 0)
    content = _content(p)
    return FALSE if p.get((), 0) % content else ("eq", _divided(p, content))


def _joined(kind: str, facts: Iterable[Fact]) -> Fact:
    parts: list[Fact] = []
    for fact in facts:
        if fact[0] == kind:
            parts.extend(fact[1])
        elif fact in (TRUE, FALSE):
            return fact
        else:
            parts.append(fact)
    return parts[0] if len(parts) == 1 else (kind, parts)


def _all(*facts: Fact) -> Fact:
    return _joined("all", facts)


def _any(*facts: Fact) -> Fact:
    return _joined("any", facts)


def _unequal(p: Poly) -> Fact:
    return _any(_at_least(_sum(p, _constant(-1))), _at_least(_sum(_scaled(p, -1), _constant(-1))))


def _negation(fact: Fact) -> Fact:
    kind, content = fact
    if kind == "ge":
        return _at_least(_sum(_scaled(content, -1), _constant(-1)))
    if kind == "eq":
        return _unequal(content)
    parts = map(_negation, content)
    return _any(*parts) if kind == "all" else _all(*parts)


def _key(value: Any) -> Any:
    """A hashable copy."""
    if isinstance(value, dict):
        return frozenset(value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    return value


class _Names:
    """The symbols, and what defined names mean."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.meanings: dict[Any, str] = {}
        self.work = 0

    def declare(self, name: Sexp) -> str:
        _need(isinstance(name, str) and "#" not in name and _integer(name) is None, "no name")
        assert isinstance(name, str)
        _need(name not in self.names, f"`{name}` is no new name")
        self.names.add(name)
        return name

    def spend(self, work: int) -> None:
        self.work += work + 1
        _need(self.work <= MAX_WORK, "more work than is allowed")

    def times(self, p: Poly, q: Poly) -> Poly:
        self.spend(len(p) * len(q))
        total: Poly = {}
        for m, c in p.items():
            for n, d in q.items():
                powers = dict(m)
                for name, power in n:
                    powers[name] = powers.get(name, 0) + power
                monomial = tuple(sorted(powers.items()))
                total[monomial] = total.get(monomial, 0) + c * d
        return _small({m: c for m, c in total.items() if c})

    def find(self, meaning: tuple[Any, ...]) -> Poly:
        name = self.meanings.get(self.meaning_key(meaning))
        _need(name, f"no definition of {meaning[0]}")
        return {((name, 1),): 1}  # type: ignore[dict-item]

    @staticmethod
    def meaning_key(meaning: tuple[Any, ...]) -> Any:
        if meaning[0] in ("min", "max", "bitand"):
            return (meaning[0], frozenset(map(_key, meaning[1:])))
        return _key(meaning)

    def meaning(self, term: Sexp) -> tuple[Any, ...]:
        _need(isinstance(term, list), "a definition of what is no operation")
        assert isinstance(term, list)
        name, *operands = term
        if self.opaque(term):
            return ("truth" if _sort(term) == BOOL else "integer", _text(term))
        _need(name in ("//", "max", "min", "ite", "**", "bitand"), "a definition of what needs none")
        if name == "ite":
            return (name, self.fact(operands[0], True), self.poly(operands[1]), self.poly(operands[2]))
        return (name, *map(self.poly, operands))

    @staticmethod
    def opaque(term: list[Any]) -> bool:
        return term[0] in ON_DOUBLES or any(_sort(t) == REAL for t in term[1:])

    def poly(self, term: Sexp) -> Poly:
        return _small(self.poly_of(term))

    def poly_of(self, term: Sexp) -> Poly:
        if isinstance(term, str):
            value = _integer(term)
            if value is not None:
                return _constant(value)
            _need(term in self.names, f"no name `{term}`")
            return {((term, 1),): 1}
        name = term[0]
        _need(_sort(term) == INT, "an integer is due")
        if self.opaque(term) or name == "ite":
            return self.find(self.meaning(term))
        p = [self.poly(t) for t in term[1:]]
        if name == "+":
            return _sum(*p)
        if name == "-":
            return _scaled(p[0], -1) if len(p) == 1 else _sum(p[0], _scaled(p[1], -1))
        if name == "*":
            total = _constant(1)
            for q in p:
                total = self.times(total, q)
            return total
        if name == "//":
            return self.find(("//", *p))
        if name == "%":
            return _sum(p[0], _scaled(self.times(p[1], self.find(("//", *p))), -1))
        if name == "**":
            return self.power(*p)
        if name == "<<":
            return self.times(p[0], self.power(_constant(2), p[1]))
        if name == ">>":
            return self.find(("//", p[0], self.power(_constant(2), p[1])))
        if name == "abs":
            p, name = [p[0], _scaled(p[0], -1)], "max"
        if name in ("max", "min"):
            return p[0] if all(q == p[0] for q in p) else self.find((name, *p))
        both = self.masked(*p)
        return both if name == "bitand" else _sum(*p, _scaled(both, -1 if name == "bitor" else -2))

    def power(self, base: Poly, exponent: Poly) -> Poly:
        n = _value_of(exponent)
        if n is None or n < 0:
            return self.find(("**", base, exponent))
        _need(n <= (200 if _value_of(base) is None else 10_000), "a polynomial is too large")
        total = _constant(1)
        for _ in range(n):
            total = self.times(total, base)
        return total

    def masked(self, a: Poly, b: Poly) -> Poly:
        for x, mask in ((a, _value_of(b)), (b, _value_of(a))):
            if mask is None:
                continue
            size = mask + 1 if mask >= 0 else -mask
            if size & (size - 1) == 0:
                multiple = _scaled(self.find(("//", x, _constant(size))), size)
                return multiple if mask < 0 else _sum(x, _scaled(multiple, -1))
        return self.find(("bitand", a, b))

    def fact(self, formula: Sexp, holds: bool) -> Fact:
        _need(isinstance(formula, list) and _sort(formula) == BOOL, "no formula")
        assert isinstance(formula, list)
        name, *operands = formula
        if self.opaque(formula):
            return _equal(_sum(self.find(self.meaning(formula)), _constant(-int(holds))))
        if name in ("true", "false"):
            return _truth((name == "true") == holds)
        if name == "not":
            return self.fact(operands[0], not holds)
        if name in ("and", "or"):
            parts = [self.fact(f, holds) for f in operands]
            return _all(*parts) if (name == "and") == holds else _any(*parts)
        p = _sum(self.poly(operands[0]), _scaled(self.poly(operands[1]), -1))
        if not holds:
            name = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "=": "!=", "!=": "="}[name]
        if name in ("=", "!="):
            return _equal(p) if name == "=" else _unequal(p)
        if name in ("<=", "<"):
            p = _scaled(p, -1)
        return _at_least(p if name in ("<=", ">=") else _sum(p, _constant(-1)))


def _facts_of(names: _Names, name: str, meaning: tuple[Any, ...]) -> list[Fact]:
    """What always holds of a defined name."""
    v: Poly = {((name, 1),): 1}
    one, minus = _constant(1), _constant(-1)

    def less(p: Poly, q: Poly) -> Fact:
        """``p < q``"""
        return _at_least(_sum(q, _scaled(p, -1), minus))

    def same(p: Poly) -> Fact:
        return _equal(_sum(v, _scaled(p, -1)))

    kind = meaning[0]
    if kind == "//":
        a, b = meaning[1:]
        rest = _sum(a, _scaled(names.times(b, v), -1))
        above = _all(_at_least(_sum(b, minus)), _at_least(rest), less(rest, b))
        below = _all(_at_least(_sum(_scaled(b, -1), minus)), _at_least(_scaled(rest, -1)), less(b, rest))
        return [_any(above, below, _all(_equal(b), _equal(v)))]
    if kind in ("max", "min"):
        side = 1 if kind == "max" else -1
        bounds = [_at_least(_scaled(_sum(v, _scaled(p, -1)), side)) for p in meaning[1:]]
        return [*bounds, _any(*map(same, meaning[1:]))]
    if kind == "ite":
        c, a, b = meaning[1:]
        return [_any(_all(c, same(a)), _all(_negation(c), same(b)))]
    if kind == "**":
        a, n = meaning[1:]
        negative = _at_least(_sum(_scaled(n, -1), minus))
        zero = _all(_equal(n), _equal(_sum(v, minus)))
        cases = _any(_all(negative, _equal(v)), zero, _at_least(_sum(n, minus)))
        return [cases, _any(negative, _at_least(_sum(_scaled(a, -1), one)), less(n, v))]
    if kind == "bitand":
        return [
            _any(
                _at_least(_sum(_scaled(x, -1), minus)),
                _all(_at_least(v), _at_least(_sum(x, _scaled(v, -1)))),
            )
            for x in meaning[1:]
        ]
    if kind == "truth":
        return [_at_least(v), _at_least(_sum(_scaled(v, -1), one))]
    return []


# Values


def _evaluate(term: Sexp, at: dict[str, int]) -> Any:
    if isinstance(term, str):
        if term.startswith("#"):
            return struct.unpack(">d", int(term[1:], 16).to_bytes(8, "big"))[0]
        value = _integer(term)
        if value is not None:
            return value
        _need(term in at, f"`{term}` has no value")
        return at[term]
    values, undefined = [], False
    for operand in term[1:]:
        try:
            values.append(_evaluate(operand, at))
        except _Undefined:
            undefined = True
    if undefined:
        raise _Undefined
    try:
        value = _apply(term[0], values)
    except (ZeroDivisionError, OverflowError):
        raise _Undefined from None
    too_large = isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > MAX_VALUE_BITS
    _need(not too_large, "a value is not computed")
    return value


def _apply(name: str, v: list[Any]) -> Any:
    integers = all(isinstance(x, int) for x in v)
    if name in ("**", "<<", ">>") or (name == "float**" and integers and v[1] >= 0):
        if v[1] < 0:
            raise _Undefined
        _need(v[1] <= MAX_VALUE_BITS, "a value is not computed")
        if name in ("<<", ">>"):
            return v[0] << v[1] if name == "<<" else v[0] >> v[1]
        _need(v[0].bit_length() * v[1] <= MAX_VALUE_BITS, "a value is not computed")
        return v[0] ** v[1]
    if name in ("min", "max"):
        if any(x != x for x in v) and len(v) > 1:
            raise _Undefined
        return min(v) if name == "min" else max(v)
    simple: dict[str, Any] = {
        "+": lambda: sum(v),
        "-": lambda: -v[0] if len(v) == 1 else v[0] - v[1],
        "*": lambda: math.prod(v),
        "//": lambda: v[0] // v[1],
        "%": lambda: v[0] % v[1],
        "bitand": lambda: v[0] & v[1],
        "bitor": lambda: v[0] | v[1],
        "bitxor": lambda: v[0] ^ v[1],
        "abs": lambda: abs(v[0]),
        "ite": lambda: v[1] if v[0] else v[2],
        "true": lambda: True,
        "false": lambda: False,
        "<=": lambda: v[0] <= v[1],
        "<": lambda: v[0] < v[1],
        ">=": lambda: v[0] >= v[1],
        ">": lambda: v[0] > v[1],
        "=": lambda: v[0] == v[1],
        "!=": lambda: v[0] != v[1],
        "and": lambda: all(v),
        "or": lambda: any(v),
        "not": lambda: not v[0],
        "float": lambda: float(v[0]),
        "int/": lambda: v[0] / v[1],
        "float/": lambda: float(v[0]) / float(v[1]),
        "float+": lambda: v[0] + v[1] if integers else float(v[0]) + float(v[1]),
        "float*": lambda: v[0] * v[1] if integers else float(v[0]) * float(v[1]),
        "ftrunc": lambda: float(math.trunc(float(v[0]))),
        "trunc": lambda: _whole(math.trunc, v[0]),
        "floor": lambda: _whole(math.floor, v[0]),
        "ceil": lambda: _whole(math.ceil, v[0]),
        "round": lambda: _whole(round, v[0]),
        "float=": lambda: v[0] == v[1],
        "float<": lambda: v[0] < v[1],
        "float<=": lambda: v[0] <= v[1],
    }
    if name in simple:
        try:
            return simple[name]()
        except ValueError:
            raise _Undefined from None
    return _function(name, v)


def _whole(rounding: Any, value: Any) -> int:
    return value if isinstance(value, int) else int(rounding(value))


def _function(name: str, v: list[Any]) -> Any:
    if name == "sqrt":
        x = float(v[0])
        if x < 0:
            raise _Undefined
        return math.sqrt(x)
    if name == "decimal":
        _need(isinstance(v[1], int) and 0 <= v[1] <= 300, "a value is not computed")
        if isinstance(v[0], int):
            return v[0]
        _need(math.isfinite(v[0]), "a value is not computed")
        ten = 10 ** v[1]
        return float(Fraction(round(Fraction(v[0]) * ten), ten))
    _need(name == "float**", "no operation")
    try:
        return math.pow(float(v[0]), float(v[1]))
    except ValueError:
        raise _Undefined from None


# Checking


def _parts(sexp: Sexp, head: str) -> list[Any]:
    _need(isinstance(sexp, list) and sexp and sexp[0] == head, f"expected `({head} …)`")
    return list(sexp[1:])


class _Checker:
    def __init__(self, certificate: Sexp) -> None:
        parts = _parts(certificate, "certificate")
        _need(len(parts) == 7, "a certificate has seven parts")
        _need(parts[0] == VERSION, "a certificate of another version")
        heads = ("symbols", "premises", "defined", "goal", "definitions", "proof")
        self.symbols, self.premises, self.defined, goal, definitions, self.proof = map(_parts, parts[1:], heads)
        _need(len(goal) == 1, "a claim has one goal")
        self.goal = goal[0]
        self.names = _Names()
        self.facts: list[Fact] = []
        self.steps = self.tried = 0
        self.outside: list[str] = []
        for symbol in self.symbols:
            self.names.declare(symbol)
        for term in self.stated():
            _check_term(term)
            self.only_symbols(term)
        defining: list[Fact] = []
        for definition in definitions:
            _need(isinstance(definition, list) and len(definition) == 2, "a definition is a name and a term")
            name, term = definition
            _check_term(term)
            meaning = self.names.meaning(term)
            key = self.names.meaning_key(meaning)
            _need(key not in self.names.meanings, "defined twice")
            self.names.meanings[key] = self.names.declare(name)
            defining += _facts_of(self.names, name, meaning)
        for fact in [*self.claimed(), *defining]:
            self.add(fact)

    def stated(self) -> list[Sexp]:
        return [*self.premises, self.goal, *self.defined]

    def only_symbols(self, term: Sexp) -> None:
        if isinstance(term, list):
            for operand in term[1:]:
                self.only_symbols(operand)
        elif not term.startswith("#") and _integer(term) is None:
            _need(term in self.names.names, f"no symbol `{term}`")

    def claimed(self) -> Iterator[Fact]:
        for premise in self.premises:
            yield self.names.fact(premise, True)
        yield self.names.fact(self.goal, False)
        known = set()
        for term in self.stated():
            for p, nonzero in self.required(term):
                key = (_key(p), nonzero)
                if key not in known:
                    known.add(key)
                    yield _unequal(p) if nonzero else _at_least(p)

    def required(self, term: Sexp) -> Iterator[tuple[Poly, bool]]:
        if isinstance(term, str):
            return
        for operand in term[1:]:
            yield from self.required(operand)
        if term[0] in ("//", "%", "int/", "**", "<<", ">>") and _sort(term[2]) == INT:
            yield self.names.poly(term[2]), term[0] in ("//", "%", "int/")

    def add(self, fact: Fact) -> None:
        self.facts.extend(fact[1] if fact[0] == "all" else [fact])

    def fact(self, number: Sexp, *kinds: str) -> Fact:
        at = _integer(number)
        _need(at is not None and 0 <= at < len(self.facts), f"there is no fact {number}")
        fact = self.facts[at]  # type: ignore[index]
        _need(fact[0] in kinds, f"fact {number} is of another kind")
        return fact

    def poly(self, term: Sexp) -> Poly:
        _check_term(term)
        return self.names.poly(term)

    def run(self, steps: list[Any], depth: int) -> None:
        _need(depth <= MAX_CASES, "cases are nested too deeply")
        for at, step in enumerate(steps):
            self.steps += 1
            _need(isinstance(step, list) and step and isinstance(step[0], str), "a step is a list")
            rule = getattr(self, "rule_" + step[0], None)
            _need(rule, f"no rule `{step[0]}`")
            assert rule
            concluded = rule(step[1:], depth)
            if concluded is not None:
                self.facts.append(concluded)
            if concluded is None or concluded == FALSE:
                _need(at + 1 == len(steps), "a step after the end")
                return
        raise CertificateError("no contradiction is reached")

    def case(self, fact: Fact, steps: Sexp, depth: int) -> None:
        _need(isinstance(steps, list), "a case is a list of steps")
        known = len(self.facts)
        self.add(fact)
        if fact != FALSE or steps:
            self.run(list(steps), depth + 1)
        del self.facts[known:]

    def rule_split(self, rest: list[Any], depth: int) -> None:
        _need(rest, "which fact?")
        parts = self.fact(rest[0], "any")[1]
        _need(len(parts) == len(rest) - 1, "a case for each part")
        for part, steps in zip(parts, rest[1:]):
            self.case(part, steps, depth)

    def rule_cut(self, rest: list[Any], depth: int) -> None:
        _need(len(rest) == 4, "a cut has four parts")
        p = _sum(self.poly(rest[0]), _scaled(self.poly(rest[1]), -1))
        self.case(_at_least(_scaled(p, -1)), rest[2], depth)
        self.case(_at_least(_sum(p, _constant(-1))), rest[3], depth)

    def rule_outside(self, rest: list[Any], depth: int) -> None:
        _need(len(rest) == 1 and isinstance(rest[0], str), "which solver?")
        self.outside.append(rest[0])

    def rule_contradiction(self, rest: list[Any], depth: int) -> None:
        _need(len(rest) == 1 and self.fact(rest[0], "any") == FALSE, "a fact that may be true")

    def rule_combine(self, rest: list[Any], depth: int) -> Fact:
        total: Poly = {}
        equation = True
        for part in rest:
            _need(isinstance(part, list) and len(part) == 2, "a part is a factor and a fact")
            factor = self.poly(part[0])
            kind, p = self.fact(part[1], "ge", "eq")
            if kind == "ge":
                value = _value_of(factor)
                _need(value is not None and value >= 0, "an inequality a negative or unknown number of times")
                equation = False
            total = _sum(total, self.names.times(factor, p))
        return _equal(_small(total)) if equation else _at_least(_small(total))

    def rule_multiply(self, rest: list[Any], depth: int) -> Fact:
        _need(len(rest) == 2, "a product of two facts")
        return _at_least(self.names.times(self.fact(rest[0], "ge")[1], self.fact(rest[1], "ge")[1]))

    def rule_square(self, rest: list[Any], depth: int) -> Fact:
        _need(len(rest) == 1, "what is squared?")
        p = self.poly(rest[0])
        return _at_least(self.names.times(p, p))

    def rule_let(self, rest: list[Any], depth: int) -> Fact:
        _need(len(rest) == 2, "a name and a term")
        p = self.poly(rest[1])
        return _equal(_sum({((self.names.declare(rest[0]), 1),): 1}, _scaled(p, -1)))

    def rule_equal(self, rest: list[Any], depth: int) -> Fact:
        _need(len(rest) == 2, "two facts")
        p, q = self.fact(rest[0], "ge")[1], self.fact(rest[1], "ge")[1]
        _need(not _sum(p, q), "facts that are not opposite")
        return _equal(p)

    def rule_divide(self, rest: list[Any], depth: int) -> Fact:
        _need(len(rest) == 4, "a division has four parts")
        (kind, p), quotient, k = self.fact(rest[0], "ge", "eq"), self.poly(rest[1]), _value_of(self.poly(rest[3]))
        _need(k is not None and k >= 1, "a divisor that may be zero")
        divisor = _sum(self.fact(rest[2], "ge")[1], _constant(k or 0))
        _need(self.names.times(divisor, quotient) == p, "no factor")
        return _equal(quotient) if kind == "eq" else _at_least(quotient)

    def rule_modulo(self, rest: list[Any], depth: int) -> None:
        m = _integer(rest[0]) if rest else None
        _need(m is not None and 2 <= m <= 100_000, "a modulus from 2 to 100000")
        assert m
        polys = [{n: c % m for n, c in self.fact(f, "eq")[1].items() if c % m} for f in rest[1:]]
        names = sorted({name for p in polys for n in p for name, _ in n})
        for values in assignments(range(m), repeat=len(names)):
            self.names.spend(sum(map(len, polys)))
            at = dict(zip(names, values))
            if not any(sum(c * math.prod(at[x] ** k for x, k in n) for n, c in p.items()) % m for p in polys):
                raise CertificateError(f"there is a solution modulo {m}")

    def rule_enumerate(self, rest: list[Any], depth: int) -> None:
        _need(rest, "how many?")
        names: list[str] = []
        ranges: list[range] = []
        for part in rest[1:]:
            _need(isinstance(part, list) and len(part) == 3 and part[0] in self.symbols, "no symbol")
            _need(part[0] not in names, "a symbol has two ranges")
            symbol: Poly = {((part[0], 1),): 1}
            low, high = self.bound(part[1], symbol), -self.bound(part[2], _scaled(symbol, -1))
            names.append(part[0])
            ranges.append(range(low, high + 1))
        count = math.prod(max(r.stop - r.start, 0) for r in ranges)
        _need(count <= MAX_WORK, "more work than is allowed")
        _need(rest[0] == str(count), f"{count} assignments, not what is said")
        at = {name: r.start for name, r in zip(names, ranges)}
        for _ in range(count):
            self.names.spend(1)
            self.tried += 1
            _need(not self.contradicts(at), "the claim is false at one of the assignments")
            for name, r in zip(names, ranges):
                at[name] += 1
                if at[name] < r.stop:
                    break
                at[name] = r.start

    def bound(self, number: Sexp, p: Poly) -> int:
        kind, q = self.fact(number, "ge", "eq")
        for sign in (1, -1) if kind == "eq" else (1,):
            k = _value_of(_sum(_scaled(q, sign), _scaled(p, -1)))
            if k is not None:
                return -k
        raise CertificateError("a range without a bound")

    def contradicts(self, at: dict[str, int]) -> bool:
        try:
            for term, wanted in [*((p, True) for p in self.premises), (self.goal, False)]:
                self.names.spend(1)
                if _evaluate(term, at) != wanted:
                    return False
            for term in self.defined:
                _evaluate(term, at)
        except _Undefined:
            return False
        return True


def certify(text: str) -> dict[str, Any]:
    """Checks a certificate.

    Parameters
    ----------
    text : str
        One certificate, as ``sizewise entail --certificate`` writes it.

    Returns
    -------
    dict
        ``symbols``, ``premises`` and ``goal`` of the claim as S-expressions, the number of ``steps``, the number of
        ``assignments`` that were tried, and ``outside``: the names of solvers whose word was taken.

    Raises
    ------
    CertificateError
        The text is no certificate, or a step is not right.
    """
    certificates = read(text)
    _need(len(certificates) == 1, f"{len(certificates)} certificates where one is due")
    try:
        checker = _Checker(certificates[0])
        checker.run(checker.proof, 0)
    except RecursionError:
        raise CertificateError("nested too deeply") from None
    return {
        "symbols": checker.symbols,
        "premises": [_text(p) for p in checker.premises],
        "goal": _text(checker.goal),
        "steps": checker.steps,
        "assignments": checker.tried,
        "outside": checker.outside,
    }


__all__ = ["CertificateError", "certify"]
