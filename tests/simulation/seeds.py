"""Seeds of the schedules of one test run, by environment variables."""

from __future__ import annotations

import os

from tests.support import profiles

CHUNKS = 8
FIRST = int(os.environ.get("FLL_SIMULATION_FIRST", "0"))
SCHEDULES = int(os.environ.get("FLL_SIMULATION_SCHEDULES", "0")) or profiles.SCHEDULES
