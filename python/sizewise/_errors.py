"""The exceptions. All of them are `SizewiseError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sizewise._report import Report


class SizewiseError(Exception):
    """What every exception of this package is."""

    #: A short name that does not change.
    code = "error"


class ShapeError(SizewiseError, ValueError):
    """Input shapes break a condition of the program, or a spec allows such shapes.

    Attributes
    ----------
    report : Report or None
        The report that says so, if a check found it.
    fix : Fix or None
        The first fix that is proved.
    """

    code = "shape"

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report
        self.fix = next(iter(report.fixes), None) if report is not None else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.report)


class DataDependentError(SizewiseError, ValueError):
    """A condition that torch needs to trace a module depends on data, so that no sizes settle it.

    Attributes
    ----------
    condition : str or None
        The condition, in torch's symbols.
    file, line
        The line of the module's code that asks; `None` if it is not known.
    exports : dict
        For each answer, whether the module can be exported with it; empty if that was not tried.
    """

    code = "data"

    def __init__(
        self,
        message: str,
        condition: str | None = None,
        file: str | None = None,
        line: int | None = None,
        exports: dict[bool, bool] | None = None,
    ) -> None:
        super().__init__(message)
        self.condition, self.file, self.line, self.exports = condition, file, line, exports or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.condition, self.file, self.line, self.exports)


class SpecError(SizewiseError, ValueError):
    """A spec of dynamic shapes cannot be read, or does not fit the program."""

    code = "spec"


class ProgramError(SizewiseError, ValueError):
    """A program cannot be read; the message says where."""

    code = "program"


class ExpressionError(SizewiseError, ValueError):
    """An expression cannot be read."""

    code = "expression"


class Unsupported(SizewiseError, NotImplementedError):
    """Something that is not supported."""

    code = "unsupported"


class InternalError(SizewiseError, RuntimeError):
    """A bug in sizewise."""

    code = "internal"


#: The exceptions by their codes.
CODES: dict[str, type[SizewiseError]] = {
    kind.code: kind
    for kind in (
        ShapeError,
        DataDependentError,
        SpecError,
        ProgramError,
        ExpressionError,
        Unsupported,
        InternalError,
    )
}

# They are shown, and pickled, by the name under which they are imported.
for _kind in (SizewiseError, *CODES.values()):
    _kind.__module__ = "sizewise"
