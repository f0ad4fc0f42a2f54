#!/usr/bin/env python3
"""Changes certificates at random, and looks for a change that both makes the claim false and is accepted.

    mutate_certificates.py CERTIFICATES.jsonl [--count 20000] [--seed N] [--bin target/release/sizewise]

The lines are answers of `sizewise entail --certificate`, of which the field `certificate` is read. Each certificate is changed at one or
two places: a number, a sign, an operation, a name, parts left out, doubled, or swapped. Where the checker in Python accepts
what comes of it, the claim is tried at many assignments, and Z3 (`pip install z3-solver`) is asked. With `--bin` the checker
in Rust reads the same texts; where the two do not agree, that is said. Exit status 1 if a false claim is accepted.
"""

import argparse
import collections
import importlib.util
import itertools
import json
import pathlib
import random
import subprocess
import sys

import z3

HERE = pathlib.Path(__file__).resolve().parent.parent
PLACE = importlib.util.spec_from_file_location("certificate", HERE / "python/sizewise/_certificate.py")
checker = importlib.util.module_from_spec(PLACE)
PLACE.loader.exec_module(checker)

SWAPPED = {"<=": "<", "<": "<=", ">=": ">", ">": ">=", "=": "!=", "!=": "=", "+": "-", "-": "+", "//": "%", "%": "//", "max": "min", "min": "max", "and": "or", "or": "and", "combine": "multiply", "split": "cut"}


def places(sexp, found):
    """Each place of a text: the list it is in, and where."""
    if isinstance(sexp, list):
        for at, part in enumerate(sexp):
            found.append((sexp, at))
            places(part, found)
    return found


def copied(sexp):
    return [copied(part) for part in sexp] if isinstance(sexp, list) else sexp


def changed(sexp, rng):
    """A copy with one change."""
    sexp = copied(sexp)
    around, at = rng.choice(places(sexp, []))
    part = around[at]
    number = checker._integer(part) if isinstance(part, str) else None
    kind = rng.randrange(6)
    if number is not None and kind < 4:
        around[at] = str(rng.choice([number + 1, number - 1, -number, 2 * number, 0, 1, number + rng.randrange(-9, 9)]))
    elif isinstance(part, str) and kind < 3:
        words = [p[a] for p, a in places(sexp, []) if isinstance(p[a], str)]
        around[at] = SWAPPED.get(part) or rng.choice(words)
    elif kind == 3:
        del around[at]
    elif kind == 4:
        other = rng.randrange(len(around))
        around[at], around[other] = around[other], around[at]
    else:
        around.insert(at, copied(rng.choice(around)))
    return sexp


def truth(term, names):
    """The value of a term in Z3, with the divisors that it needs."""
    if isinstance(term, str):
        number = checker._integer(term)
        if term.startswith("#"):
            raise NotImplementedError
        return z3.IntVal(number) if number is not None else names[term]
    v = [truth(t, names) for t in term[1:]]
    if term[0] in ("//", "%"):
        names[""].append(v[1] != 0)
        floor = z3.If(v[1] > 0, v[0] / v[1], (-v[0]) / (-v[1]))
        return floor if term[0] == "//" else v[0] - v[1] * floor
    least = lambda a, b: z3.If(a <= b, a, b)
    plain = {
        "+": lambda: z3.Sum(v), "-": lambda: -v[0] if len(v) == 1 else v[0] - v[1], "*": lambda: z3.Product(v),
        "min": lambda: __import__("functools").reduce(least, v), "max": lambda: -__import__("functools").reduce(least, [-x for x in v]),
        "abs": lambda: z3.If(v[0] >= 0, v[0], -v[0]), "ite": lambda: z3.If(*v), "true": lambda: z3.BoolVal(True), "false": lambda: z3.BoolVal(False),
        "<=": lambda: v[0] <= v[1], "<": lambda: v[0] < v[1], ">=": lambda: v[0] >= v[1], ">": lambda: v[0] > v[1], "=": lambda: v[0] == v[1],
        "!=": lambda: v[0] != v[1], "and": lambda: z3.And(v), "or": lambda: z3.Or(v), "not": lambda: z3.Not(v[0]),
    }
    if term[0] == "**" and checker._integer(term[2]) is not None and 0 <= int(term[2]) < 20:
        return z3.Product([v[0]] * int(term[2])) if int(term[2]) else z3.IntVal(1)
    if term[0] not in plain:
        raise NotImplementedError
    return plain[term[0]]()


