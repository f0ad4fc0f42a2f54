"""Bounds beside recorded runs: no bound is below (above) a recorded size, and each that is said to be attained is, in `eval`."""
import argparse, collections, json, pathlib, subprocess, sys, zipfile
p = argparse.ArgumentParser(); p.add_argument("bin"); p.add_argument("corpus"); p.add_argument("--limit", type=int); p.add_argument("--show", type=int, default=10); p.add_argument("--only")
a = p.parse_args()
def outputs(path):
    with zipfile.ZipFile(path) as z:
        name = next(n for n in z.namelist() if n.endswith("models/model.json"))
        m = json.loads(z.read(name))
    g = m["graph_module"]
    names = []
    for spec, out in zip(g["signature"]["output_specs"], g["graph"]["outputs"]):
        if "user_output" in spec:
            names.append(out.get("as_tensor", {}).get("name") if isinstance(out, dict) else None)
    return names
count = collections.Counter(); shown = 0
def show(*words):
    global shown
    shown += 1
    if shown <= a.show: print(*words)
slow = []
import time
for truth in sorted(pathlib.Path(a.corpus).glob("*/*/truth.json"))[: a.limit]:
    if a.only and a.only not in str(truth): continue
    pt2 = truth.with_name("program.pt2")
    if not pt2.exists(): continue
    began = time.time()
    try:
        r = subprocess.run([a.bin, "bounds-of", str(pt2), "--format", "json"], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        count["timeout"] += 1; show(pt2, "timeout"); continue
    took = time.time() - began; slow.append((took, str(pt2)))
    count["programs"] += 1
    if r.returncode:
        count[f"status {r.returncode}"] += 1; show(pt2, r.returncode, r.stderr.strip()[:200]); continue
    values = {v["value"]: v for v in map(json.loads, r.stdout.splitlines())}
    for v in values.values():
        count["values"] += 1
        count["exact"] += v["exact"]
        if not v["exact"]:
            for why in v["reasons"]: count["why: " + why.split("`")[0][:60]] += 1
        count["exact or data decide"] += v["exact"] or any("data" in r for r in v["reasons"])
    t = json.loads(truth.read_text())
    names = outputs(pt2)
    for run in t.get("runs") or []:
        if not run.get("accepted") or run.get("exported") != "ok" or not run.get("output_shapes"): continue
        for name, shape in zip(names, run["output_shapes"]):
            v = values.get(name)
            if v is None or not isinstance(shape, list) or len(v["dims"]) != len(shape): continue
            count["recorded outputs"] += 1
            n = 1
            for s in shape: n *= s
            for d, s in list(zip(v["dims"], shape)) + [(v["elements"], n)]:
                if (d["max"] is not None and s > d["max"]) or (d["min"] is not None and s < d["min"]):
                    count["WRONG"] += 1; show("WRONG", pt2, name, shape, d, run["shapes"])
    asks = []
    for i, name in enumerate(names):
        v = values.get(name)
        if v is None: continue
        for k, d in list(enumerate(v["dims"])) + [(None, v["elements"])]:
            for end in ("min", "max"):
                if d.get(end) is None: continue
                if d["min"] == d["max"] and end + "_at" not in d: continue
                count["ends"] += 1
                at = d.get(end + "_at")
                if at is None:
                    count["ends not attained"] += 1
                    if v["exact"]: count["EXACT WITHOUT AT"] += 1; show("EXACT", pt2, name, d)
                    continue
                q = {"shapes": {n: s for n, s in at.items() if isinstance(s, list)}, "scalars": {n: s for n, s in at.items() if not isinstance(s, list)}}
                asks.append((q, i, k, d[end]))
    if asks:
        r = subprocess.run([a.bin, "eval", str(pt2)], input="\n".join(json.dumps(q) for q, *_ in asks) + "\n", capture_output=True, text=True)
        for (q, i, k, want), line in zip(asks, r.stdout.splitlines()):
            ans = json.loads(line)
            got = (ans.get("outputs") or [None] * (i + 1))[i] if not ans.get("error") else None
            got = got.get("shape") if isinstance(got, dict) else got
            if got is None or any(not isinstance(s, int) for s in got):
                count["eval refuses"] += 1; show("EVAL", pt2, q, line[:200]); continue
            n = 1
            for s in got: n *= s
            if (n if k is None else got[k]) == want: count["attained"] += 1
            else: count["MISSED"] += 1; show("MISSED", pt2, q, got, k, want)
for k, v in sorted(count.items()): print(f"{k}: {v}")
slow.sort(reverse=True); print("slowest", slow[:5])
