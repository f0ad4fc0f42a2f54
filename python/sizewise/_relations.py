"""Relations between numbers that all examples satisfy, and that enough of them show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

#: Different values that show a line or a multiple: two are always on a line, and always leave one remainder.
_FOR_LINE = 3
#: Different values that show that all are even, or all odd: of three any are in one case of four.
_FOR_PARITY = 4
#: Different values that show a floor division.
_FOR_QUOTIENT = 4
#: The largest divisor of a floor division that is looked for.
_MAX_DIVISOR = 64


@dataclass(frozen=True)
class Slot:
    """A size or an integer of the arguments that differs between examples."""

    #: A name for it.
    name: str
    #: Its value in each example.
    values: tuple[int, ...]
    is_size: bool


@dataclass(frozen=True)
class Variable:
    """A variable of a spec."""

    is_size: bool
    low: int | None
    high: int | None = None


@dataclass
class Relations:
    """What was found."""

    #: What each slot is, over the variables.
    expressions: list[str]
    variables: dict[str, Variable]
    assumptions: list[str]


@dataclass
class _Number:
    """What is equal in all examples, in one or more slots."""

    values: tuple[int, ...]
    slots: list[int] = field(default_factory=list)
    #: What it is over others; `None` for a variable.
    expression: str | None = None

    @property
    def distinct(self) -> int:
        return len(set(self.values))

    @property
    def spread(self) -> int:
        return max(self.values) - min(self.values)


def relations(slots: Sequence[Slot], reserved: set[str]) -> Relations:
    """The relations between slots. Variables get none of the reserved names."""
    search = _Search(slots, reserved)
    search.lines()
    search.sums_and_products()
    search.quotients()
    search.remainders()
    return search.found()


class _Search:
    """Finds the relations, one kind after the other; what has an expression is no variable any more."""

    def __init__(self, slots: Sequence[Slot], reserved: set[str]) -> None:
        self.slots = slots
        self.numbers: list[_Number] = []
        for i, slot in enumerate(slots):
            self.number_of(slot).slots.append(i)
        self.names = self.named(reserved)
        self.assumptions: list[str] = []
        #: Numbers of which an assumption says what they are.
        self.related: set[int] = set()
        #: Numbers that others are computed from: they stay variables.
        self.used: set[int] = set()

    def number_of(self, slot: Slot) -> _Number:
        for number in self.numbers:
            other = self.slots[number.slots[0]]
            if number.values == slot.values and (
                (slot.is_size and other.is_size) or number.distinct >= _FOR_LINE
            ):
                return number
        self.numbers.append(_Number(slot.values))
        return self.numbers[-1]

    def named(self, taken: set[str]) -> dict[int, str]:
        """A name for each number, of the first slot that has it."""
        names: dict[int, str] = {}
        for number in self.numbers:
            own = self.slots[number.slots[0]].name
            count = 1
            name = own
            while name in taken:
                count += 1
                name = f"{own}_{count}"
            taken = taken | {name}
            names[id(number)] = name
        return names

    def free(self) -> list[_Number]:
        """The numbers that are variables."""
        return [number for number in self.numbers if number.expression is None]

    def lines(self) -> None:
        """Numbers on a line with another one: ``y == a*v + c``, of the one that varies least."""
        roots: list[_Number] = []
        for number in sorted(self.numbers, key=lambda number: number.spread):
            for root in roots:
                if self.on_line(number, root):
                    break
            else:
                roots.append(number)

    def on_line(self, number: _Number, root: _Number) -> bool:
        if number.distinct < _FOR_LINE:
            return False
        low, high = root.values.index(min(root.values)), root.values.index(max(root.values))
        rise, run = number.values[high] - number.values[low], root.spread
        if rise <= 0:
            return False
        factor, divisor = rise // math.gcd(rise, run), run // math.gcd(rise, run)
        rest = divisor * number.values[low] - factor * root.values[low]
        if any(divisor * y != factor * x + rest for x, y in zip(root.values, number.values)):
            return False
        self.used.add(id(root))
        name = self.names[id(root)]
        line = name if factor == 1 else f"{factor}*{name}"
        line += "" if rest == 0 else f" + {rest}" if rest > 0 else f" - {-rest}"
        if divisor == 1:
            number.expression = line
        else:
            self.assumptions.append(f"{divisor}*{self.names[id(number)]} == {line}")
            self.related.add(id(number))
        return True

    def sums_and_products(self) -> None:
        """Numbers that are the sum or the product of two smaller ones, in one way only."""
        roots: list[_Number] = []
        for number in sorted(self.free(), key=lambda number: sum(number.values)):
            # In the order in which the arguments have them.
            pairs = itertools.combinations_with_replacement(sorted(roots, key=lambda root: root.slots), 2)
            self.decide(number, [(text, pair) for pair in pairs for text in self.ways(number, *pair)], roots)

    def decide(self, number: _Number, ways: list[tuple[str, tuple[_Number, ...]]], roots: list[_Number]) -> None:
        """Takes the only way to compute a number, or else makes it a variable that others may be computed from."""
        if len(ways) != 1 or id(number) in self.related | self.used:
            roots.append(number)
            return
        number.expression, operands = ways[0]
        self.used.update(map(id, operands))

    def ways(self, number: _Number, one: _Number, other: _Number) -> list[str]:
        pairs = list(zip(one.values, other.values))
        if len(set(pairs)) < _FOR_LINE or number.distinct < _FOR_LINE:
            return []
        left, right = self.names[id(one)], self.names[id(other)]
        found = []
        if one is not other and all(a + b == y for (a, b), y in zip(pairs, number.values)):
            found.append(f"{left} + {right}")
        if all(a * b == y for (a, b), y in zip(pairs, number.values)):
            found.append(f"{left}*{right}")
        return found

    def quotients(self) -> None:
        """Numbers that are ``(v + c) // k``, in one way only."""
        roots: list[_Number] = []
        for number in sorted(self.free(), key=lambda number: -number.spread):
            self.decide(number, [(text, (root,)) for root in roots for text in self.quotient(number, root)], roots)

    def quotient(self, number: _Number, root: _Number) -> list[str]:
        """The ways to write a number so; where there are several, two suffice to know it."""
        if root.distinct < _FOR_QUOTIENT or number.distinct < _FOR_LINE:
            return []
        ways, pairs, name = [], list(zip(root.values, number.values)), self.names[id(root)]
        for divisor in range(2, _MAX_DIVISOR + 1):
            low = max(divisor * y - x for x, y in pairs)
            high = min(divisor * y + divisor - 1 - x for x, y in pairs)
            for rest in range(low, min(high, low + 1) + 1):
                shifted = name if rest == 0 else f"({name} + {rest})" if rest > 0 else f"({name} - {-rest})"
                ways.append(f"{shifted} // {divisor}")
        return ways

    def remainders(self) -> None:
        """Variables that leave one remainder."""
        for number in self.free():
            if number.distinct < _FOR_LINE or id(number) in self.related:
                continue
            divisor = math.gcd(*(value - number.values[0] for value in number.values))
            if divisor > 2 or (divisor == 2 and number.distinct >= _FOR_PARITY):
                self.assumptions.append(f"{self.names[id(number)]} % {divisor} == {number.values[0] % divisor}")

    def found(self) -> Relations:
        expressions = [""] * len(self.slots)
        for number in self.numbers:
            for slot in number.slots:
                expressions[slot] = number.expression or self.names[id(number)]
        variables = {}
        assumptions = list(self.assumptions)
        for number in self.numbers:
            # torch takes expressions for sizes only: an integer argument is a variable of its own.
            integers = [slot for slot in number.slots if not self.slots[slot].is_size]
            if number.expression is not None and integers:
                name = self.names[id(number)]
                for slot in integers:
                    expressions[slot] = name
                variables[name] = Variable(False, self.least(number, False))
                assumptions.append(f"{name} == {number.expression}")
        for number in self.free():
            is_size = any(self.slots[slot].is_size for slot in number.slots)
            variables[self.names[id(number)]] = Variable(is_size, self.least(number, is_size))
        return Relations(expressions, variables, assumptions)

    @staticmethod
    def least(number: _Number, is_size: bool) -> int | None:
        """Nobody means what has no elements, or a negative count, who shows none."""
        least = min(number.values)
        return min(least, 1) if is_size else 0 if least >= 0 else None
