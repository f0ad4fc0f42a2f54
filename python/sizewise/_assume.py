"""`assume`: exports along the path of the example, and says what that path needs of the sizes."""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sizewise import _native
from sizewise._arguments import check_budget
from sizewise._asked import watched
from sizewise._attempts import concerns_shapes, errors_held, inferred, is_shapes_fix, is_undecided, resolved
from sizewise._check import check, spec_of
from sizewise._data import Answers, error_of, sides
from sizewise._decider import decider
from sizewise._dims import as_shapes
from sizewise._env import Env
from sizewise._errors import DataDependentError, ExpressionError, ShapeError, SpecError, Unsupported
from sizewise._follow import Taken, follower
from sizewise._named_spec import NamedSpec
from sizewise._report import Condition, Fix, Report
from sizewise._resized import runs_at
from sizewise._scout import ran
from sizewise._shapes import is_shapes_spec
from sizewise._spec import to_objects

#: The most exports that look for more assumptions.
_MAX_ROUNDS = 3


@dataclass(frozen=True)
class Branch:
    """A place that needs an assumption: a branch of the code, or an operator."""

    #: What has to hold, over the variables of the spec.
    condition: str
    #: The assumptions that say so.
    assumptions: list[str]
    #: "branch" and "assertion" are the module's own code, "operator" is an operator, and "layout" torch's check of
    #: strides. What a spec of `Dim` lacks may also be a "record": a size or range that torch recorded.
    cause: str
    file: str | None
    line: int | None
    #: The line itself.
    source: str | None
    #: What holds on the other side; `None` where there is none to trace.
    other: str | None
    #: Values of the variables with which the module runs and takes the other side; `None` if none were found.
    other_example: dict[str, int] | None
    #: Whether such values were looked for; under a spec of `Dim` they are not.
    tried: bool = False

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}: {self.source}" if self.file else "at a place that is not known"
        what = {
            "branch": "the path of the example",
            "assertion": "an assertion of the code",
            "operator": "an operator",
            "layout": "torch's check of strides",
        }
        return f"{what.get(self.cause, 'the exported program')} needs {self.condition} ({at})"


@dataclass(frozen=True)
class Assumed:
    """An exported program, and the assumptions under which it was exported."""

    #: The ``ExportedProgram``.
    program: Any
    #: What is assumed beside the spec that was given, as Python over its variables.
    assumptions: list[str]
    #: The spec with the assumptions, for ``torch.export.export``.
    dynamic_shapes: Any
    #: The same as Python to paste.
    code: str
    #: The check of the program under that spec.
    report: Report
    #: Where the assumptions come from.
    branches: list[Branch] = field(default_factory=list)
    #: Whether torch exports it alone. Otherwise the export needs ``with sizewise.decider():``, or this call.
    by_torch_alone: bool = True

    def __str__(self) -> str:
        lines = [f"exported; {self.report.verdict} under"]
        lines += [f"  {assumption}" for assumption in self.assumptions] or ["  the spec as it is"]
        for branch in self.branches:
            lines.append(str(branch))
            if branch.other is not None:
                sizes = ", ".join(f"{name} = {value}" for name, value in (branch.other_example or {}).items())
                none = ", and no sizes near the example were found at which it runs" if branch.tried else ""
                lines.append(f"  the other side: {branch.other}" + (f", for example {sizes}" if sizes else none))
        if not self.by_torch_alone:
            lines.append(
                "torch alone does not see that this suffices: export it within sizewise.decider(), or by this call"
            )
        return "\n".join(lines)


