"""Checks of programs: live ones, files, bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sizewise import _native
from sizewise._arguments import check_budget
from sizewise._errors import SpecError, Unsupported
from sizewise._read import Ops, operators, read
from sizewise._report import Report
from sizewise._resized import say_what_runs
from sizewise._spec import to_json, to_objects

def check(
    program: Any,
    dynamic_shapes: Any = None,
    *,
    ops: Ops = None,
    budget: float = 1.0,
    trace: str | os.PathLike[str] | None = None,
    module: Any = None,
) -> Report:
    """Proves that a program runs on all shapes that a spec allows, or shows shapes on which it does not.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        A program. A live one is walked; its weights are not touched and nothing is written.
    dynamic_shapes : object, optional
        What ``torch.export.export`` takes, `Dim` objects included; or a file with a spec. By default the program is
        checked under its own contract: its ranges and guards.
    ops : path, paths or mapping, optional
        Declarations of custom operators: files, or texts by name (see ``docs/operators.md``).
    budget : float
        A factor on the work that a proof may take. Work is counted, not timed.
    trace : path, optional
        What `record` wrote while the program was exported: the report then names the lines of the code that asked for
        conditions on sizes. A live program that `export` or `assume` made has them already.
    module : torch.nn.Module, optional
        The module that the program was exported of. It is run at the counterexamples, with the data of the program's
        example, and a note says where the module itself runs.

    Returns
    -------
    Report
        What was found. A program that breaks is a report, no exception; see `Report.raise_if_violated`.

    Raises
    ------
    ProgramError
        If the program cannot be read.
    SpecError
        If the spec cannot be read, or is a sequence with fewer entries than there are arguments. One that does not
        fit the program otherwise is a report with the verdict ``"invalid"``.
    """
    check_budget(budget)
    native = read(program)
    spec = spec_text(dynamic_shapes)
    _refuse_short(native, dynamic_shapes)
    report = Report(native.check(spec, operators(ops, program), budget, trace))
    if module is not None:
        say_what_runs(report, module, program)
    return report


def _refuse_short(native: _native.Program, shapes: Any) -> None:
    """Refuses a sequence of fewer entries than there are arguments, as torch does; an empty one is all static."""
    if not isinstance(shapes, (list, tuple)) or not shapes:
        return
    try:
        names = dict.fromkeys(parameter for _, parameter, *_ in native.inputs() if parameter)
    except Unsupported:
        # The inputs of an ONNX model may be left out.
        return
    last = shapes[-1]
    collects = isinstance(last, Mapping) and bool(last) and all(key in names for key in last)
    # What `*args` and `**kwargs` take is one entry.
    if len(shapes) >= len(names) or collects or any(name.endswith("_0") for name in names):
        return
    entries = "1 entry" if len(shapes) == 1 else f"{len(shapes)} entries"
    raise SpecError(f"the spec: {entries} for {len(names)} arguments: {', '.join(names)}")


def spec_text(dynamic_shapes: Any) -> str | None:
    """A spec as text, JSON or Python: that of a file, or a live one."""
    if dynamic_shapes is None:
        return None
    if isinstance(dynamic_shapes, (str, os.PathLike)):
        try:
            with open(dynamic_shapes, encoding="utf-8") as file:
                return file.read()
        except OSError as error:
            raise SpecError(f"{os.fspath(dynamic_shapes)}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            message = f"{os.fspath(dynamic_shapes)}: a spec is JSON or Python text; this is not UTF-8: {error}"
            raise SpecError(message) from error
    return to_json(dynamic_shapes)


@dataclass(frozen=True)
class Explanation:
    """Why a dimension is what it is."""

    text: str
    #: The same as objects.
    data: dict[str, Any]

    def __str__(self) -> str:
        return self.text.rstrip("\n")


def explain(program: Any, name: str, dim: int | None = None, *, ops: Ops = None) -> Explanation:
    """Why a dimension of an input is static, or what it has to satisfy.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        The program.
    name : str
        The input, ``"x"``; or the dimension, ``"x.shape[0]"``.
    dim : int, optional
        The dimension; a negative one counts from the end. By default every dimension of the input is explained, and
        `Explanation.data` has them under ``"dimensions"``.
    """
    native, declared = read(program), operators(ops, program)
    rank = None
    if dim is None or dim < 0:
        rank = _rank(native, declared, name)
    if dim is None and rank is not None:
        found = [native.explain(f"{name}.shape[{i}]", declared) for i in range(rank)]
        text = "\n".join(text for _, text in found) if found else f"{name} has no dimensions"
        return Explanation(text, {"dimensions": [json.loads(data) for data, _ in found]})
    if dim is not None and dim < 0:
        if rank is not None and not -rank <= dim:
            raise SpecError(f"{name} has {rank} dimensions, so there is no dimension {dim}")
        dim += rank or 0
    data, text = native.explain(name if dim is None else f"{name}.shape[{dim}]", declared)
    return Explanation(text, json.loads(data))


def _rank(native: _native.Program, declared: list[tuple[str, str]], name: str) -> int | None:
    """The number of dimensions of an input; `None` if it is no tensor or not known."""
    inputs = json.loads(native.check(None, declared).render("json") or "{}").get("inputs", [])
    shape = next((entry["shape"] for entry in inputs if entry["name"] == name), None)
    return None if shape is None else len(shape)


@dataclass(frozen=True)
class Spec:
    """A spec of dynamic shapes."""

    #: The spec as JSON is read.
    tree: Any
    #: Whether a check proved that it suffices; `None` where that was not asked.
    proved: bool | None = None
    #: The spec as Python to paste, with the containers that the program takes.
    code: str = ""

    @property
    def dynamic_shapes(self) -> Any:
        """The spec for ``torch.export.export``."""
        return to_objects(self.code)

    def __str__(self) -> str:
        return self.code


def spec_of(program: Any) -> Spec:
    """The spec that a program was exported with, as far as it is recorded; for an ONNX model, what it declares."""
    tree, code = read(program).recorded_spec()
    return Spec(json.loads(tree), None, code.rstrip("\n"))


def widest_spec(program: Any, *, ops: Ops = None) -> Spec:
    """The widest spec that a program supports."""
    tree, code, proved = read(program).widest_spec(operators(ops, program))
    return Spec(json.loads(tree), proved, code.rstrip("\n"))


@dataclass(frozen=True)
class Evaluation:
    """What happens to inputs of given shapes."""

    ok: bool
    #: The shapes of the outputs: `None` for what is no tensor, text for a size that data decides.
    outputs: list[list[int | str] | None] | None = None
    error: str | None = None
    node: str | None = None
    expr: str | None = None
    #: What has to hold of data that is not followed; the inputs are accepted if it does.
    runtime_asserts: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.ok


def evaluate(
    program: Any, shapes: Mapping[str, Any], *, values: Mapping[str, Any] | None = None, ops: Ops = None
) -> Evaluation:
    """What happens to inputs of given shapes, under everything that the exported module enforces.

    Of an ONNX model it is what happens in onnxruntime, which enforces ranks and static sizes.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        The program.
    shapes : mapping
        Shapes by placeholder name, and values of inputs that are no tensors. Inputs that are missing keep the sizes of
        the example; of an ONNX model all tensors are given.
    values : mapping, optional
        Elements of an ONNX model's inputs: a number for all of them, or an array or lists with each.
    """
    if not isinstance(shapes, Mapping):
        raise TypeError(f"shapes: expected shapes by the names of inputs, got {type(shapes).__name__}")
    request: dict[str, Any] = {"shapes": {}, "scalars": {}}
    for name, value in shapes.items():
        shape: Any = getattr(value, "shape", value)
        is_shape = isinstance(shape, Sequence) and not isinstance(shape, str)
        request["shapes" if is_shape else "scalars"][name] = [int(size) for size in shape] if is_shape else shape
    if values is not None:
        request["values"] = {name: _elements(value) for name, value in values.items()}
    answer = json.loads(read(program).evaluate(json.dumps(request), operators(ops, program)))
    asserts = answer.get("runtime_asserts", [])
    error, node, expr = answer.get("error"), answer.get("node"), answer.get("expr")
    return Evaluation(answer["ok"], answer.get("outputs"), error, node, expr, asserts)


def _elements(value: Any) -> Any:
    """Numbers row by row, of an array or of lists; a number as it is."""
    value = value.tolist() if callable(getattr(value, "tolist", None)) else value
    if not isinstance(value, (list, tuple)):
        return value
    rows = [_elements(row) for row in value]
    return [number for row in rows for number in (row if isinstance(row, list) else [row])]
