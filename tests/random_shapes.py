#!/usr/bin/env python3
"""Holds sizewise against torch on random modules under random ShapesSpecs.

    python tests/random_shapes.py [--count 300] [--seed 2026] [--show]

needs torch 2.15 and the Python package. Each seed draws a ShapesSpec (ranges, shared variables, computed dimensions, assumptions with
products, floor divisions and remainders, containers, integers), and a module whose statements run at an example of it. Where torch
exports the module under the spec, the exported module is run at all small sizes, and sizewise is asked:

- `check` of the program under its own contract, its spec, and other specs of the same places: with `ok` all sizes of the spec run; a
  counterexample is of the spec, and does not run;
- its fixes: what a fix admits runs; what runs is admitted, if the fix says that it loses nothing;
- `widest_spec`: it admits what runs, and nothing else;
- `evaluate`: it accepts what runs, and nothing else.

A line is printed for each difference, and for each spec that is left without a verdict or a fix, with the seed. Exits with status 1 if
there is a difference.
"""
import argparse
import collections
import contextlib
import io
import itertools
import logging
import math
import random
import re
import sys
import warnings

import sizewise
import torch
import torch.nn.functional as F
from torch.export import export
from torch.fx.experimental import dynamic_spec

NAMES = {"max": max, "min": min, "Max": max, "Min": min, "__builtins__": {}}
#: How torch refuses sizes for which a program was not exported.
REFUSALS = ("Runtime assertion failed", "Guard failed", "Expected input", "Invalid value range", "AssertionError")
MOST_ELEMENTS = 1 << 20


def evaluated(text, values):
    """A size or condition; `None` where it divides by zero."""
    try:
        return eval(text.replace("torch.sym_", ""), NAMES, dict(values))
    except ZeroDivisionError:
        return None


