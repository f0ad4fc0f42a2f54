"""Where torch asked for conditions on sizes while it traced a program."""

from __future__ import annotations

import contextlib
import json
import linecache
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from sizewise._follow import Place, cause_of, is_users, place_of
from sizewise._patching import Shared, hide, replace

#: The prefixes with which torch logs what it records.
_RECORDING = ("eval", "runtime_assert")

#: The most conditions of one program whose lines are kept.
_MAX_ASKED = 4096

#: The most inputs by which one condition is named.
_MAX_SOURCES = 4

#: The conditions of each `ShapeEnv` that was watched, with their lines.
_WATCHED: weakref.WeakKeyDictionary[Any, list[tuple[Any, Place]]] = weakref.WeakKeyDictionary()


def _patches() -> list[Callable[[], None]]:
    """Patches `ShapeEnv._log_guard`, which torch calls for each guard and each runtime assertion."""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    original = getattr(ShapeEnv, "_log_guard", None)
    if original is None:
        return []

    def _log_guard(self: Any, prefix: str, g: Any, *args: Any, **kwargs: Any) -> Any:
        # What cannot be placed has no line. That does not concern torch.
        with contextlib.suppress(Exception):
            _keep(self, prefix, g, sys._getframe(1))
        return original(self, prefix, g, *args, **kwargs)

    return [replace(ShapeEnv, "_log_guard", _log_guard), hide(__file__)]


_WATCH = Shared(_patches)


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
    if file and line and is_users(file):
        # A branch, or an operator that torch asks for in C++: the stack is gone.
        return Place(((file, line, name or "", linecache.getline(file, line).strip()),), "unknown")
    cause = cause_of(file, name or "") if file else "unknown"
    users = _USERS_LINE.match(getattr(sloc, "maybe_user_loc", None) or "")
    if users is None:
        return None if cause == "unknown" else Place((), cause)
    return Place(((users["file"], int(users["line"]), users["name"], users["code"].strip()),), cause)
