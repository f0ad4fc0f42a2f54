"""A live `ExportedProgram` as the JSON that `torch.export.save` puts into an archive.

Nodes and their metadata are walked once. No weights are touched, and sizes are read as trees with a memo. What the
walk does not know raises `Unknown`; then torch's own serializer is asked.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
import operator
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import torch
from torch._export.serde import serialize as serde
from torch.export import graph_signature as signatures
from torch.fx import GraphModule, Node

from sizewise._literals import LISTS, WRITERS, Unknown, empty_list, named, number, text_key, truth
from sizewise._signature import call_entry, example_of, input_spec, output_spec
from sizewise._sizes import Sizes, shape_env

_ENUMS = {
    torch.dtype: ("as_scalar_type", serde._TORCH_TO_SERIALIZE_DTYPE),
    torch.memory_format: ("as_memory_format", serde._TORCH_TO_SERIALIZE_MEMORY_FORMAT),
    torch.layout: ("as_layout", serde._TORCH_TO_SERIALIZE_LAYOUT),
}
_DTYPES = {dtype: int(number) for dtype, number in serde._TORCH_TO_SERIALIZE_DTYPE.items()}
_LAYOUTS = {layout: int(number) for layout, number in serde._TORCH_TO_SERIALIZE_LAYOUT.items()}
#: Functions on sizes that torch exports and does not save.
_NUMERIC = frozenset([abs, operator.abs, round, math.ceil, math.floor])
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

#: What joins the entries of stacks in a node's metadata.
_DELIMITER = serde.ST_DELIMITER


class _State:
    """The values of one graph."""

    __slots__ = ("bools", "custom", "floats", "inputs", "ints", "nodes", "outputs", "single", "tensors")

    def __init__(self) -> None:
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.nodes: list[str] = []
        self.tensors: dict[str, str] = {}
        self.ints: dict[str, str] = {}
        self.floats: dict[str, str] = {}
        self.bools: dict[str, str] = {}
        self.custom: dict[str, str] = {}
        self.single = False


class _Schema:
    """What is needed of an operator's schema."""

    __slots__ = ("arguments", "target", "returns", "returns_list")

    def __init__(self, target: Any) -> None:
        schema = target._schema
        self.target = quoted(_operator(target))
        self.arguments = [
            (arg.name, '{"name": ' + quoted(arg.name) + ', "arg": ', arg.kwarg_only, arg.type)
            for arg in schema.arguments
        ]
        self.returns = len(schema.returns)
        kind = schema.returns[0].real_type if self.returns == 1 else None
        self.returns_list = isinstance(kind, torch.ListType) and isinstance(kind.getElementType(), torch.TensorType)