class Drawn:
    """A spec: variables with ranges, the inputs as texts over them, and assumptions."""

    def __init__(self, source):
        self.source = source
        count = source.choice([1, 2, 2, 2, 3])
        self.example = {name: source.choice([2, 3, 4, 4, 5, 6, 8]) for name in "bnm"[:count]}
        self.scalars = {"k": source.randint(1, 3)} if source.random() < 0.25 else {}
        self.places = self.inputs()
        nested = ["nested"] if len(self.places) > 1 else []
        self.container = source.choice(["none", "none", "dict", "list", "args", "kwargs", *nested])
        self.ranges, self.assumptions = {}, []
        self.constrain()

    @property
    def values(self):
        return {**self.example, **self.scalars}

    def expression(self):
        """A size over the variables."""
        source, names = self.source, list(self.example)
        a, b, c = source.choice(names), source.choice(names), source.randint(1, 3)
        forms = [f"{c + 1}*{a}", f"{a} + {c}", f"2*{a} + {c}", f"{a}//2", f"({a} + {c})//{c + 1}", f"{a} + {b}", f"{a}*{b}"]
        forms += [f"torch.sym_max({a}, {b})", f"torch.sym_min({a}, {c})"] if a != b else [f"{a}*{a}"]
        return source.choice(forms)

    def inputs(self):
        """The sizes of each tensor, as texts; each variable stands somewhere by itself."""
        source, names = self.source, list(self.example)
        places = []
        for _ in range(source.choice([1, 2, 2, 3])):
            kinds = source.choices(["name", "number", "expression"], [6, 2, 2], k=source.choice([1, 2, 2, 3]))
            draw = {"name": lambda: source.choice(names), "number": lambda: str(source.choice([1, 2, 3, 4])), "expression": self.expression}
            places.append([draw[kind]() for kind in kinds])
        missing = [name for name in names if not any(name in of_input for of_input in places)]
        return places + ([missing] if missing else [])

    def condition(self):
        """A condition that the example satisfies."""
        source, at = self.source, self.values
        a, b = source.choice(list(at)), source.choice(list(at))
        c = source.choice([2, 2, 3, 4])
        term = source.choice([a, a, f"{a}*{b}", f"{a} + {b}", f"{a}//{c}", f"2*{a} - {b}"])
        value = evaluated(term, at)
        forms = [f"({term}) % {c} == {value % c}", f"{term} <= {value + source.randint(0, 6)}", f"{term} >= {value - source.randint(0, 2)}"]
        forms += [f"{term} != {value + source.randint(1, 3)}"]
        if a != b:
            difference = at[a] - at[b]
            forms += [f"{a} == {b} + {difference}" if difference >= 0 else f"{b} == {a} + {-difference}"]
            forms += [f"{a} <= {b}" if difference <= 0 else f"{b} < {a}"]
        return source.choice(forms)

    def constrain(self):
        """Draws other ranges and assumptions."""
        source = self.source
        self.ranges = {}
        for name, value in self.values.items():
            least = source.choice([0, 0, 1, 2, None]) if name in self.example else source.choice([None, -2, 0, 1])
            most = source.choice([None, None, value, value + 3, 50])
            self.ranges[name] = (min(least, value) if least is not None else 0 if name in self.example else None, most)
        self.assumptions = [self.condition() for _ in range(source.choice([0, 0, 1, 1, 2]))]

    def objects(self):
        """The spec for torch."""
        made = {}
        for name, (low, high) in self.ranges.items():
            kind = dynamic_spec.ShapeVar if name in self.example else dynamic_spec.IntVar
            made[name] = kind(name, **({} if low is None else {"min": low}), **({} if high is None else {"max": high}))
        space = {**made, "torch": torch}
        texts = [[eval(text, space) for text in of_input] for of_input in self.places]
        of_tensors = [dynamic_spec.TensorSpec(sizes) for sizes in texts]
        params = self.arranged(of_tensors, made, dynamic_spec.SeqSpec, dynamic_spec.DictSpec)
        return dynamic_spec.ShapesSpec(params, assumptions=[eval(text, space) for text in self.assumptions])

    def arranged(self, tensors, scalars, sequence=list, mapping=dict):
        """Tensors and integers as the arguments by name."""
        keys = [f"t{i}" for i in range(len(tensors))]
        pairs = dict(zip(keys, tensors))
        forms = {
            "none": lambda: pairs,
            "dict": lambda: {"d": mapping(pairs)},
            "list": lambda: {"xs": sequence(tensors)},
            "args": lambda: {"*args": list(tensors)},
            "kwargs": lambda: {"**kwargs": pairs},
            "nested": lambda: {"d": mapping({"a": sequence(tensors[:1]), "rest": sequence(tensors[1:])})},
        }
        return {**{name: scalars[name] for name in self.scalars}, **forms[self.container]()}

    def call(self, values):
        """The arguments of a call at values of the variables."""
        return self.call_of([[evaluated(text, values) for text in of_input] for of_input in self.places], values)

    def call_of(self, shapes, values):
        named = self.arranged([torch.ones(shape) for shape in shapes], values)
        args, kwargs = tuple(named.pop("*args", ())), named.pop("**kwargs", {})
        return tuple(named.values()) + args, kwargs

    def signature(self):
        rest = {"none": [f"t{i}" for i in range(len(self.places))], "args": ["*args"], "kwargs": ["**kwargs"], "list": ["xs"]}
        return ", ".join(["self", *self.scalars, *rest.get(self.container, ["d"])])

    def ways(self):
        """The way to each tensor in a spec. What `**kwargs` takes may have the names of parameters."""
        count = range(len(self.places))
        ways = {
            "dict": [("d", f"t{i}") for i in count],
            "list": [("xs", i) for i in count],
            "args": [("*args", i) for i in count],
            "nested": [("d", "a", 0), *(("d", "rest", i) for i in count[:-1])],
        }
        return ways.get(self.container, [(f"t{i}",) for i in count])

    def unpacked(self):
        """Statements that give each tensor its name."""
        if self.container == "none":
            return []
        if self.container == "kwargs":
            return [f"t{i} = kwargs['t{i}']" for i in range(len(self.places))]
        reached = [(way[0].strip("*"), "".join(f"[{step!r}]" for step in way[1:])) for way in self.ways()]
        return [f"t{i} = {name}{steps}" for i, (name, steps) in enumerate(reached)]

    def allows(self, values):
        within = all((low is None or low <= values[name]) and (high is None or values[name] <= high) for name, (low, high) in self.ranges.items())
        return within and all(evaluated(text, values) for text in self.assumptions)