def assume(
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    budget: float | None = None,
    **options: Any,
) -> Assumed:
    """Exports a module where ``torch.export.export`` cannot decide a condition on sizes, and says what was assumed.

    Where neither torch nor sizewise knows whether a condition on sizes holds, the example decides: its path is taken,
    and the condition is assumed. No assumption follows from the others or the spec, and the program needs each. Where a
    ShapesSpec cannot state a condition (on floating point, say), its size is kept in the range about the example in
    which the condition holds, or as in the example. Conditions on values that data decide are never assumed.

    `export` with ``fix=True`` calls this where torch cannot decide a condition; where it can, and the spec is wrong, it
    narrows the spec instead.

    Parameters
    ----------
    module, args, kwargs, strict, options
        As ``torch.export.export`` takes them.
    dynamic_shapes : ShapesSpec or what ``torch.export.export`` takes
        The spec. Where it is made of `Dim`, and a `Dim` fix loses no shapes that work, that is what comes back.
    budget : float, optional
        A factor on the counted work of a proof.

    Raises
    ------
    DataDependentError
        If the path depends on data. The message names the line and the ``torch._check`` that settles it.
    ShapeError
        If the program breaks on sizes that the spec allows, and no assumptions were found that mend it, or the example
        is not on the path that torch traces.
    SpecError
        If the spec does not fit the arguments, or the example does not satisfy it.
    """
    return _Export(module, args, kwargs, strict, options, budget).run(dynamic_shapes)


@dataclass(frozen=True)
class _Start:
    """A first export, with what it showed to be needed."""

    program: Any
    #: The check under the spec that follows, which may still lack what operators need.
    report: Report
    spec: Any
    code: str
    found: list[str]
    taken: list[Taken]
    by_torch_alone: bool
    #: Whether answers were given that the spec does not have.
    is_open: bool


