"""`assume`: failed exports come back with their causes and the weakest assumptions."""

from __future__ import annotations

import inspect
import itertools
import math
import re
import sys
from typing import Any

import pytest

dynamic_spec = pytest.importorskip("torch.fx.experimental.dynamic_spec", exc_type=ImportError)

import torch
from torch import nn, randn
from torch.export import Dim
from torch.fx.experimental.dynamic_spec import IntVar, ParamsSpec, ShapesSpec, ShapeVar, TensorSpec

import sizewise
from sizewise import _native

from branching import CASES  # isort: skip
from programs import module  # isort: skip

pytestmark = pytest.mark.torch

#: The sizes that are tried, of one variable, of two, and of more.
GRIDS = ([*range(21), 31, 32, 33, 40, 64], [*range(10), 12, 16, 17, 25, 31, 32, 33], [0, 1, 2, 3, 4, 5, 8, 9, 12, 31])


def spec_of(sizes: dict[str, Any]) -> ShapesSpec:
    variables: dict[str, Any] = {}

    def size(entry: Any, kind: Any = ShapeVar) -> Any:
        return variables.setdefault(entry, kind(entry, min=0, max=64)) if isinstance(entry, str) else entry

    params = {
        name: TensorSpec([size(each) for each in entry]) if isinstance(entry, list) else size(entry, IntVar)
        for name, entry in sizes.items()
    }
    return ShapesSpec(ParamsSpec(params))


def names_of(sizes: dict[str, Any]) -> list[str]:
    entries = itertools.chain.from_iterable(entry if isinstance(entry, list) else [entry] for entry in sizes.values())
    return list(dict.fromkeys(entry for entry in entries if isinstance(entry, str)))


def inputs_at(sizes: dict[str, Any], values: dict[str, int]) -> tuple[Any, ...]:
    return tuple(
        randn([values.get(each, each) for each in entry]) if isinstance(entry, list) else values[entry]
        for entry in sizes.values()
    )


def result(call: Any, inputs: tuple[Any, ...]) -> Any:
    try:
        return call(*inputs)
    except (RuntimeError, ValueError, IndexError, ZeroDivisionError, AssertionError):
        return None


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_the_assumptions_admit_all_sizes_of_the_path(case: Any) -> None:
    _, forward, example, sizes, path = case
    model = module(forward)
    found = sizewise.assume(model, example, dynamic_shapes=spec_of(sizes))
    assert found.report.verdict != "violated", str(found)
    exported, names = found.program.module(), names_of(sizes)
    env = _native.Env()
    conditions = [env.read(assumption) for assumption in found.assumptions]
    for point in itertools.product(GRIDS[min(len(names), 3) - 1], repeat=len(names)):
        values = dict(zip(names, point))
        known = [{name: values[name] for name in env.symbols_of(condition)} for condition in conditions]
        is_admitted = all(env.evaluate(condition, some) is True for condition, some in zip(conditions, known))
        inputs = inputs_at(sizes, values)
        expected = result(model, inputs)
        assert is_admitted == (expected is not None and bool(eval(path, {}, values))), (values, found.assumptions)
        if is_admitted:
            torch.testing.assert_close(exported(*inputs), expected, equal_nan=True)


@pytest.mark.parametrize("strict", [False, True])
def test_each_branch_names_its_line(strict: bool) -> None:
    for name, forward, example, sizes, _ in CASES:
        lines, first = inspect.getsourcelines(forward)
        found = sizewise.assume(module(forward), example, dynamic_shapes=spec_of(sizes), strict=strict)
        for branch in found.branches:
            if branch.cause == "branch":
                assert branch.line is not None and branch.file == __file__.replace("test_assume", "branching"), name
                assert lines[branch.line - first].strip() == branch.source, name
                assert any(word in branch.source for word in ("if ", "while ", "range(", "int(", "len(", "assert ")), (
                    branch
                )