class Module:
    """Statements that run at an example."""

    def __init__(self, drawn):
        self.drawn, self.source = drawn, drawn.source
        self.space = {"torch": torch, "F": F, **drawn.scalars}
        self.tensors = [f"t{i}" for i in range(len(drawn.places))]
        for name, of_input in zip(self.tensors, drawn.places):
            self.space[name] = torch.ones([evaluated(text, drawn.values) for text in of_input])
        self.statements, tries = [], 0
        while len(self.statements) < self.source.choice([2, 3, 4]) and tries < 60:
            tries += 1
            self.add(self.source.choice(FORMS))

    def add(self, form):
        """Adds a statement, if it runs."""
        source = self.source
        x, y = (source.choice(self.tensors[-3:]) for _ in range(2))
        rank = self.space[x].dim()
        parts = {"x": x, "y": y, "d": source.randrange(rank) if rank else 0, "e": source.randrange(max(self.space[y].dim(), 1))}
        parts |= {"c": source.choice([1, 2, 2, 3, 4]), "a": source.choice([1, 1, 2]), "k": source.choice([*self.drawn.scalars, "2"])}
        text, name = form.format(**parts), f"v{len(self.statements)}"
        try:
            value = eval(text, self.space)
        except Exception:
            return
        if text.startswith("torch._check"):
            self.statements.append(text)
        elif isinstance(value, torch.Tensor) and value.numel() < 2000 and value.dim() < 5:
            self.space[name] = value
            self.tensors.append(name)
            self.statements.append(f"{name} = {text}")

    def made(self):
        results = self.tensors[-2:]
        lines = [*self.drawn.unpacked(), *self.statements, f"return {', '.join(f'{name} * 1' for name in results)},"]
        space = {"torch": torch, "F": F}
        exec(f"def forward({self.drawn.signature()}):\n" + "".join(f"    {line}\n" for line in lines), space)
        return type("Drawn", (torch.nn.Module,), {"forward": space["forward"]})()


FORMS = [
    "{x}.reshape(-1, {c})", "{x}.view({x}.shape[{d}] // {c}, {c}, -1)", "{x}.reshape({y}.shape[{e}], -1)", "{x}.flatten()", "{x}.flatten(0, 1)",
    "torch.cat([{x}, {y}], {d})", "torch.cat([{x}, {x}[:1]], 0)", "{x} + {y}", "{x} * {y}", "{x}[:, None] + {y}", "{x} @ {y}",
    "{x} @ {y}.transpose(-1, -2)", "torch.stack([{x}, {y}])", "{x}[:{y}.shape[{e}]]", "{x}[:, {a}:]", "{x}[{a}:-1]", "{x}[::2]",
    "{x}[:{k}]", "{x}[{k}:]", "{x}[{a}]", "{x}[{x}.shape[0] - {a}]", "{x}.narrow({d}, {a}, {k})", "{x}.split({c}, {d})[0]", "{x}.chunk(2, {d})[0]",
    "{x}.split([{x}.shape[{d}] // 2, {x}.shape[{d}] - {x}.shape[{d}] // 2], {d})[1]", "{x}.unfold({d}, {c}, {a})", "{x}.unfold({d}, {c}, {c})",
    "F.avg_pool1d({x}, {c})", "F.max_pool1d({x}, {c}, {a})", "F.max_pool1d({x}, {c}, {c}, 1)" , "{x}.repeat(2, 1)", "{x}.repeat({k}, 1, 1)",
    "{x}.expand({y}.shape[{e}], *{x}.shape)", "torch.zeros({k}, {x}.shape[{d}]) + {x}", "{x}.new_zeros({y}.shape[{e}]) + {x}",
    "F.pad({x}, (0, -{x}.shape[-1] % {c}))", "F.pad({x}, ({a}, {a}))", "{x}.transpose(0, 1)", "{x}.sum({d})", "{x}.amax({d})", "{x}.cumsum({d})",
    "{x}.index_select({d}, torch.arange({y}.shape[{e}]))", "torch.arange({x}.shape[{d}]) + {y}", "{x}.unsqueeze({d})",
    "torch._check({x}.shape[{d}] % {c} == 0)", "torch._check({x}.shape[{d}] * {y}.shape[{e}] <= 40)", "torch._check({x}.shape[{d}] >= {y}.shape[{e}])",
    "{x} * 2 if {x}.shape[{d}] > {c} else {x} + 1", "{x}.sum({d}) if {x}.shape[{d}] == {y}.shape[{e}] else {x}.sum({d}) * 2",
]  # fmt: skip


