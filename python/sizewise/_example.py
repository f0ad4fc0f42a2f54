"""The sizes of the example, and sizes near them: what differs there does not follow from the facts."""

from __future__ import annotations

from collections.abc import Iterator

from sizewise import _native

#: Symbols of a question that are given other values, one at a time.
_MAX_CHANGED = 6


class Example:
    """The values of symbols in the example, their ranges, and the conditions that are known.

    Where a condition has either value at sizes that all of these allow, no sound reasoning settles it.
    """

    __slots__ = ("about", "holds", "native", "ranges", "values")

    def __init__(self, native: _native.Env) -> None:
        self.native = native
        self.values: dict[str, int] = {}
        self.ranges: dict[str, tuple[int | None, int | None]] = {}
        #: The known conditions by the symbols in them.
        self.about: dict[str, list[int]] = {}
        #: Whether everything that is known was expressed, and holds in the example.
        self.holds = True

    def declare(self, name: str, value: int | None, low: int | None, high: int | None) -> None:
        """Sets the value and the range of a symbol."""
        self.ranges[name] = (low, high)
        if value is not None:
            self.values[name] = value
            self.holds = self.holds and self._allows(name, value)

    def assume(self, condition: int) -> None:
        """Adds a condition."""
        for name in self.native.symbols_of(condition):
            self.about.setdefault(name, []).append(condition)
        self.holds = self.holds and self._at(condition) is True

    def differs_nearby(self, condition: int) -> bool:
        """Whether the condition has the other value where one of its symbols has another value."""
        if not self.holds:
            return False
        names = self.native.symbols_of(condition)
        value = self._at(condition)
        if not isinstance(value, bool):
            return False
        for name in names[:_MAX_CHANGED]:
            for other in self._neighbours(name):
                if self._at(condition, name, other) is (not value) and all(
                    self._at(known, name, other) is True for known in self.about.get(name, ())
                ):
                    return True
        return False

    def _at(self, condition: int, changed: str = "", other: int = 0) -> object:
        """The value of a condition in the example, where one symbol may have another value."""
        values = {}
        for name in self.native.symbols_of(condition):
            value = other if name == changed else self.values.get(name)
            if value is None:
                return None
            values[name] = value
        return self.native.evaluate(condition, values)

    def _allows(self, name: str, value: int) -> bool:
        low, high = self.ranges[name]
        return (low is None or low <= value) and (high is None or value <= high)

    def _neighbours(self, name: str) -> Iterator[int]:
        value, (low, high) = self.values[name], self.ranges[name]
        others = [value + 1, value - 1, value + 2, 2 * value]
        others += [] if low is None else [low, low + 1]
        others += [] if high is None else [high]
        return (other for other in dict.fromkeys(others) if other != value and self._allows(name, other))