@pytest.mark.parametrize("strict", [False, True])
def test_the_other_side_has_sizes_to_trace_it_with(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        if x.shape[0] > 5:
            return x * 2
        return x

    found = sizewise.assume(
        module(forward),
        (randn(8, 2),),
        dynamic_shapes=ShapesSpec({"x": TensorSpec([ShapeVar("b"), None])}),
        strict=strict,
    )
    (branch,) = found.branches
    assert found.assumptions == ["b >= 6"] == branch.assumptions
    assert (branch.condition, branch.other, branch.cause) == ("b >= 6", "b <= 5", "branch")
    assert branch.other_example is not None and branch.other_example["b"] <= 5
    other = sizewise.assume(
        module(forward),
        (randn(branch.other_example["b"], 2),),
        dynamic_shapes=ShapesSpec({"x": TensorSpec([ShapeVar("b"), None])}),
    )
    assert other.assumptions == ["b <= 5"]
    assert "if x.shape[0] > 5:" in str(found) and found.by_torch_alone


def test_the_result_exports_again_from_its_code() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.softmax(1) if x.shape[1] > 1 else x * 0 + 1

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("b", max=64), ShapeVar("t", min=1, max=64)])})
    found = sizewise.assume(module(forward), (randn(2, 5),), dynamic_shapes=spec)
    names: dict[str, Any] = {}
    exec(found.code, names)
    for shapes in (names["dynamic_shapes"], found.dynamic_shapes):
        again = torch.export.export(module(forward), (randn(2, 5),), dynamic_shapes=shapes)
        assert sizewise.check(again, shapes).verdict == "ok"


def test_a_spec_of_dims_that_has_an_exact_fix_stays_one() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.view(-1, 2).sum(1)

    found = sizewise.assume(module(forward), (randn(6),), dynamic_shapes=({0: Dim("n", min=2, max=64)},))
    assert found.report.verdict == "ok" and "from torch.export import Dim" in found.code
    assert found.program.module()(torch.ones(8)).shape == (4,)


def test_a_spec_of_dims_without_an_exact_fix_becomes_a_shapes_spec() -> None:
    def forward(self: Any, x: Any, y: Any) -> Any:
        torch._check(x.shape[0] * y.shape[0] <= 999)
        return x.sum() * y

    p, q = Dim("p", min=2, max=100), Dim("q", min=2, max=100)
    found = sizewise.assume(module(forward), (randn(6), randn(7)), dynamic_shapes=({0: p}, {0: q}))
    assert found.report.verdict == "ok" and found.assumptions == ["p*q <= 999"]
    assert isinstance(found.dynamic_shapes, ShapesSpec)


def test_derived_dims_and_containers_become_a_shapes_spec() -> None:
    def forward(self: Any, x: Any, ys: Any, d: Any, *rest: Any, n: Any) -> Any:
        if x.shape[0] * ys[0].shape[0] > 50:
            return x.sum() + ys[1].sum() + d["k"].sum() + rest[0].sum() + n.sum()
        return x.sum()

    b, k = Dim("b", min=1, max=50), Dim("k", min=1, max=50)
    args = (randn(6), [randn(12), randn(13)], {"k": randn(6)}, randn(9))
    shapes = {
        "x": {0: b},
        "ys": [{0: 2 * b}, {0: 2 * b + 1}],
        "d": {"k": (b,)},
        "rest": ({0: 3 * k},),
        "n": {0: Dim.AUTO},
    }
    found = sizewise.assume(module(forward), args, {"n": randn(4)}, dynamic_shapes=shapes)
    assert found.report.verdict == "ok"
    for size, runs in ((5, False), (6, True), (40, True)):
        call = lambda: found.program.module()(  # noqa: E731
            randn(size), [randn(2 * size), randn(2 * size + 1)], {"k": randn(size)}, randn(9), n=randn(4)
        )
        assert (result(lambda: call(), ()) is not None) == runs, size


def test_what_data_decide_is_named_and_never_assumed() -> None:
    def forward(self: Any, x: Any) -> Any:
        n = x.sum().int().item()
        if n > 3:
            return x * 2
        return x

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("b")])})
    with pytest.raises(sizewise.DataDependentError, match=r"(?s)if n > 3:\n.*torch\._check") as failed:
        sizewise.assume(module(forward), (torch.ones(4),), dynamic_shapes=spec)
    error = failed.value
    assert error.file == __file__ and error.line is not None and error.exports == {True: True, False: True}


def test_data_that_decide_a_branch_have_checks_in_the_words_of_the_line() -> None:
    def forward(self: Any, boxes: Any, scores: Any) -> Any:
        kept = boxes[torch.where(scores > 0.05)[0]]
        if kept.numel() == 0:
            return boxes.new_zeros(1, 4)
        return kept.mean(0, keepdim=True)

    n = ShapeVar("n", max=64)
    spec = ShapesSpec({"boxes": TensorSpec([n, 4]), "scores": TensorSpec([n])})
    with pytest.raises(sizewise.DataDependentError) as failed:
        sizewise.assume(module(forward), (torch.rand(5, 4), torch.rand(5)), dynamic_shapes=spec)
    assert failed.value.exports == {True: True, False: True}
    assert all(f"torch._check(kept.numel() {sign} 0)" in str(failed.value) for sign in ("==", "!="))


