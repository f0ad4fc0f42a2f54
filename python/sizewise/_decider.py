"""`decider`: torch.export and torch.compile ask sizewise what follows from the sizes that they know."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from sizewise._facts import Facts
from sizewise._patching import DEFAULTS, hide, replace, require_tried
from sizewise._walks import WALKS

if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType

#: Milliseconds of work that a budget of 1 of the native environment counts, about.
_BUDGET_UNIT = 8.0


@dataclass
class Stats:
    """What was asked within the block."""

    #: Questions that torch may have answered by itself, repeats included.
    questions: int = 0
    #: Those that sizewise answered: in mode "after", where torch had no answer.
    decided: int = 0
    #: Those to which both answers are possible, so that torch need not look for one. Mode "first" alone.
    contingent: int = 0
    #: Guards that need not be recorded. In mode "first" torch may have known some of these answers.
    guards_avoided: int = 0
    #: Runtime assertions that need not be recorded; the same holds.
    assertions_avoided: int = 0
    #: Data-dependent errors that did not occur.
    errors_rescued: int = 0
    #: Failures of sizewise; torch answered.
    failures: int = 0
    #: Answers that contradicted the sizes of the example, or torch. Looked for with `debug` alone.
    contradictions: int = 0
    #: Seconds spent in sizewise, and in torch for the same questions.
    seconds: float = 0.0
    torch_seconds: float = 0.0
    #: Seconds of the slowest question to sizewise.
    slowest: float = 0.0

    def __str__(self) -> str:
        shown = ((field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self))
        return "\n".join(f"{name:20} {value:.4g}" for name, value in shown)


class decider:
    """Within the block, torch asks sizewise whether conditions on sizes always hold.

    This concerns the thread that enters the block. Where conditions always hold, or never, torch records no guard and
    raises no data-dependent error. What sizewise cannot answer within its budget, torch answers as ever.

    Parameters
    ----------
    mode : "after" or "first"
        "after" keeps every answer of torch and asks where torch has none. "first" asks sizewise first: this saves
        time where torch's reasoning is slow. It also remembers walks through sympy's expressions that torch repeats.
    budget : float
        The work that a question may take: about so many milliseconds, counted and not measured.
    any_torch : bool
        Whether to run with a release of torch that this was not tried with.
    debug : bool
        Whether to compare every answer with the sizes of the example and, in mode "first", with torch's own answer. A
        contradiction is counted and raises `AssertionError`.

    Examples
    --------
    >>> with sizewise.decider() as asked:  # doctest: +SKIP
    ...     program = torch.export.export(model, inputs, dynamic_shapes=shapes)
    >>> asked.stats.guards_avoided  # doctest: +SKIP
    98
    """

    def __init__(
        self,
        mode: Literal["after", "first"] = "after",
        *,
        budget: float = 2.0,
        any_torch: bool = False,
        debug: bool = False,
    ) -> None:
        if mode not in ("after", "first"):
            raise ValueError(f'mode is "after" or "first", not {mode!r}')
        if not 0 < budget < float("inf"):
            raise ValueError(f"budget is a positive number of milliseconds, not {budget!r}")
        self.mode = mode
        self.budget = budget
        self.any_torch = any_torch
        self.debug = debug
        self.stats = Stats()
        self._facts: weakref.WeakKeyDictionary[Any, Facts | None] = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()
        self._entered: list[AbstractContextManager[None]] = []

    def __enter__(self) -> decider:
        _PATCH.install(self.any_torch)
        if self.mode == "first":
            WALKS.install()
        self._entered.append(_entered(self))
        self._entered[-1].__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered.pop().__exit__(None, None, None)
        if self.mode == "first":
            WALKS.remove()
        _PATCH.remove()
        with self._lock:
            self._facts.clear()

    def _answer(self, shape_env: Any, expr: Any, original: Any, options: dict[str, Any], asker: FrameType) -> Any:
        """What the patched method returns."""
        stats = self.stats
        stats.questions += 1
        if self.mode == "first" and _is_condition(expr):
            answer = self._decided(shape_env, expr, asker)
            facts = self._facts.get(shape_env)
            if answer is None and (facts is None or not facts.is_contingent(shape_env, expr)):
                return self._of_torch(original, shape_env, expr, options)
            stats.contingent += answer is None
            if self.debug:
                self._compare(expr, answer, self._of_torch(original, shape_env, expr, options))
            return answer
        answer = self._of_torch(original, shape_env, expr, options)
        if answer is None:
            answer = self._decided(shape_env, expr, asker)
        return self._unanswered(shape_env, expr, asker) if answer is None else answer

    def _unanswered(self, shape_env: Any, expr: Any, asker: FrameType) -> Any:
        """The answer to what neither torch nor sizewise knows, in mode "after": there is none."""
        return None

    def _is_deciding(self, asker: FrameType) -> bool:
        """Whether torch asks to go on by the answer, not to record an assertion or to look for something simpler."""
        return asker.f_code is _PATCH.evaluating

    def _of_torch(self, original: Any, shape_env: Any, expr: Any, options: dict[str, Any]) -> Any:
        began = perf_counter()
        try:
            return original(shape_env, expr, **options)
        finally:
            self.stats.torch_seconds += perf_counter() - began

    def _decided(self, shape_env: Any, expr: Any, asker: FrameType) -> Any:
        """The answer of sizewise, as torch writes it; `None` if there is none."""
        began = perf_counter()
        try:
            with self._lock:
                return self._decide(shape_env, expr, asker)
        except _Contradiction:
            raise
        except Exception:
            self.stats.failures += 1
            # After a panic the environment is gone. Torch goes on alone.
            self._facts[shape_env] = None
            return None
        finally:
            took = perf_counter() - began
            self.stats.seconds += took
            self.stats.slowest = max(self.stats.slowest, took)

    def _decide(self, shape_env: Any, expr: Any, asker: FrameType) -> Any:
        facts = self._facts_of(shape_env)
        if facts is None:
            return None
        facts.update(shape_env)
        if not _is_condition(expr):
            return self._value(shape_env, facts, expr, asker)
        answer = facts.ask(expr)
        if answer is None:
            return None
        if asker.f_code is _PATCH.asserting and not answer:
            # An assertion that never holds stays one of the program.
            return None
        atom = _PATCH.atoms[answer]
        if self.debug:
            self._compare(expr, atom, _at_example(shape_env, expr))
        self.stats.decided += 1
        if asker.f_code in _PATCH.recording:
            self._count(shape_env, expr, asker)
            _let_torch_learn(shape_env, expr, answer, asker)
        return atom

    def _value(self, shape_env: Any, facts: Facts, expr: Any, asker: FrameType) -> Any:
        """The value of an integer on which torch is about to specialize, where the facts allow only one."""
        if asker.f_code is not _PATCH.evaluating:
            return None
        from sympy import Eq, Integer

        value = expr.xreplace(shape_env.backed_var_to_val)
        if not value.is_Integer:
            if asker.f_locals.get("fallback_value") is not None:
                return None
            only = facts.only_value(expr)
            if only is None:
                return None
            value = Integer(only)
        equal = Eq(expr, value)
        if not equal.is_Relational or not facts.ask(equal):
            return None
        self.stats.decided += 1
        self._count(shape_env, expr, asker)
        _let_torch_learn(shape_env, equal, True, asker)
        return value

    def _facts_of(self, shape_env: Any) -> Facts | None:
        try:
            return self._facts[shape_env]
        except KeyError:
            exporting = _PATCH.is_exporting() or bool(shape_env.trace_asserts)
            facts = Facts(shape_env, self.budget / _BUDGET_UNIT, exporting)
            self._facts[shape_env] = None if facts.lost else facts
            return self._facts[shape_env]

    def _count(self, shape_env: Any, expr: Any, asker: FrameType) -> None:
        if shape_env._suppress_guards_tls() or shape_env.frozen:
            return
        if asker.f_code is _PATCH.asserting:
            self.stats.assertions_avoided += 1
        elif expr.free_symbols <= shape_env.backed_var_to_val.keys():
            self.stats.guards_avoided += 1
        elif asker.f_locals.get("fallback_value") is None:
            self.stats.errors_rescued += 1

    def _compare(self, expr: Any, answer: Any, other: Any) -> None:
        if other is None or other is answer or other not in _PATCH.atoms.values():
            return
        self.stats.contradictions += 1
        raise _Contradiction(f"sizewise says {answer} of {expr}, but it is {other}")


class _Contradiction(AssertionError):
    """An answer that is wrong."""


def _is_condition(expr: Any) -> bool:
    return bool(expr.is_Relational or expr.is_Boolean)


def _at_example(shape_env: Any, expr: Any) -> Any:
    try:
        return expr.xreplace(shape_env.backed_var_to_val)
    except Exception:
        # sympy rejects divisions by zero and the like.
        return None


def _let_torch_learn(shape_env: Any, expr: Any, answer: bool, asker: FrameType) -> None:
    """Where torch would have recorded a guard, an implied equation still makes torch's replacement, and an implied
    assertion still narrows its ranges."""
    if shape_env.frozen or shape_env._suppress_guards_tls():
        return
    if answer and asker.f_code is _PATCH.asserting:
        shape_env._maybe_guard_rel(expr)
        return
    kind = type(expr).__name__
    if answer and kind == "And":
        equations = [part for part in expr.args if type(part).__name__ == "Equality"]
    else:
        equations = [expr] if kind == ("Equality" if answer else "Unequality") else []
    for equation in equations:
        _let_torch_solve(shape_env, *equation.args)


def _let_torch_solve(shape_env: Any, left: Any, right: Any) -> None:
    """Leaves an equation to torch where it makes a replacement of it, which takes torch milliseconds to find out."""
    from sympy import Eq, preorder_traversal

    kinds = {type(part).__name__ for side in (left, right) for part in preorder_traversal(side)}
    if kinds & _UNSOLVED:
        modulo = left if right.is_zero else right if left.is_zero else None
        if type(modulo).__name__ == "Mod" and modulo not in shape_env.divisible:
            shape_env._add_divisible(modulo)
        return
    equation = shape_env.replace(Eq(left, right))
    if equation.is_Relational:
        shape_env._maybe_guard_rel(equation)


#: Functions that torch does not solve equations for.
_UNSOLVED = frozenset(["FloorDiv", "CleanDiv", "Mod", "PythonMod", "ModularIndexing", "Max", "Min", "Where", "Abs"])


@contextmanager
def _entered(one: decider) -> Iterator[None]:
    """Makes a decider the one that is asked. As torch's configuration, this holds for one thread."""
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    # What is compiled here may have fewer guards than torch's caches on disk expect of their entries.
    token = _CURRENT.set(one)
    try:
        with inductor.patch(fx_graph_cache=False), functorch.patch(enable_autograd_cache=False):
            yield
    finally:
        _CURRENT.reset(token)


