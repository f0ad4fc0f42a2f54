"""`audit_guards`: which shape guards of a compiled function follow from the shapes that will be served."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sizewise._arguments import check_budget
from sizewise._env import Env
from sizewise._errors import ExpressionError, SpecError

#: A size, a stride, an offset or a number, as guards of torch name them.
_SOURCE = re.compile(
    r"L\['\w+'\](?:\[[^\]]*\]|\.(?!size\(|stride\(|storage_offset\()\w+)*"
    r"(?:\.(?:size|stride)\(\)\[\d+\]|\.storage_offset\(\))?"
)
_SHAPE = re.compile(r"\b([A-Za-z_]\w*)\.shape\[(\d+)\]")
_TENSOR = re.compile(r"^check_tensor\((.+?), .*?\bsize=\[([^\]]*)\]")
_INPUT = re.compile(r"L\['(\w+)'\]")
_OF_TENSOR = re.compile(r"^(.*)\.(size|stride)\(\)\[(\d+)\]$")


@dataclass(frozen=True)
class AuditedGuard:
    """A guard, and whether it can be dropped."""

    #: As torch writes it.
    guard: str
    #: Whether it holds for everything in the ranges; `None` if that is not known.
    follows: bool | None
    #: What it follows from.
    because: list[str] = field(default_factory=list)
    #: Sizes within the ranges that break it: they would recompile.
    recompiles: dict[str, Any] | None = None

    def __str__(self) -> str:
        if self.follows:
            return f"follows   {self.guard}" + (f"   from {', '.join(self.because)}" if self.because else "")
        if self.follows is None:
            return f"unknown   {self.guard}"
        shown = ", ".join(f"{name}: {value}" for name, value in (self.recompiles or {}).items())
        return f"needed    {self.guard}   recompiles at {shown}"


class Audit(list[AuditedGuard]):
    """The guards, in torch's order. It is true where all of them can be dropped."""

    @property
    def needed(self) -> list[AuditedGuard]:
        """The guards that some sizes within the ranges break, and those of which that is not known."""
        return [one for one in self if not one.follows]

    def __bool__(self) -> bool:
        return not self.needed

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no shape guards"


def audit_guards(
    compiled_or_guards: Any,
    ranges: Mapping[str, Any],
    *,
    assume: str | Iterable[str] = (),
    contiguous: bool = True,
    budget: float = 1.0,
) -> Audit:
    """Which shape guards follow from declared ranges, and inputs that would recompile where one does not.

    Parameters
    ----------
    compiled_or_guards : callable, module, ExportedProgram or list of str
        A function or module that `torch.compile` compiled and that ran; every compiled frame counts. Or the texts of
        guards.
    ranges : mapping
        What will be served, by the names of inputs: for a tensor a list or a dict by dimensions, for a number one
        entry. An input that there is not is refused where the inputs are known. An entry is an integer, a pair ``(min,
        max)`` of integers or `None`, or a `Dim`: dimensions with the same `Dim` are equal. What is not mentioned may be
        anything.
    assume : str or iterable of str, optional
        More that holds, as ``"x.shape[0] % 8 == 0"``.
    contiguous : bool
        Whether tensors are contiguous and begin their storage.

    Examples
    --------
    >>> import sizewise
    >>> guards = ["L['x'].size()[0] <= 2048", "(L['x'].size()[1] % 8) == 0"]
    >>> print(sizewise.audit_guards(guards, {"x": [(1, 512), (8, 64)]}))
    follows   L['x'].size()[0] <= 2048   from x.shape[0] <= 512
    needed    (L['x'].size()[1] % 8) == 0   recompiles at x: [3, 9]
    """
    check_budget(budget)
    assumed = [assume] if isinstance(assume, str) else list(assume)
    texts, ranks, known = _guards(compiled_or_guards)
    sizes = _Sizes(ranges, ranks)
    facts = [(condition, sizes.read(_SHAPE.sub(r"L['\1'].size()[\2]", condition))) for condition in assumed]
    _refuse_unknown(ranges, known)
    guards = [(text, sizes.read(text)) for text in texts]
    sizes.declare(contiguous)
    for text, condition in facts:
        try:
            sizes.env.assume(condition)
        except ExpressionError as error:
            raise sizes.unreadable(text, error) from None
    return Audit(_audited(sizes, text, condition, budget) for text, condition in guards)