class Walk:
    """Writes one program."""

    def __init__(self) -> None:
        self.state = _State()
        self.duplicates: dict[str, str] = {}
        self.named_tuples: dict[str, tuple[str, ...]] = {}
        self._integers: set[str] = set()
        self._sizes = Sizes()
        self._size = self._sizes.text
        self._schemas: dict[Any, _Schema] = {}
        self._texts: dict[str, str] = {}
        self._modules: dict[Any, str] = {}
        self._devices: dict[Any, str] = {}
        self._tails: dict[Any, str] = {}

    def program(self, ep: Any) -> str:
        """The JSON of a program."""
        if (env := shape_env(ep.graph_module)) is not None:
            self._sizes.keep(ep.range_constraints, env, ep.graph_module)
        signature = ep.graph_signature
        # Integers among the inputs that are symbols by the signature, though only one value is taken.
        self._integers = {
            spec.arg.name for spec in signature.input_specs if type(spec.arg).__name__ == "SymIntArgument"
        }
        graph = self.graph(ep.graph_module)
        inputs = ", ".join([input_spec(self, spec) for spec in signature.input_specs])
        outputs = ", ".join([output_spec(self, spec) for spec in signature.output_specs])
        calls = ", ".join([call_entry(self, entry, example_of(ep, entry)) for entry in ep.module_call_graph])
        metadata = serde.GraphModuleSerializer.serialize_graph_module_metadata(None, ep.graph_module.meta)
        named = {name: {"field_names": list(fields)} for name, fields in self.named_tuples.items()}
        ranges = {
            str(symbol): {
                "min_val": serde._sympy_int_to_int(r.lower, "ceil"),
                "max_val": serde._sympy_int_to_int(r.upper, "floor"),
            }
            for symbol, r in ep.range_constraints.items()
        }
        rest = {
            "opset_version": {"aten": torch._C._get_max_operator_version()},
            "range_constraints": ranges,
            "schema_version": dict(zip(("major", "minor"), serde.SCHEMA_VERSION)),
            "verifiers": [verifier.dialect for verifier in ep.verifiers],
            "torch_version": str(torch.__version__),
            "guards_code": getattr(ep, "_guards_code", None) or [],
        }
        return (
            f'{{"graph_module": {{"graph": {graph}, '
            f'"signature": {{"input_specs": [{inputs}], "output_specs": [{outputs}]}}, '
            f'"module_call_graph": [{calls}], "metadata": {json.dumps(metadata)}, '
            f'"treespec_namedtuple_fields": {json.dumps(named)}}}, {json.dumps(rest)[1:]}'
        )

    def graph(self, module: GraphModule) -> str:
        """The JSON of a graph."""
        state = self.state
        for node in module.graph.nodes:
            op = node.op
            if op == "call_function":
                self._call(node)
            elif op == "placeholder":
                self._placeholder(node)
            elif op == "output":
                self._output(node)
            elif op != "get_attr":
                raise Unknown(op)
        values = ", ".join(
            f'"{name}": {{{", ".join([f"{quoted(key)}: {value}" for key, value in values.items()])}}}'
            for name, values in (
                ("tensor_values", state.tensors),
                ("sym_int_values", state.ints),
                ("sym_bool_values", state.bools),
            )
        )
        custom = ", ".join([f"{quoted(key)}: {value}" for key, value in state.custom.items()])
        floats = ", ".join([f"{quoted(key)}: {value}" for key, value in state.floats.items()])
        return (
            f'{{"inputs": [{", ".join(state.inputs)}], "outputs": [{", ".join(state.outputs)}], '
            f'"nodes": [{", ".join(state.nodes)}], {values}, '
            f'"is_single_tensor_return": {"true" if state.single else "false"}, '
            f'"custom_obj_values": {{{custom}}}, "sym_float_values": {{{floats}}}}}'
        )

    def _placeholder(self, node: Node) -> None:
        value = node.meta["val"]
        name = quoted(node.name)
        if isinstance(value, torch.Tensor):
            self._tensor(node.name, value)
            text = f'{{"as_tensor": {{"name": {name}}}}}'
        elif isinstance(value, torch.SymInt) or (type(value) is int and node.name in self._integers):
            self.state.ints[node.name] = self._size(value)
            text = f'{{"as_sym_int": {{"as_name": {name}}}}}'
        elif value is None or isinstance(value, (int, bool, str, float)):
            text = self.argument(value)
        elif isinstance(value, signatures.CustomObjArgument):
            text = f'{{"as_custom_obj": {{"name": {name}, "class_fqn": {quoted(value.class_fqn)}}}}}'
            self.state.custom[node.name] = f'{{"name": {quoted(value.name)}, "class_fqn": {quoted(value.class_fqn)}}}'
        else:
            raise Unknown(f"an input {value}")
        self.state.inputs.append(text)

    def _output(self, node: Node) -> None:
        result = node.args[0]
        if isinstance(result, Node):
            self.state.single = True
            self.state.outputs = [self.argument(result)]
        else:
            self.state.outputs = [self.argument(arg) for arg in result]

    def _call(self, node: Node) -> None:
        target = node.target
        if target is operator.getitem:
            return
        value = node.meta.get("val")
        single = ""
        if target in serde._SYM_OPS or isinstance(value, _SYMBOLIC):
            name = quoted(_operator(target))
            inputs = self._symbolic_inputs(target, node.args)
            outputs = self._result(node.name, value)
        elif isinstance(target, torch._ops.OpOverload):
            schema = self._schemas.get(target)
            if schema is None:
                schema = self._schemas[target] = _Schema(target)
            name = schema.target
            inputs = self._inputs(schema, node)
            outputs = self._outputs(schema, node, value)
        elif isinstance(target, torch._ops.HigherOrderOperator):
            if _operator(target).endswith(("triton_kernel_wrapper_functional", "aoti_call_delegate", "call_torchbind")):
                raise Unknown(_operator(target))
            name = quoted(_operator(target))
            inputs = self._unnamed_inputs(node)
            outputs = self._unnamed_outputs(node, value)
            single = f', "is_hop_single_tensor_return": {"true" if isinstance(value, torch.Tensor) else "false"}'
        elif callable(target) and type(target) not in serde._serialization_registry:
            # Wrappers such as those of vmap in graphs before dispatch.
            name = quoted(_operator(target))
            inputs, outputs = self._unnamed_inputs(node), self._unnamed_outputs(node, value)
        else:
            raise Unknown(f"a call of {target}")
        self.state.nodes.append(
            f'{{"target": {name}, "inputs": [{inputs}], "outputs": [{outputs}], '
            f'"metadata": {self._metadata(node)}{single}, "name": {quoted(node.name)}}}'
        )

    def _inputs(self, schema: _Schema, node: Node) -> str:
        args, kwargs = node.args, node.kwargs
        given, texts = len(args), []
        for i, (name, head, keyword_only, kind) in enumerate(schema.arguments):
            if name in kwargs:
                texts.append(f'{head}{self.argument(kwargs[name], kind)}, "kind": 2}}')
            elif i < given and not keyword_only:
                texts.append(f'{head}{self.argument(args[i], kind)}, "kind": 1}}')
        return ", ".join(texts)

    def _unnamed_inputs(self, node: Node) -> str:
        texts = [f'{{"name": "", "arg": {self.argument(arg)}, "kind": 1}}' for arg in node.args]
        texts += [
            f'{{"name": {quoted(name)}, "arg": {self.argument(arg)}, "kind": 2}}' for name, arg in node.kwargs.items()
        ]
        return ", ".join(texts)

    def _symbolic_inputs(self, target: Any, args: Iterable[Any]) -> str:
        if isinstance(target, torch._ops.OpOverload):
            names: Iterable[str] = [arg.name for arg in target._schema.arguments]
        elif target in serde._SYM_OPS:
            names = _parameters(target)
        elif target in _NUMERIC:
            # torch has no archives of these: what they are given is told by its place.
            names, args = itertools.repeat(""), [arg for arg in args if arg is not None]
        else:
            raise Unknown(f"a call of {target}")
        pairs = zip(names, args)
        return ", ".join([f'{{"name": {quoted(name)}, "arg": {self.argument(arg)}, "kind": 1}}' for name, arg in pairs])

    def _item_node(self, node: Node, index: Any) -> Node | None:
        found = None
        for user in node.users:
            if user.target is not operator.getitem:
                raise Unknown(f"{user} uses all of {node}")
            if user.args[1] == index:
                if found is None:
                    found = user
                else:
                    self.duplicates[user.name] = found.name
        return found

    def _item_name(self, node: Node, index: Any) -> str:
        found = self._item_node(node, index)
        return f"{node.name}_unused_{index}" if found is None else found.name

    def _outputs(self, schema: _Schema, node: Node, value: Any) -> str:
        if schema.returns == 0:
            return ""
        if schema.returns_list:
            return self._tensor_list(value, lambda i: self._item_name(node, i))
        if schema.returns == 1:
            return self._result(node.name, value)
        texts = []
        for i, item in enumerate(value):
            if item is None:
                texts.append('{"as_none": true}')
            elif isinstance(item, list):
                texts.append(self._inner_list(node, i, item))
            else:
                texts.append(self._result(self._item_name(node, i), item))
        return ", ".join(texts)

    def _unnamed_outputs(self, node: Node, value: Any) -> str:
        if isinstance(value, tuple):
            texts = []
            for i, item in enumerate(value):
                if isinstance(item, list):
                    texts.append(self._inner_list(node, i, item))
                else:
                    texts.append(self._result(self._item_name(node, i), item))
            return ", ".join(texts)
        if isinstance(value, dict):
            keys = list(value)
            return self._tensor_list(value.values(), lambda i: self._item_name(node, keys[i]))
        return self._result(node.name, value)

    def _inner_list(self, node: Node, i: int, items: list[Any]) -> str:
        user = self._item_node(node, i)

        def name(j: int) -> str:
            return f"{node.name}_unused_{i}_{j}" if user is None else self._item_name(user, j)

        return self._tensor_list(items, name)

    def _tensor_list(self, items: Iterable[Any], name: Callable[[int], str]) -> str:
        names = []
        for i, item in enumerate(items):
            if item is not None:
                self._tensor(name(i), item)
                names.append(f'{{"name": {quoted(name(i))}}}')
        return f'{{"as_tensors": [{", ".join(names)}]}}'

    def _result(self, name: str, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            self._tensor(name, value)
            return f'{{"as_tensor": {{"name": {quoted(name)}}}}}'
        if value is None:
            return '{"as_none": true}'
        for kinds, tag, values in (
            ((bool, torch.SymBool), "as_sym_bool", self.state.bools),
            ((int, torch.SymInt), "as_sym_int", self.state.ints),
            ((float, torch.SymFloat), "as_sym_float", self.state.floats),
        ):
            if isinstance(value, kinds):
                values[name] = self._size(value)
                return f'{{"{tag}": {{"as_name": {quoted(name)}}}}}'
        raise Unknown(f"the result {name}: {type(value)}")

    def _tensor(self, name: str, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise Unknown(f"the value {name}: {type(value)}")
        size = self._size
        device = value.device
        key = (value.dtype, value.requires_grad, device, value.layout)
        tail = self._tails.get(key)
        if tail is None:
            index = "null" if device.index is None else str(device.index)
            grad = "true" if key[1] else "false"
            tail = self._tails[key] = (
                f'"requires_grad": {grad}, "device": {{"type": {quoted(device.type)}, "index": {index}}}, '
                f'"dtype": {_DTYPES[key[0]]}, "layout": {_LAYOUTS[key[3]]}, "sizes": ['
            )
        self.state.tensors[name] = (
            f"{{{tail}{', '.join([size(s) for s in value.shape])}], "
            f'"strides": [{", ".join([size(s) for s in value.stride()])}], '
            f'"storage_offset": {size(value.storage_offset())}}}'
        )

    def argument(self, arg: Any, kind: Any = None) -> str:
        """An argument of a node; `kind` is its type in the schema."""
        write = WRITERS.get(type(arg))
        if write is not None:
            return write(arg)
        if isinstance(arg, Node):
            return self._node_argument(arg)
        if isinstance(arg, dict):
            inner = ", ".join([f"{quoted(text_key(key))}: {self.argument(value)}" for key, value in arg.items()])
            return f'{{"as_string_to_argument": {{{inner}}}}}'
        if isinstance(arg, (list, tuple)):
            return self._list(arg, kind)
        if isinstance(arg, torch.device):
            index = "null" if arg.index is None else str(arg.index)
            return f'{{"as_device": {{"type": {quoted(arg.type)}, "index": {index}}}}}'
        for enumeration, (tag, numbers) in _ENUMS.items():
            if isinstance(arg, enumeration):
                return f'{{"{tag}": {int(numbers[arg])}}}'
        if isinstance(arg, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
            return f'{{"as_operator": {quoted(_operator(arg))}}}'
        raise Unknown(f"an argument of {type(arg)}")

    def _node_argument(self, node: Node) -> str:
        name = node.name
        state = self.state
        if node.op == "get_attr":
            return self._attribute(node)
        if name in state.tensors:
            return f'{{"as_tensor": {{"name": {quoted(name)}}}}}'
        if name in state.ints:
            return f'{{"as_sym_int": {{"as_name": {quoted(name)}}}}}'
        if name in state.floats:
            return f'{{"as_sym_float": {{"as_name": {quoted(name)}}}}}'
        if name in state.bools:
            return f'{{"as_sym_bool": {{"as_name": {quoted(name)}}}}}'
        value = node.meta["val"]
        if isinstance(value, signatures.CustomObjArgument):
            return f'{{"as_custom_obj": {{"name": {quoted(name)}, "class_fqn": {quoted(value.class_fqn)}}}}}'
        return f'{{"as_tensor": {{"name": {quoted(self.duplicates.get(name, name))}}}}}'

    def _attribute(self, node: Node) -> str:
        module = node.graph.owning_module
        value = getattr(module, str(node.target))
        if isinstance(value, GraphModule):
            outer, self.state = self.state, _State()
            try:
                graph = self.graph(value)
            finally:
                self.state = outer
            return f'{{"as_graph": {{"name": {quoted(str(node.target))}, "graph": {graph}}}}}'
        if type(value).__name__ == "LoweredBackendModule":
            backend = f"{value.module_name}-{value.backend_id}"
            return f'{{"as_string": {quoted(backend)}}}'
        raise Unknown(f"an attribute of {type(value)}")

    def _list(self, arg: Any, kind: Any) -> str:
        if not arg:
            return f'{{"{empty_list(kind)}": []}}'
        kinds = {type(item) for item in arg}
        if len(kinds) == 1 and (known := LISTS.get(next(iter(kinds)))):
            name, write = known
            return f'{{"{name}": [{", ".join([write(item) for item in arg])}]}}'
        state = self.state
        for values, concrete, tag, part, shown in (
            (state.ints, int, "as_sym_ints", "as_int", int.__repr__),
            (state.floats, float, "as_sym_floats", "as_float", number),
            (state.bools, bool, "as_sym_bools", "as_bool", truth),
        ):
            if all(type(item) is concrete or (isinstance(item, Node) and item.name in values) for item in arg):
                texts = [
                    f'{{"as_name": {quoted(item.name)}}}' if isinstance(item, Node) else f'{{"{part}": {shown(item)}}}'
                    for item in arg
                ]
                return f'{{"{tag}": [{", ".join(texts)}]}}'
        if all(item is None or (isinstance(item, Node) and item.op != "get_attr") for item in arg):
            if None not in kinds and type(None) not in kinds:
                return f'{{"as_tensors": [{", ".join([named(item) for item in arg])}]}}'
            texts = ['{"as_none": true}' if item is None else f'{{"as_tensor": {named(item)}}}' for item in arg]
            return f'{{"as_optional_tensors": [{", ".join(texts)}]}}'
        if all(isinstance(item, (list, tuple)) for item in arg):
            return self._nested(arg)
        raise Unknown(f"a list of {kinds}")

    def _nested(self, arg: Any) -> str:
        inner = {type(item) for items in arg for item in items}
        if inner <= {int}:
            return f'{{"as_int_lists": {json.dumps([list(items) for items in arg])}}}'
        if all(isinstance(item, Node) and item.op != "get_attr" for items in arg for item in items):
            lists = ", ".join([f"[{', '.join([named(item) for item in items])}]" for items in arg])
            return f'{{"as_nested_tensors": [{lists}]}}'
        raise Unknown(f"lists of lists of {inner}")

    def _metadata(self, node: Node) -> str:
        meta, texts = node.meta, []
        if trace := meta.get("stack_trace"):
            texts.append(f'"stack_trace": {self._quoted(trace)}')
        if modules := meta.get("nn_module_stack"):
            key = tuple(modules.items())
            text = self._modules.get(key)
            if text is None:
                text = self._modules[key] = quoted(_DELIMITER.join([f"{k},{path},{kind}" for k, (path, kind) in key]))
            texts.append(f'"nn_module_stack": {text}')
        if functions := meta.get("source_fn_stack"):
            joined = _DELIMITER.join([f"{name},{_operator(function)}" for name, function in functions])
            texts.append(f'"source_fn_stack": {quoted(joined)}')
        if function := meta.get("torch_fn"):
            texts.append(f'"torch_fn": {quoted(_DELIMITER.join(function))}')
        if custom := meta.get("custom"):
            try:
                texts.append(f'"custom": {quoted(json.dumps(custom))}')
            except (TypeError, ValueError):
                pass
        return "{" + ", ".join(texts) + "}"

    def _quoted(self, text: str) -> str:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = quoted(text)
        return known


def _operator(target: Any) -> str:
    if isinstance(target, str):
        return target
    module = target.__module__
    if module.startswith("torch._ops"):
        module = module.replace("torch._ops", "torch.ops")
    return f"{module}.{target.__name__}"


def _parameters(function: Any) -> list[str]:
    known = _PARAMETERS.get(function)
    if known is None:
        known = _PARAMETERS[function] = list(inspect.signature(function).parameters)
    return known


_PARAMETERS: dict[Any, list[str]] = {}
