"""How do single runs share a pass: those that arrive while one is under way go together in the next.

A pass and its flush cost nearly the same for four runs as for one, and threads that each make their own get
in one another's way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fll_hbase.errors import LineageError, StoreUnavailable
from fll_hbase.store.write.batching import RunInput
from fll_hbase.store.write.pending_run import CommitResult

GATHERED_MAX = 4
"""So many runs go together; where the store stands still, so many threads wait for it."""

STUCK_SECONDS = 2.0


@dataclass(slots=True)
class _Ticket:
    """One run and, once settled, its answer."""

    run: RunInput
    answer: CommitResult | BaseException | None = None
    settled: threading.Event = field(default_factory=threading.Event)

    def settle(self, answer: CommitResult | BaseException) -> None:
        self.answer = answer
        self.settled.set()


class GroupCommit:
    """Records single runs, several at a time. Made for threads to share."""

    def __init__(self, record: Callable[[Sequence[RunInput]], list[CommitResult | LineageError]]) -> None:
        self._record = record
        self._waiting: list[_Ticket] = []
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def record(self, run: RunInput) -> CommitResult:
        """Record one run. Raises what recording it alone would; StoreUnavailable also where nothing moves."""
        ticket = _Ticket(run)
        with self._lock:
            self._waiting.append(ticket)
        while not ticket.settled.is_set():
            if self._turn.acquire(timeout=STUCK_SECONDS):
                try:
                    self._serve(ticket)
                finally:
                    self._turn.release()
            elif self._withdrawn(ticket):
                raise StoreUnavailable("other runs wait for the store already; try again")
        if isinstance(ticket.answer, CommitResult):
            return ticket.answer
        raise ticket.answer or AssertionError("a settled ticket has its answer")

    def _serve(self, ticket: _Ticket) -> None:
        """Record what waits, unless the one who had the turn before took this ticket along."""
        if ticket.settled.is_set():
            return
        with self._lock:
            batch, self._waiting = self._waiting[:GATHERED_MAX], self._waiting[GATHERED_MAX:]
        try:
            for each, answer in zip(batch, self._answers(batch), strict=True):
                each.settle(answer)
        except BaseException as error:
            for each in batch:
                each.settle(error)
            raise

    def _answers(self, batch: Sequence[_Ticket]) -> list[CommitResult | LineageError]:
        """One answer each; an error that is not the store's is told to the run alone that has it."""
        try:
            return self._record([ticket.run for ticket in batch])
        except StoreUnavailable as error:
            return [StoreUnavailable(str(error)) for _ in batch]
        except LineageError as error:
            if len(batch) == 1:
                return [error]
            return [answer for ticket in batch for answer in self._answers([ticket])]

    def _withdrawn(self, ticket: _Ticket) -> bool:
        """Whether the ticket was still waiting, and waits no more."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                return True
        return False
