"""Exporting with a check, and with a proved fix of a wrong spec."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from sizewise._asked import watched
from sizewise._assume import assume
from sizewise._attempts import concerns_shapes, errors_held, inferred, is_shapes_fix, is_undecided, resolved
from sizewise._check import check
from sizewise._errors import DataDependentError, ShapeError, SizewiseError
from sizewise._report import Fix, Report
from sizewise._wider import Exported, widest
from sizewise._shapes import is_shapes_spec


def export(
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    fix: bool = False,
    **options: Any,
) -> tuple[Any, Report]:
    """Exports a module with ``torch.export.export`` and checks the program.

    Where torch refuses a spec of `Dim`, the module is exported with `Dim.AUTO` instead, and the spec is checked against
    that. Where torch cannot decide a condition on sizes, `assume` finds what the path of the example needs. Where the
    module itself runs at sizes that the program refuses, it is exported once more with ``backed_size_oblivious``, or
    within `decider`; that program is taken if it refuses no size at which the module runs, and a note says so.

    Parameters
    ----------
    module, args, kwargs, dynamic_shapes, strict, options
        As ``torch.export.export`` takes them.
    fix : bool
        Whether a wrong spec is replaced by a proved fix: the first that loses no shapes that work, or the first if each
        loses some; of a `ShapesSpec`, or where torch cannot decide a condition, by the assumptions that `assume` finds
        (it says where each comes from). A note in ``report.diagnostics`` says
        which it is, and what it costs.

    Returns
    -------
    program : ExportedProgram
    report : Report
        The report of the check of the program under its spec.

    Raises
    ------
    ShapeError
        If the spec is wrong and not fixed. The message says what to write.
    DataDependentError
        If torch needs a condition that data decide. The message names the line and the ``torch._check`` that settles
        it.
    """
    from torch.export import export as torch_export

    def attempt(shapes: Any) -> Any:
        with errors_held(), watched():
            return torch_export(module, args, kwargs, dynamic_shapes=shapes, strict=strict, **options)

    shapes = resolved(dynamic_shapes, module, args, kwargs)
    try:
        program = attempt(shapes)
    except Exception as refusal:
        if not concerns_shapes(refusal):
            raise
        if is_undecided(refusal) or is_shapes_spec(shapes):
            return _assumed(
                lambda: assume(module, args, kwargs, dynamic_shapes=shapes, strict=strict, **options), refusal, fix
            )
        if shapes is None:
            raise
        return _repaired(attempt, (module, args, kwargs), shapes, refusal, fix)
    report = check(program, shapes)
    if report.verdict != "violated":
        return program, report
    return _fixed(widest(module, Exported(program, report, attempt), shapes, shapes), None, fix)


def _assumed(assumed: Callable[[], Any], refusal: Exception, fix: bool) -> tuple[Any, Report]:
    """The program with the assumptions that torch lacked, or the error that says them."""
    try:
        found = assumed()
    except DataDependentError:
        raise
    except Exception as error:
        raise refusal from error
    if fix or not found.assumptions:
        if found.assumptions:
            said = "; ".join(found.assumptions)
            found.report.add_note("fix-applied", f"the spec was changed: it assumes {said}")
        return found.program, found.report
    first = str(refusal).strip().split("\n", 1)[0]
    raise ShapeError(f"{first}\n\n{found}\n\nWrite instead:\n\n{_indented(found.code)}", found.report) from refusal


def _forgotten(attempt: Callable[[Any], Any], free: Callable[[], Any], shapes: Any) -> Exported | None:
    """An export with all dimensions free, if that shows entries that the spec leaves out: they made other sizes static."""
    try:
        program = attempt(free())
        report = check(program, shapes)
    except Exception:
        return None
    is_forgotten = any(guard.get("left_static") for guard in report.to_dict()["guards"] if guard["verdict"] == "violated")
    return Exported(program, report, attempt) if is_forgotten else None


def _all_free(module: Any, args: Any, kwargs: Any) -> Any:
    """A spec that leaves every dimension of every tensor to torch."""
    from torch.export import Dim
    from torch.export.dynamic_shapes import _combine_args
    from torch.utils._pytree import tree_map

    def free(value: Any) -> Any:
        return dict.fromkeys(range(value.dim()), Dim.AUTO) if hasattr(value, "dim") else None

    return tree_map(free, _combine_args(module, args, kwargs))


def _repaired(
    attempt: Callable[[Any], Any], call: tuple[Any, Any, Any], shapes: Any, refusal: Exception, fix: bool
) -> tuple[Any, Report]:
    """Finds out with inferred dimensions what the spec should have been."""
    module = call[0]
    try:
        program = attempt(inferred(shapes))
    except Exception:
        raise refusal from None
    try:
        report = check(program, shapes)
    except SizewiseError:
        raise refusal from None
    if report.verdict == "violated":
        found = _forgotten(attempt, lambda: _all_free(*call), shapes) or widest(
            module, Exported(program, report, attempt), inferred(shapes), shapes
        )
        return _fixed(found, refusal, fix)
    if report.verdict == "ok":
        # The spec suffices for the program that torch infers, so that is the program.
        return program, report
    raise refusal


def _fixed(found: Exported, refusal: Exception | None, fix: bool) -> tuple[Any, Report]:
    attempt, report = found.attempt, found.report
    if report.verdict == "ok":
        return found.program, report
    proved = [candidate for candidate in report.fixes if candidate.proved and candidate.spec is not None]
    if fix:
        for candidate in sorted(proved, key=lambda fix: (is_shapes_fix(fix), _loss(fix))):
            shapes = candidate.dynamic_shapes
            try:
                program = attempt(shapes)
            except Exception:
                try:
                    # torch may refuse names that it could have inferred.
                    program = attempt(inferred(shapes, keep_ranges=True))
                except Exception:
                    continue
            again = check(program, shapes)
            if again.verdict == "ok":
                cost = candidate.cost or "what that costs is not known"
                again.add_note("fix-applied", f"the spec was changed: {candidate.text}; {cost}")
                return program, again
    message = str(report)
    if proved:
        message += f"\n\nWrite instead:\n\n{_indented(proved[0].code)}"
    raise ShapeError(message, report) from refusal


def _loss(fix: Fix) -> int:
    """How sure it is that a changed spec rejects shapes that work: not at all, by what the module checks, perhaps, surely."""
    return {False: 0, True: 3, None: 2 if fix.cost is None else 1}[fix.loses]


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
