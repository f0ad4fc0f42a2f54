"""What torch's own tests of dynamic shapes and of export check, with a decider and without: nothing is different."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn, randn
from torch._dynamo.source import ConstantSource
from torch.export import Dim, export
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    StatelessSymbolicContext,
    guard_or_false,
    guard_or_true,
    statically_known_true,
    sym_and,
)

import sizewise

from programs import module  # isort: skip

pytestmark = pytest.mark.torch
AUTO, STATIC = Dim.AUTO, Dim.STATIC

CHECKS: list[Callable[[], None]] = []


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


def size(env: Any, value: int, name: str = "a", dynamic: Any = DimDynamic.DYNAMIC) -> Any:
    """A size of an input."""
    source = ConstantSource(f"__size_{name}")
    symbol = env.create_symbol(value, source=source, dynamic_dim=dynamic, constraint_dim=None)
    return env.create_symintnode(symbol, hint=value, source=source)


def guards(env: Any) -> list[str]:
    return [str(guard.expr) for guard in env.guards]


def expected(env: Any, *texts: str) -> bool:
    """Whether the guards are these, in which `a`, `b`, … stand for symbols in the order of their creation."""
    names = {str(symbol): chr(ord("a") + i) for i, symbol in enumerate(env.backed_var_to_val)}
    found = []
    for text in guards(env):
        for symbol, name in names.items():
            text = text.replace(symbol, name)
        found.append(text)
    return found == list(texts)


@check
def a_comparison_follows_the_hint_and_leaves_a_guard() -> None:
    env = ShapeEnv()
    a = size(env, 5)
    assert a < 7 and expected(env, "a < 7")
    assert a < 9 and a != 8, "these follow"
    assert expected(env, "a < 7")


@check
def sizes_of_inputs_are_at_least_2() -> None:
    env = ShapeEnv()
    a = size(env, 5)
    assert a >= 2 and a != 0 and a != 1 and a * 3 > 5
    assert guards(env) == []


@check
def sizes_0_and_1_are_constants() -> None:
    env = ShapeEnv()
    assert [size(env, n, str(n), DimDynamic.DUCK) for n in (0, 1)] == [0, 1]
    assert not env.backed_var_to_val


@check
def equal_sizes_share_a_symbol_where_they_may() -> None:
    env = ShapeEnv()
    a, b = size(env, 5, "a", DimDynamic.DUCK), size(env, 5, "b", DimDynamic.DUCK)
    assert a == b and guards(env) == []
    c = size(env, 5, "c")
    assert c == a and len(guards(env)) == 1


@check
def an_equation_replaces_a_symbol() -> None:
    env = ShapeEnv()
    a, b = size(env, 5), size(env, 5, "b")
    assert a == b
    assert len(env.replacements) == 1 and statically_known_true(a == b)
    assert a + b == 2 * b and len(guards(env)) == 1


@check
def an_integer_specializes() -> None:
    env = ShapeEnv()
    a = size(env, 6)
    assert int(a) == 6 and expected(env, "Eq(a, 6)")
    assert a * 2 == 12 and len(guards(env)) == 1


@check
def divisibility_is_remembered() -> None:
    env = ShapeEnv()
    a = size(env, 8)
    assert a % 4 == 0 and expected(env, "Eq(Mod(a, 4), 0)")
    assert len(env.divisible) == 1
    assert statically_known_true(a % 4 == 0) and len(guards(env)) == 1


@check
def nothing_is_recorded_for_what_is_asked_statically() -> None:
    env = ShapeEnv()
    a, b = size(env, 5), size(env, 7, "b")
    assert not statically_known_true(a < b) and not statically_known_true(a == 5)
    assert statically_known_true(a + b >= 4) and guards(env) == []


@check
def a_frozen_environment_answers_as_before() -> None:
    env = ShapeEnv()
    a = size(env, 5)
    env.freeze()
    assert a < 7 and a < 9 and a >= 2
    assert expected(env, "a < 7")


@check
def data_dependent_questions_are_errors() -> None:
    env = ShapeEnv()
    u = env.create_unbacked_symint()
    with pytest.raises(GuardOnDataDependentSymNode):
        bool(u > 3)
    with pytest.raises(GuardOnDataDependentSymNode):
        int(u)


@check
def a_fallback_answers_what_depends_on_data() -> None:
    env = ShapeEnv()
    u = env.create_unbacked_symint()
    assert guard_or_true(u == 4) and not guard_or_false(u == 4)
    assert not env.deferred_runtime_asserts
    a = size(env, 5)
    assert guard_or_false(a == 5) and expected(env, "Eq(a, 5)")


@check
def a_check_becomes_a_runtime_assertion() -> None:
    env = ShapeEnv()
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint()
    torch._check(u >= 2)
    torch._check(u + v == 10)
    assert statically_known_true(u >= 2) and statically_known_true(u >= 1)
    assert env.num_deferred_runtime_asserts >= 1
    assert bool(u + v == 10) and not bool(u < 2)


@check
def a_check_that_fails_in_the_example_is_an_error() -> None:
    env = ShapeEnv()
    a = size(env, 5)
    with pytest.raises(RuntimeError):
        torch._check(a > 9)


@check
def an_equation_of_data_replaces() -> None:
    env = ShapeEnv()
    u, a = env.create_unbacked_symint(), size(env, 5)
    torch._check(u == a)
    assert bool(u * 2 == a * 2) and bool(u >= 2)


@check
def conjunctions_are_known_by_their_parts() -> None:
    env = ShapeEnv()
    a, b = size(env, 5), size(env, 7, "b")
    assert a < b and b < 10
    assert statically_known_true(sym_and(a < b, b < 10))


@check
def symbolic_tracing_records_what_a_program_asks() -> None:
    def forward(x: Any, y: Any) -> Any:
        z = torch.cat([x, y])
        return z.relu() if z.shape[0] > 5 else z

    traced = make_fx(forward, tracing_mode="symbolic")(randn(4, 3), randn(5, 3))
    env = traced.shape_env
    assert len(guards(env)) == 1
    assert traced.graph.find_nodes(op="call_function", target=torch.ops.aten.relu.default)


@check
def a_view_guards_on_its_elements() -> None:
    traced = make_fx(lambda x: x.view(-1, 4), tracing_mode="symbolic")(randn(6, 2))
    assert any("Mod" in text for text in guards(traced.shape_env))


@check
def strides_follow_from_sizes() -> None:
    env = ShapeEnv()
    fake = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=env)
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 3)
    x = fake.from_tensor(randn(3, 4, 5), symbolic_context=context, source=ConstantSource("x"))
    assert statically_known_true(x.stride(0) == x.shape[1] * x.shape[2])
    assert x.is_contiguous() and not x.transpose(0, 1).is_contiguous()


def violated(text: str, model: Any, inputs: Any, shapes: Any) -> None:
    with pytest.raises(torch._dynamo.exc.UserError, match=text):
        export(model, inputs, dynamic_shapes=shapes)


@check
def a_named_dimension_must_not_be_constant() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x + torch.ones(4)

    violated("Constraints violated", module(forward), (randn(4),), ({0: Dim("n", min=2)},))
    program = export(module(forward), (randn(4),), dynamic_shapes=({0: AUTO},))
    assert list(program.range_constraints) == []


@check
def named_dimensions_must_be_related_as_they_say() -> None:
    def forward(self: Any, x: Any, y: Any) -> Any:
        return x + y[1:]

    n = Dim("n", min=3, max=64)
    violated("Constraints violated", module(forward), (randn(5), randn(6)), ({0: n}, {0: Dim("m", min=3)}))
    program = export(module(forward), (randn(5), randn(6)), dynamic_shapes=({0: n}, {0: n + 1}))
    assert program.module()(randn(9), randn(10)).shape == (9,)
    with pytest.raises(AssertionError):
        program.module()(randn(9), randn(11))


@check
def a_bound_narrows_the_range() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.sin() if x.shape[0] <= 10 else x.cos()

    violated("Constraints violated", module(forward), (randn(5),), ({0: Dim("n", min=2, max=64)},))
    program = export(module(forward), (randn(5),), dynamic_shapes=({0: Dim("n", min=2, max=10)},))
    assert [str(known) for known in program.range_constraints.values()] == ["VR[2, 10]"]
    with pytest.raises(AssertionError):
        program.module()(randn(11))


@check
def a_derived_dimension_divides() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.view(-1, 4)

    n = Dim("n", min=2, max=64)
    program = export(module(forward), (randn(12),), dynamic_shapes=({0: 4 * n},))
    assert program.module()(randn(20)).shape == (5, 4)
    with pytest.raises((AssertionError, RuntimeError)):
        program.module()(randn(21))


@check
def static_dimensions_stay() -> None:
    program = export(module(lambda self, x: x * 2), (randn(4, 6),), dynamic_shapes=({0: AUTO, 1: STATIC},))
    assert len(program.range_constraints) == 1
    with pytest.raises(AssertionError):
        program.module()(randn(3, 7))


@check
def sizes_of_data_export_with_checks() -> None:
    def forward(self: Any, x: Any, n: Any) -> Any:
        count = n.item()
        torch._check(count >= 0)
        torch._check(count <= x.shape[0])
        return x[:count].sum(0)

    program = export(module(forward), (randn(7, 2), torch.tensor(3)), dynamic_shapes=({0: AUTO}, None))
    x = randn(9, 2)
    torch.testing.assert_close(program.module()(x, torch.tensor(5)), x[:5].sum(0))
    with pytest.raises(RuntimeError):
        program.module()(x, torch.tensor(10))


@check
def data_dependent_branches_do_not_export() -> None:
    def forward(self: Any, x: Any, n: Any) -> Any:
        return x + 1 if n.item() > 4 else x

    with pytest.raises(Exception, match="data-dependent"):
        export(module(forward), (randn(3), torch.tensor(5)))


@check
def compiled_programs_recompile_for_other_branches() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    compiled = torch.compile(lambda x: x * 2 if x.shape[0] > 4 else x * 3, backend=backend, dynamic=True)
    for n, compilations in ((5, 1), (9, 1), (3, 2), (2, 2), (6, 2), (1, 3)):
        x = randn(n)
        torch.testing.assert_close(compiled(x), x * 2 if n > 4 else x * 3)
        assert len(graphs) == compilations, n


@check
def nonzero_has_a_size_of_its_own() -> None:
    program = export(module(lambda self, x: x.nonzero().shape[0] + x.sum()), (randn(5),), dynamic_shapes=({0: AUTO},))
    x = torch.tensor([1.0, 0.0, 2.0])
    assert program.module()(x) == 5.0


@check
def modules_with_loops_over_sizes_unroll_for_one_size() -> None:
    class Loop(nn.Module):
        def forward(self, x: Any) -> Any:
            return sum(x[i] for i in range(x.shape[0]))

    program = export(Loop(), (randn(3, 2),), dynamic_shapes=({0: AUTO, 1: AUTO},))
    assert len(program.range_constraints) == 1


@pytest.mark.parametrize("mode", [None, "after", "first"])
@pytest.mark.parametrize("checked", CHECKS, ids=lambda function: function.__name__)
def test_torch_is_unchanged(checked: Callable[[], None], mode: Any) -> None:
    torch._dynamo.reset()
    with sizewise.decider(mode, debug=True) if mode else contextlib.nullcontext() as asked:
        checked()
    assert asked is None or asked.stats.failures == asked.stats.contradictions == 0
