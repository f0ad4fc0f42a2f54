#!/usr/bin/env python3
"""Writes data/edge_dtypes.txt, the dtype combinations that operators of the Edge dialect take.

    python3 scripts/generate_edge_dtypes.py EDGE_DTYPES.json [-o data/edge_dtypes.txt]

The input is ExecuTorch's edge.yaml (see EXECUTORCH_VERSION) as JSON, by operator:

    {"aten::abs": {"aliases": {"T0": ["uint8", ...]}, "rows": [{"self": "T0", "__ret_0": "T0"}, ...]}}

A row is a joint combination: each tensor has a dtype of its alias, and tensors of one alias have the same dtype. Of the
arguments, only those that the schema (data/schemas.txt) declares as tensors are kept: ExecuTorch checks no others. Rows that
are then equal are written once. The same input gives the same bytes. Needs the standard library only.
"""

import argparse
import json
import pathlib
import re
import string

EXECUTORCH_VERSION = "1.5.0"
ROOT = pathlib.Path(__file__).resolve().parent.parent

LETTERS = {
    "bool": "b",
    "uint8": "B",
    "int8": "c",
    "int16": "s",
    "int32": "i",
    "int64": "l",
    "uint16": "S",
    "float16": "h",
    "bfloat16": "H",
    "float32": "f",
    "float64": "d",
    "complex64": "F",
    "complex128": "D",
}
HEADER = f"""\
# The dtype combinations of the tensors of Edge operators, from ExecuTorch {EXECUTORCH_VERSION}'s edge.yaml.
# Derived from ExecuTorch, Copyright (c) Meta Platforms, Inc. and affiliates, BSD-style licence; do not edit.
# Written by scripts/generate_edge_dtypes.py.
#
# OPERATOR; TENSORS; ALIASES; ROWS: an alias is a letter and its dtypes, a row a letter for each tensor. Tensors with one
# alias in a row have the same dtype. Dtypes:
#   {" ".join(f"{letter} {name}" for name, letter in LETTERS.items())}
"""


def tensor_names(schema):
    """The tensors and lists of tensors among the arguments and results of a schema, results without a name as __ret_N."""
    arguments, results = schema.rsplit(" -> ", 1)
    arguments = arguments.split("(", 1)[1]
    pattern = r"Tensor(?:\([^)]*\))?(?:\?|\[\])? (\w+)(?=[,)=])"
    names = re.findall(pattern, arguments)
    for index, result in enumerate(results.strip("()").split(", ")):
        match = re.fullmatch(r"Tensor(?:\[\])?(?: (\w+))?", result)
        if match:
            names.append(match.group(1) or f"__ret_{index}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "data" / "edge_dtypes.txt")
    options = parser.parse_args()

    schemas = {}
    for line in (ROOT / "data" / "schemas.txt").read_text().splitlines():
        if "(" in line and not line.startswith("#"):
            text = line.split(" ", 1)[1]
            schemas[text.split("(", 1)[0]] = text
    lines = []
    for name, entry in sorted(json.loads(options.table.read_text()).items()):
        columns = [column for column in tensor_names(schemas[name]) if column in entry["rows"][0]]
        aliases, rows = {}, {}
        for row in entry["rows"]:
            for column in columns:
                if row[column] not in aliases:
                    aliases[row[column]] = string.ascii_letters[len(aliases)]
            rows["".join(aliases[row[column]] for column in columns)] = None
        sets = (
            letter + "".join(sorted(LETTERS[dtype] for dtype in entry["aliases"][alias]))
            for alias, letter in aliases.items()
        )
        lines.append(f"{name}; {' '.join(columns)}; {' '.join(sets)}; {' '.join(rows)}\n")
    options.output.write_text(HEADER + "".join(lines))


main()
