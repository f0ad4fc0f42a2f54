"""Declarations of a live program's custom operators, made of the fake functions that are registered for them.

A fake function is run on tensors with a symbol for each size. What it returns are formulas over these, and what it asks
on the way (`torch._check`, a branch) are conditions under which they hold. A call of another form is a case of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Optional

#: Operators in these namespaces have kernels or come declared.
_KNOWN = {
    "aten", "prim", "prims", "quantized_decomposed", "torchvision", "torchaudio", "torchao", "transformers", "fbgemm",
    "llama", "dim_order_ops", "et_copy", "executorch", "profiler", "higher_order",
}  # fmt: skip

#: Calls of more forms than this of one operator are not tried.
_MAX_FORMS = 16


class _Unwritten(Exception):
    """What a declaration has no words for."""


def declarations(program: Any) -> dict[str, str]:
    """A declaration for each custom operator that a live program calls and whose fake function is registered, by the
    operator's name."""
    found: dict[str, str] = {}
    for op, calls in _calls(program).items():
        try:
            found[op.name()] = _declaration(op, calls)
        except Exception:  # A fake function may raise anything; the operator then is one without a shape function.
            continue
    return found


def _calls(program: Any) -> dict[Any, list[tuple[Any, Any]]]:
    import torch

    calls: dict[Any, list[tuple[Any, Any]]] = {}
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            op = node.target
            if node.op == "call_function" and isinstance(op, torch._ops.OpOverload) and _is_custom(op):
                calls.setdefault(op, []).append((node.args, node.kwargs))
    return calls


def _is_custom(op: Any) -> bool:
    from torch._library.simple_registry import singleton

    if op.namespace in _KNOWN or op._schema.is_mutable:
        return False
    return bool(singleton.find(op.name()).fake_impl.kernel)


def _declaration(op: Any, calls: list[tuple[Any, Any]]) -> str:
    cases: list[dict[str, Any]] = []
    for args, kwargs in calls:
        case = _Call(op, args, kwargs).case()
        if case not in cases:
            cases.append(case)
    if len(cases) > _MAX_FORMS:
        raise _Unwritten("too many forms")
    written = ",\n    ".join(_table(case) for case in cases)
    return f"[[operator]]\nschema = {json.dumps(str(op._schema))}\ncases = [\n    {written},\n]\n"


def _table(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_table(of)}" for name, of in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_table(of) for of in value) + "]"
    return json.dumps(value)