def assignments(drawn):
    """All small values of the variables at which the inputs exist, and some larger ones."""
    names = list(drawn.values)
    most = {1: 24, 2: 10, 3: 6}.get(len(names), 4)
    starts = [range(most + 1) if name in drawn.example else range(-1, 5) for name in names]
    larger = [[drawn.source.choice([8, 9, 12, 15, 16]) if name in drawn.example else 2 for name in names] for _ in range(12)]
    for each in itertools.chain(itertools.product(*starts), larger):
        values = dict(zip(names, each))
        if all((evaluated(text, values) or 0) >= 0 for of_input in drawn.places for text in of_input):
            yield values


def outcome(run, call):
    """Nothing where a call runs, else why it does not."""
    args, kwargs = call
    try:
        run(*args, **kwargs)
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def entry(tree, *way):
    """The entry of a spec in JSON at the end of a way; nothing where the spec has none, which is static."""
    for step in way:
        known = step in tree if isinstance(tree, dict) else isinstance(tree, list) and isinstance(step, int) and step < len(tree)
        if not known:
            return None
        tree = tree[step]
    return tree


def admitted(spec, drawn, shapes, values, example):
    """Whether a spec in JSON admits sizes. In the other language, that of a program without variables, nothing is dynamic."""
    spec = spec if "params" in spec else {"params": spec, "vars": {}, "assumptions": []}
    pairs = [(entry(spec["params"], name), values[name], drawn.scalars[name]) for name in drawn.scalars]
    for way, shape, first in zip(drawn.ways(), shapes, example):
        of_input = entry(spec["params"], *way)
        pairs += [(entry(of_input, i), *sizes) for i, sizes in enumerate(zip(shape, first))]
    bound = {}
    for place, size, _ in pairs:
        if isinstance(place, str) and place in spec["vars"]:
            bound.setdefault(place, size)
    for place, size, first in pairs:
        wanted = first if place is None else place if isinstance(place, int) else evaluated(place, bound)
        if wanted != size:
            return False
    ends = [(bound[name], ends) for name, ends in spec["vars"].items() if name in bound]
    within = all((e["min"] is None or e["min"] <= size) and (e["max"] is None or size <= e["max"]) for size, e in ends)
    return within and all(evaluated(text, bound) for text in spec["assumptions"])


