"""sizewise: checks the dynamic shapes of exported PyTorch programs."""

from __future__ import annotations

from sizewise._check import (
    Evaluation,
    Explanation,
    Spec,
    check,
    check_many,
    evaluate,
    explain,
    spec_of,
    widest_spec,
)
from sizewise._checker import ShapeChecker, shape_checker
from sizewise._env import Answer, Bounds, Dropped, Env, Minimized
from sizewise._errors import (
    ExpressionError,
    InternalError,
    ProgramError,
    ShapeError,
    SizewiseError,
    SpecError,
    Unsupported,
)
from sizewise._expr import Expr, ExprLike, Max, Min
from sizewise._export import export
from sizewise._native import __version__
from sizewise._report import Condition, Fix, Frame, Report, RuntimeAssert, Value

__all__ = [
    "Answer",
    "Bounds",
    "Condition",
    "Dropped",
    "Env",
    "Evaluation",
    "Explanation",
    "Expr",
    "ExprLike",
    "ExpressionError",
    "Fix",
    "Frame",
    "InternalError",
    "Max",
    "Min",
    "Minimized",
    "ProgramError",
    "Report",
    "RuntimeAssert",
    "ShapeChecker",
    "ShapeError",
    "SizewiseError",
    "Spec",
    "SpecError",
    "Unsupported",
    "Value",
    "__version__",
    "check",
    "check_many",
    "evaluate",
    "explain",
    "export",
    "shape_checker",
    "spec_of",
    "widest_spec",
]
