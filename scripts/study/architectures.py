"""The architectures of transformers, each made small: a configuration, a module with random weights, inputs."""

from __future__ import annotations

import hashlib
import inspect
import re
from dataclasses import dataclass
from typing import Any

import torch
from transformers import CONFIG_MAPPING, PreTrainedConfig
from transformers.models.auto import auto_factory, configuration_auto, modeling_auto

#: What people export of an architecture: the first of these tables that has it.
TABLES = (
    "CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "MASKED_LM", "SPEECH_SEQ_2_SEQ", "CTC", "IMAGE_CLASSIFICATION", "OBJECT_DETECTION",
    "SEMANTIC_SEGMENTATION", "DEPTH_ESTIMATION", "AUDIO_CLASSIFICATION", "VIDEO_CLASSIFICATION", "SEQUENCE_CLASSIFICATION",
    "TEXT_ENCODING", "BACKBONE",
)  # fmt: skip

#: Parameters above which a module is not small.
MOST_PARAMETERS = 40_000_000

#: The greatest value of an integer of a configuration, by its name; the first pattern that fits counts. Widths (8 and
#: more) are greater where the least do not fit each other; counts are not, and what is negative here is kept then.
LIMITS = [
    (r"image_size|input_size|img_size", -64),
    (r"type_vocab_size|num_channels|num_labels|num_mel_bins", None),
    (r"(.*_)?vocab_size(_.*)?|n_vocab|vocabulary_size", 128),
    (r"max_position_embeddings|n_positions|n_ctx|max_source_positions|max_target_positions", 4096),
    (r"num_key_value_heads|.*_key_value_heads|num_kv_heads|n_kv_heads|multi_query_group_num", 2),
    (r"(.*_)?num_attention_heads|n_heads?|num_heads|.*_attention_heads|.*_num_(key|value|v|k)?_?heads|num_global_.*heads", 4),
    (r"rotary_dim|(.*_)?head_dim|d_kv|attention_head_size|key_length|(.*_)?head_size|kv_channels", 8),
    (r"q_lora_rank|kv_lora_rank|.*lora.*|.*_rank", 16),
    (r"(.*_)?num_experts_per_tok|moe_topk|top_k|(.*_)?moe_top_?k|experts_per_token|num_selects", 2),
    (r"(.*_)?num_(local_|routed_)?experts|n_routed_experts|moe_num_experts|num_moe_experts", 4),
    (r"n_group|topk_group|num_expert_group", 1),
    (r"moe_intermediate_size|(.*_)?expert_(ffn_)?hidden_size|expert_.*_size", 32),
    (r"(.*_)?intermediate_size(_.*)?|(.*_)?ffn_dim|d_ff|n_inner|ffn_hidden_size|inner_dim|d_inner|mlp_dim|(.*_)?feedforward_(dim|size)", 64),
    (r"(.*_)?num_hidden_layers|num_layers|n_layers?|(.*_)?(encoder|decoder)_layers|num_(encoder|decoder)_layers|depth|.*_num_layers|num_blocks", 2),
    (r"(.*_)?hidden_size|hidden_dim|d_model|n_embd|embed_dim|dim|emb_dim|embedding_size|(.*_)?embedding_dim|(.*_)?projection_dim|"
     r"(.*_)?(proj|output|out|hidden|embed|model)_(dim|size)", 32),
    (r"num_queries", -10),
]  # fmt: skip


@dataclass
class Small:
    """A module, the inputs of its example, and the names of their sizes."""

    module: torch.nn.Module
    inputs: dict[str, torch.Tensor]
    #: The name of a size by its dimension, of each input.
    names: dict[str, dict[int, str]]
    made: str


def architectures() -> dict[str, list[str]]:
    """The classes of each architecture, the one that people export first.

    A folder of ``transformers.models`` is one architecture. The order is arbitrary, so that the first of them are a sample.
    """
    found: dict[str, list[str]] = {}
    for table in [*(f"MODEL_FOR_{name}_MAPPING_NAMES" for name in TABLES), "MODEL_MAPPING_NAMES"]:
        for kind, classes in getattr(modeling_auto, table).items():
            for name in [classes] if isinstance(classes, str) else list(classes)[:1]:
                if name not in found.setdefault(kind, []):
                    found[kind].append(name)
    folders: dict[str, str] = {}
    for kind in sorted(kind for kind in found if kind in CONFIG_MAPPING):
        folders.setdefault(configuration_auto.model_type_to_module_name(kind), kind)
    return {
        kind: found[kind] for kind in sorted(folders.values(), key=lambda kind: hashlib.sha256(kind.encode()).digest())
    }


