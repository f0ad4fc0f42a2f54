"""Writes the programs of tests/data/reading that older versions of torch and ExecuTorch make.

    python scripts/write_older_programs.py OUT       # under torch 2.2.2, 2.3.1, 2.4.1 and 2.5.1 in turn, and under ExecuTorch 1.5.1

Kept of each archive are its program and its version: no weights, and no paths in the stack traces.
"""
import io
import os
import re
import sys
import zipfile

import torch
from torch.export import Dim, export


class Lin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 3)
        self.register_buffer("b", torch.ones(3))

    def forward(self, x):
        return self.l(x) + self.b


class Cat(torch.nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], 0), x.shape[0] * 2


class Kw(torch.nn.Module):
    def forward(self, d, *, k=3, flag=True):
        return {"o": d["a"] * k if flag else d["a"]}


class Unb(torch.nn.Module):
    def forward(self, x):
        n = x.sum().item()
        torch._check_is_size(n)
        torch._check(n < 100)
        return torch.zeros(n)


class Cond(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))


class Mut(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("c", torch.zeros(2, 3))

    def forward(self, x):
        self.c.add_(1)
        return x + self.c


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.n = torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.nn.functional.max_pool2d(self.n(self.c(x)).relu(), 2)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.l(x).relu() * 2


class SinAdd(torch.nn.Module):
    def forward(self, x, y):
        return x.sin() + y


def strip(archive, path):
    """Writes the program and the version of an archive, without paths."""
    source = zipfile.ZipFile(archive)
    text = source.read("serialized_exported_program.json").decode()
    text = re.sub(r"/[^ \"\\]*/site-packages/|" + re.escape(os.getcwd() + "/"), "", text)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(zipfile.ZipInfo("serialized_exported_program.json"), text, zipfile.ZIP_DEFLATED)
        made.writestr(zipfile.ZipInfo("version"), source.read("version"), zipfile.ZIP_DEFLATED)


def write(out, name, module, args, kwargs=None, shapes=None):
    try:
        program = export(module.eval(), args, kwargs or {}, dynamic_shapes=shapes)
        for suffix, made in (("", program), ("_dec", program.run_decompositions())):
            buffer = io.BytesIO()
            torch.export.save(made, buffer)
            strip(buffer, f"{out}/torch-{torch.__version__.split('+')[0]}-{name}{suffix}.pt2")
    except Exception as error:  # Some versions refuse some of them.
        print(name, type(error).__name__, str(error)[:100])


def write_executorch(out):
    import executorch.exir as exir
    from executorch.exir.backend.backend_api import to_backend
    from executorch.exir.backend.compile_spec_schema import CompileSpec
    from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo

    def save(program, name):
        exir.save(program, f"{out}/whole.pt2")
        strip(f"{out}/whole.pt2", f"{out}/executorch-1.5.1-{name}.pt2")
        os.remove(f"{out}/whole.pt2")

    shapes = {"x": {0: Dim("b", min=2, max=9)}}
    save(exir.to_edge(export(Scaled(), (torch.randn(3, 4),), dynamic_shapes=shapes)).exported_program(), "edge")
    pair = (torch.randn(3, 4), torch.randn(3, 4))
    inner = exir.to_edge(export(SinAdd(), pair)).exported_program()
    lowered = to_backend(BackendWithCompilerDemo.__name__, inner, [CompileSpec("max_value", bytes([4]))])

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.low = lowered

        def forward(self, x, y):
            return self.low(x, y)[0] * 2

    save(exir.to_edge(export(Outer(), pair)).exported_program(), "delegate")


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    try:
        return write_executorch(out)
    except ImportError:
        pass
    b, c = Dim("b", min=2, max=64), Dim("c", min=2, max=64)
    x = torch.randn(5, 4)
    write(out, "lin", Lin(), (x,), shapes={"x": {0: b}})
    write(out, "cat", Cat(), (x, torch.randn(6, 4)), shapes={"x": {0: b}, "y": {0: c}})
    write(out, "kw", Kw(), ({"a": x},), {"k": 2, "flag": True}, {"d": {"a": {0: b}}, "k": None, "flag": None})
    write(out, "unb", Unb(), (torch.tensor([2, 3]),))
    write(out, "cond", Cond(), (x,), shapes={"x": {0: b}})
    write(out, "mut", Mut(), (torch.randn(2, 3),))
    write(out, "conv", Conv(), (torch.randn(2, 3, 8, 8),), shapes={"x": {0: b}})


main()