class _Export:
    """One export, with what it is called with."""

    def __init__(self, module: Any, args: Any, kwargs: Any, strict: bool, options: Any, budget: float | None) -> None:
        self.budget = 1.0 if budget is None else budget
        check_budget(self.budget)
        self.module, self.args, self.kwargs = module, args, kwargs
        self.strict, self.options = strict, options

    def run(self, shapes: Any) -> Assumed:
        try:
            from torch.fx.experimental.dynamic_spec import _coerce_to_shapes_spec, _resolve_dynamic_shapes
        except ImportError as error:
            version = importlib.metadata.version("torch")
            raise Unsupported(f"torch {version} has no ShapesSpec, in which assumptions are stated") from error
        shapes = _resolve_dynamic_shapes(self.module, resolved(shapes, self.module, self.args, self.kwargs))
        if not is_shapes_spec(shapes):
            exported = self.with_dims(shapes)
            if exported is not None:
                return exported
            shapes = as_shapes(shapes, self.module, self.args, self.kwargs)
        self.given = _coerce_to_shapes_spec(shapes)
        self.names = NamedSpec(self.given, self.values(self.given))
        self.names.check_given()
        start = self.scouted() or self.followed()
        if not start.is_open and start.report.verdict != "violated":
            # Nothing was answered without which torch stops: that is the export.
            branches = _Branches(self.names, start.found, self.runs).of(start.taken, [])
            return Assumed(
                start.program, start.found, start.spec, start.code, start.report, branches, start.by_torch_alone
            )
        return self.mended(start)

    def mended(self, start: _Start) -> Assumed:
        """The program under assumptions that suffice."""
        names, report, found, taken = self.names, start.report, start.found, start.taken
        conditions = list(report.conditions)
        for _ in range(_MAX_ROUNDS):
            code = ""
            if report.verdict == "violated":
                fix = _exact(report)
                more = fix.assumptions if fix else names.lacking(report)
                if set(more) <= set(found):
                    raise ShapeError(str(report), report)
                code = fix.code if fix and not found else ""
                found = names.weakest([*found, *more])
                names.check_example(found)
            if unsaid := names.unsaid([one.condition for one in taken], found):
                # torch does not write every assertion into the program.
                found, code = names.weakest([*found, *unsaid]), ""
            code = code or names.code(found)
            spec = names.objects(code)
            program, path = self.attempt(spec)
            taken = [*taken, *path.taken] if isinstance(path, follower) else taken
            report = check(program, spec, budget=self.budget)
            if report.verdict != "violated" and not names.unsaid([one.condition for one in taken], found):
                branches = _Branches(names, found, self.runs).of(taken, conditions)
                return Assumed(program, found, spec, code, report, branches, path is None)
            conditions += report.conditions
        raise ShapeError(str(report), report)

    def scouted(self) -> _Start | None:
        """An export under what the module's own branches need, where nothing else needs an answer."""
        if self.strict or self.options:
            return None
        given, names = self.given, self.names
        with follower(self.values(given), budget=2 * self.budget) as path, errors_held():
            if not ran(self.module, self.args, self.kwargs, given) or path.of_data:
                return None
        taken = path.taken
        if any(one.place is None or one.place.cause != "branch" for one in taken):
            # An operator may ask otherwise in a trace.
            return None
        found = names.weakest(names.unsaid([one.condition for one in taken], []))
        code = names.code(found)
        spec = names.objects(code) if found else given
        try:
            program, decided = self.attempt(spec, follows=False)
        except Exception:
            return None
        report = check(program, spec, budget=self.budget)
        return _Start(program, report, spec, code, found, taken, decided is None, False)

    def followed(self) -> _Start:
        """An export along the path of the example, which asserts what was assumed on it."""
        given, names = self.given, self.names
        program, path = self.follow(given)
        found = [text for one in path.taken if not one.asserted for text in names.stated_of(one.condition)]
        code = names.code(found)
        spec = names.objects(code) if found else given
        report = check(program, spec, budget=self.budget)
        is_open = bool(path.taken or path.stats.errors_rescued)
        return _Start(program, report, spec, code, found, path.taken, True, is_open)

    def with_dims(self, shapes: Any) -> Assumed | None:
        """The program under a spec of `Dim`, or under such a fix of it, if one loses no shapes that work."""
        try:
            program = self.torch(shapes)
        except Exception as error:
            if is_undecided(error) or not concerns_shapes(error):
                return None
            try:
                program = self.torch(inferred(shapes))
            except Exception:
                return None
        report = check(program, shapes, budget=self.budget)
        if report.verdict == "ok":
            return Assumed(program, [], shapes, spec_of(program).code, report)
        for fix in report.fixes:
            if fix.proved and fix.loses is False and not is_shapes_fix(fix):
                spec = fix.dynamic_shapes
                try:
                    program = self.torch(spec)
                except Exception:
                    continue
                again = check(program, spec, budget=self.budget)
                if again.verdict == "ok":
                    branches = _of_conditions(report)
                    return Assumed(program, [one.condition for one in branches], spec, fix.code, again, branches)
        return None

    def follow(self, spec: Any) -> tuple[Any, follower]:
        """The program on the path of the example, and what was assumed on it."""
        with follower(self.values(spec), budget=2 * self.budget) as path:
            try:
                return self.torch(spec), path
            except Exception as error:
                if not path.of_data or not is_undecided(error):
                    raise
                raise self.of_data(spec, path.of_data, error) from error

    def of_data(self, spec: Any, asked: list[Taken], error: Exception) -> DataDependentError:
        """The error of a condition that data decide, with what becomes of the export for each answer."""

        def trace(answers: Answers) -> tuple[list[Taken], Exception | None]:
            with follower(self.values(spec), of_data=answers, budget=2 * self.budget) as path:
                try:
                    self.torch(spec)
                except Exception as error:
                    return path.of_data, error
            return path.of_data, None

        return error_of(asked, sides(trace, asked), error)

    def attempt(self, spec: Any, follows: bool = True) -> tuple[Any, decider | None]:
        """The program under a spec that should suffice, and what it took beside torch."""
        try:
            return self.torch(spec), None
        except Exception as error:
            if not is_undecided(error):
                raise
        try:
            with decider(budget=2 * self.budget) as asked:
                return self.torch(spec), asked
        except Exception as error:
            if not follows or not is_undecided(error):
                raise
        # What the assumptions say of floating point is beyond the decider.
        with follower(self.values(spec), budget=2 * self.budget) as path:
            return self.torch(spec), path

    def runs(self, sizes: dict[str, int]) -> bool:
        """Whether the module runs at these sizes of the variables."""
        names, spec = self.names, self.given
        values = {variable: sizes[symbol.name] for variable, symbol in names.symbols.items() if symbol.name in sizes}
        return runs_at(self.module, self.args, self.kwargs, spec, values)

    def torch(self, spec: Any) -> Any:
        from torch.export import export

        with errors_held(), watched():
            return export(self.module, self.args, self.kwargs, dynamic_shapes=spec, strict=self.strict, **self.options)

    def values(self, spec: Any) -> dict[Any, int]:
        """The example's values of the variables, by sympy's symbols."""
        from torch.fx.experimental._spec_binding import _bind_spec_to_args

        leaves, arguments, _ = _bind_spec_to_args(self.module, self.args, self.kwargs, spec)
        values: dict[Any, int] = {}
        for leaf, argument in zip(leaves, arguments):
            pairs = zip(leaf, argument.shape) if hasattr(argument, "shape") and leaf is not None else [(leaf, argument)]
            for variable, value in pairs:
                if hasattr(variable, "sympy_sym"):
                    values.setdefault(variable.sympy_sym, int(value))
        return values


