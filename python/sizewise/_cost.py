"""What a program costs at all sizes that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sizewise._from_json import FromJson
from sizewise._read import Ops, operators, read


class Cost(FromJson):
    """Figures as expressions in the sizes of inputs, in Python's form; those by operator, module and line in `to_dict`."""

    def __repr__(self) -> str:
        exact = "exact" if self.exact else "upper bounds"
        return f"<sizewise.Cost {exact}: {self.flops} flops, {self.activation_bytes} bytes of activations>"

    @property
    def flops(self) -> str:
        """Floating point operations, as `docs/costs.md` counts them."""
        flops: str = self._data["flops"]
        return flops

    @property
    def activation_bytes(self) -> str:
        """Bytes of all results."""
        count: str = self._data["activation_bytes"]
        return count

    @property
    def peak_bytes(self) -> Any:
        """The most bytes that are live together: an expression, or ``{"max": [...]}``."""
        return self._data["peak_bytes"]

    @property
    def exact(self) -> bool:
        """Whether the figures are exact; otherwise they are upper bounds, and `reasons` says why."""
        exact: bool = self._data["exact"]
        return exact

    @property
    def reasons(self) -> list[str]:
        """Why figures are not exact."""
        reasons: list[str] = self._data.get("reasons", [])
        return reasons

    @property
    def at(self) -> dict[str, Any] | None:
        """The figures as numbers, at the sizes that were asked for."""
        at: dict[str, Any] | None = self._data.get("at")
        return at


def cost(program: Any, *, at: Mapping[str, Sequence[int]] | None = None, ops: Ops = None) -> Cost:
    """Counts operations and bytes of a program.

    Parameters
    ----------
    program : ExportedProgram, path, bytes
        The program.
    at : mapping, optional
        Shapes of inputs, by name, at which numbers are wanted, too.
    ops : path, paths or mapping, optional
        Declarations of custom operators, as `check` takes them.

    Raises
    ------
    SpecError
        If `at` names something that does not vary, or leaves out a size.
    Unsupported
        For ONNX models.
    """
    sizes = None if at is None else {name: [int(size) for size in shape] for name, shape in at.items()}
    return Cost(read(program).cost(sizes, operators(ops, program)))
