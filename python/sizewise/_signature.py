"""The signature of a live program as JSON."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

from sizewise._literals import Unknown, truth
from sizewise._trees import tree_text

if TYPE_CHECKING:
    from sizewise._walk import Walk


def argument_spec(walk: Walk, arg: Any) -> str:
    """An argument of a signature."""
    kind = type(arg).__name__
    if kind == "TensorArgument":
        return f'{{"as_tensor": {{"name": {quoted(arg.name)}}}}}'
    if kind == "SymIntArgument":
        return f'{{"as_sym_int": {{"as_name": {quoted(arg.name)}}}}}'
    if kind == "SymBoolArgument":
        return f'{{"as_sym_bool": {{"as_name": {quoted(arg.name)}}}}}'
    if kind == "SymFloatArgument":
        return f'{{"as_sym_float": {{"as_name": {quoted(arg.name)}}}}}'
    if kind == "ConstantArgument":
        return walk.argument(arg.value)
    if kind == "CustomObjArgument":
        return f'{{"as_custom_obj": {{"name": {quoted(arg.name)}, "class_fqn": {quoted(arg.class_fqn)}}}}}'
    raise Unknown(f"an argument {kind} of the signature")


def input_spec(walk: Walk, spec: Any) -> str:
    """What an input of the graph is."""
    kind, arg, target = spec.kind.name, spec.arg, spec.target
    if kind == "USER_INPUT":
        if type(arg).__name__ != "ConstantArgument":
            return f'{{"user_input": {{"arg": {argument_spec(walk, arg)}}}}}'
        value = walk.argument(arg.value)
        return f'{{"constant_input": {{"name": {quoted(arg.name)}, "value": {value}}}}}'
    name = f'"arg": {{"name": {quoted(arg.name)}'
    if kind == "PARAMETER":
        return f'{{"parameter": {{{name}}}, "parameter_name": {quoted(target)}}}}}'
    if kind == "BUFFER":
        persistent = truth(bool(spec.persistent))
        return f'{{"buffer": {{{name}}}, "buffer_name": {quoted(target)}, "persistent": {persistent}}}}}'
    if kind == "CONSTANT_TENSOR":
        return f'{{"tensor_constant": {{{name}}}, "tensor_constant_name": {quoted(target)}}}}}'
    if kind == "CUSTOM_OBJ":
        class_name = quoted(arg.class_fqn)
        return f'{{"custom_obj": {{{name}, "class_fqn": {class_name}}}, "custom_obj_name": {quoted(target)}}}}}'
    if kind == "TOKEN":
        return f'{{"token": {{{name}}}}}}}'
    raise Unknown(f"an input of kind {kind}")


def output_spec(walk: Walk, spec: Any) -> str:
    """What an output of the graph is."""
    kind, arg, target = spec.kind.name, spec.arg, spec.target
    if kind == "USER_OUTPUT":
        return f'{{"user_output": {{"arg": {argument_spec(walk, arg)}}}}}'
    tags = {
        "LOSS_OUTPUT": ("loss_output", None),
        "BUFFER_MUTATION": ("buffer_mutation", "buffer_name"),
        "PARAMETER_MUTATION": ("parameter_mutation", "parameter_name"),
        "GRADIENT_TO_PARAMETER": ("gradient_to_parameter", "parameter_name"),
        "GRADIENT_TO_USER_INPUT": ("gradient_to_user_input", "user_input_name"),
        "USER_INPUT_MUTATION": ("user_input_mutation", "user_input_name"),
        "TOKEN": ("token", None),
    }
    if kind not in tags:
        raise Unknown(f"an output of kind {kind}")
    tag, key = tags[kind]
    of = "" if key is None else f', "{key}": {quoted(target)}'
    return f'{{"{tag}": {{"arg": {{"name": {quoted(arg.name)}}}{of}}}}}'


def example_of(ep: Any, entry: Any) -> Any:
    """The arguments of the whole program at its example, where they are kept; `None` for a module within it."""
    return None if entry.fqn else getattr(ep, "example_inputs", None)


def call_entry(walk: Walk, entry: Any, example: Any = None) -> str:
    """How a module is called: the structure of its arguments and results."""
    signature = entry.signature
    text = "null"
    if signature is not None:
        inputs = ", ".join([argument_spec(walk, arg) for arg in signature.inputs])
        outputs = ", ".join([argument_spec(walk, arg) for arg in signature.outputs])
        names = signature.forward_arg_names or None
        in_spec = tree_text(signature.in_spec, walk.named_tuples, example)
        out_spec = tree_text(signature.out_spec, walk.named_tuples)
        text = (
            f'{{"inputs": [{inputs}], "outputs": [{outputs}], "in_spec": {quoted(in_spec)}, '
            f'"out_spec": {quoted(out_spec)}, "forward_arg_names": {json.dumps(names)}}}'
        )
    return f'{{"fqn": {quoted(entry.fqn)}, "signature": {text}}}'
