"""What the sizes of the example, and sizes near them, say about a condition."""

import pytest

from sizewise import _native
from sizewise._example import Example


@pytest.mark.parametrize(
    ("low", "known", "condition", "differs"),
    [
        (2, [], "a < b", True),
        (2, [], "Eq(a, 6)", True),
        (2, [], "Eq(a % 2, 0)", True),
        (2, ["Eq(a % 2, 0)"], "Eq(a % 4, 2)", True),
        (2, ["Eq(a, 6)"], "b < a", True),
        # What follows is not false anywhere.
        (2, ["a + 2 <= b"], "a <= b", False),
        (2, ["Eq(a, 6)"], "a < 7", False),
        (2, [], "a >= 2", False),
        (0, [], "a >= 2", True),
        # No division by zero makes a difference.
        (0, [], "Eq(b // a, 1)", True),
        (2, ["Eq(a, 6)", "Eq(b, 8)"], "Eq(b // a, 1)", False),
        # The example is not allowed, or a symbol has no value there.
        (7, [], "a < b", False),
        (2, ["b < a"], "Eq(a, 12)", False),
        (2, [], "a < u", False),
        (2, ["a < u"], "Eq(a, 6)", False),
    ],
)
def test_conditions_differ_near_the_example(low: int, known: list[str], condition: str, differs: bool) -> None:
    native = _native.Env()
    example = Example(native)
    for name, value in (("a", 6), ("b", 8)):
        example.declare(name, value, low, 4096)
    example.declare("u", None, 0, None)
    for text in known:
        example.assume(native.read(text))
    assert example.differs_nearby(native.read(condition)) is differs
