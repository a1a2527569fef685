"""Who records a program's field operations: the LineageRecorder, to a store or a server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import TracebackType
from typing import Any, Literal

from cachetools import LRUCache

from fll_hbase.errors import LineageError, StoreUnavailable
from fll_hbase.recorder import payloads
from fll_hbase.recorder.payloads import Part
from fll_hbase.recorder.results import NotRecorded, Outcome, Recorded
from fll_hbase.recorder.stage_context import StageContext, with_contexts
from fll_hbase.recorder.transports import Door, opened
from fll_hbase.recorder.types import Destination, FieldOperation, Run
from fll_hbase.store.lineage_store import LineageStore

RUNS_REMEMBERED = 1000
PATIENCE_SECONDS = 60.0

_log = logging.getLogger("fll_hbase.recorder")


class OnError(Enum):
    """What a failure to record does to the program, besides being logged."""

    WARN = "warn"
    RAISE = "raise"


class LineageRecorder:
    """Records field operations of runs. Threads may share it.

    `store_or_url` is an open LineageStore, the URL of a store (`sqlite:///…`) or that of a server
    (`http://…`), opened when first needed. `namespace` is that of the program. A busy or absent server is
    tried for `patience_seconds` in all, then given up. By default no failure here fails the program: it is
    logged at ERROR and returned. With `on_error=OnError.RAISE` it is raised too.
    """

    def __init__(
        self,
        store_or_url: LineageStore | str,
        *,
        namespace: str,
        on_error: OnError | Literal["warn", "raise"] = OnError.WARN,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._store_or_url = store_or_url
        self._namespace = namespace
        self._on_error = OnError(on_error)
        self._patience_seconds = patience_seconds
        self._lock = threading.Lock()
        self._door: Door | None = None
        self._done: LRUCache[str, dict[tuple[str, str], Part]] = LRUCache(RUNS_REMEMBERED)

    def record(self, destination: Destination, operations: Iterable[FieldOperation], *, run: Run) -> Outcome:
        """Record what `run` did for `destination`; in order, a field is the latest of its name.

        A run may record several destinations, one after the other: they add up, for the last 1,000 runs of
        one recorder. The same destination again replaces what was said of it, and `run.ended(...)` its
        state. Never raises, unless `on_error` says so: then a LineageError, or a bug as it is.
        """
        return self._told(run, lambda: self._record(Part(destination, tuple(operations)), run))

    def record_pipeline(
        self,
        config: Mapping[str, Any],
        contexts: Iterable[StageContext] = (),
        *,
        run: Run,
        arguments: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Record what `run` of a pipeline did: what its config says of its stages, and the contexts of some.

        `arguments` are the values of macros in the config. Recording the run again replaces what was said of
        it, and `run.ended(...)` its state. Never raises, as `record`.
        """
        return self._told(run, lambda: self._record_pipeline(config, contexts, run, arguments or {}))

    def _told(self, run: Run, work: Callable[[], Recorded]) -> Outcome:
        """The outcome of recording, which is told in the log."""
        named = str(getattr(run, "run", run))
        failure: Exception
        try:
            outcome = work()
        except LineageError as error:
            _log.error("run %r was not recorded: %s", named, error)
            failure = error
        except Exception as error:  # noqa: BLE001 (a bug, here or in what was given, must not end the program)
            _log.exception("run %r was not recorded", named)
            failure = error
        else:
            for warning in outcome.warnings:
                _log.warning("run %r is recorded, but %s", named, warning)
            return outcome
        if self._on_error is OnError.RAISE:
            raise failure
        return NotRecorded(named, failure)

    def close(self) -> None:
        """Close what was opened here; a store that was given stays open."""
        with self._lock:
            if self._door is not None:
                self._door.close()
                self._door = None

    def __enter__(self) -> LineageRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _record_pipeline(
        self,
        config: Mapping[str, Any],
        contexts: Iterable[StageContext],
        run: Run,
        arguments: Mapping[str, str],
    ) -> Recorded:
        namespace = run.namespace or self._namespace
        said = payloads.pipeline(run, with_contexts(config, contexts), arguments, namespace=namespace)
        with self._lock:
            return self._opened().record(said, namespace=namespace)

    def _opened(self) -> Door:
        self._door = self._door or opened(self._store_or_url, self._patience_seconds)
        return self._door

    def _record(self, part: Part, run: Run) -> Recorded:
        namespace = run.namespace or self._namespace
        place = part.destination.namespace, part.destination.name
        with self._lock:
            before = self._done.get(run.run, {})
            self._done[run.run] = {**before, place: part}
            try:
                said = payloads.of(run, [*self._done[run.run].values()], namespace=namespace)
                return self._opened().record(said, namespace=namespace)
            except StoreUnavailable:
                raise
            except BaseException:
                self._done[run.run] = before
                raise
