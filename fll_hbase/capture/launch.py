"""Captured programs: how the hook reaches a Python process without changing its program."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

SITE = Path(__file__).with_name("site")
"""The directory of a `sitecustomize` that activates the hook."""

# Sorted after the files of installed packages, since this package may be importable through one of them.
PTH = "zz_fll_capture.pth"

# Python prints a traceback for a line that raises, so the line does nothing without the package.
PTH_LINE = (
    "import importlib.util as _u; _u.find_spec('fll_hbase')"
    " and __import__('fll_hbase.capture.hook', fromlist=['hook']).activate()\n"
)


def command_line(command: Sequence[str]) -> list[str]:
    """Return a command, not empty, after this interpreter if it begins with a `.py` file or `-m`."""
    if command[0].endswith(".py") or command[0] == "-m":
        return [sys.executable, *command]
    return list(command)


def captured_environment(
    environment: Mapping[str, str], settings: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the environment of a captured program, with the settings that are not None and the hook."""
    paths = [str(SITE), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    values = {name: value for name, value in settings.items() if value is not None}
    return {**environment, **values, "PYTHONPATH": os.pathsep.join(paths)}


def hook_path() -> Path:
    """Return the file that activates the hook in every process of this Python environment."""
    return Path(sysconfig.get_path("purelib"), PTH)


def install_hook() -> Path:
    """Write or replace the file that activates the hook; return its path. Raises OSError."""
    path = hook_path()
    path.write_text(PTH_LINE, encoding="utf-8")
    return path


def remove_hook() -> bool:
    """Remove the file that activates the hook; return whether there was one. Raises OSError."""
    path = hook_path()
    exists = path.exists()
    path.unlink(missing_ok=True)
    return exists
