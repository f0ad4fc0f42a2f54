#!/usr/bin/env python3
"""Validates SARIF reports of many programs against the schema of SARIF 2.1.0.

    SIZEWISE=target/release/sizewise scripts/service/sarif.py SCHEMA.json [PROGRAM.pt2 …]

The schema is OASIS' sarif-schema-2.1.0.json; the crate `serde-sarif` carries a copy (src/schema.json). Needs jsonschema_rs from PyPI.
"""
import json
import pathlib
import subprocess
import sys

import jsonschema_rs

from served import PROGRAM, ROOT

schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
schema.pop("$schema", None)
for definition in schema["definitions"].values():
    # A pattern with a stray bracket, which is no regular expression.
    definition.get("properties", {}).get("language", {}).pop("pattern", None)
validator = jsonschema_rs.Draft7Validator(schema)
programs = [pathlib.Path(p) for p in sys.argv[2:]] or sorted((ROOT / "examples").glob("*.pt2")) + sorted(
    (ROOT / "tests/data/programs").glob("*.pt2"))
valid = 0
for program in programs:
    spec = program.with_suffix(".json")
    command = [PROGRAM, "check", str(program), "--format", "sarif", *(["--spec", str(spec)] if spec.exists() else [])]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    if not text:
        print(f"{program}: no report")
        continue
    errors = [str(error) for error in validator.iter_errors(json.loads(text))]
    assert not errors, (program, errors)
    valid += 1
broken = json.loads(text)
broken["runs"][0]["invocations"] = [{}]
assert not validator.is_valid(broken), "the schema refuses nothing"
print(f"{valid} reports are valid SARIF 2.1.0")
