"""Attempts to export: what torch is given, what it prints meanwhile, and what its refusals are about."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sizewise._report import Fix


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


def is_shapes_fix(fix: Fix) -> bool:
    """Whether a changed spec is a ShapesSpec, under which sizes are unbacked: another export than the one asked for."""
    return fix.spec is not None and "vars" in fix.spec


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
