"""Checks of programs: live ones, files, bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from sizewise import _native
from sizewise._errors import SpecError
from sizewise._report import Report
from sizewise._spec import to_code, to_json, to_objects

#: Declarations of operators: files, or texts by their names.
Ops = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], Mapping[str, str], None]


def check(program: Any, dynamic_shapes: Any = None, *, ops: Ops = None, budget: float = 1.0) -> Report:
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

    Returns
    -------
    Report
        What was found. A program that breaks is a report, no exception; see `Report.raise_if_violated`.

    Raises
    ------
    ProgramError
        If the program cannot be read.
    SpecError
        If the spec cannot be read. One that does not fit the program is a report with the verdict ``"invalid"``.
    """
    native = read(program)
    spec, template = _spec(dynamic_shapes)
    return Report(native.check(spec, operators(ops), budget), template)


def _spec(dynamic_shapes: Any) -> tuple[str | None, Any]:
    if dynamic_shapes is None:
        return None, None
    if isinstance(dynamic_shapes, (str, os.PathLike)):
        try:
            with open(dynamic_shapes, encoding="utf-8") as file:
                return file.read(), None
        except OSError as error:
            raise SpecError(f"{os.fspath(dynamic_shapes)}: {error.strerror or error}") from error
    return to_json(dynamic_shapes), dynamic_shapes


def read(program: Any) -> _native.Program:
    """The native form of a program."""
    if isinstance(program, _native.Program):
        return program
    if isinstance(program, (bytes, bytearray, memoryview)):
        return _native.Program("program", bytes(program))
    if isinstance(program, (str, os.PathLike)):
        return _native.Program.from_file(program)
    # What torch.onnx.export returns has the message, and the exported program that it was made of.
    program = getattr(program, "model_proto", program)
    if hasattr(program, "graph_module") and hasattr(program, "module_call_graph"):
        from sizewise._walk import program_json

        return _native.Program(_name(program), program_json(program).encode())
    if callable(getattr(program, "exported_program", None)):
        return read(program.exported_program())
    if callable(getattr(program, "SerializeToString", None)) and hasattr(program, "opset_import"):
        return _native.Program(f"{program.graph.name or 'model'}.onnx", program.SerializeToString())
    raise TypeError(f"expected an ExportedProgram, an onnx.ModelProto, a path or bytes, got {type(program).__name__}")


def _name(program: Any) -> str:
    """A name for a live program: the class of its outermost module."""
    for node in program.graph_module.graph.nodes:
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
            # torch.export puts names that are no classes there, too.
            if "." in name:
                return name.rpartition(".")[2]
    return "program"


def operators(ops: Ops) -> list[tuple[str, str]]:
    """The declarations of operators, as names and texts."""
    if ops is None:
        return []
    if isinstance(ops, Mapping):
        return list(ops.items())
    declared = []
    for path in [ops] if isinstance(ops, (str, os.PathLike)) else ops:
        try:
            with open(path, encoding="utf-8") as file:
                declared.append((os.fspath(path), file.read()))
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"{os.fspath(path)}: {error}") from error
    return declared


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
        The dimension.
    """
    data, text = read(program).explain(name if dim is None else f"{name}.shape[{dim}]", operators(ops))
    return Explanation(text, json.loads(data))


@dataclass(frozen=True)
class Spec:
    """A spec of dynamic shapes."""

    #: The spec as JSON is read.
    tree: Any
    #: Whether a check proved that it suffices; `None` where that was not asked.
    proved: bool | None = None

    @property
    def dynamic_shapes(self) -> Any:
        """The spec for ``torch.export.export``."""
        return to_objects(self.tree)

    @property
    def code(self) -> str:
        """The spec as Python to paste."""
        return to_code(self.tree)

    def __str__(self) -> str:
        return self.code


def spec_of(program: Any) -> Spec:
    """The spec that a program was exported with, as far as it is recorded; for an ONNX model, what it declares."""
    return Spec(json.loads(read(program).recorded_spec()))


def widest_spec(program: Any, *, ops: Ops = None) -> Spec:
    """The widest spec that a program supports."""
    tree, proved = read(program).widest_spec(operators(ops))
    return Spec(json.loads(tree), proved)


@dataclass(frozen=True)
class Evaluation:
    """What happens to inputs of given shapes."""

    ok: bool
    #: The shapes of the outputs: `None` for what is no tensor, text for a size that data decides.
    outputs: list[list[int | str] | None] | None = None
    error: str | None = None
    node: str | None = None
    expr: str | None = None

    def __bool__(self) -> bool:
        return self.ok


def evaluate(program: Any, shapes: Mapping[str, Any], *, ops: Ops = None) -> Evaluation:
    """What happens to inputs of given shapes, under everything that the exported module enforces.

    Of an ONNX model it is what happens in onnxruntime, which enforces ranks and static sizes.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        The program.
    shapes : mapping
        Shapes by placeholder name, and values of inputs that are no tensors. Inputs that are missing keep the sizes of
        the example.
    """
    request: dict[str, Any] = {"shapes": {}, "scalars": {}}
    for name, value in shapes.items():
        shape = getattr(value, "shape", value)
        is_shape = isinstance(shape, Sequence) and not isinstance(shape, str)
        request["shapes" if is_shape else "scalars"][name] = [int(size) for size in shape] if is_shape else shape
    answer = json.loads(read(program).evaluate(json.dumps(request), operators(ops)))
    outputs = answer.get("outputs")
    return Evaluation(answer["ok"], outputs, answer.get("error"), answer.get("node"), answer.get("expr"))


def check_many(paths: Sequence[Any], jobs: int | None = None, *, progress: bool = False) -> Iterator[Report]:
    """Checks several programs under their own contracts, in order, on several threads.

    Parameters
    ----------
    paths : sequence
        Programs, as `check` takes them.
    jobs : int, optional
        Threads; by default as many as there are processors.
    progress : bool
        Whether a bar is shown (with tqdm, if it is installed).
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as threads:
        reports = threads.map(check, paths)
        if progress:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                pass
            else:
                reports = tqdm(reports, total=len(paths))
        yield from reports
