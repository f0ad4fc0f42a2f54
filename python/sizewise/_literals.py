"""Literal arguments of nodes as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import torch
from torch.fx import Node

#: Types of list elements in schemas, and the lists that are written for them when they are empty.
EMPTY_LISTS = {
    "BoolType": "as_bools",
    "IntType": "as_ints",
    "SymIntType": "as_ints",
    "FloatType": "as_floats",
    "StringType": "as_strings",
    "TensorType": "as_tensors",
}


class Unknown(Exception):
    """Something that this walk cannot write."""


def number(value: float) -> str:
    """A double."""
    if value == math.inf:
        return '"Infinity"'
    if value == -math.inf:
        return '"-Infinity"'
    return '"NaN"' if math.isnan(value) else float.__repr__(value)


def named(node: Node) -> str:
    """A node by its name."""
    return f'{{"name": {quoted(node.name)}}}'


def truth(value: bool) -> str:
    """A truth value."""
    return "true" if value else "false"


def text_key(key: Any) -> str:
    """A key of a dictionary."""
    if not isinstance(key, str):
        raise Unknown(f"a dictionary with a key of {type(key)}")
    return key


def empty_list(kind: Any) -> str:
    """The tag of an empty list for an argument of this type."""
    if kind is None:
        return "as_tensors"
    if isinstance(kind, torch.OptionalType):
        kind = kind.getElementType()
    if not isinstance(kind, torch.ListType):
        raise Unknown(f"an empty list for {kind}")
    element = kind.getElementType()
    if isinstance(element, torch.OptionalType):
        element = element.getElementType()
    if isinstance(element, torch.ListType):
        return {"IntType": "as_int_lists", "FloatType": "as_float_lists"}[type(element.getElementType()).__name__]
    name = EMPTY_LISTS.get(type(element).__name__)
    if name is None:
        raise Unknown(f"an empty list for {kind}")
    return name


#: What writes a value of a type.
WRITERS: dict[type, Callable[[Any], str]] = {
    bool: lambda arg: '{"as_bool": true}' if arg else '{"as_bool": false}',
    str: lambda arg: f'{{"as_string": {quoted(arg)}}}',
    int: lambda arg: f'{{"as_int": {arg}}}',
    float: lambda arg: f'{{"as_float": {number(arg)}}}',
    complex: lambda arg: f'{{"as_complex": {{"real": {number(arg.real)}, "imag": {number(arg.imag)}}}}}',
    type(None): lambda arg: '{"as_none": true}',
}
#: The tag of a list whose items are of one type, and what writes one.
LISTS: dict[type, tuple[str, Callable[[Any], str]]] = {
    bool: ("as_bools", truth),
    int: ("as_ints", int.__repr__),
    float: ("as_floats", number),
    str: ("as_strings", quoted),
}
