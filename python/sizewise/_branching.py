"""The condition of a line of Python that branches."""

from __future__ import annotations

import ast

#: Comparisons and their opposites.
_OPPOSITE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.GtE(),
    ast.LtE: ast.Gt(),
    ast.Gt: ast.LtE(),
    ast.GtE: ast.Lt(),
}


def checks_of_line(source: str) -> list[str]:
    """The calls of `torch._check` that decide the comparison by which a line branches: for one side, for the other.

    There are none where the line has several comparisons, or is no whole statement.
    """
    try:
        tree = ast.parse(_completed(source))
    except SyntaxError:
        return []
    tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert))]
    compared = [node for test in tests for node in ast.walk(test) if isinstance(node, ast.Compare)]
    if len(compared) != 1 or len(compared[0].ops) != 1:
        return []
    test, operator = compared[0], _OPPOSITE.get(type(compared[0].ops[0]))
    if operator is None:
        return []
    opposite = ast.Compare(test.left, [operator], test.comparators)
    return [f"torch._check({ast.unparse(one)})" for one in (test, opposite)]


def _completed(source: str) -> str:
    """A line as a statement: what ends in a colon has a body."""
    text = source.strip()
    if text.startswith("elif "):
        text = text[2:]
    return f"{text} pass" if text.endswith(":") else text