@pytest.mark.parametrize("strict", [False, True])
def test_checks_that_data_need_behind_the_first_are_named(strict: bool) -> None:
    def forward(self: Any, boxes: Any, scores: Any) -> Any:
        kept = boxes[torch.where(scores > 0.05)[0]]
        if kept.numel() == 0:
            return boxes.new_zeros(1, 4)
        large = kept[kept[:, 2] > 0.5]
        if large.shape[0] == 0:
            return kept.mean(0, keepdim=True)
        return large.mean(0, keepdim=True)

    n = ShapeVar("n", max=64)
    spec = ShapesSpec({"boxes": TensorSpec([n, 4]), "scores": TensorSpec([n])})
    with pytest.raises(sizewise.DataDependentError) as failed:
        sizewise.assume(module(forward), (torch.rand(5, 4), torch.rand(5)), dynamic_shapes=spec, strict=strict)
    assert failed.value.exports == {True: True, False: True}
    assert re.search(
        r"where it is false, before .*: if large.shape\[0\] == 0:\n    torch._check\(large.shape\[0\] != 0\)", str(failed.value)
    )


def test_no_check_is_advised_that_cannot_be_written() -> None:
    def loops(self: Any, x: Any, lengths: Any) -> Any:
        return sum(x[i].sum() for i in range(int(lengths.max())))

    def branches(self: Any, x: Any, k: Any) -> Any:
        n = k.item()
        return x + 1 if n else x

    spec = {"x": TensorSpec([ShapeVar("n", max=64)])}
    for forward, data, said in [
        (loops, torch.tensor([2, 3]), "needs the number itself"),
        (branches, torch.tensor(1), "in the words of the code"),
    ]:
        shapes = ShapesSpec({**spec, list(inspect.signature(forward).parameters)[2]: TensorSpec([None] * data.dim())})
        with pytest.raises(sizewise.DataDependentError, match=said) as failed:
            sizewise.assume(module(forward), (torch.rand(5), data), dynamic_shapes=shapes)
        assert "    torch._check(" not in str(failed.value)


@pytest.mark.parametrize("strict", [False, True])
def test_where_no_answer_exports_the_next_line_that_data_stop_is_named(strict: bool) -> None:
    def forward(self: Any, x: Any, flags: Any) -> Any:
        kept, total = x[flags], 0
        if kept.shape[0] > 3:
            total = 1
        for i in range(kept.shape[0]):
            total = total + kept[i].sum()
        return total

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("n", max=64)]), "flags": TensorSpec([ShapeVar("n", max=64)])})
    args = torch.rand(5), torch.tensor([True, False, True, True, False])
    with pytest.raises(sizewise.DataDependentError) as failed:
        sizewise.assume(module(forward), args, dynamic_shapes=spec, strict=strict)
    assert failed.value.exports == {True: False, False: False}
    for answer in ("true", "false"):
        assert re.search(
            rf"Where it is {answer}, the export ends at .*: for i in range\(kept.shape\[0\]\):\n    which needs `u\d` as a number",
            str(failed.value),
        )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("size", "at_eight"),
    [
        (lambda n: abs(n - 3), 5),
        (lambda n: round(n / 3), 3),
        (lambda n: math.ceil(n / 3), 3),
        (lambda n: math.floor(n / 3), 2),
    ],
)
def test_sizes_that_torch_cannot_save_are_checked(size: Any, at_eight: int, strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.new_zeros(size(x.shape[0]))

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("n", max=64)])})
    found = sizewise.assume(module(forward), (randn(5),), dynamic_shapes=spec, strict=strict)
    assert found.report.verdict == "ok" and found.assumptions == []
    assert found.program.module()(randn(8)).shape == (at_eight,)


def test_a_condition_that_torchs_specs_cannot_state_becomes_a_range() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.new_zeros(2 ** x.shape[0])

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("n", max=100)])})
    found = sizewise.assume(module(forward), (randn(3),), dynamic_shapes=spec)
    assert found.report.verdict == "ok" and found.program.module()(randn(4)).shape == (16,)
    assert all("**" not in assumption for assumption in found.assumptions)


