"""Options of `fll spark` commands: those of the code, and those that a page lists."""

from __future__ import annotations

import re
from pathlib import Path

import click

PAGES = Path(__file__).resolve().parents[2] / "docs" / "operate" / "jobs"
PAGE = (PAGES / "platform.md").read_text(encoding="utf-8")
SHARED = frozenset(re.findall(r"^\| `(--[a-z-]+)`(?:, `-v`)? \|", PAGE, re.MULTILINE))
"""The options of every job."""


def option_names(command: click.Command) -> set[str]:
    """The long names of the options of a command."""
    return {name for param in command.params for name in param.opts if name.startswith("--")}
