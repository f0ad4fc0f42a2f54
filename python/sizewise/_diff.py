"""What a new export of a program changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sizewise._check import spec_text
from sizewise._errors import SpecError
from sizewise._from_json import FromJson
from sizewise._read import Ops, operators, read


@dataclass(frozen=True)
class Example:
    """Inputs that one program accepts and the other refuses, replayed in both."""

    #: Shapes of tensors and values of integers, by the name of the input.
    inputs: dict[str, Any]
    accepted_by: Literal["old", "new"]
    #: Why the other program refuses them.
    message: str


class Difference(FromJson):
    """What a program accepts that another one does not, and what else changed."""

    def __init__(self, json: str, text: str, html: str, markdown: str) -> None:
        super().__init__(json)
        self._text, self._html, self._markdown = text, html, markdown

    def __repr__(self) -> str:
        return f"<sizewise.Difference {self.verdict}>"

    @property
    def verdict(self) -> Literal["equal", "wider", "narrower", "different", "undecided"]:
        """The new program against the old one: what it accepts of the inputs that the old one accepts, and beyond."""
        verdict: Literal["equal", "wider", "narrower", "different", "undecided"] = self._data["verdict"]
        return verdict

    @property
    def breaks(self) -> bool:
        """Whether the new program refuses inputs that the old one accepts."""
        return self.verdict in ("narrower", "different")

    @property
    def examples(self) -> list[Example]:
        """Inputs that one of the two refuses."""
        return [Example(one["inputs"], one["accepted_by"], one.get("message", "")) for one in self._data["examples"]]

    @property
    def guards(self) -> dict[str, list[Any]]:
        """The conditions that appeared (``"added"``) and vanished (``"removed"``)."""
        guards: dict[str, list[Any]] = self._data["guards"]
        return guards

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """The outputs whose shapes differ at inputs that both accept."""
        outputs: list[dict[str, Any]] = self._data["outputs"]
        return outputs

    @property
    def interface(self) -> list[str]:
        """Changes of inputs and outputs other than sizes: names, order, dtypes, structure."""
        interface: list[str] = self._data["interface"]
        return interface

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return self._html

    def to_html(self) -> str:
        """A page, all in one file."""
        return self._html

    def to_markdown(self) -> str:
        """A comment for a pull request."""
        return self._markdown


def diff(old: Any, new: Any, *, program: Any = None, ops: Ops = None) -> Difference:
    """Compares what two programs accept: whether each input that one accepts the other one accepts, too.

    Parameters
    ----------
    old, new : ExportedProgram, onnx.ModelProto, path, bytes
        A program or an ONNX model, and another export of it. With `program`, two specs of its inputs, as `check` takes
        them.
    program : ExportedProgram, onnx.ModelProto, path, bytes, optional
        What the specs are for.
    ops : path, paths or mapping, optional
        Declarations of custom operators, as `check` takes them.

    Raises
    ------
    SpecError
        When a spec cannot be read or does not fit the program.
    """
    if program is None:
        return Difference(*read(old).diff(read(new), operators(ops, old, new)))
    first, second = spec_text(old), spec_text(new)
    if first is None or second is None:
        raise SpecError("with a program, two specs are compared, and one of them is None")
    return Difference(*read(program).diff_specs(first, second, operators(ops, program)))
