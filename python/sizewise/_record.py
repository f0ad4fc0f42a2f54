"""`record`: writes what torch asks a `ShapeEnv`, and what it answers, for `sizewise replay`."""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
import weakref
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

from sizewise._asked import asked_of
from sizewise._events import configured, ends, error_of, place, plain, value_of
from sizewise._patching import Shared, hide, replace, warn_untried

if TYPE_CHECKING:
    from types import TracebackType

Event = dict[str, Any]


class record:
    """Within the block, this thread's questions about sizes are written to a file, as JSON lines.

    `sizewise replay` reads the file: it says which guards were needless, and which errors need not have been. No torch
    is needed for that, and no code of the model is in it, only expressions on sizes and the names of inputs.

    Parameters
    ----------
    path : str or path
        Where to write; it is compressed if the name ends in ``.gz``.
    program, mode : str, optional
        How the trace is called. By default after the file.
    any_torch : bool
        Whether to keep silent about a release of torch that this was not tried with. A method that such a release
        lacks is not recorded.

    Examples
    --------
    >>> with sizewise.record("trace.jsonl.gz"):  # doctest: +SKIP
    ...     program = torch.export.export(model, inputs, dynamic_shapes=shapes)
    """

    def __init__(
        self, path: str | os.PathLike[str], program: str | None = None, mode: str = "live", *, any_torch: bool = False
    ) -> None:
        self.path = os.fspath(path)
        self.program = program or os.path.basename(self.path).split(".")[0]
        self.mode = mode
        self.any_torch = any_torch
        #: Events that could not be written, by the error.
        self.failures: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._envs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._asked: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
        #: The events that are not finished, the innermost last.
        self._open: list[Event] = []
        self._waiting: list[Event] = []
        self._next = 0
        self._next_env = 0

    def __enter__(self) -> record:
        import torch

        if not self.any_torch:
            warn_untried("sizewise.record")
        _PATCH.install()
        try:
            compressed = self.path.endswith(".gz")
            self._file: TextIO = gzip.open(self.path, "wt") if compressed else open(self.path, "w")
        except BaseException:
            _PATCH.remove()
            raise
        self._began = time.perf_counter()
        self._token = _CURRENT.set(self)
        release = torch.__version__.split("+")[0]
        self._line({"e": "program", "format": 1, "program": self.program, "mode": self.mode, "torch": release})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _CURRENT.reset(self._token)
        _PATCH.remove()
        end: Event = {"e": "end", "ok": error is None}
        if error is not None:
            end["error"] = [type(error).__name__, str(error)]
        end["seconds"] = round(time.perf_counter() - self._began, 3)
        end["counts"] = dict(self._counts)
        self._flush()
        self._line(end)
        self._file.close()

    def _begin(self, shape_env: Any, kind: str) -> Event:
        """Numbers an event. What happens until it is finished refers to it."""
        event: Event = {"i": self._next}
        if self._open:
            event["by"] = self._open[-1]["i"]
        self._next += 1
        event.update(e=kind, env=self._number(shape_env))
        self._open.append(event)
        return event

    def _finish(self, event: Event, fields: Event | None) -> None:
        """Writes an event, in the order of the numbers; without fields it is dropped."""
        self._open.remove(event)
        if fields is not None:
            event.update(fields)
            self._waiting.append({key: value for key, value in event.items() if not key.startswith("_")})
        if not self._open:
            self._flush()

    def _note(self, shape_env: Any, kind: str, **fields: Any) -> None:
        """An event within which nothing happens."""
        if any(event["e"] in ("symbol", "unbacked") for event in self._open):
            return
        self._finish(self._begin(shape_env, kind), fields)

    def _number(self, shape_env: Any) -> int:
        number = self._envs.get(shape_env)
        if number is None:
            number = self._envs[shape_env] = self._next_env
            self._next_env += 1
            settings = (
                "specialize_zero_one",
                "duck_shape",
                "assume_static_by_default",
                "prefer_deferred_runtime_asserts_over_guards",
                "trace_asserts",
            )
            made: Event = {"i": self._next, "e": "env", "env": number}
            self._next += 1
            made.update((name, getattr(shape_env, name, None)) for name in settings)
            made["backed_size_oblivious"] = configured("backed_size_oblivious")
            self._waiting.append(made)
            # Its symbols may be older than the block.
            for symbol, known in shape_env.var_to_range.items():
                hint = plain(shape_env.backed_var_to_val.get(symbol))
                old = {"e": "symbol", "env": number, "symbol": str(symbol), "hint": hint, "range": ends(known)}
                self._waiting.append({"i": self._next, **old})
                self._next += 1
            for symbol, target in shape_env.replacements.items():
                old = {"e": "replace", "env": number, "symbol": str(symbol), "to": str(target), "why": "before"}
                self._waiting.append({"i": self._next, **old})
                self._next += 1
        return number

    def _is_repeated(self, shape_env: Any, question: Any) -> bool:
        """Whether this was asked of the same facts before."""
        asked = self._asked.setdefault(shape_env, set())
        key = (shape_env._version_counter, len(shape_env.guards), question)
        if key in asked:
            return True
        asked.add(key)
        return False

    def _flush(self) -> None:
        self._waiting.sort(key=lambda event: event["i"])
        for event in self._waiting:
            self._line(event)
        self._waiting.clear()

    def _line(self, event: Event) -> None:
        self._file.write(json.dumps(event, separators=(",", ":")) + "\n")