def _refuse_unknown(ranges: Mapping[str, Any], known: set[str]) -> None:
    """Refuses ranges of what is no input, where the inputs are known."""
    for name in ranges if known else ():
        source = re.match(r"L\['(\w+)'\]", name)
        if (source.group(1) if source else re.split(r"[.\[]", name)[0]) not in known:
            raise SpecError(f"{name}: no such input; there are: {', '.join(sorted(known)) or 'none'}")


def _audited(sizes: _Sizes, guard: str, condition: str, budget: float) -> AuditedGuard:
    try:
        answer = sizes.env.implies(condition, budget=budget)
    except ExpressionError as error:
        raise sizes.unreadable(guard, error) from None
    if answer.verdict == "inconsistent":
        raise SpecError("no input is within the ranges: they contradict each other")
    if answer.verdict == "implied":
        return AuditedGuard(guard, True, [sizes.shown(fact) for fact in answer.because])
    if answer.verdict == "refuted":
        return AuditedGuard(guard, False, [], sizes.inputs(answer.witness or {}))
    return AuditedGuard(guard, None)


class _Sizes:
    """Symbols for the sizes that guards and ranges mention."""

    def __init__(self, ranges: Mapping[str, Any], ranks: Mapping[str, int]) -> None:
        self.env = Env()
        self.contiguous = False
        self.ranks = dict(ranks)
        self.names: dict[str, str] = {}
        self.entries: dict[str, Any] = {}
        for name, entry in ranges.items():
            source = name if name.startswith("L[") else f"L['{name}']"
            if isinstance(entry, list):
                self.ranks.setdefault(source, len(entry))
                entry = dict(enumerate(entry))
            if isinstance(entry, Mapping):
                for dim, one in entry.items():
                    self.entries[f"{source}.size()[{dim}]"] = one
            else:
                self.entries[source] = entry
        for source in self.entries:
            self.symbol(source)

    def symbol(self, source: str) -> str:
        """The symbol of a source."""
        return self.names.setdefault(source, f"v{len(self.names)}")

    def read(self, text: str) -> str:
        """A condition on symbols."""
        return _SOURCE.sub(lambda found: self.symbol(found.group()), text)

    def declare(self, contiguous: bool) -> None:
        """Adds the ranges, once all guards were read."""
        self.contiguous = contiguous
        strides = [self._stride(source) for source in [*self.names] if contiguous and ".stride()" in source]
        dims: dict[str, str] = {}
        for source, symbol in self.names.items():
            least, most = _bounds(self.entries.get(source), source)
            if ".size()[" in source:
                least = max(least or 0, 0)
            if least is not None and most is not None and least > most:
                raise SpecError(f"{_short(source)}: no input is within the ranges: {least} and {most} contradict")
            self.env.symbol(symbol, min=least, max=most)
            if contiguous and source.endswith(".storage_offset()"):
                self.env.assume(f"{symbol} == 0")
            dim = getattr(self.entries.get(source), "__name__", None)
            if dim is not None and dims.setdefault(dim, symbol) != symbol:
                self.env.assume(f"{symbol} == {dims[dim]}")
        for condition in strides:
            self.env.assume(condition)

    def _stride(self, source: str) -> str:
        """What the stride of a contiguous tensor is, if its rank is known."""
        tensor, _, dim = _parts(source)
        if tensor not in self.ranks:
            return "True"
        after = [self.symbol(f"{tensor}.size()[{i}]") for i in range(int(dim) + 1, self.ranks[tensor])]
        # The stride of an empty tensor counts sizes as at least 1.
        product = "*".join(f"Max({symbol}, 1)" for symbol in after) or "1"
        return f"{self.symbol(source)} == {product}"

    def shown(self, text: str) -> str:
        """A condition as users write it."""
        sources = {symbol: source for source, symbol in self.names.items()}
        return re.sub(r"\bv\d+\b", lambda found: _short(sources.get(found.group(), found.group())), text)

    def unreadable(self, text: str, error: ExpressionError) -> ExpressionError:
        """The error for a condition as it was given: the message is about the text with symbols."""
        why = re.sub(r"^line \d+, column \d+: ", "", str(error)).rpartition(' in "')[0] or str(error)
        return ExpressionError(f"{text}: {self.shown(why)}")

    def inputs(self, witness: Mapping[str, int]) -> dict[str, Any]:
        """Sizes as inputs: shapes of tensors, and numbers. A size that does not matter has its least value."""
        found: dict[str, Any] = {}
        for source, symbol in self.names.items():
            value = witness.get(symbol)
            if value is None:
                value = _bounds(self.entries.get(source), source)[0] or 0
            tensor, kind, dim = _parts(source)
            if kind == "size":
                shape = found.setdefault(_short(tensor), [])
                shape.extend([None] * (max(int(dim) + 1, self.ranks.get(tensor, 0)) - len(shape)))
                shape[int(dim)] = value
            elif not kind or (symbol in witness and not self.contiguous):
                found[_short(source)] = value
        return found


