"""Retention by request: runs of all datasets, or of one, are hidden at once and deleted by the next job."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any

import marshmallow as ma
import msgspec
from flask import Response
from marshmallow import ValidationError

from fll_hbase.keys.retention import RetentionRequest
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.queries.query import Body

from ..openapi.query_schemas import body_schema
from ..wire import responses
from ..wire.query_params import FlagParam, NoParams, TimeParam, now_ms
from .blueprint import Blueprint, store

blueprint = Blueprint(
    "retention requests", __name__, description="How long lineage itself is kept, by request"
)
_ACCEPTED = "Stored, durably: no question shows these runs; a retention job deletes them"


class RetentionRequestAnswer(Body, frozen=True, kw_only=True):
    """A request, and how many runs it affects."""

    namespace: Annotated[
        str, msgspec.Meta(description="Namespace of the dataset, for a request about one dataset")
    ] = ""
    name: str = ""
    before_ms: Annotated[int, msgspec.Meta(description="Milliseconds since 1970")] = msgspec.field(
        name="before"
    )
    dry_run: bool
    runs: Annotated[
        int,
        msgspec.Meta(
            description="Runs that are shown now and not after the request (a lower bound if truncated)"
        ),
    ]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


class RetentionRequestParams(NoParams):
    """The time before which runs are removed, loaded as `before_ms`: required, and not in the future."""

    before_s = TimeParam(
        data_key="before",
        required=True,
        metadata={
            "description": "Delete runs that started before this time: epoch seconds, ISO 8601 or `now-400d`"
        },
    )
    dry_run = FlagParam(
        data_key="dryRun", load_default=False, metadata={"description": "Store nothing; report the result"}
    )

    @ma.post_load
    def _load_before(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Convert `before_s` (seconds) to `before_ms`, rounded up. Raises ValidationError for the future."""
        # Rounded up, as the bounds of windows are.
        before_ms = ceil(data.pop("before_s") * 1000)
        if before_ms > min(now_ms(), START_LIMIT_MS):
            raise ValidationError({"before": ["is in the future: no run can have started since"]})
        return {**data, "before_ms": before_ms}


@blueprint.route("/v3/lineage", methods=["DELETE"])
@blueprint.arguments(RetentionRequestParams(), location="query")
@blueprint.response(202, body_schema(RetentionRequestAnswer), description=_ACCEPTED)
@blueprint.problems(400, 403, 503)
def remove_lineage(query: dict[str, Any]) -> Response:
    """Remove the lineage of all runs that started before a time.

    Questions of every process leave these runs out within ten seconds, and never show them again; the next
    `fll retention` or `fll spark retention` deletes them. A request with an earlier time than a previous
    one changes nothing. With `dryRun=true` nothing is stored.
    """
    return _respond(RetentionRequest(None, query["before_ms"]), dry_run=query["dry_run"])


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>", methods=["DELETE"])
@blueprint.arguments(RetentionRequestParams(), location="query")
@blueprint.response(202, body_schema(RetentionRequestAnswer), description=_ACCEPTED)
@blueprint.problems(400, 403, 404, 503)
def remove_dataset_lineage(query: dict[str, Any], namespace: str, name: str) -> Response:
    """Remove the lineage of a dataset by runs that started before a time, under all its names.

    As `DELETE /v3/lineage`. A run is deleted when none of its other datasets keeps it. Until then, questions
    about its other datasets show it. 404 for a dataset that was never recorded.
    """
    request = RetentionRequest(Dataset(namespace, name), query["before_ms"])
    return _respond(request, dry_run=query["dry_run"])


def _respond(request: RetentionRequest, *, dry_run: bool) -> Response:
    """Count the runs that a request affects, store it unless `dry_run`, and answer 202 with the number.

    Raises NotFound, Forbidden, StoreUnavailable, ConfigurationError and CorruptRow.
    """
    affected = store().retention.count(request)
    if not dry_run:
        store().retention.put(request)
    dataset = request.dataset
    body = RetentionRequestAnswer(
        namespace=dataset.namespace if dataset else "",
        name=dataset.name if dataset else "",
        before_ms=request.before_ms,
        dry_run=dry_run,
        runs=affected.runs,
        truncated=bool(affected.truncated_by),
        truncated_by=affected.truncated_by,
    )
    return responses.json_response(body, 202)
