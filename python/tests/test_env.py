"""Environments and expressions."""

import pickle
import signal
import threading
import time

import pytest

import sizewise
from sizewise import Env, Expr, _native


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        ("s0 >= 8", "implied"),
        ("s0 >= 16", "refuted"),
        ("Eq(8*(s0//8), s0)", "implied"),
        ("Eq(s0 % 4, 0) & (s0 > 2)", "implied"),
        ("Eq(s0//s0, 1)", "implied"),
        ("s0 < s1", "refuted"),
    ],
)
def test_implies(goal: str, verdict: str) -> None:
    env = Env()
    s = env.symbol("s0", min=2)
    env.symbol("s1", min=0)
    env.assume(s % 8 == 0)
    answer = env.implies(goal)
    assert answer.verdict == verdict
    assert bool(answer) == (verdict == "implied")
    assert (answer.witness is not None) == (verdict == "refuted")


def test_a_witness_satisfies_the_facts_and_not_the_condition() -> None:
    env = Env()
    s, t = env.symbol("s0", min=2, max=100), env.symbol("s1", min=2)
    env.assume(s > t, "s0 % 3 == 1")
    witness = env.implies(s * t < 1000).witness
    assert witness is not None
    assert witness["s0"] % 3 == 1 and witness["s0"] > witness["s1"] and witness["s0"] * witness["s1"] >= 1000


def test_what_is_needed_is_named_as_it_was_written() -> None:
    env = Env()
    env.symbol("s0", min=2)
    env.symbol("s1", min=2)
    env.assume("s0 % 8 == 0", "s1 == 3*s0")
    assert env.implies("s0 >= 8").because == ["s0 % 8 == 0", "2 <= s0"]


def test_contradictory_facts_are_named() -> None:
    env = Env()
    env.symbol("s0", min=2, max=7)
    env.assume("s0 % 8 == 0")
    answer = env.implies("s0 == 5")
    assert answer.verdict == "inconsistent" and not answer
    env = Env()
    env.symbol("s0", min=7)
    env.symbol("s0", max=2)
    assert env.implies("s0 == 5").verdict == "inconsistent"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (lambda s, t: s + t * 2 - 1, "s0 + 2*s1 - 1"),
        (lambda s, t: 1 - s, "1 - s0"),
        (lambda s, t: (s + 1) // 2, "(s0 + 1)//2"),
        (lambda s, t: 7 % s, "Mod(7, s0)"),
        (lambda s, t: -s // 3, "(-s0)//3"),
        (lambda s, t: s**2, "s0**2"),
        (lambda s, t: (s == t) & (s > 2), None),
        (lambda s, t: ~(s == t), "Ne(s0, s1)"),
        (lambda s, t: sizewise.Min(s, t, 4), "Min(4, s0, s1)"),
        (lambda s, t: sizewise.Max(1, s), None),
        (lambda s, t: s + "s1*2", "s0 + 2*s1"),
    ],
)
def test_operators(expr, text) -> None:
    built = expr(Expr.symbol("s0"), Expr.symbol("s1"))
    again = Env()._native
    from sizewise._expr import number_of

    assert again.text(again.read(str(built))) == again.text(number_of(again, built, {}))
    if text is not None:
        assert again.text(again.read(text)) == str(built)
    assert str(pickle.loads(pickle.dumps(built))) == str(built)


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(Expr.symbol("s0") == 1)
    with pytest.raises(TypeError):
        Expr.symbol("s0") + [1]  # type: ignore[operator]


@pytest.mark.parametrize("text", ["s0 +", "frob(s0)", "s0 / s1", "(" * 300])
def test_texts_that_are_no_expressions(text: str) -> None:
    env = Env()
    with pytest.raises(sizewise.ExpressionError):
        env.implies(text)
    with pytest.raises(sizewise.ExpressionError):
        Expr.parse(text)
    assert env.implies("Eq(1, 1)")


def test_deep_trees_are_refused() -> None:
    e = Expr.symbol("s0")
    for _ in range(10_000):
        e = e % 7 + 1
    with pytest.raises(sizewise.ExpressionError, match="nested deeper"):
        Env().implies(e == 1)


