"""Networks of torch.nn and of transformers, with few weights, and programs with several inputs."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from models import Program
from small import Layers, tensors
from torch import nn
from torch.export import Dim


class Wrapped(nn.Module):
    """A network, and what of its result counts."""

    def __init__(self, network: nn.Module, call: Callable[..., Any]) -> None:
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *inputs: Any) -> Any:
        return self.call(self.network, *inputs)


def free(*dims: tuple[int, ...]) -> Callable[[tuple[Any, ...]], Any]:
    """These dimensions of each input are dynamic; `forward` takes the inputs as `*inputs`."""
    return lambda inputs: (tuple({i: Dim.AUTO for i in some} for some in dims),)


def tokens(*names: str) -> Callable[[dict[str, int]], tuple[Any, ...]]:
    """Token ids."""

    def made(sizes: dict[str, int]) -> tuple[Any, ...]:
        count = 1
        for name in names:
            count *= sizes[name]
        return (torch.arange(count).mul(7).remainder(50).view([sizes[name] for name in names]),)

    return made


class Encoder(nn.Module):
    """A transformer of torch.nn with a mask of padding."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)

    def forward(self, x: Any, lengths: Any) -> Any:
        padding = torch.arange(x.shape[1])[None] >= lengths[:, None]
        # The first position is never masked: a row without any has no softmax.
        return self.layer(x, src_key_padding_mask=padding & (torch.arange(x.shape[1]) > 0))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, dropout=0.0)

    def forward(self, x: Any, memory: Any) -> Any:
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
        return self.layer(x, memory, tgt_mask=mask)


class PatchTransformer(nn.Module):
    """As ViT: patches, positions interpolated to the size of the image, attention, a class."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.first = nn.Conv2d(3, 8, 4, 4), nn.Parameter(torch.randn(1, 1, 8))
        self.at = nn.Parameter(torch.randn(1, 8, 6, 6))
        self.attend, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        x = self.embed(x)
        x = x + F.interpolate(self.at, x.shape[2:], mode="bilinear")
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x.flatten(2).transpose(1, 2)], 1)
        return self.head((x + self.attend(x, x, x)[0])[:, 0])


class Autoencoder(nn.Module):
    """Halves the image twice and brings it back; the last rows may be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.SiLU(), nn.Conv2d(4, 8, 3, 2, 1), nn.SiLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(8, 4, 2, 2), nn.SiLU(), nn.ConvTranspose2d(4, 3, 2, 2))

    def forward(self, x: Any) -> Any:
        y = self.up(self.down(x))
        return F.mse_loss(y[:, :, : x.shape[2], : x.shape[3]], x, reduction="none").mean((1, 2, 3))


class Temporal(nn.Module):
    """Causal convolutions whose reach doubles, with residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(4, 4, 3, dilation=1 << i) for i in range(3))

    def forward(self, x: Any) -> Any:
        for i, layer in enumerate(self.layers):
            x = x + layer(F.pad(x, (2 << i, 0)))
        return x


class Excited(nn.Module):
    """An inverted bottleneck with squeeze and excitation, as in MobileNet."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.widen, self.norm = nn.Conv2d(3, 12, 1), nn.BatchNorm2d(12)
        self.depth = nn.Conv2d(12, 12, 3, stride, 1, groups=12)
        self.squeeze, self.excite, self.narrow = nn.Conv2d(12, 3, 1), nn.Conv2d(3, 12, 1), nn.Conv2d(12, 3, 1)

    def forward(self, x: Any) -> Any:
        y = self.depth(F.hardswish(self.norm(self.widen(x))))
        y = y * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        y = self.narrow(y)
        return x + y if y.shape == x.shape else y


class Experts(nn.Module):
    """Each token goes through its two best experts, all of which are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 4), nn.Parameter(torch.randn(4, 8, 8))

    def forward(self, x: Any) -> Any:
        b, t, c = x.shape
        flat = x.reshape(b * t, c)
        weights, chosen = self.gate(flat).softmax(-1).topk(2, -1)
        every = torch.einsum("nc,ecd->ned", flat, self.experts)
        picked = every.gather(1, chosen[..., None].expand(-1, -1, c))
        return (picked * weights[..., None]).sum(1).view(b, t, c)


class Graph(nn.Module):
    """Messages along edges, summed at the nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(8, 4)

    def forward(self, x: Any, edges: Any) -> Any:
        found = self.message(torch.cat([x[edges[0]], x[edges[1]]], 1))
        return x.new_zeros(x.shape[0], 4).index_add(0, edges[1], found) + x


def rotated_cache(x: Any, keys: Any) -> Any:
    """A step of decoding with a cache of keys, which loses what is older than 16 positions."""
    keys = torch.cat([keys, x], 1)[:, -16:]
    scores = x @ keys.transpose(1, 2)
    t, s = x.shape[1], keys.shape[1]
    mask = torch.arange(s)[None] <= torch.arange(t)[:, None] + (s - t)
    return scores.masked_fill(~mask, -1e4).softmax(-1) @ keys, keys


def edges(sizes: dict[str, int]) -> tuple[Any, ...]:
    """Nodes, and edges between them."""
    n, e = sizes["n"], sizes["e"]
    ends = torch.arange(2 * e).mul(5).remainder(max(n, 1)).view(2, e)
    return torch.randn(n, 4), ends


