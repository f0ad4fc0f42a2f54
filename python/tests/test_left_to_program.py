"""Sizes and layouts that are left to the program: its own guards, and selections of which data decide the count."""

import pytest

import sizewise

torch = pytest.importorskip("torch")
from torch.export import Dim  # noqa: E402

A = Dim.AUTO


class Step(torch.nn.Module):
    """Attention over a cache, whose mask has to be as long as cache and queries together."""

    def forward(self, x, mask, k, v):
        n = x.shape[1] + k.shape[1]
        if n > mask.shape[1] or mask.shape[1] > n:
            raise ValueError
        a = (x @ torch.cat([k, x], 1).transpose(1, 2)).softmax(-1)
        return a @ torch.cat([v, x], 1) + mask.sum(1)[:, None, None]


def step_inputs(b, q, p, t):
    return torch.randn(b, q, 4), torch.ones(b, t), torch.randn(b, p, 4), torch.randn(b, p, 4)


def step_spec(t):
    # The exported module checks that the mask has 4 positions at least.
    b, q, p = Dim("b", min=1, max=8), Dim("q", min=2, max=64), Dim("p", min=2, max=128)
    return {"x": {0: b, 1: q}, "mask": {0: b, 1: t}, "k": {0: b, 1: p}, "v": {0: b, 1: p}}


@pytest.fixture(scope="module")
def step():
    dynamic = {name: {0: A, 1: A} for name in ("x", "mask", "k", "v")}
    return torch.export.export(Step(), step_inputs(2, 3, 5, 8), dynamic_shapes=dynamic)


def test_inequalities_with_a_dimension_on_auto_are_the_modules_own_checks(step):
    assert sizewise.check(step, step_spec(A)).verdict == "ok"
    module = torch.export.export(
        Step(), step_inputs(2, 3, 5, 8), dynamic_shapes=step_spec(A)
    ).module()
    for q, p in [(2, 2), (2, 40), (64, 128)]:
        module(*step_inputs(3, q, p, p + q))


def test_an_own_check_that_excludes_named_sizes_is_demanded(step):
    # The mask has a greatest length, which the longest cache and queries exceed.
    report = sizewise.check(step, step_spec(Dim.AUTO(min=2, max=100)))
    [guard] = report.violations
    assert guard.expr == "p + q <= 100"
    # The example is an input that the spec allows, and the module refuses it.
    shapes = guard.inputs
    assert shapes["mask"][1] <= 100 < shapes["k"][1] + shapes["x"][1]
    module = step.module()
    with pytest.raises(AssertionError, match="Guard failed"):
        module(*[torch.ones(shapes[name]) for name in ("x", "mask", "k", "v")])


class Eights(Step):
    def forward(self, x, mask, k, v):
        if mask.shape[1] % 8 != 0:
            raise ValueError
        return super().forward(x, mask, k, v)


def test_what_else_is_said_of_a_size_on_auto_may_exclude_named_sizes():
    dynamic = {name: {0: A, 1: A} for name in ("x", "mask", "k", "v")}
    program = torch.export.export(Eights(), step_inputs(2, 3, 5, 8), dynamic_shapes=dynamic)
    # There is no mask for two queries and a cache of two.
    report = sizewise.check(program, step_spec(A))
    assert [guard.expr for guard in report.violations] == ["mask.shape[1] == p + q"]


def test_opposite_inequalities_are_one_equation(step):
    report = sizewise.check(step, step_spec(Dim("t", min=4, max=192)))
    assert [guard.expr for guard in report.violations] == ["t == p + q"]


class Select(torch.nn.Module):
    def forward(self, x, m):
        return x[m].view(-1, 2)


class SelectByPositions(torch.nn.Module):
    def forward(self, x, m):
        y = x[m.nonzero().squeeze(1)]
        return y.view(y.shape[0], 2, 2)


class SelectPart(torch.nn.Module):
    def forward(self, x, m):
        return x[m.nonzero().squeeze(1), :2].view(-1)


@pytest.mark.parametrize("module", [Select, SelectByPositions, SelectPart])
def test_what_is_selected_is_contiguous_whatever_the_count(module):
    program = torch.export.export(
        module(), (torch.randn(6, 4), torch.ones(6, dtype=torch.bool)), dynamic_shapes=({0: A}, {0: A})
    )
    assert sizewise.check(program).verdict == "ok"
    for n in (1, 2, 6):
        for count in {0, 1, n}:
            mask = torch.arange(n) < count
            x = torch.randn(n, 4)
            assert torch.equal(program.module()(x, mask), module()(x, mask))
