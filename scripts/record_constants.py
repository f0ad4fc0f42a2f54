"""Records what torch makes of inputs that an export burns in: tests/data/reading/constants.jsonl.

Thirty programs, each with one input or more that is no tensor. For each: the program as JSON, what the module says to values of those inputs
(`runs`), and what torch.export says to specs of them (`specs`). A spec under which torch makes an integer dynamic is violated by the recorded
program if it demands that (`DYNAMIC`).

    python scripts/record_constants.py > tests/data/reading/constants.jsonl
"""
import io
import json
import math
import warnings
import zipfile

import torch
from torch.export import Dim, export

warnings.simplefilter("ignore")


class Scale(torch.nn.Module):
    def forward(self, x, y):
        return x * y


class Pick(torch.nn.Module):
    def forward(self, x, y):
        return x.sin() if y else x.cos()


class Mode(torch.nn.Module):
    def forward(self, x, y):
        return x.relu() if y == "relu" else x.tanh()


class Unused(torch.nn.Module):
    def forward(self, x, y):
        return x + 1


class Keywords(torch.nn.Module):
    def forward(self, x, *, y, z):
        return x * y if z is None else x


class Nested(torch.nn.Module):
    def forward(self, x, cfg):
        return x.sum(cfg["y"]) if cfg["keep"] else x


class Both(torch.nn.Module):
    def forward(self, x, y, z):
        return x.reshape(x.shape[0], y, z)


class Size(torch.nn.Module):
    def forward(self, x, y):
        return x[:, :y]


VALUES = [3, 4, 2, 0, 1, -1, 7, 3.0, 2.5, 1.0, 0.0, -0.0, 1e300, True, False, None, "relu", "gelu", "", "a\"b\\c", "caf\u00e9", 2**53, 2**53 + 1, float(2**53), 9223372036854775807]
SPECS = [None, "AUTO", "DYNAMIC", "STATIC", "RANGE", {"dim": "k", "min": 1, "max": 9}, 3, 4, 0, 1]


def x():
    return torch.ones(2, 4, 6)


CASES = [
    ("int", Scale(), (x(), 3)),
    ("int_zero", Scale(), (x(), 0)),
    ("int_one", Scale(), (x(), 1)),
    ("int_negative", Scale(), (x(), -1)),
    ("int_large", Unused(), (x(), 2**53 + 1)),
    ("int_largest", Unused(), (x(), 9223372036854775807)),
    ("int_unused", Unused(), (x(), 7)),
    ("int_slices", Size(), (x(), 2)),
    ("float", Scale(), (x(), 2.5)),
    ("float_whole", Scale(), (x(), 3.0)),
    ("float_zero", Unused(), (x(), 0.0)),
    ("float_negative_zero", Unused(), (x(), -0.0)),
    ("float_large", Unused(), (x(), 1e300)),
    ("float_inf", Unused(), (x(), math.inf)),
    ("float_two_to_53", Unused(), (x(), float(2**53))),
    ("float_small", Unused(), (x(), 5e-324)),
    ("bool_true", Pick(), (x(), True)),
    ("bool_false", Pick(), (x(), False)),
    ("bool_unused", Unused(), (x(), True)),
    ("str", Mode(), (x(), "relu")),
    ("str_other", Mode(), (x(), "gelu")),
    ("str_empty", Mode(), (x(), "")),
    ("str_spaces", Mode(), (x(), "a - b")),
    ("str_accent", Mode(), (x(), "caf\u00e9")),
    ("none", Unused(), (x(), None)),
    ("none_tested", Pick(), (x(), None)),
    ("keywords", Keywords(), (x(),), {"y": 3, "z": None}),
    ("keywords_float", Keywords(), (x(),), {"y": 2.5, "z": "relu"}),
    ("nested", Nested(), (x(), {"y": 1, "keep": True})),
    ("two_ints", Both(), (x(), 3, 8)),
]


def entry(spec):
    """What torch takes for an entry of a spec."""
    if isinstance(spec, str):
        return getattr(Dim, spec)
    if isinstance(spec, dict):
        return Dim.DYNAMIC(min=spec["min"], max=spec["max"]) if "hint" in spec else Dim(spec["dim"], min=spec["min"], max=spec["max"])
    return spec


def document(ep):
    """The program's JSON without what differs from machine to machine."""
    buffer = io.BytesIO()
    torch.export.save(ep, buffer)
    archive = zipfile.ZipFile(buffer)
    [name] = [name for name in archive.namelist() if name.endswith("models/model.json")]
    program = json.loads(archive.read(name))
    for node in program["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {}
    return program


def variants(args, kwargs, value):
    """The call with another value of `y`, the second input."""
    if kwargs:
        return args, {**kwargs, "y": value}
    if isinstance(args[1], dict):
        return (args[0], {**args[1], "y": value}), {}
    return (args[0], value, *args[2:]), {}


def traced_value(args, kwargs):
    if kwargs:
        return kwargs["y"]
    return args[1]["y"] if isinstance(args[1], dict) else args[1]


def main():
    for name, module, args, *rest in CASES:
        kwargs = rest[0] if rest else {}
        ep = export(module, args, kwargs)
        runs = []
        for value in VALUES:
            given, keywords = variants(args, kwargs, value)
            try:
                ep.module()(*given, **keywords)
                runs.append([value, True])
            except AssertionError:
                runs.append([value, False])
        specs = []
        for spec in SPECS:
            shapes = {"x": None}
            if spec == "RANGE":
                # One that holds the traced value, where that is an integer.
                near = traced_value(args, kwargs)
                near = int(near) if isinstance(near, int) else 1
                if near < 0:
                    continue
                spec = {"hint": "DYNAMIC", "min": min(near, 1), "max": max(near, 9)}
            traced = traced_value(args, kwargs)
            if isinstance(spec, int) and (isinstance(traced, bool) or spec == traced or not isinstance(traced, int)):
                # torch stumbles over an integer that is right, too.
                if isinstance(traced, int):
                    continue
            if kwargs:
                shapes |= {"y": entry(spec), "z": None}
            elif isinstance(args[1], dict):
                shapes["cfg"] = {"y": entry(spec), "keep": None}
            else:
                shapes |= {"y": entry(spec)} | ({"z": None} if len(args) > 2 else {})
            try:
                made = export(module, args, kwargs, dynamic_shapes=shapes)
                dynamic = any(type(s.arg).__name__ == "SymIntArgument" for s in made.graph_signature.input_specs)
                demanded = spec == "DYNAMIC" or isinstance(spec, dict) and "hint" in spec
                specs.append([spec, "violated" if dynamic and demanded else "ok"])
            except Exception as error:
                # A size that data decides or that guards fix makes the export fail although the entry is a fit one.
                kind = "violated" if "onstraints violated" in str(error) else "invalid"
                specs.append([spec, kind])
        places = {s.arg.name for s in ep.graph_signature.input_specs}
        [placeholder] = [p for p in places if p in ("y", "cfg_y")]
        print(json.dumps({"name": name, "input": placeholder, "runs": runs, "specs": specs, "program": document(ep)}))


main()
