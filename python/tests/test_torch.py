"""Against torch itself: live programs, specs as objects, exports."""

import dataclasses
import io
import json
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn, randn
from torch.export import Dim

import sizewise
from sizewise import _program_json, _walk, testing

from programs import WRONG, module  # isort: skip

pytestmark = pytest.mark.torch


def known(value: Any, key: str = "") -> Any:
    """A document without what this package does not write: nulls, where nodes came from, the order of terms."""
    if isinstance(value, dict):
        return {key: known(item, key) for key, item in value.items() if item is not None and key != "from_node"}
    if key == "expr_str":
        env = sizewise._native.Env()
        return env.text(env.read(value))
    return [known(item) for item in value] if isinstance(value, list) else value


class Everything(nn.Module):
    """Operators with arguments and results of many kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(6, 5, batch_first=True)
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("hidden", torch.ones(5), persistent=False)

    def forward(self, x: Any, pair: Any, scale: float, *, options: Any) -> Any:
        y, (h, c) = self.layer(x)
        self.seen.add_(1)
        a, b = pair
        n = x.shape[0]
        first = torch.cond(x.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (y,))
        picked = a[torch.zeros(n, dtype=torch.long)]
        chosen = (a > 0).nonzero()
        many = torch.split(y, 1, dim=1)
        values, indices = y.max(dim=-1)
        empty = x.new_zeros(n, 0)
        grid = x.reshape(n, -1, 2).to(torch.float64, memory_format=torch.contiguous_format)
        size = torch.tensor(n * 2)
        return {
            "first": first * self.hidden,
            "rest": [picked + b, chosen, many[0] + many[1], values, indices, empty, grid, size],
            "n": n * 2 + x.shape[1] // 2,
            "text": options["mode"],
            "scaled": x * scale,
        }


def everything() -> Any:
    args = (randn(4, 6, 6), (randn(3, 5), randn(4, 5)), 0.5)
    shapes = {
        "x": {0: Dim("n", max=64), 1: Dim.AUTO},
        "pair": ({0: Dim.AUTO}, {0: Dim.AUTO}),
        "scale": None,
        "options": {"mode": None},
    }
    shapes["pair"][1][0] = shapes["x"][0]
    return torch.export.export(Everything(), args, {"options": {"mode": "fast"}}, dynamic_shapes=shapes)


@pytest.mark.parametrize("decomposed", [False, True])
def test_the_walk_writes_what_torch_writes(decomposed: bool) -> None:
    program = everything()
    if decomposed:
        program = program.run_decompositions()
    walked, serialized = _walk.Walk().program(program), _program_json.serialized_by_torch(program)
    assert known(json.loads(walked)) == known(json.loads(serialized))


def test_a_live_program_is_checked_as_its_archive(tmp_path: Any) -> None:
    program = everything()
    torch.export.save(program, tmp_path / "program.pt2")
    live, saved = sizewise.check(program).to_dict(), sizewise.check(tmp_path / "program.pt2").to_dict()
    for part in ("program", "timings"):
        del live[part], saved[part]
    assert live == saved


class Inner(nn.Module):
    """A module that does not serve empty inputs."""

    def forward(self, x: Any) -> Any:
        return x.amax(0)


class Outer(nn.Module):
    """A module with that one in it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Any) -> Any:
        return self.inner(x)


def test_conditions_name_the_users_code() -> None:
    program = torch.export.export(Outer(), (randn(4, 3),), dynamic_shapes=({0: Dim.AUTO},))
    broken = sizewise.check(program, ({0: Dim("a", min=0)},)).violations[0]
    assert (broken.expr, broken.clause, broken.op) == ("a >= 1", "amax.C2", "aten.amax.default")
    assert broken.file is not None and broken.file.endswith("test_torch.py")
    assert broken.source == "return x.amax(0)" and broken.line
    assert broken.module == "inner" and broken.stack[0].line == broken.line
    assert broken.inputs == {"x": [0, 3]}


@dataclasses.dataclass
class Pair:
    """An input that is a registered dataclass."""

    left: Any
    right: Any


torch.export.register_dataclass(Pair)


@pytest.mark.parametrize(
    ("forward", "args", "shapes", "changed"),
    [
        (lambda self, x, y: x + y, (randn(4), randn(4)), ({0: Dim("a")}, {0: Dim("b")}), list),
        (lambda self, x, y: x + y, (randn(4), randn(4)), {"x": [Dim("a")], "y": (Dim("b"),)}, dict),
        (
            lambda self, p: p["l"] + p["r"],
            ({"l": randn(4), "r": randn(4)},),
            [{"l": {0: Dim("a")}, "r": {0: Dim("b")}}],
            list,
        ),
        (lambda self, p: p.left + p.right, (Pair(randn(4), randn(4)),), ([{0: Dim("a")}, {0: Dim("b")}],), list),
    ],
)
def test_fixes_are_specs_of_the_same_form(forward: Any, args: Any, shapes: Any, changed: type) -> None:
    auto = torch.utils._pytree.tree_map(lambda _: Dim.AUTO, shapes)
    program = torch.export.export(module(forward), args, dynamic_shapes=auto)
    report = sizewise.check(program, shapes)
    assert report.verdict == "violated" and report.fixes[0].proved
    fixed = report.fixes[0].dynamic_shapes
    assert isinstance(fixed, changed)
    again = torch.export.export(module(forward), args, dynamic_shapes=fixed)
    assert sizewise.check(again, fixed).ok
    space: dict[str, Any] = {"Dim": Dim, "Pair": Pair}
    exec(report.fixes[0].code, space)
    assert sizewise.check(again, space["dynamic_shapes"]).ok
    assert pickle.loads(pickle.dumps(report)).fixes[0].code == report.fixes[0].code


