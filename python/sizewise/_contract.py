"""Contracts: which inputs a program serves, as a document that travels with the deployed model.

The checker needs the standard library only; this file can be copied.
"""

from __future__ import annotations

import base64
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

VERSION = 1
#: The most values on the stack of a check, and the most variables.
_MAX_STACK, _MAX_VARIABLES = 32, 64
#: The name of a contract in the metadata of an ONNX model, and of a method of an ExecuTorch program.
KEY = "sizewise_contract"
#: Its name in an archive.
_FILE = "sizewise_contract.json"
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1

Path = Union[str, "os.PathLike[str]"]


class ContractError(ValueError):
    """A document is no contract of this version."""


class Contract:
    """Which inputs a program serves.

    ``contract.refusal(inputs)`` says why inputs are refused, or is ``None``. Inputs are given in the program's order,
    or by name: tensors, shapes of tensors, or numbers.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        if document.get("contract_version") != VERSION:
            raise ContractError(f"this is no contract of version {VERSION}")
        #: The readable form, as `docs/contract.md` describes it.
        self.document: dict[str, Any] = dict(document)
        try:
            self._bytes = base64.b64decode(self.document["compact"])
            parts = [self.document[part] for part in ("inputs", "checks", "program", "complete")]
        except (KeyError, TypeError, ValueError) as error:
            raise ContractError(f"this is no contract: {error}") from None
        self._compact = _Compact(self._bytes)
        counts = len(self._compact.inputs), len(self._compact.checks)
        if not all(isinstance(part, list) for part in parts[:2]) or (len(parts[0]), len(parts[1])) != counts:
            raise ContractError("the forms of the contract differ")

    @classmethod
    def from_json(cls, text: str | bytes) -> Contract:
        """A contract of its readable form."""
        try:
            document = json.loads(text)
        except ValueError as error:
            raise ContractError(f"this is no contract: {error}") from None
        if not isinstance(document, dict):
            raise ContractError("this is no contract")
        return cls(document)

    @classmethod
    def read(cls, path: Path) -> Contract:
        """A contract that ``sizewise guards --emit contract -o FILE.json`` wrote."""
        with open(path, "rb") as file:
            return cls.from_json(file.read())

    def to_json(self) -> str:
        """The readable form."""
        return json.dumps(self.document, indent=2)

    def to_bytes(self) -> bytes:
        """The compact form, which the checkers in C, C++ and Rust read."""
        return self._bytes

    @property
    def complete(self) -> bool:
        """Whether it is all that the program needs; otherwise data decide the rest."""
        return bool(self.document["complete"])

    @property
    def input_names(self) -> list[str]:
        """The inputs, in order."""
        return [entry["name"] for entry in self.document["inputs"]]

    def __repr__(self) -> str:
        checks = len(self.document["checks"])
        return f"<sizewise.Contract of {self.document['program']}: {checks} checks, {len(self._bytes)} bytes>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contract) and self.document == other.document

    __hash__ = None  # type: ignore[assignment]

    def refusal(self, inputs: Mapping[str, Any] | Sequence[Any]) -> str | None:
        """Why the program does not serve these inputs, or ``None``; one tensor or shape stands for itself."""
        names = self.input_names
        if len(names) == 1 and not isinstance(inputs, Mapping) and _is_shape(_given(inputs)):
            inputs = [inputs]
        if isinstance(inputs, Mapping):
            unknown = [name for name in inputs if name not in names]
            wanted = [entry["name"] for entry in self.document["inputs"] if entry["kind"] != "any"]
            missing = [name for name in wanted if name not in inputs]
            if unknown or missing:
                return f"{unknown[0]} is no input" if unknown else f"{missing[0]} is missing"
            inputs = [inputs.get(name) for name in names]
        if len(inputs) != len(names):
            return f"there have to be {len(names)} inputs, not {len(inputs)}"
        failing = self._compact.failing([_given(value) for value in inputs])
        if failing is None:
            return None
        kind, at = failing
        if kind == "check":
            message: str = self.document["checks"][at]["message"]
            return message
        return _wanted(self.document["inputs"][at])

    def accepts(self, inputs: Mapping[str, Any] | Sequence[Any]) -> bool:
        """Whether the program serves these inputs."""
        return self.refusal(inputs) is None

    def add_to_onnx(self, path: Path) -> None:
        """Writes it into the metadata of an ONNX model, in place of one that is there."""
        with open(path, "rb") as file:
            model = file.read()
        kept = b"".join(field for number, field, value in _fields(model) if not _is_entry(number, value))
        entry = _delimited(1, KEY.encode()) + _delimited(2, json.dumps(self.document).encode())
        _replace(path, kept + _delimited(14, entry))

    @classmethod
    def from_onnx(cls, path: Path) -> Contract:
        """The contract in the metadata of an ONNX model."""
        with open(path, "rb") as file:
            model = file.read()
        for number, _, value in _fields(model):
            if _is_entry(number, value):
                return cls.from_json(next(part for at, _, part in _fields(value) if at == 2))
        raise ContractError(f"{os.fspath(path)}: the model has no contract in its metadata")

    def add_to_archive(self, path: Path) -> None:
        """Writes it into a ``.pt2`` archive or an AOTInductor package, as a file that their loaders leave alone."""
        with _archive(path) as old:
            names = old.namelist()
            root = names[0].split("/")[0] if names and "/" in names[0] else ""
            name = "/".join(part for part in (root, "extra", _FILE) if part)
            known = old.read(name).decode() if name in names else None
        if known is None:
            with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
                archive.writestr(name, self.to_json())
        elif known != self.to_json():
            raise ContractError(f"{os.fspath(path)}: it holds another contract; write the archive anew")

    @classmethod
    def from_archive(cls, path: Path) -> Contract:
        """The contract in a ``.pt2`` archive or an AOTInductor package."""
        with _archive(path) as archive:
            for name in archive.namelist():
                if name.split("/")[-1] == _FILE:
                    return cls.from_json(archive.read(name))
        raise ContractError(f"{os.fspath(path)}: the archive holds no contract")

    def constant_methods(self) -> dict[str, Any]:
        """For ``to_executorch`` of ExecuTorch: ``to_edge(..., constant_methods=contract.constant_methods())``.

        The program has a method `sizewise_contract` then, which returns the compact form as a tensor of bytes;
        `from_method` reads it.
        """
        import torch

        return {KEY: torch.frombuffer(bytearray(self.to_json().encode()), dtype=torch.uint8)}

    @classmethod
    def from_method(cls, result: Any) -> Contract:
        """The contract that the method `sizewise_contract` of an ExecuTorch program returned."""
        value = result[0] if isinstance(result, (list, tuple)) else result
        return cls.from_json(bytes(value.tolist()))


def contract(program: Any, *, ops: Any = None) -> Contract:
    """The contract of a program: its inputs, what their sizes have to satisfy, and how large its outputs get.

    Parameters
    ----------
    program : ExportedProgram, onnx.ModelProto, path, bytes
        The program.
    ops : path, paths or mapping, optional
        Declarations of custom operators, as `check` takes them.

    Examples
    --------
    >>> import sizewise
    >>> contract = sizewise.contract("../examples/area.pt2")
    >>> contract.refusal({"x": (3,), "y": (5,)})
    >>> contract.refusal({"x": (6,), "y": (5,)})
    'x.shape[0] <= y.shape[0] does not hold'
    """
    from sizewise._read import operators, read

    return Contract.from_json(read(program).guards("contract", operators(ops, program)))


def _given(value: Any) -> Any:
    """A shape, or a number, a string or nothing."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return tuple(int(size) for size in shape)
    return tuple(value) if isinstance(value, list) else value


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(size, int) for size in value)