def _layers_kept(values: dict[str, Any]) -> tuple[int, list[int]]:
    """How many layers there are, and which two stay: the first of each kind."""
    count = next(
        (values[name] for name in ("num_hidden_layers", "n_layer", "num_layers") if isinstance(values.get(name), int)),
        0,
    )
    kinds = values.get("layer_types") or values.get("layers_block_type") or []
    firsts = [kinds.index(kind) for kind in dict.fromkeys(kinds)] if len(kinds) == count else []
    rest = [index for index in range(count) if index not in firsts]
    return count, sorted([*firsts, *rest][:2])


def small_values(config: PreTrainedConfig, times: int) -> dict[str, Any]:
    """The arguments of a small configuration, whose limits are ``times`` those of `LIMITS`."""
    known = inspect.signature(type(config).__init__).parameters
    values = {name: value for name, value in vars(config).items() if name in known and not name.startswith("_")}
    count, kept = _layers_kept(values)
    small: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, PreTrainedConfig):
            small[name] = type(value)(**small_values(value, times))
        elif isinstance(value, bool):
            small[name] = value
        elif isinstance(value, int):
            small[name] = _smaller(name, value, times)
        elif isinstance(value, (list, tuple)) and count > 2 and len(value) == count:
            small[name] = type(value)(value[index] for index in kept)
        elif name in ("depths", "num_blocks", "layer_depths") and isinstance(value, (list, tuple)):
            small[name] = type(value)(min(size, 2) for size in value)
        else:
            small[name] = value
    heads = small.get("num_attention_heads")
    if heads and values.get("num_key_value_heads") == values["num_attention_heads"]:
        small["num_key_value_heads"] = heads
    if isinstance(stages := small.get("num_heads"), (list, tuple)) and isinstance(small.get("embed_dim"), int):
        small["embed_dim"] = stages[0] * 8
    _fit_tokens(small)
    for name in ("label2id", "transformers_version", "architectures"):
        small.pop(name, None)
    if "use_cache" in small:
        small["use_cache"] = False
    return small


def _smaller(name: str, value: int, times: int) -> int:
    for pattern, limit in LIMITS:
        if re.fullmatch(pattern, name):
            # Counts stay small, widths need not.
            if limit is None or (limit < 0 and times > 1):
                return value
            return min(value, abs(limit) if limit < 8 or limit == 4096 else limit * times)
    return value


def _fit_tokens(values: dict[str, Any]) -> None:
    """Tokens of the vocabulary stay below its size."""
    size = values.get("vocab_size")
    if not isinstance(size, int):
        return
    for name, value in values.items():
        if re.fullmatch(r".*token_id|.*_token_index|.*_id", name):
            if isinstance(value, list):
                values[name] = [min(one, size - 1) if isinstance(one, int) else one for one in value]
            elif isinstance(value, int) and not isinstance(value, bool) and value >= size:
                values[name] = size - 1


def _classes(names: list[str]) -> list[type]:
    return [auto_factory.getattribute_from_module(__import__("transformers"), name) for name in names]


def configs(kind: str) -> list[tuple[str, Any]]:
    """Configurations to try, the smallest first."""
    full = CONFIG_MAPPING[kind]()
    found: list[tuple[str, Any]] = []
    for says, times in (("small", 1), ("middle", 16)):
        try:
            found.append((says, type(full)(**small_values(full, times))))
        except Exception as error:
            found.append((says, error))
    return found


def _count(make: Any, config: Any) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in make(config).parameters())


def make(kind: str, names: list[str]) -> Small:
    """The first class and configuration that make a module which runs its example."""
    failed = []
    for made, config in configs(kind):
        if isinstance(config, Exception):
            failed.append(f"{made}: {_short(config)}")
            continue
        for name in [*names[:1], *names[1:][-1:]]:
            try:
                return _made(name, config, made)
            except Exception as error:
                failed.append(f"{name}, {made}: {_short(error)}")
    raise RuntimeError("; ".join(failed))


def _made(name: str, config: Any, made: str) -> Small:
    make = _classes([name])[0]
    if made != "small" and _count(make, config) > MOST_PARAMETERS:
        raise RuntimeError(f"more than {MOST_PARAMETERS} parameters")
    torch.manual_seed(0)
    module = make(config).eval().float()
    if sum(parameter.numel() for parameter in module.parameters()) > MOST_PARAMETERS:
        raise RuntimeError(f"more than {MOST_PARAMETERS} parameters")
    # Generation is not exported: one call is.
    for part in module.modules():
        if hasattr(part, "config") and hasattr(part.config, "use_cache"):
            part.config.use_cache = False
    problems = []
    for inputs, names in examples(module):
        try:
            with torch.no_grad():
                module(**inputs)
            return Small(module, inputs, names, f"{name}, {made}")
        except Exception as error:
            problems.append(_short(error))
    raise RuntimeError(" | ".join(problems) or "no example")


