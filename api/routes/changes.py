"""Changes: the history of how a field was derived, and the diff of a field or a dataset in two windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Window
from fll_hbase.queries import change_json
from fll_hbase.queries.base_window import base_window
from fll_hbase.queries.history import History
from fll_hbase.runtime.json_types import Json

from ..openapi.change_schemas import (
    DATASET_DIFF_EXAMPLE,
    DIFF_EXAMPLE,
    DatasetDiffSchema,
    DiffSchema,
)
from ..wire import responses
from ..wire.change_params import DiffParams
from .blueprint import Blueprint, store
from .queries import add_query

blueprint = Blueprint("changes", __name__, description="When and how the derivations of fields changed")

_FIELD_PATH = "/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/fields/<field:field>"


add_query(blueprint, History)


@blueprint.route(f"{_FIELD_PATH}/diff")
@blueprint.arguments(DiffParams(), location="query")
@blueprint.response(200, DiffSchema, description="Parts by name", example=DIFF_EXAMPLE)
@blueprint.problems(400, 404, 503)
def diff(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """Return what the derivations of a field gained and lost since a base window.

    The base window is by default as long as the window, and just before it.
    """
    dataset = Dataset(namespace, name)
    return _diff_response(
        query,
        dataset,
        lambda window, base, options: change_json.diff(
            store().diff(DatasetField(dataset, field), window, base, **options)
        ),
    )


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/diff")
@blueprint.arguments(DiffParams(), location="query")
@blueprint.response(
    200, DatasetDiffSchema, description="Changed fields by name", example=DATASET_DIFF_EXAMPLE
)
@blueprint.problems(400, 404, 503)
def dataset_diff(query: dict[str, Any], namespace: str, name: str) -> Response:
    """Return the fields of a dataset whose derivations differ from those of a base window, and what differs.

    The base window is by default as long as the window, and just before it. Cost follows the contents of both
    windows and the fields that differ.
    """
    dataset = Dataset(namespace, name)
    return _diff_response(
        query,
        dataset,
        lambda window, base, options: change_json.dataset_diff(
            store().dataset_diff(dataset, window, base, **options)
        ),
    )


def _diff_response(
    query: dict[str, Any], dataset: Dataset, answer: Callable[[Window, Window, dict[str, bool]], Json]
) -> Response:
    """Return the answer about a window and its base window, with both in its headers."""
    window = query.pop("window")
    base = base_window(window, query.pop("base_start"), query.pop("base_end"))
    # Of both windows: a base window before the horizon has lost runs, too.
    both = Window(min(window.start_ms, base.start_ms), max(window.stop_ms, base.stop_ms))
    retained_from_ms = store().retained_from_ms(dataset, both)
    response = responses.windowed_response(
        answer(window, base, query), window, retained_from_ms=retained_from_ms
    )
    response.headers["Base-Start"] = responses.epoch_seconds(base.start_ms)
    response.headers["Base-End"] = responses.epoch_seconds(base.stop_ms)
    return response
