"""Draws of ensembles of trees for random_calls.py: lists that are trees, with some entries changed."""

import numpy
from call_families import F, Call, data, family, given, rarely
from onnx import TensorProto, helper


def changed(rng, values):
    """A list with an entry more, less or other."""
    values = list(values)
    at = rng.randrange(len(values)) if values else 0
    change = rng.random()
    if change < 0.15 and values:
        del values[at]
    elif change < 0.25 and values:
        values.append(values[-1])
    elif values and isinstance(values[at], str):
        values[at] = rng.choice(["LEAF", "BRANCH_LT", "BRANCH_EQ", "OTHER"])
    elif values and isinstance(values[at], float):
        values[at] = rng.choice([-1.0, 0.0, 2.0])
    elif values:
        values[at] = rng.choice([-1, 0, 1, 2, 3, 100])
    return values


def spoiled(rng, attributes):
    """Changes up to two attributes, or leaves them out."""
    for _ in range(rng.choice([0, 1, 1, 2])):
        name = rng.choice(list(attributes))
        if rarely(rng, 0.08):
            del attributes[name]
        elif isinstance(attributes[name], int):
            attributes[name] = rng.choice([-1, 0, 1, 2, 3])
        else:
            attributes[name] = changed(rng, attributes[name])
    return attributes


def rows(rng):
    shape = rng.choice([[2, 3], [2, 3], [1, 3], [2, 1], [2, 2], [0, 3], [2, 0], [3], [1], [0], [2, 3, 1]])
    return data(rng, shape, rng.choice([F, F, F, numpy.float64, numpy.int64, numpy.int32]))


@family
def listed_trees(rng):
    op = rng.choice(["TreeEnsembleClassifier", "TreeEnsembleRegressor"])
    of = "class" if op.endswith("Classifier") else "target"
    attributes = {
        "nodes_treeids": [0, 0, 0, 0, 0, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0],
        "nodes_featureids": [0, 1, 0, 0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "LEAF"],
        "nodes_values": [0.4, 0.5, 0.0, 0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 3, 0, 0, 0, 0],
        "nodes_falsenodeids": [2, 4, 0, 0, 0, 0],
        f"{of}_treeids": [0, 0, 0, 1],
        f"{of}_nodeids": [2, 3, 4, 0],
        f"{of}_ids": [0, 1, rng.choice([0, 1]), 0],
        f"{of}_weights": [1.0, 1.0, 2.0, 3.0],
    }
    attributes |= {"classlabels_int64s": [0, 1]} if of == "class" else {"n_targets": 2}
    given(
        rng, attributes,
        base_values=(0.1, lambda: [0.5] * rng.randint(1, 3)),
        post_transform=(0.1, lambda: rng.choice(["NONE", "SOFTMAX", "PROBIT", "OTHER"])),
        nodes_hitrates=(0.05, lambda: [1.0] * rng.randint(1, 7)),
        nodes_missing_value_tracks_true=(0.05, lambda: [1] * rng.randint(1, 7)),
    )
    if of == "target":
        given(rng, attributes, aggregate_function=(0.1, lambda: rng.choice(["SUM", "MIN", "AVERAGE", "OTHER"])))
    wanted = [True, True] if of == "class" else [True]
    return Call(op, rng.choice([1, 2, 3]), [rows(rng)], spoiled(rng, attributes), wanted, "ai.onnx.ml")


@family
def placed_trees(rng):
    attributes = {
        "n_targets": 2,
        "tree_roots": [0],
        "nodes_featureids": [0, 1],
        "nodes_modes": [0, 1],
        "nodes_splits": [0.5, 0.2],
        "nodes_truenodeids": [1, 0],
        "nodes_trueleafs": [0, 1],
        "nodes_falsenodeids": [2, 1],
        "nodes_falseleafs": [1, 1],
        "leaf_targetids": [0, 1, 0],
        "leaf_weights": [1.0, 2.0, 3.0],
    }
    given(
        rng, attributes,
        aggregate_function=(0.1, lambda: rng.choice([-1, 0, 1, 3, 4])),
        post_transform=(0.1, lambda: rng.choice([-1, 0, 2, 4, 5])),
        membership_values=(0.1, lambda: [1.0, numpy.nan, 2.0][: rng.randint(1, 3)]),
        nodes_hitrates=(0.05, lambda: [1.0] * rng.randint(1, 3)),
    )
    attributes = spoiled(rng, attributes)
    x = rows(rng)
    own = TensorProto.DOUBLE if (x.value.dtype == numpy.float64) != rarely(rng, 0.03) else TensorProto.FLOAT
    for name, kind in [("nodes_modes", TensorProto.UINT8), *((name, own) for name in ("nodes_splits", "leaf_weights", "membership_values", "nodes_hitrates"))]:
        if name in attributes:
            values = [max(value, 0) for value in attributes[name]] if kind == TensorProto.UINT8 else attributes[name]
            attributes[name] = helper.make_tensor(name, kind, [len(values)], values)
    return Call("TreeEnsemble", 5, [x], attributes, [True], "ai.onnx.ml")