def examples(module: torch.nn.Module) -> list[tuple[dict[str, torch.Tensor], dict[str, dict[int, str]]]]:
    """Inputs to try: those that the module needs, in the ranks that models take."""
    takes = inspect.signature(module.forward).parameters
    config = module.config
    text = {"input_ids": (2, 7), "attention_mask": (2, 7)} if "input_ids" in takes else {}
    if "attention_mask" not in takes:
        text.pop("attention_mask", None)
    main = getattr(module, "main_input_name", "input_ids")
    shapes: list[dict[str, tuple[int, ...]]] = []
    if main == "input_ids":
        shapes.append(text)
        if "pixel_values" in takes:
            shapes += [{**text, **image} for image in _images(config)]
    elif main in ("pixel_values", "pixel_values_videos"):
        shapes += _images(config)
        shapes += [{**text, **image} for image in _images(config) if text]
    elif main in ("input_values", "input_features"):
        mels = _mels(config)
        frames = 2 * (getattr(config, "max_source_positions", None) or 50)
        audio = [(2, 4000), (2, mels, frames), (2, 100, mels), (2, 1, 4000)] if main == "input_values" else [
            (2, mels, frames), (2, 100, mels)]  # fmt: skip
        shapes += [{main: shape} for shape in audio]
    elif main in takes:
        shapes.append({main: (2, 7)})
    if "decoder_input_ids" in takes and getattr(config, "is_encoder_decoder", False):
        shapes = [{**shape, "decoder_input_ids": (2, 5)} for shape in shapes]
    return [(inputs_of(module, some), {name: _named(name, shape) for name, shape in some.items()}) for some in shapes]


def inputs_of(module: torch.nn.Module, shapes: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Inputs of these shapes."""
    return {name: tensor(name, shape, _vocabulary(module.config)) for name, shape in shapes.items()}


def _images(config: Any) -> list[dict[str, tuple[int, ...]]]:
    vision = getattr(config, "vision_config", None) or config
    size = getattr(vision, "image_size", None) or 64
    height, width = (
        (size, size) if isinstance(size, int) else tuple(size)[:2] if isinstance(size, (list, tuple)) else (64, 64)
    )
    channels = getattr(vision, "num_channels", None) or 3
    channels = channels if isinstance(channels, int) else 3
    sizes = dict.fromkeys([(height, width), (64, 64), (224, 224)])
    images = [{"pixel_values": (2, channels, *size)} for size in sizes]
    frames = getattr(vision, "num_frames", None)
    return images + ([{"pixel_values": (2, frames, channels, height, width)}] if isinstance(frames, int) else [])


def _mels(config: Any) -> int:
    parts = [config, *(getattr(config, name, None) for name in ("audio_config", "encoder_config"))]
    names = ("num_mel_bins", "feature_size", "input_feat_per_channel", "input_dim", "num_mels", "mel_bins")
    return next((value for part in parts for name in names if isinstance(value := getattr(part, name, None), int)), 80)


def _vocabulary(config: Any) -> int:
    parts = [config, *(getattr(config, name, None) for name in ("text_config", "decoder"))]
    sizes = [
        size for part in parts for size in [getattr(part, "vocab_size", None)] if isinstance(size, int) and size > 1
    ]
    return min(sizes, default=100)


def _named(name: str, shape: tuple[int, ...]) -> dict[int, str]:
    """The sizes that people leave dynamic."""
    if name.startswith("pixel_values"):
        return {0: "batch", len(shape) - 2: "height", len(shape) - 1: "width"}
    if name in ("input_values", "input_features"):
        return {0: "batch", shape.index(max(shape[1:]), 1): "frames"}
    return {0: "batch", 1: "target" if name.startswith("decoder") else "sequence"}


def tensor(name: str, shape: Any, vocabulary: int) -> torch.Tensor:
    """An input: tokens in the middle of the vocabulary, a mask that hides nothing, noise."""
    if name.endswith("_ids"):
        few = max(vocabulary // 2, 2)
        return (torch.arange(_elements(shape)) % max(few // 2, 1) + few // 2).reshape(tuple(shape))
    if name.endswith("mask"):
        return torch.ones(tuple(shape), dtype=torch.int64)
    return torch.randn(tuple(shape), generator=torch.Generator().manual_seed(0))


def _elements(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