def encoded(sizes: dict[str, int]) -> tuple[Any, ...]:
    """Sequences with their lengths."""
    lengths = torch.arange(sizes["b"]).remainder(max(sizes["t"], 1)) + 1
    return torch.randn(sizes["b"], sizes["t"], 8), lengths


def last_hidden(network: Any, *inputs: Any) -> Any:
    return network(*inputs, return_dict=True).last_hidden_state


def logits(network: Any, *inputs: Any) -> Any:
    return network(*inputs, use_cache=False, return_dict=True).logits


def of_transformers(config: str, model: str, call: Callable[..., Any], **settings: Any) -> Callable[[], nn.Module]:
    """A model of transformers with random weights."""

    def made() -> nn.Module:
        import transformers

        chosen = getattr(transformers, config)(**settings)
        return Wrapped(getattr(transformers, model)(chosen).eval(), call)

    return made


SMALL_BERT = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
              "intermediate_size": 32, "max_position_embeddings": 64}  # fmt: skip
SMALL_LLAMA = {**SMALL_BERT, "num_key_value_heads": 1}

ids = tokens("b", "t")
IDS = free((0, 1))

NETWORKS = [
    Program("encoder with padding", Encoder, {"b": 3, "t": 9}, encoded,
            lambda inputs: ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO})),
    Program("decoder", Decoder, {"b": 3, "t": 9, "m": 12}, tensors(("b", "t", 8), ("b", "m", 8)),
            lambda inputs: ({0: Dim.AUTO, 1: Dim.AUTO},) * 2),
    Program("patch transformer", PatchTransformer, {"b": 2, "h": 18, "w": 27}, tensors(("b", 3, "h", "w")),
            lambda inputs: ({0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO},)),
    Program("autoencoder", Autoencoder, {"b": 2, "h": 18, "w": 24}, tensors(("b", 3, "h", "w")),
            lambda inputs: ({0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO},)),
    Program("temporal convolutions", Temporal, {"b": 2, "t": 15}, tensors(("b", 4, "t")),
            lambda inputs: ({0: Dim.AUTO, 2: Dim.AUTO},)),
    Program("inverted bottleneck", lambda: Layers(Excited(1), Excited(2)), {"b": 2, "h": 11, "w": 14},
            tensors(("b", 3, "h", "w")), lambda inputs: ({0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO},)),
    Program("experts", Experts, {"b": 3, "t": 7}, tensors(("b", "t", 8)), lambda inputs: ({0: Dim.AUTO, 1: Dim.AUTO},)),
    Program("graph", Graph, {"n": 6, "e": 11}, edges, lambda inputs: ({0: Dim.AUTO}, {1: Dim.AUTO})),
    Program("cache of 16", lambda: Wrapped(nn.Identity(), lambda _, x, keys: rotated_cache(x, keys)),
            {"b": 2, "t": 3, "s": 9}, tensors(("b", "t", 8), ("b", "s", 8)), free((0, 1), (0, 1))),
    Program("lstm, both ways", lambda: Wrapped(nn.LSTM(6, 4, 2, batch_first=True, bidirectional=True),
                                               lambda network, x: network(x)[0].sum(-1)),
            {"b": 3, "t": 7}, tensors(("b", "t", 6)), free((0, 1))),
    Program("bert", of_transformers("BertConfig", "BertModel", last_hidden, **SMALL_BERT), {"b": 3, "t": 9}, ids, IDS),
    Program("distilbert", of_transformers("DistilBertConfig", "DistilBertModel", last_hidden, vocab_size=64, dim=16,
                                          n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=64),
            {"b": 3, "t": 9}, ids, IDS),
    Program("gpt2", of_transformers("GPT2Config", "GPT2LMHeadModel", logits, vocab_size=64, n_embd=16, n_layer=2,
                                    n_head=2, n_positions=64), {"b": 3, "t": 9}, ids, IDS),
    Program("llama of transformers", of_transformers("LlamaConfig", "LlamaForCausalLM", logits, **SMALL_LLAMA),
            {"b": 3, "t": 9}, ids, IDS),
    Program("mistral, sliding window", of_transformers("MistralConfig", "MistralForCausalLM", logits,
                                                       sliding_window=4, **SMALL_LLAMA), {"b": 3, "t": 9}, ids, IDS),
    Program("t5 encoder", of_transformers("T5Config", "T5EncoderModel", last_hidden, vocab_size=64, d_model=16, d_kv=8,
                                          d_ff=32, num_layers=2, num_heads=2), {"b": 3, "t": 9}, ids, IDS),
    Program("swin", of_transformers("SwinConfig", "SwinModel", last_hidden, image_size=16, patch_size=2, embed_dim=8,
                                    depths=[1], num_heads=[1], window_size=4),
            {"b": 2, "h": 18, "w": 28}, tensors(("b", 3, "h", "w")), free((0, 2, 3))),
    Program("convnext", of_transformers("ConvNextConfig", "ConvNextModel", last_hidden, hidden_sizes=[8, 16],
                                        depths=[1, 1], num_stages=2), {"b": 2, "h": 32, "w": 44},
            tensors(("b", 3, "h", "w")), free((0, 2, 3))),
]  # fmt: skip
