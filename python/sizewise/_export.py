"""Exporting with a check, and with a proved fix of a wrong spec."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sizewise._asked import watched
from sizewise._check import check
from sizewise._errors import DataDependentError, ShapeError, SizewiseError
from sizewise._report import Fix, Report
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
    that. Where torch cannot decide a condition on sizes, `assume` finds what the path of the example needs.

    Parameters
    ----------
    module, args, kwargs, dynamic_shapes, strict, options
        As ``torch.export.export`` takes them.
    fix : bool
        Whether a wrong spec is replaced by a proved fix: the first that loses no shapes that work, or the first if each
        loses some; of a `ShapesSpec`, by the assumptions that `assume` finds. A note in ``report.diagnostics`` says
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

    from sizewise._assume import assume

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
        return _repaired(attempt, shapes, refusal, fix)
    report = check(program, shapes)
    if report.verdict != "violated":
        return program, report
    return _fixed(attempt, report, None, fix)


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


class _Held(logging.Filter):
    """Keeps what a thread logs instead of letting it pass."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.get_ident()
        self.records: list[logging.LogRecord] = []

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self.thread:
            return True
        self.records.append(record)
        return False


@contextlib.contextmanager
def errors_held() -> Iterator[None]:
    """Holds back what torch logs of a guard that it cannot make, and the graph that it prints when it gives up.

    If the export fails, the exception says as much. All else that is printed meanwhile comes out at the end.
    """
    logger, held, printed = logging.getLogger("torch._guards"), _Held(), io.StringIO()
    logger.addFilter(held)
    try:
        with contextlib.redirect_stderr(printed):
            yield
    except Exception as error:
        graph = getattr(error, "partial_fx_graph", None)
        sys.stderr.write(printed.getvalue().replace(f"{graph}\n", ""))
        raise
    finally:
        logger.removeFilter(held)
    sys.stderr.write(printed.getvalue())
    for record in held.records:
        logger.handle(record)


def resolved(shapes: Any, module: Any, args: Any, kwargs: Any) -> Any:
    """A `ShapesCollection` or `AdditionalInputs` as the shapes that it stands for."""
    resolve: Callable[..., Any] | None = getattr(shapes, "dynamic_shapes", None)
    return resolve(module, args, kwargs) if callable(resolve) else shapes


#: Names of torch's exceptions about shapes that other dimensions may avoid.
_SHAPE_ERRORS = ("ConstraintViolationError", "UserError", "GuardOnDataDependentSymNode", "ValueRangeError")


def concerns_shapes(error: BaseException | None) -> bool:
    while error is not None:
        if any(kind.__name__ in _SHAPE_ERRORS for kind in type(error).__mro__):
            return True
        if isinstance(error, AssertionError) and _is_torchs(error):
            return True
        text = str(error)
        if ("marked" in text and "dynamic" in text) or "derived min value" in text or "derived max value" in text:
            return True
        error = error.__cause__ or error.__context__
    return False


def is_undecided(error: BaseException | None) -> bool:
    """Whether torch stopped at a condition that it could not decide."""
    while error is not None:
        if any(kind.__name__ == "GuardOnDataDependentSymNode" for kind in type(error).__mro__):
            return True
        if "data-dependent expression" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_torchs(error: BaseException) -> bool:
    """Whether torch itself raised an error while it exported, not the module."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module: str = place.tb_frame.f_globals.get("__name__", "") if place is not None else ""
    return module.startswith(("torch.export.", "torch._export.", "torch.fx.experimental.", "torch.utils._sympy."))


def _repaired(attempt: Callable[[Any], Any], shapes: Any, refusal: Exception, fix: bool) -> tuple[Any, Report]:
    """Finds out with inferred dimensions what the spec should have been."""
    try:
        program = attempt(inferred(shapes))
    except Exception:
        raise refusal from None
    try:
        report = check(program, shapes)
    except SizewiseError:
        raise refusal from None
    if report.verdict == "violated":
        return _fixed(attempt, report, refusal, fix)
    if report.verdict == "ok":
        # The spec suffices for the program that torch infers, so that is the program.
        return program, report
    raise refusal


def _fixed(attempt: Callable[[Any], Any], report: Report, refusal: Exception | None, fix: bool) -> tuple[Any, Report]:
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


def is_shapes_fix(fix: Fix) -> bool:
    """Whether a changed spec is a ShapesSpec, under which sizes are unbacked: another export than the one asked for."""
    return fix.spec is not None and "vars" in fix.spec


def _loss(fix: Fix) -> int:
    """How sure it is that a changed spec rejects shapes that work: not at all, by what the module checks, perhaps, surely."""
    return {False: 0, True: 3, None: 2 if fix.cost is None else 1}[fix.loses]


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def inferred(shapes: Any, keep_ranges: bool = False) -> Any:
    """The same spec with `Dim.AUTO` for each dimension that is dynamic."""
    from torch.export import Dim
    from torch.utils._pytree import tree_map

    from sizewise._spec import _plain

    def entry(shape: Any) -> Any:
        e = _plain(shape, "dynamic_shapes")
        if e is None or isinstance(e, int) or e == "STATIC":
            return e if e != "STATIC" else Dim.STATIC
        if keep_ranges and isinstance(e, Mapping) and "derived" not in e:
            return Dim.AUTO(min=e.get("min"), max=e.get("max"))
        return Dim.AUTO

    return tree_map(entry, shapes)
