"""Parameters of store queries: a dataset in a window, a field to start at, runs to list."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.runs import State
from fll_hbase.model.tags import AgePolicy
from fll_hbase.model.window import Direction, Window

BATCH_FIELDS = 500
"""Maximum number of fields whose tags are read in one call."""

EDGE_CONTENTS_MAX = 10
"""Maximum number of contents listed by an edge of a reach, unless the query needs more."""

HIDDEN_AFTER = b"|#"
"""In a `start_after` of a view: separates a position from the number of hidden runs that follow it."""


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """One dataset in one direction over one window."""

    direction: Direction
    dataset: Dataset
    window: Window

    def without_failed(self) -> WindowQuery:
        """Return the query for complete runs only."""
        return replace(self, window=replace(self.window, failed=False))


@dataclass(frozen=True, slots=True)
class ReachQuery:
    """The field to start at, and what counts.

    `level` is the number of hops, None for as many as the settings allow. With `causal`, an edge counts only
    if the order of run starts allows a value to flow along it. Backward, its run must have started no later
    than some run that read the value on the way to the field. Forward, it must have started no earlier than
    some run that wrote the value. Without `indirect`, only direct edges count. Without `counts`, the edges of
    the answer have neither runs nor contents. With `unmasked`, ways through an operation that masks values do
    not count. The walk also starts at `others`. An edge of the answer lists up to `contents_max` contents.
    """

    field: DatasetField
    window: Window
    direction: Direction = Direction.BACKWARD
    level: int | None = None
    causal: bool = False
    indirect: bool = True
    counts: bool = True
    unmasked: bool = False
    others: tuple[DatasetField, ...] = ()
    contents_max: int = EDGE_CONTENTS_MAX


@dataclass(frozen=True, slots=True)
class FlowQuery:
    """A flow policy, the window of its report, and what counts; see `ReachQuery`."""

    policy: FlowPolicy
    window: Window
    causal: bool = True


@dataclass(frozen=True, slots=True)
class RunsQuery:
    """Runs of the programs of a namespace, "" for all, that start in a window.

    With `program`, only runs of programs with that name count. With `state`, only runs in that state count.
    """

    namespace: str
    window: Window
    program: str = ""
    state: State | None = None


@dataclass(frozen=True, slots=True)
class RetentionQuery:
    """A policy, the window of its report, which ends at the cut-off at the latest, and what counts.

    `full_window` is the requested window: fields derived in it also belong to the policy.
    """

    policy: AgePolicy
    window: Window
    full_window: Window
    indirect: bool


def expired_query(policy: AgePolicy, *, window: Window, now_ms: int, indirect: bool) -> RetentionQuery:
    """Return the query for the part of a window in which data is older than a policy allows."""
    cutoff_ms = policy.max_age.before_ms(now_ms)
    # The result is empty if the whole window is younger than the policy allows.
    expired = window.within(window.start_ms, cutoff_ms)
    return RetentionQuery(policy, expired, window, indirect)
