"""ONNX models: messages, paths, bytes."""

from pathlib import Path
from typing import Any

import pytest

import sizewise
from sizewise import _native

#: Adds what need not fit, and declares an output that is not what comes out.
TEXT = b"""<ir_version: 8, opset_import: ["" : 18]>
adds (float[batch, 3] x, float[other, 3] y) => (float[batch, 3] z) {
    z = Add (x, y)
}"""

#: The same with one name.
RIGHT = TEXT.replace(b"other", b"batch")


def proto(text: bytes) -> Any:
    """The message of a text."""
    onnx = pytest.importorskip("onnx")
    return onnx.parser.parse_model(text.decode())


def test_a_model_that_declares_too_much() -> None:
    report = sizewise.check(TEXT)
    assert report.verdict == "violated" and not report.ok
    (first,) = report.violations
    assert first.op == "Add" and first.kind == "precondition" and first.clause
    assert first.message.startswith("the model declares shapes that break")
    assert first.inputs is not None and set(first.inputs) == {"x", "y"}
    assert not sizewise.evaluate(TEXT, first.inputs)
    assert report.guards == ["Eq(batch, other) | Eq(other, 1)"]
    # The error has all ways to broadcast, the guards those of the example.
    assert first.expr == "batch == 1 or batch == other or other == 1"
    (fix,) = report.fixes
    assert fix.proved and fix.text == "declare y.shape[0] as batch"
    assert str(report).startswith("program: ") and "ONNX, opset" in str(report)
    assert "the model declares shapes that break" in str(report)
    assert "Add" in report.to_html() and report.to_dict()["mismatches"] is not None
    with pytest.raises(sizewise.ShapeError, match="the model declares shapes that break"):
        report.raise_if_violated()


def test_a_model_that_declares_what_it_needs() -> None:
    report = sizewise.check(RIGHT)
    assert report.ok and report.violations == []
    assert [(v.name, v.dtype, v.shape) for v in report.inputs] == [
        ("x", "float32", ["batch", 3]),
        ("y", "float32", ["batch", 3]),
    ]
    assert [(v.name, v.shape) for v in report.outputs] == [("z", ["batch", 3])]


@pytest.mark.parametrize("text", [TEXT, RIGHT])
def test_messages_bytes_and_paths_are_the_same(text: bytes, tmp_path: Path) -> None:
    message = proto(text)
    path = tmp_path / "model.onnx"
    path.write_bytes(message.SerializeToString())
    reports = [sizewise.check(model) for model in (text, message, path.read_bytes(), path, str(path))]
    assert len({str([v.inputs for v in report.violations]) for report in reports}) == 1
    assert len({report.verdict for report in reports}) == 1
    assert repr(reports[1]).startswith("<sizewise.Report adds.onnx: ")


def test_evaluation_is_what_happens_in_onnxruntime() -> None:
    assert sizewise.evaluate(TEXT, {"x": (4, 3), "y": (4, 3)}).outputs == [[4, 3]]
    # Broadcasting is no error, and equal names are not enforced.
    assert sizewise.evaluate(RIGHT, {"x": (4, 3), "y": (1, 3)}).outputs == [[4, 3]]
    refused = sizewise.evaluate(TEXT, {"x": (4, 3), "y": (5, 3)})
    assert not refused and refused.error and refused.expr
    assert not sizewise.evaluate(TEXT, {"x": (4, 2), "y": (4, 2)})
    with pytest.raises(sizewise.SpecError, match="no input is named `w`"):
        sizewise.evaluate(TEXT, {"w": (4, 3)})


def test_evaluation_names_what_data_decide() -> None:
    rows = b"""<ir_version: 8, opset_import: ["" : 18]>
    rows (float[n] s, int64 steps, float[m] b) => (float[1, c] y, float[k] z) {
        zero = Constant <value_ints = [0]> ()
        i = NonZero (s)
        y = Gather (b, i)
        k = Unsqueeze (steps, zero)
        z = Slice (b, zero, k)
    }"""
    found = sizewise.evaluate(rows, {"s": (5000,), "steps": 3, "b": (7,)})
    assert found.outputs == [[1, 5000], [3]]
    assert found.runtime_asserts == ["every index in `i` lies within a dimension of size 7, at y"]
    assert sizewise.evaluate(rows, {"s": (5,), "steps": 3, "b": (7,)}).runtime_asserts == []


def test_the_runtime_agrees() -> None:
    runtime = pytest.importorskip("onnxruntime")
    import numpy

    session = runtime.InferenceSession(proto(TEXT).SerializeToString(), providers=["CPUExecutionProvider"])
    for shapes in [{"x": (4, 3), "y": (4, 3)}, {"x": (4, 3), "y": (1, 3)}, {"x": (4, 3), "y": (5, 3)}]:
        try:
            session.run(None, {name: numpy.zeros(shape, "float32") for name, shape in shapes.items()})
            runs = True
        except Exception:
            runs = False
        assert bool(sizewise.evaluate(TEXT, shapes)) == runs, shapes


