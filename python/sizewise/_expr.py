"""Expressions over sizes: built with operators, read from text or sympy, handed to an environment as trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from sizewise import _native
from sizewise._errors import ExpressionError
from sizewise._sympy import Reader, to_sympy

if TYPE_CHECKING:
    import sympy

#: What is taken where an expression is expected: sympy expressions are, too.
ExprLike = Union["Expr", str, int, float, "sympy.Basic"]

#: The function that stands for a text.
_TEXT = ""


class Expr:
    """An expression over sizes.

    Operators build larger expressions. Comparisons do too, so an expression has no truth value: ask
    `Env.implies`.

    Examples
    --------
    >>> import sizewise
    >>> s = sizewise.Expr.symbol("s0")
    >>> print((s + 1) // 2 <= s)
    s0 >= ((s0 + 1)//2)
    """

    __slots__ = ("args", "func")

    func: str
    args: tuple[Any, ...]

    def __init__(self, func: str, *args: Any) -> None:
        self.func = func
        self.args = args

    @staticmethod
    def symbol(name: str) -> Expr:
        """A symbol."""
        return Expr("Symbol", name)

    @staticmethod
    def parse(text: str) -> Expr:
        """Reads a text as torch prints expressions.

        Raises
        ------
        ExpressionError
            If the text is no expression.
        """
        _native.Env().read(text)
        return Expr(_TEXT, text)

    @staticmethod
    def from_sympy(e: Any) -> Expr:
        """An expression of sympy, with torch's functions of sizes."""
        env = _native.Env()
        return Expr(_TEXT, env.text(Reader(env).number(e)))

    def to_sympy(self) -> Any:
        """This expression for sympy.

        Functions that sympy does not know are torch's, so torch has to be installed for these. Symbols are
        positive integers, as torch's sizes are.
        """
        env = _native.Env()
        return to_sympy(env, number_of(env, self, {}))

    def _call(self, func: str, other: Any, swap: bool = False) -> Expr:
        if not is_expression(other):
            return NotImplemented  # type: ignore[no-any-return]
        other = other if isinstance(other, (Expr, int, float)) else as_expr(other)
        return Expr(func, other, self) if swap else Expr(func, self, other)

    def __add__(self, other: ExprLike) -> Expr:
        return self._call("Add", other)

    def __radd__(self, other: ExprLike) -> Expr:
        return self._call("Add", other, swap=True)

    def __sub__(self, other: ExprLike) -> Expr:
        return self._call("Add", Expr("Mul", -1, as_expr(other)))

    def __rsub__(self, other: ExprLike) -> Expr:
        return as_expr(other) - self

    def __mul__(self, other: ExprLike) -> Expr:
        return self._call("Mul", other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return self._call("Mul", other, swap=True)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return self._call("FloorDiv", other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return self._call("FloorDiv", other, swap=True)

    def __mod__(self, other: ExprLike) -> Expr:
        return self._call("PythonMod", other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return self._call("PythonMod", other, swap=True)

    def __truediv__(self, other: ExprLike) -> Expr:
        return self._call("IntTrueDiv", other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return self._call("IntTrueDiv", other, swap=True)

    def __pow__(self, other: ExprLike) -> Expr:
        return self._call("PowByNatural", other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return self._call("PowByNatural", other, swap=True)

    def __neg__(self) -> Expr:
        return Expr("Mul", -1, self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return Expr("Abs", self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("Eq", other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._call("Ne", other)

    def __lt__(self, other: ExprLike) -> Expr:
        return self._call("Lt", other)

    def __le__(self, other: ExprLike) -> Expr:
        return self._call("Le", other)

    def __gt__(self, other: ExprLike) -> Expr:
        return self._call("Gt", other)

    def __ge__(self, other: ExprLike) -> Expr:
        return self._call("Ge", other)

    def __and__(self, other: ExprLike) -> Expr:
        return self._call("bitwise_and", other)

    def __rand__(self, other: ExprLike) -> Expr:
        return self._call("bitwise_and", other, swap=True)

    def __or__(self, other: ExprLike) -> Expr:
        return self._call("bitwise_or", other)

    def __ror__(self, other: ExprLike) -> Expr:
        return self._call("bitwise_or", other, swap=True)

    def __invert__(self) -> Expr:
        return Expr("Not", self)

    # Comparisons build expressions, so what is compared in dictionaries is identity.
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError(f"an expression has no truth value; ask env.implies({str(self)!r})")

    def __str__(self) -> str:
        if self.func == _TEXT:
            return str(self.args[0])
        env = _native.Env()
        return env.text(number_of(env, self, {}))

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Expr, (self.func, *self.args)

    @property
    def symbols(self) -> list[str]:
        """The names of the symbols, each once."""
        env = _native.Env()
        return env.symbols_of(number_of(env, self, {}))


def Min(*operands: ExprLike) -> Expr:
    """The least of some expressions."""
    return Expr("Min", *map(as_expr, operands))


def Max(*operands: ExprLike) -> Expr:
    """The greatest of some expressions."""
    return Expr("Max", *map(as_expr, operands))


def is_expression(value: Any) -> bool:
    """Whether a value can stand for an expression."""
    return isinstance(value, (Expr, str, int, float)) or _is_sympy(value)


def as_expr(value: Any) -> Expr:
    """The expression that a value stands for.

    Raises
    ------
    ExpressionError
        If it stands for none.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, str):
        return Expr(_TEXT, value)
    if isinstance(value, (int, float)):
        return Expr("Identity", value)
    if _is_sympy(value):
        return Expr.from_sympy(value)
    node = getattr(value, "node", None)
    if node is not None and _is_sympy(getattr(node, "expr", None)):
        # torch.SymInt and its kin.
        return Expr.from_sympy(node.expr)
    raise ExpressionError(f"expected an expression (text, int, sympy or sizewise.Expr), got {type(value).__name__}")


def _is_sympy(value: Any) -> bool:
    return any(kind.__module__.startswith("sympy.") for kind in type(value).__mro__)


def number_of(env: _native.Env, e: Expr, memo: dict[int, tuple[int, Expr]]) -> int:
    """The number of an expression in a native environment; `memo` has the parts that it knows, by identity."""
    stack: list[tuple[Expr, bool]] = [(e, False)]
    while stack:
        node, expanded = stack.pop()
        if id(node) in memo:
            continue
        operands = [arg for arg in node.args if isinstance(arg, Expr)]
        if not expanded and operands:
            stack.append((node, True))
            stack.extend((arg, False) for arg in operands)
            continue
        memo[id(node)] = (_made(env, node, memo), node)
    return memo[id(e)][0]


def _made(env: _native.Env, node: Expr, memo: dict[int, tuple[int, Expr]]) -> int:
    if node.func == _TEXT:
        return env.read(node.args[0])
    if node.func == "Symbol":
        return env.symbol(node.args[0])
    return env.call(node.func, [_operand(env, arg, memo) for arg in node.args])


def _operand(env: _native.Env, arg: Any, memo: dict[int, tuple[int, Expr]]) -> int:
    if isinstance(arg, Expr):
        return memo[id(arg)][0]
    if isinstance(arg, bool):
        return env.truth(arg)
    return env.integer(arg) if isinstance(arg, int) else env.double(arg)
