"""Passes of the commit protocol, counted; those that start over are logged."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fll_hbase import metrics
from fll_hbase.store.write.pending_run import PendingRun

_log = logging.getLogger(__name__)

NAME_LENGTH_MAX = 100


def report_pass(pending: Sequence[PendingRun]) -> None:
    """Count a pass that ended; `pending` are the runs that it did not commit, which start over."""
    metrics.PASSES.add()
    if not pending:
        return
    metrics.RESTARTS.add()
    others = f" and {len(pending) - 1} more" if len(pending) > 1 else ""
    _log.warning(
        "the commit of run %r%s starts over: another writer changed it, or it took too long",
        pending[0].run[:NAME_LENGTH_MAX],
        others,
    )
