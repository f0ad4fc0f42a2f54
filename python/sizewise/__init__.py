"""sizewise: checks the dynamic shapes of exported PyTorch programs.

Parts are imported when they are first used.
"""

from __future__ import annotations

# What `typing` would say; importing it takes longer than all the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from sizewise import testing
    from sizewise._annotate import Annotations, annotate
    from sizewise._assume import Assumed, Branch, assume
    from sizewise._audit import Audit, AuditedGuard, audit_guards
    from sizewise._certificate import CertificateError, certify
    from sizewise._check import (
        Evaluation,
        Explanation,
        Spec,
        check,
        evaluate,
        explain,
        spec_of,
        widest_spec,
    )
    from sizewise._checker import ShapeChecker, shape_checker
    from sizewise._contract import Contract, ContractError, contract
    from sizewise._cost import Cost, cost
    from sizewise._decider import Stats, decider
    from sizewise._diff import Difference, Example, diff
    from sizewise._env import Answer, Bounds, Dropped, Env, Minimized
    from sizewise._errors import (
        DataDependentError,
        ExpressionError,
        InternalError,
        ProgramError,
        ShapeError,
        SizewiseError,
        SpecError,
        Unsupported,
    )
    from sizewise._export import export
    from sizewise._expr import Expr, ExprLike, Max, Min
    from sizewise._from_examples import spec_from_examples
    from sizewise._many import check_many
    from sizewise._native import __version__
    from sizewise._record import record
    from sizewise._report import Condition, Fix, Frame, Report, RuntimeAssert, Value
    from sizewise._sizing import (
        Fit,
        Frontier,
        Plan,
        Profile,
        ProgramBounds,
        ValueBounds,
        bounds,
        fit,
        frontier,
        plan,
        profile,
    )

__all__ = [
    "Annotations",
    "Answer",
    "Assumed",
    "Audit",
    "AuditedGuard",
    "Bounds",
    "Branch",
    "CertificateError",
    "Condition",
    "Contract",
    "ContractError",
    "Cost",
    "DataDependentError",
    "Difference",
    "Dropped",
    "Env",
    "Evaluation",
    "Example",
    "Explanation",
    "Expr",
    "ExprLike",
    "ExpressionError",
    "Fit",
    "Fix",
    "Frame",
    "Frontier",
    "InternalError",
    "Max",
    "Min",
    "Minimized",
    "Plan",
    "Profile",
    "ProgramBounds",
    "ProgramError",
    "Report",
    "RuntimeAssert",
    "ShapeChecker",
    "ShapeError",
    "SizewiseError",
    "Spec",
    "SpecError",
    "Stats",
    "Unsupported",
    "Value",
    "ValueBounds",
    "__version__",
    "annotate",
    "assume",
    "audit_guards",
    "bounds",
    "certify",
    "check",
    "check_many",
    "contract",
    "cost",
    "decider",
    "diff",
    "evaluate",
    "explain",
    "export",
    "fit",
    "frontier",
    "plan",
    "profile",
    "record",
    "shape_checker",
    "spec_from_examples",
    "spec_of",
    "testing",
    "widest_spec",
]

#: Where the names are.
_PLACES = {
    "Annotations": "_annotate",
    "annotate": "_annotate",
    "Assumed": "_assume",
    "Branch": "_assume",
    "assume": "_assume",
    "Audit": "_audit",
    "AuditedGuard": "_audit",
    "audit_guards": "_audit",
    "Evaluation": "_check",
    "Explanation": "_check",
    "Spec": "_check",
    "check": "_check",
    "check_many": "_many",
    "evaluate": "_check",
    "explain": "_check",
    "spec_of": "_check",
    "widest_spec": "_check",
    "ShapeChecker": "_checker",
    "shape_checker": "_checker",
    "Contract": "_contract",
    "CertificateError": "_certificate",
    "certify": "_certificate",
    "ContractError": "_contract",
    "contract": "_contract",
    "Cost": "_cost",
    "cost": "_cost",
    "Difference": "_diff",
    "Example": "_diff",
    "diff": "_diff",
    "Stats": "_decider",
    "decider": "_decider",
    "Answer": "_env",
    "Bounds": "_env",
    "Dropped": "_env",
    "Env": "_env",
    "Minimized": "_env",
    "DataDependentError": "_errors",
    "ExpressionError": "_errors",
    "InternalError": "_errors",
    "ProgramError": "_errors",
    "ShapeError": "_errors",
    "SizewiseError": "_errors",
    "SpecError": "_errors",
    "Unsupported": "_errors",
    "export": "_export",
    "Expr": "_expr",
    "ExprLike": "_expr",
    "Max": "_expr",
    "Min": "_expr",
    "spec_from_examples": "_from_examples",
    "__version__": "_native",
    "record": "_record",
    "Condition": "_report",
    "Fix": "_report",
    "Frame": "_report",
    "Report": "_report",
    "RuntimeAssert": "_report",
    "Value": "_report",
    "Fit": "_sizing",
    "Frontier": "_sizing",
    "Plan": "_sizing",
    "Profile": "_sizing",
    "ProgramBounds": "_sizing",
    "ValueBounds": "_sizing",
    "bounds": "_sizing",
    "fit": "_sizing",
    "frontier": "_sizing",
    "plan": "_sizing",
    "profile": "_sizing",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "testing":
        return importlib.import_module("sizewise.testing")
    if name not in _PLACES:
        raise AttributeError(f"module 'sizewise' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sizewise.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]
