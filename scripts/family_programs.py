"""Random programs of many families, of which `sizewise check` is to be undecided about no more than one in a hundred.

    python scripts/family_programs.py SIZEWISE [--family NAME ...] [--count N] [--seed S] [--keep FOLDER]

Each program is a small module of one family, with sizes, ranks and arguments drawn at random, exported with all sizes on
`Dim.AUTO`. It is checked under its own contract and under random named dimensions with ranges from 0 on. An `ok` is called at
shapes that the spec allows, a counterexample too: what contradicts the module is printed as WRONG. Undecided conditions are
printed with the family and the seed, and the share of undecided programs of each family at the end. Needs torch 2.15.
"""

import argparse
import collections
import json
import logging
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn

AUTO = torch.export.Dim.AUTO
FAMILIES = {}


def family(make):
    FAMILIES[make.__name__] = make
    return make


class Fn(nn.Module):
    def __init__(self, fn, *modules):
        super().__init__()
        self.fn, self.inner = fn, nn.ModuleList(modules)

    def forward(self, *xs):
        return self.fn(*xs)


def rows(r, *rest, least=2):
    """A tensor with a random number of rows."""
    return torch.randn(r.randint(least, 7), *rest)


def size(r, least=2, most=7):
    return r.randint(least, most)


def of_one_batch(r, count, *rest):
    batch = size(r)
    return tuple(torch.randn(batch, *rest) for _ in range(count))


@family
def views(r):
    k = r.choice([1, 2, 3, 4])
    x = torch.randn(size(r), k * size(r, 1, 3), size(r))
    return r.choice([
        lambda x: x.view(x.shape[0], -1),
        lambda x: x.reshape(-1, k),
        lambda x: x.flatten(1).unflatten(1, (x.shape[1], -1)),
        lambda x: x.transpose(1, 2).reshape(x.shape[0], -1),
        lambda x: x.permute(2, 0, 1).contiguous().view(x.shape[2], -1),
        lambda x: x.view(-1).view(x.shape[0] * x.shape[1], -1),
    ]), (x,)


@family
def empty_views(r):
    x = torch.randn(2, 4, size(r), size(r)).to(memory_format=torch.channels_last)
    return r.choice([
        lambda x: x.permute(0, 2, 3, 1).view(-1, x.shape[1]),
        lambda x: x.permute(0, 2, 3, 1).reshape(x.shape[0], -1),
        lambda x: x.flatten(2).transpose(1, 2),
    ]), (x,)


@family
def alias_views(r):
    start = r.randint(0, 1)

    def fn(x):
        y = x.clone()
        y.view(-1)[start:].fill_(3)
        return y.sum(0), y[start:]
    return fn, (torch.randn(size(r, 3), size(r, 3)),)


@family
def kv_cache(r):
    b, q, p = size(r), size(r), size(r)

    def fn(x, mask, k, v):
        scores = (x @ torch.cat([k, x], 1).transpose(1, 2)).masked_fill(mask[:, None] == 0, -1e9)
        return scores.softmax(-1) @ torch.cat([v, x], 1)
    return fn, (torch.randn(b, q, 4), torch.ones(b, p + q), torch.randn(b, p, 4), torch.randn(b, p, 4))


@family
def containers(r):
    b = size(r)
    return r.choice([
        lambda x, y: {"a": x + y, "b": (x * 2, [y])},
        lambda x, y: torch.stack([x, y]).unbind(1),
        lambda x, y: torch.cat([x, y], r.choice([0, 1])).chunk(2),
    ]), (torch.randn(b, 4), torch.randn(b, 4))


@family
def cond(r):
    limit = r.randint(1, 4)

    def fn(x):
        return torch.cond(x.sum() > limit, lambda x: x * 2, lambda x: x + 1, (x,))
    return fn, (rows(r, 4),)


@family
def masks(r):
    k = r.choice([1, 2, 4])
    n = size(r, 3)
    return r.choice([
        lambda x, m: x[m].view(-1, k),
        lambda x, m: x[m.nonzero().squeeze(1)].reshape(-1),
        lambda x, m: x[m].sum(0),
        lambda x, m: x.masked_fill(~m[:, None], 0.0),
        lambda x, m: F.linear(x[m], torch.ones(3, 4)).relu(),
        lambda x, m: torch.where(m[:, None], x, -x),
    ]), (torch.randn(n, 4), torch.ones(n, dtype=torch.bool))


