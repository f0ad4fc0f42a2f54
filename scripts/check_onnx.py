"""Has onnx.checker look at the ONNX models that sizewise writes; needs the onnx package.

    python scripts/check_onnx.py SIZEWISE FOLDER

FOLDER is searched for .pt2 files. Prints the failures and how many models were accepted.
"""

import pathlib
import subprocess
import sys

import onnx


def main(sizewise, folder):
    accepted, failed = 0, 0
    for path in sorted(pathlib.Path(folder).rglob("*.pt2")):
        shown = subprocess.run([sizewise, "show", str(path), "--as", "onnx"], capture_output=True)
        try:
            if shown.returncode != 0:
                raise RuntimeError(shown.stderr.decode())
            model = onnx.load_model_from_string(shown.stdout)
            onnx.checker.check_model(model, full_check=False)
            accepted += 1
        except Exception as error:
            failed += 1
            print(f"{path}: {str(error).strip()[:500]}")
    print(f"{accepted} accepted, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