#: How an event is recorded: before the method runs, it returns what is to be done with the result or the error.
Hook = Callable[..., Callable[[Any, BaseException | None], None]]


def _symbol(to: record, shape_env: Any, val: Any, source: Any, *args: Any, **options: Any) -> Any:
    event = to._begin(shape_env, "symbol")
    before = len(shape_env.backed_var_to_val)

    def after(result: Any, error: BaseException | None) -> None:
        policy = args[0] if args else options.get("dynamic_dim")
        fields = {"source": source.name, "hint": plain(val), "policy": getattr(policy, "name", "DUCK")}
        if error is not None:
            to._finish(event, {**fields, "error": error_of(error)})
            return
        fields["symbol"] = str(result)
        known = shape_env.var_to_range.get(result)
        if known is not None:
            assumed = "positive" if result.is_positive else "nonnegative" if result.is_nonnegative else None
            new = len(shape_env.backed_var_to_val) > before
            kind = "int" if result.is_integer else "float"
            fields.update(new=new, range=ends(known), assume=assumed, type=kind)
        to._finish(event, fields)

    return after


def _unbacked(to: record, shape_env: Any, *args: Any, **options: Any) -> Any:
    event = to._begin(shape_env, "unbacked")

    def after(result: Any, error: BaseException | None) -> None:
        if error is not None:
            to._finish(event, None)
            return
        symbol = result.node.expr
        if not symbol.is_Symbol:
            # A truth value is `Eq(u0, 1)`.
            symbol = next(iter(symbol.free_symbols))
        kind = type(result).__name__.removeprefix("Sym").lower()
        known = ends(shape_env.var_to_range.get(symbol))
        to._finish(event, {"symbol": str(symbol), "type": kind, "range": known, "at": place()})

    return after


def _range_update(to: record, shape_env: Any, symbol: Any, *args: Any, **options: Any) -> Any:
    before = shape_env.var_to_range.get(symbol)

    def after(result: Any, error: BaseException | None) -> None:
        known = shape_env.var_to_range.get(symbol)
        if known is not before and known is not None:
            to._note(shape_env, "range", symbol=str(symbol), range=ends(known))

    return after


def _replacement(to: record, shape_env: Any, symbol: Any, target: Any, why: str) -> Any:
    before = shape_env.replacements.get(symbol)

    def after(result: Any, error: BaseException | None) -> None:
        known = shape_env.replacements.get(symbol)
        if known is not before and known is not None:
            to._note(shape_env, "replace", symbol=str(symbol), to=str(known), why=why)

    return after


