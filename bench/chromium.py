"""Chromium without a screen, for benchmarks, pictures and the tests of the page."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Playwright

PROGRAMS = ("chromium-headless-shell", "chromium")
"""The first one has no window to draw around a page, so a page needs two thirds of the processor time."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def launch(playwright: Playwright) -> Browser:
    """Start the Chromium of the system. Exits with what installs it if there is none."""
    for program in filter(None, map(shutil.which, PROGRAMS)):
        return playwright.chromium.launch(executable_path=program, args=FLAGS)
    raise SystemExit("Chromium not found: run tools/system-packages browser")