def test_a_side_that_does_not_run_has_no_sizes() -> None:
    def forward(self: Any, x: Any) -> Any:
        if x.shape[0] == 0:
            raise ValueError("nothing to do")
        return x * 2

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("n")])})
    found = sizewise.assume(module(forward), (randn(3),), dynamic_shapes=spec)
    (branch,) = found.branches
    assert (branch.other, branch.other_example) == ("n == 0", None)
    assert "no sizes near the example were found at which it runs" in str(found)


def test_a_module_is_as_before() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x: Any) -> Any:
            return self.norm(x) if x.shape[0] > 4 else x

    model = Counting()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = sizewise.assume(model, (randn(8, 3),), dynamic_shapes=ShapesSpec({"x": TensorSpec([ShapeVar("n"), None])}))
    assert found.assumptions == ["n >= 5"]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_export_says_what_to_assume_and_assumes_it() -> None:
    def forward(self: Any, x: Any) -> Any:
        if x.shape[0] > 5:
            return x * 2
        return x

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("b", max=64)])})
    with pytest.raises(
        sizewise.ShapeError, match=r"(?s)Could not guard.*if x.shape\[0\] > 5.*b = ShapeVar\('b', min=6"
    ):
        sizewise.export(module(forward), (randn(8),), dynamic_shapes=spec)
    program, report = sizewise.export(module(forward), (randn(8),), dynamic_shapes=spec, fix=True)
    assert report.verdict == "ok" and "it assumes b >= 6" in str(report)
    assert result(program.module(), (randn(5),)) is None


@pytest.mark.parametrize("strict", [False, True])
def test_guards_of_dims_name_their_lines(strict: bool) -> None:
    def forward(self: Any, x: Any, y: Any) -> Any:
        if x.shape[0] // 16 % 3 > 0:
            x = x * 2
        for i in range(y.shape[0]):
            x = x + i
        return x

    shapes = ({0: Dim("h", min=16, max=128)}, {0: Dim("r", min=2, max=64)})
    with pytest.raises(sizewise.ShapeError) as failed:
        sizewise.export(module(forward), (randn(64), randn(3)), dynamic_shapes=shapes, strict=strict)
    report = failed.value.report
    assert report is not None
    found = {condition.source for condition in report.violations if not condition.follows}
    assert found == {"if x.shape[0] // 16 % 3 > 0:", "for i in range(y.shape[0]):"}


def test_an_archive_gets_its_lines_from_a_trace(tmp_path: Any) -> None:
    def forward(self: Any, x: Any) -> Any:
        y = torch.nn.functional.pad(x, (0, (-x.shape[1]) % 8))
        return (y[:, : x.shape[1]] + 1).reshape(-1)

    trace, archive = tmp_path / "trace.jsonl.gz", tmp_path / "model.pt2"
    with sizewise.record(trace):
        program = torch.export.export(module(forward), (randn(3, 13),), dynamic_shapes=({1: Dim.AUTO},))
    torch.export.save(program, archive)
    shapes = ({1: Dim("w", min=2, max=64)},)
    # The slice is the only operator that the size may come from: without the trace it is named as well.
    (without,) = sizewise.check(archive, shapes).violations
    (condition,) = sizewise.check(archive, shapes, trace=trace).violations
    assert without.source == condition.source == "return (y[:, : x.shape[1]] + 1).reshape(-1)"
    other = tmp_path / "other.jsonl"
    for inputs, said in (
        ((randn(3, 14),), "is 14 there, and 13 in the example"),
        ((randn(3, 13), randn(3)), "has not all sizes of"),
    ):
        more = module(lambda self, x, *rest: x.view(-1, rest[0].shape[0]) if rest else forward(self, x))
        free = ({1: Dim.AUTO},) if len(inputs) == 1 else ({1: Dim.AUTO}, ({0: Dim.AUTO},))
        with sizewise.record(other):
            torch.export.export(more, inputs, dynamic_shapes=free)
        with pytest.raises(sizewise.ProgramError, match=f"(?s)the trace is of another program.*{said}"):
            sizewise.check(archive, shapes, trace=other)
    with pytest.raises(sizewise.ProgramError, match="no such|No such"):
        sizewise.check(archive, shapes, trace=tmp_path / "missing")
    (tmp_path / "empty").write_text("")
    with pytest.raises(sizewise.ProgramError, match="an empty file"):
        sizewise.check(archive, shapes, trace=tmp_path / "empty")