def _divisible(to: record, shape_env: Any, expr: Any) -> Any:
    return lambda result, error: to._note(shape_env, "divisible", expr=str(expr))


def _freeze(to: record, shape_env: Any) -> Any:
    return lambda result, error: to._note(shape_env, "freeze")


def _evaluation(
    to: record,
    shape_env: Any,
    expr: Any,
    hint: Any = None,
    fx_node: Any = None,
    size_oblivious: bool = False,
    fallback_value: Any = None,
    *,
    forcing_spec: bool = False,
) -> Any:
    to._counts["evaluate_expr"] += 1
    event = to._begin(shape_env, "eval")
    if expr.is_number or str(expr) in ("True", "False"):
        return lambda result, error: to._finish(event, None)
    guards, asserts = len(shape_env.guards), shape_env.num_deferred_runtime_asserts
    value, at = value_of(shape_env, expr), place()
    suppressed = bool(shape_env._suppress_guards_tls())

    def after(result: Any, error: BaseException | None) -> None:
        fields: Event = {"expr": str(expr), "hint": plain(hint), "value": value, "result": plain(result)}
        unbacked = not expr.free_symbols <= shape_env.backed_var_to_val.keys()
        guard = None
        if error is not None:
            how = "error"
        elif event.get("_static") or "_static" not in event:
            how = "static"
        elif len(shape_env.guards) > guards:
            how, guard = "guard", shape_env.guards[guards].expr
        elif shape_env.num_deferred_runtime_asserts > asserts:
            how = "deferred"
        elif fallback_value is not None and unbacked and plain(result) is fallback_value:
            how = "fallback"
        else:
            how = "suppressed" if suppressed else "other"
        fields.update(how=how, fallback=fallback_value, size_oblivious=size_oblivious, at=at)
        if guard is not None:
            fields["guard"] = str(guard)
        if suppressed:
            fields["suppressed"] = True
        if forcing_spec:
            fields["forcing_spec"] = True
        if error is not None:
            fields["error"] = error_of(error)
        to._finish(event, fields)

    return after


def _assertion(to: record, shape_env: Any, expr: Any, msg: str, fx_node: Any = None) -> Any:
    to._counts["guard_or_defer_runtime_assert"] += 1
    event = to._begin(shape_env, "assert")
    if str(expr) in ("True", "False") or to._is_repeated(shape_env, (expr, "assert")):
        return lambda result, error: to._finish(event, None)
    guards, asserts = len(shape_env.guards), shape_env.num_deferred_runtime_asserts
    value, at = value_of(shape_env, expr), place()
    suppressed = bool(shape_env._suppress_guards_tls())

    def after(result: Any, error: BaseException | None) -> None:
        fields: Event = {"expr": str(expr), "value": value, "result": plain(result)}
        if error is not None:
            how = "error"
        elif event.get("_static"):
            how = "static"
        elif shape_env.num_deferred_runtime_asserts > asserts:
            how = "deferred"
        elif len(shape_env.guards) > guards:
            how = "guard"
        else:
            how = "suppressed" if suppressed else "static"
        fields.update(how=how, msg=str(msg), at=at)
        if error is not None:
            fields["error"] = error_of(error)
        to._finish(event, fields)

    return after


def _static(to: record, shape_env: Any, expr: Any, **options: Any) -> Any:
    to._counts["_maybe_evaluate_static"] += 1
    asked = to._open[-1] if to._open else None
    usual = not any(options.values()) and options.get("axioms") is None
    if asked is not None:
        # Part of an evaluation, which ends here if this is known.
        def learn(result: Any, error: BaseException | None) -> None:
            if asked["e"] in ("eval", "assert") and not options.get("unbacked_only") and "_static" not in asked:
                asked["_static"] = result is not None

        return learn
    if not (usual or options.get("unbacked_only") or options.get("compute_hint")) or expr.is_number:
        return lambda result, error: None
    key = (expr, tuple(sorted((name, value) for name, value in options.items() if value)))
    if str(expr) in ("True", "False") or to._is_repeated(shape_env, key):
        return lambda result, error: None
    event = to._begin(shape_env, "static")
    value, at = value_of(shape_env, expr), place()

    def after(result: Any, error: BaseException | None) -> None:
        fields: Event = {"expr": str(expr), "value": value, "result": plain(result), "at": at}
        fields.update((name, True) for name in ("unbacked_only", "compute_hint") if options.get(name))
        to._finish(event, fields if error is None else None)

    return after


