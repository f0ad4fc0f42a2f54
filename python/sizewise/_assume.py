"""`assume`: exports along the path of the example, and says what that path needs of the sizes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sizewise import _native
from sizewise._arguments import check_budget
from sizewise._asked import watched
from sizewise._check import check, spec_of
from sizewise._decider import decider
from sizewise._dims import as_shapes
from sizewise._env import Env
from sizewise._errors import DataDependentError, ExpressionError, ShapeError, SpecError
from sizewise._export import concerns_shapes, errors_held, inferred, is_shapes_fix, is_undecided, resolved
from sizewise._follow import Taken, follower
from sizewise._report import Condition, Fix, Report
from sizewise._shapes import Writer, is_shapes_spec
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
    #: "branch" is the module's own code, "operator" an operator, and "layout" torch's check of strides.
    cause: str
    file: str | None
    line: int | None
    #: The line itself.
    source: str | None
    #: What holds on the other side; `None` where there is none to trace.
    other: str | None
    #: Values of the variables with which the other side can be traced.
    other_example: dict[str, int] | None

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}: {self.source}" if self.file else "at a place that is not known"
        what = {"branch": "the path of the example", "operator": "an operator", "layout": "torch's check of strides"}
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
                lines.append(f"  the other side: {branch.other}" + (f", for example {sizes}" if sizes else ""))
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
    and the condition is assumed. The assumptions are the weakest that suffice: none that follows from the others or the
    spec, and none that the program does not need. Conditions on values that data decide are never assumed.

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
        If the program breaks on sizes that the spec allows, and no assumptions were found that mend it.
    """
    return _Export(module, args, kwargs, strict, options, budget).run(dynamic_shapes)


class _Export:
    """One export, with what it is called with."""

    def __init__(self, module: Any, args: Any, kwargs: Any, strict: bool, options: Any, budget: float | None) -> None:
        self.budget = 1.0 if budget is None else budget
        check_budget(self.budget)
        self.module, self.args, self.kwargs = module, args, kwargs
        self.strict, self.options = strict, options

    def run(self, shapes: Any) -> Assumed:
        from torch.fx.experimental.dynamic_spec import _coerce_to_shapes_spec, _resolve_dynamic_shapes

        shapes = _resolve_dynamic_shapes(self.module, resolved(shapes, self.module, self.args, self.kwargs))
        if not is_shapes_spec(shapes):
            exported = self.with_dims(shapes)
            if exported is not None:
                return exported
            shapes = as_shapes(shapes, self.module, self.args, self.kwargs)
        given = _coerce_to_shapes_spec(shapes)
        names = _Names(given, self.values(given))
        names.check_given()
        program, path = self.follow(given)
        taken = path.taken
        report = check(program, given, budget=self.budget)
        conditions, alone = list(report.conditions), True
        found = [
            text
            for one in taken
            if not one.asserted
            for text in names.stated(str(one.condition.xreplace(names.symbols)))
        ]
        code = _native.spec_code(json.dumps(names.spec)).rstrip("\n")
        if found:
            code = names.code(found)
            report = check(program, to_objects(code), budget=self.budget)
        if not (taken or path.stats.errors_rescued) and report.verdict != "violated":
            # Nothing was answered without which torch stops: that is the export.
            return Assumed(program, [], given, code, report)
        for _ in range(_MAX_ROUNDS):
            if report.verdict == "violated":
                fix = _exact(report)
                more = fix.assumptions if fix else names.lacking(report)
                if set(more) <= set(found):
                    raise ShapeError(str(report), report)
                code = fix.code if fix and not found else ""
                found = names.weakest([*found, *more])
                names.check_example(found)
                code = code or names.code(found)
            spec = to_objects(code)
            program, alone = self.attempt(spec)
            report = check(program, spec, budget=self.budget)
            if report.verdict != "violated":
                break
            conditions += report.conditions
        else:
            raise ShapeError(str(report), report)
        branches = _Branches(names, found).of(taken, conditions)
        return Assumed(program, found, spec, code, report, branches, alone)

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
                if path.open is None or not is_undecided(error):
                    raise
                raise self.of_data(spec, path.open, error) from error

    def of_data(self, spec: Any, open: Taken, error: Exception) -> DataDependentError:
        """The error of a condition that data decide, with what torch advises, and which answers export."""
        place, exports = open.place, {}
        at = f"{place.file}:{place.line}: {place.source}\n" if place else ""
        message = f"{at}data decide `{open.condition}`, so no assumption on sizes settles it"
        if open.condition.is_Relational or open.condition.is_Boolean:
            for answer in (True, False):
                with follower(self.values(spec), of_data=answer, budget=2 * self.budget):
                    try:
                        self.torch(spec)
                        exports[answer] = True
                    except Exception:
                        exports[answer] = False
            said = {True: "exports", False: "does not export"}
            message += (
                f"; the module {said[exports[True]]} where it is true, and {said[exports[False]]} where it is false"
            )
        known = f"torch._check({open.condition})", f"torch._check(torch.sym_not({open.condition}))"
        advice = _checks_of(error) or [f"{check}  # in torch's symbols" for check in known]
        message += "\nWrite before this line one of:\n" + "\n".join(f"    {check}" for check in advice)
        file, line = (place.file, place.line) if place else (None, None)
        return DataDependentError(message, str(open.condition), file, line, exports)

    def attempt(self, spec: Any) -> tuple[Any, bool]:
        """The program under a spec that should suffice, and whether torch exports it alone."""
        try:
            return self.torch(spec), True
        except Exception as error:
            if not is_undecided(error):
                raise
        try:
            with decider(budget=2 * self.budget):
                return self.torch(spec), False
        except Exception as error:
            if not is_undecided(error):
                raise
        # What the assumptions say of floating point is beyond the decider.
        with follower(self.values(spec), budget=2 * self.budget):
            return self.torch(spec), False

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
    """The fix that says by assumptions all that is missing."""
    return next((fix for fix in report.fixes if fix.assumptions and fix.proved), None)


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