class _Patch:
    """The patch of `ShapeEnv._maybe_evaluate_static`, which all deciders share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.undo: Callable[[], None] = lambda: None
        self.atoms: dict[bool, Any] = {}
        self.evaluating: CodeType | None = None
        self.asserting: CodeType | None = None
        self.recording: frozenset[CodeType | None] = frozenset()

    def install(self, any_torch: bool) -> None:
        """Patches the method for the first decider."""
        with self.lock:
            if not self.users:
                self._patch(any_torch)
            self.users += 1

    def remove(self) -> None:
        """The last decider takes the patch along."""
        with self.lock:
            self.users -= 1
            if not self.users:
                self.undo()

    def is_exporting(self) -> bool:
        """Whether torch.export runs."""
        import torch

        return bool(torch.compiler.is_exporting())

    def _patch(self, any_torch: bool) -> None:
        import sympy
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        require_tried(any_torch)
        original = ShapeEnv._maybe_evaluate_static
        self.atoms = {True: sympy.true, False: sympy.false}
        self.evaluating = _code(ShapeEnv._evaluate_expr)
        self.asserting = _code(ShapeEnv.guard_or_defer_runtime_assert)
        self.recording = frozenset([self.evaluating, self.asserting])

        def _maybe_evaluate_static(self: Any, expr: Any, **options: Any) -> Any:
            one = _CURRENT.get()
            if one is None or any(options[name] is not DEFAULTS.get(name, options) for name in options):
                return original(self, expr, **options)
            asker = sys._getframe(1)
            while asker.f_globals.get("__name__") == "sizewise._record" and asker.f_back is not None:
                asker = asker.f_back
            return one._answer(self, expr, original, options, asker)

        undo = replace(ShapeEnv, "_maybe_evaluate_static", _maybe_evaluate_static)
        show = hide(__file__)

        def unpatch() -> None:
            undo()
            show()

        self.undo = unpatch


def _code(function: Any) -> CodeType:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__  # type: ignore[no-any-return]


#: The decider of a thread.
_CURRENT: ContextVar[decider | None] = ContextVar("sizewise_decider", default=None)

_PATCH = _Patch()