def by_z3(found):
    """`true`, `false` or `unknown`."""
    names = {name: z3.Int(name) for name in found.symbols}
    names[""] = []
    try:
        stated = [truth(p, names) for p in found.premises] + [z3.Not(truth(found.goal, names))]
        for term in found.defined:
            truth(term, names)
    except (NotImplementedError, z3.Z3Exception, RecursionError):
        return "unknown"
    solver = z3.Solver()
    solver.set("timeout", 500)
    solver.add(*stated, *names[""])
    return {"unsat": "true", "sat": "false"}.get(str(solver.check()), "unknown")


def counterexample(found, rng):
    """An assignment that contradicts the claim, among the small ones and some at random."""
    numbers = sorted({n for t in found.stated() for n in constants(t)})[:40] or [0]
    near = sorted({n + d for n in numbers for d in (-1, 0, 1)})
    small = itertools.product(range(-3, 5), repeat=len(found.symbols)) if len(found.symbols) < 4 else ()
    drawn = ([rng.choice(near) if rng.randrange(2) else rng.randrange(-20, 60) for _ in found.symbols] for _ in range(200))
    for values in itertools.chain(small, drawn):
        at = dict(zip(found.symbols, values))
        try:
            if found.contradicts(at):
                return at
        except checker.CertificateError:
            pass
    return None


def constants(term):
    if isinstance(term, str):
        number = checker._integer(term)
        return [] if number is None else [number]
    return [n for t in term[1:] for n in constants(t)]


def verdict(text):
    """The checker that accepts a text, or None."""
    try:
        found = checker._Checker(text)
        found.run(found.proof, 0)
        return found
    except (checker.CertificateError, RecursionError):
        return None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("certificates", type=pathlib.Path)
    options.add_argument("--count", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=2026)
    options.add_argument("--bin")
    options = options.parse_args()
    rng = random.Random(options.seed)
    sys.setrecursionlimit(20_000)
    lines = map(json.loads, options.certificates.read_text().splitlines())
    texts = [line["certificate"] for line in lines if line.get("certificate")]
    tally, accepted, mutants = collections.Counter(), [], []
    while len(mutants) < options.count:
        whole = checker.read(rng.choice(texts))[0]
        mutant = changed(whole, rng)
        if rng.randrange(3) == 0 and isinstance(mutant, list):
            mutant = changed(mutant, rng)
        if mutant == whole:
            continue
        mutants.append(checker._text(mutant))
        found = verdict(mutant)
        accepted.append(found is not None)
        if found is None:
            tally["rejected"] += 1
        elif found.outside:
            tally["accepted on the word of a solver"] += 1
        elif mutant[:6] == whole[:6]:
            tally["accepted, the same claim"] += 1
        else:
            at = counterexample(found, rng)
            known = "false" if at else by_z3(found)
            tally[f"accepted, another claim: {known}"] += 1
            if known == "false":
                print("FALSE", at, checker._text(mutant))
    if options.bin:
        tally["the checkers do not agree"] = disagreements(options.bin, mutants, accepted)
    for outcome, count in sorted(tally.items()):
        print(f"{count:7}  {outcome}")
    sys.exit(1 if tally["accepted, another claim: false"] else 0)


def disagreements(binary, mutants, accepted):
    """How often the checker in Rust says otherwise."""
    lines = "".join(json.dumps({"verdict": "implied", "certificate": m}) + "\n" for m in mutants)
    run = subprocess.run([binary, "certify", "-"], input=lines, capture_output=True, text=True)
    said = [not line.startswith("-: rejected") and ": rejected:" not in line for line in run.stdout.splitlines() if not line.startswith("  ")][:-1]
    different = [m for m, a, b in zip(mutants, accepted, said) if a != b]
    for mutant in different[:5]:
        print("DIFFERENT", mutant)
    return len(different) + abs(len(said) - len(accepted))


if __name__ == "__main__":
    main()