class _Call:
    """A call with a symbol of its own for each size of its tensors and each symbolic number."""

    def __init__(self, op: Any, args: Any, kwargs: Any) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        self.op = op
        self.when: list[str] = []
        self.env = ShapeEnv(duck_shape=False, specialize_zero_one=False)
        self.mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)
        #: What each symbol is called in formulas.
        self.names: dict[Any, str] = {}
        schema = op._schema.arguments
        given = {parameter.name: value for parameter, value in zip(schema, args)} | dict(kwargs)
        self.given = {name: self._operand(name, value) for name, value in given.items()}

    def case(self) -> dict[str, Any]:
        with self.mode:
            returned = self.op(**self.given)
        results = list(returned) if len(self.op._schema.returns) > 1 else [returned]
        fresh = dict(self._fresh())
        returns = [self._result(result) for result in results]
        case: dict[str, Any] = {"when": " and ".join(self.when)} if self.when else {}
        requires = list(self._requires())
        case |= ({"fresh": fresh} if fresh else {}) | ({"requires": requires} if requires else {})
        return case | {"returns": returns}

    def _operand(self, name: str, value: Any) -> Any:
        import torch

        if isinstance(value, torch.fx.Node):
            value = value.meta["val"]
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            self.when += [f"{name}.rank == {value.dim()}", f"{name}.dtype == {dtype}"]
            return self._tensor(name, value)
        if isinstance(value, torch.SymInt):
            return self._size(name, value)
        if isinstance(value, bool):
            self.when.append(name if value else f"not {name}")
        elif isinstance(value, int):
            self.when.append(f"{name} == {value}")
        elif isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
            self.when.append(f"{name}.length == {len(value)}")
            self.when += [f"{name}[{i}] == {item}" for i, item in enumerate(value)]
        elif value is not None or self._is_default(name):
            raise _Unwritten(name)
        else:
            self.when.append(f"not {name}.given")
        return value

    def _is_default(self, name: str) -> bool:
        return not any(parameter.name == name for parameter in self.op._schema.arguments)

    def _tensor(self, name: str, value: Any) -> Any:
        import torch

        sizes = [self._size(f"{name}.shape[{i}]", size) for i, size in enumerate(value.shape)]
        with self.mode:
            return torch.empty(sizes, dtype=value.dtype, device=value.device)

    def _size(self, name: str, size: Any) -> Any:
        from torch._dynamo.source import ConstantSource
        from torch.fx.experimental.symbolic_shapes import DimDynamic

        hint = size if isinstance(size, int) else size.node.hint
        if hint is None:
            raise _Unwritten(name)
        source = ConstantSource(name)
        symbol = self.env.create_symbol(hint, source, dynamic_dim=DimDynamic.DYNAMIC)
        self.names[symbol] = name
        return self.env.create_symintnode(symbol, hint=hint, source=source)

    def _result(self, result: Any) -> dict[str, Any]:
        import torch

        if isinstance(result, torch.Tensor):
            dtype = str(result.dtype).removeprefix("torch.")
            made: dict[str, Any] = {"shape": [self._formula(size) for size in result.shape], "dtype": dtype}
            strides = [self._formula(stride) for stride in result.stride()]
            return made if result.is_contiguous() else made | {"strides": strides}
        if isinstance(result, (list, tuple)):
            return {"tensors": [self._result(item) for item in result]}
        if isinstance(result, bool) or not isinstance(result, (int, torch.SymInt)):
            raise _Unwritten("a result")
        return {"int": self._formula(result)}

    def _fresh(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for symbol in list(self.env.var_to_range):
            if symbol in self.names or not self.env.is_unbacked_symint(symbol):
                continue
            bounds, name = self.env.var_to_range[symbol], f"made{len(self.names)}"
            self.names[symbol] = name
            most = {"max": int(bounds.upper)} if bounds.upper.is_Integer and bounds.upper < 2**62 else {}
            yield name, {"min": max(0, int(bounds.lower)) if bounds.lower.is_Integer else 0} | most

    def _requires(self) -> Iterator[str]:
        for guard in self.env.guards:
            yield self._formula(guard.expr)
        for asserts in self.env.deferred_runtime_asserts.values():
            yield from (self._formula(one.expr) for one in asserts)

    def _formula(self, e: Any) -> str:
        return e if isinstance(e, str) else str(e) if isinstance(e, int) else _written(_expression(e), self.names)


def _expression(e: Any) -> Any:
    return getattr(getattr(e, "node", None), "expr", e)


def _operator(sign: str) -> Callable[[list[str]], str]:
    return lambda operands: "(" + f" {sign} ".join(operands) + ")"


#: How operations are written, by the names of their classes.
_WRITTEN: dict[str, Callable[[list[str]], str]] = {
    "Add": _operator("+"), "Mul": _operator("*"), "FloorDiv": _operator("//"), "CleanDiv": _operator("//"),
    "Mod": _operator("%"), "PythonMod": _operator("%"), "And": _operator("and"), "Or": _operator("or"),
    "Not": lambda operands: f"(not {operands[0]})", "Max": lambda operands: f"max({', '.join(operands)})",
    "Min": lambda operands: f"min({', '.join(operands)})", "Abs": lambda operands: f"abs({operands[0]})",
    "Equality": _operator("=="), "Unequality": _operator("!="), "LessThan": _operator("<="),
    "StrictLessThan": _operator("<"), "GreaterThan": _operator(">="), "StrictGreaterThan": _operator(">"),
}  # fmt: skip


def _written(e: Any, names: dict[Any, str]) -> str:
    """A sympy expression as a formula."""
    kind = type(e).__name__
    if e.is_Symbol:
        return names.get(e, str(e))
    if e.is_Integer or e.is_Boolean and not e.args:
        return str(e)
    operands = [_written(part, names) for part in e.args]
    if kind == "Pow" and e.args[1].is_Integer and 1 <= e.args[1] <= 8:
        return _operator("*")([operands[0]] * int(e.args[1]))
    if kind in ("PowByNatural",) and e.args[1].is_Integer and 1 <= e.args[1] <= 8:
        return _operator("*")([operands[0]] * int(e.args[1]))
    if kind not in _WRITTEN:
        raise _Unwritten(kind)
    return _WRITTEN[kind](operands)
