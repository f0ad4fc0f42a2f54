"""The JSON of a live program: of the walk or of torch, with the lines that asked for conditions on sizes."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch._export.serde import serialize as serde

from sizewise._asked import asked_json
from sizewise._errors import Unsupported
from sizewise._sizes import shape_env
from sizewise._walk import Walk

#: How much of another message is passed on.
_SAID = 200


def program_json(ep: torch.export.ExportedProgram) -> str:
    """The JSON of a program: by the walk, or by torch where the walk meets something unknown.

    Raises
    ------
    Unsupported
        If torch cannot write it either: it could not be saved.
    """
    try:
        return _with_lines(ep, Walk().program(ep))
    except Exception as unknown:
        # In other releases of torch, the walk may meet anything.
        try:
            return _with_lines(ep, serialized_by_torch(ep))
        except Exception as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            message = f"torch {torch.__version__} cannot save this program ({said[:_SAID]})"
            raise Unsupported(f"{message}, and {str(unknown)[:_SAID]} is not known") from error


def _with_lines(ep: Any, text: str) -> str:
    """The JSON of a program with the lines that asked torch for conditions on sizes."""
    env = shape_env(ep.graph_module)
    try:
        return text if env is None else f'{text.rstrip()[:-1]}, "asked": {asked_json(env)}}}'
    except Exception:
        # Another release of torch may record them otherwise; the program is the same.
        return text


def serialized_by_torch(ep: torch.export.ExportedProgram) -> str:
    """The JSON of a program as torch writes it."""
    # torch 2.14 has these, and writes no weights then.
    left_out = ("serialize_state_dict", "serialize_constants", "serialize_example_inputs")
    known = inspect.signature(serde.serialize).parameters
    artifact = serde.serialize(ep, **{name: False for name in left_out if name in known})
    text: str = artifact.exported_program.decode()
    return text
