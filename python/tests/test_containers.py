"""Specs and checkers of programs whose arguments are containers."""

from __future__ import annotations

import dataclasses
import io
import json
import logging
from collections import OrderedDict
from typing import Any, NamedTuple

import pytest

import sizewise

torch = pytest.importorskip("torch", exc_type=ImportError)

import torch.utils._pytree as pytree  # noqa: E402
from programs import branch, halves, module  # noqa: E402
from torch import randn  # noqa: E402
from torch.export import Dim  # noqa: E402


@dataclasses.dataclass
class Pair:
    """A dataclass whose fields are not in the order of the alphabet."""

    b: Any
    a: Any


torch.export.register_dataclass(Pair, serialized_type_name="test_containers.Pair")


def uses(self: Any, past: Any, pair: Any, d: Any, items: Any, ordered: Any) -> Any:
    return past[0] + past[1], pair.b + 1, pair.a + 2, d["k"] * 2, items[0] * 1, ordered["z"] + ordered["a"]


def arguments(n: int = 4) -> tuple[Any, ...]:
    return (
        (randn(n, 3), randn(n, 3)),
        Pair(randn(n, 3), randn(n, 2)),
        {"k": randn(n, 3)},
        [randn(n, 3)],
        OrderedDict(z=randn(n, 3), a=randn(n, 3)),
    )


def exported(shapes: Any) -> Any:
    return torch.export.export(module(uses), arguments(), dynamic_shapes=shapes)


AUTO = {0: Dim.AUTO}
SHAPES = ((AUTO, AUTO), [AUTO, AUTO], {"k": AUTO}, [AUTO], OrderedDict(z=AUTO, a=AUTO))


def test_specs_are_what_torch_takes() -> None:
    program = exported(SHAPES)
    saved = io.BytesIO()
    torch.export.save(program, saved)
    for source in (program, saved.getvalue()):
        for spec in (sizewise.widest_spec(source), sizewise.spec_of(source)):
            again = exported(spec.dynamic_shapes)
            assert sizewise.check(again, spec.dynamic_shapes).ok
            space: dict[str, Any] = {"Dim": Dim, "OrderedDict": OrderedDict}
            exec(spec.code, space)
            assert sizewise.check(exported(space["dynamic_shapes"]), space["dynamic_shapes"]).ok
            assert isinstance(spec.dynamic_shapes["past"], tuple) and isinstance(spec.dynamic_shapes["pair"], list)
            assert isinstance(spec.tree["pair"], dict)


class Both(NamedTuple):
    """A named tuple of two tensors."""

    left: torch.Tensor
    right: torch.Tensor


torch.utils._pytree._register_namedtuple(Both, serialized_type_name="test_containers.Both")


def sum_of(self: Any, *args: Any) -> Any:
    return args[0] + args[1]


def keywords(self: Any, x: Any, **kw: Any) -> Any:
    return x + kw["z"] + kw["w"][:4].sum()


def everything(self: Any, x: Any, *args: Any, **kw: Any) -> Any:
    return x + args[0] + kw["w"] + kw["z"]


def named(self: Any, pair: Both) -> Any:
    return pair.left + pair.right


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("forward", "args", "kwargs", "shapes"),
    [
        (sum_of, (randn(4), randn(4)), {}, {"args": (AUTO, AUTO)}),
        (keywords, (randn(4),), {"z": randn(4), "w": randn(9)}, {"x": AUTO, "kw": {"z": AUTO, "w": AUTO}}),
        (
            everything,
            (randn(4), randn(4)),
            {"w": randn(4), "z": randn(4)},
            {"x": AUTO, "args": (AUTO,), "kw": {"w": AUTO, "z": AUTO}},
        ),
        (named, (Both(randn(4), randn(4)),), {}, {"pair": Both(AUTO, AUTO)}),
    ],
)
def test_specs_have_the_containers_of_the_call(forward: Any, args: Any, kwargs: Any, shapes: Any, strict: bool) -> None:
    def export(spec: Any) -> Any:
        return torch.export.export(module(forward), args, kwargs, dynamic_shapes=spec, strict=strict)

    program = export(shapes)
    saved = io.BytesIO()
    torch.export.save(program, saved)
    for source in (program, saved.getvalue()):
        for spec in (sizewise.widest_spec(source), sizewise.spec_of(source)):
            assert sizewise.check(export(spec.dynamic_shapes), spec.dynamic_shapes).ok, spec.code


def test_a_checker_refuses_other_containers() -> None:
    def forward(self: Any, past: Any, d: Any) -> Any:
        return past[0] + past[1] + d["k"]

    x = randn(4, 3)
    program = torch.export.export(module(forward), ((x, x), {"k": x}), dynamic_shapes=((AUTO, AUTO), {"k": AUTO}))
    runs, check = program.module(), sizewise.shape_checker(program)
    y = randn(6, 3)
    cases: list[tuple[Any, ...]] = [
        ((y, y), {"k": y}),
        ([y, y], {"k": y}),
        ((y, y, y), {"k": y}),
        ((y,), {"k": y}),
        ((y, y), {"k": y, "j": y}),
        ((y, y), {"j": y}),
        ((y, [y]), {"k": y}),
        ((y, y), y),
        ((y, y.numpy()), {"k": y}),
    ]
    for case in cases:
        try:
            runs(*case)
            served = True
        except Exception:
            served = False
        assert check.accepts(*case) == served, case
        assert served == (case is cases[0])


