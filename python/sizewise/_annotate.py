"""The user's source with the shapes of the values that its lines make."""

from __future__ import annotations

import os
from typing import Any

from sizewise._check import spec_text
from sizewise._from_json import FromJson
from sizewise._read import Ops, operators, read


class Annotations(FromJson):
    """Lines of the user's code with the shapes of the values that they make."""

    def __init__(self, json: str, text: str, html: str) -> None:
        super().__init__(json)
        self._text, self._html = text, html

    def __repr__(self) -> str:
        return f"<sizewise.Annotations of {len(self.hints)} lines>"

    @property
    def hints(self) -> list[dict[str, Any]]:
        """A hint a line, as `docs/annotate.md` describes it: ``file``, ``line``, ``column``, ``text``, ``values``."""
        hints: list[dict[str, Any]] = self._data["hints"]
        return hints

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return self._html

    def to_html(self) -> str:
        """A page, all in one file."""
        return self._html


def annotate(
    program: Any,
    dynamic_shapes: Any = None,
    *,
    source: str | os.PathLike[str] | None = None,
    ops: Ops = None,
) -> Annotations:
    """Shows the user's source with the symbolic shape of each value beside the line that makes it.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        The program.
    dynamic_shapes : object, optional
        The spec whose names sizes get, as `check` takes it. By default sizes are named by inputs: ``x.shape[0]``.
    source : path, optional
        The folder that the source is in, or a file of it. By default it is looked for in the current folder, and
        where the program says.
    ops : path, paths or mapping, optional
        Declarations of custom operators, as `check` takes them.

    Raises
    ------
    SpecError
        If the spec does not fit the program, or there is no such source.
    """
    return Annotations(*read(program).annotate(spec_text(dynamic_shapes), operators(ops), source))
