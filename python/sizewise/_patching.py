"""Patching torch's `ShapeEnv`: which releases are known, and how patches stay out of sight."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from sizewise._errors import Unsupported

#: The releases of torch that this was tried with.
TRIED = ("2.14", "2.15")

#: The arguments of the method that is patched, with the values that leave a question to sizewise.
DEFAULTS = {
    "unbacked_only": False,
    "compute_hint": False,
    "size_oblivious": False,
    "axioms": None,
    "var_to_range": None,
}


def release() -> str:
    """The release of torch: "2.15"."""
    import torch

    return ".".join(torch.__version__.split(".")[:2])


def warn_untried(what: str, since: str = TRIED[0]) -> None:
    """Warns of a release of torch that something was not tried with: older than ``since``, or newer than all that were tried."""
    if not _order(since) <= _order(release()) <= _order(TRIED[-1]):
        message = f"{what} was tried with torch {since} to {TRIED[-1]}, not with {release()}"
        warnings.warn(message, UserWarning, stacklevel=3)


def _order(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split(".")))


def require_tried(any_torch: bool) -> None:
    """Raises `Unsupported` for a release of torch that this was not tried with, or that has other methods."""
    import inspect

    import torch
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    if release() not in TRIED and not any_torch:
        tried = ", ".join(TRIED)
        raise Unsupported(f"torch {release()} was not tried, only {tried}; any_torch=True runs with it all the same")
    method = getattr(ShapeEnv, "_maybe_evaluate_static", None)
    expected = ["self", "expr", *DEFAULTS]
    if method is None or list(inspect.signature(method).parameters) != expected:
        raise Unsupported(f"ShapeEnv of torch {torch.__version__} has another method _maybe_evaluate_static")


class Shared:
    """Patches that several users share: made for the first one, undone after the last.

    Parameters
    ----------
    make : callable
        Makes the patches; returns what undoes each.
    """

    def __init__(self, make: Callable[[], list[Callable[[], None]]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._users = 0
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Makes the patches for the first user."""
        with self._lock:
            if not self._users:
                self._undo = self._make()
            self._users += 1

    def remove(self) -> None:
        """The last user takes the patches along."""
        with self._lock:
            self._users -= 1
            while not self._users and self._undo:
                self._undo.pop()()


def as_torch(function: Any) -> Any:
    """A function that torch takes for one of its own when it looks for the user's code on the stack."""
    from torch.fx.experimental import symbolic_shapes

    function.__code__ = function.__code__.replace(co_filename=symbolic_shapes.__file__)
    return function


def hide(file: str) -> Callable[[], None]:
    """Makes torch look past the frames of a file for the user's code; returns what undoes this."""
    from torch.fx.experimental.symbolic_shapes import uninteresting_files

    files = uninteresting_files()
    files.add(file)
    return lambda: files.discard(file)


def replace(owner: Any, name: str, method: Any) -> Callable[[], None]:
    """Puts a method in place of another; returns what undoes this, unless somebody replaced it since."""
    original = getattr(owner, name)
    method = as_torch(method)
    method.__wrapped__ = original
    for attribute in ("cache_clear", "cache_info"):
        if hasattr(original, attribute):
            setattr(method, attribute, getattr(original, attribute))
    setattr(owner, name, method)

    def undo() -> None:
        if getattr(owner, name) is method:
            setattr(owner, name, original)

    return undo
