"""Tells what a new release of torch changes for sizewise: schemas, operators without kernels, and seams that moved.

    python scripts/torch_release.py dump > OLD.json             # with the torch that is known
    python scripts/torch_release.py dump > NEW.json             # with the new one
    python scripts/torch_release.py compare OLD.json NEW.json SIZEWISE

A seam is what the Python package uses of torch: names that it imports, names that it takes from modules of torch, and methods and
attributes of `ShapeEnv`. It moved if it is gone, if its signature changed, or if its source did, which is then to be read. The list of
seams is read off the package's own source. Operators are those of torch's registry, without those that PyTorch's libraries add.
"""

import ast
import hashlib
import importlib
import inspect
import json
import pathlib
import re
import subprocess
import sys
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "sizewise"
NAMESPACES = ("aten", "prims", "quantized_decomposed", "higher_order", "inductor", "_c10d_functional")


def seams() -> set[str]:
    """The names of torch that the package uses, with dots."""
    found: set[str] = set()
    for path in sorted(PACKAGE.glob("*.py")):
        tree = ast.parse(path.read_text())
        known: dict[str, str] = {"shape_env": SHAPE_ENV, "ShapeEnv": SHAPE_ENV}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
                for name in node.names:
                    known[name.asname or name.name] = f"{node.module}.{name.name}"
                    found.add(f"{node.module}.{name.name}")
            elif isinstance(node, ast.Import):
                known |= {
                    name.asname: name.name for name in node.names if name.asname and name.name.split(".")[0] == "torch"
                }
            elif isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "_HOOKS":
                found |= {f"{SHAPE_ENV}.{key.value}" for key in node.value.keys}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
                found.add(f"{known[node.value.id]}.{node.attr}")
            elif isinstance(node, ast.Attribute) and (text := ast.unparse(node)).startswith("torch."):
                found.add(text)
    return {name for name in found if not any(part.startswith("__") for part in name.split("."))}


SHAPE_ENV = "torch.fx.experimental.symbolic_shapes.ShapeEnv"


def looked_up(name: str):
    """What a name stands for: a member of a module, or an attribute of a new `ShapeEnv`."""
    if name.startswith(f"{SHAPE_ENV}.") and not hasattr(looked_up(SHAPE_ENV), name.rpartition(".")[2]):
        return getattr(looked_up(SHAPE_ENV)(), name.rpartition(".")[2])
    try:
        return importlib.import_module(name)
    except ImportError:
        owner, _, member = name.rpartition(".")
        if not owner:
            raise
        return getattr(looked_up(owner), member)


def seam(name: str) -> dict[str, str] | None:
    """The signature and a hash of the source; `None` for what torch does not have."""
    try:
        value = looked_up(name)
    except (ImportError, AttributeError):
        return None
    said = {"kind": type(value).__name__}
    value = inspect.unwrap(value) if callable(value) else value
    try:
        said["signature"] = re.sub(" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
        # Neither comments nor layout count.
        source = ast.dump(ast.parse(textwrap.dedent(inspect.getsource(value))))
        said["source"] = hashlib.sha256(source.encode()).hexdigest()[:16]
    except (TypeError, ValueError, OSError, SyntaxError):
        pass
    return said


def dump() -> None:
    import torch

    schemas = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if schema.name.split("::")[0] in NAMESPACES:
            schemas[name] = str(schema)
    for name in torch._ops._higher_order_ops:
        schemas[f"higher_order::{name}"] = ""
    dispatched = sorted(set(torch._C._dispatch_get_all_op_names()))
    found = {name: seam(name) for name in sorted(seams())}
    json.dump(
        {"torch": torch.__version__, "schemas": schemas, "dispatched": dispatched, "seams": found}, sys.stdout, indent=1
    )


def kernels(sizewise: str) -> dict[str, bool]:
    """Whether sizewise has a kernel, by operator: `aten.add.Tensor`."""
    text = subprocess.run([sizewise, "ops", "--format", "json"], capture_output=True, text=True, check=True).stdout
    return {one["op"]: one["kernel"] != "no" for one in json.loads(text)["operators"]}


def section(title: str, lines: list[str]) -> None:
    print(f"\n## {title}: {len(lines)}\n")
    for line in lines:
        print(f"- {line}")


def compare(old_path: str, new_path: str, sizewise: str) -> int:
    old, new = (json.loads(pathlib.Path(path).read_text()) for path in (old_path, new_path))
    known = kernels(sizewise)
    bases = {name.rpartition(".")[0] for name, has in known.items() if has}

    def dotted(name: str) -> str:
        space, _, rest = name.partition("::")
        return f"{space}.{rest}" if "." in rest or space == "higher_order" else f"{space}.{rest}.default"

    def says(name: str) -> str:
        if known.get(dotted(name)):
            return "has a kernel"
        return "its family has kernels" if dotted(name).rpartition(".")[0] in bases else "no kernel"

    dispatched = set(new["dispatched"])
    before, after = old["schemas"], new["schemas"]
    added = [
        name for name in sorted(after.keys() - before.keys()) if name in dispatched or name.startswith("higher_order")
    ]
    print(f"# torch {old['torch']} to {new['torch']}")
    section("New operators", [f"`{after[name] or name}`: {says(name)}" for name in added])
    section("Operators that are gone", [f"`{name}`: {says(name)}" for name in sorted(before.keys() - after.keys())])
    changed = [name for name in sorted(before.keys() & after.keys()) if before[name] != after[name]]
    section("Schemas that changed", [f"`{before[name]}` is now `{after[name]}`: {says(name)}" for name in changed])
    before, after = old["seams"], new["seams"]
    both = [name for name in sorted(before.keys() & after.keys()) if before[name] and after[name]]
    section("Seams that are gone", [name for name in sorted(after) if after[name] is None and before.get(name)])
    section("Seams that are new", [name for name in sorted(after) if after[name] and not before.get(name)])
    signatures = [name for name in both if before[name].get("signature") != after[name].get("signature")]
    lines = [
        f"{name}: `{before[name].get('signature')}` is now `{after[name].get('signature')}`" for name in signatures
    ]
    section("Seams with another signature", lines)
    section(
        "Seams with another source, to be read",
        [name for name in both if name not in signatures and before[name] != after[name]],
    )
    print(f"\n{len(both)} seams in both, {sum(before[name] == after[name] for name in both)} of them as they were.")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["dump"]:
        dump()
    elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 5:
        sys.exit(compare(*sys.argv[2:]))
    else:
        sys.exit(__doc__)