@family
def nonzero_chain(r):
    def fn(x):
        i = x.nonzero()
        return x[i[:, 0]], i.float().mean(0)
    return r.choice([fn, lambda x: x.masked_select(x > 0).sum(), lambda x: x.nonzero().shape[0] * x]), (rows(r, 4),)


@family
def channels_last(r):
    conv = nn.Conv2d(3, 4, r.choice([1, 3]), r.choice([1, 2]), padding=r.choice([0, 1]))
    x = torch.randn(2, 3, size(r, 5, 9), size(r, 5, 9)).to(memory_format=torch.channels_last)
    return r.choice([lambda x: conv(x).relu(), lambda x: conv(x).flatten(2), lambda x: conv(x).mean((2, 3))]), (x,), conv


@family
def dtypes(r):
    kind = r.choice([torch.float16, torch.bfloat16, torch.float64, torch.int32])
    return r.choice([
        lambda x: x.to(kind).sum(1),
        lambda x: (x > 0).to(kind) * x.to(kind),
        lambda x: x.to(kind).view(x.shape[0], -1, 2),
    ]), (rows(r, 4),)


@family
def complexes(r):
    return r.choice([
        lambda x: torch.fft.rfft(x, dim=1).abs(),
        lambda x: torch.view_as_real(torch.fft.fft(x)).flatten(1),
        lambda x: torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]),
    ]), (torch.randn(size(r), size(r, 4, 9)),)


@family
def pools(r):
    k, s = r.choice([2, 3]), r.choice([1, 2])
    ceil = r.random() < 0.5
    x = torch.randn(2, 3, size(r, 5, 9), size(r, 5, 9))
    return r.choice([
        lambda x: F.max_pool2d(x, k, s, ceil_mode=ceil),
        lambda x: F.avg_pool2d(x, k, s, padding=1, ceil_mode=ceil),
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        lambda x: F.lp_pool2d(x, 2, k, s),
    ]), (x,)


@family
def unfolds(r):
    k = r.choice([2, 3])
    x = torch.randn(2, 3, size(r, 4, 8), size(r, 4, 8))
    return r.choice([
        lambda x: F.unfold(x, k),
        lambda x: F.fold(F.unfold(x, k), (x.shape[2], x.shape[3]), k),
        lambda x: x.unfold(2, k, 1).sum(-1),
        lambda x: F.pixel_shuffle(x[:, :1].expand(-1, 4, -1, -1), 2),
    ]), (x,)


@family
def scatters(r):
    n = size(r, 3)
    i = torch.randint(0, n, (size(r), 4))
    return r.choice([
        lambda x, i: x.scatter_add(0, i, torch.ones_like(i, dtype=x.dtype)),
        lambda x, i: x.gather(0, i),
        lambda x, i: x[i[:, 0]],
        lambda x, i: torch.zeros_like(x).index_add(0, i[:, 0], torch.ones(i.shape[0], 4)),
        lambda x, i: F.embedding(i, x),
    ]), (torch.randn(n, 4), i)


@family
def sorts(r):
    k = r.choice([1, 2])
    return r.choice([
        lambda x: x.sort(0)[0],
        lambda x: x.topk(k, 1)[0],
        lambda x: x.topk(k, 0)[1],
        lambda x: x.kthvalue(k, 0)[0],
        lambda x: x.argsort(1).float(),
        lambda x: x.unique().shape[0] * x,
        lambda x: torch.searchsorted(x[0].sort()[0], x),
    ]), (torch.randn(size(r, 3), size(r, 3)),)


@family
def pads(r):
    a, b = r.randint(0, 2), r.randint(0, 2)
    mode = r.choice(["constant", "reflect", "replicate", "circular"])
    m = r.choice([2, 4, 8])
    return r.choice([
        lambda x: F.pad(x, (a, b), mode=mode),
        lambda x: F.pad(x, (0, (-x.shape[-1]) % m)),
        lambda x: F.pad(x, (0, m - x.shape[-1] % m)).unflatten(-1, (-1, m)),
        lambda x: x[..., a: x.shape[-1] - b],
    ]), (torch.randn(2, size(r), size(r, 4, 9)),)


@family
def interpolations(r):
    scale = r.choice([2.0, 0.5, 1.5])
    mode = r.choice(["nearest", "bilinear", "bicubic", "area"])
    x = torch.randn(1, 3, size(r, 4, 9), size(r, 4, 9))
    return r.choice([
        lambda x: F.interpolate(x, scale_factor=scale, mode=mode),
        lambda x: F.interpolate(x[:, :, ::2, ::2], size=x.shape[-2:], mode="nearest") + x,
        lambda x: F.interpolate(x, size=(8, 8), mode="bilinear").flatten(1),
    ]), (x,)


