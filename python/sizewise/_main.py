"""The console script: the `sizewise` program."""

from __future__ import annotations

import signal
import sys

from sizewise import _native


def main() -> int:
    """Runs the program on the process's arguments, and returns its exit status."""
    # The native program does not come back to Python to see an interrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["sizewise", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
