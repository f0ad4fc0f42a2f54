"""What is refused, and with which words."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import sizewise
from sizewise import Env, testing


class Sized:
    """Something with a shape."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def test_a_report_is_true_by_its_verdict(area: Path, area_spec: Path) -> None:
    assert sizewise.check(area)
    assert not sizewise.check(area, area_spec)


def test_a_spec_that_is_no_text(area: Path, tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(sizewise.SpecError, match=r"spec\.json.*not UTF-8"):
        sizewise.check(area, file)


def test_a_sequence_has_an_entry_for_each_argument(area: Path) -> None:
    for short in [({0: "AUTO"},), [["AUTO"]]]:
        with pytest.raises(sizewise.SpecError, match="1 entry for 2 arguments: x, y"):
            sizewise.check(area, short)
    for static in [(), [], {}]:
        assert sizewise.check(area, static).verdict != "invalid"
    assert sizewise.check(area, {"x": [None]}).verdict != "invalid"


def test_every_dimension_is_explained(area: Path) -> None:
    explanation = sizewise.explain(area, "x")
    assert "x.shape[0] is dynamic" in str(explanation) and len(explanation.data["dimensions"]) == 1
    assert str(sizewise.explain(area, "x", -1)) == str(sizewise.explain(area, "x", 0))
    for dim in (-2, 1):
        with pytest.raises(sizewise.SpecError):
            sizewise.explain(area, "x", dim)
    with pytest.raises(sizewise.SpecError):
        sizewise.explain(area, "nobody")


def test_checkers_take_what_the_module_takes(area: Path) -> None:
    check = sizewise.shape_checker(area)
    x, y = Sized(3), Sized(4)
    assert check.accepts(x, y)
    for args, kwargs, message in [
        (([x], y), {}, "got a list"),
        (([3], y), {}, "got a list"),
        ((x,), {"y": y}, "y is passed by keyword"),
        ((), {"x": x, "y": y}, "x is passed by keyword"),
        ((x, y), {"mask": y}, "mask is no input of the program; its inputs are: x, y"),
        ((x,), {}, r"expected 2 positional arguments \(x, y\), got 1"),
        ((x, object()), {}, None),
        ((x, Sized("a")), {}, None),  # type: ignore[arg-type]
    ]:
        with pytest.raises(sizewise.ShapeError, match=message):
            check(*args, **kwargs)
        assert not check.accepts(*args, **kwargs)


def test_a_checker_survives_pickling(area: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pt2"
    copy.write_bytes(area.read_bytes())
    for program in (copy, area.read_bytes()):
        check = sizewise.shape_checker(program)
        copy.unlink(missing_ok=True)
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(check))))
        assert again.accepts(Sized(3), Sized(4)) and not again.accepts(Sized(5), Sized(4))
    with pytest.raises(TypeError, match=r"Env\.branch"):
        pickle.dumps(Env())


def test_budgets(area: Path) -> None:
    env = Env()
    s = env.symbol("s0")
    for budget in (0, -1, float("nan")):
        for ask in (
            lambda b: sizewise.check(area, budget=b),
            lambda b: env.implies(s > 1, budget=b),
            lambda b: env.simplify(s, budget=b),
            lambda b: env.bounds(s, budget=b),
            lambda b: env.minimize([s > 1], budget=b),
            lambda b: sizewise.audit_guards(["L['x'].size()[0] > 1"], {}, budget=b),
        ):
            with pytest.raises(ValueError, match="budget: expected a number greater than 0"):
                ask(budget)
    with pytest.raises(TypeError, match="budget: expected a number, got str"):
        sizewise.check(area, budget="1")  # type: ignore[arg-type]


def test_other_arguments(area: Path) -> None:
    for jobs in (0, -1):
        with pytest.raises(ValueError, match="jobs: expected at least 1"):
            sizewise.check_many([area], jobs=jobs)
    assert [report.verdict for report in sizewise.check_many(str(area))] == ["ok"]
    with pytest.raises(ValueError, match="limit: expected at least 0"):
        testing.corners(area, limit=-1)
    with pytest.raises(TypeError, match="shapes by the names of inputs, got NoneType"):
        sizewise.evaluate(area, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ops: expected a path"):
        sizewise.check(area, ops=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["and", "Max", "True", "Eq", "nan", "oo", "lambda", "FloorDiv", "", "9", "a.b"])
def test_names_that_expressions_use(name: str) -> None:
    with pytest.raises(sizewise.ExpressionError, match="cannot be the name of a symbol"):
        Env().symbol(name)


def test_ranges_and_hints() -> None:
    env = Env()
    with pytest.raises(ValueError, match="min=7 is greater than max=2"):
        env.symbol("s0", min=7, max=2)
    with pytest.raises(ValueError, match="hint=9 is not between 2 and 8"):
        env.symbol("s0", min=2, max=8, hint=9)
    env.symbol("s0", min=2, max=8)
    with pytest.raises(ValueError, match="hint=9 is not between 2 and 8"):
        env.symbol("s0", hint=9)
    env.symbol("s0", hint=4)


def test_contradictory_facts_have_no_bounds() -> None:
    env = Env()
    s = env.symbol("s0", min=5)
    env.symbol("s1")
    assert env.bounds("s1").min is None
    env.assume(s < 3)
    with pytest.raises(ValueError, match="the facts contradict each other: "):
        env.bounds(s + 1)


def test_conditions_and_numbers() -> None:
    env = Env()
    s = env.symbol("s0", min=2)
    for ask in (env.implies, env.assume, env.minimize):
        for number in ("s0 + 1", s + 1, 3):
            with pytest.raises(sizewise.ExpressionError, match="is a number, not a condition"):
                ask(number)
    assert env.implies("True") and env.implies(True) and env.implies("(s0 > 1) & (s0 >= 2)")
    assert [str(guard) for guard in env.minimize("s0 >= 3").guards] == [str(env.simplify("s0 >= 3"))]
    assert env.implies(2**s >= 4) and str(2**s) == "2**s0"


def test_symbols_are_declared() -> None:
    env = Env()
    env.symbol("s0")
    env.symbol("s1")
    with pytest.raises(sizewise.ExpressionError, match="t: not declared with Env.symbol; declared are: s0, s1"):
        env.implies("t >= 3")
    with pytest.raises(sizewise.ExpressionError, match="not declared"):
        env.branch().assume("t >= 3")


def test_audits_show_what_was_given() -> None:
    guards: list[Any] = ["___check_type_id(L['x'], 94)", "L['x'].requires_grad == False", "L['x'].size()[0] <= 2048"]
    [audited] = sizewise.audit_guards(guards, {"x": [(1, 512)]})
    assert audited.follows and audited.guard == guards[2]
    with pytest.raises(sizewise.ExpressionError) as raised:
        sizewise.audit_guards(["L['x'].size()[0] ==="], {"x": [(1, 512)]})
    assert str(raised.value).startswith("L['x'].size()[0] ===: ") and "v0" not in str(raised.value)
    guard = ["(L['x'].size()[1] % 8) == 0"]
    assert sizewise.audit_guards(guard, {"x": [None, (8, 64)]}, assume="x.shape[1] % 16 == 0")


def test_specs_are_json(area: Path) -> None:
    assert json.dumps(sizewise.widest_spec(area).tree)
