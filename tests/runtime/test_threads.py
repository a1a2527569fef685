"""Bounded calls return, raise and end in time."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from fll_hbase.runtime.threads import call_bounded
from tests.support.waiting import PATIENCE_SECONDS, patience


def test_results_and_errors_are_those_of_the_call() -> None:
    assert call_bounded(lambda: 7, PATIENCE_SECONDS) == 7
    with pytest.raises(ZeroDivisionError):
        call_bounded(lambda: 1 // 0, PATIENCE_SECONDS)


def test_a_call_that_lasts_too_long_is_abandoned() -> None:
    released = threading.Event()
    with patience(), pytest.raises(TimeoutError, match=r"timed out after 0\.1 s"):
        call_bounded(released.wait, 0.1)
    released.set()


def test_an_abandoned_call_does_not_keep_the_process() -> None:
    program = """
import time
from fll_hbase.runtime.threads import call_bounded
try:
    call_bounded(lambda: time.sleep(600), 0.1)
except TimeoutError:
    print("abandoned")
"""
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (completed.returncode, completed.stdout) == (0, "abandoned\n")
