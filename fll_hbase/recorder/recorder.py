"""LineageRecorder: records a program's field operations, to a store or a server."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cachetools import LRUCache

from fll_hbase.ingest.document_batches import locate
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.model.runs import ProgramId
from fll_hbase.recorder import payloads
from fll_hbase.recorder.delivery import (
    CircuitOpen,
    Delivery,
    NotRecorded,
    Outcome,
    Recorded,
    RunOfProgram,
    Spooled,
)
from fll_hbase.recorder.payloads import DestinationOperations, order_operations
from fll_hbase.recorder.stage_context import StageContext, merge_stage_contexts
from fll_hbase.recorder.types import Destination, FieldOperation, Run
from fll_hbase.runtime.errors import LineageError, StoreUnavailable
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

RUNS_REMEMBERED = 1000
"""Runs whose parts the recorder remembers at a time."""

_log = logging.getLogger("fll_hbase.recorder")


class OnError(Enum):
    """How to report a failure, which is always logged: return NotRecorded (WARN) or raise it (RAISE)."""

    WARN = "warn"
    RAISE = "raise"


class LineageRecorder:
    """Records field operations of runs. Threads may share it.

    `store_or_url` is an open LineageStore, or the URL of a store (`sqlite:///…`) or server (`http://…`),
    which is opened with the first run. `namespace` is used for a `Run` that names none. A failure is logged
    at ERROR (at DEBUG while the server is known to fail) and returned as NotRecorded, or raised with
    `on_error=OnError.RAISE`.

    `timeout_seconds` (default: FLL_RECORDER_SECONDS, else 60) bounds how long all calls together wait for a
    server that fails. Afterwards calls return at once, and the server is retried from time to time. Documents
    that were not sent go to the directory `spool` (default: FLL_SPOOL), from which `fll replay` sends them.
    Without a spool they are lost.

    >>> with LineageRecorder(url, namespace="bank") as recorder:
    ...     outcome = recorder.record(
    ...         Destination("bank", "Ratings"),
    ...         [FieldOperation("read", inputs=[Source("bank", "CustomerAccounts")], outputs=["balance"])],
    ...         run=Run(application="Ratings", program="copy", run="copy-1"),
    ...     )
    >>> outcome.recorded
    True
    """

    def __init__(
        self,
        store_or_url: LineageStore | str,
        *,
        namespace: str,
        on_error: OnError | Literal["warn", "raise"] = OnError.WARN,
        timeout_seconds: float | None = None,
        spool: str | Path | None = None,
    ) -> None:
        self._namespace = namespace
        self._on_error = OnError(on_error)
        self._lock = threading.Lock()
        self._delivery = Delivery(store_or_url, budget_seconds=timeout_seconds, spool=spool)
        self._parts: LRUCache[RunOfProgram, dict[tuple[str, str], DestinationOperations]] = LRUCache(
            RUNS_REMEMBERED
        )

    def record(self, destination: Destination, operations: Iterable[FieldOperation], *, run: Run) -> Outcome:
        """Record the operations of `run` for `destination`, durably unless the outcome says otherwise.

        Operations apply in order, and a field name refers to the latest operation with this output. A set of
        operations is sorted so that producers precede consumers. Call this once for each destination of a
        run: the recorder merges the destinations of its last 1,000 runs. Recording a destination again
        replaces its operations, and `run.with_state(...)` replaces the run's state.

        Returns Recorded, Spooled or NotRecorded. Raises the error, of any class, only if `on_error` is RAISE.

        >>> run = Run(application="Ratings", program="rate", run="rate-1")
        >>> read = FieldOperation("read", inputs=[Source("bank", "CustomerAccounts")], outputs=["balance"])
        >>> rate = FieldOperation("rate", inputs=["balance"], outputs=[Field("rating", "string")])
        >>> recorder.record(Destination("bank", "Ratings"), [read, rate], run=run).recorded
        True
        """
        return self._log_outcome(
            run, lambda: self._record(DestinationOperations(destination, order_operations(operations)), run)
        )

    def record_pipeline(
        self,
        config: Mapping[str, Any],
        contexts: Iterable[StageContext] = (),
        *,
        run: Run,
        arguments: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Record `run` of a pipeline by its config and by the contexts of some of its stages.

        A context adds to the operations that its stage declares in the config. `arguments` are the values of
        macros in the config. Recording the run again replaces its lineage, and `run.with_state(...)` replaces
        its state. Returns and raises what `record` does.
        """
        return self._log_outcome(run, lambda: self._record_pipeline(config, contexts, run, arguments or {}))

    def close(self) -> None:
        """Close the client, but not a store passed to the constructor. The recorder can be used again.

        Waits for a call of another thread, but sends nothing itself. Logs how many runs were lost or spooled.
        """
        with self._lock:
            self._delivery.close()

    def __enter__(self) -> LineageRecorder:
        """Return this recorder; the end of the `with` block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the recorder; let an exception of the `with` block propagate."""
        self.close()

    def _log_outcome(self, run: Run, work: Callable[[], Recorded | Spooled]) -> Outcome:
        """Run `work`; log its warnings or failure. Return the outcome, or raise if `on_error` is RAISE."""
        # Types are not checked earlier: an argument that is not a Run must lead to a log line, too.
        run_id = str(getattr(run, "run", run))
        failure: Exception
        try:
            outcome = work()
        except LineageError as error:
            # While the circuit is open, the delivery logs its changes only.
            level = logging.DEBUG if isinstance(error, CircuitOpen) else logging.ERROR
            _log.log(level, "run %r was not recorded: %s", run_id, error)
            failure = error
        except Exception as error:  # noqa: BLE001 (a bug, here or in an argument, must not end the program)
            _log.exception("run %r was not recorded", run_id)
            failure = error
        else:
            _log_success(outcome)
            return outcome
        if self._on_error is OnError.RAISE:
            raise failure
        return NotRecorded(run_id, failure)

    def _record(self, part: DestinationOperations, run: Run) -> Recorded | Spooled:
        """Send all destinations of the run so far with this one; forget this one unless it may be stored.

        It may be stored after StoreUnavailable. Raises LineageError, and ValueError for an invalid state.
        """
        namespace = run.namespace or self._namespace
        key = _key(run, namespace)
        dataset = part.destination.namespace, part.destination.name
        with self._lock:
            # A document replaces all lineage of its run, so it has to contain earlier destinations, too.
            previous = self._parts.get(key, {})
            self._parts[key] = {**previous, dataset: part}
            try:
                # Sent under the lock to keep the order: no document may replace one that has more parts.
                parts = [*self._parts[key].values()]
                return self._send(run, payloads.run_document(run, parts, namespace=namespace), namespace)
            except StoreUnavailable:
                # The part may be stored, so the next document of the run must contain it, too.
                raise
            except BaseException:
                # A refused part would cause every later document of the run to be refused, too.
                self._parts[key] = previous
                raise

    def _record_pipeline(
        self,
        config: Mapping[str, Any],
        contexts: Iterable[StageContext],
        run: Run,
        arguments: Mapping[str, str],
    ) -> Recorded | Spooled:
        """Send the run of a pipeline, its config merged with the contexts. Raises what `_record` raises."""
        namespace = run.namespace or self._namespace
        config = merge_stage_contexts(config, contexts)
        payload = payloads.pipeline_document(run, config, arguments, namespace=namespace)
        with self._lock:
            return self._send(run, payload, namespace)

    def _send(self, run: Run, payload: Json, namespace: str) -> Recorded | Spooled:
        """Record one document, or put it into the spool; the caller holds the lock. Raises LineageError."""
        document = locate(InputLine(1, json.dumps(payload).encode()), namespace=namespace)
        return self._delivery.deliver(_key(run, namespace), document)


def _key(run: Run, namespace: str) -> RunOfProgram:
    """Return what identifies a run that is recorded in `namespace`."""
    # Texts, because wrong types are refused only when the document is read, and a list is no key.
    program = ProgramId(*map(str, (namespace, run.application, run.program)))
    return RunOfProgram(program, str(run.run))


def _log_success(outcome: Recorded | Spooled) -> None:
    """Log the file of a spooled document, or each warning of a recorded document."""
    if isinstance(outcome, Spooled):
        level = logging.DEBUG if isinstance(outcome.error, CircuitOpen) else logging.WARNING
        _log.log(level, "run %r is in the spool: %s: %s", outcome.run, outcome.path, outcome.error)
        return
    for warning in outcome.warnings:
        _log.warning("run %r is recorded, but %s", outcome.run, warning)
