"""Processes that keep idle cores awake: requests hop between processes, and virtual cores take ms to wake."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_NICE_MAX = 19


@contextmanager
def cores_awake() -> Iterator[None]:
    """Run one process per core that spins at the lowest priority, and takes about 1.5 % of a busy core."""
    code = f"import os\nos.nice({_NICE_MAX})\nwhile os.getppid() == {os.getpid()}: pass"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
