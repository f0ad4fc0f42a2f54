"""Checks of files: what is reported, what is raised."""

import json
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sizewise
from sizewise import _errors, _native, testing


def test_a_spec_that_is_too_wide(area: Path, area_spec: Path) -> None:
    report = sizewise.check(area, area_spec)
    assert report.verdict == "violated" and not report.ok
    first = report.violations[0]
    assert first.expr == "p*q <= 999" and first.verdict == "violated" and first.kind == "guard"
    assert first.inputs is not None
    assert not sizewise.evaluate(area, first.inputs)
    assert report.fixes[0].proved
    assert str(report).splitlines()[1].startswith("3 nodes")
    assert repr(report).endswith("area.pt2: violated, 3 violations>")


def test_the_own_contract_holds(area: Path) -> None:
    report = sizewise.check(area)
    assert report.ok and report.violations == [] and report.unknowns == []
    assert report.guards == ["s17*s77 <= 999", "s17 >= s77"]
    report.raise_if_violated(unknown=True)
    assert [(v.name, v.dtype) for v in report.inputs] == [("x", "float32"), ("y", "float32")]
    assert [v.name for v in report.outputs] == ["add"]


def test_bytes_paths_and_texts_are_the_same(area: Path) -> None:
    reports = [sizewise.check(program).guards for program in (area, str(area), area.read_bytes())]
    assert reports[0] == reports[1] == reports[2]


def test_every_form(area: Path, area_spec: Path) -> None:
    report = sizewise.check(area, area_spec)
    data = json.loads(report.to_json())
    assert data == report.to_dict() and data["verdict"] == "violated"
    assert json.loads(report.to_sarif())["version"] == "2.1.0"
    assert report.to_html().lower().startswith("<!doctype html")
    assert report.to_github().startswith("::error")
    page = report._repr_html_()
    assert page.startswith("<details open>") and "http://" not in page.replace("http://www.w3.org", "")


def test_a_report_survives_pickling(area: Path, area_spec: Path) -> None:
    report = sizewise.check(
        area, {"x": [{"dim": "p", "min": 2, "max": 100}], "y": [{"dim": "q", "min": 2, "max": 100}]}
    )
    again = pickle.loads(pickle.dumps(report))
    assert str(again) == str(report) and again.violations == report.violations
    assert [fix.code for fix in again.fixes] == [fix.code for fix in report.fixes]
    assert again.to_html() == report.to_html()
    error = pickle.loads(pickle.dumps(sizewise.ShapeError("no", report)))
    assert error.report.verdict == "violated" and error.fix.text == report.fixes[0].text


def test_errors(area: Path, area_spec: Path, tmp_path: Path) -> None:
    with pytest.raises(sizewise.ShapeError, match="your spec allows shapes") as raised:
        sizewise.check(area, area_spec).raise_if_violated()
    assert raised.value.report is not None and raised.value.fix is not None and isinstance(raised.value, ValueError)
    with pytest.raises(sizewise.SpecError, match="the tensor has 1 dimension"):
        sizewise.check(area, {"x": [None, None]}).raise_if_violated()
    for program, message in [(b"", "empty"), (b"PK\3\4", "archive"), (tmp_path / "none.pt2", "No such file")]:
        with pytest.raises(sizewise.ProgramError, match=message):
            sizewise.check(program)
    for spec in [{"x": ["batch"]}, {"x": [object()]}, "/nowhere.json", {"x": [True]}]:
        with pytest.raises(sizewise.SpecError):
            sizewise.check(area, spec)
    with pytest.raises(sizewise.SpecError):
        sizewise.check(area, ops={"mine.toml": "not = ["})
    with pytest.raises(TypeError):
        sizewise.check(3)
    with pytest.raises(sizewise.SpecError):
        sizewise.explain(area, "nobody", 0)


def test_a_panic_is_an_internal_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(sizewise.InternalError, match="a bug in sizewise.*asked for"):
        _native.panics()
    assert capfd.readouterr() == ("", "")


