"""Delivery of a job's documents: sent in order while the server answers, otherwise put into the spool."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cachetools import LRUCache

from fll_hbase.client.connection import LineageClient
from fll_hbase.client.opening import open_client
from fll_hbase.client.remote.problems import DOCUMENT_FAULTS, Unanswered
from fll_hbase.ingest.document_batches import LocatedDocument
from fll_hbase.ingest.outcomes import RecordResult
from fll_hbase.ingest.registry import DocumentReader
from fll_hbase.model.runs import ProgramId
from fll_hbase.recorder.circuit import LIMIT_SECONDS_MIN, Circuit
from fll_hbase.recorder.spool import Spool, SpoolError, SpoolLimits, open_spool
from fll_hbase.runtime import config
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import FieldError, LineageError, StoreUnavailable
from fll_hbase.runtime.retry import RetryPolicy

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

_log = logging.getLogger("fll_hbase.recorder")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run that is stored durably.

    `recorded` is false if the same lineage of the run was stored before. `replaced` is true if this lineage
    replaces other lineage of the run. `warnings` name parts that were ignored or could not be resolved.
    `checksum` identifies the content: runs with equal operations have equal checksums.
    """

    run: str
    checksum: str
    recorded: bool
    replaced: bool
    warnings: tuple[FieldError, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """A run that was not recorded, with the error.

    After StoreUnavailable the run may nevertheless be stored; recording it again is safe.
    """

    run: str
    error: Exception


@dataclass(frozen=True, slots=True)
class Spooled:
    """A run whose document waits in the file `path` of the spool, until `fll replay` records it.

    The file is durable. `error` is the reason why the document was not sent.
    """

    run: str
    path: Path
    error: LineageError


Outcome: TypeAlias = Recorded | Spooled | NotRecorded


class CircuitOpen(StoreUnavailable):
    """A document that was not sent, or was tried only once, because the server failed before."""


class RunOfProgram(NamedTuple):
    """A run that a recorder sends: its id is unique in the namespace of its program, which owns the id.

    A document of another program with the same run id is therefore of another run.
    """

    program: ProgramId
    run: str


class Delivery:
    """Sends documents to a store or server; threads may share it, one at a time.

    `budget_seconds`, else FLL_RECORDER_SECONDS, bounds how long all calls together wait for a server that
    fails. `spool`, else FLL_SPOOL, is the directory of documents that were not sent. Without one they are
    lost.
    """

    def __init__(
        self, store_or_url: LineageStore | str, *, budget_seconds: float | None, spool: str | Path | None
    ) -> None:
        self._store_or_url = store_or_url
        self._budget_seconds = budget_seconds
        self._spool_path = spool
        self._client: LineageClient | None = None
        self._spooled = self._lost = 0
        self._spool_failed = False

    def deliver(self, run: RunOfProgram, document: LocatedDocument) -> Recorded | Spooled:
        """Record a document, or put it into the spool, if there is one, after an error that is not its fault.

        If an earlier document of its run is still in the spool, it replaces that one. Raises the error of a
        refused document, and any other LineageError if there is no spool. Raises StoreUnavailable if the
        spool fails, and ConfigurationError for invalid settings.
        """
        # Open the spool first, to report an unusable spool when the job starts, not when it is needed.
        spool = self._spool
        earlier = self._files.get(run)
        if spool is not None and earlier is not None and earlier.exists():
            return self._deliver_in_order(spool, run, document, earlier)
        try:
            return _recorded(self._send(document))
        except DOCUMENT_FAULTS:
            raise
        except LineageError as error:
            if spool is None:
                self._lost += isinstance(error, CircuitOpen)
                raise
            return Spooled(run.run, self._put(spool, run, document, error), error)

    def close(self) -> None:
        """Close the client, and log how many runs were lost or spooled, if any. The next call opens it again.

        Lost runs are those that were not logged one by one, since the server last answered or this was
        called. Spooled documents are counted since the start.
        """
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._lost:
            _log.error("%d runs were not recorded while the server did not answer", self._lost)
        if self._spooled:
            advice = f"`fll replay {self._spool_directory}` records them"
            _log.warning("%d documents went to the spool: %s", self._spooled, advice)
        self._lost = 0

    # Read on first use, because an invalid setting must not fail the constructor of a recorder.
    @cached_property
    def _settings(self) -> Settings:
        """Read the settings of the environment, once. Raises ConfigurationError for invalid ones."""
        return config.from_environment()

    @cached_property
    def _files(self) -> LRUCache[RunOfProgram, Path]:
        """Map each run whose latest document is in the spool to its file, at most a full spool of them."""
        # The next document of a run missing here would be sent past the earlier one.
        return LRUCache(max(self._settings.spool_files_max, 1))

    @cached_property
    def _circuit(self) -> Circuit:
        """Make the circuit breaker, with the budget of the constructor, else of the settings."""
        seconds = self._budget_seconds
        return Circuit(self._settings.recorder_seconds if seconds is None else seconds)

    @cached_property
    def _spool_directory(self) -> str:
        """Return the directory of the constructor, else of the settings, or "" for none."""
        return str(self._settings.spool if self._spool_path is None else self._spool_path)

    @cached_property
    def _spool(self) -> Spool | None:
        """Open the spool; return None if none is set, or if it is unusable, which is logged once."""
        settings = self._settings
        if not self._spool_directory:
            return None
        try:
            limits = SpoolLimits(settings.spool_files_max, settings.spool_bytes_max)
            return open_spool(self._spool_directory, limits)
        except LineageError as error:
            _log.error("%s. This job has no spool: what cannot be sent is lost", error)
            return None

    def _send(self, document: LocatedDocument) -> RecordResult:
        """Record a document within the budget, or by a single attempt if the circuit is open.

        Raises CircuitOpen if the circuit blocks calls, and if a single attempt gets no answer. The first call
        without an answer is logged, and raises StoreUnavailable. Raises any other error of the document.
        """
        blocked_seconds = self._circuit.blocked_seconds()
        if blocked_seconds:
            raise CircuitOpen(f"the server did not answer; the next attempt is in {blocked_seconds:.0f} s")
        was_open = self._circuit.is_open
        call = _Call(self._circuit.limit_seconds())
        policy = RetryPolicy(timeout_seconds=call.limit_seconds, attempts_max=1 if was_open else None)
        try:
            (result,) = policy.retrying(Unanswered)(self._attempt, call, document)
        except StoreUnavailable as error:
            self._circuit.add_failure(call.seconds())
            if was_open:
                raise CircuitOpen(str(error)) from error
            self._report_failure(error, call.seconds())
            raise
        self._circuit.add_success(call.failed_seconds)
        if was_open:
            self._report_recovery()
        if isinstance(result, LineageError):
            raise result
        return result

    def _attempt(self, call: _Call, document: LocatedDocument) -> list[RecordResult | LineageError]:
        """Send a document once, opening the client first if needed; return its result or error in a list."""
        wait_seconds = call.begin_attempt()
        if self._client is None:
            # Not opened in the constructor, where an unavailable store would fail the program.
            self._client = open_client(self._store_or_url, timeout_seconds=0.0)
        return self._client.record([document], wait_seconds=wait_seconds)

    def _report_failure(self, error: LineageError, seconds: float) -> None:
        """Log that the server fails after `seconds` of waiting, and what happens to runs meanwhile."""
        fate = f"go to the spool {self._spool_directory}" if self._spool else "are lost"
        _log.warning(
            "%s. Gave up after %.1f s. Further runs %s and are not logged one by one;"
            " the server is retried from time to time",
            error,
            seconds,
            fate,
        )

    def _report_recovery(self) -> None:
        """Log that the server answers again and how many runs were lost; restart that count at 0."""
        runs = "1 run was" if self._lost == 1 else f"{self._lost:,} runs were"
        lost = f"; {runs} not recorded meanwhile" if self._lost else ""
        _log.warning("the server answers again%s", lost)
        self._lost = 0

    def _deliver_in_order(
        self, spool: Spool, run: RunOfProgram, document: LocatedDocument, earlier: Path
    ) -> Recorded | Spooled:
        """Put a document into the spool, then try to send it; `earlier` is the file of the same run.

        If the document is recorded, both files are removed. If it is refused, its own file is removed, and
        the error is raised. If it cannot be sent, it stays in the spool, and `earlier` is removed.
        """
        # If this document were sent past the spool, the earlier one would later replace it. So it goes into
        # the spool first, and is sent only while no other process sends the spool.
        path = self._put(spool, run, document)
        try:
            with spool.sending():
                recorded = _recorded(self._send(document))
                # Remove the earlier one first: left alone, it would be replayed over what was recorded.
                spool.remove(earlier, path)
                self._files.pop(run, None)
                self._spooled -= 2
                return recorded
        except DOCUMENT_FAULTS:
            spool.remove(path)
            self._files[run] = earlier
            self._spooled -= 1
            raise
        except LineageError as error:
            spool.remove(earlier)
            self._spooled -= 1
            return Spooled(run.run, path, error)

    def _put(
        self, spool: Spool, run: RunOfProgram, document: LocatedDocument, cause: LineageError | None = None
    ) -> Path:
        """Put a document into the spool, for the reason `cause`; return its file.

        Raises the LineageError of a document that would be refused, StoreUnavailable if the spool fails.
        """
        _check(document)
        try:
            path = spool.write(document.line.raw + b"\n")
        except SpoolError as failure:
            # Log this for the first run only, as usual while the circuit is open.
            is_reported = isinstance(cause, CircuitOpen) or (self._spool_failed and self._circuit.is_open)
            self._lost += 1
            if not self._spool_failed:
                _log.error("%s. Runs that cannot be sent are lost until it can be used again", failure)
            self._spool_failed = True
            kind = CircuitOpen if is_reported else StoreUnavailable
            raise kind(f"{cause}; {failure}" if cause else str(failure)) from failure
        self._spool_failed = False
        self._spooled += 1
        self._files[run] = path
        return path


@dataclass(slots=True)
class _Call:
    """The time of one call: its limit, and the time spent before its last attempt."""

    limit_seconds: float
    failed_seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        """Return the time since the call began."""
        return time.monotonic() - self.began

    def begin_attempt(self) -> float:
        """Begin another attempt after all earlier ones failed; return how long it may wait."""
        self.failed_seconds = self.seconds()
        return max(self.limit_seconds - self.failed_seconds, LIMIT_SECONDS_MIN)


def _check(document: LocatedDocument) -> None:
    """Raise the LineageError of a document that every server would refuse."""
    # Check before spooling, so that the program learns of the error and no valid document is replaced.
    reader = DocumentReader(columns=lambda _: None)
    reader.read(document.line.raw, document.head, namespace=document.namespace or None, now_ms=now_ms())


def _recorded(result: RecordResult) -> Recorded:
    """Return the result of a document that has one run."""
    (run,) = result.runs
    return Recorded(run.run, run.checksum, run.recorded, run.replaced, result.warnings)