def test_derived_dimensions_and_hints_are_read() -> None:
    from sizewise._spec import to_json, to_objects

    batch = Dim("batch", min=2, max=64)
    shapes = {"x": {0: 2 * batch + 1, 1: 3}, "y": [batch, Dim.AUTO(min=2), Dim.STATIC], "z": None}
    tree = json.loads(to_json(shapes))
    assert tree["x"] == {"0": {"derived": "2*batch + 1", "root": {"dim": "batch", "min": 2, "max": 64}}, "1": 3}
    assert tree["y"][1] == {"hint": "AUTO", "min": 2, "max": None}
    code = (
        "from torch.export import Dim\n\n"
        "batch = Dim('batch', min=2, max=64)\n\n"
        "dynamic_shapes = {'x': {0: 2*batch + 1, 1: 3}, 'y': [batch, Dim.AUTO(min=2), Dim.STATIC], 'z': None}"
    )
    assert json.loads(to_json(to_objects(code))) == tree
    with pytest.raises(sizewise.SpecError, match="of several dimensions"):
        to_objects("p = Dim('p')\nq = Dim('q')\ndynamic_shapes = {'x': [p + q]}")
    with pytest.raises(sizewise.SpecError, match="stands for no dimension"):
        to_objects("dynamic_shapes = [lambda: 1]")


@pytest.mark.parametrize(("model", "args", "kwargs", "shapes"), [pytest.param(*rest, id=name) for name, *rest in WRONG])
def test_wrong_specs_are_fixed(model: Any, args: Any, kwargs: Any, shapes: Any) -> None:
    program, report = sizewise.export(model.eval(), args, kwargs, dynamic_shapes=shapes, fix=True)
    assert report.ok
    runs = program.module()
    leaves, structure = torch.utils._pytree.tree_flatten((args, kwargs or {}))
    names = [name for name, *_ in sizewise._check.read(program).inputs()]
    for sizes in testing.corners(program, limit=12):
        drawn = [randn(sizes[name]) if name in sizes else leaf for name, leaf in zip(names, leaves)]
        if any(leaf.numel() == 0 or leaf.numel() > 1 << 22 for leaf in drawn):
            continue
        given, by_name = torch.utils._pytree.tree_unflatten(drawn, structure)
        runs(*given, **by_name)


def test_an_export_that_is_not_fixed_says_what_to_write() -> None:
    _, model, args, kwargs, shapes = WRONG[4]
    with pytest.raises(sizewise.ShapeError, match=r"Write instead:\n\n    from torch.export import Dim\n\n    b = Dim\('b', min=1, max=512\)") as raised:
        sizewise.export(model, args, kwargs, dynamic_shapes=shapes)
    assert raised.value.__cause__ is not None and raised.value.fix is not None


def test_a_right_spec_is_exported_as_it_is() -> None:
    batch = Dim("batch", max=64)
    program, report = sizewise.export(nn.Linear(4, 2), (randn(3, 4),), dynamic_shapes=({0: batch},))
    assert report.ok and [value.shape for value in report.outputs] == [["batch", 2]]
    testing.assert_shapes_ok(program, ({0: batch},))


def test_collections_of_shapes_are_taken() -> None:
    x, y = randn(4, 3), randn(4, 3)
    collection = torch.export.ShapesCollection()
    collection[x] = (Dim("a", min=1), None)
    collection[y] = (Dim("b", min=1), None)
    with pytest.raises(sizewise.ShapeError):
        sizewise.export(module(lambda self, x, y: x + y), (x, y), dynamic_shapes=collection)
    more = torch.export.AdditionalInputs()
    more.add((x, y))
    more.add((randn(5, 3), randn(5, 3)))
    program, report = sizewise.export(module(lambda self, x, y: x + y), (x, y), dynamic_shapes=more)
    assert report.ok and len(program.range_constraints) == 1


def test_threads_check_live_programs() -> None:
    from concurrent.futures import ThreadPoolExecutor

    program = everything()
    with ThreadPoolExecutor(8) as threads:
        verdicts = list(threads.map(lambda _: sizewise.check(program).verdict, range(32)))
    assert set(verdicts) == {sizewise.check(program).verdict}


