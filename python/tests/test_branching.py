"""The `torch._check` that decides the branch of a line."""

import pytest

from sizewise._branching import checks_of_line


@pytest.mark.parametrize(
    ("line", "checks"),
    [
        ("if boxes.numel() == 0:", ["boxes.numel() == 0", "boxes.numel() != 0"]),
        ("if x.shape[0] > 3: return x", ["x.shape[0] > 3", "x.shape[0] <= 3"]),
        ("elif n >= m:", ["n >= m", "n < m"]),
        ("while n < 4:", ["n < 4", "n >= 4"]),
        ("assert n <= 4, 'long'", ["n <= 4", "n > 4"]),
        ("return x if n != 4 else y", ["n != 4", "n == 4"]),
        ("if self.skips and rows.shape[0] == 0:", ["rows.shape[0] == 0", "rows.shape[0] != 0"]),
        ("if a == 0 or b == 0:", []),
        ("if 0 < a < 4:", []),
        ("if a in (1, 2):", []),
        ("if a:", []),
        ("for i in range(n):", []),
        ("and a == 0):", []),
        ("y = a == 0", []),
    ],
)
def test_the_comparison_of_a_line_and_its_opposite_are_checks(line: str, checks: list[str]) -> None:
    assert checks_of_line(line) == [f"torch._check({check})" for check in checks]
