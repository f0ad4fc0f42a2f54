"""Many checks in one process: memory, and threads.

`python benches/many.py [--checks N] [FILE.pt2]`: the resident memory after so many checks, and what eight threads need
beside one for the same checks. Interrupting: the time until Ctrl-C is noticed while a large program is read.
"""

import argparse
import io
import json
import signal
import threading
import time
import zipfile
from pathlib import Path

import sizewise

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "area.pt2"


def resident() -> float:
    """The resident memory in megabytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def memory(data: bytes, checks: int) -> None:
    """Prints the memory after more and more checks."""
    marks = sorted({n for n in (100, 1_000, 3_000, 10_000) if n < checks} | {checks})
    for n in range(1, checks + 1):
        str(sizewise.check(data))
        if n in marks:
            print(f"{n:6} checks: {resident():.1f} MB", flush=True)


def threads(data: bytes, checks: int) -> None:
    """Prints what threads gain."""
    expected = sizewise.check(data).guards

    def work(count: int) -> None:
        for _ in range(count):
            assert sizewise.check(data).guards == expected

    for count in (1, 8):
        began, used = time.perf_counter(), time.process_time()
        workers = [threading.Thread(target=work, args=(checks // count,)) for _ in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        elapsed, cpu = time.perf_counter() - began, time.process_time() - used
        print(f"{count} threads: {elapsed:.2f} s elapsed, {cpu:.2f} s of CPU, {cpu / elapsed:.2f} cores", flush=True)


def large(data: bytes, nodes: int) -> bytes:
    """The same program with many times its nodes, as JSON."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next(name for name in archive.namelist() if "/models/" in name)
        document = json.loads(archive.read(name))
    graph = document["graph_module"]["graph"]
    graph["nodes"] *= nodes
    return json.dumps(document).encode()


def interrupting(data: bytes) -> None:
    """Prints how soon Ctrl-C ends reading."""
    text = large(data, 100_000)
    sent = []

    def interrupt(*_: object) -> None:
        sent.append(time.perf_counter())
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        sizewise.check(text)
    except KeyboardInterrupt:
        late = (time.perf_counter() - sent[0]) * 1e3
        print(f"Ctrl-C while {len(text) / 1e6:.0f} MB are read: noticed after {late:.0f} ms")
    except sizewise.ProgramError:
        print(f"{len(text) / 1e6:.0f} MB were read before Ctrl-C came")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("file", nargs="?", type=Path, default=EXAMPLE)
    arguments.add_argument("--checks", type=int, default=10_000)
    options = arguments.parse_args()
    data = options.file.read_bytes()
    memory(data, options.checks)
    threads(data, max(8, options.checks // 10))
    interrupting(EXAMPLE.read_bytes())


if __name__ == "__main__":
    main()