def test_every_code_is_of_one_exception() -> None:
    kinds = {kind for kind in vars(_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    kinds.discard(sizewise.SizewiseError)
    assert set(_errors.CODES.values()) == kinds
    assert {kind.code for kind in kinds} == {
        "shape",
        "data",
        "spec",
        "program",
        "expression",
        "unsupported",
        "internal",
    }
    assert all(issubclass(kind, sizewise.SizewiseError) for kind in kinds)


def test_evaluate_explain_specs(area: Path) -> None:
    assert sizewise.evaluate(area, {"x": (3,), "y": [4]}).outputs == [[3]]
    refused = sizewise.evaluate(area, {"x": (5,), "y": [4]})
    assert not refused and refused.error == "guard failed: x.shape[0] <= y.shape[0]"
    explanation = sizewise.explain(area, "x", 0)
    assert "x.shape[0] is dynamic" in str(explanation) and explanation.data
    assert sizewise.spec_of(area).tree == {"x": ["AUTO"], "y": ["AUTO"]}
    widest = sizewise.widest_spec(area)
    assert widest.proved and sizewise.check(area, widest.tree).ok
    assert "dynamic_shapes = {\n    'x': [Dim.AUTO],\n    'y': [Dim.AUTO],\n}" in widest.code


class Sized:
    """Something with a shape."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def test_shape_checkers(area: Path) -> None:
    check = sizewise.shape_checker(area)
    check(Sized(3), Sized(4))
    for args in [(Sized(5), Sized(4)), (Sized(3),), (Sized(3), Sized(4, 1)), (Sized(3), 4), ()]:
        with pytest.raises(sizewise.ShapeError):
            check(*args)
        assert not check.accepts(*args)
    assert "def check(inputs)" in check.source() and "sizewise_check" in check.source("c")
    with pytest.raises(sizewise.SpecError):
        check.source("cobol")


def test_assert_shapes_ok(area: Path, area_spec: Path) -> None:
    testing.assert_shapes_ok(area)
    with pytest.raises(AssertionError, match=r"(?s)your spec allows.*Write instead:.*p = Dim\('p', min=2, max=12\)"):
        testing.assert_shapes_ok(area, area_spec)


def test_corners_are_allowed(area: Path) -> None:
    found = list(testing.corners(area))
    assert {"x": [2], "y": [100]} in found and len(found) > 5
    assert all(sizewise.evaluate(area, shapes) for shapes in found)


def test_drawn_shapes_are_allowed(area: Path) -> None:
    hypothesis = pytest.importorskip("hypothesis")
    seen = []

    @hypothesis.settings(max_examples=30, database=None, deadline=None)
    @hypothesis.given(testing.shapes(area))
    def drawn(shapes: dict[str, list[int]]) -> None:
        seen.append(shapes)
        assert sizewise.evaluate(area, shapes)

    drawn()
    assert len({str(shapes) for shapes in seen}) > 5


def test_threads_check_at_once(area: Path, area_spec: Path) -> None:
    verdicts: list[tuple[str, str]] = []

    def work() -> None:
        for _ in range(20):
            verdicts.append((sizewise.check(area).verdict, sizewise.check(area, area_spec).verdict))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [("ok", "violated")] * 160


def test_many_programs_in_order(area: Path) -> None:
    reports = list(sizewise.check_many([area, str(area), area.read_bytes()], jobs=2))
    assert [report.verdict for report in reports] == ["ok"] * 3


def test_memory_stays_flat(area: Path) -> None:
    data = area.read_bytes()

    def resident() -> int:
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * 4096

    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    for _ in range(60):
        str(sizewise.check(data))
    before = resident()
    for _ in range(150):
        str(sizewise.check(data))
    assert resident() < before + (8 << 20)


def test_the_program_runs_as_a_script(area: Path, area_spec: Path) -> None:
    command = [sys.executable, "-m", "sizewise._main", "check", str(area), "--format", "json"]
    done = subprocess.run([*command, "--spec", str(area_spec)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and json.loads(done.stdout)["verdict"] == "violated"
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    wrong = subprocess.run([sys.executable, "-m", "sizewise._main", "frobnicate"], capture_output=True, check=False)
    assert wrong.returncode == 2


def test_import_takes_no_torch_and_prints_nothing() -> None:
    code = "import sizewise, sys; sys.exit(any(m in sys.modules for m in ('torch', 'sympy', 'numpy', 'onnx')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_stub_says_what_the_module_has() -> None:
    import ast

    stub = ast.parse((Path(sizewise.__file__).parent / "_native.pyi").read_text())
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            said = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__new__"}
            has = {name for name in vars(getattr(_native, node.name)) if not name.startswith("__")}
            assert said == has, node.name