@family
def recurrent(r):
    cell = r.choice([nn.LSTM, nn.GRU, nn.RNN])(4, 3, batch_first=True, num_layers=r.choice([1, 2]))
    return r.choice([lambda x: cell(x)[0], lambda x: cell(x)[0][:, -1]]), (torch.randn(size(r), size(r), 4),), cell


@family
def attention(r):
    b, s, t = size(r), size(r), size(r)
    causal = r.random() < 0.5
    args = (torch.randn(b, 2, s, 8), torch.randn(b, 2, t, 8))
    return lambda q, k: F.scaled_dot_product_attention(q, k, k + 1, is_causal=causal), args


@family
def multihead(r):
    layer = r.choice([nn.MultiheadAttention(8, 2, batch_first=True), None])
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    x = torch.randn(size(r), size(r), 8)
    if layer is None:
        return lambda x: encoder(x), (x,), encoder.eval()
    return lambda x: layer(x, x, x, need_weights=False)[0], (x,), layer.eval()


@family
def transposed_convolutions(r):
    stride = r.choice([1, 2, 3])
    conv = nn.ConvTranspose2d(3, 2, r.choice([2, 3, 4]), stride, r.choice([0, 1]), output_padding=r.choice([0, stride - 1]))
    return lambda x: conv(x), (torch.randn(2, 3, size(r, 3, 7), size(r, 3, 7)),), conv


@family
def convolutions(r):
    groups = r.choice([1, 2])
    conv = nn.Conv1d(4, 4, r.choice([1, 3, 5]), r.choice([1, 2]), r.choice([0, 1, 2]), r.choice([1, 2]), groups)
    return lambda x: conv(x), (torch.randn(size(r), 4, size(r, 10, 16)),), conv


@family
def norms(r):
    layer = r.choice([nn.BatchNorm1d(4), nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4)])
    x = torch.randn(size(r), 4, 4) if isinstance(layer, nn.LayerNorm) else torch.randn(size(r), 4, size(r))
    return lambda x: layer(x), (x,), layer.eval() if r.random() < 0.5 else layer


@family
def embedding_bags(r):
    bag = nn.EmbeddingBag(9, 4, mode=r.choice(["sum", "mean", "max"]))
    return lambda i: bag(i), (torch.randint(0, 9, (size(r), size(r))),), bag


@family
def autocast(r):
    layer = nn.Linear(4, 4)

    def fn(x):
        with torch.autocast("cpu", torch.bfloat16):
            return layer(x) @ layer(x).transpose(0, 1)
    return fn, (rows(r, 4),), layer


