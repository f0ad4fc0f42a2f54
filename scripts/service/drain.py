#!/usr/bin/env python3
"""SIGTERM in the middle of a batch: it is finished, new work is refused with 503, and the process ends with status 0.

    SIZEWISE=target/release/sizewise scripts/service/drain.py
"""
import signal
import socket
import time

from served import Service


def line(number):
    text = b'{"id":%d,"goal":"%d > 1"}\n' % (number, number + 2)
    return b"%x\r\n%s\r\n" % (len(text), text)


with Service() as service:
    batch = socket.create_connection(("127.0.0.1", service.port), timeout=20)
    batch.sendall(b"POST /v1/entail HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
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
