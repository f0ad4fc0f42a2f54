#!/usr/bin/env python3
"""Counts the implied goals that are lost beside facts about other symbols, and in conjunctions. Needs the standard library only.

    scripts/lost_answers.py FILE... [--bin target/release/sizewise] [--most 300] [--seed 1] [--show 5]

A file holds questions of `sizewise entail`, one a line (tests/data/queries/*.jsonl). Those that are answered `implied` are
asked again

- with one fact on doubles or bits, of symbols of its own, and 1, 4, 10 and 20 plain facts beside,
- in a conjunction with the goal of another of them, whose symbols are renamed, under the facts of both.

What is added can hold and says nothing about the goal, so each answer has to be `implied` again. The exit status is 1 if
one is not.
"""

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter

# A fact that doubles or bits make hard to search, with the ranges of its symbols.
HARD = [
    ("TruncToInt(ToFloat(zz_h)*0.5) == zz_o", {"zz_h": {"min": 2}, "zz_o": {}}),
    ("TruncToInt(ToFloat(zz_h)*0.7) >= 3", {"zz_h": {"min": 0, "max": 4096}}),
    ("FloorToInt(IntTrueDiv(zz_h, zz_o)) == 2", {"zz_h": {"min": 1}, "zz_o": {"min": 1}}),
    ("ToFloat(zz_h) < ToFloat(zz_o)", {"zz_h": {}, "zz_o": {}}),
    ("(zz_h & 7) == 3", {"zz_h": {"min": 0}}),
    ("(zz_h ^ zz_o) > 4", {"zz_h": {"min": 0, "max": 255}, "zz_o": {"min": 0, "max": 255}}),
]
BESIDE = (1, 4, 10, 20)


def answers(binary: str, questions: list[dict]) -> list[str]:
    """The verdict of each question."""
    lines = "".join(json.dumps({**q, "id": i}) + "\n" for i, q in enumerate(questions))
    run = subprocess.run([binary, "entail"], input=lines, capture_output=True, text=True, check=False)
    verdicts = {a["id"]: a.get("verdict", "no answer") for a in map(json.loads, run.stdout.splitlines())}
    return [verdicts.get(i, "no answer") for i in range(len(questions))]


def renamed(question: dict, prefix: str) -> dict:
    """A question about other symbols."""
    names = question["symbols"]
    anew = lambda text: re.sub(r"[A-Za-z_]\w*", lambda m: prefix + m[0] if m[0] in names else m[0], text)
    return {
        "symbols": {prefix + name: bounds for name, bounds in names.items()},
        "given": [anew(fact) for fact in question["given"]],
        "goal": anew(question["goal"]),
    }


def beside(question: dict, facts: int, draw: random.Random) -> dict:
    """A question with a hard fact and so many plain ones beside."""
    hard, symbols = draw.choice(HARD)
    plain = {f"zz_{i}": {"min": 1} for i in range(facts)}
    given = [hard, *(f"{name} % 8 == 0" for name in plain), *question["given"]]
    draw.shuffle(given)
    return {"symbols": {**question["symbols"], **symbols, **plain}, "given": given, "goal": question["goal"]}


def together(one: dict, other: dict) -> dict:
    """The conjunction of two goals, under the facts of both."""
    other = renamed(other, "yy_")
    return {
        "symbols": {**one["symbols"], **other["symbols"]},
        "given": one["given"] + other["given"],
        "goal": f"And({one['goal']}, {other['goal']})",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--bin", default="target/release/sizewise")
    parser.add_argument("--most", type=int, default=300, help="goals that are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="lost answers of a kind that are printed")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    read = []
    for file in options.files:
        with open(file) as lines:
            read += [json.loads(line) for line in lines]
    fields = ("symbols", "given", "goal")
    asked = [{field: q[field] for field in fields} for q in read if all(field in q for field in fields)]
    verdicts = answers(options.bin, asked)
    implied = [q for q, verdict in zip(asked, verdicts) if verdict == "implied"]
    implied = draw.sample(implied, min(options.most, len(implied)))
    if not implied:
        sys.exit("no question is answered `implied`")
    kinds = {f"{n} facts beside": [beside(q, n, draw) for q in implied] for n in BESIDE}
    kinds["conjunctions"] = [together(q, draw.choice(implied)) for q in implied]
    any_lost = False
    for kind, questions in kinds.items():
        verdicts = answers(options.bin, questions)
        lost = [(q, verdict) for q, verdict in zip(questions, verdicts) if verdict != "implied"]
        counts = dict(Counter(verdict for _, verdict in lost))
        print(f"{kind}: {len(lost)} of {len(questions)} lost {counts or ''}")
        for question, verdict in lost[: options.show]:
            print(f"  {verdict}: {json.dumps(question)}")
        any_lost |= bool(lost)
    return int(any_lost)


if __name__ == "__main__":
    sys.exit(main())
