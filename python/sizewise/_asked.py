"""Where torch asked for conditions on sizes while it traced a program."""

from __future__ import annotations

import contextlib
import json
import linecache
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from sizewise._follow import Place, cause_of, is_users, place_of
from sizewise._patching import hide, replace

#: The prefixes with which torch logs what it records.
_RECORDING = ("eval", "runtime_assert")

#: The most conditions of one program whose lines are kept.
_MAX_ASKED = 4096

#: The most inputs by which one condition is named.
_MAX_SOURCES = 4

#: The conditions of each `ShapeEnv` that was watched, with their lines.
_WATCHED: weakref.WeakKeyDictionary[Any, list[tuple[Any, Place]]] = weakref.WeakKeyDictionary()


class _Watch:
    """The patch of `ShapeEnv._log_guard`, which torch calls for each guard and each runtime assertion."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.undo: list[Callable[[], None]] = []

    def install(self) -> None:
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        with self.lock:
            self.users += 1
            original = getattr(ShapeEnv, "_log_guard", None)
            if self.users > 1 or original is None:
                return

            def _log_guard(self: Any, prefix: str, g: Any, *args: Any, **kwargs: Any) -> Any:
                _keep(self, prefix, g, sys._getframe(1))
                return original(self, prefix, g, *args, **kwargs)

            self.undo = [replace(ShapeEnv, "_log_guard", _log_guard), hide(__file__)]

    def remove(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                for undo in self.undo:
                    undo()
                self.undo = []


_WATCH = _Watch()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Within the block, the lines are kept that ask torch for conditions on sizes."""
    _WATCH.install()
    try:
        yield
    finally:
        _WATCH.remove()


def _keep(shape_env: Any, prefix: str, condition: Any, frame: Any) -> None:
    if prefix not in _RECORDING:
        return
    kept = _WATCHED.setdefault(shape_env, [])
    if len(kept) < _MAX_ASKED and all(known != condition for known, _ in kept[-8:]):
        place = place_of(frame, asserts=prefix == "runtime_assert")
        if place is not None:
            kept.append((condition, place))


def asked_of(shape_env: Any, prefix: str, condition: Any, frame: Any) -> dict[str, str] | None:
    """A condition on inputs that torch is about to record, with the line that asks for it."""
    place = place_of(frame, asserts=prefix == "runtime_assert") if prefix in _RECORDING else None
    found = _over_sources(shape_env, condition) if place is not None else []
    return None if place is None or not found else _entry(found[0], place)


def _entry(text: str, place: Place) -> dict[str, str]:
    trace = "\n".join(f'File "{file}", line {line}, in {name}\n    {code}' for file, line, name, code in place.path)
    return {"condition": text, "stack_trace": trace, "cause": place.cause}


def asked_json(shape_env: Any) -> str:
    """The conditions on inputs, each with the line that asked for it, as JSON."""
    found = _WATCHED.get(shape_env) or list(_recorded(shape_env))
    texts = []
    for condition, place in found:
        texts += [_entry(text, place) for text in _over_sources(shape_env, condition)]
    return json.dumps(texts)


def _over_sources(shape_env: Any, condition: Any) -> list[str]:
    """A condition over the inputs as guards name them, once for each of a few inputs that have a size.

    There is none if the condition is on something else, too.
    """
    import sympy

    found: list[dict[Any, Any]] = [{}]
    for symbol in sorted(condition.free_symbols, key=str):
        equal = [symbol, *(other for other, target in shape_env.replacements.items() if target == symbol)]
        sources = [source for one in equal for source in shape_env.var_to_sources.get(one, ())][:_MAX_SOURCES]
        names = [source.name if isinstance(source.name, str) else source.name() for source in sources]
        found = [{**known, symbol: sympy.Symbol(name)} for known in found for name in names][:_MAX_SOURCES]
    return [str(condition.xreplace(names)) for names in found]


def _recorded(shape_env: Any) -> Iterator[tuple[Any, Place]]:
    """What a `ShapeEnv` itself remembers of its guards: one line each."""
    for guard in getattr(shape_env, "guards", ()):
        place = _of_location(getattr(guard, "sloc", None))
        if place is not None:
            yield guard.expr, place


#: What torch makes of a line of the user: the code, and where it is.
_USERS_LINE = re.compile(r"(?P<code>.*)  # (?P<file>.*):(?P<line>\d+) in (?P<name>\S+)$", re.DOTALL)


def _of_location(sloc: Any) -> Place | None:
    torchs = getattr(sloc, "framework_loc", None)
    file, line, name = (getattr(torchs, part, None) for part in ("filename", "lineno", "name"))
    cause = cause_of(file, name or "") if file else None
    if file and line and is_users(file):
        return Place(((file, line, name or "", linecache.getline(file, line).strip()),), "branch")
    users = _USERS_LINE.match(getattr(sloc, "maybe_user_loc", None) or "")
    if users is None:
        return Place((), cause) if cause is not None else None
    path = (users["file"], int(users["line"]), users["name"], users["code"].strip())
    return Place((path,), cause or "branch")
