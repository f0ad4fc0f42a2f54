"""A sizewise service for the scripts beside this one: started, asked, and ended by its own process id.

SIZEWISE names the program to run; by default target/release/sizewise of this checkout.
"""
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SIZEWISE", str(ROOT / "target/release/sizewise"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Service:
    def __init__(self, *options, port=None):
        self.port = port or free_port()
        command = [PROGRAM, "serve", "--listen", f"127.0.0.1:{self.port}", "--log", "warn", *options]
        self.log = open(pathlib.Path(tempfile.gettempdir()) / f"sizewise-service-{self.port}.log", "ab")
        self.process = subprocess.Popen(command, stderr=self.log)
        for _ in range(600):
            try:
                if self.get("/healthz")[0] == 200:
                    return
            except OSError:
                time.sleep(0.02)
            if self.process.poll() is not None:
                raise SystemExit(f"the service ended with status {self.process.returncode}; see {self.log.name}")
        raise SystemExit("the service does not answer")

    def ask(self, method, path, body=None, headers=None, timeout=60):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            link.request(method, path, body, headers or {})
            response = link.getresponse()
            return response.status, response.read().decode()
        finally:
            link.close()

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body, media="application/json"):
        return self.ask("POST", path, body, {"Content-Type": media})

    def batch(self, path, requests):
        status, text = self.post(path, "".join(json.dumps(r) + "\n" for r in requests), "application/x-ndjson")
        assert status == 200, (status, text)
        return [json.loads(line) for line in text.splitlines()]

    def figure(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name):
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def resident(self):
        """MiB of resident memory."""
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * 4096 / 2**20

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.log.close()


def questions(count, seed=0):
    """Entailment questions of the kinds that exporters ask: divisibility, products, bounds, padding, contradictions."""
    draw = random.Random(seed)
    out = []
    for i in range(count):
        a, b, c = draw.randint(2, 500), draw.randint(2, 64), draw.randint(0, 4000)
        symbols = {"s0": {"min": 2, "max": draw.choice([None, 64 + c])}, "s1": {"min": draw.randint(0, 3)}}
        given, goal = draw.choice([
            ([f"Eq(Mod(s0, {b}), 0)"], f"Eq({b}*(s0//{b}), s0)"),
            ([f"s0 + s1 <= {a + c}"], f"s0 <= {a + c}"),
            ([f"s0 >= {a}"], f"s0*s1 >= {a}*s1"),
            ([f"Eq(s1, {b}*s0 + {c})"], f"Eq(Mod(s1, {b}), {c % b})"),
            ([], f"s0 > {c}"),
            ([f"s0 < {a}", f"s0 > {a + 1}"], "s1 > 3"),
            ([f"s1 > {c}"], f"Ne(s1, {c})"),
            ([f"2*s0 <= {2 * a + 1}"], f"s0 <= {a}"),
            ([], f"Eq((s0 + {c})*(s0 - {c}), s0*s0 - {c * c})"),
        ])
        out.append({"id": i, "symbols": symbols, "given": given, "goal": goal})
    return out


def timeless(answer):
    """An answer without what differs from run to run."""
    return {key: value for key, value in answer.items() if key not in ("time_ns", "setup_ns")}
