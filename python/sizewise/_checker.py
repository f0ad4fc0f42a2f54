"""Checkers of input shapes, to be put before a deployed model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sizewise import _native
from sizewise._check import evaluate
from sizewise._errors import ProgramError, ShapeError, Unsupported
from sizewise._read import Ops, operators, read, source_of
from sizewise._structure import containers, document, structure


class ShapeChecker:
    """Raises `ShapeError` for inputs that a program does not serve.

    It is called as the module is: what the program takes by position is passed by position, what it takes by keyword
    by keyword, and containers are those of the example. A call costs microseconds where the inputs are in the region
    that is proved; others are looked at one by one, which takes a millisecond: single sizes of 0 or 1 may be served
    although no proof covers them. A checker can be pickled; the program goes with it, without its weights.
    """

    def __init__(self, program: _native.Program, declared: list[tuple[str, str]], source: Any = None) -> None:
        self._program = program
        self._declared = declared
        self._source = source
        text = program.guards("python", declared)
        self._names, self._call = _compiled(program, text, structure(document(source)) if source is not None else None)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        try:
            doubt = self._call(args, kwargs)
        except (LookupError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            raise ShapeError(self._refusal(args, kwargs, error)) from None
        if doubt is not None:
            self._decide(doubt)

    def _decide(self, sizes: dict[str, Any]) -> None:
        """Raises unless these shapes are served."""
        try:
            result = evaluate(self._program, sizes, ops=dict(self._declared))
        except ProgramError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ShapeError(str(error)) from None
        if not result.ok:
            raise ShapeError(result.error or "refused")

    def accepts(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the program serves these inputs."""
        try:
            self(*args, **kwargs)
        except ShapeError:
            return False
        return True

    def _refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> str:
        """What is wrong with a call whose inputs are not structured as those of the example."""
        positional, by_keyword = self._names
        known = ", ".join([*positional, *sorted(by_keyword)])
        for name in kwargs:
            if name in by_keyword:
                continue
            if name in positional:
                return f"{name} is passed by keyword, but the program takes it by position"
            return f"{name} is no input of the program; its inputs are: {known}"
        missing = [name for name in sorted(by_keyword) if name not in kwargs]
        if missing:
            return f"{', '.join(missing)}: missing; the program takes it by keyword"
        if len(args) != len(positional):
            return f"expected {len(positional)} positional arguments ({', '.join(positional)}), got {len(args)}"
        return f"the inputs are not structured as those of the example: {error}"

    def source(self, language: str = "python") -> str:
        """The proved region as a file without dependencies: ``"python"``, ``"c"``, ``"rust"``, or ``"json"``."""
        return self._program.guards(language, self._declared)

    def __reduce__(self) -> tuple[Any, ...]:
        data = None if self._source is None else document(self._source)
        if data is None:
            raise TypeError("this checker cannot be pickled: the bytes of its program are not at hand")
        return _restored, (data, self._declared)


class ModelChecker(ShapeChecker):
    """Raises `ShapeError` for inputs that an ONNX model does not serve, or does not declare.

    It is called with a dictionary, as ``run`` of an onnxruntime session is, or with the inputs in the model's order or
    by their names. Sizes have to be at least 1 and as declared, equal names being equal sizes.
    """

    def __init__(self, program: _native.Program | None, sources: Mapping[str, str]) -> None:
        self._model = program
        self._sources = dict(sources)
        space: dict[str, Any] = {}
        exec(compile(self.source("python"), "<sizewise shape checker>", "exec"), space)
        self._check: Callable[[Mapping[str, Any]], str | None] = space["check"]
        self._inputs: list[str] = [entry["name"] for entry in json.loads(self.source("json"))["inputs"]]

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        given: Mapping[str, Any]
        if len(args) == 1 and not kwargs and isinstance(args[0], Mapping):
            given = args[0]
        elif len(args) > len(self._inputs):
            raise ShapeError(f"expected at most {len(self._inputs)} inputs ({', '.join(self._inputs)}), got {len(args)}")
        else:
            given = dict(zip(self._inputs, args))
            for name, value in kwargs.items():
                if name in given:
                    raise ShapeError(f"{name} is given twice")
                given[name] = value
        unknown = [name for name in given if name not in self._inputs]
        if unknown:
            raise ShapeError(f"{unknown[0]} is no input of the model; its inputs are: {', '.join(self._inputs)}")
        refusal = self._check({name: _sizes(name, value) for name, value in given.items()})
        if refusal is not None:
            raise ShapeError(refusal)

    def source(self, language: str = "python") -> str:
        """The checker as a file without dependencies: ``"python"``, ``"c"``, ``"rust"``, or ``"json"``."""
        if language not in self._sources and self._model is not None:
            self._sources[language] = self._model.guards(language)
        if language not in self._sources:
            raise Unsupported(f"a checker that was pickled has no source in {language!r}")
        return self._sources[language]

    def __reduce__(self) -> tuple[Any, ...]:
        for language in ("python", "json", "c", "rust"):
            try:
                self.source(language)
            except Unsupported:
                pass
        return ModelChecker, (None, self._sources)


