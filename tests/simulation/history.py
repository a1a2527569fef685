"""History of a schedule: when documents were sent and acknowledged, and so what each run may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.model.runs import RecordedRun


def run_of(document: RecordedRun | IncomingEvent) -> str:
    """Return the run id of a document or event."""
    return document.run if isinstance(document, IncomingEvent) else document.run.run


@dataclass(slots=True, eq=False)
class Statement:
    """One document or event, sent until it was acknowledged, or not; moments are ticks of the scheduler."""

    document: RecordedRun | IncomingEvent
    begun: int
    over: int | None = None
    """From then on none of its puts lands that could count."""

    acknowledged: int | None = None
    follower: Statement | None = None
    """The next document of the same run in the same call."""

    def acknowledged_before(self, moment: int) -> bool:
        return self.acknowledged is not None and self.acknowledged < moment


@dataclass(frozen=True, slots=True)
class Possible:
    """The documents that one run may be; `certain` if it must be one of them."""

    documents: tuple[RecordedRun, ...]
    certain: bool


class History:
    """All statements of one schedule, by run."""

    def __init__(self) -> None:
        self.by_run: dict[str, list[Statement]] = {}
        self._calls: list[list[Statement]] = []
        self.horizon_ms = 0
        """Runs that may have started before may be purged at any time."""

    def begin(self, documents: Sequence[RecordedRun | IncomingEvent], moment: int) -> list[Statement]:
        """Add documents that are about to be sent in one call, in order."""
        sent: dict[str, Statement] = {}
        statements = []
        for document in documents:
            statement = Statement(document, moment)
            run = run_of(document)
            if run in sent:
                sent[run].follower = statement
            sent[run] = statement
            self.by_run.setdefault(run, []).append(statement)
            statements.append(statement)
        self._calls.append(statements)
        return statements

    def acknowledge(self, statements: Sequence[Statement], moment: int) -> None:
        for statement in statements:
            statement.acknowledged = statement.over = moment

    def close(self, moment: int) -> None:
        """Note that unacknowledged documents are not sent any more, and none of their puts is in flight."""
        for call in self.unacknowledged():
            for statement in call:
                statement.over = moment

    def reopen(self, call: Sequence[Statement]) -> None:
        """Note that the call is sent again."""
        for statement in call:
            statement.over = None

    def unacknowledged(self) -> list[list[Statement]]:
        """Return the calls that were given up."""
        return [call for call in self._calls if call[0].acknowledged is None]

    def acknowledged(self) -> list[RecordedRun]:
        """Return every document that was ever acknowledged."""
        calls = (call for call in self._calls if call[0].acknowledged is not None)
        return [statement.document for call in calls for statement in call]

    def possible(self, began: int, answered: int) -> dict[str, Possible]:
        """Return what each run may be in an answer that was computed from tick `began` to `answered`."""
        return {
            run: Possible(
                tuple(s.document for s in sent if s.begun < answered and not _superseded(s, sent, began)),
                any(statement.acknowledged_before(began) for statement in sent)
                and all(statement.document.run.start_ms >= self.horizon_ms for statement in sent),
            )
            for run, sent in self.by_run.items()
        }


def _superseded(statement: Statement, sent: Sequence[Statement], at_tick: int) -> bool:
    """Return whether a document that was sent after this one was over is acknowledged."""
    if statement.follower is not None and statement.follower.acknowledged_before(at_tick):
        return True
    over = statement.over
    return over is not None and any(
        later.begun >= over and later.acknowledged_before(at_tick) for later in sent
    )
