"""How much random testing one run of the tests does, by the environment variable FLL_TEST_PROFILE.

- `quick`: few examples, while working.
- `push`: more, and always the same ones; this is the default, and what CI runs.
- `long`: many examples, drawn anew at each run.
"""

from __future__ import annotations

import os

from hypothesis import settings

PROFILE = os.environ.get("FLL_TEST_PROFILE", "push")
EXAMPLES = {"quick": 10, "push": 30, "long": 500}
FEW_EXAMPLES = {"quick": 1, "push": 3, "long": 50}

FEW = FEW_EXAMPLES[PROFILE]
"""Examples of a test each of whose examples takes about a second."""


def load() -> None:
    """Register the profiles with hypothesis, and load the one of this run."""
    for name, examples in EXAMPLES.items():
        settings.register_profile(
            name, max_examples=examples, deadline=None, derandomize=name != "long", print_blob=True
        )
    settings.load_profile(PROFILE)


def scaled(count: int) -> int:
    """Return how many of `count` seeds of a simulation this profile runs, at least one."""
    return max(1, count * EXAMPLES[PROFILE] // EXAMPLES["long"])
