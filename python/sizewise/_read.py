"""Programs as the native part takes them: live ones, files, bytes; and declarations of operators."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from sizewise import _native
from sizewise._errors import SpecError, Unsupported
from sizewise._patching import TRIED, warn_untried

#: Declarations of operators: files, or texts by their names.
Ops = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], Mapping[str, str], None]

#: The first release of torch whose live programs are read.
_SINCE = "2.6"


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
    if is_live(program):
        return _native.Program(_name(program), walked(program))
    if callable(getattr(program, "exported_program", None)):
        return read(program.exported_program())
    if callable(getattr(program, "SerializeToString", None)) and hasattr(program, "opset_import"):
        return _native.Program(f"{program.graph.name or 'model'}.onnx", program.SerializeToString())
    raise TypeError(f"expected an ExportedProgram, an onnx.ModelProto, a path or bytes, got {type(program).__name__}")


def is_live(program: Any) -> bool:
    """Whether it is an ``ExportedProgram``."""
    return hasattr(program, "graph_module") and hasattr(program, "module_call_graph")


def walked(program: Any) -> bytes:
    """The JSON of a live program."""
    try:
        from sizewise._program_json import program_json
    except (ImportError, AttributeError) as error:
        import torch

        releases = f"live programs are read with torch {_SINCE} to {TRIED[-1]}, not {torch.__version__} ({error})"
        raise Unsupported(f"{releases}; archives of torch.export.save are read of any release") from error
    warn_untried("reading live programs", _SINCE)
    return program_json(program).encode()


def source_of(program: Any) -> Any:
    """What `read` can be given again: a path, bytes, or the JSON of a live program. `None` for all else."""
    if is_live(program):
        return walked(program)
    return program if isinstance(program, (str, os.PathLike, bytes, bytearray, memoryview)) else None


def _name(program: Any) -> str:
    """A name for a live program: the class of its outermost module."""
    for node in program.graph_module.graph.nodes:
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
            # torch.export puts names that are no classes there, too.
            if "." in name:
                return name.rpartition(".")[2]
    return "program"


def operators(ops: Ops, *programs: Any) -> list[tuple[str, str]]:
    """The declarations of operators, as names and texts: those that are given, and for custom operators of live programs
    those that their fake functions are."""
    given = _given(ops)
    made: dict[str, str] = {}
    for program in filter(is_live, programs):
        from sizewise._fakes import declarations

        made |= declarations(program)
    texts = [text for _, text in given]
    is_given = {name: any(f"{name}(" in text for text in texts) for name in made}
    return [(f"the fake function of {name}", text) for name, text in made.items() if not is_given[name]] + given


def _given(ops: Ops) -> list[tuple[str, str]]:
    if ops is None:
        return []
    if isinstance(ops, Mapping):
        return list(ops.items())
    if not isinstance(ops, (str, os.PathLike, Sequence)) or isinstance(ops, (bytes, bytearray)):
        raise TypeError(f"ops: expected a path, paths or a mapping of texts by name, got {type(ops).__name__}")
    declared = []
    for path in [ops] if isinstance(ops, (str, os.PathLike)) else ops:
        try:
            with open(path, encoding="utf-8") as file:
                declared.append((os.fspath(path), file.read()))
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"{os.fspath(path)}: {error}") from error
    return declared
