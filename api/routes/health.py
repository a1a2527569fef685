"""Liveness and readiness probes, and metrics.

Background checks of the store, which may hang, decide whether it is ready.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from copy import copy
from typing import Any

from flask import Response, current_app, request

from fll_hbase.model.access import Principal, Role
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import Forbidden, LineageError, StoreUnavailable
from fll_hbase.tables import is_read_only

from ..observability import exporter
from ..openapi.answer_schemas import Health
from ..openapi.query_schemas import body_schema
from ..wire import responses
from ..wire.environ import METRICS_PATH, PRINCIPAL
from ..wire.query_params import NoParams
from .blueprint import Blueprint, settings

PAUSE_SECONDS = 1.0
"""Time between two checks."""

CHECK_SECONDS_MAX = 2.0
"""Time of one check."""

GRACE_SECONDS = 2 * PAUSE_SECONDS + CHECK_SECONDS_MAX
"""How long the result of a check is valid."""

PATIENCE_SECONDS = 0.1
"""How long a caller waits for a check, counted from when the check began."""

WANTED_SECONDS = 30.0
"""How long checks continue after the last call: longer than most supervisors pause between probes."""

blueprint = Blueprint("health", __name__, description="For load balancers and supervisors")


class Readiness:
    """The latest check of the store. Threads may share it; checks run only while `require` is called."""

    def __init__(self, check: Callable[[], None]) -> None:
        """Take a check, which returns if the store answers and raises a LineageError otherwise."""
        self._check = check
        self._lock = threading.Lock()
        self._is_running = False
        self._wanted_at = self._began_at = 0.0
        self._ended = threading.Event()
        self._result: tuple[float, LineageError | None] = (-GRACE_SECONDS, None)

    def require(self) -> None:
        """Return if the latest check found the store ready; raise its error or StoreUnavailable otherwise.

        The result of a check is valid for GRACE_SECONDS. The call starts background checks unless they run,
        and waits for a check until at most PATIENCE_SECONDS after that check began.
        """
        with self._lock:
            self._wanted_at = time.monotonic()
            if not self._is_running:
                self._is_running = True
                self._begin_check()
                threading.Thread(target=self._check_while_wanted, name="readiness", daemon=True).start()
        self._ended.wait(max(self._began_at + PATIENCE_SECONDS - time.monotonic(), 0.0))
        ended_at, error = self._result
        if time.monotonic() - ended_at > GRACE_SECONDS:
            seconds = time.monotonic() - self._began_at
            raise StoreUnavailable(f"the store has not answered for {seconds:.1f} s; try again")
        if error is not None:
            # A copy for each caller, because a shared exception would mix their tracebacks.
            raise copy(error) from error

    def _check_while_wanted(self) -> None:
        """Check every PAUSE_SECONDS until `require` has not been called for WANTED_SECONDS."""
        is_wanted = True
        try:
            while is_wanted:
                self._result = self._checked()
                self._ended.set()
                time.sleep(PAUSE_SECONDS)
                with self._lock:
                    is_wanted = time.monotonic() - self._wanted_at <= WANTED_SECONDS
                    if is_wanted:
                        self._begin_check()
        finally:
            self._is_running = False

    def _begin_check(self) -> None:
        """Note that a check begins, so that callers wait for it."""
        self._began_at = time.monotonic()
        self._ended.clear()

    def _checked(self) -> tuple[float, LineageError | None]:
        """Return when a check ended, in monotonic seconds, and its error, or None if the store answered."""
        try:
            with deadline.limited(CHECK_SECONDS_MAX):
                self._check()
        except LineageError as error:
            return time.monotonic(), error
        return time.monotonic(), None


@blueprint.route("/healthz")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, body_schema(Health), description="The process is alive")
@blueprint.problems(400)
def liveness(query: dict[str, Any]) -> Response:
    """Report that the process is alive."""
    # Without the store: while HBase is down restarts do not help, and processes reconnect by themselves.
    return responses.json_response({"status": "alive"})


@blueprint.route("/readyz")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, body_schema(Health), description="The store answers")
@blueprint.problems(400, 503)
def ready(query: dict[str, Any]) -> Response:
    """Report that the store answers; 503 if it does not.

    With `readOnly` the server may only read it: every write is refused with 403.
    """
    readiness: Readiness = current_app.extensions["fll-readiness"]
    readiness.require()
    body = {"status": "ready"}
    return responses.json_response(body | {"readOnly": True} if is_read_only(settings().store) else body)


@blueprint.route(METRICS_PATH)
@blueprint.arguments(NoParams(), location="query")
@blueprint.alt_response(
    200, schema={"type": "string"}, content_type="text/plain", description="The text format of Prometheus"
)
@blueprint.problems(400, 403, 503)
def metrics(query: dict[str, Any]) -> Response:
    """Return the metrics of all processes of the server, for Prometheus.

    Metrics name routes, never datasets, fields, runs or users, but they count requests of all namespaces.
    With authentication, this route therefore needs the role admin in all namespaces, or FLL_METRICS_TOKEN.
    """
    # Requests with FLL_METRICS_TOKEN have no principal, like all requests without authentication.
    principal: Principal | None = request.environ.get(PRINCIPAL)
    if principal is not None and not principal.may_everywhere(Role.ADMIN):
        raise Forbidden(
            "metrics need the role admin in all namespaces ('*'), or the token of FLL_METRICS_TOKEN"
        )
    return exposition()


def exposition() -> Response:
    """Return the metrics of all processes, without checking rights."""
    return Response(exporter.exposition(), content_type=exporter.MEDIA_TYPE)
