#!/usr/bin/env python3
"""Two replicas that share a Redis, which then goes and comes back: they serve on, and say so.

    SIZEWISE=target/release/sizewise scripts/service/redis.py     (needs redis-server)
"""
import json
import shutil
import subprocess
import sys
import tempfile
import time

from served import Service, free_port, questions, timeless

if not shutil.which("redis-server"):
    print("no redis-server: nothing was tested")
    sys.exit(0)

port, folder = free_port(), tempfile.mkdtemp()


def start():
    return subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
                            stdout=subprocess.DEVNULL)


def until(holds, what):
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise SystemExit(f"in vain: {what}")


def answers(service):
    return json.loads(service.get("/readyz")[1])["cache"]["answers"]


redis = start()
asked = questions(1000, seed=3)
try:
    with Service("--cache", f"redis://127.0.0.1:{port}/") as one, Service("--cache", f"redis://127.0.0.1:{port}/") as two:
        until(lambda: answers(one) and answers(two), "Redis answers")
        first = [timeless(a) for a in one.batch("/v1/entail", asked)]
        time.sleep(1)
        assert [timeless(a) for a in two.batch("/v1/entail", asked)] == first
        shared = two.figure('sizewise_cache_hits_total{in="store"}')
        assert shared > 900, shared
        redis.terminate()
        redis.wait()
        start_time = time.time()
        more = questions(1000, seed=4)
        without = [timeless(a) for a in one.batch("/v1/entail", more)]
        took = time.time() - start_time
        assert [timeless(a) for a in one.batch("/v1/entail", asked)] == first
        until(lambda: not answers(one), "readyz says that Redis is away")
        assert one.get("/readyz")[0] == 200 and one.figure("sizewise_cache_store_up") == 0
        redis = start()
        until(lambda: answers(one) and one.figure("sizewise_cache_store_up") == 1, "Redis answers again")
        assert [timeless(a) for a in two.batch("/v1/entail", more)] == without
        print(f"{int(shared)} of 1000 answers came from the other replica; with Redis gone 1000 new questions took {took:.2f} s; "
              "readyz and metrics said so, and that it came back")
finally:
    redis.terminate()
    redis.wait()
