"""Measures `sizewise.ray.check_many` against `sizewise.check_many`; needs Ray.

    python scripts/measure_ray.py FOLDER [--count 2000] [--kill 2] [--batch 16] [--cpus 2]

Checks ``--count`` copies of the programs of FOLDER (each with the spec beside it), on threads of this process and on a cluster of one
machine, and prints milliseconds a program. While the cluster works, a worker is killed ``--kill`` times. It ends with status 1 unless each
program is answered once, as here.
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time


def copies(source: pathlib.Path, folder: pathlib.Path, count: int) -> None:
    programs = sorted(path for path in source.rglob("*.pt2") if path.stat().st_size < 4 << 20)
    for at, path in zip(range(count), itertools.cycle(programs)):
        to = folder / f"{at // 1000:03}" / f"{at:06}.pt2"
        to.parent.mkdir(exist_ok=True)
        os.link(path, to) if os.stat(path).st_dev == os.stat(folder).st_dev else shutil.copy(path, to)
        for ending in (".spec.json", ".spec.py"):
            if path.with_suffix(ending).exists():
                shutil.copy(path.with_suffix(ending), to.with_suffix(ending))


def workers() -> list[int]:
    """The processes that check."""
    lines = [
        (path.parent.name, path.read_bytes()) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists()
    ]
    return [int(pid) for pid, line in lines if line.startswith(b"ray::_checked")]


def cluster_cpu() -> float:
    """Seconds of CPU of the cluster's processes that live."""
    ticks = 0
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes()
            if line.startswith(b"ray::") or b"raylet" in line or b"gcs_server" in line:
                ticks += sum(map(int, (path / "stat").read_text().rpartition(")")[2].split()[11:13]))
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def answered(reports, kill=0, count=0) -> tuple[list[tuple[str, str]], int, float]:
    """What reports say, how many workers were killed meanwhile, and the seconds until the first report."""
    found, killed, first, began = [], 0, 0.0, time.time()
    for report in reports:
        first = first or time.time() - began
        found.append((json.loads(report.to_json())["program"]["path"], report.verdict))
        if killed < kill and len(found) >= (killed + 1) * count // (kill + 1) and workers():
            os.kill(workers()[0], signal.SIGKILL)
            killed += 1
    return found, killed, first


def timed(says: str, reports, count: int, **options) -> list[tuple[str, str]]:
    began, cpu, cluster = time.time(), time.process_time(), cluster_cpu()
    found, killed, first = answered(reports, count=count, **options)
    took = time.time() - began
    print(
        f"{says}: {took:.2f} s, {1000 * took / count:.2f} ms a program, first answer after {first:.2f} s, "
        f"{time.process_time() - cpu:.2f} s of CPU here, {cluster_cpu() - cluster:.2f} s in the cluster, {killed} workers killed",
        flush=True,
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--kill", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--cpus", type=int, default=2)
    options = parser.parse_args()
    import ray
    import sizewise
    from sizewise.ray import check_many

    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        copies(options.folder, folder, options.count)
        local = timed("local, 1 thread", sizewise.check_many(folder, jobs=1), options.count)
        timed(f"local, {options.cpus} threads", sizewise.check_many(folder, jobs=options.cpus), options.count)
        began = time.time()
        ray.init(num_cpus=options.cpus, log_to_driver=False, include_dashboard=False)
        print(f"ray.init: {time.time() - began:.2f} s")
        # Workers start and import the package once.
        answered(check_many([str(path) for path in sorted(folder.rglob("*.pt2"))[: 2 * options.cpus]], batch=1))
        plain = timed("ray", check_many(folder, batch=options.batch), options.count)
        killing = timed(
            "ray, workers killed", check_many(folder, batch=options.batch), options.count, kill=options.kill
        )
        ray.shutdown()
    print(
        "verdicts:", {verdict: sum(one == verdict for _, one in local) for verdict in sorted({one for _, one in local})}
    )
    right = local == plain == killing
    print("every program is answered once, as here:", right)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
