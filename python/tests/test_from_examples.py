"""Specs from example calls."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import sizewise
from sizewise import SpecError, spec_from_examples


class Array:
    """What has a shape and a dtype: torch is not needed."""

    def __init__(self, *shape: int, dtype: str = "float32") -> None:
        self.shape, self.dtype = shape, dtype


A = Array


class Two(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any = None


def one(x: Any) -> None: ...
def two(x: Any, y: Any) -> None: ...
def three(x: Any, y: Any, z: Any) -> None: ...
def rest(x: Any, *args: Any, z: Any = None, **kwargs: Any) -> None: ...


#: The function, the calls, the entries of the parameters, and the assumptions.
RELATIONS: list[tuple[str, Callable[..., Any], list[Any], dict[str, Any], list[str]]] = [
    ("all are equal", one, [(A(2, 3),), (A(2, 3),)], {"x": None}, []),
    ("a single example", one, [(A(2, 3),)], {"x": None}, []),
    ("one size differs", one, [(A(2, 3),), (A(5, 3),)], {"x": ["x_0", None]}, []),
    ("equal sizes", two, [(A(2, 3), A(2)), (A(5, 3), A(5))], {"x": ["x_0", None], "y": ["x_0"]}, []),
    ("two points are on no line", two, [(A(2), A(5)), (A(3), A(7))], {"x": ["x_0"], "y": ["y_0"]}, []),
    ("three are", two, [(A(n), A(2 * n + 1)) for n in (2, 3, 7)], {"x": ["x_0"], "y": ["2*x_0 + 1"]}, []),
    ("the smaller is the root", two, [(A(3 * n - 2), A(n)) for n in (2, 3, 7)], {"x": ["3*y_0 - 2"], "y": ["y_0"]}, []),
    ("one more", two, [(A(n), A(n + 1)) for n in (2, 3, 7)], {"x": ["x_0"], "y": ["x_0 + 1"]}, []),
    ("no whole factor", two, [(A(2 * n), A(3 * n + 1)) for n in (1, 2, 4, 5)], {"x": ["x_0"], "y": ["y_0"]},
     ["2*y_0 == 3*x_0 + 2", "x_0 % 2 == 0"]),
    ("off the line", two, [(A(n), A(n * n % 11)) for n in (2, 3, 7, 8)], {"x": ["x_0"], "y": ["y_0"]}, []),
    ("a falling line is none", two, [(A(n), A(9 - n)) for n in (2, 3, 7)], {"x": ["x_0"], "y": ["y_0"]}, []),
    ("a multiple", one, [(A(n),) for n in (8, 16, 40)], {"x": ["x_0"]}, ["x_0 % 8 == 0"]),
    ("a remainder", one, [(A(n),) for n in (7, 10, 19)], {"x": ["x_0"]}, ["x_0 % 3 == 1"]),
    ("even ones", one, [(A(n),) for n in (2, 4, 8, 14)], {"x": ["x_0"]}, ["x_0 % 2 == 0"]),
    ("three are even by accident", one, [(A(n),) for n in (2, 4, 8)], {"x": ["x_0"]}, []),
    ("two values show no multiple", one, [(A(n),) for n in (8, 16, 8)], {"x": ["x_0"]}, []),
    ("a sum", three, [(A(n), A(m), A(n + m)) for n, m in ((2, 9), (3, 4), (7, 8))],
     {"x": ["x_0"], "y": ["y_0"], "z": ["x_0 + y_0"]}, []),
    ("a sum that stands first", three, [(A(n + m), A(n), A(m)) for n, m in ((2, 9), (3, 4), (7, 8))],
     {"x": ["y_0 + z_0"], "y": ["y_0"], "z": ["z_0"]}, []),
    ("a product", three, [(A(n), A(m), A(n * m)) for n, m in ((2, 9), (3, 4), (7, 8))],
     {"x": ["x_0"], "y": ["y_0"], "z": ["x_0*y_0"]}, []),
    ("a square", two, [(A(n), A(n * n)) for n in (2, 3, 7)], {"x": ["x_0"], "y": ["x_0*x_0"]}, []),
    ("two pairs show no product", three, [(A(n), A(m), A(n * m)) for n, m in ((2, 9), (3, 4))],
     {"x": ["x_0"], "y": ["y_0"], "z": ["z_0"]}, []),
    ("a sum in two ways", rest,
     [(A(a), A(b), A(c), A(a + b), A(a + b - c)) for a, b, c in ((2, 9, 5), (3, 14, 4), (7, 8, 2))],
     {"x": ["x_0"], "*args": [["args_0_0"], ["args_1_0"], ["args_2_0"], ["args_3_0"]]}, []),
    ("half of it", two, [(A(n), A(n // 2)) for n in (4, 7, 10, 15)], {"x": ["x_0"], "y": ["x_0 // 2"]}, []),
    ("a stride", two, [(A(n), A((n - 3) // 2 + 1)) for n in (4, 7, 10, 15)],
     {"x": ["x_0"], "y": ["(x_0 - 1) // 2"]}, []),
    ("in two ways", two, [(A(n), A(n // 4)) for n in (5, 9, 13, 22)], {"x": ["x_0"], "y": ["y_0"]}, []),
    ("an integer", two, [(A(2), n) for n in (3, 4)], {"x": None, "y": "y"}, []),
    ("an integer that is a size", two, [(A(n), n) for n in (3, 4, 6)], {"x": ["x_0"], "y": "x_0"}, []),
    ("or not", two, [(A(n), n) for n in (3, 4)], {"x": ["x_0"], "y": "y"}, []),
    ("a sequence", one, [([A(n), {"k": A(m)}],) for n, m in ((2, 3), (4, 4))],
     {"x": [["x_0_0"], {"k": ["x_1_k_0"]}]}, []),
    ("a named tuple", one, [(Two(A(n), A(2)),) for n in (2, 3)], {"x": [["x_0_0"], None]}, []),
    ("a dataclass", one, [(Pair(A(n)),) for n in (2, 3)], {"x": {"left": ["x_left_0"]}}, []),
    ("the rest", rest, [((A(n), A(n), 1), {"z": A(n), "w": A(2), "q": A(m)}) for n, m in ((2, 3), (3, 1))],
     {"x": ["x_0"], "*args": [["x_0"], None], "z": ["x_0"], "**kwargs": {"w": None, "q": ["q_0"]}}, []),
    ("a pair of a tuple and a dictionary", two, [(((A(n),), {"k": A(n)}), {}) for n in (2, 3)],
     {"x": [["x_0_0"]], "y": {"k": ["x_0_0"]}}, []),
    ("which is a call with keywords where it fits", two, [((A(n),), {"y": A(n)}) for n in (2, 3)],
     {"x": ["x_0"], "y": ["x_0"]}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "examples", "params", "assumptions"), [row[1:] for row in RELATIONS], ids=[row[0] for row in RELATIONS]
)
def test_relations(function: Any, examples: Any, params: Any, assumptions: Any) -> None:
    spec = spec_from_examples(function, examples)
    assert spec.tree["params"] == params and spec.tree["assumptions"] == assumptions
    assert spec.proved is None


def test_ranges() -> None:
    """Sizes of 0 and negative integers are meant only where an example has them."""
    spec = spec_from_examples(three, [(A(2, 0), 3, -1), (A(3, 4), 4, 2)])
    least = {name: ends["min"] for name, ends in spec.tree["vars"].items()}
    assert least == {"x_0": 1, "x_1": 0, "y": 0, "z": None}
    assert all(ends["max"] is None for ends in spec.tree["vars"].values())


def test_names_are_of_their_own() -> None:
    def forward(ShapeVar: Any, ShapeVar_0: Any, lambda_: Any) -> None: ...

    spec = spec_from_examples(forward, [(n, A(2 * n, 3 + (n == 2)), {"0": A(n * 5)}) for n in (2, 3)])
    assert list(spec.tree["vars"]) == ["ShapeVar_2", "ShapeVar_0_0", "ShapeVar_0_1", "lambda__0_0"]


def test_the_text_is_python() -> None:
    spec = spec_from_examples(two, [(A(n), {"k": A(2 * n), 0: m}) for n, m in ((3, -1), (6, 3), (12, 4))])
    assert str(spec) == spec.code == (
        "from torch.fx.experimental.dynamic_spec import "
        "DictSpec, IntVar, ParamsSpec, ShapeVar, ShapesSpec, TensorSpec\n"
        "\n"
        "x_0 = ShapeVar('x_0', min=1)\n"
        "y_0 = IntVar('y_0')\n"
        "\n"
        "dynamic_shapes = ShapesSpec(\n"
        "    params=ParamsSpec({\n"
        "        'x': TensorSpec([x_0]),\n"
        "        'y': DictSpec({'k': TensorSpec([2*x_0]), 0: y_0}),\n"
        "    }),\n"
        "    assumptions=[x_0 % 3 == 0],\n"
        ")"
    )


class Opaque:
    def __eq__(self, other: object) -> bool:
        raise ValueError


WRONG: list[tuple[Any, str]] = [
    ([], "examples: at least one call is needed"),
    (A(2), "examples: at least one call is needed"),
    ([A(2)], r"examples\[0\]: expected a tuple of arguments or \(args, kwargs\), got Array"),
    ([(A(2),), (A(2), A(3), A(4))], r"examples\[1\]: the call does not fit the signature: too many positional"),
    ([(A(2),), (A(2), A(3))], r"y: examples\[0\] has no such argument; others have"),
    ([(A(2),), (A(2, 3),)], r"x: 1 dimensions in examples\[0\], 2 dimensions in examples\[1\]"),
    ([(A(2),), (A(2, dtype="int64"),)], r"x: float32 in examples\[0\], int64 in examples\[1\]"),
    ([(A(2),), ([A(2)],)], r"x: a tensor in examples\[0\], list in examples\[1\]"),
    ([([A(2)],), ([A(2), A(3)],)], r"x: 1 entries in examples\[0\], 2 entries in examples\[1\]"),
    ([({"a": [A(2)]},), ({"a": [A(2, 2)]},)], r"x\['a'\]\[0\]: 1 dimensions"),
    ([({"a": 1},), ({"b": 1},)], r"x: the entries a in examples\[0\], the entries b in examples\[1\]"),
    ([({},), ({"b": 1},)], r"x: 0 entries in examples\[0\], the entries b in examples\[1\]"),
    ([(Pair(A(2)),), (Pair(A(2), A(3)),)], r"x: the entries left in examples\[0\], the entries left, right"),
    ([(1,), (True,)], r"x: int in examples\[0\], bool in examples\[1\]"),
    ([(1.5,), (2.5,)], r"x: 1.5 in examples\[0\], 2.5 in examples\[1\]"),
    ([("a",), ("b",)], r"x: 'a' in examples\[0\], 'b' in examples\[1\]"),
    ([(None,), (A(2),)], r"x: NoneType in examples\[0\], a tensor in examples\[1\]"),
]


@pytest.mark.parametrize(("examples", "message"), WRONG)
def test_what_no_spec_says_is_an_error(examples: Any, message: str) -> None:
    def optional(x: Any, y: Any = None) -> None: ...

    with pytest.raises(SpecError, match=message):
        spec_from_examples(optional, examples)


def test_what_cannot_be_compared_is_left_to_the_export() -> None:
    assert spec_from_examples(one, [(Opaque(),), (Opaque(),)]).tree["params"] == {"x": None}


def draw_sizes(source: random.Random, count: int) -> list[list[int]]:
    """Sizes in several examples, of which some are computed from others."""
    columns = [[source.randint(0, 12) * source.choice([1, 1, 4]) for _ in range(count)] for _ in range(3)]
    for _ in range(4):
        a, b, c = source.choice(columns), source.choice(columns), source.randint(1, 3)
        forms: list[Callable[[int, int], int]] = [
            lambda x, y: c * x + 1,
            lambda x, y: x + y,
            lambda x, y: x * y,
            lambda x, y: (x + c) // (c + 1),
            lambda x, y: x,
        ]
        form = source.choice(forms)
        columns.append([form(x, y) for x, y in zip(a, b)])
    source.shuffle(columns)
    return columns


@pytest.mark.parametrize("seed", range(200))
def test_all_examples_satisfy_what_they_show(seed: int) -> None:
    source = random.Random(seed)
    columns = draw_sizes(source, source.randint(1, 7))
    examples = [(A(*sizes[:5]), *sizes[5:]) for sizes in zip(*columns)]
    spec = spec_from_examples(three, examples).tree
    for shape, *numbers in examples:
        of_x, *of_numbers = (spec["params"][name] for name in "xyz")
        places = [*zip(of_x or [], shape.shape), *zip(of_numbers, numbers)]
        at = {text: value for text, value in places if text in spec["vars"]}
        assert at.keys() == spec["vars"].keys()
        assert all(value == eval(text, {}, at) for text, value in places if text is not None)
        assert all(eval(text, {}, at) is True for text in spec["assumptions"])
        assert all(ends["min"] is None or ends["min"] <= at[name] for name, ends in spec["vars"].items())


@pytest.mark.torch
class TestInTorch:
    """What the examples show exports, and is proved."""

    def test_modules_export(self) -> None:
        torch = pytest.importorskip("torch", exc_type=ImportError)
        pytest.importorskip("torch.fx.experimental.dynamic_spec", exc_type=ImportError)
        ones = torch.ones
        cases: list[tuple[str, Any, list[Any]]] = [
            ("windows", lambda x: x.view(x.shape[0] // 4, 4, -1).sum(1), [(ones(n, 3),) for n in (4, 8, 20)]),
            ("shared", lambda x, y: x + y, [(ones(n, m), ones(n, m)) for n, m in ((2, 3), (4, 7))]),
            ("cat", lambda x, y, z: torch.cat([x, y]) + z,
             [(ones(n), ones(m), ones(n + m)) for n, m in ((2, 9), (3, 4), (5, 5))]),
            ("flat", lambda x, y: x.reshape(-1) * y, [(ones(n, m), ones(n * m)) for n, m in ((2, 9), (3, 4), (5, 5))]),
            ("doubled", lambda x, y: x.repeat(2) + y[1:], [(ones(n), ones(2 * n + 1)) for n in (3, 4, 7)]),
            ("strided", lambda x, y: x[::2] * y, [(ones(n), ones((n + 1) // 2)) for n in (3, 6, 8, 13)]),
            ("count", lambda x, n: x.new_zeros(n, x.shape[0]), [(ones(3), n) for n in (2, 5)]),
            ("rest", lambda x, *args: x + args[0], [(ones(n), ones(n)) for n in (2, 4)]),
            ("nested", lambda d, *args, z: (d["a"][0] + args[0], z * 2),
             [(({"a": [ones(n)]}, ones(n)), {"z": ones(m)}) for n, m in ((2, 3), (4, 9))]),
        ]  # fmt: skip
        for name, function, examples in cases:
            spec = spec_from_examples(function, examples)
            module = type("Model", (torch.nn.Module,), {"forward": staticmethod(function)})()
            assert spec_from_examples(module, examples) == spec
            args, kwargs = examples[-1] if isinstance(examples[-1][-1], dict) else (examples[-1], {})
            program = torch.export.export(module, args, kwargs, dynamic_shapes=spec.dynamic_shapes)
            assert sizewise.check(program, spec.dynamic_shapes).verdict == "ok", (name, spec.code)
            for example in examples:
                args, kwargs = example if isinstance(example[-1], dict) else (example, {})
                program.module()(*args, **kwargs)

    def test_registered_classes(self) -> None:
        torch = pytest.importorskip("torch", exc_type=ImportError)
        pytree = torch.utils._pytree

        class Cache:
            def __init__(self, keys: Any, values: Any) -> None:
                self.keys, self.values = keys, values

        keys = [(pytree.GetAttrKey("keys"), "keys"), (pytree.GetAttrKey("values"), "values")]
        pytree.register_pytree_node(
            Cache,
            lambda c: ([c.keys, c.values], None),
            lambda parts, _: Cache(*parts),
            flatten_with_keys_fn=lambda c: ([(key, getattr(c, name)) for key, name in keys], None),
        )
        examples = [(Cache(A(n), A(2)),) for n in (2, 3)]
        assert spec_from_examples(one, examples).tree["params"] == {"x": {"keys": ["x_keys_0"], "values": None}}
        keys[0] = (pytree.MappingKey("keys"), "keys")
        with pytest.raises(SpecError, match="x: a ShapesSpec has no entry for a Cache, and its sizes differ"):
            spec_from_examples(one, examples)
        assert spec_from_examples(one, examples[:1]).tree["params"] == {"x": None}
