"""Sizes of live programs as JSON: symbolic ones are read as trees, each part of which is written once."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import torch
from torch._export.serde import serialize as serde
from torch.fx import GraphModule

from sizewise._literals import number


class Sizes:
    """Writes sizes, and remembers what it wrote."""

    def __init__(self) -> None:
        self._expressions: dict[Any, str] = {}
        self._sizes: dict[Any, str] = {}
        self._replacements: dict[Any, Any] | None = None

    def keep(self, ranges: Mapping[Any, Any], shape_env: Any, module: GraphModule) -> None:
        """Keeps symbols that a program declares, also where its environment replaces them.

        When torch loads a program it evaluates the runtime assertions, and takes a symbol in an asserted equality for
        equal from then on. The module does not: until the assertion, the size is a symbol of its own. What the trace
        itself took for equal (in an export under a `ShapesSpec`) is recorded as equal: the comparison is ``True``. So is
        a symbol whose declared range is one number.
        """
        replacements = shape_env.replacements
        declared = {symbol for symbol, range in ranges.items() if symbol in replacements and range.lower != range.upper}
        if declared:
            declared -= _traced_as_equal(module)
        if declared:
            self._replacements = {symbol: expr for symbol, expr in replacements.items() if symbol not in declared}

    def _kept(self, expr: Any) -> Any:
        """An expression with the replacements that count."""
        while (replaced := expr.xreplace(self._replacements)) != expr:
            expr = replaced
        return expr

    def text(self, value: Any) -> str:
        """A size, number or truth value."""
        kind = type(value)
        if kind is int:
            return f'{{"as_int": {value}}}'
        if kind is bool:
            return '{"as_bool": true}' if value else '{"as_bool": false}'
        if kind is float:
            return f'{{"as_float": {number(value)}}}'
        node = value.node
        expr = node.expr if self._replacements is None else self._kept(node._expr)
        known = self._sizes.get(expr)
        if known is None:
            known = self._sizes[expr] = self._symbolic(value, node, expr)
        return known

    def _symbolic(self, value: Any, node: Any, expr: Any) -> str:
        tag, make = next(
            (tag, make)
            for kind, tag, make in (
                (torch.SymInt, "as_int", int),
                (torch.SymFloat, "as_float", float),
                (torch.SymBool, "as_bool", bool),
            )
            if isinstance(value, kind)
        )
        if node.is_constant() or getattr(expr, "is_number", False) or expr in (True, False):
            return self.text(make(expr))
        text = f'{{"as_expr": {{"expr_str": {quoted(self._expression(expr))}'
        hint = None if tag == "as_bool" else node.hint
        if hint is not None:
            shown = str(hint) if tag == "as_int" else number(float(hint))
            text += f', "hint": {{"{tag}": {shown}}}'
        elif tag != "as_bool":
            text += ', "hint": null'
        return text + "}}"

    def _expression(self, expr: Any) -> str:
        """An expression in sympy's `srepr`, each part of which is written once."""
        known = self._expressions.get(expr)
        if known is None:
            args = expr.args
            if args:
                inner = ", ".join([self._expression(arg) for arg in args])
                known = f"{type(expr).__name__}({inner})"
            else:
                known = serde._print_sympy(expr)
            self._expressions[expr] = known
        return known


def _traced_as_equal(module: GraphModule) -> set[Any]:
    """The symbols in comparisons of the graph that the trace decided."""
    symbols: set[Any] = set()
    for node in module.graph.nodes:
        value = node.meta.get("val")
        if node.target is operator.eq and getattr(getattr(value, "node", None), "_expr", value) in (True,):
            for arg in node.args:
                size = getattr(arg, "meta", {}).get("val")
                if isinstance(size, torch.SymInt):
                    symbols |= size.node._expr.free_symbols
    return symbols


def shape_env(module: GraphModule) -> Any:
    """The environment of a graph's symbols; `None` if it has none."""
    for node in module.graph.nodes:
        mode = getattr(node.meta.get("val"), "fake_mode", None)
        if mode is not None:
            return mode.shape_env
    return None