def test_simplify_bounds_minimize() -> None:
    env = Env()
    s = env.symbol("s0", min=2, max=100)
    assert str(env.simplify("Max(s0, 1)")) == "s0"
    bounds = env.bounds(3 * s - 1)
    assert (bounds.min, bounds.max, bounds.exact) == (5, 299, True)
    assert bounds.min_at == {"s0": 2} and bounds.max_at == {"s0": 100}
    smaller = env.minimize(["s0 >= 4", s >= 3, "Ne(s0, 1)"])
    assert [str(guard) for guard in smaller.guards] == ["4 <= s0"]
    assert {dropped.guard for dropped in smaller.dropped} == {"s0 >= 3", "Ne(s0, 1)"}


def test_a_cancelled_divisor_is_part_of_a_guard() -> None:
    env = Env()
    s = env.symbol("s0", min=0)
    assert [str(g) for g in env.minimize([s // s == 1]).guards] != []


def test_a_branch_goes_on_by_itself() -> None:
    env = Env()
    s = env.symbol("s0", min=2)
    other = env.branch()
    other.assume(s == 8)
    assert other.implies(s >= 8) and not env.implies(s >= 8)
    env.assume(s == 4)
    assert env.implies(s < 8) and other.implies(s == 8)


def test_big_integers() -> None:
    env = Env()
    s = env.symbol("s0", min=10**30, max=10**40)
    assert env.bounds(s + 1).max == 10**40 + 1
    assert env.implies(s > 10**29)


def test_the_decider_answers_by_verdict_alone() -> None:
    env = _native.Env()
    s = env.symbol("s0")
    env.declare(s, 2, 100, 16)
    eight = env.integer(8)
    env.assume(env.call("Eq", [env.call("Mod", [s, eight]), env.integer(0)]))
    assert env.settle(env.call("Ge", [s, eight])) in [(True, "store"), (True, "ranges")]
    assert env.settle(env.call("Lt", [s, env.integer(4)]))[0] is False
    assert env.settle(env.call("Ge", [s, env.integer(16)])) == (None, "open")
    times_eight = env.call("Mul", [eight, env.call("FloorDiv", [s, eight])])
    assert env.settle(env.call("Eq", [times_eight, s]))[0] is True
    with pytest.raises(sizewise.ExpressionError):
        env.call("Frobnicate", [s])
    with pytest.raises(sizewise.ExpressionError):
        env.settle(10_000)
    assert env.evaluate(times_eight, {"s0": 17}) == 16


def test_sympy_in_and_out() -> None:
    sympy = pytest.importorskip("sympy")
    s = sympy.Symbol("s0", integer=True, positive=True)
    env = Env()
    env.symbol("s0", min=2)
    env.assume(sympy.Eq(sympy.Mod(s, 8), 0))
    assert env.implies(sympy.Ge(s, 8))
    assert env.implies(sympy.Max(s, 8) >= s)
    half = Expr.from_sympy((s + 1) * sympy.Rational(1, 2))
    assert str(half) == "(s0 + 1)/2"
    back = Expr.parse("2*s0 + Max(s0, 3)").to_sympy()
    assert back == 2 * s + sympy.Max(s, 3)
    assert env.implies(sympy.true) and not env.implies(sympy.false)


def test_threads_share_an_environment() -> None:
    env = Env()
    s = env.symbol("s0", min=2)
    env.assume(s % 8 == 0)
    wrong = []

    def ask(k: int) -> None:
        for i in range(20):
            if env.implies(s * (i + 1) >= 8 * (i + 1) + k).verdict != ("implied" if k == 0 else "refuted"):
                wrong.append((k, i))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_ctrl_c_interrupts() -> None:
    env = Env()
    for name in "abcdef":
        env.symbol(name, min=2)
    env.assume("a*a*b + c*c*d % 7 > e*f*f", "a**3 + b**3 > c**3 + d*e*f % 11")
    hard = "Ne(a**3 + b**3 + 7*(c*d//(e + 1)), 4*f**3 + 5*(a*b % (c + d))*e)"
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.15, lambda: signal.pthread_kill(main, signal.SIGINT))
    began = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() < began + 5:
                env.implies(hard, budget=1000)
    finally:
        timer.cancel()
    assert time.monotonic() - began < 0.15 + 0.4
    # What was derived meanwhile is forgotten.
    assert env.implies("a >= 2")
