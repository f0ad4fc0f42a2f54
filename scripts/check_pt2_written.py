"""Has torch load the .pt2 archives that sizewise writes; needs torch 2.15.

    python scripts/check_pt2_written.py SIZEWISE FOLDER [EVERY]

FOLDER is searched for .pt2 files, of which every EVERY-th is written again and given to torch.export.load, or, where torch wants the
weights that are not written, to its deserializer; the graphs of both are compared. What torch cannot read of its own is counted apart.
"""

import io
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import torch
from torch._export.serde.schema import ExportedProgram
from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass


def model(path):
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        entries = [name for name in names if "models/" in name and name.endswith(".json")]
        return json.loads(archive.read(entries[0] if entries else "serialized_exported_program.json"))


def load(document):
    program = _dict_to_dataclass(ExportedProgram, document)
    # State is by name only: torch needs something of each name, whatever it holds.
    state, constants = {}, {}
    for spec in program.graph_module.signature.input_specs:
        tag, value = spec.type, spec.value
        if tag == "parameter":
            state[value.parameter_name] = torch.nn.Parameter(torch.empty(0), requires_grad=False)
        elif tag == "buffer":
            (state if value.persistent else constants)[value.buffer_name] = torch.empty(0)
        elif tag == "tensor_constant":
            constants[value.tensor_constant_name] = torch.empty(0)
    return ExportedProgramDeserializer().deserialize(program, state, constants)


def main(sizewise, folder, every="10"):
    same, differ, own = 0, 0, 0
    for path in sorted(pathlib.Path(folder).rglob("*.pt2"))[:: int(every)]:
        try:
            before = str(load(model(path)).graph_module.print_readable(print_output=False))
        except Exception:
            own += 1
            continue
        with tempfile.TemporaryDirectory() as work:
            written = pathlib.Path(work) / "again.pt2"
            subprocess.run([sizewise, "show", str(path), "--as", "pt2", "--output", str(written)], check=True)
            try:
                after = str(load(model(written)).graph_module.print_readable(print_output=False))
            except Exception as error:
                after = f"{type(error).__name__}: {error}"
        if before == after:
            same += 1
        else:
            differ += 1
            print(f"{path}: {after[:300]}")
    print(f"{same} the same, {differ} not, {own} that torch does not load before either")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
