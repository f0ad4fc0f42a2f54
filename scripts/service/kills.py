#!/usr/bin/env python3
"""Kills the service in the middle of writes to its cache file, again and again; it starts again, and no answer differs.

    SIZEWISE=target/release/sizewise scripts/service/kills.py [TIMES]
"""
import http.client
import pathlib
import random
import sys
import tempfile
import threading
import time

from served import Service, questions, timeless

TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 50
draw = random.Random(1)
asked = questions(2000, seed=7)
with Service() as reference:
    expected = [timeless(a) for a in reference.batch("/v1/entail", asked)]

folder = pathlib.Path(tempfile.mkdtemp())
file = folder / "cache.redb"
found = written = 0
for n in range(TIMES):
    service = Service("--cache", str(file))
    # What an earlier process wrote comes back, checked.
    some = draw.sample(range(len(asked)), 300)
    for i, answer in zip(some, service.batch("/v1/entail", [asked[i] for i in some])):
        assert timeless(answer) == expected[i], (n, asked[i], answer, expected[i])
    found += service.figure('sizewise_cache_hits_total{in="store"}')

    # New questions keep the writer busy while the process is killed.
    def write():
        try:
            for round in range(1000):
                service.batch("/v1/entail", questions(200, seed=1000 * n + round + 17))
        except (OSError, AssertionError, ValueError, http.client.HTTPException):
            pass

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(draw.uniform(0.02, 0.4))
    service.kill()
    writer.join()
    service.log.close()
    written = file.stat().st_size
with Service("--cache", str(file)) as service:
    for answer, right in zip(service.batch("/v1/entail", asked), expected):
        assert timeless(answer) == right
aside = [path.name for path in folder.iterdir() if "damaged" in path.name]
print(f"{TIMES} kills: every start went well, no answer differs; {int(found)} answers came from the file "
      f"({written} bytes at the end); set aside as damaged: {len(aside)}")