def _checks_of(error: Exception) -> list[str]:
    """The calls of ``torch._check`` that torch's message advises."""
    lines = str(error).splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("To fix the error, insert one of")), len(lines))
    found = []
    for line in lines[start + 1 :]:
        number, _, call = line.strip().partition(". ")
        if not number.isdigit():
            break
        found.append(call)
    return found


class _Names:
    """A spec with the names of its variables, and their values in the example."""

    def __init__(self, given: Any, values: dict[Any, int]) -> None:
        import sympy

        writer = Writer()
        self.spec = writer.spec(given)
        self.example = {writer.names[symbol]: value for symbol, value in values.items()}
        self.symbols = {symbol: sympy.Symbol(name) for symbol, name in writer.names.items()}
        self._env = _native.Env()

    def text(self, condition: Any) -> str:
        """A condition over the variables, as Python where Python has its operators."""
        return self.python(str(condition.xreplace(self.symbols)))

    def python(self, text: str) -> str:
        """A condition as Python where Python has its operators."""
        written = self._env.python(self._env.read(text))
        try:
            return text if written is None else (self._env.read(written), written)[1]
        except ExpressionError:
            # Not all of Python is read back.
            return text

    def lacking(self, report: Report) -> list[str]:
        """The conditions on the variables that a report found broken."""
        return [text for condition in report.violations for text in self.stated(condition.expr)]

    def stated(self, condition: str) -> list[str]:
        """What a ShapesSpec can say of a condition; nothing if it is on something else, too.

        Where it cannot say it, as a condition on the root of a size, its variable is in a range about the example, or
        its variables are as in the example.
        """
        try:
            read = self._env.read(condition)
        except ExpressionError:
            return []
        about, text = self._env.symbols_of(read), self._env.python(read)
        if not set(about) <= self.example.keys():
            return []
        if text is not None:
            try:
                self.code([text])
                return [text]
            except SpecError:
                # Not all of Python is read back.
                pass
        return (
            self.range_about(condition, about[0])
            if len(about) == 1
            else [f"{name} == {self.example[name]}" for name in about]
        )

    def range_about(self, condition: str, name: str) -> list[str]:
        """The largest range about the example in which a condition on one variable is proved to hold."""
        value, env = self.example[name], self.facts()
        env.assume(f"Not({condition})")
        stated = []
        for side, end, first in (("<=", "max", 1), (">=", "min", -1)):
            beyond = env.branch()
            beyond.assume(f"{name} {side} {value}")
            try:
                nearest = getattr(beyond.bounds(name), end)
            except ValueError:
                continue
            if nearest is not None:
                stated.append(f"{name} {'>=' if first > 0 else '<='} {nearest + first}")
        within = self.facts()
        within.assume(*stated)
        return stated if within.implies(condition) else [f"{name} == {value}"]

    def facts(self) -> Env:
        """What the spec says."""
        env = Env()
        for name, known in self.spec["vars"].items():
            env.symbol(name, min=known["min"], max=known["max"])
        env.assume(*self.spec["assumptions"])
        return env

    def weakest(self, assumptions: list[str]) -> list[str]:
        """Assumptions without those that follow from the spec and the others."""
        kept = list(dict.fromkeys(assumptions))
        for assumption in list(kept):
            others = self.facts()
            others.assume(*(other for other in kept if other != assumption))
            if others.implies(assumption):
                kept.remove(assumption)
        return kept

    def check_given(self) -> None:
        """Refuses a spec that the example does not satisfy, of which torch says nothing."""
        for name, known in self.spec["vars"].items():
            value = self.example.get(name)
            low, high = known["min"], known["max"]
            if value is not None and ((low is not None and value < low) or (high is not None and value > high)):
                raise SpecError(f"{name}: the example has {value}, which is not between {low} and {high}")
        for assumption in self.spec["assumptions"]:
            read = self._env.read(assumption)
            values = {name: self.example[name] for name in self._env.symbols_of(read) if name in self.example}
            if self._env.evaluate(read, values) is False:
                sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
                raise SpecError(f"the spec assumes {self.python(assumption)}, and the example has {sizes}")

    def check_example(self, assumptions: list[str]) -> None:
        """Refuses assumptions that the example does not satisfy: it is not on the path that torch traced."""
        for assumption in assumptions:
            read = self._env.read(assumption)
            values = {name: self.example[name] for name in self._env.symbols_of(read) if name in self.example}
            if self._env.evaluate(read, values) is False:
                sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
                message = f"the program that torch traces needs {assumption}, and the example has {sizes}"
                raise ShapeError(f"{message}: leave that size static in the spec, or trace with another example")

    def code(self, assumptions: list[str]) -> str:
        """The spec with more assumptions, as Python."""
        known = [*self.spec["assumptions"], *assumptions]
        return _native.spec_code(json.dumps({**self.spec, "assumptions": known})).rstrip("\n")


