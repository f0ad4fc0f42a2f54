"""Walks through sympy trees that torch repeats: each expression is walked once for as long as a decider saves time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sizewise._forms import remember_forms
from sizewise._patching import Shared


def _patches() -> list[Callable[[], None]]:
    from sympy import Basic, Expr

    return [_remember(Basic, "free_symbols", set), _remember(Expr, "is_number", bool), *remember_forms()]


#: Remembers `free_symbols` and `is_number` of sympy's expressions. Torch asks for them whenever it compares sizes and
#: looks for a result in its caches. Expressions never change, so the answers stay sympy's own. The memory is shared by
#: all users and given back with the last.
WALKS = Shared(_patches)


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
