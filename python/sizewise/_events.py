"""Values of torch as events of a trace have them."""

from __future__ import annotations

import os
import sys
from typing import Any


def configured(name: str) -> bool:
    from torch.fx.experimental import _config

    return bool(getattr(_config, name, False))


def plain(value: Any) -> Any:
    """A value of JSON: a truth value, a number, or a text for anything else."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if str(value) in ("True", "False"):
        return str(value) == "True"
    try:
        return int(value) if getattr(value, "is_integer", False) is True else float(value)
    except (TypeError, ValueError):
        return str(value)


def ends(known: Any) -> list[int | None]:
    if known is None:
        return [None, None]
    return [int(bound) if getattr(bound, "is_Integer", False) else None for bound in (known.lower, known.upper)]


def value_of(shape_env: Any, expr: Any) -> Any:
    """The value in the example; `None` if unbacked symbols leave it open."""
    try:
        value = expr.xreplace(shape_env.backed_var_to_val)
    except Exception:
        # sympy rejects divisions by zero and the like.
        return None
    return None if value.free_symbols else plain(value)


def place() -> str | None:
    """The file and the line of the user's code."""
    import torch
    from torch._guards import TracingContext

    if stack := TracingContext.extract_stack():
        return f"{os.path.basename(stack[-1].filename)}:{stack[-1].lineno}"
    frame, inner = sys._getframe(), tuple(os.path.dirname(file) + os.path.sep for file in (torch.__file__, __file__))
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inner):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def error_of(error: BaseException) -> list[str]:
    return [type(error).__name__, str(error)]
