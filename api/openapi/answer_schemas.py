"""Shapes of answers to documents, only for the OpenAPI document; `queries/acknowledgements.py` makes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.queries.names import DatasetName
from fll_hbase.queries.query import Fault

# Not executed, as an answer may have 250,000 pairs; tests compare real answers with these shapes.

IsRecorded = Annotated[bool, Meta(description="False for a repeated document")]
LeftOut = Annotated[tuple[Fault, ...], Meta(description="Parts that were left out, and why")]


class Problem(msgspec.Struct):
    """A problem of RFC 9457, the body of every error."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[Fault, ...] = ()
    message: Annotated[str, Meta(description="The detail again, for DataHub's clients")] = ""


class Recorded(msgspec.Struct):
    """The acknowledgement of one run."""

    checksum: str
    run: str
    recorded: IsRecorded
    replaced: bool = False
    warnings: tuple[Fault, ...] = ()


class RecordedRuns(msgspec.Struct):
    """A document of several runs: the acknowledgement of each, in order."""

    runs: tuple[Recorded, ...]
    warnings: tuple[Fault, ...] = ()


class EventRecorded(msgspec.Struct):
    """The acknowledgement of an event: `run` and `checksum`, or `endpoints` for an event without a run."""

    recorded: IsRecorded
    run: str = ""
    checksum: Annotated[str, Meta(description="Checksum of the merged events of the run so far")] = ""
    endpoints: tuple[DatasetName, ...] = ()
    warnings: LeftOut = ()


class BatchSummary(msgspec.Struct):
    """Counts of a batch of events."""

    # OpenLineage's API has names in snake case, here and below.
    received: int
    successful: int
    failed: int
    retriable: int
    non_retriable: int


class FailedEvent(msgspec.Struct):
    """A refused event of a batch."""

    index: int
    reason: str
    retriable: bool
    problem: Problem


class WarnedEvent(msgspec.Struct):
    """An event of a batch that was recorded without some of its parts."""

    index: int
    warnings: tuple[Fault, ...]


class EventsRecorded(msgspec.Struct):
    """The result of a batch of events."""

    status: Literal["success", "partial_success", "failure"]
    summary: BatchSummary
    accepted: int
    refused: int
    failed_events: tuple[FailedEvent, ...]
    warned_events: tuple[WarnedEvent, ...] = ()


class DryRun(msgspec.Struct, rename="camel"):
    """The dry run of one run."""

    operations: tuple[dict[str, Any], ...]
    checksum: str
    lineage: tuple[LineageEntry, ...]
    warnings: tuple[Fault, ...]
    truncated: bool = False
    truncated_by: tuple[str, ...] = ()


class DryRuns(msgspec.Struct):
    """The dry runs of a document of several runs, in order."""

    runs: tuple[dict[str, Any], ...]
    warnings: tuple[Fault, ...] = ()


class Health(msgspec.Struct, omit_defaults=True, rename="camel"):
    """The state of the process or of its store; every write to one that is `readOnly` is refused with 403."""

    status: str
    read_only: bool = False


COMPONENTS: tuple[type[msgspec.Struct], ...] = (DryRun, DryRuns, RecordedRuns)
"""Shapes that are referred to by name."""
