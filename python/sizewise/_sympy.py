"""Expressions of sympy: walked as trees with a memo into a native environment, and back."""

from __future__ import annotations

from typing import Any

from sizewise import _native
from sizewise._errors import ExpressionError

#: Names of sympy's classes for numbers and truth values.
_INTEGERS = frozenset(["Integer", "Zero", "One", "NegativeOne", "int"])
_DOUBLES = frozenset(["Float", "float"])
_INFINITIES = {
    "Infinity": "IntInfinity",
    "IntInfinity": "IntInfinity",
    "NegativeInfinity": "NegativeIntInfinity",
    "NegativeIntInfinity": "NegativeIntInfinity",
}


class Reader:
    """Numbers of sympy expressions in a native environment. What was read before is looked up.

    An expression that has no counterpart raises `ExpressionError`.
    """

    __slots__ = ("env", "memo")

    def __init__(self, env: _native.Env, memo: dict[Any, int] | None = None) -> None:
        self.env = env
        self.memo: dict[Any, int] = {} if memo is None else memo

    def number(self, e: Any) -> int:
        """The number of an expression."""
        known = self.memo.get(e)
        if known is not None:
            return known
        memo, call, stack = self.memo, self.env.call, [e]
        while stack:
            node = stack[-1]
            args = getattr(node, "args", ())
            # Looking up an expression of sympy is what this takes time for.
            numbers = [memo.get(arg, -1) for arg in args]
            if -1 in numbers:
                stack.extend(arg for arg, number in zip(args, numbers) if number < 0)
                continue
            stack.pop()
            memo[node] = call(type(node).__name__, numbers) if args else self._leaf(node)
        return memo[e]

    def _leaf(self, node: Any) -> int:
        """The number of a symbol or a constant."""
        name = type(node).__name__
        env = self.env
        if getattr(node, "is_Symbol", False):
            return env.symbol(node.name)
        if name in _INTEGERS:
            return env.integer(int(node))
        if name in _DOUBLES:
            return env.double(float(node))
        if node is True or name == "BooleanTrue":
            return env.truth(True)
        if node is False or name == "BooleanFalse":
            return env.truth(False)
        if name in _INFINITIES:
            return env.call(_INFINITIES[name], [])
        if getattr(node, "is_Rational", False):
            return env.call("Rational", [env.integer(int(node.p)), env.integer(int(node.q))])
        raise ExpressionError(f"{name} of sympy has no counterpart")


def is_sympy(value: Any) -> bool:
    """Whether a value is an expression of sympy."""
    return any(kind.__module__.startswith("sympy.") for kind in type(value).__mro__)


def to_sympy(env: _native.Env, number: int) -> Any:
    """An expression of an environment for sympy: with torch's functions of sizes where torch is installed."""
    import sympy

    text = env.text(number)
    names: dict[str, Any] = {
        name: sympy.Symbol(name, integer=True, positive=True) for name in env.symbols_of(env.read(text))
    }
    names.update({"Min": sympy.Min, "Max": sympy.Max, "Eq": sympy.Eq, "Ne": sympy.Ne, "Mod": sympy.Mod})
    try:
        from torch.utils._sympy import functions
    except ImportError:
        functions = None
    tree = _python_tree(text)
    return _evaluated(tree, names, functions, sympy)


def _python_tree(text: str) -> Any:
    import ast

    return ast.parse(text, mode="eval").body


def _evaluated(node: Any, names: dict[str, Any], functions: Any, sympy: Any) -> Any:
    import ast

    def walk(node: Any) -> Any:
        if isinstance(node, ast.Constant):
            return sympy.sympify(node.value)
        if isinstance(node, ast.Name):
            return names[node.id]
        if isinstance(node, ast.UnaryOp):
            operand = walk(node.operand)
            return -operand if isinstance(node.op, ast.USub) else sympy.Not(operand)
        if isinstance(node, ast.BinOp):
            return _binary(type(node.op).__name__, walk(node.left), walk(node.right), functions, sympy)
        if isinstance(node, ast.Compare):
            operands = [walk(part) for part in (node.left, *node.comparators)]
            kinds = {
                "Eq": sympy.Eq,
                "NotEq": sympy.Ne,
                "Lt": sympy.Lt,
                "LtE": sympy.Le,
                "Gt": sympy.Gt,
                "GtE": sympy.Ge,
            }
            links = [kinds[type(op).__name__](a, b) for op, a, b in zip(node.ops, operands, operands[1:])]
            return links[0] if len(links) == 1 else sympy.And(*links)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            function = names.get(name) or getattr(functions, name, None) or getattr(sympy, name, None)
            if function is not None:
                return function(*map(walk, node.args))
        raise ExpressionError(f"no counterpart in sympy: {ast.unparse(node)}")

    return walk(node)


def _binary(op: str, left: Any, right: Any, functions: Any, sympy: Any) -> Any:
    if op == "FloorDiv":
        return functions.FloorDiv(left, right) if functions else sympy.floor(left / right)
    if op == "Mod":
        return functions.PythonMod(left, right) if functions else sympy.Mod(left, right)
    if op == "BitAnd":
        return sympy.And(left, right)
    if op == "BitOr":
        return sympy.Or(left, right)
    return {
        "Add": lambda: left + right,
        "Sub": lambda: left - right,
        "Mult": lambda: left * right,
        "Div": lambda: left / right,
        "Pow": lambda: left**right,
    }[op]()
