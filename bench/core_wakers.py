"""Keep idle cores from sleeping: questions hop between processes, and virtual cores wake in milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LEAST_URGENT = 19


@contextmanager
def awake() -> Iterator[None]:
    """One process a core that spins whenever nobody else wants it; it takes some 1.5 % of a busy core."""
    spin = f"import os\nos.nice({_LEAST_URGENT})\nwhile os.getppid() == {os.getpid()}: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()
