#!/usr/bin/env python3
"""Thousands of connections that say nothing, or half a head: whoever asks is answered all the same.

    SIZEWISE=target/release/sizewise scripts/service/idle.py [CONNECTIONS]
"""
import json
import resource
import socket
import sys
import time

from served import Service

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 4225
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def slowest(service, count=200):
    """The slowest of some questions, each on a connection of its own, in milliseconds."""
    took = 0.0
    for i in range(count):
        start = time.perf_counter()
        status, text = service.post("/v1/entail", json.dumps({"goal": f"{time.time_ns()} > {i}"}))
        took = max(took, time.perf_counter() - start)
        assert status == 200, (status, text)
    return 1000 * took


with Service() as service:
    before = slowest(service)
    links = []
    for i in range(COUNT):
        links.append(socket.create_connection(("127.0.0.1", service.port), timeout=5))
        if i % 2:
            links[-1].sendall(b"POST /v1/entail HTTP/1.1\r\nHost: local")
    with_idle = slowest(service)
    print(f"slowest of 200 questions: {before:.1f} ms, with {COUNT} idle connections {with_idle:.1f} ms; "
          f"{service.figure('sizewise_connections_idle'):.0f} of them are open, "
          f"{service.figure('sizewise_connections_closed_total'):.0f} were closed; load average {open('/proc/loadavg').read().split()[0]}")
