"""Copy of a whole store: passes over all rows until one finds both sides equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fll_hbase.keys.row_kinds import EVERYTHING
from fll_hbase.runtime import clock
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.copying.copy_pass import CopyPass, KindResult
from fll_hbase.store.copying.progress import Progress, check_not_copying, put_of, read_progress
from fll_hbase.tables import Table

PASSES_MAX = 5
"""Passes of one command: a source that is being written may never be found equal."""

_SKEW_SHARE = 8
"""Clocks may differ by this share, an eighth, of the grace period."""

PassReport = Callable[[int, str, int], None]
"""Called with the number of the pass, the name of a kind of row, and the rows that the pass has compared."""


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """The canonical URL of the source, and how to copy; `update` allows a target that is complete already."""

    source: str
    grace_ms: int
    passes_max: int = PASSES_MAX
    update: bool = False


@dataclass(frozen=True, slots=True)
class CopyReport:
    """The last pass by kind of row, the number of passes, and what all of them put and deleted in cells.

    The copy is complete if the last pass compared everything and found both sides equal.
    """

    kinds: dict[str, KindResult]
    passes: int
    put: int
    deleted: int
    is_complete: bool

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members; marks are 16 hex digits."""
        kinds = {
            name: {
                "rows": result.source.rows,
                "cells": result.source.cells,
                "mark": f"{result.source.hash:016x}",
                "targetMark": f"{result.target.hash:016x}",
            }
            for name, result in self.kinds.items()
        }
        return {
            "complete": self.is_complete,
            "passes": self.passes,
            "put": self.put,
            "deleted": self.deleted,
            "kinds": kinds,
        }


def copy_store(source: Table, target: Table, request: CopyRequest, *, report: PassReport) -> CopyReport:
    """Make the target equal to the source, beside writers of the source; return what the last pass found.

    The target is empty, or an earlier copy of the same source, which is gone on with. Raises
    ConfigurationError for any other target, and StoreUnavailable: then the same call goes on.
    """
    check_not_copying(source)
    current = _begin(target, request)
    put = deleted = passes = 0
    results: dict[str, KindResult] = {}
    is_complete = False
    while passes < request.passes_max and not is_complete:
        passes += 1
        results = _run_pass(source, target, request, current, report)
        put += sum(result.put for result in results.values())
        deleted += sum(result.deleted for result in results.values())
        # A pass that went on has not compared what stands before.
        is_complete = not current.kind and all(result.is_equal for result in results.values())
        current = _next_pass(request, current.number, is_complete=is_complete)
        target.write([[put_of(current)]])
    return CopyReport(results, passes, put, deleted, is_complete)


def _next_pass(request: CopyRequest, number: int, *, is_complete: bool = False) -> Progress:
    """Return the progress at the beginning of the pass after `number`, or of a copy that needs none."""
    return Progress(request.source, clock.now_ms(), number=number + 1, is_complete=is_complete)


def _run_pass(
    source: Table, target: Table, request: CopyRequest, current: Progress, report: PassReport
) -> dict[str, KindResult]:
    # What was put before this was visible when the pass began, whatever clock stamped it.
    young_ms = current.began_ms - request.grace_ms // _SKEW_SHARE
    copy_pass = CopyPass(
        source,
        target,
        young_ms=young_ms,
        grace_ms=request.grace_ms,
        report=lambda kind, rows: report(current.number, kind, rows),
    )
    return copy_pass.run(current)


def _begin(target: Table, request: CopyRequest) -> Progress:
    """Put and return where a new, unfinished or (`update`) finished copy goes on.

    Raises ConfigurationError.
    """
    current = read_progress(target)
    if current is None:
        if next(iter(target.scan(*EVERYTHING, limit=1)), None) is not None:
            raise ConfigurationError(
                "the target is a store with rows of its own, not a copy: name a new file, or an empty table"
            )
        current = _next_pass(request, 0)
    elif current.source != request.source:
        raise ConfigurationError(
            f"the target is a copy of {current.source}, not of {request.source}: name that one,"
            " or another target"
        )
    elif current.is_complete:
        if not request.update:
            raise ConfigurationError(
                f"the target is a complete copy of {current.source}. --update makes it equal to the source"
                " once more, and deletes what was recorded in it since"
            )
        current = _next_pass(request, current.number)
    target.write([[put_of(current)]])
    return current
