#!/usr/bin/env python3
"""SIGTERM in the middle of a batch: it is finished, new work is refused with 503, and the process ends with status 0. Work that takes
longer than `--drain` is answered with 503 within that time.

    SIZEWISE=target/release/sizewise scripts/service/drain.py
"""
import http.client
import json
import signal
import socket
import threading
import time

from served import Service


def line(number):
    text = b'{"id":%d,"goal":"%d > 1"}\n' % (number, number + 2)
    return b"%x\r\n%s\r\n" % (len(text), text)


with Service() as service:
    batch = socket.create_connection(("127.0.0.1", service.port), timeout=20)
    batch.sendall(b"POST /v1/entail HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
    batch.sendall(line(1))
    got = b""
    while b'"id":1' not in got:
        got += batch.recv(4096)
    service.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    status, text = service.post("/v1/entail", '{"goal":"2 > 1"}')
    assert status == 503 and "draining" in text, (status, text)
    assert service.get("/readyz")[0] == 503 and service.get("/healthz")[0] == 200
    batch.sendall(line(2) + b"0\r\n\r\n")
    while b"0\r\n\r\n" not in got:
        more = batch.recv(4096)
        assert more, got
        got += more
    assert b'"id":2' in got and got.count(b"implied") == 2
    assert service.process.wait(20) == 0
    print("the batch was finished, new work refused with 503, and the service ended with status 0")

# Long by its search, and by the facts that a proof might need.
HARD = {"symbols": {s: {"min": 2} for s in "xyzw"}, "goal": "Ne(x**4 + y**4 + z**4, w**4)"}
MANY = {"symbols": {"n": {"min": 0}}, "given": [f"Ne(n, {i})" for i in range(20_000)], "goal": "n >= 20000"}
for question in (HARD, MANY):
    with Service("--drain", "2", "--budget", "1000") as service:
        answers = []

        def ask():
            try:
                answers.append(service.post("/v1/entail", json.dumps(question))[0])
            except (OSError, http.client.HTTPException) as error:
                answers.append(f"{type(error).__name__}: {error}")

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.5)
        start = time.time()
        service.process.send_signal(signal.SIGTERM)
        code = service.process.wait(20)
        took = time.time() - start
        asking.join()
        assert code == 0 and took < 2.5, (code, took)
        assert answers[0] in (200, 503), answers
        print(f"a long question was answered with {answers[0]}, and the service ended after {took:.1f} s of 2")
