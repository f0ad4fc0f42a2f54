"""Checkers of input shapes, to be put before a deployed model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sizewise import _native
from sizewise._check import Ops, evaluate, operators, read
from sizewise._errors import ShapeError, SpecError


class ShapeChecker:
    """Raises `ShapeError` for inputs that a program does not serve.

    It is called as the module is. A call costs microseconds where the inputs are in the region that is proved; others
    are looked at one by one, which takes a millisecond: single sizes of 0 or 1 may be served although no proof
    covers them.
    """

    def __init__(self, program: _native.Program, declared: list[tuple[str, str]]) -> None:
        self._program = program
        self._declared = declared
        self._names, self._call = _compiled(program, program.guards("python", declared))

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        try:
            doubt = self._call(args, kwargs)
        except (LookupError, AttributeError, TypeError):
            doubt = self._moved(args, kwargs)
        if doubt is not None:
            self._decide(doubt)

    def _decide(self, sizes: dict[str, Any]) -> None:
        """Raises unless these shapes are served."""
        try:
            result = evaluate(self._program, sizes, ops=dict(self._declared))
        except (SpecError, TypeError) as error:
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

    def _moved(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """For inputs that are not passed as they were when the program was exported."""
        args, kwargs = _moved(self._names, args, kwargs)
        try:
            return self._call(args, kwargs)
        except (LookupError, AttributeError, TypeError) as error:
            message = f"the inputs are not structured as those of the example: {error}"
            raise ShapeError(message) from None

    def source(self, language: str = "python") -> str:
        """The proved region as a file without dependencies: ``"python"``, ``"c"``, ``"rust"``, or ``"json"``."""
        return self._program.guards(language, self._declared)


def shape_checker(program: Any, *, ops: Ops = None) -> ShapeChecker:
    """A callable that accepts the inputs which a program serves.

    Parameters
    ----------
    program : ExportedProgram, path, bytes
        The program.

    Examples
    --------
    >>> import sizewise
    >>> check = sizewise.shape_checker("../examples/area.pt2")  # doctest: +SKIP
    >>> check(x, y)  # doctest: +SKIP
    """
    return ShapeChecker(read(program), operators(ops))


#: Positional parameters by position, and the names of all that are passed by keyword.
_Names = tuple[list[str], set[str]]


def _moved(names: _Names, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that were passed by keyword at the places of the example, and the other way round."""
    positional, by_keyword = names
    given, rest = list(args), dict(kwargs)
    for name in positional[len(given) :]:
        if name not in rest:
            break
        given.append(rest.pop(name))
    return tuple(given), rest


def _compiled(program: _native.Program, source: str) -> tuple[_Names, Callable[[Any, Any], dict[str, Any] | None]]:
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
    """The shape of a tensor, and anything else as it is."""
    try:
        return value.shape
    except AttributeError:
        return value


def _flatten(value: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    return tree_leaves(value)  # type: ignore[no-any-return]
