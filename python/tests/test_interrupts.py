"""Signals and threads while a file is read."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import sizewise

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo") or not hasattr(signal, "setitimer"), reason="needs Unix")

#: Does something that takes long, is sent Ctrl-C meanwhile, and says after how many seconds it noticed.
SCRIPT = """
import signal, sys, time
import sizewise

def interrupt(*_):
    sent.append(time.monotonic())
    raise KeyboardInterrupt

sent = []
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    {work}
    print("ended by itself")
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""


def noticed_after(work: str) -> float:
    """The seconds from the signal to the exception."""
    script = SCRIPT.format(work=work)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return float(done.stdout)


def test_an_interrupt_does_not_wait_for_a_file_that_is_slow(tmp_path: Path) -> None:
    slow = tmp_path / "slow.pt2"
    os.mkfifo(slow)
    assert noticed_after(f"sizewise.check({str(slow)!r})") < 0.2


def test_others_work_while_one_waits(area: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow.pt2"
    os.mkfifo(slow)
    verdicts: list[str] = []
    waiting = threading.Thread(target=lambda: verdicts.append(sizewise.check(slow).verdict))
    waiting.start()
    time.sleep(0.05)
    assert sizewise.check(area).ok and verdicts == []
    slow.write_bytes(area.read_bytes())
    waiting.join(timeout=30)
    assert verdicts == ["ok"]
