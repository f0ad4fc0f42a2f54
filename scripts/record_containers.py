"""Records programs whose inputs are in every container that torch can save: tests/data/reading/containers.jsonl.

For each: the program as JSON, the call's structure as torch wrote it, the way to each input as torch prints it, and whether the module takes
inputs of given shapes.

    python scripts/record_containers.py > tests/data/reading/containers.jsonl
"""
import collections
import dataclasses
import enum
import io
import json
import warnings
import zipfile

import torch
from torch.export import Dim, export
from torch.utils import _pytree as pytree

warnings.simplefilter("ignore")


class Color(enum.Enum):
    RED = 1
    BLUE = "b"


class Rank(enum.IntEnum):
    FIRST = 1


Pair = collections.namedtuple("Pair", "p q")
pytree._register_namedtuple(Pair, serialized_type_name="containers.Pair")


@dataclasses.dataclass
class Data:
    a: torch.Tensor
    b: object = None


torch.export.register_dataclass(Data, serialized_type_name="containers.Data")


class Custom:
    def __init__(self, items, note):
        self.items, self.note = items, note


pytree.register_pytree_node(
    Custom,
    lambda c: (c.items, c.note),
    lambda items, note: Custom(list(items), note),
    serialized_type_name="containers.Custom",
    to_dumpable_context=lambda note: {"note": note, "levels": [1, [2]]},
    from_dumpable_context=lambda context: context["note"],
    flatten_with_keys_fn=lambda c: ([(pytree.SequenceKey(i), item) for i, item in enumerate(c.items)], c.note),
)


class Area(torch.nn.Module):
    """Takes tensors of more than seven elements each."""

    def forward(self, x):
        made = []
        for leaf in pytree.tree_leaves(x):
            if isinstance(leaf, torch.Tensor):
                made.append(leaf * 2 if leaf.shape[0] * leaf.shape[1] > 7 else leaf)
        return made


def t():
    return torch.ones(3, 4)


def default(factory, items):
    made = collections.defaultdict(factory)
    made.update(items)
    return made


CASES = {
    "bool": {True: t(), False: t()},
    "float": {1.5: t()},
    "infinity": {float("inf"): t()},
    "none": {None: t()},
    "tuple": {(1, "a]"): t()},
    "tuple_of_one": {(2,): t()},
    "enum": {Color.RED: t(), Color.BLUE: t()},
    "int_enum": {Rank.FIRST: t()},
    "mixed": {"a": t(), 1: t()},
    "negative": {-3: t()},
    "big": {2**70: t()},
    "default_list": default(list, {"a": t(), True: t()}),
    "ordered": collections.OrderedDict([("b", t()), (2, t())]),
    "ordered_tuple": collections.OrderedDict([((1, 2), t())]),
    "named_tuple": Pair(t(), t()),
    "named_tuple_as_key": {Pair(1, 2): t()},
    "dataclass": Data(t(), t()),
    "dataclass_with_none": Data(t()),
    "deque": collections.deque([t(), t()], maxlen=4),
    "custom": Custom([t(), t()], "n"),
    "nested": {"l": [t(), {True: (t(), None)}]},
}


def auto(value):
    return pytree.tree_map(lambda leaf: [Dim.AUTO, Dim.AUTO] if isinstance(leaf, torch.Tensor) else None, value)


def shaped(value, shape):
    return pytree.tree_map(lambda leaf: torch.ones(shape) if isinstance(leaf, torch.Tensor) else leaf, value)


def main():
    for name, value in CASES.items():
        if isinstance(value, Data):
            shapes = {"x": [[Dim.AUTO, Dim.AUTO]] * (1 if value.b is None else 2)}
        elif isinstance(value, Custom):
            shapes = {"x": [[Dim.AUTO, Dim.AUTO]] * 2}
        else:
            shapes = {"x": auto(value)}
        ep = export(Area(), (value,), dynamic_shapes=shapes)
        buffer = io.BytesIO()
        torch.export.save(ep, buffer)
        archive = zipfile.ZipFile(buffer)
        [entry] = [entry for entry in archive.namelist() if entry.endswith("models/model.json")]
        program = json.loads(archive.read(entry))
        for node in program["graph_module"]["graph"]["nodes"]:
            node["metadata"] = {}
        paths = [pytree.keystr(path) for path, leaf in pytree.tree_flatten_with_path(value)[0]]
        runs = []
        for shape in [(3, 4), (2, 4), (2, 3), (7, 1), (8, 2)]:
            try:
                ep.module()(shaped(value, shape))
                runs.append([shape, True])
            except AssertionError:
                runs.append([shape, False])
            except SyntaxError:
                # torch cannot run its own guards on members of enumerations.
                continue
        print(json.dumps({"name": name, "paths": paths, "runs": runs, "program": program}))


main()