def _guards(to: record, shape_env: Any, *args: Any, **options: Any) -> Any:
    event = to._begin(shape_env, "guards")

    def after(result: Any, error: BaseException | None) -> None:
        asserts = [
            [str(symbol), str(one.expr), str(one.msg)]
            for symbol, some in shape_env.deferred_runtime_asserts.items()
            for one in some
        ]
        fields: Event = {
            "ok": error is None,
            "ranges": {str(symbol): ends(known) for symbol, known in shape_env.var_to_range.items()},
            "replacements": {str(symbol): str(target) for symbol, target in shape_env.replacements.items()},
            "recorded": [str(guard.expr) for guard in shape_env.guards],
            "runtime_asserts": asserts,
            "sources": {str(s): [source.name for source in some] for s, some in shape_env.var_to_sources.items()},
        }
        if error is None:
            fields["issued"] = list(result[0].exprs) if result else []
        else:
            violated = type(error).__name__ == "ConstraintViolationError"
            fields.update({"violation": str(error)} if violated else {"error": error_of(error)})
        to._finish(event, fields)

    return after


def _asked(to: record, shape_env: Any, prefix: str, condition: Any, *args: Any, **options: Any) -> Any:
    found = asked_of(shape_env, prefix, condition, sys._getframe())
    if found is not None:
        to._note(shape_env, "asked", **found)
    return lambda result, error: None


#: The methods of `ShapeEnv` that are recorded.
_HOOKS: dict[str, Hook] = {
    "create_symbol": _symbol,
    "create_unbacked_symint": _unbacked,
    "create_unbacked_symfloat": _unbacked,
    "create_unbacked_symbool": _unbacked,
    "_update_var_to_range": _range_update,
    "_set_replacement": _replacement,
    "_add_divisible": _divisible,
    "_evaluate_expr": _evaluation,
    "guard_or_defer_runtime_assert": _assertion,
    "_maybe_evaluate_static": _static,
    "produce_guards_verbose": _guards,
    "freeze": _freeze,
    "_log_guard": _asked,
}


def _patches() -> list[Callable[[], None]]:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    # Another release may lack a method.
    known = [(name, hook) for name, hook in _HOOKS.items() if hasattr(ShapeEnv, name)]
    return [hide(__file__), *(_patched(ShapeEnv, name, hook) for name, hook in known)]


def _patched(owner: Any, name: str, hook: Hook) -> Callable[[], None]:
    original = getattr(owner, name)

    def method(self: Any, *args: Any, **options: Any) -> Any:
        to = _CURRENT.get()
        if to is None:
            return original(self, *args, **options)
        after = _guarded(to, hook, to, self, *args, **options)
        try:
            result = original(self, *args, **options)
        except BaseException as error:
            _guarded(to, after, None, error)
            raise
        _guarded(to, after, result, None)
        return result

    return replace(owner, name, method)


def _guarded(to: record, work: Any, *args: Any, **options: Any) -> Any:
    """Does work of a recorder, whose failures do not concern torch."""
    if work is None:
        return None
    try:
        return work(*args, **options)
    except Exception as error:
        to.failures[f"{type(error).__name__}: {error}"[:200]] += 1
        return None


#: The recorder of a thread.
_CURRENT: ContextVar[record | None] = ContextVar("sizewise_record", default=None)

#: The patches of `ShapeEnv`, which all recorders share.
_PATCH = Shared(_patches)