@family
def shape_arithmetic(r):
    k = r.choice([2, 3, 4])
    return r.choice([
        lambda x: x[: x.shape[0] // k],
        lambda x: x.new_zeros(x.shape[0] * k - 1, max(x.shape[1], 3)),
        lambda x: torch.arange(x.shape[0] // k + 1) * x.shape[1],
        lambda x: x.view(x.shape[0], -1, min(x.shape[1], 1)),
        lambda x: x * (x.shape[0] % k),
        lambda x: x.expand(k, -1, -1)[:, :, : x.shape[1] - 1],
    ]), (torch.randn(size(r, 4), size(r)),)


@family
def assertions(r):
    def fn(x, n):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k <= x.shape[0])
        return x[:k] * 2

    def made(x, n):
        k = n.item()
        torch._check(k >= 1)
        return x.new_zeros(k, x.shape[0])
    return r.choice([fn, made]), (rows(r, 4), torch.tensor(2))


@family
def chains(r):
    steps = r.sample([
        lambda x: x.relu(), lambda x: x + x[:1], lambda x: x.softmax(-1), lambda x: x.transpose(0, 1), lambda x: x[1:],
        lambda x: torch.cat([x, x], 1), lambda x: x.cumsum(0), lambda x: x.roll(1, 0), lambda x: x @ x.transpose(0, 1),
        lambda x: x.unsqueeze(1).expand(-1, 3, -1).flatten(1), lambda x: x.flip(1), lambda x: x.repeat(1, 2),
    ], r.randint(3, 5))

    def fn(x):
        for step in steps:
            x = step(x)
        return x
    return fn, (torch.randn(size(r, 4), size(r, 4)),)


@family
def shuffles(r):
    g = r.choice([1, 2, 4])
    x = torch.randn(2, 4, size(r), size(r))
    return r.choice([
        lambda x: F.channel_shuffle(x, g),
        lambda x: x.view(2, g, 4 // g, x.shape[2], x.shape[3]).transpose(1, 2).flatten(1, 2),
        lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2),
        lambda x: torch.rot90(x, 1, (2, 3)),
    ]), (x,)


@family
def losses(r):
    loss = r.choice([F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div, F.soft_margin_loss])
    reduction = r.choice(["mean", "sum", "none"]) if loss is not F.kl_div else "sum"
    b = size(r)
    return lambda x, y: loss(x, y, reduction=reduction), (torch.randn(b, 4), torch.randn(b, 4))


@family
def broadcasts(r):
    a, b = size(r), size(r)
    return r.choice([
        lambda x, y: x[:, None] + y[None],
        lambda x, y: torch.outer(x[:, 0], y[:, 0]),
        lambda x, y: torch.einsum("ik,jk->ij", x, y),
        lambda x, y: (x[:, None] - y[None]).pow(2).sum(-1).argmin(1),
        lambda x, y: torch.cdist(x, y),
        lambda x, y: x * y[:1],
    ]), (torch.randn(a, 4), torch.randn(b, 4))


@family
def vmaps(r):
    return r.choice([
        lambda x, y: torch.vmap(lambda a: torch.outer(a, y[0]).sum(0))(x),
        lambda x, y: torch.vmap(lambda a: a @ y.transpose(0, 1))(x),
        lambda x, y: torch.vmap(lambda a: a.softmax(0) * 2)(x) + y[:1],
        lambda x, y: torch.vmap(torch.dot)(x, x),
    ]), (torch.randn(size(r), 4), torch.randn(size(r), 4))


@family
def data_sizes(r):
    return r.choice([
        lambda x, y: x.masked_select(x > 0).reshape(-1, 1) * y[:1],
        lambda x, y: torch.cat([x[x[:, 0] > 0], y]),
        lambda x, y: x[x[:, 0] > 0] @ y.transpose(0, 1),
        lambda x, y: x.repeat_interleave(2, 0)[: y.shape[0]],
    ]), (torch.randn(size(r, 3), 4), torch.randn(size(r), 4))


def shapes(args):
    return tuple({d: AUTO for d in range(x.dim())} if isinstance(x, torch.Tensor) and x.dim() else None for x in args)


def exported(make, r):
    """The program, and its arguments; `None` where torch cannot export it."""
    torch.manual_seed(r.randint(0, 1 << 30))
    fn, args, *inner = make(r)
    module = Fn(fn, *inner)
    module.train(inner[0].training if inner else False)
    try:
        with torch.no_grad():
            return torch.export.export(module, args, dynamic_shapes=(shapes(args),)), args
    except Exception:
        return None


def symbols(program):
    """For each input, the text of each size."""
    return {n.name: [str(s) for s in n.meta["val"].shape] for n in program.graph.nodes
            if n.op == "placeholder" and isinstance(n.meta.get("val"), torch.Tensor) and n.target in inputs(program)}


def inputs(program):
    return [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]


def random_spec(program, args, r):
    """Named dimensions with ranges from 0, 1 or 2 on for the sizes that the program leaves open, equal where it says so."""
    names, spec = {}, []
    for (_, sizes), x in zip(symbols(program).items(), args):
        of = {}
        for d, text in enumerate(sizes):
            if text.isidentifier():
                least = r.choice([0, 1, 1, 2])
                at = x.shape[d]
                names.setdefault(text, {"dim": f"d_{text}", "min": min(least, at), "max": max(at, r.randint(8, 64))})
                of[str(d)] = names[text]
        spec.append(of)
    return spec


def drawn(spec, args, r):
    """Arguments of random sizes that a spec allows."""
    chosen = {}
    made = []
    for of, x in zip(spec, args):
        sizes = list(x.shape)
        for d, dim in of.items():
            least, most = dim["min"], min(dim["max"], 24)
            chosen.setdefault(dim["dim"], r.choice([least, least + 1, r.randint(least, most)]))
            sizes[int(d)] = chosen[dim["dim"]]
        made.append(of_shape(x, sizes))
    return made


def of_shape(x, sizes):
    if x.dtype.is_floating_point:
        made = torch.randn(sizes).to(x.dtype)
        last = x.dim() == 4 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
        return made.to(memory_format=torch.channels_last) if last else made
    return torch.ones(sizes, dtype=x.dtype) if x.dtype == torch.bool or x.dim() == 0 else torch.zeros(sizes, dtype=x.dtype)


class Runs:
    def __init__(self, sizewise, keep):
        self.sizewise, self.keep = sizewise, keep
        self.counts = collections.defaultdict(collections.Counter)
        self.wrong = 0

    def check(self, path, spec, work):
        command = [self.sizewise, "check", str(path), "--format", "json"]
        if spec is not None:
            at = pathlib.Path(work, "spec.json")
            at.write_text(json.dumps({"xs": spec}))
            command += ["--spec", str(at)]
        return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)

    def say(self, label, text):
        self.wrong += 1
        print(f"{label}: WRONG: {text}", flush=True)

    def one(self, name, seed):
        r, label = random.Random(f"{name}/{seed}"), f"{name} {seed}"
        made = exported(FAMILIES[name], r)
        if made is None:
            self.counts[name]["not exported"] += 1
            return
        program, args = made
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work, "program.pt2")
            try:
                torch.export.save(program, path)
            except Exception:
                self.counts[name]["not saved"] += 1
                return
            for spec in (None, random_spec(program, args, r)):
                report = self.check(path, spec, work)
                kind = "own " if spec is None else "spec "
                self.counts[name][kind + report["verdict"]] += 1
                if report["verdict"] in ("unknown", "invalid"):
                    said = [g["shown"] if "shown" in g else g["expr"] for g in report["guards"] if g["verdict"] == "unknown"]
                    said += [d["message"] for d in report["diagnostics"] if d["level"] != "note"]
                    print(f"{label}: {kind}{report['verdict']}: {said[:3]}", flush=True)
                    if self.keep:
                        (self.keep / f"{name}_{seed}.pt2").write_bytes(path.read_bytes())
                        (self.keep / f"{name}_{seed}.json").write_text(json.dumps(spec))
                if spec is not None:
                    self.run(label, program, args, spec, report, r)

    def run(self, label, program, args, spec, report, r):
        module = program.module()
        if report["verdict"] == "ok" and not report["runtime_asserts"]:
            for _ in range(3):
                given = drawn(spec, args, r)
                try:
                    with torch.no_grad():
                        module(*given)
                except Exception as error:
                    # Where indices point to is a matter of data, which a verdict says nothing of.
                    if "out of bounds" in str(error):
                        continue
                    self.say(label, f"ok, and fails at {[list(x.shape) for x in given]}: {str(error)[:150]}")
        for guard in report["guards"]:
            if guard["verdict"] == "violated" and guard.get("inputs"):
                shapes = [guard["inputs"].get(n) for n in inputs(program)]
                if any(s is None for s in shapes):
                    continue
                given = [of_shape(x, s) for x, s in zip(args, shapes)]
                try:
                    with torch.no_grad():
                        results = module(*given)
                except Exception:
                    continue
                if not differs(program, given, results):
                    self.say(label, f"violated, and runs at {shapes}: {guard['expr']}")