class Cache:
    """A class of another library: its parts are known by keys that are no fields."""

    def __init__(self, keys: Any, values: Any) -> None:
        self.keys, self.values = keys, values


NAMES = ("key_cache", "value_cache")


def register(context: Any, key: Any) -> None:
    pytree._deregister_pytree_node(Cache) if Cache in pytree.SUPPORTED_NODES else None
    pytree.register_pytree_node(
        Cache,
        lambda c: ([c.keys, c.values], context),
        lambda parts, _: Cache(*parts),
        flatten_with_keys_fn=lambda c: (list(zip([key(name) for name in NAMES], [c.keys, c.values])), context),
    )


class Past(torch.nn.Module):
    """At most 64 positions, which no operator asks for."""

    def forward(self, x: Any, past: Any) -> Any:
        if x.shape[1] + past.keys[0].shape[1] > 64:
            raise ValueError
        return torch.cat([past.keys[0], x], 1) * 2, past.values[0] + 1


class Keyword(torch.nn.Module):
    def forward(self, x: Any, **kwargs: Any) -> Any:
        return Past()(x, kwargs["past"])


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14), reason="torch.export fails on the spec of such a class"
)
@pytest.mark.parametrize("context", [list(NAMES), None, {"n": 2}, ["swapped", "order"]])
@pytest.mark.parametrize("key", [pytree.MappingKey, pytree.GetAttrKey])
def test_guards_on_parts_of_other_classes_are_read(context: Any, key: Any) -> None:
    register(context, key)

    def past(rows: int, length: int) -> Cache:
        return Cache([randn(rows, length, 4)], [randn(rows, length, 4)])

    part = [{0: Dim.AUTO, 1: Dim.AUTO}]
    shapes = {"x": {0: Dim.AUTO, 1: Dim.AUTO}, "past": [part, part]}
    x = randn(2, 3, 4)
    program = torch.export.export(Past(), (x,), {"past": past(2, 5)}, dynamic_shapes=shapes)
    assert sizewise.check(program).ok
    accepts = sizewise.shape_checker(program).accepts
    for new, served in ((34, True), (35, False)):
        assert accepts(randn(3, new, 4), past=past(3, 30)) == served
        try:
            program.module()(randn(3, new, 4), past=past(3, 30))
            runs = True
        except Exception:
            runs = False
        assert runs == served
    shapes = {"x": shapes["x"], "kwargs": {"past": shapes["past"]}}
    report = sizewise.check(torch.export.export(Keyword(), (x,), {"past": past(2, 5)}, dynamic_shapes=shapes))
    assert report.ok and [note["code"] for note in report.diagnostics] == ["guard-of-kwargs"]


class Two(NamedTuple):
    """A named tuple that is not registered: its program cannot be saved."""

    a: Any
    b: Any


def test_named_tuples_need_no_registration() -> None:
    program = torch.export.export(
        module(lambda self, n: n.a + n.b), (Two(randn(4), randn(4)),), dynamic_shapes={"n": Two(AUTO, AUTO)}
    )
    assert sizewise.check(program).ok and not sizewise.check(program).diagnostics
    assert not sizewise.evaluate(program, {"n_a": (4,), "n_b": (5,)})


def test_inputs_are_of_live_programs() -> None:
    with pytest.raises(TypeError, match="expected an ExportedProgram, got str; torch.export.load"):
        sizewise.testing.inputs("a.pt2")


def test_a_fix_without_loss_is_served() -> None:
    n, m = Dim("n", min=1, max=512), Dim("m", min=1, max=512)
    doubled = module(lambda self, x, y: x[: y.shape[0] * 2] + y.repeat(2))
    program, report = sizewise.export(doubled, (randn(12), randn(6)), dynamic_shapes=({0: n}, {0: m}), fix=True)
    [note] = [one for one in report.diagnostics if one["code"] == "fix-applied"]
    assert note in json.loads(report.to_json())["diagnostics"] and note in report.to_dict()["diagnostics"]
    assert "torch.export infers" in note["message"] and "also rejects" not in note["message"]
    assert program.module()(randn(4), randn(2)).shape == (4,)
    _, report = sizewise.export(module(branch), (randn(16, 3),), dynamic_shapes=({0: n},), fix=True)
    assert "n = Dim('n', min=8, max=512); loses no shapes that this export serves" in report.diagnostics[-1]["message"]


def test_a_strict_export_that_is_fixed_logs_nothing(caplog: Any) -> None:
    spec = ({0: Dim("batch", min=1, max=64)},)
    with caplog.at_level(logging.ERROR):
        _, report = sizewise.export(module(halves), (randn(6, 3),), dynamic_shapes=spec, strict=True, fix=True)
    assert report.ok
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_audits_know_the_inputs() -> None:
    program = torch.export.export(module(branch), (randn(16, 3),), dynamic_shapes=(AUTO,))
    sizewise.audit_guards(program, {"x": [(8, 64), 3]})
    with pytest.raises(ValueError, match="q: no such input; there are: x"):
        sizewise.audit_guards(program, {"q": [(8, 64), 3]})