def test_the_modules_of_torch_are_exported_along_the_example() -> None:
    b, t, s, s2, m = (ShapeVar(name, min=2, max=256) for name in ("b", "t", "s", "s2", "m"))
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    sizes = {"query": [b, t, 8], "key": [b, s, 8], "value": [b, s2, 8]}
    cases: list[tuple[nn.Module, tuple[Any, ...], dict[str, Any], list[str]]] = [
        (nn.LSTM(4, 5, batch_first=True), (randn(2, 6, 4),), {"input": [b, t, 4]}, ["t == 6"]),
        (attention, (randn(2, 5, 8), randn(2, 6, 8), randn(2, 6, 8)), sizes, ["s == s2"]),
        (nn.Sequential(nn.GroupNorm(2, 8), nn.MaxPool1d(2)), (randn(2, 8, 9),), {"input": [b, 8, m]}, ["m == 9"]),
    ]
    for model, example, entries, expected in cases:
        spec = ShapesSpec(ParamsSpec({name: TensorSpec(entry) for name, entry in entries.items()}))
        found = sizewise.assume(model, example, dynamic_shapes=spec)
        assert found.report.verdict == "ok" and found.assumptions == expected, str(found)


def test_what_does_not_fit_the_example_is_refused() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.squeeze(0)

    def assumed(shapes: Any, size: int = 8) -> Any:
        return sizewise.assume(module(forward), (randn(size, 2),), dynamic_shapes=shapes)

    n = ShapeVar("n", max=4)
    for shapes, message in (
        (ShapesSpec({"x": TensorSpec([n, None])}), "the example has 8, which is not between 0 and 4"),
        (
            ShapesSpec({"x": TensorSpec([b := ShapeVar("b"), None])}, assumptions=[b % 3 == 0]),
            "b % 3 == 0, and .* b = 8",
        ),
        ({"y": {0: Dim("m")}}, "there is no argument 'y'"),
        ({"x": {3: Dim("m")}}, "2 dimensions has no dimension 3"),
    ):
        with pytest.raises(sizewise.SpecError, match=message):
            assumed(shapes)
    # torch traces the path on which nothing is squeezed, whatever the example is.
    with pytest.raises(sizewise.ShapeError, match="needs n != 1, and the example has n = 1"):
        assumed(ShapesSpec({"x": TensorSpec([n, None])}), 1)


def test_conditions_on_floating_point_are_stated_in_integers_or_as_in_the_example() -> None:
    def half(self: Any, x: Any) -> Any:
        return x[: int(x.shape[0] * 0.5)]

    def ratio(self: Any, x: Any) -> Any:
        return x + 1 if x.shape[0] / x.shape[1] > 1.5 else x

    for forward, expected in ((half, ["n // 2 == 2"]), (ratio, ["m == 7", "n == 5"])):
        spec = ShapesSpec({"x": TensorSpec([ShapeVar("n", max=64), ShapeVar("m", max=64)])})
        found = sizewise.assume(module(forward), (randn(5, 7),), dynamic_shapes=spec)
        assert sorted(found.assumptions) == sorted(expected) and found.report.verdict == "ok"


def test_a_number_of_floating_point_is_read_of_sizes_not_of_data() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x * 2 if math.log(x.shape[0]) > 1.0 else x

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("n", max=64), None])})
    found = sizewise.assume(module(forward), (randn(5, 2),), dynamic_shapes=spec)
    assert found.report.verdict == "ok" and found.assumptions == ["n == 5"]
    assert result(found.program.module(), (randn(4, 2),)) is None


def test_names_that_end_as_functions_do_are_names() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x + 1 if min(x.shape[0], x.shape[1]) > 2 else x

    spec = ShapesSpec({"x": TensorSpec([ShapeVar("n"), ShapeVar("m")])})
    assert sizewise.assume(module(forward), (randn(5, 7),), dynamic_shapes=spec).assumptions == ["min(m, n) >= 3"]


def test_a_torch_without_shapes_specs_is_unsupported(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.fx.experimental.dynamic_spec", None)
    with pytest.raises(sizewise.Unsupported, match="has no ShapesSpec"):
        sizewise.assume(torch.nn.Identity(), (torch.randn(2),), dynamic_shapes={"input": {0: Dim.AUTO}})
