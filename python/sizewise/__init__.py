"""sizewise: checks the dynamic shapes of exported PyTorch programs."""

from __future__ import annotations

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
from sizewise._native import __version__

__all__ = [
    "Answer",
    "Bounds",
    "Dropped",
    "Env",
    "Expr",
    "ExprLike",
    "ExpressionError",
    "InternalError",
    "Max",
    "Min",
    "Minimized",
    "ProgramError",
    "ShapeError",
    "SizewiseError",
    "SpecError",
    "Unsupported",
    "__version__",
]
