"""Specs of torch.fx.experimental.dynamic_spec as the JSON of specs."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

dynamic_spec = pytest.importorskip("torch.fx.experimental.dynamic_spec", exc_type=ImportError)

import sizewise  # noqa: E402
from sizewise import SpecError  # noqa: E402
from sizewise._shapes import is_shapes_spec, shapes_json  # noqa: E402
from sizewise._spec import to_objects  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

import random_shapes  # noqa: E402
import specs_in_torch  # noqa: E402
import stripped  # noqa: E402

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
        ({"x": "batch"}, "x: unexpected leaf spec type str$"),
        ({"x": [ShapeVar("b")]}, "x: unexpected leaf spec type list; write TensorSpec"),
        (ShapesSpec({"x": [TensorSpec([1])]}), "x: unexpected leaf spec type list; .* SeqSpec"),
        (ShapesSpec({"x": {"a": TensorSpec([1])}}), "x: unexpected leaf spec type dict; write DictSpec"),
        ({"x": dynamic_spec.SeqSpec([(TensorSpec([1]),)])}, r"x\[0\]: unexpected leaf spec type tuple"),
        (ParamsSpec({"**kwargs": {"y": [1]}}), "y: unexpected leaf spec type list"),
        (TensorSpec([1]), "expected a ShapesSpec, got TensorSpec"),
    ]
    for spec, message in wrong:
        with pytest.raises(SpecError, match=message):
            shapes_json(spec)


def test_the_exact_fix_of_a_dim_spec_is_an_object_that_is_proved() -> None:
    program = ROOT / "examples/area.pt2"
    report = sizewise.check(program, json.loads((ROOT / "examples/area.json").read_text()))
    (fix,) = [fix for fix in report.fixes if "vars" in fix.spec]
    assert fix.loses is False
    assert sizewise.check(program, fix.dynamic_shapes).ok


#: Programs that torch cannot load: of classes and operators that are not known here, and one of sizes of no example.
_NOT_LOADED = {"pt_dataclass__plain", "cop_list__assume", "v_custom_guard__assume", "op_upsample_1d3d__assume"}


def answer(report: sizewise.Report) -> Any:
    found = [(condition.expr, condition.verdict) for condition in report.conditions]
    return report.verdict, found, [(fix.assumptions, fix.proved, fix.loses) for fix in report.fixes]


@pytest.mark.filterwarnings("ignore")
def test_objects_and_text_give_the_same_verdicts(tmp_path: Path) -> None:
    """Also for the programs as objects, and for the specs that the fixes are."""
    verdicts = []
    file = tmp_path / "spec.py"
    with gzip.open(ROOT / "tests/data/shapes/runs.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    for record in records:
        program = ROOT / f"tests/data/shapes/{record['name']}.pt2"
        text = f"from torch.fx.experimental.dynamic_spec import *\n{record['spec']}"
        space: dict[str, Any] = {}
        exec(text, space)
        file.write_text(text)
        of_text = sizewise.check(program, str(file))
        of_objects = sizewise.check(program, space["dynamic_shapes"])
        assert answer(of_objects) == answer(of_text), record["name"]
        if record["name"] not in _NOT_LOADED:
            of_live = sizewise.check(stripped.loaded(program), space["dynamic_shapes"])
            assert answer(of_live) == answer(of_text), record["name"]
            verdicts.append(of_text.verdict)
        for fix in of_text.fixes:
            file.write_text(fix.code)
            assert sizewise.check(program, fix.dynamic_shapes).verdict == sizewise.check(program, str(file)).verdict
    assert len(verdicts) >= 100 and {"ok", "violated"} <= set(verdicts)


def varargs(self: Any, x: Any, *args: Any, z: Any) -> Any:
    return x + args[0], args[1] * z


def test_what_varargs_take_is_written_as_torch_takes_it() -> None:
    import torch

    module = type("Model", (torch.nn.Module,), {"forward": varargs})()
    n, m = ShapeVar("n", min=1), ShapeVar("m", min=1)
    spec = {"x": TensorSpec([n]), "*args": [TensorSpec([n]), TensorSpec([m])], "z": TensorSpec([m])}
    example = torch.ones(3), torch.ones(3), torch.ones(4)
    loose = {**spec, "z": TensorSpec([ShapeVar("k", min=2)])}
    for params, verdict in ((spec, "ok"), (loose, "violated")):
        shapes = ShapesSpec(params)
        program = torch.export.export(module, example, {"z": torch.ones(4)}, dynamic_shapes=shapes)
        report = sizewise.check(program, shapes)
        assert report.verdict == verdict
        for written in (sizewise.spec_of(program), sizewise.widest_spec(program), *report.fixes):
            again = torch.export.export(module, example, {"z": torch.ones(4)}, dynamic_shapes=written.dynamic_shapes)
            assert sizewise.check(again).ok and "*args" in written.code


def test_what_the_trace_takes_for_equal_is_equal_in_a_live_program() -> None:
    """Its environment replaces one size by the other, as the archive does; the comparison is recorded as true."""
    import torch

    module = type("Model", (torch.nn.Module,), {"forward": lambda self, x, y: x + y})()
    shapes = ShapesSpec({"x": TensorSpec([ShapeVar("n")]), "y": TensorSpec([ShapeVar("m")])})
    program = torch.export.export(module, (torch.ones(3), torch.ones(3)), dynamic_shapes=shapes)
    saved = io.BytesIO()
    torch.export.save(program, saved)
    for source in (program, saved.getvalue(), torch.export.load(io.BytesIO(saved.getvalue()))):
        assert sizewise.check(source).ok
        assert sizewise.check(source, shapes).fixes[0].assumptions == ["m == n"]


@pytest.mark.filterwarnings("ignore")
def test_what_an_assertion_says_of_a_polynomial_is_assumed_in_a_live_program() -> None:
    import torch

    class Both(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + 1, y * 2

    # torch records the second size of `x` as n**2 + 6*n + 9, and the assertion of it as true.
    n, b = ShapeVar("n", min=0, max=6), ShapeVar("b", min=0, max=12)
    spec = ShapesSpec({"x": TensorSpec([n, b * b]), "y": TensorSpec([b])}, assumptions=[b == n + 3])
    program = torch.export.export(Both(), (torch.ones(2, 25), torch.ones(5)), dynamic_shapes=spec)
    archive = io.BytesIO()
    torch.export.save(program, archive)
    assert [sizewise.check(each).verdict for each in (program, archive.getvalue())] == ["ok", "ok"]


def test_a_size_whose_range_is_one_number_is_that_number_in_a_live_program() -> None:
    """Else the number of parts of a split is open, and nothing is proved."""
    import torch

    forward = lambda self, x, y: (y.split(4, 0)[0], x.index_select(0, torch.arange(y.shape[0])))  # noqa: E731
    module = type("Model", (torch.nn.Module,), {"forward": forward})()
    shapes = ShapesSpec({"x": TensorSpec([ShapeVar("n")]), "y": TensorSpec([ShapeVar("m", min=2, max=2)])})
    program = torch.export.export(module, (torch.ones(3), torch.ones(2)), dynamic_shapes=shapes)
    saved = io.BytesIO()
    torch.export.save(program, saved)
    for source in (program, saved.getvalue(), torch.export.load(io.BytesIO(saved.getvalue()))):
        assert sizewise.check(source, shapes).fixes[0].assumptions == ["n >= 2"]
        assert "min=2)" in sizewise.widest_spec(source).code


@pytest.mark.filterwarnings("ignore")
def test_random_specs_of_random_modules_agree_with_torch() -> None:
    """More with ``tests/random_shapes.py --count``."""
    exported = 0
    for seed in itertools.count(2026):
        trial, _ = random_shapes.tried(seed)
        if trial is not None:
            assert trial.wrong == [], (seed, trial.said)
            exported += 1
        if exported == 20:
            break


@pytest.mark.filterwarnings("ignore")
def test_torch_takes_what_is_printed(tmp_path: Path) -> None:
    """Of some programs; of all with ``tests/specs_in_torch.py``."""
    command = specs_in_torch.Sizewise(Path(sys.executable).with_name("sizewise"), tmp_path)
    tally = specs_in_torch.Tally()
    for path in (ROOT / "tests/data/programs").glob("ar_*.pt2"):
        own = specs_in_torch.recorded(command, path)
        specs_in_torch.execute(command, tally, path.stem, path, [specs_in_torch.widened(own, 0, None, [0])])
    for case in list(specs_in_torch.reexport.modules(str(tmp_path)))[:4]:
        specs_in_torch.reexported(command, tally, case)
    assert tally.wrong == []
    assert tally.counts["run fix"] and tally.counts["export fix"] and tally.counts["export spec widen"]


def test_expressions_that_torch_has_no_operator_for_are_errors() -> None:
    head = "from torch.fx.experimental.dynamic_spec import ShapeVar\nb = ShapeVar('b')\ndynamic_shapes = "
    several = ("b if b else b", "b and b", "1 < b < 3")
    for text in ("not b", "+b", "b / 2", "b << 1", "b @ b", "b in b", "b is b", *several):
        with pytest.raises(SpecError, match="stands for no dimension"):
            to_objects(head + text)
    for text in ("not b", "-(b // 2)", "b // 2", "b % 2", "b ** 2"):
        with pytest.raises(SpecError, match="stands for no dimension"):
            to_objects(f"b = Dim('b')\ndynamic_shapes = {text}")
