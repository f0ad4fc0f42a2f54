"""`audit_guards`: real compiled functions, and inputs that really recompile."""

from typing import Any

import pytest

import sizewise

RANGES = {"x": [(1, 512), (8, 64)]}


@pytest.mark.parametrize(
    ("guard", "follows", "recompiles"),
    [
        ("L['x'].size()[0] <= 2048", True, None),
        ("2 <= L['x'].size()[0]", False, {"x": [1, 8]}),
        ("L['x'].size()[0]*L['x'].size()[1] < 32769", True, None),
        ("L['x'].stride()[0] == L['x'].size()[1]", True, None),
        ("L['x'].storage_offset() == 0", True, None),
        ("L['y'].size()[0] >= 0", True, None),
    ],
)
def test_texts(guard: str, follows: bool, recompiles: Any) -> None:
    [audited] = sizewise.audit_guards([guard], RANGES)
    assert (audited.guard, audited.follows, audited.recompiles) == (guard, follows, recompiles)


def test_more_that_holds() -> None:
    guard = ["(L['x'].size()[1] % 8) == 0"]
    assert not sizewise.audit_guards(guard, RANGES)
    audit = sizewise.audit_guards(guard, RANGES, assume=["x.shape[1] % 16 == 0"])
    assert audit and not audit.needed
    assert not sizewise.audit_guards(["L['x'].stride()[0] == L['x'].size()[1]"], RANGES, contiguous=False)


@pytest.mark.parametrize(
    ("guards", "ranges", "message"),
    [
        (["L['x'].size()[0] > 1"], {"x": ["any"]}, "x.shape\\[0\\]: expected an integer"),
        (["L['x'].size()[0] > 1"], {"x": [(5, 2)]}, "contradict"),
        (7, {}, "expected a compiled function"),
    ],
)
def test_what_is_refused(guards: Any, ranges: Any, message: str) -> None:
    if guards == 7:
        pytest.importorskip("torch")
    with pytest.raises(sizewise.SpecError, match=message):
        sizewise.audit_guards(guards, ranges)


@pytest.mark.torch
def test_a_compiled_function() -> None:
    torch = pytest.importorskip("torch")
    batch = torch.export.Dim("batch", min=2, max=100)

    def function(x: Any, y: Any) -> Any:
        if x.shape[0] * 2 > y.shape[0] and x.shape[1] % 4 == 0:
            return x.sum() + y.sum()
        return x.sum()

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager", dynamic=True)
    with pytest.raises(sizewise.SpecError, match="call the function first"):
        sizewise.audit_guards(compiled, {})
    compiled(torch.randn(5, 8), torch.randn(7))
    audit = sizewise.audit_guards(compiled, {"x": [batch, (2, 64)], "y": [batch]})
    [needed] = audit.needed
    assert needed.guard == "(L['x'].size()[1] % 4) == 0" and len(audit) > 4
    assert sizewise.audit_guards(compiled, {"x": [batch, 16], "y": [batch]})

    def recompiles(shapes: Any) -> bool:
        with torch._dynamo.config.patch(error_on_recompile=True):
            try:
                compiled(torch.randn(shapes["x"]), torch.randn(shapes["y"]))
            except torch._dynamo.exc.RecompileError:
                return True
        return False

    assert recompiles(needed.recompiles)
    assert not any(recompiles({"x": [n, 16], "y": [n]}) for n in (2, 3, 50, 100))
    torch._dynamo.reset()


@pytest.mark.torch
def test_a_module_with_a_static_size() -> None:
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, x: Any, n: int) -> Any:
            return x * n if x.shape[0] < 7 * n else x

    torch._dynamo.reset()
    compiled = torch.compile(Model(), backend="eager")
    compiled(torch.randn(5, 8), 6)
    compiled(torch.randn(6, 8), 5)
    audit = sizewise.audit_guards(compiled, {"x": [(2, 14), 8], "n": (2, 9)})
    assert "L['x'].size()[1] == 8" in [one.guard for one in audit if one.follows]
    assert any(one.recompiles == {"x": [14, 8], "n": 2} for one in audit.needed), str(audit)
    torch._dynamo.reset()
