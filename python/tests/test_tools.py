"""`diff`, `cost` and `annotate`: what a new export changes, what a program costs, which shapes its lines make."""

from __future__ import annotations

import json
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import randn
from torch.export import Dim, export

import sizewise

from programs import module  # isort: skip

pytestmark = pytest.mark.torch


def linear(self: Any, x: Any) -> Any:
    return x.view(-1, 4) @ x.new_ones(4, 3)


def exported(forward: Any, least: int, most: int) -> Any:
    return export(module(forward), (randn(8, 4),), dynamic_shapes={"x": {0: Dim("n", min=least, max=most)}})


def test_a_narrower_export_has_an_example_that_only_the_old_one_accepts() -> None:
    old, new = exported(linear, 2, 64), exported(linear, 2, 32)
    found = sizewise.diff(old, new)
    assert found.verdict == "narrower" and found.breaks and repr(found) == "<sizewise.Difference narrower>"
    assert found.examples[0].accepted_by == "old" and 32 < found.examples[0].inputs["x"][0] <= 64
    assert found.to_dict()["verdict"] == "narrower" and "narrower" in str(found)
    assert found.to_html().startswith("<!") and found.to_markdown()


@pytest.mark.parametrize(("least", "most", "verdict"), [(2, 64, "equal"), (2, 99, "wider"), (3, 99, "different")])
def test_the_new_program_is_judged_against_the_old_one(least: int, most: int, verdict: str) -> None:
    assert sizewise.diff(exported(linear, 2, 64), exported(linear, least, most)).verdict == verdict


def test_costs_are_expressions_and_numbers_at_sizes() -> None:
    found = sizewise.cost(exported(linear, 2, 64), at={"x": (16, 4)})
    assert found.exact and found.reasons == []
    assert found.at is not None and found.at["flops"] == 2 * 16 * 4 * 3
    assert repr(found).startswith("<sizewise.Cost exact: ")
    assert eval(found.flops, dict.fromkeys(found.to_dict()["symbols"], 16)) == found.at["flops"]


@pytest.mark.parametrize(("at", "said"), [({"y": (3,)}, 'no size of "y" varies'), ({"x": ()}, "has 2 sizes, not 0")])
def test_sizes_that_tell_no_numbers_are_refused(at: dict[str, Any], said: str) -> None:
    with pytest.raises(sizewise.SpecError, match=said):
        sizewise.cost(exported(linear, 2, 64), at=at)


MODEL = '<ir_version: 8, opset_import: ["" : 18]> g (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }'


def test_models_are_compared() -> None:
    onnx = pytest.importorskip("onnx")
    old, new = (onnx.parser.parse_model(text) for text in (MODEL, MODEL.replace("[n, 4] x", "[3, 4] x")))
    assert sizewise.diff(old, old).verdict == "equal"
    assert sizewise.diff(old, new).verdict == "narrower"


def test_specs_are_compared() -> None:
    program, spec = exported(linear, 2, 64), {"x": {0: Dim("n", min=2, max=64)}}
    assert sizewise.diff(spec, {"x": {0: Dim("m", min=2, max=64)}}, program=program).verdict == "equal"
    found = sizewise.diff(spec, {"x": {0: Dim("n", min=2, max=32)}}, program=program)
    assert found.verdict == "narrower" and found.guards["added"][0]["condition"] == "x.shape[0] <= 32"
    with pytest.raises(sizewise.SpecError):
        sizewise.diff(spec, {"z": {0: Dim("n")}}, program=program)
    with pytest.raises(sizewise.SpecError, match="one of them is None"):
        sizewise.diff(spec, None, program=program)


def test_costs_of_models_are_counted() -> None:
    onnx = pytest.importorskip("onnx")
    head, graph = '<ir_version: 8, opset_import: ["" : 18]>', "g (float[n, 4] x, float[4, 3] w) => (y)"
    text = f"{head} {graph} {{ y = MatMul(x, w) }}"
    found = sizewise.cost(onnx.parser.parse_model(text), at={"x": (5, 4)})
    assert found.exact and found.at == {"flops": 2 * 5 * 4 * 3, "activation_bytes": 5 * 3 * 4, "peak_bytes": 5 * 3 * 4}


def test_costs_have_forms_for_sympy_and_grow() -> None:
    found = sizewise.cost(exported(linear, 2, 64))
    (name,) = found.to_dict()["symbols"]
    assert found.growth[name] == {"flops": 1, "activation_bytes": 1, "peak_bytes": 1}
    pytest.importorskip("sympy")
    flops = found.to_sympy()["flops"]
    assert flops.subs({symbol: 10 for symbol in flops.free_symbols}) == 10 * 24


