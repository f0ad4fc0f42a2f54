#!/usr/bin/env python3
"""Cheap questions while heavy work is under way: 20 checks of a large program and 4 of the hardest questions, over and over, two workers.

    SIZEWISE=target/release/sizewise scripts/service/heavy.py [SECONDS] [PROGRAM.pt2]

Prints how long the cheap questions took without and with the load, and how many failed. Exit status 1 if one failed, or the slowest hundredth
took longer than 50 ms. Other programs on the machine count too: the load average is printed.
"""
import http.client
import itertools
import json
import multiprocessing
import os
import pathlib
import sys
import threading
import time

from served import ROOT, Service, questions

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 20
LARGEST = max((ROOT / "examples").glob("*.pt2"), key=lambda path: path.stat().st_size)
PROGRAM = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else LARGEST
CHECKS, HARD, CLIENTS = 20, 4, 4
# A cheap question every so many seconds from each client.
PAUSE = 0.01


def hard_questions():
    """Squarings and powers of what was squared, a sum of fourth powers; each a little different from those before."""
    for n in itertools.count(2):
        for steps in (12, 20, 24, 40, 59):
            low = {"x0": {"min": n}}
            yield {"symbols": low, "given": [f"Eq(x{i + 1}, x{i}*x{i} + 1)" for i in range(steps)],
                   "goal": f"x{steps} >= x0 + {n}"}
            yield {"symbols": low, "given": [f"x{i + 1} > x{i}**{2 + i % 2}" for i in range(steps)],
                   "goal": f"x{steps} > {n}**{steps}"}
        yield {"symbols": {s: {"min": n} for s in "xyzw"}, "goal": "Ne(x**4 + y**4 + z**4, w**4)"}


def cheap(port, seed, seconds, results):
    """Asks cheap questions, none twice, and puts down how long each took and how many failed."""
    took, failed = [], []
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    asked = questions(int(seconds / PAUSE), seed=seed)
    end = time.time() + seconds
    for question in asked:
        if time.time() > end:
            break
        question["goal"] = f"Or({question['goal']}, s0 + s1 > {len(took)} + s0 + s1)"
        start = time.perf_counter()
        try:
            link.request("POST", "/v1/entail", json.dumps(question), {"Content-Type": "application/json"})
            response = link.getresponse()
            text = response.read()
            if response.status != 200:
                failed.append(f"{response.status} {text[:200]!r}")
        except (OSError, http.client.HTTPException) as error:
            failed.append(repr(error))
            link.close()
        took.append(time.perf_counter() - start)
        time.sleep(PAUSE)
    results.put((took, failed))


def measure(port, seconds, seed):
    results = multiprocessing.Queue()
    clients = [multiprocessing.Process(target=cheap, args=(port, seed + i, seconds, results)) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    parts = [results.get() for _ in clients]
    for client in clients:
        client.join()
    took = sorted(t for part, _ in parts for t in part)
    failed = [why for _, part in parts for why in part]
    at = lambda share: 1000 * took[min(len(took) - 1, int(share * len(took)))]
    print(f"  {len(took)} cheap questions: p50 {at(.5):.2f} ms, p90 {at(.9):.2f} ms, p99 {at(.99):.2f} ms, "
          f"slowest {at(1):.1f} ms, {len(failed)} failed {failed[:3] or ''}")
    return at(.99), failed


def main():
    program, done, over = PROGRAM.read_bytes(), {"checks": 0, "hard": 0}, threading.Event()
    print(f"{PROGRAM.name}, {len(program):,} bytes; {os.cpu_count()} cores; load average {open('/proc/loadavg').read().split()[0]}")
    with Service("--workers", "2", "--deadline", "30") as service:
        def load(kind, path, media, bodies):
            while not over.is_set():
                with lock:
                    body = next(bodies)
                try:
                    status, text = service.ask("POST", path, body, {"Content-Type": media}, timeout=120)
                except (OSError, http.client.HTTPException):
                    assert over.is_set(), f"a {kind} request broke off"
                    return
                # A question that does not end in time is cancelled, which is an answer.
                assert status in (200, 504) or over.is_set(), (kind, status, text[:300])
                done[kind] += 1

        lock = threading.Lock()
        print("without other requests")
        measure(service.port, SECONDS / 2, seed=1)
        hard = (json.dumps(question) for question in hard_questions())
        threads = [threading.Thread(target=load, daemon=True, args=(
            "checks", "/v1/check", "application/octet-stream", itertools.repeat(program))) for _ in range(CHECKS)]
        threads += [threading.Thread(target=load, daemon=True, args=("hard", "/v1/entail", "application/json", hard))
                    for _ in range(HARD)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        print(f"with {CHECKS} checks and {HARD} hard questions under way")
        p99, failed = measure(service.port, SECONDS, seed=1001)
        over.set()
        print(f"  meanwhile {done['checks']} checks and {done['hard']} hard questions were answered; "
              f"{service.figure('sizewise_work_moved_total'):.0f} pieces of work moved to the long lane, "
              f"{service.figure('sizewise_work_late_total'):.0f} cancelled at the deadline; "
              f"{service.resident():.0f} MiB; load average {open('/proc/loadavg').read().split()[0]}")
        service.kill()
    sys.exit(1 if failed or p99 > 50 else 0)


if __name__ == "__main__":
    main()