def _parts(source: str) -> tuple[str, str, str]:
    found = _OF_TENSOR.match(source)
    if found is not None:
        return found.group(1), found.group(2), found.group(3)
    return source, "offset" if source.endswith(".storage_offset()") else "", ""


def _short(source: str) -> str:
    return re.sub(r"^L\['(\w+)'\]", r"\1", source).replace(".size()[", ".shape[")


def _bounds(entry: Any, source: str) -> tuple[int | None, int | None]:
    if entry is None:
        return None, None
    if isinstance(entry, int):
        return entry, entry
    if isinstance(entry, tuple) and len(entry) == 2:
        return entry[0], entry[1]
    if hasattr(entry, "min") and hasattr(entry, "max") and hasattr(entry, "__name__"):
        low, high = entry.min, entry.max
        return int(low), int(high) if isinstance(high, int) else None
    raise SpecError(f"{_short(source)}: expected an integer, a pair (min, max) or a Dim, not {entry!r}")


def _guards(given: Any) -> tuple[list[str], dict[str, int], set[str]]:
    """The texts of shape guards, the ranks of the tensors where they are known, and the names of inputs.

    Of texts no names are given: an input without guards is none of them.
    """
    if isinstance(given, str):
        given = [given]
    known: set[str] = set()
    if isinstance(given, (list, tuple)) and all(isinstance(one, str) for one in given):
        parts = list(given)
    elif isinstance(getattr(given, "_guards_code", None), list):
        parts = list(given._guards_code)
        known.update(_names(given))
    else:
        frames = _frames(given)
        if not frames:
            raise SpecError("nothing is compiled yet: call the function first, or give the texts of guards")
        for frame in frames:
            frame.populate_code_parts_for_debugging()
        parts = [text for frame in frames for text in frame.code_parts]
        known.update(_parameters(given))
    if known:
        known.update(name for text in parts for name in _INPUT.findall(text))
    texts: dict[str, None] = {}
    ranks: dict[str, int] = {}
    for text in parts:
        tensor = _TENSOR.match(text)
        if tensor is not None:
            sizes = [size.strip() for size in tensor.group(2).split(",") if size.strip()]
            ranks[tensor.group(1)] = len(sizes)
            for dim, size in enumerate(sizes):
                if size.isdigit():
                    texts[f"{tensor.group(1)}.size()[{dim}] == {size}"] = None
        elif _is_about_sizes(text):
            texts[text] = None
    return list(texts), ranks, known


def _names(program: Any) -> list[str]:
    """The parameters and placeholders of an exported program."""
    from sizewise._read import read

    return [name for placeholder, parameter, *_ in read(program).inputs() for name in (placeholder, parameter) if name]


def _parameters(compiled: Any) -> tuple[str, ...]:
    """The names of what a compiled function takes."""
    code = _function(compiled).__code__
    collected = sum(bool(code.co_flags & flag) for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS))
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + collected])


def _frames(compiled: Any) -> list[Any]:
    """What guards the compiled versions of a function or of a module's method."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    return [entry.guard_manager for entry in _debug_get_cache_entry_list(_function(compiled))]


def _function(compiled: Any) -> Any:
    """The function that was compiled."""
    original = getattr(compiled, "_orig_mod", None)
    function = type(original).forward if original is not None else compiled
    if hasattr(function, "_torchdynamo_orig_callable"):
        function = function._torchdynamo_orig_callable
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        raise SpecError(f"expected a compiled function or module, or texts of guards, not {type(compiled).__name__}")
    return function


def _is_about_sizes(text: str) -> bool:
    """Whether a guard is about sizes or numbers. One that names a size is, also if it cannot be read."""
    found = _SOURCE.findall(text)
    if not found:
        return False
    if any(_OF_TENSOR.match(source) or source.endswith(".storage_offset()") for source in found):
        return True
    if re.search(r"\b(True|False|None)\b", text):
        # Attributes as `requires_grad`.
        return False
    env = Env()
    env.symbol("v0")
    try:
        env.implies(_SOURCE.sub("v0", text), budget=0.01)
    except ExpressionError:
        return False
    return True