def test_lines_are_annotated() -> None:
    program = exported(linear, 2, 64)
    found = sizewise.annotate(program, {"x": {0: Dim("n", min=2, max=64)}})
    values = [value for hint in found.hints for value in hint["values"]] + found.to_dict()["unplaced"]
    assert {"node": "matmul", "op": "aten.matmul.default", "module": None, "shapes": ["f32[n, 3]"]} in values
    assert "f32[n, 3]  aten.matmul" in str(found) or "f32[n, 3]  matmul" in str(found)
    assert found.to_html().startswith("<!doctype html>") and repr(found).endswith("lines>")


def test_source_that_is_not_there_is_refused() -> None:
    with pytest.raises(sizewise.SpecError, match="no such file or folder"):
        sizewise.annotate(exported(linear, 2, 64), source="/no/such/folder")


def test_reports_are_graphs_for_model_explorer() -> None:
    collection = json.loads(sizewise.check(exported(linear, 2, 64)).to_model_explorer())
    assert {"matmul", "output"} <= {node["id"] for node in collection["graphs"][0]["nodes"]}
    assert set(collection["nodeData"]) == {"bytes", "shapes", "conditions", "findings"}



def bounded() -> Any:
    batch, width = Dim("batch", min=2, max=16), Dim("width", min=1, max=64)
    return export(Twice(), (randn(4, 8),), dynamic_shapes={"x": {0: batch, 1: width}})


def unbounded() -> Any:
    return export(Twice(), (randn(4, 8),), dynamic_shapes={"x": {0: Dim("batch", min=2)}})


class Twice(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cat([x, x.relu()], dim=1).exp()


def test_bounds_are_attained_and_sizes_are_sympy() -> None:
    sympy = pytest.importorskip("sympy")
    found = sizewise.bounds(bounded())
    assert len(found) == 3 and [value.value for value in found] == ["relu", "cat", "exp"]
    least, most = found["exp"].bytes
    assert (least.value, most.value) == (4 * 2 * 2, 4 * 16 * 128) and most.at == {"x": [16, 64]}
    assert found["exp"].exact and found["exp"].reasons == [] and found["exp"].needs == []
    assert all(isinstance(size, sympy.Expr) for size in found["exp"].sizes)
    assert [(a.value, b.value) for a, b in found["cat"].dims] == [(2, 16), (2, 128)]
    spec = {"x": {0: Dim("batch", min=2, max=4), 1: Dim("width", min=1, max=64)}}
    narrow = sizewise.bounds(bounded(), spec, values=["cat"])
    assert narrow["cat"].dims[0][1].value == 4 and narrow.to_dict()["values"][0]["dtype"] == "float32"


def test_plans_fits_and_profiles() -> None:
    program = bounded()
    plan = sizewise.plan(program, align=64)
    assert plan.exact and plan.arena_bytes == plan.lower_bound <= plan.greedy_bytes
    assert {buffer["value"] for buffer in plan.buffers} == {"relu", "cat", "exp"}
    fit = sizewise.fit(program, memory=4 * 64 * 5 * 10, maximize="x.0", given={"x.1": 64})
    assert (fit.size, fit.breaks and fit.breaks["size"]) == (10, 11) and fit.exact and not fit.unlimited
    assert sizewise.fit(program, memory="1GB", maximize="x.0", given={"x.1": 64}).breaks is None
    table = sizewise.frontier(program, memory=20_000, maximize="x.0", over="x.1")
    assert table.rows[0] == (1, 16) and table.to_svg().startswith("<svg")
    profile = sizewise.profile(program)
    assert (profile.min, profile.opt, profile.max) == ({"x": [2, 1]}, {"x": [4, 8]}, {"x": [16, 64]})
    assert profile.flags[1] == "--optShapes=x:4x8"
    assert sizewise.profile(program, buckets=1).buckets == [{"x": [16, 64]}]
    assert len(sizewise.profile(program, padding=3.0).buckets) > 1


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: sizewise.bounds(bounded(), values=["relo"]), sizewise.SpecError, "the nearest is `relu`"),
        (lambda: sizewise.fit(bounded(), memory="much", maximize="x.0"), sizewise.SpecError, "an amount of memory"),
        (lambda: sizewise.fit(bounded(), memory=1000, maximize="x.0"), sizewise.SpecError, "depends on x.1, too"),
        (lambda: sizewise.plan(bounded(), align=3), sizewise.SpecError, "a power of two"),
        (lambda: sizewise.profile(bounded(), buckets=0), sizewise.SpecError, "buckets are from 1"),
        (lambda: sizewise.plan(unbounded()), sizewise.SpecError, "give x.0 a max"),
    ],
)
def test_questions_about_sizes_that_have_no_answer(ask: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ask()
