"""Plans over a corpus: the arena beside the lower bound and beside the greedy."""
import argparse, collections, json, pathlib, subprocess, time, statistics, zipfile
p = argparse.ArgumentParser(); p.add_argument("bin"); p.add_argument("corpus"); p.add_argument("--align", default="16"); p.add_argument("--bound", type=int, help="give every dynamic dimension this max, where the program's own spec can be shown"); p.add_argument("--limit", type=int); p.add_argument("--show", type=int, default=10)
a = p.parse_args()
ratios, greedy, count, slow = [], [], collections.Counter(), []
def bounded(x):
    if isinstance(x, dict):
        x = {k: bounded(v) for k, v in x.items()}
        if ("dim" in x or "min" in x or "hint" in x) and x.get("max") is None: x["max"] = max(a.bound, 2 * (x.get("min") or 0))
        return x
    if isinstance(x, list): return [bounded(v) for v in x]
    return x
for pt2 in sorted(pathlib.Path(a.corpus).glob("*/*/program.pt2"))[: a.limit]:
    extra = []
    if a.bound:
        r = subprocess.run([a.bin, "spec", "init", str(pt2), "--as", "json"], capture_output=True, text=True)
        if r.returncode: count["no spec"] += 1; continue
        pathlib.Path("/tmp/bounds-spec.json").write_text(json.dumps(bounded(json.loads(r.stdout)))); extra = ["--spec", "/tmp/bounds-spec.json"]
    began = time.time()
    try: r = subprocess.run([a.bin, "plan", str(pt2), "--format", "json", "--align", a.align, *extra], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired: count["timeout"] += 1; print("timeout", pt2); continue
    slow.append((time.time() - began, str(pt2)))
    if r.returncode:
        why = r.stderr.strip().split(": ", 2)[-1]
        why = "no bound" if "give" in why else "open" if "was found" in why else why[:80]
        count[f"{r.returncode} {why}"] += 1
        if why == "open" or r.returncode != 4:
            count["shown"] += 1
            if count["shown"] < a.show: print(pt2, r.stderr.strip()[:200])
        continue
    plan = json.loads(r.stdout)
    count["planned"] += 1; count["exact"] += plan["exact"]
    if plan["lower_bound"]:
        ratios.append((plan["arena_bytes"] / plan["lower_bound"], str(pt2), len(plan["buffers"])))
        greedy.append(plan["greedy_bytes"] / plan["lower_bound"])
        count["above greedy"] += plan["arena_bytes"] > plan["greedy_bytes"]
    bs = [b for b in plan["buffers"] if b["bytes"]]
    if len(bs) < 1500:
        for i, x in enumerate(bs):
            for y in bs[:i]:
                if x["from"] <= y["to"] and y["from"] <= x["to"] and x["offset"] < y["offset"] + y["bytes"] and y["offset"] < x["offset"] + x["bytes"]: count["OVERLAP"] += 1
print(dict(count))
r = sorted(x[0] for x in ratios); g = sorted(greedy)
q = lambda l, p: l[min(len(l) - 1, int(p * len(l)))] if l else None
print("ratio median", q(r, .5), "p95", q(r, .95), "max", q(r, 1), "mean", statistics.mean(r) if r else None, "n", len(r))
print("greedy median", q(g, .5), "p95", q(g, .95), "max", q(g, 1))
print("worst", sorted(ratios, reverse=True)[:8]); print("slowest", sorted(slow, reverse=True)[:5])