def differs(program, given, results):
    """Whether an output has another shape than recorded, where its record is of numbers and of sizes of inputs."""
    known = {}
    for (_, sizes), x in zip(symbols(program).items(), given):
        known.update({text: n for text, n in zip(sizes, x.shape) if text.isidentifier()})
    nodes = {n.name: n.meta.get("val") for n in program.graph.nodes}
    recorded = [nodes.get(s.arg.name) for s in program.graph_signature.output_specs if s.kind.name == "USER_OUTPUT"]
    for meta, x in zip(recorded, torch.utils._pytree.tree_leaves(results)):
        if not isinstance(meta, torch.Tensor) or not isinstance(x, torch.Tensor):
            continue
        for size, n in zip(meta.shape, x.shape):
            e = getattr(getattr(size, "node", None), "expr", None)
            e = size if e is None else e.subs({s: known[str(s)] for s in e.free_symbols if str(s) in known})
            if str(e).lstrip("-").isdigit() and int(e) != n:
                return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizewise")
    parser.add_argument("--family", action="append")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    runs = Runs(given.sizewise, given.keep)
    for name in given.family or FAMILIES:
        for seed in range(given.seed, given.seed + given.count):
            runs.one(name, seed)
        counts = runs.counts[name]
        asked = sum(n for what, n in counts.items() if what.startswith(("own", "spec")))
        open_ = counts["own unknown"] + counts["spec unknown"]
        print(f"= {name}: {open_} of {asked} undecided; {dict(sorted(counts.items()))}", flush=True)
    total = collections.Counter()
    for counts in runs.counts.values():
        total.update(counts)
    print(f"= all: {dict(sorted(total.items()))}; wrong: {runs.wrong}")
    return 1 if runs.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