class _Branches:
    """Traces assumptions back to the lines that need them."""

    def __init__(self, names: _Names, found: list[str]) -> None:
        self.found, self.names, self.example = found, names, names.example
        self.facts = names.facts()

    def of(self, taken: list[Taken], conditions: list[Condition]) -> list[Branch]:
        """The branches that were taken, and the operators that need assumptions which no branch needs."""
        branches, path = [], self.facts.branch()
        for one in taken:
            text = self.names.text(one.condition)
            witness = self.other_side(path, text)
            path.assume(text)
            place, needed = one.place, self.needed_for(text)
            other = self.names.python(str(self.facts.simplify(f"Not({text})"))) if witness else None
            if place is None:
                branches.append(Branch(text, needed, "operator", None, None, None, other, witness))
                continue
            branches.append(Branch(text, needed, place.cause, place.file, place.line, place.source, other, witness))
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

    def other_side(self, path: Env, condition: str) -> dict[str, int] | None:
        """Values of the variables, near the example, where a condition fails after what was assumed before it."""
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
                    return {**self.example, **found}
        return path.implies(condition).witness

    def needed_for(self, condition: str) -> list[str]:
        """The assumptions without which a condition does not follow from the spec and the others."""
        needed = []
        for i, assumption in enumerate(self.found):
            others = self.facts.branch()
            others.assume(*self.found[:i], *self.found[i + 1 :])
            if not others.implies(condition):
                needed.append(assumption)
        return needed
