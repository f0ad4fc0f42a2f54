"""Specs of torch.fx.experimental.dynamic_spec as the JSON of specs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

dynamic_spec = pytest.importorskip("torch.fx.experimental.dynamic_spec", exc_type=ImportError)

import sizewise  # noqa: E402
from sizewise import SpecError  # noqa: E402
from sizewise._shapes import is_shapes_spec, shapes_json  # noqa: E402

pytestmark = pytest.mark.torch

ShapeVar, IntVar, TensorSpec = dynamic_spec.ShapeVar, dynamic_spec.IntVar, dynamic_spec.TensorSpec
ParamsSpec, ShapesSpec = dynamic_spec.ParamsSpec, dynamic_spec.ShapesSpec


def test_every_part_has_a_form() -> None:
    b, k = ShapeVar("b", min=2, max=128), IntVar("k", min=-3)
    spec = ShapesSpec(
        params=ParamsSpec(
            {
                "x": TensorSpec([b, None, 2 * b + 1, 7]),
                "cache": dynamic_spec.SeqSpec([dynamic_spec.SeqSpec([TensorSpec([b]), None]), TensorSpec([])]),
                "d": dynamic_spec.DictSpec({"a": TensorSpec([b * k]), 0: k}),
                "o": dynamic_spec.ObjectSpec({"weight": TensorSpec([b // 2])}),
                "n": k,
                "*args": [TensorSpec([b]), 4],
                "**kwargs": {"z": TensorSpec([b])},
            }
        ),
        assumptions=[b % 2 == 0, k < b],
    )
    assert shapes_json(spec) == {
        "vars": {"b": {"min": 2, "max": 128}, "k": {"min": -3, "max": None}},
        "params": {
            "x": ["b", None, "2*b + 1", 7],
            "cache": [[["b"], None], []],
            "d": {"a": ["b*k"], "0": "k"},
            "o": {"weight": ["(b//2)"]},
            "n": "k",
            "*args": [["b"], 4],
            "**kwargs": {"z": ["b"]},
        },
        "assumptions": ["Eq(Mod(b, 2), 0)", "b > k"],
    }


def test_variables_of_one_name_stay_apart() -> None:
    first, second = ShapeVar("n", max=9), ShapeVar("n")
    only_derived = ShapeVar("m", min=1)
    spec = {"x": TensorSpec([first]), "y": TensorSpec([second]), "z": TensorSpec([only_derived * 4])}
    assert shapes_json(spec) == {
        "vars": {"n": {"min": 0, "max": 9}, "n_2": {"min": 0, "max": None}, "m": {"min": 1, "max": None}},
        "params": {"x": ["n"], "y": ["n_2"], "z": ["4*m"]},
        "assumptions": [],
    }


def test_other_specs_are_told_apart() -> None:
    assert is_shapes_spec(ShapesSpec({"x": None})) and is_shapes_spec({"x": [TensorSpec([1])]})
    others: list[Any] = [None, {"x": {0: 3}}, [None], ({0: "AUTO"},)]
    assert not any(is_shapes_spec(other) for other in others)
    wrong: list[tuple[Any, str]] = [
        ({"x": "batch"}, "x: expected a TensorSpec"),
        ({"x": dynamic_spec.SeqSpec([True])}, r"x\[0\]: expected a TensorSpec"),
        (TensorSpec([1]), "expected a ShapesSpec, got TensorSpec"),
    ]
    for spec, message in wrong:
        with pytest.raises(SpecError, match=message):
            shapes_json(spec)


def test_the_exact_fix_of_a_dim_spec_is_an_object_that_is_proved() -> None:
    root = Path(__file__).resolve().parents[2]
    program = root / "examples/area.pt2"
    report = sizewise.check(program, json.loads((root / "examples/area.json").read_text()))
    (fix,) = [fix for fix in report.fixes if "vars" in fix.spec]
    assert fix.loses is False
    assert sizewise.check(program, fix.dynamic_shapes).ok