def _wanted(entry: Mapping[str, Any]) -> str:
    name = entry["name"]
    if entry["kind"] == "tensor":
        rank = len(entry["sizes"])
        return f"{name} has to be a tensor of {rank} dimension{'' if rank == 1 else 's'}, no size of which is negative"
    if entry["kind"] == "integer":
        return f"{name} has to be an integer"
    message: str = entry["message"]
    return message


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) < count:
            raise ContractError("the contract ends early")
        self.at += count
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if value >> 64:
                raise ContractError("a number has more than 64 bits")
            if not byte & 0x80:
                return value
            shift += 7

    def signed(self) -> int:
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def double(self) -> float:
        value: float = struct.unpack("<d", self.take(8))[0]
        return value


class _Compact:
    """The compact form, decoded."""

    def __init__(self, data: bytes) -> None:
        reader = _Reader(data)
        if reader.take(4) != b"SZC" + bytes([VERSION]):
            raise ContractError(f"this is no contract of version {VERSION}")
        reader.byte()
        self.inputs = [self._input(reader) for _ in range(reader.unsigned())]
        self.variables = [
            (reader.unsigned(), reader.unsigned(), reader.signed(), reader.signed()) for _ in range(reader.unsigned())
        ]
        if len(self.variables) > _MAX_VARIABLES:
            raise ContractError("there are too many variables")
        self.checks = [list(_code(reader.take(reader.unsigned()))) for _ in range(reader.unsigned())]

    @staticmethod
    def _input(reader: _Reader) -> tuple[int, Any]:
        kind = reader.byte()
        if kind == 0:
            return kind, (reader.unsigned(), reader.byte())[0]
        if kind in (2, 3):
            return kind, reader.signed() if kind == 2 else reader.byte() != 0
        if kind in (4, 5):
            return kind, reader.double() if kind == 4 else reader.take(reader.unsigned())
        if kind not in (1, 6):
            raise ContractError(f"there is no kind {kind} of inputs")
        return kind, None

    def failing(self, inputs: list[Any]) -> tuple[str, int] | None:
        for at, ((kind, expected), value) in enumerate(zip(self.inputs, inputs)):
            if not _is_accepted(kind, expected, value):
                return "input", at
        variables: list[int | None] = []
        for number, dim, factor, offset in self.variables:
            size = _fitting(_size(inputs, number, dim) - offset)
            variables.append(None if size is None or factor == 0 else _fitting(size // factor))
        for at, code in enumerate(self.checks):
            if not _holds(code, inputs, variables):
                return "check", at
        return None


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _LEAST <= value <= _GREATEST


def _is_accepted(kind: int, expected: Any, value: Any) -> bool:
    if kind == 0:
        return isinstance(value, tuple) and len(value) == expected and all(0 <= size <= _GREATEST for size in value)
    if kind in (1, 2):
        return _is_integer(value) and (kind == 1 or value == expected)
    if kind == 3:
        return isinstance(value, bool) and value == expected
    if kind == 4:
        return isinstance(value, float) and (value == expected or (math.isnan(value) and math.isnan(expected)))
    return kind == 6 or (isinstance(value, str) and value.encode() == expected)


def _size(inputs: list[Any], number: int, dim: int) -> int:
    given = inputs[number] if number < len(inputs) else None
    if dim == 0 and isinstance(given, int) and _is_integer(given):
        return given
    if isinstance(given, tuple) and 0 < dim <= len(given):
        size: int = given[dim - 1]
        return size
    raise ContractError("the contract asks for a size that no input has")


def _code(data: bytes) -> Iterator[tuple[int, Any]]:
    """The operations of a check, each with what follows it."""
    reader = _Reader(data)
    while reader.at < len(data):
        op = reader.byte()
        if op > 33:
            raise ContractError(f"there is no operation {op}")
        if op in (0, 1):
            yield op, reader.signed() if op == 0 else reader.unsigned()
        elif op in (2, 3):
            yield op, (reader.unsigned(), reader.unsigned()) if op == 2 else reader.double()
        else:
            yield op, None


def _holds(code: list[tuple[int, Any]], inputs: list[Any], variables: list[int | None]) -> bool:
    """Whether a check leaves true. A value is ``None`` where it does not fit, or a divisor is 0."""
    stack: list[Any] = []
    for op, operand in code:
        try:
            if op < 4:
                value = variables[operand] if op == 1 else _size(inputs, *operand) if op == 2 else operand
                stack.append(value)
            elif op in _OF_ONE:
                value = stack.pop()
                stack.append(None if value is None else _OF_ONE[op](_typed(op, value)))
            elif op == 21:
                other, value, condition = stack.pop(), stack.pop(), stack.pop()
                stack.append(None if condition is None else value if condition else other)
            else:
                b, a = stack.pop(), stack.pop()
                if op in (19, 20):
                    decides = op == 20
                    is_settled = any(value is not None and bool(value) == decides for value in (a, b))
                    stack.append(decides if is_settled else None if a is None or b is None else not decides)
                else:
                    is_known = a is not None and b is not None
                    stack.append(_OF_TWO[op](_typed(op, a), _typed(op, b)) if is_known else None)
        except IndexError:
            raise ContractError("a check is damaged") from None
        if len(stack) > _MAX_STACK:
            raise ContractError("a check is damaged")
    if len(stack) != 1 or isinstance(stack[0], float):
        raise ContractError("a check is damaged")
    return stack[0] is not None and stack[0] == 1


def _typed(op: int, value: Any) -> Any:
    """An operand, which has to be of the type that the operation takes: a double from 23 on, else an integer."""
    if isinstance(value, float) != (op >= 23):
        raise ContractError("a check is damaged")
    return value


def _fitting(value: int) -> int | None:
    return value if _LEAST <= value <= _GREATEST else None


def _power(base: int, exponent: int) -> int | None:
    if exponent < 0:
        return None
    # Beyond 64 factors of at least 2 nothing fits.
    if abs(base) < 2:
        return base**2 if exponent and exponent % 2 == 0 else base if exponent else 1
    return _fitting(base**exponent) if exponent < 64 else None


def _rounded(rounding: Callable[[float], int], value: float) -> int | None:
    return rounding(value) if -(2.0**62) < value < 2.0**62 else None


def _divided(a: float, b: float) -> float | None:
    return a / b if b else None


_OF_ONE: dict[int, Any] = {
    14: lambda a: _fitting(abs(a)),
    16: lambda a: a == 0,
    17: lambda a: a <= 0,
    18: lambda a: not a,
    22: lambda a: float(a) if abs(a) <= 1 << 53 else None,
    26: abs,
    27: lambda a: _rounded(math.trunc, a),
    28: lambda a: _rounded(math.floor, a),
    29: lambda a: _rounded(math.ceil, a),
    30: lambda a: _rounded(round, a),
}
_OF_TWO: dict[int, Any] = {
    4: lambda a, b: _fitting(a + b),
    5: lambda a, b: _fitting(a * b),
    6: lambda a, b: _fitting(a // b) if b else None,
    7: lambda a, b: a % b if b else None,
    8: _power,
    9: min,
    10: max,
    11: lambda a, b: a & b,
    12: lambda a, b: a | b,
    13: lambda a, b: a ^ b,
    15: lambda a, b: a == b,
    23: lambda a, b: a + b,
    24: lambda a, b: a * b,
    25: _divided,
    31: lambda a, b: a == b,
    32: lambda a, b: a < b,
    33: lambda a, b: a <= b,
}


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _delimited(number: int, value: bytes) -> bytes:
    """A field of a protobuf message that holds bytes."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The fields of a protobuf message: the number, the whole field, and its value if that is of bytes."""
    reader = _Reader(message)
    while reader.at < len(message):
        start, key = reader.at, reader.unsigned()
        value, kind = b"", key & 7
        if kind == 0:
            reader.unsigned()
        elif kind == 2:
            value = reader.take(reader.unsigned())
        elif kind in (1, 5):
            reader.take(8 if kind == 1 else 4)
        else:
            raise ContractError("this is no ONNX model")
        yield key >> 3, message[start : reader.at], value


def _is_entry(number: int, value: bytes) -> bool:
    """Whether a field of a model is the entry of its metadata that holds a contract."""
    return number == 14 and any(at == 1 and part == KEY.encode() for at, _, part in _fields(value))


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise ContractError(f"{os.fspath(path)}: this is no archive: {error}") from None


def _replace(path: Path, data: bytes) -> None:
    """Writes a file beside another and puts it in its place."""
    written = f"{os.fspath(path)}.{os.getpid()}"
    with open(written, "wb") as file:
        file.write(data)
    os.replace(written, path)
