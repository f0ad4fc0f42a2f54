#!/usr/bin/env python3
"""Load from a second process on loopback: warm questions by wrk, cold ones in batches, and memory over time.

    SIZEWISE=target/release/sizewise scripts/service/load.py warm [SECONDS]
    SIZEWISE=target/release/sizewise scripts/service/load.py cold [QUESTIONS]
    SIZEWISE=target/release/sizewise scripts/service/load.py memory [SECONDS]
"""
import os
import subprocess
import sys
import threading
import time
import json
import tempfile

from served import ROOT, Service, questions

PROGRAM = (ROOT / "examples/bert.pt2").read_bytes()
what = sys.argv[1] if len(sys.argv) > 1 else "warm"
amount = int(sys.argv[2]) if len(sys.argv) > 2 else None
CONNECTIONS = int(os.environ.get("CONNECTIONS", "32"))
THREADS = os.environ.get("THREADS", "1")


def script(bodies):
    """A wrk script that sends these bodies in turn."""
    file = tempfile.NamedTemporaryFile("w", suffix=".lua", delete=False)
    texts = ",\n".join(f"[==[{body}]==]" for body in bodies)
    file.write(f"""local bodies = {{{texts}}}
local n = 0
local headers = {{["Content-Type"] = "application/json"}}
local requests = {{}}
function init()
  for i, body in ipairs(bodies) do requests[i] = wrk.format("POST", "/v1/entail", headers, body) end
end
function request()
  n = n % #requests + 1
  return requests[n]
end
""")
    file.close()
    return file.name


def load():
    return "load average " + open("/proc/loadavg").read().split()[0]


def warm(seconds):
    bodies = [json.dumps(q) for q in questions(500)]
    with Service() as service:
        for body in bodies:
            assert service.post("/v1/entail", body)[0] == 200
        print(load())
        subprocess.run(["wrk", f"-t{THREADS}", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", script(bodies),
                        f"http://127.0.0.1:{service.port}"], check=True)
        print(load(), f"; hits {service.figure('sizewise_cache_hits_total'):.0f}")


def cold(count):
    asked = questions(count, seed=time.time_ns())
    with Service() as service:
        parts = [asked[i::4] for i in range(4)]
        texts = ["".join(json.dumps(q) + "\n" for q in part) for part in parts]

        def send(text):
            status, answer = service.ask("POST", "/v1/entail", text, {"Content-Type": "application/x-ndjson"}, timeout=600)
            assert status == 200 and '"error"' not in answer

        threads = [threading.Thread(target=send, args=(text,)) for text in texts]
        before, start = load(), time.time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.time() - start
        misses = service.figure("sizewise_cache_misses_total")
        print(f"{count} questions in 4 batches, {misses:.0f} of them not in the cache: {took:.2f} s, "
              f"{misses / took:.0f} cold ones a second ({before}, {load()})")


def memory(seconds):
    bodies = [json.dumps(q) for q in questions(500)]
    with Service("--env-idle", "20") as service:
        run = subprocess.Popen(["wrk", f"-t{THREADS}", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", script(bodies),
                                f"http://127.0.0.1:{service.port}"], stdout=subprocess.PIPE, text=True)
        start, n, seen = time.time(), 0, []
        while run.poll() is None:
            # Other questions (10,000 in all, so that the cache fills up early), programs and environments go along.
            service.batch("/v1/entail", questions(200, seed=n % 50))
            assert service.post("/v1/check", PROGRAM, "application/octet-stream")[0] == 200
            status, made = service.post("/v1/envs", json.dumps({"symbols": {"s0": {"min": 2}}}))
            env = json.loads(made)["env"]
            service.batch(f"/v1/envs/{env}/entail", [{"goal": f"s0 > {i}"} for i in range(20)])
            if n % 2:
                service.ask("DELETE", f"/v1/envs/{env}")
            n += 1
            seen.append(service.resident())
            if n % 20 == 0:
                print(f"{time.time() - start:6.0f} s {seen[-1]:7.1f} MiB")
            time.sleep(1)
        print(run.stdout.read())
        tenth = max(1, len(seen) // 10)
        print(f"MiB: start {seen[0]:.1f}, after a tenth {seen[tenth]:.1f}, half {seen[len(seen) // 2]:.1f}, end {seen[-1]:.1f}, "
              f"most {max(seen):.1f}")


{"warm": lambda: warm(amount or 15), "cold": lambda: cold(amount or 40_000), "memory": lambda: memory(amount or 600)}[what]()