def test_errors_that_are_not_about_shapes_stay_torchs() -> None:
    with pytest.raises(ZeroDivisionError):
        sizewise.export(module(lambda self, x: x / (1 // 0)), (randn(3),), dynamic_shapes=({0: Dim("b")},))


def test_a_shape_checker_says_what_the_module_says() -> None:
    program = everything()
    runs, check = program.module(), sizewise.shape_checker(program)

    def inputs(n: int, t: int, rows: int, width: int, m: int) -> tuple[Any, Any]:
        args = (randn(n, t, width), (randn(rows, 5), randn(m, 5)), 0.5)
        return args, {"options": {"mode": "fast"}}

    for case in [
        (4, 6, 3, 6, 4),
        (64, 4, 9, 6, 64),
        (65, 4, 9, 6, 65),
        (4, 6, 3, 7, 4),
        (4, 6, 3, 6, 5),
        (2, 3, 3, 6, 2),
    ]:
        args, kwargs = inputs(*case)
        try:
            runs(*args, **kwargs)
            served = True
        except Exception:
            served = False
        assert check.accepts(*args, **kwargs) == served, case


def test_inputs_for_hypothesis_run() -> None:
    hypothesis = pytest.importorskip("hypothesis")
    program, _ = sizewise.export(
        module(lambda self, x, y: x @ y),
        (randn(4, 5), randn(5, 6)),
        dynamic_shapes=({0: Dim("a", max=32), 1: Dim("k", max=32)}, {0: Dim("k", max=32)}),
    )
    runs = program.module()

    @hypothesis.settings(max_examples=15, database=None, deadline=None)
    @hypothesis.given(testing.inputs(program))
    def drawn(inputs: Any) -> None:
        args, kwargs = inputs
        assert runs(*args, **kwargs).shape == (args[0].shape[0], 6)

    drawn()


def test_a_program_that_was_loaded_has_the_sizes_of_its_archive() -> None:
    """Torch takes what a program asserts for given when it loads it; the module does not."""

    def sums(self: Any, x: Any, y: Any, z: Any) -> Any:
        return torch.cat([x, y]) + z

    dims = ({0: Dim("a", min=2)}, {0: Dim("b", min=2)}, {0: Dim("c", min=4)})
    program = torch.export.export(
        module(sums),
        (randn(3), randn(4), randn(7)),
        dynamic_shapes=dims,
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    file = io.BytesIO()
    torch.export.save(program, file)
    archive = file.getvalue()
    loaded = torch.export.load(io.BytesIO(archive))
    reports = [sizewise.check(given) for given in (archive, program, loaded)]
    assert [report.verdict for report in reports] == ["violated"] * 3
    assert len({str([v.inputs for v in report.violations]) for report in reports}) == 1
    broken = reports[2].violations[0].inputs
    assert broken is not None
    with pytest.raises(Exception, match="Runtime assertion failed"):
        loaded.module()(*(randn(broken[name]) for name in "xyz"))


class Truths(nn.Module):
    """Returns a truth value of sizes, which torch cannot save."""

    def forward(self, x: Any) -> Any:
        return x * 2, x.shape[0] > 5


def test_a_program_that_torch_cannot_save_is_checked_or_refused() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    program = torch.export.export(Truths(), (randn(4),), dynamic_shapes=({0: Dim.AUTO},))
    assert sizewise.check(program).ok
    assert sizewise.evaluate(program, {"x": (9,)}).outputs == [[9], None]
    attend = module(lambda self, q: flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + (i - j)))
    program = torch.export.export(attend, (randn(2, 2, 16, 16),), dynamic_shapes=({0: Dim.AUTO},))
    with pytest.raises(sizewise.Unsupported, match="cannot save this program") as raised:
        sizewise.check(program)
    assert len(str(raised.value)) < 600


class Padded(nn.Module):
    """A module of which torch's printer of fixes makes a `Dim` that it refuses itself."""

    def forward(self, x: Any) -> Any:
        y = nn.functional.pad(x, (0, (64 - x.shape[0] % 64) % 64))
        return y.view(-1, 8).mean(1), y[: x.shape[0]]


def test_assertions_within_torch_are_failures_of_the_export() -> None:
    program, report = sizewise.export(Padded(), (randn(80),), dynamic_shapes=({0: Dim("w", min=64, max=128)},))
    assert report.ok or report.violations
    assert program.module()(randn(80))[1].shape == (80,)

    def fails(self: Any, x: Any) -> Any:
        assert x.shape[0] == 5, "five are expected"
        return x

    with pytest.raises(AssertionError, match="five are expected"):
        sizewise.export(module(fails), (randn(80),), dynamic_shapes=({0: Dim("w", min=64, max=128)},))


def test_exceptions_are_known_by_the_names_that_are_imported() -> None:
    for name in ("SizewiseError", "ShapeError", "SpecError", "ProgramError", "Unsupported"):
        kind = getattr(sizewise, name)
        assert kind.__module__ == "sizewise" and issubclass(kind, sizewise.SizewiseError)
        assert type(pickle.loads(pickle.dumps(kind("text")))) is kind
