"""Every part of the interface, for type checkers. It is not run."""

from __future__ import annotations

from typing import Any

import sizewise
from sizewise import testing


def environments() -> None:
    env = sizewise.Env()
    s: sizewise.Expr = env.symbol("s0", min=2, max=None, hint=16)
    env.assume(s % 8 == 0, "s0 >= 8", 1 + s > 2)
    answer: sizewise.Answer = env.implies(s * 2 >= sizewise.Max(s, 16), budget=2.0)
    witness: dict[str, int] | None = answer.witness
    because: list[str] = answer.because
    simple: sizewise.Expr = env.simplify("8*(s0//8)")
    bounds: sizewise.Bounds = env.bounds(-s // 3)
    least: int | None = bounds.min
    smaller: sizewise.Minimized = env.minimize([s >= 3, "s0 >= 4"])
    guards: list[sizewise.Expr] = smaller.guards
    reasons: list[str] = smaller.dropped[0].because
    other: sizewise.Env = env.branch()
    print(witness, because, simple.symbols, least, guards, reasons, other, bool(answer), abs(s) & (s == 1))


def programs(program: Any, module: Any) -> None:
    report: sizewise.Report = sizewise.check(program, {"x": ["AUTO"]}, ops=["mine.toml"], budget=1.0)
    if not report.ok and report.verdict == "violated":
        first: sizewise.Condition = report.violations[0]
        where: tuple[str | None, int | None, str | None] = (first.file, first.line, first.source)
        frames: list[sizewise.Frame] = first.stack
        fix: sizewise.Fix = report.fixes[0]
        text: str = fix.code
        print(where, frames, text, fix.dynamic_shapes, fix.proved, first.inputs, first.clause, first.module)
    outputs: list[sizewise.Value] = report.outputs
    asserts: list[sizewise.RuntimeAssert] = report.runtime_asserts
    data: dict[str, Any] = report.to_dict()
    forms: list[str] = [report.to_json(), report.to_html(), report.to_sarif(), report.to_github(), str(report)]
    report.raise_if_violated()
    exported, again = sizewise.export(module, (1,), {"k": 2}, dynamic_shapes=None, strict=False, fix=True)
    explanation: sizewise.Explanation = sizewise.explain(exported, "x", 0)
    spec: sizewise.Spec = sizewise.widest_spec(program)
    own: sizewise.Spec = sizewise.spec_of(program)
    what: sizewise.Evaluation = sizewise.evaluate(program, {"x": (3, 4), "n": 2})
    checker: sizewise.ShapeChecker = sizewise.shape_checker(program)
    checker(1, k=2)
    source: str = checker.source("c")
    for one in sizewise.check_many(["a.pt2", b""], jobs=2):
        print(
            one.unknowns,
            outputs,
            asserts,
            data,
            forms,
            again.ok,
            explanation,
            spec.code,
            own.tree,
            what.outputs,
            source,
        )


def tests(program: Any) -> None:
    testing.assert_shapes_ok(program, None, allow_unknown=True)
    shapes: list[dict[str, list[int]]] = list(testing.corners(program, limit=3))
    print(shapes, testing.inputs(program), testing.shapes(program))


def errors() -> None:
    try:
        sizewise.check("program.pt2")
    except sizewise.ShapeError as error:
        print(error.report, error.fix, error.code)
    except (sizewise.SpecError, sizewise.ProgramError, sizewise.Unsupported, sizewise.InternalError):
        raise
    except sizewise.SizewiseError as other:
        print(other.code)
