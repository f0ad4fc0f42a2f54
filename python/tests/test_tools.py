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
