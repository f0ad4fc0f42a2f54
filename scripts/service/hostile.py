#!/usr/bin/env python3
"""Clients that disconnect, send slowly, lie about lengths, send zip bombs and deep JSON: others are served all the while, and memory is
given back afterwards.

    SIZEWISE=target/release/sizewise scripts/service/hostile.py [SECONDS]
"""
import io
import json
import os
import random
import socket
import sys
import threading
import time
import zipfile

from served import Service

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 30
end = time.time() + SECONDS
GOAL = b'{"goal":"2 > 1"}'


def head(path, media, length, extra=b""):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n"
            .encode() + extra + b"\r\n")


def link(port):
    made = socket.create_connection(("127.0.0.1", port), timeout=5)
    return made


def archive(document, entries=0):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a/archive_format", "pt2")
        made.writestr("a/archive_version", "0")
        made.writestr("a/models/model.json", document)
        for entry in range(entries):
            made.writestr(f"a/extra/{entry}", "")
    return packed.getvalue()


BOMB = archive(b" " * (300 << 20))
# What is read before it is refused: many keys, many entries.
LARGE = [archive("{" + ",".join(f'"k{key}":{key}' for key in range(3_500_000)) + "}"), archive("{}", entries=60_000)]
HARD = json.dumps({"symbols": {s: {"min": 2} for s in "xyzw"}, "goal": "Ne(x**4 + y**4 + z**4, w**4)"}).encode()


def disconnects(port):
    with link(port) as l:
        l.sendall(head("/v1/entail", "application/json", 100) + GOAL)


def leaves_before_the_answer(port):
    with link(port) as l:
        l.sendall(head("/v1/entail", "application/json", len(HARD)) + HARD)


def resets(port):
    l = link(port)
    l.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    l.sendall(head("/v1/check", "application/octet-stream", 1 << 20) + os.urandom(1000))
    l.close()


def sends_slowly(port):
    with link(port) as l:
        for byte in head("/v1/entail", "application/json", len(GOAL)) + GOAL[:-1]:
            l.send(bytes([byte]))
            time.sleep(0.02)


def claims_too_much(port):
    with link(port) as l:
        l.sendall(head("/v1/check", "application/octet-stream", 1 << 50))
        return l.recv(100).startswith(b"HTTP/1.1 413")


def claims_too_little(port):
    with link(port) as l:
        l.sendall(head("/v1/entail", "application/json", 5) + GOAL)
        return b" 400 " in l.recv(100)


def claims_nonsense(port):
    with link(port) as l:
        l.sendall(b"POST /v1/entail HTTP/1.1\r\nHost: localhost\r\nContent-Length: -7\r\n\r\n")
        return b" 400 " in l.recv(100)


def claims_twice(port):
    with link(port) as l:
        l.sendall(head("/v1/entail", "application/json", 5, b"Content-Length: 16\r\n") + GOAL)
        return b" 400 " in l.recv(100)


def broken_chunks(port):
    with link(port) as l:
        l.sendall(b"POST /v1/entail HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\n")
        return b" 400 " in l.recv(100)


def zip_bomb(port):
    with link(port) as l:
        l.sendall(head("/v1/check", "application/octet-stream", len(BOMB)) + BOMB)
        return b" 413 " in l.recv(100)


def large_archive(port):
    body = random.choice(LARGE)
    with link(port) as l:
        l.settimeout(60)
        l.sendall(head("/v1/check", "application/octet-stream", len(body)) + body)
        return any(code in l.recv(100) for code in (b" 422 ", b" 413 ", b" 429 ", b" 503 "))


def refused_and_served(port):
    """Requests that are refused before their body is read, and others after them on the same connection."""
    with link(port) as l:
        for path, media, code in [("/v1/none", "application/json", 404), ("/v1/entail", "text/plain", 415), ("/v1/entail?budget=0", "application/json", 422)] * 5:
            l.sendall(head(path, media, len(GOAL)))
            l.sendall(GOAL)
            if not answered_with(l, code):
                return False
            l.sendall(head("/v1/entail", "application/json", len(GOAL)) + GOAL)
            if not answered_with(l, 200, 429):
                return False
    return True


def answered_with(l, *codes):
    """Reads a whole answer; whether it has one of these codes."""
    answer = l.makefile("rb")
    found = int(answer.readline().split()[1])
    length = 0
    while line := answer.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    answer.read(length)
    return found in codes


def no_host(port):
    with link(port) as l:
        l.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        return b" 400 " in l.recv(100)


def deep_json(port):
    body = b"[" * 400_000
    with link(port) as l:
        l.sendall(head("/v1/entail", "application/json", len(body)) + body)
        return b" 400 " in l.recv(100)


def batch_never_read(port):
    with link(port) as l:
        l.settimeout(1)
        try:
            l.sendall(head("/v1/entail", "application/x-ndjson", 1 << 30))
            for _ in range(2000):
                l.sendall((GOAL + b"\n") * 500)
        except OSError:
            pass


def noise(port):
    with link(port) as l:
        l.sendall(os.urandom(5000))


KINDS = [disconnects, leaves_before_the_answer, resets, sends_slowly, claims_too_much, claims_too_little,
         claims_nonsense, claims_twice, broken_chunks, zip_bomb, large_archive, refused_and_served, no_host, deep_json, batch_never_read, noise]
counts, wrong = {}, []


def attack(port, seed):
    draw = random.Random(seed)
    while time.time() < end:
        kind = draw.choice(KINDS)
        try:
            if kind(port) is False:
                wrong.append(kind.__name__)
        except OSError:
            pass  # The service closed the connection: it may.
        counts[kind.__name__] = counts.get(kind.__name__, 0) + 1


with Service("--patience", "5") as service:
    before = service.resident()
    threads = [threading.Thread(target=attack, args=(service.port, i)) for i in range(12)]
    for thread in threads:
        thread.start()
    served, slowest = 0, 0.0
    while time.time() < end:
        start = time.time()
        status, text = service.post("/v1/entail", json.dumps({"goal": f"{served} + 1 > {served}"}))
        slowest = max(slowest, time.time() - start)
        # Busy is an honest answer; everything else is not.
        assert status in (200, 429), (status, text)
        served += status == 200
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    time.sleep(6)
    status, text = service.post("/v1/entail", GOAL)
    assert status == 200
    panics = service.figure("sizewise_panics_total")
    assert panics == 0, panics
    after = service.resident()
    assert after < 200, f"{after:.0f} MiB are kept"
    print(f"{sum(counts.values())} hostile requests of {len(counts)} kinds, {served} honest ones answered, the slowest in "
          f"{slowest * 1000:.0f} ms; no panic; memory {before:.0f} -> {after:.0f} MiB")
    print(dict(sorted(counts.items())))
assert not wrong, wrong
