"""Walks through sympy trees that torch repeats: each expression is walked once for as long as a decider saves time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sizewise._forms import remember_forms


class Walks:
    """Remembers `free_symbols` and `is_number` of sympy's expressions.

    Torch asks for them whenever it compares sizes and looks for a result in its caches. Expressions never change, so
    the answers stay sympy's own. The memory is shared by all users and given back with the last.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Begins to remember, for the first user."""
        with self.lock:
            if not self.users:
                from sympy import Basic, Expr

                self.undo = [_remember(Basic, "free_symbols", set), _remember(Expr, "is_number", bool)]
                self.undo += remember_forms()
            self.users += 1

    def remove(self) -> None:
        """The last user takes the memory along."""
        with self.lock:
            self.users -= 1
            if not self.users:
                for undo in self.undo:
                    undo()
                self.undo = []


def _remember(owner: Any, name: str, copy: Callable[[Any], Any]) -> Callable[[], None]:
    """Puts a property that remembers in place of another; callers get copies. Returns what undoes this."""
    original = owner.__dict__.get(name)
    if not isinstance(original, property) or original.fget is None:
        # Another release of sympy may do this otherwise, and needs no memory then.
        return lambda: None
    walk = original.fget
    memo: dict[Any, Any] = {}

    def remembered(self: Any) -> Any:
        known = memo.get(self)
        if known is None:
            known = memo[self] = walk(self)
        return copy(known)

    made = property(remembered, doc=original.__doc__)
    setattr(owner, name, made)

    def undo() -> None:
        if owner.__dict__[name] is made:
            setattr(owner, name, original)

    return undo