def _exact(report: Report) -> Fix | None:
    """The fix that says by assumptions all that is missing, if torch's language has them."""
    for fix in report.fixes:
        if fix.assumptions and fix.proved:
            with contextlib.suppress(SpecError):
                to_objects(fix.code)
                return fix
    return None


def _of_conditions(report: Report) -> list[Branch]:
    """What a spec of `Dim` lacks, in its names, without what follows from the rest."""
    return [
        Branch(one.expr, [one.expr], one.cause, one.file, one.line, one.source, _opposite(one), None)
        for one in report.violations
        if not one.follows
    ]


def _opposite(condition: Condition) -> str | None:
    """What holds on the other side of a branch."""
    if condition.cause != "branch":
        return None
    env = Env()
    try:
        native = _native.Env()
        for name in native.symbols_of(native.read(condition.expr)):
            env.symbol(name)
        return str(env.simplify(f"Not({condition.expr})"))
    except ExpressionError:
        return None


class _Branches:
    """Traces assumptions back to the lines that need them."""

    def __init__(self, names: NamedSpec, found: list[str], runs: Callable[[dict[str, int]], bool]) -> None:
        self.found, self.names, self.example, self.runs = found, names, names.example, runs
        self.facts = names.facts()

    def of(self, taken: list[Taken], conditions: list[Condition]) -> list[Branch]:
        """The branches that were taken, and the operators that need assumptions which no branch needs."""
        branches, path = [], self.facts.branch()
        for one in taken:
            text = self.names.text(one.condition)
            try:
                needed, possible = self.needed_for(text), self.other_side(path, text)
                path.assume(text)
                other = self.names.python(str(self.facts.simplify(f"Not({text})"))) if possible else None
                witness = next((sizes for sizes in possible if self.runs(sizes)), None)
            except ExpressionError:
                # Of a condition that is not read, the place is known.
                needed, other, witness = self.names.stated_of(one.condition), None, None
            cause, path_there = (one.place.cause, one.place.path) if one.place else ("unknown", ())
            file, line, _, source = path_there[0] if path_there else (None, None, None, None)
            branches.append(Branch(text, needed, cause, file, line, source, other, witness, other is not None))
        settled = {assumption for branch in branches for assumption in branch.assumptions}
        for condition in conditions:
            try:
                needed = self.needed_for(condition.expr) if condition.verdict == "violated" else []
            except ExpressionError:
                continue
            if set(needed) - settled:
                file, line, source = condition.file, condition.line, condition.source
                branches.append(Branch(condition.expr, needed, "operator", file, line, source, None, None))
                settled.update(needed)
        return branches

    def other_side(self, path: Env, condition: str) -> list[dict[str, int]]:
        """Values of the variables, near the example, where a condition fails after what was assumed before it."""
        sides = []
        for changed in sorted(self.example, key=lambda name: name not in condition):
            value = self.example[changed]
            near = path.branch()
            near.assume(*(f"Eq({name}, {size})" for name, size in self.example.items() if name != changed))
            near.assume(f"Not({condition})")
            above, below = near.branch(), near.branch()
            above.assume(f"{changed} >= {value}")
            below.assume(f"{changed} < {value}")
            for side, end in ((above, "min_at"), (below, "max_at")):
                try:
                    found: dict[str, int] | None = getattr(side.bounds(changed), end)
                except ValueError:
                    continue
                if found is not None:
                    sides.append({**self.example, **found})
        witness = path.implies(condition).witness
        return sides if witness is None else [*sides, {**self.example, **witness}]

    def needed_for(self, condition: str) -> list[str]:
        """The assumptions without which a condition does not follow from the spec and the others."""
        needed = []
        for i, assumption in enumerate(self.found):
            others = self.facts.branch()
            others.assume(*self.found[:i], *self.found[i + 1 :])
            if not others.implies(condition):
                needed.append(assumption)
        return needed
