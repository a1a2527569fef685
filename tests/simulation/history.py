"""Which documents could a run be by now: what was sent when, and acknowledged when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.model.runs import RecordedRun


def run_of(document: RecordedRun | IncomingEvent) -> str:
    """The run that a document or an event tells of."""
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
    """What one run may be; `certain` where it must be one of them."""

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
        """Documents that are about to be sent in one call, in order."""
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
        """Nobody sends what is not acknowledged any more, and nothing of it is in flight."""
        for call in self.unacknowledged():
            for statement in call:
                statement.over = moment

    def reopen(self, call: Sequence[Statement]) -> None:
        """The call is sent again."""
        for statement in call:
            statement.over = None

    def unacknowledged(self) -> list[list[Statement]]:
        """Calls given up."""
        return [call for call in self._calls if call[0].acknowledged is None]

    def acknowledged(self) -> list[RecordedRun]:
        """Every document that was ever acknowledged."""
        calls = (call for call in self._calls if call[0].acknowledged is not None)
        return [statement.document for call in calls for statement in call]

    def possible(self, asked: int, answered: int) -> dict[str, Possible]:
        """What each run may be in the answer to a question begun at `asked`, ended at `answered`."""
        return {
            run: Possible(
                tuple(s.document for s in sent if s.begun < answered and not _superseded(s, sent, asked)),
                any(statement.acknowledged_before(asked) for statement in sent)
                and all(statement.document.run.start_ms >= self.horizon_ms for statement in sent),
            )
            for run, sent in self.by_run.items()
        }


def _superseded(statement: Statement, sent: Sequence[Statement], before: int) -> bool:
    """Whether another document that came wholly after this one was acknowledged."""
    if statement.follower is not None and statement.follower.acknowledged_before(before):
        return True
    over = statement.over
    return over is not None and any(
        other.begun >= over and other.acknowledged_before(before) for other in sent
    )
