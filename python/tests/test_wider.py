"""Exports whose programs refuse sizes at which the module itself runs."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import randn
from torch.export import Dim, export

import sizewise

from programs import module  # isort: skip

pytestmark = pytest.mark.torch


def halves(self: Any, x: Any, y: Any) -> Any:
    return (x.view(x.shape[0] // 2, 2, -1) + y).sum(0)


def codes(report: sizewise.Report) -> list[str]:
    return [note["code"] for note in report.diagnostics]


def spec(least: int) -> dict[str, dict[int, Any]]:
    k, m = Dim("k", min=least, max=9), Dim("m", min=0, max=64)
    return {"x": {0: 2 * k, 1: m}, "y": {1: m}}


def test_an_export_that_excludes_sizes_0_and_1_is_made_again_where_the_module_runs_at_them() -> None:
    program, report = sizewise.export(module(halves), (randn(8, 6), randn(2, 6)), dynamic_shapes=spec(least=1))
    assert report.verdict == "ok" and "exported-again" in codes(report)
    for rows, columns in ((2, 1), (2, 0), (18, 64)):
        x, y = randn(rows, columns), randn(2, columns)
        if columns:
            assert program.module()(x, y).shape == module(halves)(x, y).shape


def test_a_fix_does_not_exclude_what_only_the_first_export_refuses() -> None:
    with pytest.raises(sizewise.ShapeError, match="k = Dim\\('k', min=1, max=9\\)") as failed:
        sizewise.export(module(halves), (randn(8, 6), randn(2, 6)), dynamic_shapes=spec(least=0))
    assert failed.value.report is not None and "exported-again" in codes(failed.value.report)


def test_a_check_with_the_module_says_which_counterexamples_it_runs() -> None:
    model, args = module(halves), (randn(8, 6), randn(2, 6))
    program = export(model, args, dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}, "y": {1: Dim.AUTO}})
    assert "module-runs" not in codes(sizewise.check(program, spec(least=0)))
    assert "module-runs" in codes(sizewise.check(program, spec(least=0), module=model))


def test_a_module_that_fails_itself_is_not_exported_again() -> None:
    def pairs(self: Any, x: Any) -> Any:
        return x.view(-1, 2)

    with pytest.raises(sizewise.ShapeError) as failed:
        sizewise.export(module(pairs), (randn(8),), dynamic_shapes={"x": {0: Dim("n", min=4, max=9)}})
    assert failed.value.report is not None and not {"module-runs", "exported-again"} & set(codes(failed.value.report))


def test_buffers_and_random_numbers_are_as_before() -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count += 1
            return (x.view(x.shape[0] // 2, 2) + torch.rand(2)).sum()

    model = Counting()
    program = export(model, (randn(8),), dynamic_shapes={"x": {0: Dim.AUTO}})
    count, state = model.count.item(), torch.get_rng_state()
    sizewise.check(program, {"x": {0: Dim("n", min=1, max=9)}}, module=model)
    assert model.count.item() == count and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("strict", [False, True])
def test_an_entry_that_a_spec_forgot_gets_the_dimension_of_the_other_input(strict: bool) -> None:
    def masked(self: Any, ids: Any, mask: Any) -> Any:
        return ids * mask

    b, s = Dim("b", min=1, max=8), Dim("s", min=1, max=128)
    shapes = {"ids": {0: b, 1: s}, "mask": {0: b}}
    program, report = sizewise.export(
        module(masked), (randn(2, 7), randn(2, 7)), dynamic_shapes=shapes, strict=strict, fix=True
    )
    assert report.verdict == "ok"
    assert program.module()(randn(3, 9), randn(3, 9)).shape == (3, 9)
