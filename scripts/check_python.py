#!/usr/bin/env python3
"""Checks that `sizewise show --as python` writes what Python parses.

    python3 scripts/check_python.py BIN FOLDER

BIN is the program; every .pt2 file below FOLDER is shown. Needs the standard library only.
"""

import ast
import pathlib
import subprocess
import sys


def main():
    binary, folder = sys.argv[1:]
    count = 0
    for path in sorted(pathlib.Path(folder).rglob("*.pt2")):
        shown = subprocess.run([binary, "show", path, "--as", "python"], capture_output=True, text=True, check=True)
        ast.parse(shown.stdout, filename=str(path))
        count += 1
    print(f"{count} programs")


main()