def test_explanations_and_specs() -> None:
    assert sizewise.spec_of(RIGHT).tree == {
        "x": [{"dim": "batch", "min": 1, "max": None}, None],
        "y": [{"dim": "batch", "min": 1, "max": None}, None],
    }
    static = sizewise.explain(TEXT, "x", 1)
    assert str(static).splitlines()[0] == "x.shape[1] is static: 3"
    dynamic = sizewise.explain(TEXT, "y", 0)
    assert str(dynamic).startswith("y.shape[0] is dynamic: other") and dynamic.data["restrictions"][0]["op"] == "Add"
    for name, dim in [("x", 2), ("w", 0)]:
        with pytest.raises(sizewise.SpecError, match="no input has the dimension"):
            sizewise.explain(TEXT, name, dim)


def test_a_spec_for_a_model(tmp_path: Path) -> None:
    equal = tmp_path / "spec.json"
    equal.write_text('{"x": [{"dim": "b"}, null], "y": [{"dim": "b"}, null]}')
    assert sizewise.check(TEXT, str(equal)).ok
    assert sizewise.check(TEXT, {"x": [5, None], "y": [5, None]}).ok
    refused = sizewise.check(TEXT, {"x": ["AUTO", "DYNAMIC"], "y": [1, None]})
    assert [violation.expr for violation in refused.violations] == ["x.shape[1] == 3"]


def test_a_spec_with_a_sum(tmp_path: Path) -> None:
    joined = b"""<ir_version: 8, opset_import: ["" : 18]>
    g (float[p, 2] a, float[q, 2] b, float[t, 2] c) => (z) { j = Concat <axis = 0> (a, b) z = Add (j, c) }"""
    roots = [{"dim": name, "min": 1, "max": 9} for name in "pq"]
    tree = {"a": [roots[0], None], "b": [roots[1], None], "c": [{"derived": "p + q", "roots": roots}, None]}
    assert sizewise.check(joined, tree).ok
    python = tmp_path / "spec.py"
    python.write_text("p, q = dims('p', 'q', max=9)\nspec = p + q\n{'a': [p, None], 'b': [q, None], 'c': [spec, None]}")
    assert sizewise.check(joined, python).ok


def test_the_widest_spec_and_a_checker() -> None:
    widest = sizewise.widest_spec(TEXT)
    assert widest.tree["y"][0]["dim"] == widest.tree["x"][0]["dim"] == "batch"
    names: dict[str, Any] = {}
    exec(_native.Program("model.onnx", TEXT).guards("python"), names)
    assert names["check"]({"x": [4, 3], "y": [4, 3]}) is None
    assert "does not hold" in names["check"]({"x": [4, 3], "y": [5, 3]})


def test_what_is_refused(tmp_path: Path) -> None:
    assert sizewise.check(TEXT, {"w": [None, None]}).verdict == "invalid"
    unranked = b'<ir_version: 8, opset_import: ["" : 18]> g (float[] x) => (z) { z = Neg(x) }'
    with pytest.raises(sizewise.Unsupported, match="does not say how many dimensions x has"):
        sizewise.shape_checker(unranked)
    with pytest.raises(sizewise.Unsupported, match="is not supported for an ONNX model"):
        _native.Program("model.onnx", TEXT).inputs()
    damaged = tmp_path / "model.onnx"
    damaged.write_bytes(b"nothing of the kind")
    with pytest.raises(sizewise.ProgramError):
        sizewise.check(damaged)
    with pytest.raises(sizewise.ProgramError, match="No such file"):
        sizewise.check(tmp_path / "none.onnx")


def test_a_report_on_a_model_survives_pickling() -> None:
    import pickle

    report = sizewise.check(TEXT)
    again = pickle.loads(pickle.dumps(report))
    assert str(again) == str(report) and again.violations == report.violations and again.to_html() == report.to_html()


def test_what_torch_exports_is_taken() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.onnx.export(
        torch.nn.Linear(4, 2).eval(), (torch.randn(3, 4),), dynamic_shapes=({0: batch},), dynamo=True, verbose=False
    )
    report = sizewise.check(program)
    assert report.ok and [value.shape for value in report.outputs] == [["batch", 2]]
    assert report.verdict == sizewise.check(program.model_proto).verdict


