"""`decider`: inside torch.export and torch.compile."""

import contextlib
import shutil
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn, randn
from torch.export import Dim, export
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import sizewise
from sizewise import _facts, _native
from sizewise._patching import require_tried

from programs import module  # isort: skip

pytestmark = pytest.mark.torch
AUTO = Dim.AUTO
MODES = ["after", "first"]


class Windows(nn.Module):
    """Pads to whole windows and cuts them out."""

    def forward(self, x: Any) -> Any:
        b, h, c = x.shape
        y = F.pad(x, (0, 0, 0, (4 - h % 4) % 4))
        y = y.view(b, y.shape[1] // 4, 4, c)
        return y.reshape(b, -1, c)[:, :h]


def shape_env(program: Any) -> Any:
    values = (node.meta.get("val") for node in program.graph.nodes)
    return next(value for value in values if isinstance(value, torch.Tensor)).fake_mode.shape_env


def exported(model: Any, inputs: Any, shapes: Any, mode: str | None, **options: Any) -> tuple[Any, Any]:
    if mode is None:
        return export(model, inputs, dynamic_shapes=shapes, **options), None
    with sizewise.decider(mode, debug=True) as asked:
        program = export(model, inputs, dynamic_shapes=shapes, **options)
    assert asked.stats.contradictions == 0 and asked.stats.failures == 0
    return program, asked.stats


def outcome(program: Any, inputs: Any) -> Any:
    try:
        return program.module()(*inputs)
    except (AssertionError, RuntimeError):
        return None


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_needless_guards_are_not_recorded(mode: str, strict: bool) -> None:
    model, shapes = Windows(), ({0: AUTO, 1: AUTO},)
    before, _ = exported(model, (randn(2, 10, 3),), shapes, None, strict=strict)
    after, stats = exported(model, (randn(2, 10, 3),), shapes, mode, strict=strict)
    assert stats.guards_avoided > 0
    if not strict:
        assert len(shape_env(after).guards) < len(shape_env(before).guards)
    for h in range(14):
        x = randn(3, h, 3)
        old, new = outcome(before, (x,)), outcome(after, (x,))
        assert old is None or new is not None, f"{h} was accepted"
        if new is not None:
            torch.testing.assert_close(new, model(x))


@pytest.mark.parametrize("mode", MODES)
def test_sizes_0_and_1_are_not_taken_for_impossible(mode: str) -> None:
    # An exported program runs at sizes 0 and 1, though the ShapeEnv says 2 and more.
    def forward(self: Any, x: Any) -> Any:
        padded = x.shape[0] + (4 - x.shape[0] % 4) % 4
        return torch.ones(1) if padded // 4 != padded else torch.zeros(1)

    model = module(forward)
    program, _ = exported(model, (randn(5),), ({0: AUTO},), mode)
    for n in range(4):
        x = randn(n)
        y = outcome(program, (x,))
        assert y is None or torch.equal(y, model(x))


def test_padding_is_put_together_with_its_remainder() -> None:
    padded = "(s0 // 2 + Mod(4 - Mod(s0 // 2, 4), 4))"
    native = _native.Env(verdicts=True)
    native.declare(native.symbol("s0"), 2, None, 14)
    assert native.settle(native.read(f"Eq({padded} // ({padded} // 4), 4)"))[0] is True


def data_dependent(self: Any, n: Any, m: Any, x: Any) -> Any:
    first, last = n.item(), m.item()
    torch._check(first >= 2)
    torch._check(first < last)
    torch._check(last <= x.shape[0])
    return x + first if first < x.shape[0] else x - first


@pytest.mark.parametrize("mode", MODES)
def test_a_data_dependent_error_that_need_not_be(mode: str) -> None:
    inputs, shapes = (torch.tensor(3), torch.tensor(4), randn(5)), (None, None, {0: AUTO})
    with pytest.raises(Exception, match="data-dependent"):
        exported(module(data_dependent), inputs, shapes, None)
    program, stats = exported(module(data_dependent), inputs, shapes, mode)
    assert stats.errors_rescued == 1
    x = randn(9)
    assert torch.equal(program.module()(torch.tensor(4), torch.tensor(9), x), x + 4)


@pytest.mark.parametrize("mode", MODES)
def test_an_implied_equation_still_replaces(mode: str) -> None:
    def forward(self: Any, x: Any, y: Any) -> Any:
        a, b, c = x.shape[0], x.shape[1], y.shape[0]
        torch._check(a + b <= c)
        torch._check(c <= a + b)
        return x.sum() + y.sum() if a + b == c else x.sum()

    inputs = (randn(3, 4), randn(7))
    program, stats = exported(module(forward), inputs, ({0: AUTO, 1: AUTO}, {0: AUTO}), mode)
    assert stats.guards_avoided > 0 and shape_env(program).replacements
    assert outcome(program, (randn(5, 6), randn(11))) is not None
    assert outcome(program, (randn(5, 6), randn(12))) is None


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_backends(backend: str) -> None:
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor needs a C++ compiler")
    model = Windows()
    torch._dynamo.reset()
    with sizewise.decider("first", debug=True) as asked:
        compiled = torch.compile(model, backend=backend, dynamic=True)
        for h in (10, 13) if backend == "inductor" else (10, 13, 4, 1, 0):
            x = randn(3, h, 3)
            torch.testing.assert_close(compiled(x), model(x))
    assert asked.stats.decided > 0 and asked.stats.contradictions == 0 and asked.stats.failures == 0
    torch._dynamo.reset()


@pytest.mark.parametrize("mode", MODES)
def test_onnx(mode: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model, shapes = Windows(), ({0: AUTO, 1: AUTO},)
    with sizewise.decider(mode, debug=True) as asked:  # type: ignore[arg-type]
        made = torch.onnx.export(model, (randn(2, 10, 3),), dynamo=True, dynamic_shapes=shapes, verbose=False)
    assert asked.stats.decided > 0 and asked.stats.contradictions == 0 and asked.stats.failures == 0
    run = onnxruntime.InferenceSession(made.model_proto.SerializeToString())
    for h in (10, 13, 4, 2):
        x = randn(3, h, 3)
        (found,) = run.run(None, {run.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(torch.from_numpy(found), model(x))


def test_torch_need_not_look_for_what_has_either_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(self: Any, x: Any) -> Any:
        h = (x.shape[0] - 1) // 2 + 1
        return x * h if h * (h + 3) > 40 else x

    put_to_torch: list[str] = []
    of_torch = sizewise.decider._of_torch

    def noted(self: Any, original: Any, env: Any, expr: Any, options: Any) -> Any:
        put_to_torch.append(str(expr))
        return of_torch(self, original, env, expr, options)

    monkeypatch.setattr(sizewise.decider, "_of_torch", noted)
    guards = {}
    for mode in MODES:
        put_to_torch.clear()
        with sizewise.decider(mode) as asked:  # type: ignore[arg-type]
            program = export(module(forward), (randn(9),), dynamic_shapes=({0: AUTO},))
        guards[mode] = [str(guard.expr) for guard in shape_env(program).guards]
        assert asked.stats.contingent == (mode == "first")
        assert any("> 40" in text for text in put_to_torch) == (mode == "after")
    assert guards["first"] == guards["after"] and len(guards["first"]) == 1


def test_nothing_is_left_behind() -> None:
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    original, caches = ShapeEnv._maybe_evaluate_static, (inductor.fx_graph_cache, functorch.enable_autograd_cache)
    with sizewise.decider() as outer:
        assert ShapeEnv._maybe_evaluate_static is not original
        # A program with fewer guards is no entry for a cache on disk.
        assert not inductor.fx_graph_cache and not functorch.enable_autograd_cache
        assert ShapeEnv._maybe_evaluate_static.cache_info is original.cache_info
        with pytest.raises(ZeroDivisionError), sizewise.decider("first"):
            raise ZeroDivisionError
        assert ShapeEnv._maybe_evaluate_static is not original
        export(Windows(), (randn(2, 10, 3),), dynamic_shapes=({0: AUTO, 1: AUTO},))
    assert ShapeEnv._maybe_evaluate_static is original
    assert caches == (inductor.fx_graph_cache, functorch.enable_autograd_cache)
    questions = outer.stats.questions
    export(Windows(), (randn(2, 10, 3),), dynamic_shapes=({0: AUTO, 1: AUTO},))
    assert outer.stats.questions == questions and len(outer._facts) == 0


def test_walks_that_are_remembered_give_what_sympy_gives() -> None:
    import sympy
    from torch.utils._sympy.functions import FloorDiv

    a, b = sympy.symbols("a b", integer=True, positive=True)
    expressions = [
        a,
        a + 2 * b,
        FloorDiv(a * b, 3),
        sympy.Eq(a, b),
        sympy.Max(a, 4),
        sympy.sqrt(2) + 1,
        sympy.Integer(3),
    ]
    expressions += [sympy.Lambda(a, a + b), sympy.Sum(a, (a, 1, b))]
    originals = sympy.Basic.__dict__["free_symbols"], sympy.Expr.__dict__["is_number"]

    def walked() -> list[Any]:
        return [(e.free_symbols, e.is_number if isinstance(e, sympy.Expr) else None) for e in expressions]

    before = walked()
    with sizewise.decider():
        assert sympy.Basic.__dict__["free_symbols"] is originals[0]
    with sizewise.decider("first"), sizewise.decider("first"):
        assert sympy.Basic.__dict__["free_symbols"] is not originals[0]
        assert walked() == before == walked()
        # What one caller does with its set is nothing to the next.
        (a + b).free_symbols.clear()
        assert (a + b).free_symbols == {a, b}
    assert (sympy.Basic.__dict__["free_symbols"], sympy.Expr.__dict__["is_number"]) == originals


def test_the_inner_decider_is_asked() -> None:
    with sizewise.decider() as outer, sizewise.decider("first") as inner:
        export(Windows(), (randn(2, 10, 3),), dynamic_shapes=({0: AUTO, 1: AUTO},))
    assert inner.stats.questions > 0 and outer.stats.questions == 0


@pytest.mark.parametrize("mode", MODES)
def test_failures_are_torchs_to_answer(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Any, expr: Any) -> bool:
        raise sizewise.InternalError("on purpose")

    monkeypatch.setattr(_facts.Facts, "ask", fails)
    with sizewise.decider(mode) as asked:  # type: ignore[arg-type]
        program = export(Windows(), (randn(2, 10, 3),), dynamic_shapes=({0: AUTO, 1: AUTO},))
    assert asked.stats.failures == 1 and asked.stats.decided == 0
    assert program.module()(randn(3, 9, 3)).shape == (3, 9, 3)


def test_threads() -> None:
    done: list[Any] = []

    def work(mode: Any) -> None:
        with sizewise.decider(mode, debug=True) as asked:
            program = export(Windows(), (randn(2, 10, 3),), dynamic_shapes=({0: AUTO, 1: AUTO},))
        done.append((len(shape_env(program).guards), asked.stats.questions, asked.stats.contradictions))

    original = ShapeEnv._maybe_evaluate_static
    # torch.export itself holds global state, so one thread exports while others only enter and leave.
    stop = threading.Event()

    def flicker() -> None:
        while not stop.is_set():
            with sizewise.decider():
                pass

    others = [threading.Thread(target=flicker) for _ in range(2)]
    for thread in others:
        thread.start()
    try:
        for mode in MODES:
            thread = threading.Thread(target=work, args=(mode,))
            thread.start()
            thread.join()
    finally:
        stop.set()
        for thread in others:
            thread.join()
    assert len(done) == 2 and all(questions and not wrong for _, questions, wrong in done)
    assert ShapeEnv._maybe_evaluate_static is original


def test_other_releases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require_tried(False)
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    with pytest.raises(sizewise.Unsupported, match="any_torch=True"), sizewise.decider():
        pass
    with sizewise.decider(any_torch=True):
        pass
    monkeypatch.setattr(ShapeEnv, "_maybe_evaluate_static", lambda self, expr, other=None: None)
    with pytest.raises(sizewise.Unsupported, match="another method"), sizewise.decider(any_torch=True):
        pass


def test_all_but_the_decider_warn_of_other_releases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = torch.export.export(module(lambda self, x: x * 2), (torch.ones(2),))
    trace = tmp_path / "trace.jsonl"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sizewise.check(program).ok
        with sizewise.record(trace):
            pass
    for release, reads in (("2.99.0", False), ("2.13.1", True), ("2.5.1", False)):
        monkeypatch.setattr(torch, "__version__", release)
        with pytest.warns(UserWarning, match=f"not with {release[:-2]}"), sizewise.record(trace):
            pass
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with sizewise.record(trace, any_torch=True):
                pass
        with contextlib.nullcontext() if reads else pytest.warns(UserWarning, match="reading live programs was tried"):
            assert sizewise.check(program).ok
    monkeypatch.delattr(ShapeEnv, "_add_divisible")
    with pytest.warns(UserWarning), sizewise.record(trace):
        torch.export.export(module(lambda self, x: x * 2), (torch.ones(2),))
    assert trace.read_text()


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="mode"):
        sizewise.decider("before")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="budget"):
        sizewise.decider(budget=0)


def product(self: Any, x: Any) -> Any:
    if x.shape[0] * x.shape[1] == 0:
        return torch.full((1,), 100.0)
    return torch.zeros(1)


def test_backed_size_oblivious_is_refuted() -> None:
    """torch takes sizes to be positive where their range says [0, oo]: `product` is 0 for shape (0, 6), not 100."""
    with torch.fx.experimental._config.patch(backed_size_oblivious=True):
        torch._dynamo.reset()
        compiled = torch.compile(module(product), backend="eager", dynamic=True)
        compiled(randn(4, 6))
        wrong = compiled(randn(0, 6))
    torch._dynamo.reset()
    assert module(product)(randn(0, 6)).item() == 100.0
    assert wrong.item() == 0.0, "torch is right by now: the page says otherwise"
    env = sizewise.Env()
    a, b = env.symbol("a", min=0), env.symbol("b", min=0)
    answer = env.implies(a * b != 0)
    assert answer.verdict == "refuted" and 0 in answer.witness.values()