def _sizes(name: str, value: Any) -> Any:
    """The shape of a tensor of any library."""
    shape: Any = getattr(value, "shape", None)
    if callable(shape):
        shape = shape()
    if shape is None:
        raise ShapeError(f"{name}: expected a tensor, got {type(value).__name__}")
    return tuple(shape)


def _restored(data: bytes, declared: list[tuple[str, str]]) -> ShapeChecker:
    return ShapeChecker(read(data), declared, data)


def shape_checker(program: Any, *, ops: Ops = None) -> ShapeChecker:
    """A callable that accepts the inputs which a program serves.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        The program.

    Examples
    --------
    >>> import sizewise
    >>> check = sizewise.shape_checker("../examples/area.pt2")  # doctest: +SKIP
    >>> check(x, y)  # doctest: +SKIP
    """
    source = source_of(program)
    native = read(program if source is None else source)
    if native.is_model:
        return ModelChecker(native, {"python": native.guards("python", operators(ops))})
    if source is None:
        return ShapeChecker(native, operators(ops, program))
    # The file may have changed or be gone when the checker is pickled, so what it needs is read now.
    return ShapeChecker(native, operators(ops, program), document(source))


#: Positional parameters by position, and the names of all that are passed by keyword.
_Names = tuple[list[str], set[str]]


def _compiled(
    program: _native.Program, source: str, recorded: dict[str, Any] | None
) -> tuple[_Names, Callable[[Any, Any], dict[str, Any] | None]]:
    """The names of the parameters, and what gives the sizes of inputs that are not in the proved region."""
    space: dict[str, Any] = {}
    exec(compile(source, "<sizewise shape checker>", "exec"), space)
    inner: Callable[[Mapping[str, Any]], str | None] = space["check"]
    inputs = program.inputs()
    positional: dict[int, str] = {}
    keywords, entries = set(), []
    plain = all(way for *_, way in inputs)
    for i, (placeholder, parameter, path, _) in enumerate(inputs):
        if path.startswith("args["):
            positional.setdefault(int(path[5 : path.index("]")]), parameter or "")
        else:
            keywords.add(parameter or "")
        entries.append(f"{placeholder!r}: _size({path if plain else f'flat[{i}]'})")
    count = 1 + max(positional, default=-1)
    text = "def call(args, kwargs):\n"
    text += f"    if len(args) != {count} or len(kwargs) != {len(keywords)}:\n        raise LookupError(_count)\n"
    for container in containers(recorded) if plain and recorded is not None else ():
        # A dictionary of another class is as good to torch.
        has_kind = "isinstance({0}, dict)" if container.kind is dict else f"type({{0}}) is {container.kind.__name__}"
        message = f"{container.path} has to be a {container.kind.__name__} of {container.length} elements"
        text += f"    if not ({has_kind.format(container.path)} and len({container.path}) == {container.length}):\n"
        text += f"        raise LookupError({message!r})\n"
    if not plain:
        text += "    flat = _flatten((args, kwargs))\n"
        text += f"    if len(flat) != {len(inputs)}:\n        raise LookupError(_count)\n"
    text += f"    sizes = {{{', '.join(entries)}}}\n    return None if _check(sizes) is None else sizes\n"
    message = f"expected {count} positional and {len(keywords)} keyword arguments"
    bound = {"_check": inner, "_size": _size, "_flatten": _flatten, "_count": message}
    exec(compile(text, "<sizewise shape checker>", "exec"), bound)
    names = [positional.get(i, "") for i in range(count)]
    return (names, keywords), bound["call"]  # type: ignore[return-value]


def _size(value: Any) -> Any:
    """The shape of a tensor, and a number as it is."""
    try:
        shape = value.shape
    except AttributeError:
        if isinstance(value, (list, tuple, dict)):
            raise LookupError(f"expected a tensor or a number, got a {type(value).__name__}") from None
        return value
    if type(value).__module__ == "numpy":
        raise LookupError("expected a tensor, got an array of numpy")
    return shape


def _flatten(value: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    return tree_leaves(value)  # type: ignore[no-any-return]