class Tensor:
    """What has a shape, as tensors of any library have."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def test_a_checker_before_a_model() -> None:
    import pickle

    check = sizewise.shape_checker(TEXT)
    for checker in (check, pickle.loads(pickle.dumps(check))):
        checker({"x": Tensor(4, 3), "y": Tensor(4, 3)})
        checker(Tensor(4, 3), y=Tensor(1, 3))
        for args, kwargs, message in (
            (({"x": Tensor(4, 3)},), {}, "y is missing"),
            ((Tensor(4, 3), Tensor(5, 3)), {}, "does not hold"),
            ((Tensor(4, 3), Tensor(4, 2)), {}, r"y.shape\[1\] has to be 3"),
            ((Tensor(4, 3), [4, 3]), {}, "y: expected a tensor, got list"),
            ((Tensor(4, 3), Tensor(4)), {}, "y has to have 2 dimensions, of integers"),
            ((Tensor(4, 3), Tensor(4, 3), 3), {}, "expected at most 2 inputs"),
            ((Tensor(4, 3),), {"x": Tensor(4, 3)}, "x is given twice"),
            ((Tensor(4, 3), Tensor(4, 3)), {"w": Tensor(1)}, "w is no input of the model"),
        ):
            with pytest.raises(sizewise.ShapeError, match=message):
                checker(*args, **kwargs)
            assert not checker.accepts(*args, **kwargs)
        assert "def check(inputs)" in checker.source() and "sizewise_check" in checker.source("c")


def test_a_violation_with_values_says_so() -> None:
    branch = b"""<ir_version: 8, opset_import: ["" : 18]>
    g (bool c, float[a] x, float[b] y) => (z) {
        z = If(c) <then_branch = t () => (p) { p = Add(x, y) }, else_branch = e () => (q) { q = Identity(x) }>
    }"""
    (first,) = sizewise.check(branch).violations
    assert first.values == {"c": True, "x": 0.5, "y": 0.5} and first.works is not None
    assert first.works_values is not None
    (plain,) = sizewise.check(TEXT).violations
    assert plain.values is None and plain.works is not None


def test_the_declarations_of_a_fix_make_a_model_that_is_right() -> None:
    (fix,) = sizewise.check(TEXT).fixes
    assert fix.declarations == [{"input": "y", "dim": 0, "size": "batch"}] and fix.spec is None
    assert sizewise.check(fix.declared(TEXT)).ok


#: Reshapes by the elements of an input.
PICKS = b"""<ir_version: 8, opset_import: ["" : 18]>
picks (float[n, 4] x, int64[2] s) => (float[a, b] z) {
    z = Reshape (x, s)
}"""


@pytest.mark.parametrize(
    ("values", "outputs", "error"),
    [
        ({"s": [3, 8]}, [[3, 8]], None),
        ({"s": ((8, 3),)}, [[8, 3]], None),
        ({"s": [5, 5]}, None, "Reshape"),
        (None, None, "Reshape"),
    ],
)
def test_elements_of_inputs(values: Any, outputs: Any, error: str | None) -> None:
    found = sizewise.evaluate(PICKS, {"x": (6, 4), "s": (2,)}, values=values)
    assert found.outputs == outputs and (error is None or error in (found.error or ""))


def test_elements_are_as_many_as_sizes_say() -> None:
    numpy = pytest.importorskip("numpy")
    assert sizewise.evaluate(PICKS, {"x": (6, 4), "s": (2,)}, values={"s": numpy.array([24, 1])}).outputs == [[24, 1]]
    with pytest.raises(sizewise.SpecError, match="3 values are given for `s`"):
        sizewise.evaluate(PICKS, {"x": (6, 4), "s": (2,)}, values={"s": [6, 2, 2]})
    with pytest.raises(sizewise.SpecError, match="values"):
        sizewise.evaluate(Path(__file__).parents[2] / "examples/thirds.pt2", {}, values={"x": 1})


@pytest.mark.parametrize(
    "ask",
    [
        lambda ops: sizewise.check(TEXT, ops=ops),
        lambda ops: sizewise.evaluate(TEXT, {"x": (4, 3), "y": (4, 3)}, ops=ops),
        lambda ops: sizewise.explain(TEXT, "x", 0, ops=ops),
        lambda ops: sizewise.widest_spec(TEXT, ops=ops),
        lambda ops: sizewise.shape_checker(TEXT, ops=ops),
    ],
)
def test_operators_are_not_declared_for_models(ask: Any) -> None:
    ops = {"ops.toml": """[[operator]]
schema = "shop::sell(Tensor x) -> Tensor"
returns = [{ shape = ["*x.shape"], dtype = "x.dtype" }]
"""}
    with pytest.raises(sizewise.Unsupported, match="is not supported for an ONNX model"):
        ask(ops)


def test_the_name_of_a_file_does_not_say_what_it_is(tmp_path: Path) -> None:
    archive, model = tmp_path / "program.onnx", tmp_path / "model.pt2"
    archive.write_bytes((Path(__file__).parents[2] / "examples/thirds.pt2").read_bytes())
    model.write_bytes(TEXT)
    assert sizewise.check(archive).ok and sizewise.check(model).verdict == "violated"
