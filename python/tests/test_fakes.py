"""Custom operators of live programs, which their registered fake functions declare."""

import pytest
import torch
from torch.export import Dim

import sizewise

AUTO = Dim.AUTO


def _defined(name, real, fake):
    op = torch.library.custom_op(f"sizewise_fakes::{name}", mutates_args=())(real)
    if fake is not None:
        op.register_fake(fake)
    return op


def _twice(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x])


def _halves(x: torch.Tensor) -> list[torch.Tensor]:
    return [half.clone() for half in x.chunk(2)]


def _halves_fake(x):
    torch._check(x.shape[0] % 2 == 0)
    return [x.new_empty([x.shape[0] // 2, x.shape[1]]) for _ in range(2)]


def _kept(x: torch.Tensor, most: int) -> torch.Tensor:
    return x[x[:, 0] > 0][:most].clone()


def _kept_fake(x, most):
    return x.new_empty([torch.library.get_ctx().new_dynamic_size(), x.shape[1]])


def _refuses(x):
    raise RuntimeError("no fake")


def _same(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


TWICE = _defined("twice", _twice, lambda x: x.new_empty([2 * x.shape[0], *x.shape[1:]]))
HALVES = _defined("halves", _halves, _halves_fake)
KEPT = _defined("kept", _kept, _kept_fake)
UNKNOWN = _defined("unknown", _same, None)


class Fn(torch.nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)


def _program(fn, x, shapes=None):
    return torch.export.export(Fn(fn), (x,), dynamic_shapes=shapes or ({0: AUTO},))


@pytest.mark.parametrize(
    ("fn", "accepted", "refused"),
    [
        # Twice the rows, in 4 columns: any number of rows.
        (lambda x: TWICE(x).view(-1, 4), {5: [15, 4], 9: [27, 4]}, []),
        # Two results that have to fit, of an even number of rows.
        (lambda x: HALVES(x)[0] + HALVES(x)[1], {8: [4, 6]}, [7]),
        # A size that only data decide.
        (lambda x: KEPT(x, 3) * 2, {5: ["u1", 6]}, []),
    ],
)
def test_shapes_of_a_custom_operator_are_those_of_its_fake_function(fn, accepted, refused):
    program = _program(fn, torch.randn(4, 6))
    assert sizewise.check(program).verdict == "ok"
    for rows, shape in accepted.items():
        found = sizewise.evaluate(program, {"x": [rows, 6]})
        assert found.ok and found.outputs == [shape]
    for rows in refused:
        assert not sizewise.evaluate(program, {"x": [rows, 6]}).ok


def test_what_a_fake_function_asks_is_a_condition():
    program = _program(lambda x: HALVES(x)[0], torch.randn(4, 6))
    report = sizewise.check(program, ({0: Dim("n", min=2, max=64)},))
    assert report.verdict == "violated"
    assert "n = 2*_n" in report.fixes[0].text


def test_each_form_of_call_is_a_case():
    program = _program(lambda x: (TWICE(x), TWICE(x.sum(1)), TWICE(x.int())), torch.randn(4, 6))
    assert sizewise.check(program).verdict == "ok"
    assert sizewise.evaluate(program, {"x": [5, 6]}).outputs == [[10, 6], [10], [10, 6]]


def test_a_declaration_that_is_given_counts():
    wrong = """
        [[operator]]
        schema = "sizewise_fakes::twice(Tensor x) -> Tensor"
        requires = ["x.shape[0] >= 3"]
        returns = [{ shape = ["2*x.shape[0]", "x.shape[1]"], dtype = "x.dtype" }]
    """
    program = _program(TWICE, torch.randn(4, 6))
    assert sizewise.evaluate(program, {"x": [2, 6]}).ok
    assert not sizewise.evaluate(program, {"x": [2, 6]}, ops={"mine": wrong}).ok


def test_an_operator_without_a_fake_function_is_not_followed():
    # Its real function is composite to torch, so the program can be exported only where a fake function is found.
    UNKNOWN.register_fake(lambda x: torch.empty_like(x))
    program = _program(UNKNOWN, torch.randn(4, 6))
    UNKNOWN.register_fake(_refuses)
    report = sizewise.check(program)
    assert report.verdict == "unknown"
    assert "unknown.default" in str(report)
