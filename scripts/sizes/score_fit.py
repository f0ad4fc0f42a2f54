#!/usr/bin/env python3
"""What `fit` says of programs with random memories, beside what `cost` says of the same inputs.

    python scripts/sizes/score_fit.py target/release/sizewise FOLDER --count 30

The largest size that fits takes no more than the memory, and the next allowed one takes more.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def bytes_at(binary, path, at):
    """Peak, inputs and state at sizes of inputs."""
    tensors = {name: sizes for name, sizes in at.items() if isinstance(sizes, list) and sizes}
    varying = [f"--at={name}={','.join(map(str, sizes))}" for name, sizes in tensors.items()]
    answer = run(binary, "cost", path, "--format", "json")
    cost = json.loads(answer.stdout)
    names = {source["source"].split(".shape")[0] for source in cost["symbols"].values()}
    answer = run(binary, "cost", path, "--format", "json", *[word for word in varying if word.split("=")[1] in names])
    if answer.returncode:
        return None
    cost = json.loads(answer.stdout)
    values = {}
    for symbol, source in cost["symbols"].items():
        name, dim = re.fullmatch(r"(.*)\.shape\[(\d+)\]", source["source"]).groups()
        values[symbol] = at[name][int(dim)]
    whole = lambda text: eval(text, {"Max": max, "Min": min, "__builtins__": {}}, values)
    parts = ["input_bytes", "parameter_bytes", "buffer_bytes", "constant_bytes"]
    return cost["at"]["peak_bytes"] + sum(int(whole(cost[part])) for part in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random.seed(options.seed)
    programs = sorted(map(str, pathlib.Path(options.folder).rglob("*.pt2")))
    random.shuffle(programs)
    counts = collections.Counter()
    for path in programs:
        if counts["asked"] >= options.count:
            break
        cost = run(options.binary, "cost", path, "--format", "json")
        if cost.returncode or not json.loads(cost.stdout)["exact"]:
            continue
        profile = run(options.binary, "bounds-of", path, "--format", "json")
        lines = [json.loads(line) for line in profile.stdout.splitlines()]
        at = next((end["min_at"] for line in lines for end in line["dims"] if "min_at" in end), None)
        sources = [source["source"] for source in json.loads(cost.stdout)["symbols"].values()]
        if at is None or not sources or any(not isinstance(sizes, list) for sizes in at.values()):
            continue
        least = bytes_at(options.binary, path, at)
        if not least:
            continue
        memory = int(least * random.choice([0.5, 1, 1.5, 4, 20, 300, 5000]) * random.uniform(1, 2))
        maximize = random.choice(sources)
        given = []
        for source in sources:
            name, dim = re.fullmatch(r"(.*)\.shape\[(\d+)\]", source).groups()
            if source != maximize:
                given.append(f"--given={source}={at[name][int(dim)]}")
        words = ["--memory", str(memory), "--maximize", maximize, "--format", "json", *given]
        answer = run(options.binary, "fit", path, *words)
        if answer.returncode not in (0, 1):
            counts[f"status {answer.returncode}"] += 1
            print(path, memory, maximize, given, answer.stderr.strip()[:160])
            continue
        fit = json.loads(answer.stdout)
        counts["asked"] += 1
        counts["unlimited"] += fit["unlimited"]
        counts["nothing fits"] += fit["fits"] is None and not fit["unlimited"]
        counts["all allowed sizes fit"] += fit["fits"] is not None and fit["breaks"] is None
        right = True
        for step, fits in ((fit["fits"], True), (fit["breaks"], False)):
            if step is None:
                continue
            found = bytes_at(options.binary, path, step["at"])
            right &= found == step["bytes"] and (found <= memory) == fits
            if found != step["bytes"] or (found <= memory) != fits:
                print("WRONG", path, memory, maximize, given, step, found)
        counts["right"] += right
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")


if __name__ == "__main__":
    main()