class Trial:
    """A program, and what torch did with all sizes."""

    def __init__(self, drawn, program):
        self.drawn, self.program, self.run = drawn, program, program.module()
        names = [spec.arg.name for spec in program.graph_signature.input_specs]
        self.scalars = [name for name in names if name in drawn.scalars]
        self.tensors = [name for name in names if name not in drawn.scalars]
        self.runs = [(values, self.failure(values)) for values in assignments(drawn)]
        self.said, self.wrong, self.counts = [], [], collections.Counter()

    def failure(self, values):
        return outcome(self.run, self.drawn.call(values))

    def shapes(self, values):
        return [[evaluated(text, values) for text in of_input] for of_input in self.drawn.places]

    def say(self, what, *details):
        self.left_open(what, *details)
        self.wrong.append(what)

    def left_open(self, what, *details):
        """What is said to be unknown is not wrong."""
        self.counts[what] += 1
        self.said.append(": ".join([what, *map(str, details)]))

    def recorded(self):
        """The sizes that the program records, where they are numbers, else those of the example."""
        nodes = {node.name: node.meta["val"] for node in self.program.graph.nodes if node.op == "placeholder"}
        pairs = [(nodes[name].shape, shape) for name, shape in zip(self.tensors, self.shapes(self.drawn.values))]
        return [[size if isinstance(size, int) else first for size, first in zip(*pair)] for pair in pairs]

    def evaluate(self):
        for values, failure in self.runs:
            request = {**dict(zip(self.tensors, self.shapes(values))), **{name: values[name] for name in self.scalars}}
            answer = sizewise.evaluate(self.program, request)
            if answer.ok != (failure is None) and not answer.runtime_asserts:
                self.say("evaluate differs", values, answer.error or "accepts", (failure or "runs")[:200])

    def contract(self):
        report, archive = sizewise.check(self.program), io.BytesIO()
        self.counts[f"contract {report.verdict}"] += 1
        torch.export.save(self.program, archive)
        if sizewise.check(archive.getvalue()).verdict != report.verdict:
            self.say("its archive has another verdict", report.verdict)
        for values, failure in self.runs if report.verdict == "ok" else ():
            if failure is not None and not any(refusal in failure for refusal in REFUSALS):
                self.say("ok by its contract, but a run fails", values, failure[:200])

    def widest(self):
        spec = sizewise.widest_spec(self.program)
        example = self.recorded()
        self.counts["widest specs"] += 1
        for values, failure in self.runs:
            takes = admitted(spec.tree, self.drawn, self.shapes(values), values, example)
            if takes != (failure is None):
                what = "widest spec admits what fails" if takes else "widest spec loses what runs"
                return self.say(what, values, (failure or "runs")[:200], spec.code)

    def checked(self):
        """Asks under the spec that is drawn at present."""
        drawn = self.drawn
        report = sizewise.check(self.program, drawn.objects())
        self.counts[f"verdict {report.verdict}"] += 1
        inside = [(values, failure) for values, failure in self.runs if drawn.allows(values)]
        fails = [values for values, failure in inside if failure is not None]
        if report.verdict == "ok" and fails:
            self.say("ok, but a run fails", fails[0], self.failure(fails[0])[:200], drawn.assumptions, drawn.ranges)
        elif report.verdict == "violated":
            self.violated(report, inside)
        elif report.verdict == "unknown":
            self.left_open("unknown", drawn.assumptions, drawn.ranges, report.diagnostics)
        elif report.verdict == "invalid":
            self.say("invalid", drawn.assumptions, drawn.ranges, report.diagnostics)

    def violated(self, report, inside):
        drawn = self.drawn
        for violation in report.violations:
            if violation.inputs is not None:
                self.witness(violation.inputs)
        if any(diagnostic["code"] == "nothing-works" for diagnostic in report.diagnostics):
            self.counts["nothing works"] += 1
            for values, failure in inside:
                if failure is None:
                    self.say("nothing is said to work, but a run does", values, drawn.assumptions, drawn.ranges)
        elif not report.fixes:
            self.left_open("no fix", drawn.assumptions, drawn.ranges, [violation.expr for violation in report.violations])
        for fix in report.fixes:
            texts = fix.assumptions or []
            self.counts["fixes"] += 1
            for values, failure in inside:
                takes = all(evaluated(text, values) for text in texts)
                if takes and failure is not None:
                    return self.say("a fix admits what fails", texts, values, failure[:200])
                if not takes and failure is None and fix.loses is False:
                    return self.say("a fix without loss loses what runs", texts, values)

    def witness(self, inputs):
        """A counterexample is of the spec, and does not run."""
        drawn = self.drawn
        shapes = [inputs[name] for name in self.tensors]
        values = {name: inputs[name] for name in self.scalars}
        for of_input, shape in zip(drawn.places, shapes):
            values |= {text: size for text, size in zip(of_input, shape) if text in drawn.example}
        if values.keys() != drawn.values.keys() or self.shapes(values) != shapes or not drawn.allows(values):
            return self.say("a counterexample outside the spec", inputs, drawn.ranges, drawn.assumptions)
        self.counts["counterexamples"] += 1
        if sum(math.prod(shape) for shape in shapes) < MOST_ELEMENTS and self.failure(values) is None:
            self.say("a counterexample runs", inputs)


def tried(seed):
    """The trial of a seed; `None` where torch does not export the module."""
    source = random.Random(seed)
    drawn = Drawn(source)
    module = Module(drawn)
    made, call = module.made(), drawn.call(drawn.values)
    try:
        # torch prints the graph of a trace that failed.
        with contextlib.redirect_stderr(io.StringIO()):
            program = export(made, *call, dynamic_shapes=drawn.objects())
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"
    trial = Trial(drawn, program)
    trial.contract()
    trial.widest()
    trial.evaluate()
    for _ in range(3):
        trial.checked()
        drawn.constrain()
    return trial, module.statements


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="programs that torch exports")
    parser.add_argument("--seed", type=int, default=2026, help="the first seed")
    parser.add_argument("--show", action="store_true", help="the statements of each module")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    counts, exported, seed = collections.Counter(), 0, options.seed
    while exported < options.count:
        trial, statements = tried(seed)
        if trial is None:
            counts[f"not exported: {re.split('[:(]', statements)[0]}"] += 1
        else:
            exported += 1
            counts += trial.counts
            for line in dict.fromkeys(trial.said):
                print(f"{seed}: {line}", flush=True)
            if options.show or trial.said:
                print(f"{seed}: {trial.drawn.places} {trial.drawn.container} {'; '.join(statements)}", flush=True)
            counts["programs that differ"] += bool(trial.wrong)
        seed += 1
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    return 1 if counts["programs that differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
