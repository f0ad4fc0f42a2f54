#!/usr/bin/env python3
"""Writes data/schemas.txt, the operator schemas embedded in the crate.

    python3 scripts/generate_schemas.py SCHEMAS.jsonl.gz [-o data/schemas.txt]

The input is a dump of the operator registry of torch (see TORCH_VERSION), one JSON object a line:

    {"op": "aten.add.Tensor",            namespace, name and overload
     "schema": "add.Tensor(Tensor ...",  as the registry prints it, without a namespace; null for a higher-order operator
     "tags": ["core", "pointwise", ...], torch.Tag names
     "is_view": false,                   a result may share memory with an argument
     "composite_implicit": false, "composite_explicit": false, "core_decomp": false,
     "dispatcher": true}                 false: known to TorchScript only, no kernel can be registered

Mutable overloads are added from scripts/mutable_overloads.txt, whose header describes them.

The output is text: comments (`#`), then one overload a line, `LETTERS NAMESPACE::SCHEMA`, sorted by the bytes of
(namespace, name, overload); LETTERS is `-` when there are none. A higher-order operator has a name only. The same
input gives the same bytes. Needs the standard library only.
"""

import argparse
import gzip
import json
import pathlib
import re
import sys

TORCH_VERSION = "2.15.0"
HERE = pathlib.Path(__file__).resolve().parent

# Letter, name in the Rust table, and the torch.Tag or the field of the dump that it stands for.
LETTERS = {
    "c": ("core", "core"),
    "p": ("pointwise", "pointwise"),
    "r": ("reduction", "reduction"),
    "d": ("dynamic_output_shape", "dynamic_output_shape"),
    "D": ("data_dependent_output", "data_dependent_output"),
    "s": ("nondeterministic_seeded", "nondeterministic_seeded"),
    "V": ("view_copy", "view_copy"),
    "a": ("maybe_aliasing_or_mutating", "maybe_aliasing_or_mutating"),
    "v": ("view", "is_view"),
    "C": ("composite_implicit", "composite_implicit"),
    "E": ("composite_explicit", "composite_explicit"),
    "k": ("core_decomposition", "core_decomp"),
    "t": ("torchscript_only", "not dispatcher"),
    "h": ("higher_order", "higher_order"),
    "m": ("mutable", "an argument is marked `!`"),
    "i": ("inplace", "mutable, named `..._` or `__i...__`"),
    "w": ("inplace_view", "inplace_view"),
}
ORDER = "".join(LETTERS)


def letters_of(row):
    """The tag letters of one row of the dump."""
    tags = set(row["tags"])
    found = {letter for letter, (_, source) in LETTERS.items() if source in tags}
    for letter in "vCEk":
        if row.get(LETTERS[letter][1]):
            found.add(letter)
    if row.get("higher_order"):
        found.add("h")
    elif not row["dispatcher"]:
        found.add("t")
    return found


def inplace_schema(name, functional):
    """The schema of in-place `name` that takes the arguments of the schema `functional`."""
    one = r"Tensor(?:\(a\))?(\[\])?"
    match = re.fullmatch(rf"[\w.]+\({one} \w+(.*)\) -> {one}(?: \w+)?", functional)
    if match is None:
        sys.exit(f"{name}: no in-place form of {functional}")
    is_list, rest, _ = match.groups()
    return f"{name}(Tensor(a!){is_list or ''} self{rest}) -> {'()' if is_list else 'Tensor(a!)'}"


def mutable_rows(path, rows):
    """Yields (key, letters, schema) for each line of the list of mutable overloads."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(.*?)((?: (?:[+-][A-Za-z])+)?)", line)
        text, changes = match.group(1), match.group(2).strip()
        if "(" in text:
            schema, letters = text, set()
        else:
            name, _, source = text.partition(" = ")
            base, dot, overload = name.partition(".")
            source = source or base.removesuffix("_") + dot + overload
            key = f"aten.{source}" if "." in source else f"aten.{source}.default"
            if key not in rows:
                sys.exit(f"{name}: {key} is not in the dump")
            letters = letters_of(rows[key]) - set("cvVakE")
            schema = inplace_schema(name, rows[key]["schema"])
        letters |= {"m", "i"}
        for sign, letter in re.findall(r"([+-])(.)", changes):
            (letters.add if sign == "+" else letters.discard)(letter)
        yield sort_key("aten", schema), letters, "aten::" + schema


def sort_key(namespace, schema):
    name, _, overload = schema.partition("(")[0].partition(".")
    return namespace.encode(), name.encode(), overload.encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=HERE.parent / "data" / "schemas.txt")
    options = parser.parse_args()

    opener = gzip.open if options.dump.suffix == ".gz" else open
    with opener(options.dump, "rt", encoding="utf-8") as lines:
        rows = {row["op"]: row for row in map(json.loads, lines)}

    entries = {}
    for op, row in rows.items():
        namespace, rest = op.split(".", 1)
        schema = row["schema"] or rest
        letters = letters_of(row) | ({"m"} if row["schema"] and "!" in schema else set())
        entries[sort_key(namespace, schema)] = (letters, f"{namespace}::{schema}")
    for key, letters, schema in mutable_rows(HERE / "mutable_overloads.txt", rows):
        if key in entries:
            sys.exit(f"{schema}: already in the dump")
        entries[key] = (letters, schema)

    out = [
        f"# Operator schemas of torch {TORCH_VERSION}, written by scripts/generate_schemas.py; do not edit.",
        "# The schemas are those of PyTorch's operator registry (BSD-3-Clause, see its LICENSE file).",
        "# LETTERS NAMESPACE::SCHEMA, sorted by namespace, name and overload. Letters:",
    ]
    out += [f"#   {letter} {name}" for letter, (name, _) in LETTERS.items()]
    for key in sorted(entries):
        letters, schema = entries[key]
        if "\n" in schema:
            sys.exit(f"{schema!r}: a schema is one line")
        out.append(f"{''.join(sorted(letters, key=ORDER.index)) or '-'} {schema}")
    options.output.write_bytes(("\n".join(out) + "\n").encode())


if __name__ == "__main__":
    main()
