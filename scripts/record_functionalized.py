"""Records training programs with what torch makes of them; needs torch 2.15.

    python scripts/record_functionalized.py tests/data/functionalized.jsonl.gz

One line for each program of `mutating_programs.py`: its name, its JSON, and of `run_decompositions({})` the outputs: kind, target, dtype and
sizes.
"""

import copy
import gzip
import io
import json
import sys
import zipfile

import torch
from mutating_programs import CASES


def model(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    with zipfile.ZipFile(file) as archive:
        (entry,) = [name for name in archive.namelist() if name.endswith("models/model.json")]
        document = json.loads(archive.read(entry))
    return without_places(document)


def without_places(document):
    """The document without stack traces."""
    if isinstance(document, list):
        return [without_places(item) for item in document]
    if not isinstance(document, dict):
        return document
    kept = {key: without_places(value) for key, value in document.items()}
    if "target" in kept and "metadata" in kept:
        kept["metadata"] = {}
    return kept


def outputs(program):
    (node,) = [node for node in program.graph.nodes if node.op == "output"]
    for spec, value in zip(program.graph_signature.output_specs, node.args[0]):
        meta = value.meta["val"]
        sizes = [str(size) for size in meta.shape]
        yield [spec.kind.name, spec.target, str(meta.dtype).removeprefix("torch."), sizes]


def main(path):
    lines = []
    for name, make, args, shapes in CASES:
        program = torch.export.export(make(), copy.deepcopy(args), dynamic_shapes=shapes and {"args": shapes})
        made = list(outputs(program.run_decompositions({})))
        lines.append(json.dumps({"name": name, "program": model(program), "outputs": made}) + "\n")
    with open(path, "wb") as file:
        file.write(gzip.compress("".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
