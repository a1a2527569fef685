"""The routes of questions about a window."""

from __future__ import annotations

import pytest

HIGH_LEVEL = ("ns1", "endpoints", "b", "fields", "lineage")
DETAILED = ("ns1", "endpoints", "b", "fields", "x", "lineage")
WAYS = ("ns1", "datasets", "b", "fields", "x", "lineage")
RUNS = ("ns1", "endpoints", "b", "runs")
WINDOWED = [HIGH_LEVEL, DETAILED, WAYS, RUNS]
windowed = pytest.mark.parametrize("route", WINDOWED, ids=["high level", "detailed", "first design", "runs"])
