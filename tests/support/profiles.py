"""The extent of one run of the tests, by the environment variable FLL_TEST_PROFILE.

- `quick`: fast tests with few examples, while working; no JVM, no browser, no other servers.
- `push`: more examples, always the same ones; this is the default, and what CI runs.
- `long`: everything, with many examples that differ between runs.
"""

from __future__ import annotations

import os

from hypothesis import settings

PROFILE = os.environ.get("FLL_TEST_PROFILE", "push")
EXAMPLES = {"quick": 10, "push": 20, "long": 500}

COSTLY = {"quick": 1, "push": 2, "long": 50}[PROFILE]
"""Examples of a test that needs about a second for each."""

QUERIES = {"quick": 10, "push": 40, "long": 2_000}[PROFILE]
"""Random SELECTs that an engine judges, which needs up to half a second for each."""

SCHEDULES = {"quick": 100, "push": 300, "long": 15_000}[PROFILE]
"""Random schedules of the store under a simulated scheduler, of some hundredths of a second each."""

KILLS = {"quick": 5, "push": 10, "long": 20}[PROFILE]
"""Kills of a worker process while clients record and read, of about a second each."""

LEFT_OUT = {
    "quick": {"slow", "long", "java", "browser", "servers", "images"},
    "push": {"long", "images"},
    "long": set(),
}[PROFILE]
"""Markers of the tests that this run leaves out."""


def load() -> None:
    """Register the profiles with hypothesis, and load the one of this run."""
    for name, examples in EXAMPLES.items():
        settings.register_profile(
            name, max_examples=examples, deadline=None, derandomize=name != "long", print_blob=True
        )
    settings.load_profile(PROFILE)


def scaled(count: int) -> int:
    """Return how many of `count` seeds this run tries, at least one; `long` tries all."""
    return max(1, count * EXAMPLES[PROFILE] // EXAMPLES["long"])
